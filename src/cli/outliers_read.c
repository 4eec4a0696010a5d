/* From a fleet file to a feature table; see outliers.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/observe.h"
#include "analysis/version.h"
#include "cli/analyze_workers.h"
#include "cli/outliers.h"
#include "cli/source.h"
#include "cli/worker.h"
#include "h5schema/file.h"

/* A fleet file that is being read. */
struct source {
    const char *path;
    struct pb_reader *reader;
    struct pb_fleet_list list;
    struct pb_features *features;
    struct pb_stored_metrics stored; /* what the file has of its devices' metrics */
    size_t *columns;            /* [stored.metric_count] of the feature table; SIZE_MAX: not yet */
    struct pb_workers *workers; /* over the devices without; NULL: there are none */
};

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

static enum pb_status put_stored(struct source *source, size_t device,
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
            status = pb_features_add_metric(source->features, &metric, column, err);
    }
    return status != PB_OK
               ? status
               : pb_features_put(source->features, device, *column,
                                 (struct pb_reading){value->value, value->noise, value->place},
                                 err);
}

static enum pb_status add_stored(struct source *source, struct pb_feature_row *device,
                                 const struct pb_analysed_device *analysed, struct pb_error *err)
{
    const struct pb_stored_metrics *stored = &source->stored;
    size_t number = (size_t)(analysed - stored->devices), row = 0;
    enum pb_status status = pb_reader_device(source->reader, device->key, &device->info, err);

    PB_TEXT_SET(device->missing, analysed->missing);
    device->endings = (uint32_t)analysed->outcomes;
    device->tests = analysed->battery;
    device->measured_seconds = analysed->measured_seconds;
    if (status == PB_OK)
        status = pb_features_add_device(source->features, device, &row, err);
    for (size_t i = first_value(stored, number);
         i < stored->value_count && stored->values[i].device == number && status == PB_OK; i++)
        status = put_stored(source, row, &stored->values[i], err);
    return status;
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

/* The metrics of the next device that is inferred. */
static enum pb_status add_inferred(struct source *source, struct pb_feature_row *device,
                                   struct pb_error *err)
{
    struct pb_device_result result = {.analysed = 0};
    const struct pb_feature_row *found;
    size_t row;
    enum pb_status status = pb_workers_next(source->workers, &result, err);

    if (status != PB_OK)
        return status;
    found = &result.features.devices[0];
    device->info = found->info;
    PB_TEXT_SET(device->missing, found->missing);
    device->endings = found->endings;
    device->tests = found->tests;
    device->measured_seconds = found->measured_seconds;
    status = pb_features_add_device(source->features, device, &row, err);
    for (size_t i = 0; i < result.features.metric_count && status == PB_OK; i++) {
        struct pb_reading cell = pb_features_reading(&result.features, 0, i);

        if (!isnan(cell.value))
            status = pb_features_set(source->features, row, &result.features.metrics[i], cell, err);
    }
    pb_device_result_clear(&result);
    return status;
}

/* A rank of /fleet, with its device if there is one. */
static enum pb_status add_member(struct source *source, const struct pb_member *member,
                                 struct pb_error *err)
{
    struct pb_feature_row device = {.rank = member->rank, .slot = member->slot};
    struct pb_metric_source no_records = {.device = &device};

    PB_TEXT_SET(device.key, member->key);
    PB_TEXT_SET(device.host, member->host);
    PB_TEXT_SET(device.status, member->status);
    PB_TEXT_SET(device.message, member->message);
    if (pb_fleet_list_has(&source->list, member->key)) {
        const struct pb_analysed_device *stored = find_stored(source, member->key);

        return stored != NULL ? add_stored(source, &device, stored, err)
                              : add_inferred(source, &device, err);
    }
    PB_TEXT_SET(device.info.model, member->model);
    PB_TEXT_SET(device.info.uuid, member->uuid);
    PB_TEXT_SET(device.info.pci_bus_id, member->pci_bus_id);
    return pb_observe(source->features, &no_records, err);
}

/* The reader is closed again, so that no two processes share it. */
static enum pb_status read_lists(struct source *source, struct pb_run *run_out,
                                 struct pb_error *err)
{
    enum pb_status status = pb_reader_open(source->path, &source->reader, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_run(source->reader, run_out, err);
    if (status == PB_OK)
        status = pb_fleet_list_read(source->reader, source->path, &source->list, err);
    if (status == PB_OK)
        status = read_stored(source, err);
    pb_reader_close(source->reader);
    source->reader = NULL;
    return status;
}

/* Starts to infer the devices for which the file has no metrics. keys[member_count] are to outlive
 * the workers. */
static enum pb_status start_inference(struct source *source, struct pb_key *keys,
                                      struct pb_error *err)
{
    const struct pb_fleet_list *list = &source->list;
    size_t count = 0;

    for (size_t i = 0; i < list->member_count; i++) {
        const char *key = list->members[i].key;

        if (!pb_fleet_list_has(list, key) || find_stored(source, key) != NULL)
            continue;
        PB_TEXT_SET(keys[count].text, key);
        count++;
    }
    if (count == 0)
        return PB_OK;
    return pb_workers_start(source->path, keys, count, pb_worker_processors(), PB_WANT_METRICS,
                            &source->workers, err);
}

enum pb_status pb_outliers_read(const char *path,
                                void (*announce)(const char *path, size_t done, size_t count),
                                struct pb_run *run_out, struct pb_features *features,
                                struct pb_error *err)
{
    struct source source = {.path = path, .features = features};
    enum pb_status status = read_lists(&source, run_out, err);
    struct pb_key *keys = calloc(source.list.member_count + 1, sizeof(*keys));

    if (status == PB_OK && keys == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu devices", path,
                         source.list.member_count);
    if (status == PB_OK)
        status = start_inference(&source, keys, err);
    if (status == PB_OK)
        status = pb_reader_open(path, &source.reader, err);
    for (size_t i = 0; i < source.list.member_count && status == PB_OK; i++) {
        if (announce != NULL)
            announce(path, i, source.list.member_count);
        status = add_member(&source, &source.list.members[i], err);
        if (status != PB_OK && err != NULL && strstr(err->message, path) == NULL)
            pb_error_prefix(err, "%s", path);
    }
    pb_reader_close(source.reader);
    pb_workers_stop(source.workers);
    pb_stored_metrics_clear(&source.stored);
    free(source.columns);
    free(keys);
    pb_fleet_list_clear(&source.list);
    return status;
}
