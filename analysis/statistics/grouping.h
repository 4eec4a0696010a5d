/*
 * Things that resemble each other, distinguished: which of many profiles (latencies of an SM over
 * all lines, of a line over all SMs) are alike.
 */
#ifndef PB_ANALYSIS_STATISTICS_GROUPING_H
#define PB_ANALYSIS_STATISTICS_GROUPING_H

#include <stddef.h>

#include "core/error.h"

struct pb_grouping {
    size_t count;    /* groups of two or more; 1: nothing separates */
    size_t outliers; /* profiles that resemble no other */
    double gap;      /* the least step between groups, by the widest step inside one; at least 1 */
    double within, between; /* those steps: mean absolute differences */
    double gap_inside; /* the next clearest gap inside the groups, of two or more each; 1: none */
};

/*
 * The finest clear grouping of `count` profiles of `length` values each, by single linkage: a step
 * leads from any member to its nearest, and groups are apart where the least step between them is
 * at least `least_gap` times the widest within.
 *
 * profiles[count * length]  row by row; finite
 * groups_out[count]         group of each, numbered by their first members; count: an outlier
 *
 * PB_NOT_FOUND  fewer than 3 profiles. PB_NO_MEMORY.
 *
 * Limit: outliers may be one profile in twenty. Source: Gower & Ross (1969), single linkage by the
 * minimum spanning tree.
 */
enum pb_status pb_grouping_find(const float *profiles, size_t count, size_t length,
                                double least_gap, size_t *groups_out,
                                struct pb_grouping *grouping_out, struct pb_error *err);

#endif
