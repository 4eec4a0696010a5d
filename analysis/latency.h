/*
 * One latency from many accesses.
 *
 * Jitter is one-sided: an access can be delayed, never hurried. Where the accesses of the largest
 * kind lie within two cycles (their quartiles), the lower edge of that kind is the latency; where
 * they spread, as over the slices of a cache, the median is, with a bootstrap interval.
 */
#ifndef PB_ANALYSIS_LATENCY_H
#define PB_ANALYSIS_LATENCY_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/confidence.h"
#include "analysis/modes.h"
#include "analysis/parameter.h"
#include "analysis/sample.h"

struct pb_latency {
    struct pb_estimate cycles;
    struct pb_band band;   /* what these accesses look like */
    bool sharp;            /* lower edge, else median */
    size_t modes;          /* kinds of access in the whole sample */
    double largest_share;  /* of the largest kind */
    double lap_cycles;     /* median of the laps; NaN: none */
    bool laps_agree;       /* within a cycle, or 2% where the accesses spread; true without laps */
    size_t accesses;       /* that were used */
    struct pb_votes votes; /* blocks of the trace, and the laps */
};

/*
 * cycles  latencies in order of measurement, overhead subtracted
 * laps    averages of timed laps over the same accesses; may be empty
 *
 * PB_NOT_FOUND  neither holds anything; err says so
 */
enum pb_status pb_latency_estimate(const struct pb_sample *cycles, const struct pb_sample *laps,
                                   struct pb_latency *latency_out, struct pb_error *err);

/*
 * States a latency in cycles, and in ns where sm_mhz is known; `what` names the accesses. Either
 * parameter may be NULL.
 */
void pb_latency_state(const struct pb_latency *latency, double sm_mhz, const char *what,
                      struct pb_parameter *cycles, struct pb_parameter *ns);

#endif
