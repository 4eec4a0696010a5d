/*
 * Levels of translation, from walks over one line in each of n pages past L1.
 *
 * Every level that misses adds its penalty, so the latencies of all walks together show one kind
 * of access more for each level. Of a level, every stride between pages then has its own onset.
 *
 * Limit: where L2's own hits come in several kinds (near and far halves), the kinds cannot be told
 * from penalties; rise.h then compares every line with itself.
 */
#ifndef PB_ANALYSIS_TLB_TLB_H
#define PB_ANALYSIS_TLB_TLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/parameter.h"
#include "analysis/statistics/modes.h"
#include "analysis/trace.h"
#include "core/record.h"

enum { PB_TLB_LEVELS_MAX = 4, PB_TLB_STRIDES_MAX = 8 };

/* One walk over `pages` pages. */
struct pb_tlb_walk {
    uint64_t stride_bytes, pages;
    uint64_t base_address;
    uint64_t repeat; /* walks of another repeat load other lines of the same pages */
    int64_t sm_id;
    bool is_aliased;      /* one block of memory, mapped over and over, */
    uint64_t alias_bytes; /* of so many bytes; 0: not known */
    struct pb_accesses accesses;
    size_t left_out; /* of them, because L2 cannot keep their lines (tlb_crowd.h) */
};

struct pb_tlb_l2;

struct pb_tlb {
    struct pb_tlb_walk *walks; /* by stride, then by pages */
    size_t walk_count;
    uint64_t strides[PB_TLB_STRIDES_MAX]; /* ascending */
    size_t stride_count;
    double dram_cycles; /* what a miss of L2 takes more than a hit; NaN: not known */
    size_t sure_pages;  /* walks over no more fit in L2 as the reference does */
    size_t levels;      /* that miss anywhere */
    struct pb_band bands[PB_TLB_LEVELS_MAX + 1];      /* of accesses that miss so many levels */
    struct pb_estimate cycles[PB_TLB_LEVELS_MAX + 1]; /* their latencies */
    uint32_t *kept_latency; /* what is left of walks that were thinned out */
    uint64_t *kept_index;
};

/*
 * Reads the walks of recordings[count] of one device and finds the levels.
 *
 * dram_cycles  what a miss of L2 costs more than a hit, NaN where it is not known: accesses so slow
 *              are no misses of translation
 * l2           how it places lines, as far as that is known
 *
 * PB_NOT_FOUND    no reference or no walk; err says which
 * PB_UNSUPPORTED  L2 hits of several kinds
 */
enum pb_status pb_tlb_open(const struct pb_recording *recordings, size_t count, double dram_cycles,
                           const struct pb_tlb_l2 *l2, struct pb_tlb *tlb_out,
                           struct pb_error *err);
void pb_tlb_clear(struct pb_tlb *tlb);

/* Reads the walks alone: no levels. PB_NOT_FOUND: none; PB_NO_MEMORY. */
enum pb_status pb_tlb_read_walks(const struct pb_recording *recordings, size_t count,
                                 struct pb_tlb *tlb_out, struct pb_error *err);

/* The walks within pages of 2 MiB, which smaller ones would make miss: no levels. As above. */
enum pb_status pb_tlb_read_fine(const struct pb_recording *recording, struct pb_tlb *tlb_out,
                                struct pb_error *err);

/* Was every load of a lap recorded, but for those left out? */
bool pb_tlb_is_whole(const struct pb_tlb_walk *walk);

/* The walks of one stride: walks[first, first + count). */
void pb_tlb_range(const struct pb_tlb *tlb, uint64_t stride_bytes, size_t *first_out,
                  size_t *count_out);

/* Do both walks load the same lines from the same SM, as far as they go? */
bool pb_tlb_comparable(const struct pb_tlb_walk *a, const struct pb_tlb_walk *b);

/* Does access i miss this level (1, 2, …), whether it hits in L2 or not? */
bool pb_tlb_misses(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i,
                   size_t level);

/* Does it miss fewer levels? Neither hits nor misses what looks like nothing known, as a spike. */
bool pb_tlb_hits(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i, size_t level);

/* Is it of a kind that hits in L2? */
bool pb_tlb_hits_l2(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i);

/* Where misses of a level begin at one stride: the likeliest cut between fitting and not. */
struct pb_tlb_onset {
    uint64_t fits_pages, overflow_pages;
    double posterior;
    size_t agreeing, seen; /* walks that on their own side with the cut */
};

/* PB_NOT_FOUND: no such walk, or none fits, or none overflows; err (NULL is allowed) says which. */
enum pb_status pb_tlb_find_onset(const struct pb_tlb *tlb, size_t level, uint64_t stride_bytes,
                                 struct pb_tlb_onset *onset_out, struct pb_error *err);

#endif
