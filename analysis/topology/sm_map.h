/* What atomics from every SM to every line take (test l2_map), as profiles to compare. */
#ifndef PB_ANALYSIS_TOPOLOGY_SM_MAP_H
#define PB_ANALYSIS_TOPOLOGY_SM_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

/* The atomics of the map, in the recording's own memory. */
struct pb_sm_map {
    const double *cycles; /* [sms][lines], finite */
    size_t sms, lines;
};

/* PB_NOT_FOUND: no matrix of touch, SM and line; no atomics; or some SMs were not measured. */
enum pb_status pb_sm_map_open(const struct pb_matrix *matrix, struct pb_sm_map *map_out,
                              struct pb_error *err);

/*
 * Profiles of the SMs, or of the lines, less what is common to a row and to a column:
 * profiles_out[sms * lines], row by row. work[sms + lines] is for the means.
 */
void pb_sm_map_profiles(const struct pb_sm_map *map, bool of_lines, double *work,
                        float *profiles_out);

#endif
