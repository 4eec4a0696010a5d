/*
 * Where misses begin in a sweep over footprints.
 *
 * Every footprint either fits or overflows, and a larger one never fits again. Each way of cutting
 * the sweep in two has a likelihood:
 *   a footprint that fits     shows misses only as rarely as strays do (Poisson; their rate is
 *                             estimated from all footprints that fit), its laps take the
 * reference's time; one that overflows        must miss at least once a lap, and may miss any
 * number of times; its laps may be slower by any amount. One measurement in a hundred may be
 * disturbed and count for nothing. The best cut is the answer, and its share of the summed
 * likelihood says how sure it is.
 */
#ifndef PB_ANALYSIS_ONSET_H
#define PB_ANALYSIS_ONSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/classes.h"
#include "core/error.h"

/* One chase of the sweep. */
struct pb_sweep_point {
    uint64_t footprint_bytes, stride_bytes;
    struct pb_tally tally; /* of a trace; no accesses: it is a lap */
    double coverage;       /* share of a lap that the trace saw, at most 1 */
    bool in_pieces;        /* the trace was recorded in several runs (R16's windows) */
    double lap_cycles;     /* average of a lap; NaN: it is a trace */
};

/* What is known before: from the reference and the classes. */
struct pb_sweep_model {
    struct pb_tally background; /* the reference's tally */
    double stray_rate;       /* expected hits that look like a miss, by access; NaN: count them */
    double lap_cycles;       /* of a lap that fits; NaN: laps are left aside */
    double lap_noise_cycles; /* standard deviation of such laps, above 0 */
    double miss_penalty_cycles; /* miss less hit */
};

struct pb_onset {
    uint64_t fits_bytes;     /* the largest footprint without misses */
    uint64_t overflow_bytes; /* the next one, with some */
    uint64_t stride_bytes;   /* of the sweep there */
    uint64_t full_bytes;   /* first footprint of the plateau where nothing more can miss; 0: none */
    double posterior;      /* 0 … 1, of this cut */
    size_t agreeing, seen; /* points that on their own side with the cut */
    bool soft;             /* misses set in slower than one set after the other can explain */
};

/* Sorts by footprint. */
void pb_sweep_sort(struct pb_sweep_point *points, size_t count);

/*
 * points[count]  sorted by footprint
 *
 * PB_NOT_FOUND   nothing fits, or nothing overflows; err says up to where
 *
 * Source: M16 section 4.2, "Determine cache size", made robust.
 */
enum pb_status pb_onset_find(const struct pb_sweep_point *points, size_t count,
                             const struct pb_sweep_model *model, struct pb_onset *onset_out,
                             struct pb_error *err);

/* Misses by accesses: counted in a trace, from its time for a lap. */
double pb_sweep_share(const struct pb_sweep_point *point, const struct pb_sweep_model *model);

#endif
