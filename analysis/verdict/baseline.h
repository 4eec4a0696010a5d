/*
 * The baseline: what is known of devices from earlier runs, found by their UUIDs, wherever they are
 * plugged in now.
 */
#ifndef PB_ANALYSIS_VERDICT_BASELINE_H
#define PB_ANALYSIS_VERDICT_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/features.h"

struct pb_uuid {
    const char *text; /* of the feature table */
    size_t device;
};

/* The known UUIDs of a feature table, sorted; equal ones in the order of their rows. */
struct pb_uuids {
    struct pb_uuid *items;
    size_t count;
};

/* The feature table must outlive it. PB_NO_MEMORY is the only error. */
enum pb_status pb_uuids_make(const struct pb_features *features, struct pb_uuids *uuids_out,
                             struct pb_error *err);

void pb_uuids_clear(struct pb_uuids *uuids); /* NULL is allowed */

/* Items of that UUID; an empty one has none. */
void pb_uuids_range(const struct pb_uuids *uuids, const char *uuid, size_t *first_out,
                    size_t *end_out);

bool pb_uuids_have(const struct pb_uuids *uuids, const char *uuid);

/* First and last row of that UUID; `otherwise` when it is empty or not there. */
size_t pb_uuids_first(const struct pb_uuids *uuids, const char *uuid, size_t otherwise);
size_t pb_uuids_last(const struct pb_uuids *uuids, const char *uuid, size_t otherwise);

/*
 * Takes out of the baseline what is the feature table's own measurement, under whatever run it is
 * filed: rows with the UUID of a device and the time at which it was measured. Marks these devices
 * as is_own_baseline. PB_NO_MEMORY is the only error.
 */
enum pb_status pb_baseline_drop_copies(struct pb_features *features, struct pb_features *baseline,
                                       struct pb_error *err);

/* The same metric in the baseline, or its metric_count: not there, or in another unit or domain. */
size_t pb_baseline_metric(const struct pb_features *baseline, const struct pb_metric *metric);

#endif
