/* Joining spools and fleet files; see merge.h. */
#include "run/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/digest.h"
#include "run/tally.h"

struct source {
    char *path;
    bool is_spool;
    struct pb_run run;
    struct pb_digest digest; /* of a spool */
};

struct merge {
    struct source *sources;
    size_t count;
    struct pb_fleet *fleet;
    void (*notice)(void *context, const char *line);
    void *context;
};

/* ---- looking at the inputs ---- */

static bool begins_with_a_frame(const char *path)
{
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    size_t got = file == NULL ? 0 : fread(magic, 1, sizeof(magic), file);

    if (file != NULL)
        fclose(file);
    return got == sizeof(magic) && memcmp(magic, "PLMB", sizeof(magic)) == 0;
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

static enum pb_status add_source(struct merge *merge, const char *path, struct pb_error *err)
{
    struct source *larger = realloc(merge->sources, (merge->count + 1) * sizeof(*larger)), *source;
    enum pb_status status;

    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu inputs", merge->count + 1);
    merge->sources = larger;
    source = &larger[merge->count];
    memset(source, 0, sizeof(*source));
    source->is_spool = begins_with_a_frame(path);
    status = source->is_spool ? pb_spool_run(path, &source->run, err)
                              : read_fleet_run(path, &source->run, err);
    if (status != PB_OK)
        return status;
    source->path = strdup(path);
    if (source->path == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %s", path);
    merge->count++;
    return PB_OK;
}

static enum pb_status add_folder(struct merge *merge, const char *dir, struct pb_error *err)
{
    char **paths = NULL;
    size_t count = 0;
    enum pb_status status = pb_spool_list(dir, &paths, &count, err);

    if (status == PB_OK && count == 0)
        status = pb_fail(err, PB_INVALID, "%s: expected a spool folder, found no spool in it", dir);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = add_source(merge, paths[i], err);
    pb_spool_free_list(paths, count);
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
                     : add_source(merge, inputs[i], err);
    return status;
}

static bool is_one_run(const struct merge *merge)
{
    for (size_t i = 1; i < merge->count; i++)
        if (strcmp(merge->sources[i].run.run_id, merge->sources[0].run.run_id) != 0)
            return false;
    return merge->count > 0;
}

/* Then no device is in two of them. */
static bool has_only_spools_of_one_run(const struct merge *merge)
{
    for (size_t i = 0; i < merge->count; i++)
        if (!merge->sources[i].is_spool)
            return false;
    return is_one_run(merge);
}

/* ---- joining ---- */

static void note_spool(const struct merge *merge, const struct source *source)
{
    const struct pb_spool_end *end = &source->digest.end;
    char line[PB_ERROR_LENGTH + 512];

    if (source->digest.was_cut) {
        snprintf(line, sizeof(line), "%s: cut short after %llu frames%s%s", source->path,
                 (unsigned long long)end->frame_count, end->reason[0] == '\0' ? "" : ": ",
                 end->reason);
        merge->notice(merge->context, line);
    }
    if (end->damaged_count > 0) {
        snprintf(line, sizeof(line), "%s: %llu damaged frames were left out", source->path,
                 (unsigned long long)end->damaged_count);
        merge->notice(merge->context, line);
    }
}

static enum pb_status join(struct merge *merge, struct source *source, struct pb_error *err)
{
    enum pb_status status;

    if (!source->is_spool)
        return pb_fleet_add_file(merge->fleet, source->path, err);
    status = pb_digest_spool(merge->fleet, source->path, &source->digest, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "%s", source->path);
    note_spool(merge, source);
    return PB_OK;
}

static bool has_rank(const struct merge *merge, const char *run_id, int64_t rank)
{
    for (size_t i = 0; i < merge->count; i++) {
        const struct source *source = &merge->sources[i];

        if (source->is_spool && strcmp(source->digest.run_id, run_id) == 0 &&
            source->digest.rank == rank)
            return true;
    }
    return false;
}

/* Does a fleet file, which has a row for every rank, or an earlier source speak for this run? */
static bool is_spoken_for(const struct merge *merge, size_t index)
{
    const char *run_id = merge->sources[index].digest.run_id;

    for (size_t i = 0; i < merge->count; i++) {
        const struct source *other = &merge->sources[i];

        if (!other->is_spool && strcmp(other->run.run_id, run_id) == 0)
            return true;
        if (other->is_spool && i < index && strcmp(other->digest.run_id, run_id) == 0)
            return true;
    }
    return false;
}

/* Rows for the ranks of a run that have no spool among the inputs. */
static enum pb_status add_missing_ranks(struct merge *merge, size_t index, struct pb_error *err)
{
    const struct pb_digest *digest = &merge->sources[index].digest;
    enum pb_status status = PB_OK;
    char line[256];

    if (!merge->sources[index].is_spool || is_spoken_for(merge, index))
        return PB_OK;
    for (int64_t rank = 0; rank < digest->rank_count && status == PB_OK; rank++) {
        struct pb_member row = {.rank = rank, .slot = -1};

        if (has_rank(merge, digest->run_id, rank))
            continue;
        snprintf(line, sizeof(line), "rank %lld of run %s: no spool of it is here", (long long)rank,
                 digest->run_id);
        merge->notice(merge->context, line);
        PB_TEXT_SET(row.status, pb_member_status_name(PB_MEMBER_FAILED));
        PB_TEXT_SET(row.message, "no spool of this rank was found");
        status = pb_fleet_join_row(merge->fleet, &row, err);
    }
    return status;
}

/* A device that is in several inputs has the better of each test, so its row is counted anew. */
static enum pb_status recount_row(struct merge *merge, const struct pb_member *row,
                                  struct pb_error *err)
{
    struct pb_tally tally = {.worst = PB_TEST_OK};
    struct pb_member member = *row;
    struct pb_test_row *tests;
    size_t count;
    enum pb_status status = pb_fleet_tests(merge->fleet, row->key, &tests, &count, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        pb_tally_add(&tally, tests[i].name, pb_outcome_parse(tests[i].status), tests[i].message);
    free(tests);
    pb_tally_fill(&tally, &member);
    return pb_fleet_put_row(merge->fleet, &member, err);
}

static enum pb_status recount_rows(struct merge *merge, struct pb_error *err)
{
    struct pb_member *rows;
    size_t count;
    enum pb_status status = pb_fleet_members(merge->fleet, &rows, &count, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count && status == PB_OK; i++)
        if (rows[i].tests_ok + rows[i].tests_failed > 0)
            status = recount_row(merge, &rows[i], err);
    free(rows);
    return status;
}

enum pb_status pb_merge(const char *const *inputs, size_t count, const char *path,
                        const struct pb_run *run, void (*notice)(void *context, const char *line),
                        void *context, struct pb_summary *summary_out, struct pb_error *err)
{
    struct merge merge = {.notice = notice, .context = context};
    enum pb_status status = add_inputs(&merge, inputs, count, err);

    if (status == PB_OK) /* one run's pieces stay that run; anything else is a new one */
        status = pb_fleet_create(path, is_one_run(&merge) ? &merge.sources[0].run : run,
                                 &merge.fleet, err);
    for (size_t i = 0; i < merge.count && status == PB_OK; i++)
        status = join(&merge, &merge.sources[i], err);
    for (size_t i = 0; i < merge.count && status == PB_OK; i++)
        status = add_missing_ranks(&merge, i, err);
    if (status == PB_OK && !has_only_spools_of_one_run(&merge))
        status = recount_rows(&merge, err);
    if (status == PB_OK)
        status = pb_fleet_finish(merge.fleet, summary_out, err);
    else
        pb_fleet_abandon(merge.fleet);
    for (size_t i = 0; i < merge.count; i++)
        free(merge.sources[i].path);
    free(merge.sources);
    return status;
}
