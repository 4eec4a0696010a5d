/*
 * Sensitivity: the worst minimum detectable shift of a component, so that "no anomalies" says what
 * could have been found.
 *
 * A component is judged by its times in ns and its rates per second: that is what a job feels of
 * it. Cycle counts are the same times without the clock. Structure (sizes, ways) comes in steps,
 * which limit what can be found of healthy devices too: it counts where devices differ by more.
 * Tails, which are counts of accesses, likewise; their yardstick is what repeats from run to run.
 */
#ifndef PB_ANALYSIS_VERDICT_SENSITIVITY_H
#define PB_ANALYSIS_VERDICT_SENSITIVITY_H

#include <stdbool.h>

#include "analysis/verdict/score.h"

/* A component whose minimum detectable shift exceeds so many practical sizes was not judged. */
#define PB_SENSITIVITY_PRACTICALS 2.0

struct pb_sensitivity {
    size_t metric;    /* the one with the largest shift by its practical size */
    double shift;     /* the smallest that would have been CRITICAL: relative, a tail's absolute */
    double practical; /* of that metric, likewise */
};

/*
 * The worst metric of a component in one group with enough peers; false: none was scored there.
 */
bool pb_sensitivity_worst(const struct pb_features *features, const struct pb_scores *scores,
                          size_t group, enum pb_part part, struct pb_sensitivity *worst_out);

/* The same over all groups. */
bool pb_sensitivity_of_fleet(const struct pb_features *features, const struct pb_scores *scores,
                             enum pb_part part, struct pb_sensitivity *worst_out);

#endif
