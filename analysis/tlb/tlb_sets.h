/*
 * Sets of a level of translation, from which pages miss: page by page beyond the reach, the added
 * page makes one set too full, and with an LRU all of that set's pages miss at once.
 *
 * Pages that begin to miss with the same added page share its set. From their addresses'
 * differences follows the index, as bits that are parities of address bits (a modulo by a power of
 * two is one of these); how many pages of a set fit follows from all walks. Both are then held
 * against every access of every walk, of strides and addresses that they were not learnt from as
 * well.
 *
 * Limit: levels whose misses show in single lines, with sets that are equal, a power of two in
 * number and replaced in order.
 *
 * Source: M16 section 4.4 for the walks, N14 section 5.1 for the index.
 */
#ifndef PB_ANALYSIS_TLB_TLB_SETS_H
#define PB_ANALYSIS_TLB_TLB_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/tlb/tlb.h"
#include "core/error.h"
#include "core/record.h"

struct pb_tlb_sets {
    uint64_t masks[64]; /* of addresses, for each bit of the index */
    size_t mask_count;
    uint64_t told; /* address bits that entries differ in by themselves, at least by sums of them */
    bool guessed;  /* pages that share a set were seen too seldom: some bits were left to choose */
    size_t set_count, ways;
    size_t finest_sets;    /* that foretell as much: more than set_count where both may be */
    size_t seen, foretold; /* accesses of all walks, and those as the sets have them */
    size_t misses, foretold_misses; /* of these */
    size_t right;                   /* accesses of all walks that are as the sets have them */
};

/*
 * span_bytes   of an entry
 * entries      where the level begins to miss, roughly
 * miss_cycles  what a miss takes; it must stand out of the noise of a line
 *
 * PB_NOT_FOUND  no index explains what misses; err says what was seen
 */
enum pb_status pb_tlb_find_sets(const struct pb_recording *recordings, size_t count,
                                uint64_t span_bytes, double entries, double miss_cycles,
                                struct pb_tlb_sets *sets_out, struct pb_error *err);

/* The same of a level whose misses are a kind of access of their own. */
enum pb_status pb_tlb_find_sets_of(const struct pb_tlb *tlb, size_t level, uint64_t span_bytes,
                                   struct pb_tlb_sets *sets_out, struct pb_error *err);

#endif
