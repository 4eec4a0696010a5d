/*
 * Which null distribution holds: what a whole group's scores say of healthy devices.
 *
 * Two things make a healthy device lie farther from its peers than independent normal numbers do:
 * tails heavier than the normal ones, and devices of one node that resemble each other, so that
 * there are fewer independent peers than devices. One metric of one group is too little to measure
 * either; all metrics of one domain in a group are enough.
 */
#ifndef PB_ANALYSIS_VERDICT_EVIDENCE_H
#define PB_ANALYSIS_VERDICT_EVIDENCE_H

#include <stddef.h>

#include "analysis/verdict/population.h"
#include "analysis/verdict/score.h"

struct pb_evidence {
    double tail;       /* of the null: see critical.h */
    double likeness;   /* share of the variance that devices of one node have in common */
    double peer_share; /* independent peers by devices: 1 when nodes do not matter */
    size_t metrics;    /* that it was read from */
};

/*
 * Reads the evidence of the metrics of some domains in one group.
 *
 * domains             bit 1 << enum pb_domain for each
 * fits[metric_count]  of the group
 * sigmas              [device][metric], as in struct pb_score
 *
 * Likeness: one minus the variance within nodes (of the differences of two devices, far ones
 * clipped) by that of all, in the median over the metrics; a sick node moves neither. The peers are
 * then worth their number by 1 + (devices a node - 1) * likeness (Kish's design effect).
 *
 * Tails: the share of scores from 3 to 6 sigmas against that of Student's t, and that from 4.5 to 8
 * but for one standard error over devices; the heavier of both. Farther out lie the sick, which
 * must not speak for themselves (nor a device that has a score there by any of its scores), and no
 * device's share counts for more than a tenth. Where three
 * quarters of a node or half of a slot's devices deviate together, that is theirs and no tail, but
 * for the likeness of healthy nodes. What devices have in common makes a number a sum, whose tails
 * are lighter than its parts': by the excess kurtosis of a sum the parts' are taken.
 *
 * Without metrics whose scale is measured: normal tails and no likeness. PB_NO_MEMORY is the only
 * error.
 * Source: Kish, Survey Sampling (1965), 5.4; Efron, JASA 99 (2004) 96, for nulls from the data.
 */
enum pb_status pb_evidence_read(const struct pb_features *features, const struct pb_scores *scores,
                                size_t group, const struct pb_fit *fits, unsigned domains,
                                struct pb_evidence *evidence_out, struct pb_error *err);

#endif
