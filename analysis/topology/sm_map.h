/* What atomics from every SM to every line take (test l2_map), as profiles to compare. */
#ifndef PB_ANALYSIS_TOPOLOGY_SM_MAP_H
#define PB_ANALYSIS_TOPOLOGY_SM_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

struct pb_case;

/* Fewer SMs than these show no groups: a part of them could not predict the rest. */
enum { PB_SM_MAP_SMS_MIN = 4 };

/* The atomics of the map to lines that L2 keeps, less outliers; for pb_sm_map_clear(). */
struct pb_sm_map {
    double *cycles;    /* [sms][lines], finite */
    size_t sms, lines; /* lines: those that L2 keeps */
};

/*
 * miss_border_cycles  loads as stamped that take more were of lines L2 did not have; NaN: all had
 *
 * PB_NOT_FOUND: no matrix of touch, SM and line; no atomics; fewer than 4 SMs or some that were not
 * measured; or L2 does not keep the lines of the map, so that its latencies are DRAM's as well.
 */
enum pb_status pb_sm_map_open(const struct pb_matrix *matrix, double miss_border_cycles,
                              struct pb_sm_map *map_out, struct pb_error *err);

/* The map of a row's first recording, by what the row's device takes for L2's hits and misses. */
enum pb_status pb_sm_map_of(const struct pb_case *at, struct pb_sm_map *map_out,
                            struct pb_error *err);
void pb_sm_map_clear(struct pb_sm_map *map); /* NULL is allowed */

/*
 * Profiles of the SMs, or of the lines, less what is common to a row and to a column:
 * profiles_out[sms * lines], row by row. work[sms + lines] is for the means.
 */
void pb_sm_map_profiles(const struct pb_sm_map *map, bool of_lines, double *work,
                        float *profiles_out);

#endif
