/* From a fleet file to a sheet; see outliers.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/observe.h"
#include "cli/outliers.h"
#include "cli/outliers_share.h"
#include "cli/source.h"
#include "cli/worker.h"
#include "h5schema/file.h"

/* A fleet file that is being read. */
struct source {
    const char *path;
    void (*announce)(const char *path, size_t done, size_t count); /* NULL: nobody listens */
    struct pb_reader *reader;
    struct pb_member *members;
    size_t member_count;
    struct pb_key *keys; /* sorted */
    size_t key_count;
    struct pb_sheet *sheet;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The device of that key; NULL: there is none. */
static const struct pb_key *find_device(const struct source *source, const char *key)
{
    struct pb_key wanted = {""};

    PB_TEXT_SET(wanted.text, key);
    return bsearch(&wanted, source->keys, source->key_count, sizeof(wanted), compare_keys);
}

/* The row that /fleet should have for a device: its run did not end as it ought to. */
static void write_row(const char *key, struct pb_member *row_out)
{
    const char *dot = strrchr(key, '.');

    *row_out = (struct pb_member){.rank = -1, .slot = -1, .message = "no row of /fleet has it"};
    PB_TEXT_SET(row_out->key, key);
    PB_TEXT_SET(row_out->status, pb_member_status_name(PB_MEMBER_PARTIAL));
    snprintf(row_out->host, sizeof(row_out->host), "%.*s",
             dot == NULL ? (int)strlen(key) : (int)(dot - key), key);
}

/* Gives a row to each device that no row of /fleet speaks of. */
static enum pb_status adopt_strays(struct source *source, struct pb_error *err)
{
    size_t count = source->member_count;
    bool *known = calloc(source->key_count + 1, sizeof(*known));
    struct pb_member *members =
        realloc(source->members, (count + source->key_count + 1) * sizeof(*members));

    if (members != NULL)
        source->members = members;
    if (known == NULL || members == NULL) {
        free(known);
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu devices", source->key_count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct pb_key *key = find_device(source, members[i].key);

        if (key != NULL)
            known[key - source->keys] = true;
    }
    for (size_t i = 0; i < source->key_count; i++)
        if (!known[i])
            write_row(source->keys[i].text, &members[source->member_count++]);
    free(known);
    return PB_OK;
}

static enum pb_status observe_device(struct source *source, struct pb_subject *subject,
                                     struct pb_error *err)
{
    struct pb_device_source device = {.reader = source->reader, .key = subject->key};
    struct pb_recordings recordings = {&device, pb_device_source_load};
    struct pb_witness witness = {.subject = subject, .recordings = &recordings};
    struct pb_state *states = NULL;
    struct pb_key *tests = NULL;
    enum pb_status status = pb_reader_device(source->reader, subject->key, &subject->info, err);

    if (status == PB_OK)
        status = pb_reader_states(source->reader, subject->key, &states, &witness.state_count, err);
    if (status == PB_OK)
        status = pb_reader_tests(source->reader, subject->key, &tests, &witness.test_count, err);
    witness.states = states;
    witness.tests = (const char(*)[PB_KEY_LENGTH])tests;
    if (status == PB_OK)
        status = pb_observe(source->sheet, &witness, err);
    free(tests);
    free(states);
    return status;
}

/* A rank of /fleet, with its device if there is one. */
static enum pb_status observe_member(struct source *source, const struct pb_member *member,
                                     struct pb_error *err)
{
    struct pb_subject subject = {.rank = member->rank, .slot = member->slot};
    struct pb_witness nobody = {.subject = &subject};

    PB_TEXT_SET(subject.key, member->key);
    PB_TEXT_SET(subject.host, member->host);
    PB_TEXT_SET(subject.status, member->status);
    PB_TEXT_SET(subject.message, member->message);
    if (find_device(source, member->key) != NULL)
        return observe_device(source, &subject, err);
    PB_TEXT_SET(subject.info.model, member->model);
    PB_TEXT_SET(subject.info.uuid, member->uuid);
    PB_TEXT_SET(subject.info.pci_bus_id, member->pci_bus_id);
    return pb_observe(source->sheet, &nobody, err);
}

/* Every so-maniest row, through a reader of its own. */
static enum pb_status observe_share(void *context, size_t worker, size_t workers,
                                    struct pb_sheet *sheet, struct pb_error *err)
{
    struct source source = *(const struct source *)context;
    enum pb_status status = pb_reader_open(source.path, &source.reader, err);

    if (status != PB_OK)
        return status;
    source.sheet = sheet;
    for (size_t i = worker; i < source.member_count && status == PB_OK; i += workers) {
        if (source.announce != NULL)
            source.announce(source.path, i, source.member_count);
        status = observe_member(&source, &source.members[i], err);
        if (status != PB_OK)
            pb_error_prefix(err, "%s", source.path);
    }
    pb_reader_close(source.reader);
    return status;
}

/* Who is there; the reader is closed again, so that no two processes share it. */
static enum pb_status read_lists(struct source *source, struct pb_run *run_out,
                                 struct pb_error *err)
{
    enum pb_status status = pb_reader_open(source->path, &source->reader, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_run(source->reader, run_out, err);
    if (status == PB_OK)
        status = pb_reader_members(source->reader, &source->members, &source->member_count, err);
    if (status == PB_OK)
        status = pb_reader_devices(source->reader, &source->keys, &source->key_count, err);
    pb_reader_close(source->reader);
    source->reader = NULL;
    if (status == PB_OK)
        status = adopt_strays(source, err);
    if (status == PB_OK && source->member_count == 0)
        status =
            pb_fail(err, PB_INVALID, "%s: expected devices, found an empty fleet", source->path);
    return status;
}

/* A worker that died had not said of which file. */
static void tell_of_file(const char *path, enum pb_status status, const struct pb_error *cause,
                         struct pb_error *err)
{
    if (strstr(cause->message, path) != NULL)
        pb_fail(err, status, "%s", cause->message);
    else
        pb_fail(err, status, "%s: %s", path, cause->message);
}

enum pb_status pb_outliers_read(const char *path,
                                void (*announce)(const char *path, size_t done, size_t count),
                                struct pb_run *run_out, struct pb_sheet *sheet,
                                struct pb_error *err)
{
    struct source source = {.path = path, .announce = announce};
    size_t workers = pb_worker_processors();
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status = read_lists(&source, run_out, err);

    if (workers > source.member_count)
        workers = source.member_count;
    if (status == PB_OK) {
        status = pb_share_fill(workers, observe_share, &source, sheet, &cause);
        if (status != PB_OK)
            tell_of_file(path, status, &cause, err);
    }
    free(source.keys);
    free(source.members);
    return status;
}
