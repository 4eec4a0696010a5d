/*
 * Looking into a recording: which points a step of the inference reads, their accesses less the
 * overhead, their averages. A point that claims accesses the series does not have owns none.
 */
#ifndef PB_ANALYSIS_TRACE_H
#define PB_ANALYSIS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/statistics/sample.h"
#include "core/record.h"

/* Which points; NULL means any. */
struct pb_pick {
    const char *path, *mode, *phase;
};

bool pb_point_matches(const struct pb_point *point, const struct pb_pick *pick);

/* The next matching point at or after *at, and *at behind it; NULL at the end. Start with 0. */
const struct pb_point *pb_point_next(const struct pb_series *series, const struct pb_pick *pick,
                                     size_t *at);

/* The accesses that a point owns. */
struct pb_accesses {
    const uint32_t *latency_cycles; /* [count], overhead included */
    const uint64_t *index_bytes;    /* [count] */
    size_t count;
    double overhead_cycles; /* finite */
};

struct pb_accesses pb_point_accesses(const struct pb_series *series, const struct pb_point *point);

/* Latency of access i in cycles, overhead subtracted. */
static inline double pb_access_cycles(const struct pb_accesses *accesses, size_t i)
{
    return (double)accesses->latency_cycles[i] - accesses->overhead_cycles;
}

/* Cycles per load of a timed chase; NaN when it timed none. */
double pb_point_average(const struct pb_point *point);

/* All latencies of the matching traces, overhead subtracted, in order; may be none. */
enum pb_status pb_trace_collect(const struct pb_series *series, const struct pb_pick *pick,
                                struct pb_sample *cycles_out, struct pb_error *err);

/* Averages of the matching passes, in order; may be none. */
enum pb_status pb_pass_collect(const struct pb_series *series, const struct pb_pick *pick,
                               struct pb_sample *cycles_out, struct pb_error *err);

#endif
