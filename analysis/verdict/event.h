/*
 * Events: counts of which one is too many, whatever the peers have. A device that reports one is
 * wrong by itself, so it is no measure for others.
 */
#ifndef PB_ANALYSIS_VERDICT_EVENT_H
#define PB_ANALYSIS_VERDICT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/verdict/features.h"

/* Is it such a count? Errors that devices recover from are compared with the peers'. */
bool pb_metric_is_event(const struct pb_metric *metric);

/*
 * The parts of a device that its events show to be wrong, a bit each: the part that the event is
 * of; of heat, power and other processes, which slow everything, all parts.
 */
uint32_t pb_event_parts(const struct pb_features *features, size_t device);

#endif
