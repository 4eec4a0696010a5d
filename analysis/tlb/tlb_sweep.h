/* Private to tlb_sets.c: sweeps over pages as what hits and what misses a level. */
#ifndef PB_ANALYSIS_TLB_TLB_SWEEP_H
#define PB_ANALYSIS_TLB_TLB_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/tlb/tlb.h"

/* What a walk shows of a place: of several pages of one entry, only the first can miss. */
enum pb_tlb_sight { PB_TLB_UNSEEN, PB_TLB_HIT, PB_TLB_MISS };

/* The walks of one stride over the same lines from the same SM, in order of pages. */
struct pb_tlb_sweep {
    const struct pb_tlb_walk **walks;
    size_t count;
    uint64_t stride_bytes, base;
    size_t places;
    unsigned char *sights; /* [count * places] enum pb_tlb_sight */
    uint64_t *entries;     /* [entry_count] their numbers, as pages come to them */
    size_t entry_count;
    size_t *touched; /* [count] entries by walk: the first ones */
    bool *mixed;     /* [count] some places hit and some miss: only these tell sets apart */
};

struct pb_tlb_sweeps {
    struct pb_tlb_sweep *items;
    size_t count;
};

/*
 * What is looked for. level > 0: its misses are a kind of access of their own. 0: it misses from
 * about `entries` on, by so many cycles more than the line takes elsewhere.
 */
struct pb_tlb_search {
    uint64_t span_bytes;
    size_t level;
    double entries, miss_cycles;
};

/* The entry that translates a page of the sweep, by its number. */
uint64_t pb_tlb_entry_of(const struct pb_tlb_search *search, const struct pb_tlb_sweep *sweep,
                         uint64_t page);

/* Adds all sweeps of a recording's walks, which must stay. PB_NO_MEMORY. */
enum pb_status pb_tlb_add_sweeps(const struct pb_tlb_search *search, const struct pb_tlb *tlb,
                                 struct pb_tlb_sweeps *sweeps, struct pb_error *err);
void pb_tlb_clear_sweeps(struct pb_tlb_sweeps *sweeps);

#endif
