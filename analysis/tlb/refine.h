/*
 * The likeliest levels near those that were found, by the forward model alone (replay.h). Level by
 * level from the first on that does not fit, each may get other victims, ways, sets, parities,
 * entries or another penalty as long as the accesses grow likelier by more than its parameters
 * cost; those behind it may be anything meanwhile. Then, while levels fit badly, another may come.
 * And what else the accesses allow.
 */
#ifndef PB_ANALYSIS_TLB_REFINE_H
#define PB_ANALYSIS_TLB_REFINE_H

#include "analysis/tlb/replay.h"

struct pb_tlb_levels {
    struct pb_tlb_level items[PB_TLB_FOUND_MAX];
    struct pb_tlb_fit fits[PB_TLB_FOUND_MAX];
    size_t count;
    double cache_share; /* of loads that miss a cache */
};

/*
 * How far loads miss a level other than it predicts: 0, or in units of what is allowed; beyond 1
 * the level is something else.
 */
double pb_tlb_misfit(const struct pb_tlb_fit *fit);

/*
 * Do loads of some places miss otherwise than predicted again and again? Noise meets any place, and
 * rarely one twice in a row; entries of a wrong set do, in all chases that overfill it, and in all
 * replays. The share of such loads, of those that do otherwise; 0: no.
 */
double pb_tlb_other_sets(const struct pb_tlb_fit *fit);

/*
 * Fills levels->fits; where one is no fit, levels become the likeliest. PB_NO_MEMORY.
 */
enum pb_status pb_tlb_refine(struct pb_tlb_evidence *evidence, struct pb_tlb_levels *levels,
                             struct pb_error *err);

/*
 * Structures next to that of a level, with their scores: how much likelier they are than its own,
 * which is the first. PB_NO_MEMORY.
 */
enum pb_status pb_tlb_list_alike(struct pb_tlb_evidence *evidence,
                                 const struct pb_tlb_levels *levels, size_t at,
                                 struct pb_tlb_ranking *ranking_out, struct pb_error *err);

#endif
