/*
 * One latency from many accesses.
 *
 * Jitter is one-sided: an access can be delayed, never hurried. Where the accesses of the kind that
 * prevails lie within two cycles (their quartiles), the lower edge of that kind is the latency;
 * where they spread, as over the slices of a cache, the median is, with a bootstrap interval. Where
 * no kind prevails, as with the two halves of a large L2, a median would fall into either by
 * chance: the mean is the latency, and the interval reaches from the lowest kind to the highest.
 */
#ifndef PB_ANALYSIS_STATISTICS_LATENCY_H
#define PB_ANALYSIS_STATISTICS_LATENCY_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/confidence.h"
#include "analysis/parameter.h"
#include "analysis/statistics/modes.h"
#include "analysis/statistics/sample.h"

enum pb_latency_rule { PB_LATENCY_EDGE, PB_LATENCY_MEDIAN, PB_LATENCY_MEAN, PB_LATENCY_PASSES };

enum { PB_LATENCY_MODES_LISTED = 4 };

struct pb_latency_estimate {
    struct pb_estimate cycles;
    struct pb_band band; /* what these accesses look like */
    enum pb_latency_rule rule;
    double mode_cycles[PB_LATENCY_MODES_LISTED]; /* medians of the lowest kinds; for people */
    size_t modes;                                /* kinds of access in the whole sample */
    double largest_share;                        /* of the largest kind */
    double pass_cycles;                          /* median of the passes; NaN: none */
    bool passes_agree; /* within a cycle, or 2% where the accesses spread; true without passes */
    size_t accesses;   /* that were used */
    struct pb_votes votes; /* blocks of the trace, and the passes */
};

/*
 * cycles  latencies in order of measurement, overhead subtracted
 * passes    averages of timed passes over the same accesses; may be empty, or NULL
 *
 * PB_NOT_FOUND  neither holds anything; err says so
 */
enum pb_status pb_latency_estimate(const struct pb_sample *cycles, const struct pb_sample *passes,
                                   struct pb_latency_estimate *latency_out, struct pb_error *err);

/*
 * States a latency in cycles, and in ns where sm_mhz is known; `what` names the accesses. Either
 * parameter may be NULL.
 */
void pb_latency_state(const struct pb_latency_estimate *latency, double sm_mhz, const char *what,
                      struct pb_parameter *cycles, struct pb_parameter *ns);

/*
 * States the kinds of access as a list where no kind prevails, so that latency_cycles is a mean
 * that no access takes; else why there is no list.
 */
void pb_latency_state_modes(const struct pb_latency_estimate *latency, const char *what,
                            struct pb_parameter *modes);

#endif
