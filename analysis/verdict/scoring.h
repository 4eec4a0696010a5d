/*
 * Scoring in the making: sigmas and p of every device of one group, before multiplicity.
 */
#ifndef PB_ANALYSIS_VERDICT_SCORING_H
#define PB_ANALYSIS_VERDICT_SCORING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict/population.h"
#include "analysis/verdict/score.h"

/* What one call of pb_score() works on. */
struct pb_scoring {
    const struct pb_features *features, *baseline;
    const struct pb_score_options *options;
    struct pb_scores *scores;
    struct pb_fit *fits;           /* [group][metric] */
    size_t *history_metric;        /* of the baseline, per metric; SIZE_MAX: not there */
    uint32_t *event_parts;         /* pb_event_parts() of every device, … */
    uint32_t *history_event_parts; /* … and of the baseline's; NULL: there is none */
    struct pb_column column;
};

/*
 * Fits all metrics of a group, then sets sigmas, shift and p of its devices and its norms but for
 * `detectable`. Where two fifths of the values or more come from devices that an event shows to be
 * wrong in the metric's part, these are no peers: the others are fitted, if they are enough;
 * else these, and the others are not scored. The null distributions come from all metrics of a
 * domain, so these are fitted first. PB_NO_MEMORY is the only error.
 */
enum pb_status pb_scoring_group(struct pb_scoring *scoring, size_t group, struct pb_error *err);

/*
 * Divides metrics of a group, after their severities are known, and scores its devices anew. Where
 * those that deviate, with all that lie nearer to them than to the majority, are so many that
 * either part may be the healthy one, the metric is split, though they lie nearer than would prove
 * two populations by itself. So is one in which the parts of an undecided partition lie apart.
 * Each value is then measured against its own part: no device deviates for belonging to one.
 *
 * divided_out  whether there was such a metric; then multiplicity is to be applied again
 */
enum pb_status pb_scoring_divide(struct pb_scoring *scoring, size_t group, bool *divided_out,
                                 struct pb_error *err);

#endif
