/*
 * How a set chooses its victims: every policy as a hypothesis, replayed against what was seen.
 *
 * A trace begins with an empty set; its first lines fill the ways in order. From then on
 *   lru, fifo, plru, keep_hits
 *                     predict every hit and miss: an access that differs is mispredicted
 *   random, weighted  predict nothing, but with one line more than ways the next line to miss is
 *                     the victim of the miss before, so every victim's way is known
 * What each of them does is said, and done, by the forward model (analysis/model/cache.h).
 */
#ifndef PB_ANALYSIS_CACHE_REPLACEMENT_H
#define PB_ANALYSIS_CACHE_REPLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/model/cache.h"
#include "analysis/statistics/classes.h"

enum { PB_WAYS_MAX = 1024 };

/* One chase over the lines of a set. */
struct pb_set_trace {
    const uint32_t *line; /* [count] below line_count */
    const enum pb_observed *observed;
    size_t count;
    uint32_t line_count; /* different lines in all traces */
};

/* What all traces say together. */
struct pb_replacement {
    double log_likelihood[PB_MODEL_POLICY_COUNT];
    size_t agreeing[PB_MODEL_POLICY_COUNT]; /* traces that this policy explains best, or as well */
    size_t traces, accesses;
    size_t mispredicted[PB_MODEL_POLICY_COUNT]; /* accesses that contradict one without chance */
    size_t victims[PB_WAYS_MAX], draws;         /* of each way, and their sum */
    double squares[PB_WAYS_MAX], products[PB_WAYS_MAX], draws_squared; /* of traces, summed:
                                              victims^2, victims x draws, draws^2 */
};

/*
 * The standard deviation of a way's share of the victims, by how much traces differ: an outlier
 * that looks like a miss changes which way is which for the rest of its trace.
 */
double pb_replacement_deviation(const struct pb_replacement *fit, uint32_t way);

/*
 * ways  1 … PB_WAYS_MAX
 *
 * PB_NOT_FOUND  the traces hold no more lines than ways, or no access; err says so
 */
enum pb_status pb_replacement_fit(const struct pb_set_trace *traces, size_t count, uint32_t ways,
                                  struct pb_replacement *fit_out, struct pb_error *err);

#endif
