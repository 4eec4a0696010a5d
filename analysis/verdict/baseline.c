/* Earlier runs, by UUID; see baseline.h. */
#include "analysis/verdict/baseline.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare_uuids(const void *a, const void *b)
{
    const struct pb_uuid *left = a, *right = b;
    int order = strcmp(left->text, right->text);

    return order != 0 ? order : (left->device > right->device) - (left->device < right->device);
}

enum pb_status pb_uuids_make(const struct pb_features *features, struct pb_uuids *uuids_out,
                             struct pb_error *err)
{
    struct pb_uuids uuids = {malloc((features->device_count + 1) * sizeof(*uuids.items)), 0};

    if (uuids.items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu UUIDs",
                       features->device_count);
    for (size_t i = 0; i < features->device_count; i++)
        if (features->devices[i].info.uuid[0] != '\0')
            uuids.items[uuids.count++] = (struct pb_uuid){features->devices[i].info.uuid, i};
    qsort(uuids.items, uuids.count, sizeof(*uuids.items), compare_uuids);
    *uuids_out = uuids;
    return PB_OK;
}

void pb_uuids_clear(struct pb_uuids *uuids)
{
    if (uuids == NULL)
        return;
    free(uuids->items);
    *uuids = (struct pb_uuids){0};
}

/* Items before the first whose text is not less than uuid (not greater either, if `after`). */
static size_t bound(const struct pb_uuids *uuids, const char *uuid, bool after)
{
    size_t low = 0, high = uuids->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(uuids->items[middle].text, uuid);

        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pb_uuids_range(const struct pb_uuids *uuids, const char *uuid, size_t *first_out,
                    size_t *end_out)
{
    *first_out = bound(uuids, uuid, false);
    *end_out = uuid[0] != '\0' ? bound(uuids, uuid, true) : *first_out;
}

bool pb_uuids_have(const struct pb_uuids *uuids, const char *uuid)
{
    return pb_uuids_first(uuids, uuid, SIZE_MAX) != SIZE_MAX;
}

size_t pb_uuids_first(const struct pb_uuids *uuids, const char *uuid, size_t otherwise)
{
    size_t first, end;

    pb_uuids_range(uuids, uuid, &first, &end);
    return first < end ? uuids->items[first].device : otherwise;
}

size_t pb_uuids_last(const struct pb_uuids *uuids, const char *uuid, size_t otherwise)
{
    size_t first, end;

    pb_uuids_range(uuids, uuid, &first, &end);
    return first < end ? uuids->items[end - 1].device : otherwise;
}

size_t pb_baseline_metric(const struct pb_features *baseline, const struct pb_metric *metric)
{
    size_t at = pb_features_match(baseline, metric);

    if (at < baseline->metric_count && (strcmp(baseline->metrics[at].unit, metric->unit) != 0 ||
                                        baseline->metrics[at].domain != metric->domain))
        return baseline->metric_count;
    return at;
}

static bool is_copy(const struct pb_feature_row *a, const struct pb_feature_row *b)
{
    return a->measured_seconds > 0.0 && a->measured_seconds == b->measured_seconds;
}

static void mark_copies(const struct pb_uuids *uuids, struct pb_feature_row *device,
                        const struct pb_features *baseline, bool *is_dropped)
{
    size_t first, end;

    pb_uuids_range(uuids, device->info.uuid, &first, &end);
    for (size_t i = first; i < end; i++) {
        size_t row = uuids->items[i].device;

        if (!is_copy(device, &baseline->devices[row]))
            continue;
        is_dropped[row] = true;
        device->is_own_baseline = true;
    }
}

enum pb_status pb_baseline_drop_copies(struct pb_features *features, struct pb_features *baseline,
                                       struct pb_error *err)
{
    bool *is_dropped = calloc(baseline->device_count + 1, sizeof(*is_dropped));
    struct pb_uuids uuids = {0};
    enum pb_status status =
        is_dropped == NULL
            ? pb_fail(err, PB_NO_MEMORY, "out of memory for %zu devices", baseline->device_count)
            : pb_uuids_make(baseline, &uuids, err);

    for (size_t i = 0; i < features->device_count && status == PB_OK; i++)
        mark_copies(&uuids, &features->devices[i], baseline, is_dropped);
    pb_uuids_clear(&uuids);
    if (status == PB_OK)
        pb_features_drop(baseline, is_dropped);
    free(is_dropped);
    return status;
}
