/* From a fleet file to a sheet; see outliers.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/observe.h"
#include "analysis/version.h"
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
    struct pb_stored_metrics stored; /* what the file has of its devices' metrics */
    size_t *columns;                 /* [stored.metric_count] of the sheet; SIZE_MAX: not yet */
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
static enum pb_status add_unlisted_devices(struct source *source, struct pb_error *err)
{
    size_t count = source->member_count;
    bool *known = calloc(source->key_count + 1, sizeof(*known));
    struct pb_member *members =
        realloc(source->members, (count + source->key_count + 1) * sizeof(*members));

    if (members != NULL)
        source->members = members;
    if (known == NULL || members == NULL) {
        free(known);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices",
                       source->key_count);
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

/* ---- numbers that the file has already ---- */

/* The row of analysed_devices, which is sorted by key; NULL: it has none. */
static const struct pb_analysed_device *find_stored(const struct source *source, const char *key)
{
    size_t first = 0, end = source->stored.device_count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = strcmp(source->stored.devices[middle].device, key);

        if (order == 0)
            return &source->stored.devices[middle];
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* The first value of a device. */
static size_t first_value(const struct pb_stored_metrics *stored, size_t device)
{
    size_t first = 0, end = stored->value_count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (stored->values[middle].device < device)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static enum pb_status put_stored(struct source *source, size_t subject,
                                 const struct pb_metric_value *value, struct pb_error *err)
{
    const struct pb_stored_metric *stored = &source->stored.metrics[value->metric];
    size_t *column = &source->columns[value->metric];
    struct pb_metric metric;
    enum pb_status status = PB_OK;

    if (*column == SIZE_MAX) {
        status = pb_metric_make(stored->name, stored->test, value->quantum, &metric, err);
        metric.method_version = stored->method_version;
        if (status == PB_OK)
            status = pb_sheet_add_metric(source->sheet, &metric, column, err);
    }
    return status != PB_OK
               ? status
               : pb_sheet_put(source->sheet, subject, *column,
                              (struct pb_reading){value->value, value->noise, value->place}, err);
}

static enum pb_status add_stored(struct source *source, struct pb_subject *subject,
                                 const struct pb_analysed_device *device, struct pb_error *err)
{
    const struct pb_stored_metrics *stored = &source->stored;
    size_t number = (size_t)(device - stored->devices), row = 0;
    enum pb_status status = pb_reader_device(source->reader, subject->key, &subject->info, err);

    PB_TEXT_SET(subject->missing, device->missing);
    subject->endings = (uint32_t)device->outcomes;
    subject->tests = device->battery;
    subject->measured_seconds = device->measured_seconds;
    if (status == PB_OK)
        status = pb_sheet_add_subject(source->sheet, subject, &row, err);
    for (size_t i = first_value(stored, number);
         i < stored->value_count && stored->values[i].device == number && status == PB_OK; i++)
        status = put_stored(source, row, &stored->values[i], err);
    return status;
}

/* Whether all devices need nothing but what is stored. */
static bool is_complete(const struct source *source)
{
    for (size_t i = 0; i < source->key_count; i++)
        if (find_stored(source, source->keys[i].text) == NULL)
            return false;
    return true;
}

/* What is missing, stale or damaged is inferred; only memory must suffice. */
static enum pb_status read_stored(struct source *source, struct pb_error *err)
{
    struct pb_error reason = PB_ERROR_INIT;
    enum pb_status status =
        pb_reader_metrics(source->reader, pb_analysis_version(), &source->stored, &reason);

    if (status == PB_NO_MEMORY)
        return pb_fail(err, status, "%s", reason.message);
    source->columns = calloc(source->stored.metric_count + 1, sizeof(*source->columns));
    if (source->columns == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu metrics",
                       source->stored.metric_count);
    memset(source->columns, 0xff, source->stored.metric_count * sizeof(*source->columns));
    return PB_OK;
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
    if (find_device(source, member->key) != NULL) {
        const struct pb_analysed_device *stored = find_stored(source, member->key);

        return stored != NULL ? add_stored(source, &subject, stored, err)
                              : observe_device(source, &subject, err);
    }
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
    if (status == PB_OK)
        status = read_stored(source, err);
    pb_reader_close(source->reader);
    source->reader = NULL;
    if (status == PB_OK)
        status = add_unlisted_devices(source, err);
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
    if (is_complete(&source))
        workers = 1; /* nothing is inferred */
    if (status == PB_OK) {
        status = pb_share_fill(workers, observe_share, &source, sheet, &cause);
        if (status != PB_OK)
            tell_of_file(path, status, &cause, err);
    }
    pb_stored_metrics_clear(&source.stored);
    free(source.columns);
    free(source.keys);
    free(source.members);
    return status;
}
