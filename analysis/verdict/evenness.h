/* Evenness: one number of how alike the devices of a fleet are. */
#ifndef PB_ANALYSIS_VERDICT_EVENNESS_H
#define PB_ANALYSIS_VERDICT_EVENNESS_H

#include "analysis/verdict/score.h"

struct pb_evenness {
    double value;  /* NaN: nothing could be compared */
    size_t device; /* the device and the metric that set it */
    size_t metric;
};

/*
 * The speed that a job which waits for all devices keeps, if it is bound by their worst component.
 *
 * Of each device and each of SM clock, L2 latency, memory latency, memory copy and host link: its
 * speed over the median of its group (rates as they are, latencies inverted). The evenness is the
 * smallest of these. 1: all alike; 0.9: somewhere a component runs at 90% of its peers. Groups of
 * fewer than four devices do not count.
 */
struct pb_evenness pb_evenness_of(const struct pb_features *features,
                                  const struct pb_scores *scores);

#endif
