/* The feature table: a growing table of numbers, devices by metrics; see features.h. */
#include "analysis/verdict/features.h"
#include "core/reserve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_AT_ONCE = 16 };

static const struct pb_stored_reading absent_cell = {NAN, 0.0F, -1};
static const struct pb_reading absent = {NAN, 0.0, -1};

enum pb_status pb_features_add_device(struct pb_features *features,
                                      const struct pb_feature_row *device, size_t *device_out,
                                      struct pb_error *err)
{
    enum pb_status status = PB_RESERVE(features->devices, features->device_count,
                                       features->device_capacity, "devices", err);

    if (status != PB_OK)
        return status;
    features->devices[features->device_count] = *device;
    features->devices[features->device_count].cells = NULL;
    features->devices[features->device_count].cell_capacity = 0;
    *device_out = features->device_count++;
    return PB_OK;
}

size_t pb_features_find(const struct pb_features *features, const char *name)
{
    size_t i = 0;

    while (i < features->metric_count && strcmp(features->metrics[i].name, name) != 0)
        i++;
    return i;
}

static bool is_same_test(const struct pb_metric *a, const struct pb_metric *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->test, b->test) == 0;
}

static bool is_same(const struct pb_metric *a, const struct pb_metric *b)
{
    return a->method_version == b->method_version && is_same_test(a, b);
}

bool pb_metric_is_other_method(const struct pb_metric *a, const struct pb_metric *b)
{
    return a->method_version != b->method_version && is_same_test(a, b);
}

size_t pb_features_match(const struct pb_features *features, const struct pb_metric *metric)
{
    size_t i = 0;

    while (i < features->metric_count && !is_same(&features->metrics[i], metric))
        i++;
    return i;
}

/* The same as pb_features_match(), at once for the metric after the one that was set last. */
static size_t match_next(const struct pb_features *features, const struct pb_metric *metric)
{
    size_t next = features->next_metric;

    if (next < features->metric_count && is_same(&features->metrics[next], metric))
        return next;
    return pb_features_match(features, metric);
}

static enum pb_status add_metric(struct pb_features *features, const struct pb_metric *metric,
                                 struct pb_error *err)
{
    enum pb_status status = PB_RESERVE(features->metrics, features->metric_count,
                                       features->metric_capacity, "metrics", err);
    const struct pb_metric_row *row = pb_metric_row_find(metric->name);
    struct pb_metric *added;

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < features->metric_count && !features->is_mixed; i++)
        features->is_mixed = pb_metric_is_other_method(&features->metrics[i], metric);
    added = &features->metrics[features->metric_count++];
    *added = *metric;
    if (row != NULL) {
        added->tolerance = row->metric.tolerance;
        added->traits = row->metric.traits;
    }
    return PB_OK;
}

/* Room for every metric there is. */
static enum pb_status grow_cells(const struct pb_features *features, struct pb_feature_row *device,
                                 struct pb_error *err)
{
    size_t capacity = (features->metric_count + CELLS_AT_ONCE - 1) / CELLS_AT_ONCE * CELLS_AT_ONCE;
    struct pb_stored_reading *grown = realloc(device->cells, capacity * sizeof(*grown));

    if (grown == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu numbers", capacity);
    for (size_t i = device->cell_capacity; i < capacity; i++)
        grown[i] = absent_cell;
    device->cells = grown;
    device->cell_capacity = capacity;
    return PB_OK;
}

/* *cell_out: the reading, as the feature table keeps it. */
static enum pb_status pack(struct pb_features *features, const struct pb_reading *reading,
                           struct pb_stored_reading *cell_out, struct pb_error *err)
{
    enum pb_status status;

    *cell_out = absent_cell;
    if (!isfinite(reading->value))
        return PB_OK;
    *cell_out =
        (struct pb_stored_reading){reading->value, (float)reading->noise, (int32_t)reading->place};
    if (reading->place >= -1 && reading->place <= INT32_MAX)
        return PB_OK;
    status = PB_RESERVE(features->far_places, features->far_place_count,
                        features->far_place_capacity, "places", err);
    if (status != PB_OK)
        return status;
    features->far_places[features->far_place_count] = reading->place;
    cell_out->place = -2 - (int32_t)features->far_place_count++;
    return PB_OK;
}

enum pb_status pb_features_add_metric(struct pb_features *features, const struct pb_metric *metric,
                                      size_t *index_out, struct pb_error *err)
{
    size_t at = match_next(features, metric);
    enum pb_status status = PB_OK;

    if (at < features->metric_count && (strcmp(features->metrics[at].unit, metric->unit) != 0 ||
                                        features->metrics[at].part != metric->part ||
                                        features->metrics[at].domain != metric->domain))
        return pb_fail(err, PB_INVALID,
                       "metric %s: expected unit %s, part %s and domain %s, found "
                       "%s, %s and %s",
                       metric->name, features->metrics[at].unit,
                       pb_part_name(features->metrics[at].part),
                       pb_domain_name(features->metrics[at].domain), metric->unit,
                       pb_part_name(metric->part), pb_domain_name(metric->domain));
    if (at == features->metric_count)
        status = add_metric(features, metric, err);
    if (status != PB_OK)
        return status;
    features->next_metric = at + 1;
    *index_out = at;
    return PB_OK;
}

enum pb_status pb_features_put(struct pb_features *features, size_t device, size_t metric,
                               struct pb_reading reading, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    struct pb_stored_reading cell;

    if (metric >= features->devices[device].cell_capacity)
        status = grow_cells(features, &features->devices[device], err);
    if (status == PB_OK)
        status = pack(features, &reading, &cell, err);
    if (status == PB_OK)
        features->devices[device].cells[metric] = cell;
    return status;
}

enum pb_status pb_features_set(struct pb_features *features, size_t device,
                               const struct pb_metric *metric, struct pb_reading reading,
                               struct pb_error *err)
{
    size_t at = 0;
    enum pb_status status = pb_features_add_metric(features, metric, &at, err);

    return status == PB_OK ? pb_features_put(features, device, at, reading, err) : status;
}

struct pb_reading pb_features_reading(const struct pb_features *features, size_t device,
                                      size_t metric)
{
    const struct pb_feature_row *row = &features->devices[device];
    const struct pb_stored_reading *cell;

    if (metric >= row->cell_capacity)
        return absent;
    cell = &row->cells[metric];
    return (struct pb_reading){cell->value, (double)cell->noise,
                               cell->place < -1 ? features->far_places[-2 - cell->place]
                                                : cell->place};
}

bool pb_features_is_measured(const struct pb_features *features, size_t device, size_t metric)
{
    bool is_measured = !isnan(pb_features_reading(features, device, metric).value);

    for (size_t i = 0; i < features->metric_count && features->is_mixed && !is_measured; i++)
        is_measured =
            pb_metric_is_other_method(&features->metrics[i], &features->metrics[metric]) &&
            !isnan(pb_features_reading(features, device, i).value);
    return is_measured;
}

void pb_features_drop(struct pb_features *features, const bool *is_dropped)
{
    size_t kept = 0;

    for (size_t i = 0; i < features->device_count; i++) {
        if (is_dropped[i])
            free(features->devices[i].cells);
        else
            features->devices[kept++] = features->devices[i];
    }
    features->device_count = kept;
}

void pb_features_clear(struct pb_features *features)
{
    if (features == NULL)
        return;
    for (size_t i = 0; i < features->device_count; i++)
        free(features->devices[i].cells);
    free(features->devices);
    free(features->metrics);
    free(features->far_places);
    *features = (struct pb_features){0};
}

bool pb_repeat_compares(const struct pb_repeat *repeat, const struct pb_feature_row *a,
                        const struct pb_feature_row *b)
{
    return !repeat->same_tests || a->tests == b->tests;
}
