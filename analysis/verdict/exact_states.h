/*
 * Exact states: link counts, link widths and generations, which have one right value and no noise.
 *
 * A statistical score rounds: of 18 links, one that is down lies within the scale that whole
 * numbers need. So an exact state becomes a count of what is missing, of which a healthy device has
 * none, and is scored as an event.
 */
#ifndef PB_ANALYSIS_VERDICT_EXACT_STATES_H
#define PB_ANALYSIS_VERDICT_EXACT_STATES_H

#include "analysis/verdict/features.h"

/*
 * Adds "nvml.STATE_below_peers" for each exact state of the feature table: how much a device has
 * less than nine tenths of its model have, or, where its model has fewer than four devices or no
 * such majority, less than it had itself in the last row of the baseline.
 *
 * baseline  NULL: none
 *
 * What a device has less than its own maximum is read by the observation. PB_NO_MEMORY is the only
 * error.
 */
enum pb_status pb_exact_states_add(struct pb_features *features, const struct pb_features *baseline,
                                   struct pb_error *err);

#endif
