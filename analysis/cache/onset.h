/*
 * Where misses begin in a sweep over footprints.
 *
 * Every footprint either fits or overflows, and a larger one never fits again. Each way of cutting
 * the sweep in two has a likelihood (sweep.h); the best cut is the answer, and its share of the
 * summed likelihood says how sure it is. Other cuts that have a part of it bound where it may be.
 */
#ifndef PB_ANALYSIS_CACHE_ONSET_H
#define PB_ANALYSIS_CACHE_ONSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cache/sweep.h"
#include "core/error.h"

/* The reason that no footprint overflows, up to the largest one, an unsigned long long. */
#define PB_ONSET_ALL_FIT "sweep too small: no misses up to the largest footprint, %llu bytes"

struct pb_onset {
    uint64_t fits_bytes;              /* the largest footprint without misses */
    uint64_t overflow_bytes;          /* the next one, with some */
    uint64_t stride_bytes;            /* of the sweep there */
    uint64_t least_bytes, most_bytes; /* where it may be as well: shares of 1% and more */
    uint64_t full_bytes; /* first footprint of the plateau where nothing more can miss; 0: none */
    uint64_t full_most_bytes; /* behind that one nothing shows that misses still grow */
    uint64_t half_bytes; /* where half of a sampled chase's loads miss, interpolated; 0: not seen */
    double posterior;    /* 0 … 1, of this cut */
    size_t agreeing, seen; /* points that on their own side with the cut */
    bool soft;             /* misses set in slower than one set after the other can explain */
};

/*
 * points[count]  sorted by footprint
 *
 * PB_NOT_FOUND   nothing fits, or nothing overflows; err says up to where
 *
 * Source: M16 section 4.2, "Determine cache size", made robust.
 */
enum pb_status pb_onset_find(const struct pb_sweep_point *points, size_t count,
                             const struct pb_sweep_model *known, struct pb_onset *onset_out,
                             struct pb_error *err);

#endif
