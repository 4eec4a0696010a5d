/*
 * Hypotheses of one TLB level: what an entry covers, sets and ways, the index, LRU in each set; and
 * how well each predicts which places miss with which chase.
 *
 * A chase loads its pages in order, pass after pass. So with an LRU, a set misses all of its
 * entries from the chase on with which more of them are looked up than it has ways, and none
 * before; of several pages of an entry only the first one can miss. What one level misses is looked
 * up in the next. Other victims are for the forward model to tell (refine.h).
 */
#ifndef PB_ANALYSIS_TLB_STRUCTURE_H
#define PB_ANALYSIS_TLB_STRUCTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/parameter.h"
#include "analysis/tlb/evidence.h"

enum {
    PB_TLB_PARITIES_MAX = 12,
    PB_TLB_SETS_IN_TURN = 16, /* all numbers of sets up to this are tried for entries in turn */
    PB_TLB_UNEQUAL_MAX = 256,
    PB_TLB_HYPOTHESES_MAX = 320
};

enum pb_tlb_victims { PB_TLB_LRU, PB_TLB_RANDOM, PB_TLB_TREE, PB_TLB_FIFO, PB_TLB_VICTIMS };

struct pb_tlb_structure {
    uint64_t coverage_bytes; /* of an entry */
    size_t set_count;
    uint64_t masks[PB_TLB_PARITIES_MAX]; /* of entry numbers: bit i of the set is a parity */
    size_t mask_count;                   /* 0: entry number modulo sets, */
    uint64_t resolved;    /* bits of entry numbers of which the chases tell whether they matter */
    uint64_t open;        /* bits that may belong to parities as well */
    bool is_guessed;      /* other parities predict as much */
    uint32_t entry_count; /* or where sets have unequal ways, set_at[its rest by these]: dealt */
    uint8_t set_at[PB_TLB_UNEQUAL_MAX];
    enum pb_tlb_victims victims; /* not LRU: is_equal */
    bool is_equal;               /* all sets have ways[0] */
    uint32_t parts; /* > 1: each set of the index is evenly so many, to which its entries come in
                       turn as chases load them: any index that spreads them evenly. It is compared,
                       and never stated */
    uint32_t ways[PB_LIST_MAX];
    uint32_t ways_high; /* where is_equal: up to so many predict the same */
    double gain;        /* log likelihood above that of no level at all */
    double score;       /* the same, less the price of the parameters */
};

/* All hypotheses that were scored with one latency step, in no order; the best of them. */
struct pb_tlb_ranking {
    double penalty_cycles, bound; /* no structure gains more */
    struct pb_tlb_structure items[PB_TLB_HYPOTHESES_MAX];
    size_t count, best;
    double noise; /* of their likelihoods, beside PB_SAME_PREDICTION */
};

/*
 * Scores structures of a level with that penalty, by the accesses that miss the levels before.
 * ranking_out->count is 0 where no structure is better than none.
 *
 * least    a score that none need reach: where all places together gain no more, none is tried
 * one_set  only structures of one set, with LRU: enough to compare penalties
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_tlb_rank(struct pb_tlb_evidence *evidence, double penalty_cycles, double least,
                           bool one_set, struct pb_tlb_ranking *ranking_out, struct pb_error *err);

/*
 * Makes unequal sets, at evidence->position, the likeliest that moving ways from one to another one
 * by one leads to. PB_NO_MEMORY.
 */
enum pb_status pb_tlb_climb_unequal(struct pb_tlb_evidence *evidence, double penalty_cycles,
                                    struct pb_tlb_structure *structure, struct pb_error *err);

/* Places of which it is clear with which chase they begin to miss, and those predicted so. */
struct pb_tlb_check {
    size_t seen, agreeing;
};

/*
 * Makes the structure a known level of the evidence, at evidence->position; check_out may be NULL.
 * PB_NO_MEMORY.
 */
enum pb_status pb_tlb_adopt(struct pb_tlb_evidence *evidence,
                            const struct pb_tlb_structure *structure, double penalty_cycles,
                            struct pb_tlb_check *check_out, struct pb_error *err);

/* Takes the level back that was adopted last. */
void pb_tlb_drop(struct pb_tlb_evidence *evidence);

struct pb_tlb_level {
    struct pb_tlb_structure structure;
    double penalty_cycles;
};

/* Makes these the known levels of the evidence, in place of all others. PB_NO_MEMORY. */
enum pb_status pb_tlb_adopt_all(struct pb_tlb_evidence *evidence, const struct pb_tlb_level *levels,
                                size_t count, struct pb_error *err);

/* The same entries, sets, ways and victims? */
bool pb_tlb_is_same(const struct pb_tlb_structure *a, const struct pb_tlb_structure *b);

size_t pb_tlb_set_of(const struct pb_tlb_structure *structure, uint64_t entry);

/* Sets in turn as parities, one for each bit. False: they are no power of two. */
bool pb_tlb_name_parities(struct pb_tlb_structure *structure);

/* Of a structure whose sets are in parts: that of whole ones. */
struct pb_tlb_structure pb_tlb_whole_sets(const struct pb_tlb_structure *structure);

/* Half as many sets: bits i and j become one, or bit i is dropped where j is i. */
struct pb_tlb_structure pb_tlb_halve(const struct pb_tlb_structure *index, size_t i, size_t j);

/*
 * Makes the sets of the structure unequal ones that entries come to in turn, past those that are
 * full: as even as as many entries allow. False: they are too many.
 */
bool pb_tlb_deal(struct pb_tlb_structure *structure);

/*
 * So many ways less in one set, and more in another; set_count stands for none. False: that leaves
 * none, or too many.
 */
bool pb_tlb_move_ways(struct pb_tlb_structure *structure, size_t less, size_t more, uint32_t ways);

/*
 * Entries that cover less than those of the level before hit or miss with these, so that no chase
 * shows how much less. Memory is mapped by pages of 2 MiB where the level before covers as much.
 *
 * before_bytes  what an entry of the level before covers; 0: there is none
 */
uint64_t pb_tlb_least_coverage(const struct pb_tlb_scans *scans, uint64_t before_bytes);

double pb_tlb_entry_count(const struct pb_tlb_structure *structure);

/*
 * Lines that L2 cannot keep miss it page by page, as pages do that have an entry each: may the
 * level be nothing but that, by its step?
 */
bool pb_tlb_is_cache(const struct pb_tlb_evidence *evidence,
                     const struct pb_tlb_structure *structure, double penalty_cycles);

#endif
