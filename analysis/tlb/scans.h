/*
 * Chases over pages, as evidence of TLB levels: one load in each of n pages, pass after pass.
 *
 * A scan is all chases of one stride over the same array from the same SM, so that page k is the
 * same line in all of them; only their number of pages grows. A place is a page whose load was
 * recorded.
 */
#ifndef PB_ANALYSIS_TLB_SCANS_H
#define PB_ANALYSIS_TLB_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/parameter.h"
#include "analysis/trace.h"
#include "core/record.h"

struct pb_tlb_scan {
    uint64_t stride_bytes, base_address;
    uint64_t
        remapped_bytes; /* one block of so many bytes, mapped again and again; 0: plain memory */
    size_t chase_count;
    uint32_t *pages;        /* [chase_count] of each chase, ascending */
    size_t page_count;      /* of the longest one */
    size_t place_count;     /* recorded of any chase: the first pages */
    uint32_t *first_chase;  /* [page_count + 2] the first chase over so many pages or more */
    uint64_t *offset_bytes; /* [page_count] of the loaded word */
    float *cycles;          /* [place_count][chase_count]; NaN: not recorded, or of no use */
};

struct pb_tlb_scans {
    struct pb_tlb_scan *items;
    size_t count;
    struct pb_sample reference; /* cycles of lines that need one translation: hits in L2 alone */
    uint64_t least_stride_bytes, most_bytes;
};

/* PB_NOT_FOUND: no reference or no chase over pages; err says which. PB_NO_MEMORY. */
enum pb_status pb_tlb_scans_read(const struct pb_recording *recordings, size_t count,
                                 struct pb_tlb_scans *scans_out, struct pb_error *err);
void pb_tlb_scans_clear(struct pb_tlb_scans *scans);

/* One access; place < place_count, chase < chase_count. */
static inline float *pb_tlb_cycles(const struct pb_tlb_scan *scan, size_t place, size_t chase)
{
    return scan->cycles + place * scan->chase_count + chase;
}

/* The entry of a page's load, by its number, where each covers so much. */
static inline uint64_t pb_tlb_entry(const struct pb_tlb_scan *scan, size_t page,
                                    uint64_t coverage_bytes)
{
    uint64_t address = scan->base_address + scan->offset_bytes[page];

    return (coverage_bytes & (coverage_bytes - 1)) == 0
               ? address >> __builtin_ctzll(coverage_bytes) /* which is quicker */
               : address / coverage_bytes;
}

/* Bits in which the numbers of entries of a scan differ, in any of them. */
uint64_t pb_tlb_touched_bits(const struct pb_tlb_scans *scans, uint64_t coverage_bytes);

/* Passes before the one that is recorded: two where it is recorded whole, else one. */
static inline size_t pb_tlb_warm_passes(const struct pb_tlb_scan *scan, size_t chase)
{
    return scan->pages[chase] < scan->place_count || scan->page_count == scan->place_count ? 2 : 1;
}

/*
 * Takes the loads out whose lines L2 cannot keep, since more of a pass share a set of it than it
 * has ways: what they take says nothing of translation. Where its sets are not stated, it leaves
 * all in. PB_NO_MEMORY.
 */
enum pb_status pb_tlb_drop_conflicts(struct pb_tlb_scans *scans,
                                     const struct pb_parameters *parameters, struct pb_error *err);

/*
 * Does every one of so many pages, so far apart, miss a level in each pass? Each has to take an
 * entry of its own, and they have to overfill most sets that are known; pages that skip entries may
 * be in fewer sets, and more in each.
 */
bool pb_tlb_all_miss(const struct pb_parameters *parameters, const char *memory,
                     double stride_bytes, uint64_t pages);

#endif
