/*
 * Drift: each device against its own history.
 *
 * A device's history is the median of its readings in the baseline. How far a healthy number moves
 * from run to run is stated (repeat.h) where nothing shows it; several baseline runs show it, and
 * so do the changes of the other devices of the group. Where they show that a number moves further,
 * that is granted; where they prove that it repeats better, weaker drifts are a WARNING, never a
 * CRITICAL.
 */
#ifndef PB_ANALYSIS_VERDICT_DRIFT_H
#define PB_ANALYSIS_VERDICT_DRIFT_H

#include "analysis/verdict/score.h"

/*
 * Sets what concerns drift of scores->cells and scores->norms.
 *
 * A change that all devices share is judged like any other: that a whole fleet has moved is worth
 * knowing. Only in how far changes differ it does not count.
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_drift_score(const struct pb_features *features,
                              const struct pb_features *baseline,
                              const struct pb_score_options *options, struct pb_scores *scores,
                              struct pb_error *err);

#endif
