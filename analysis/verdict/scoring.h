/*
 * Scoring in the making: sigmas and p of every device of one group, before multiplicity.
 */
#ifndef PB_ANALYSIS_VERDICT_SCORING_H
#define PB_ANALYSIS_VERDICT_SCORING_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/population.h"
#include "analysis/verdict/score.h"

/* What one call of pb_score() works on. */
struct pb_scoring {
    const struct pb_sheet *sheet, *baseline;
    const struct pb_score_options *options;
    struct pb_scores *scores;
    struct pb_fit *fits; /* [group][metric] */
    size_t *past_metric; /* of the baseline, per metric; SIZE_MAX: not there */
    struct pb_column column;
};

/*
 * Fits all metrics of a group, then sets sigmas, shift and p of its devices and its norms but for
 * `detectable`. The null distributions come from all metrics of a domain, so these are fitted
 * first. PB_NO_MEMORY is the only error.
 */
enum pb_status pb_scoring_group(struct pb_scoring *scoring, size_t group, struct pb_error *err);

#endif
