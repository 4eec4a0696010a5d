/* Joining spools and fleet files; see merge.h. */
#include "run/merge.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/claim.h"
#include "run/spool_import.h"

struct source {
    const char *path; /* owned by the file, or by the caller */
    bool is_spool;
    struct pb_spool_file file;       /* of a spool */
    struct pb_run run;               /* of a spool without a PLAN: no run_id */
    struct pb_spool_content content; /* of a spool */
};

struct merge {
    struct source *sources;
    size_t count;
    struct pb_fleet *fleet;
    struct pb_claim *claim; /* on the output */
    void (*notice)(void *context, const char *line);
    void *context;
};

/* ---- looking at the inputs ---- */

static bool begins_with_a_frame(const char *path)
{
    char magic[sizeof(pb_frame_magic)] = "";
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO has no writer */
    ssize_t got = file < 0 ? 0 : read(file, magic, sizeof(magic));

    if (file >= 0)
        close(file);
    return got == (ssize_t)sizeof(magic) && memcmp(magic, pb_frame_magic, sizeof(magic)) == 0;
}

static enum pb_status read_fleet_run(const char *path, struct pb_run *run_out, struct pb_error *err)
{
    struct pb_reader *reader;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_run(reader, run_out, err);
    pb_reader_close(reader);
    return status;
}

/* Room for one more source, all zero. */
static struct source *new_source(struct merge *merge, struct pb_error *err)
{
    struct source *larger = realloc(merge->sources, (merge->count + 1) * sizeof(*larger));

    if (larger == NULL) {
        pb_fail(err, PB_NO_MEMORY, "out of memory for %zu inputs", merge->count + 1);
        return NULL;
    }
    merge->sources = larger;
    memset(&larger[merge->count], 0, sizeof(*larger));
    return &larger[merge->count++];
}

/* Takes a spool over from the caller. One without a PLAN may still hold tests. */
static enum pb_status add_spool(struct merge *merge, struct pb_spool_file *file,
                                struct pb_error *err)
{
    struct source *source = new_source(merge, err);
    enum pb_status status;

    if (source == NULL)
        return PB_NO_MEMORY;
    source->file = *file;
    source->path = file->path;
    source->is_spool = true;
    memset(file, 0, sizeof(*file));
    status = pb_spool_run(&source->file, &source->run, err);
    return status == PB_NOT_FOUND ? PB_OK : status;
}

static enum pb_status add_file(struct merge *merge, const char *path, struct pb_error *err)
{
    struct pb_spool_file file;
    struct source *source;
    enum pb_status status;

    if (pb_spool_is_name(path) || begins_with_a_frame(path)) {
        status = pb_spool_find(path, &file, err);
        return status != PB_OK ? status : add_spool(merge, &file, err);
    }
    source = new_source(merge, err);
    if (source == NULL)
        return PB_NO_MEMORY;
    source->path = path;
    return read_fleet_run(path, &source->run, err);
}

static enum pb_status add_folder(struct merge *merge, const char *dir, struct pb_error *err)
{
    struct pb_spool_files files = {NULL, 0};
    enum pb_status status = pb_spool_list(dir, &files, err);

    pb_spool_find_seals(&files, -1);
    if (status == PB_OK && files.count == 0)
        status = pb_fail(err, PB_INVALID, "%s: expected a spool folder, found no spool in it", dir);
    for (size_t i = 0; i < files.count && status == PB_OK; i++)
        status = add_spool(merge, &files.items[i], err);
    pb_spool_files_clear(&files);
    return status;
}

static enum pb_status add_inputs(struct merge *merge, const char *const *inputs, size_t count,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;
    struct stat found;

    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = stat(inputs[i], &found) == 0 && S_ISDIR(found.st_mode)
                     ? add_folder(merge, inputs[i], err)
                     : add_file(merge, inputs[i], err);
    return status;
}

/* The run that all inputs which say so belong to; NULL: several, or none. */
static const struct pb_run *find_one_run(const struct merge *merge)
{
    const struct pb_run *run = NULL;

    for (size_t i = 0; i < merge->count; i++) {
        const struct pb_run *other = &merge->sources[i].run;

        if (other->run_id[0] == '\0' || merge->sources[i].file.is_superseded)
            continue;
        if (run != NULL && strcmp(run->run_id, other->run_id) != 0)
            return NULL;
        run = other;
    }
    return run;
}

/* ---- joining ---- */

static void report(const struct merge *merge, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(const struct merge *merge, const char *format, ...)
{
    char line[PB_ERROR_LENGTH + 512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    merge->notice(merge->context, line);
}

static void report_spool(const struct merge *merge, const struct source *source)
{
    const struct pb_spool_end *end = &source->content.end;

    if (end->frame_count == 0)
        report(merge, "%s: holds no sound frame in %llu bytes; it was left out", source->path,
               (unsigned long long)end->file_bytes);
    else if (source->content.was_cut)
        report(merge, "%s: cut short after %llu frames%s%s", source->path,
               (unsigned long long)end->frame_count, end->reason[0] == '\0' ? "" : ": ",
               end->reason);
    if (end->damaged_count > 0)
        report(merge, "%s: damaged in %llu places, which were left out", source->path,
               (unsigned long long)end->damaged_count);
    if (end->late_count > 0 || end->late_bytes > 0)
        report(merge,
               "%s: %llu frames and %llu bytes were written after a later run took over; "
               "they were left out",
               source->path, (unsigned long long)end->late_count,
               (unsigned long long)end->late_bytes);
}

static enum pb_status join(struct merge *merge, struct source *source, struct pb_error *err)
{
    enum pb_status status;

    if (!source->is_spool)
        return pb_fleet_add_file(merge->fleet, source->path, err);
    status = pb_spool_import(merge->fleet, &source->file, &source->content, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "%s", source->path);
    report_spool(merge, source);
    return PB_OK;
}

/* The spool of a rank of a run; one without a header is known by its name. */
static const struct source *find_rank(const struct merge *merge, const char *run_id, int64_t rank)
{
    for (size_t i = 0; i < merge->count; i++) {
        const struct source *source = &merge->sources[i];

        if (!source->is_spool)
            continue;
        if (source->content.rank == rank &&
            (strcmp(source->content.run_id, run_id) == 0 || source->content.run_id[0] == '\0'))
            return source;
        if (source->content.rank < 0 && source->file.rank == rank)
            return source;
    }
    return NULL;
}

/* Does a fleet file, which has a row for every rank, or an earlier source speak for this run? */
static bool is_spoken_for(const struct merge *merge, size_t index)
{
    const char *run_id = merge->sources[index].content.run_id;

    for (size_t i = 0; i < merge->count; i++) {
        const struct source *other = &merge->sources[i];

        if (!other->is_spool && strcmp(other->run.run_id, run_id) == 0)
            return true;
        if (other->is_spool && i < index && strcmp(other->content.run_id, run_id) == 0)
            return true;
    }
    return false;
}

static enum pb_status add_failed_rank(struct merge *merge, int64_t rank, const char *message,
                                      struct pb_error *err)
{
    struct pb_member row = {.rank = rank, .slot = -1};

    PB_TEXT_SET(row.status, pb_member_status_name(PB_MEMBER_FAILED));
    PB_TEXT_SET(row.message, message);
    return pb_fleet_join_row(merge->fleet, &row, err);
}

/* Rows for the ranks of a run that have no spool among the inputs, or nothing in it. */
static enum pb_status add_missing_ranks(struct merge *merge, size_t index, struct pb_error *err)
{
    const struct source *source = &merge->sources[index];
    const struct pb_spool_content *content = &source->content;
    enum pb_status status = PB_OK;

    if (!source->is_spool || source->file.is_superseded || content->run_id[0] == '\0' ||
        is_spoken_for(merge, index))
        return PB_OK;
    for (int64_t rank = 0; rank < content->rank_count && status == PB_OK; rank++) {
        const struct source *other = find_rank(merge, content->run_id, rank);

        if (other != NULL && other->content.rank >= 0)
            continue;
        if (other == NULL)
            report(merge, "rank %lld of run %s: no spool of it is here", (long long)rank,
                   content->run_id);
        status = add_failed_rank(merge, rank,
                                 other == NULL ? "no spool of this rank was found"
                                               : "the spool of this rank holds no sound frame",
                                 err);
    }
    return status;
}

/* Of all inputs, not one has anything. */
static enum pb_status check_content(const struct merge *merge, struct pb_error *err)
{
    for (size_t i = 0; i < merge->count; i++)
        if (!merge->sources[i].is_spool || merge->sources[i].content.rank >= 0)
            return PB_OK;
    return pb_fail(err, PB_INVALID, "%s: expected a spool, found no sound frame in %s",
                   merge->count > 0 ? merge->sources[0].path : "the inputs",
                   merge->count > 1 ? "it or any other" : "it");
}

/* Everything of the inputs into the fleet. */
static enum pb_status join_all(struct merge *merge, struct pb_error *err)
{
    const struct pb_fleet_listener listener = {merge->notice, merge->context};
    enum pb_status status = PB_OK;

    pb_fleet_guard(merge->fleet, merge->claim);
    pb_fleet_listen(merge->fleet, &listener);
    for (size_t i = 0; i < merge->count && status == PB_OK; i++)
        status = join(merge, &merge->sources[i], err);
    if (status == PB_OK)
        status = check_content(merge, err);
    for (size_t i = 0; i < merge->count && status == PB_OK; i++)
        status = add_missing_ranks(merge, i, err);
    return status;
}

enum pb_status pb_merge(const char *const *inputs, size_t count, const char *path,
                        const struct pb_run *run, void (*notice)(void *context, const char *line),
                        void *context, struct pb_summary *summary_out, struct pb_error *err)
{
    struct merge merge = {.notice = notice, .context = context};
    const struct pb_run *one_run;
    enum pb_status status = pb_fleet_may_create(path, err);

    if (status == PB_OK) /* the output may be an input, too */
        status = pb_claim_take(path, "plumb-merge", &merge.claim, err);
    if (status == PB_OK)
        status = add_inputs(&merge, inputs, count, err);
    one_run = find_one_run(&merge);
    if (status == PB_OK) /* one run's pieces stay that run; anything else is a new one */
        status = pb_fleet_create(path, one_run != NULL ? one_run : run, &merge.fleet, err);
    if (status == PB_OK)
        status = join_all(&merge, err);
    if (status == PB_OK)
        status = pb_fleet_finish(merge.fleet, 0, summary_out, err);
    else
        pb_fleet_abandon(merge.fleet);
    pb_claim_release(merge.claim);
    for (size_t i = 0; i < merge.count; i++)
        pb_spool_file_clear(&merge.sources[i].file);
    free(merge.sources);
    return status;
}
