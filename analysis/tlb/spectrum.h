/*
 * Parities of the bits of entry numbers that pages which miss together have in common, whatever
 * chooses a victim: proposals of a hashed index (N14 5.1).
 *
 * While few sets of a level are overfull, all that misses is of these. Of a parity that is a bit of
 * the set, the missing entries of a chase then have one value far more often than as many entries
 * drawn at random from all that came: the power of the Walsh transform of what misses is larger
 * there than by chance.
 */
#ifndef PB_ANALYSIS_TLB_SPECTRUM_H
#define PB_ANALYSIS_TLB_SPECTRUM_H

#include "analysis/tlb/structure.h"

enum { PB_TLB_PROPOSED_MAX = 8, PB_TLB_SIMPLE_MAX = 128 };

/* Parities that a level's index may have besides its own. */
struct pb_tlb_parities {
    uint64_t sure[PB_TLB_PROPOSED_MAX]; /* that misses have in common, the surest first; */
    size_t sure_count;                  /* so many, none the sum of others */
    uint64_t simple[PB_TLB_SIMPLE_MAX]; /* of the fewest bits that vary while some entries miss, */
    size_t simple_count;                /* so many */
};

/*
 * None where lines take different times.
 *
 * levels[at]  its structure, whose index is of parities or none, and its penalty; and the
 *             penalties of those before it
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_tlb_propose_parities(const struct pb_tlb_evidence *evidence,
                                       const struct pb_tlb_level *levels, size_t at,
                                       struct pb_tlb_parities *parities_out, struct pb_error *err);

#endif
