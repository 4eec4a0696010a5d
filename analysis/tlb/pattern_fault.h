/*
 * Private to the inference of patterns: what speaks against a slice of its chase, by what is known
 * of the caches and TLBs. pattern: 0 for P1, 1 for P2, …
 */
#ifndef PB_ANALYSIS_TLB_PATTERN_FAULT_H
#define PB_ANALYSIS_TLB_PATTERN_FAULT_H

#include "analysis/inference.h"
#include "analysis/tlb/pattern_slice.h"

/*
 * Why a slice shows no such pattern; NULL: it does. hits: the slice of P1, if there is one.
 *
 * Loads that hit the cache and miss TLBs are P1's loads, each longer by the same: a slice of them
 * lies later than P1 by what the misses cost. One that lies elsewhere mixes translated loads and
 * others, however many pages it has: victims may be random. Loads of L1's data may need no TLB.
 */
const char *pb_pattern_fault(const struct pb_case *at, const struct pb_pattern_slice *hits,
                             const struct pb_pattern_slice *slice, size_t pattern);

/* What a load of this pattern takes at most when the cache has its line; NaN: nobody knows. */
double pb_pattern_most_of_hits(const struct pb_case *at, size_t pattern);

/*
 * Why a slice that shows its pattern tells no latency of it, as the mean of several kinds: hits and
 * misses of the cache, or of translation, where it is longer than any that asks for nothing new.
 * NULL: it does.
 */
const char *pb_pattern_mixture(const struct pb_case *at, const struct pb_pattern_slice *slice,
                               size_t pattern, double most);

#endif
