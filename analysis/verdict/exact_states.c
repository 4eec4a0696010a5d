/* What is missing of states with one right value; see exact_states.h. */
#include "analysis/verdict/exact_states.h"

#include <math.h>
#include <string.h>

#include "analysis/verdict/baseline.h"

enum { PEERS_LEAST = 4 };

/* A model whose devices are wired in two ways has no right value. */
static const double majority_share = 0.9;

/* Adding an exact state is one row here, and one of the catalogue. */
static const struct row {
    const char *state, *missing; /* metrics */
} rows[] = {
    {"nvml.pcie_width", "nvml.pcie_width_below_peers"},
    {"nvml.pcie_generation", "nvml.pcie_generation_below_peers"},
    {"nvml.nvlinks_up", "nvml.nvlinks_below_peers"},
};

/* How many devices of a model have that value; with NaN, how many have any. */
static size_t count_value(const struct pb_features *features, const char *model, size_t metric,
                          double value)
{
    size_t count = 0;

    for (size_t i = 0; i < features->device_count; i++) {
        double other = pb_features_reading(features, i, metric).value;

        if (isfinite(other) && strcmp(features->devices[i].info.model, model) == 0)
            count += isnan(value) || other == value;
    }
    return count;
}

/* The value of nine tenths of a model's devices; NaN: there is none. */
static double majority_value(const struct pb_features *features, const char *model, size_t metric)
{
    size_t known = count_value(features, model, metric, NAN);

    for (size_t i = 0; i < features->device_count && known >= PEERS_LEAST; i++) {
        double value = pb_features_reading(features, i, metric).value;

        if (isfinite(value) && strcmp(features->devices[i].info.model, model) == 0 &&
            (double)count_value(features, model, metric, value) >= majority_share * (double)known)
            return value;
    }
    return NAN;
}

/* What the device had itself in the last row of the baseline; NaN: not known. */
static double history_value(const struct pb_features *baseline, const struct pb_uuids *uuids,
                            const struct pb_feature_row *device, const char *state)
{
    size_t row = baseline == NULL ? SIZE_MAX
                                  : pb_uuids_last(uuids, device->info.uuid, baseline->device_count);

    if (baseline == NULL || baseline->devices == NULL || row >= baseline->device_count ||
        strcmp(baseline->devices[row].info.model, device->info.model) != 0)
        return NAN;
    return pb_features_reading(baseline, row, pb_features_find(baseline, state)).value;
}

static enum pb_status add_row(struct pb_features *features, const struct pb_features *baseline,
                              const struct pb_uuids *uuids, const struct row *row,
                              struct pb_error *err)
{
    size_t metric = pb_features_find(features, row->state);
    const char *model = NULL;
    double majority = NAN;
    enum pb_status status = PB_OK;

    if (features->devices == NULL)
        return PB_OK;
    for (size_t i = 0; i < features->device_count && status == PB_OK; i++) {
        const struct pb_feature_row *device = &features->devices[i];
        double value = pb_features_reading(features, i, metric).value, right;

        if (!isfinite(value))
            continue;
        if (model == NULL || strcmp(model, device->info.model) != 0)
            majority = majority_value(features, model = device->info.model, metric);
        right = isfinite(majority) ? majority : history_value(baseline, uuids, device, row->state);
        if (isfinite(right))
            status = pb_features_set(features, i, &pb_metric_row_find(row->missing)->metric,
                                     (struct pb_reading){fmax(right - value, 0.0), 0.0, -1}, err);
    }
    return status;
}

enum pb_status pb_exact_states_add(struct pb_features *features, const struct pb_features *baseline,
                                   struct pb_error *err)
{
    struct pb_uuids uuids = {0};
    enum pb_status status = baseline == NULL ? PB_OK : pb_uuids_make(baseline, &uuids, err);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && status == PB_OK; i++)
        status = add_row(features, baseline, &uuids, &rows[i], err);
    pb_uuids_clear(&uuids);
    return status;
}
