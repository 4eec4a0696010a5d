/* Private to the inference of translation: the ways of looking at a level. */
#ifndef PB_ANALYSIS_TLB_INFER_TLB_H
#define PB_ANALYSIS_TLB_INFER_TLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/inference.h"
#include "analysis/tlb/tlb.h"
#include "analysis/tlb/tlb_sets.h"

/* What is seen of one level where its misses are a kind of access of their own. */
struct pb_tlb_view {
    const struct pb_tlb *tlb;
    size_t level;
    struct pb_tlb_onset onset; /* at the smallest stride that shows one */
    uint64_t stride_bytes;
    uint64_t span_bytes;
    uint64_t fits_bytes, next_bytes; /* the reach, by all strides up to the span */
    uint64_t step_bytes;             /* of the stride that saw the misses of next_bytes */
    double slack; /* part of the reach by which misses may have begun before, unrecorded */
    size_t strides_agreeing, strides; /* that keep to span and reach */
    bool disputed;                    /* pages say less than several strides do */
    bool sure;                        /* of the span: only first pages of entries miss */
};

/* infer_tlb_span.c: how far the level reaches, and one entry. PB_NOT_FOUND: no reach is seen. */
enum pb_status pb_tlb_look(const struct pb_tlb *tlb, size_t level, struct pb_tlb_view *view_out,
                           struct pb_error *err);

/*
 * infer_tlb_ways.c: states set_count, way_counts and the index of a level with so many entries, by
 * the sets that overflow one after the other. PB_NO_MEMORY is the only error.
 */
enum pb_status pb_tlb_state_ways(const struct pb_case *at, const struct pb_tlb_view *view,
                                 uint64_t entry_count, double confidence, struct pb_error *err);

/* Which set every entry of an array was seen to be of. */
struct pb_tlb_members {
    uint64_t first; /* number of the first entry: its address by the span */
    uint64_t span_bytes;
    const size_t *sets; /* [count] from 1 on; 0: not known */
    size_t count, set_count;
    bool equal; /* all sets have as many entries */
};

/* infer_tlb_index.c: states index_kind and index_masks with which these are of these sets. */
void pb_tlb_state_members(const struct pb_case *at, const struct pb_tlb_members *members,
                          double confidence);

/* States index_kind and index_masks of sets that an index foretold. */
void pb_tlb_state_index(const struct pb_case *at, const struct pb_tlb_sets *sets,
                        uint64_t span_bytes, double confidence);

/*
 * infer_tlb_doubt.c. A level of which no sets are seen misses from so many entries on: one of them
 * may be full, and the others not, until all miss. Says so.
 */
void pb_tlb_doubt_onset(const struct pb_case *at, const struct pb_tlb_view *view, uint64_t entries);

/*
 * The same file. Of so many entries that fit, the level was asked for so few: the others hit
 * the level before, and it may hold no more than it was asked for. Says so.
 */
void pb_tlb_doubt_count(const struct pb_case *at, uint64_t entries, uint64_t asked);

/*
 * Walks in order ask a level only where the one before misses, once for each of its entries: what
 * spans no more than these may span less, down to the smallest stride walked. Says so.
 */
void pb_tlb_doubt_span(const struct pb_case *at, uint64_t least_bytes);

/* Gives what is open of sets and index the reason why. */
void pb_tlb_leave_sets_open(const struct pb_case *at);

/*
 * infer_tlb_sets.c: states entry_count, reach_bytes, set_count, way_counts and the index from the
 * level's sets. overflow_bytes: the smallest footprint with a miss.
 */
void pb_tlb_state_sets(const struct pb_case *at, const struct pb_tlb_sets *sets,
                       uint64_t span_bytes, uint64_t overflow_bytes);

/* The same file: states set_count and way_counts, one number where all sets are equal. */
void pb_tlb_state_list(const struct pb_case *at, const double *ways, size_t count,
                       double confidence);
bool pb_tlb_are_equal(const double *ways, size_t count);

/*
 * infer_tlb_rise.c: where L2's hits come in several kinds, by lines compared with themselves.
 * most_cycles: a line slower by more does not wait for a translation.
 */
enum pb_status pb_infer_tlb_rise(const struct pb_case *at, size_t level, double most_cycles,
                                 struct pb_error *err);

#endif
