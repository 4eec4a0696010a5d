/*
 * Observation: from what was recorded of one device to its row in the feature table.
 */
#ifndef PB_ANALYSIS_VERDICT_OBSERVE_H
#define PB_ANALYSIS_VERDICT_OBSERVE_H

#include "analysis/inference.h"
#include "analysis/verdict/features.h"

/* What is known of one device besides its recordings. */
struct pb_metric_source {
    const struct pb_feature_row *device;
    const struct pb_state *states; /* in time order */
    size_t state_count;
    const struct pb_recordings *recordings; /* where tests come from, one at a time */
    const char (*tests)[PB_KEY_LENGTH];     /* names of those that are there */
    size_t test_count;
    const struct pb_parameters *parameters; /* inferred already; NULL: they are inferred now */
};

/*
 * Adds one device to the feature table: inferred scalar parameters, shapes of matrices, whole
 * distributions of accesses, sorted per-SM maps, NVML state and its steps, integrity.
 *
 * A test that cannot be read costs its own metrics only and is named in the device's `missing`.
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_observe(struct pb_features *features,
                          const struct pb_metric_source *metric_source, struct pb_error *err);

#endif
