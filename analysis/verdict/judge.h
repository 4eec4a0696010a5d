/* Private to pb_judge(): its parts, each of which adds findings of one kind. */
#ifndef PB_ANALYSIS_VERDICT_JUDGE_H
#define PB_ANALYSIS_VERDICT_JUDGE_H

#include "analysis/verdict/attribute.h"
#include "analysis/verdict/finding.h"

struct pb_verdict {
    const struct pb_features *features;
    const struct pb_scores *scores;
    struct pb_judge_options options;
    struct pb_findings findings;
    struct pb_error *err;
};

/*
 * Adds a finding with sorted copies of these lists as its members and counterparts (NULL: none),
 * which are rows of the feature table. PB_NO_MEMORY: nothing was added.
 */
enum pb_status pb_verdict_add(struct pb_verdict *verdict, const struct pb_finding *finding,
                              const struct pb_members *members,
                              const struct pb_members *counterparts);

/* The same for one device: its row of the feature table. */
enum pb_status pb_verdict_add_device(struct pb_verdict *verdict, const struct pb_finding *finding,
                                     size_t device);

/* Was anything of this device compared with peers, or with its own history? Counts of errors need
 * neither, so they do not count. */
bool pb_verdict_has_scored(const struct pb_verdict *verdict, size_t device);
bool pb_verdict_has_history(const struct pb_verdict *verdict, size_t device);

/* judge_status.c: ranks whose device failed, hung, crashed, was lost, absent or measured twice. */
enum pb_status pb_judge_status(struct pb_verdict *verdict);

/* judge_gaps.c: tests that nearly all peers have numbers of. After all that may explain a gap. */
enum pb_status pb_judge_gaps(struct pb_verdict *verdict);

/* judge_causes.c: what deviates, why, and whose deviation it is. */
enum pb_status pb_judge_causes(struct pb_verdict *verdict);

/* judge_populations.c: groups that fall in two, and groups that their configuration sets apart. */
enum pb_status pb_judge_populations(struct pb_verdict *verdict);

/* The members share this attribute's value. Of a setting, that is the cause, and they are no broken
 * devices; boards of one part number or lot, and devices with events, keep the cause that they
 * have. */
void pb_finding_configuration(const struct pb_device_info *info, enum pb_attribute attribute,
                              struct pb_finding *finding);

/* Which of the two populations is right is not known: UNKNOWN, and nothing to drain. */
void pb_finding_undetermined(size_t members, size_t others, struct pb_finding *finding);

/* judge_share.c: groups of which a third is anomalous. After all that names devices. */
enum pb_status pb_judge_share(struct pb_verdict *verdict);

/* judge_fleet.c: devices set up unlike their peers. */
enum pb_status pb_judge_configuration(struct pb_verdict *verdict);

/* judge_inventory.c: who is there, against the baseline. */
enum pb_status pb_judge_inventory(struct pb_verdict *verdict);

/* judge_references.c: devices with too few peers, against recorded ones of their model. */
enum pb_status pb_judge_references(struct pb_verdict *verdict);

/* judge_trends.c: what creeps over a history. */
enum pb_status pb_judge_trends(struct pb_verdict *verdict);

/* judge_coverage.c: what could not be judged. */
enum pb_status pb_judge_coverage(struct pb_verdict *verdict);

#endif
