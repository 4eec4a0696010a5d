/*
 * A sweep over footprints, and how likely each of its chases is if its footprint fits in a cache,
 * or if it overflows:
 *   fits        A trace shows misses only as rarely as outliers do (Poisson); a pass takes the time
 * of the reference. overflows   A trace misses at least once a pass, more with every line in
 * excess, and may miss any number of times, beside outliers; a pass may be slower by any amount.
 * One measurement in a hundred may be disturbed and count for nothing.
 */
#ifndef PB_ANALYSIS_CACHE_SWEEP_H
#define PB_ANALYSIS_CACHE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/statistics/classes.h"

/* One chase of the sweep. */
struct pb_sweep_point {
    uint64_t footprint_bytes, stride_bytes;
    struct pb_tally tally; /* of a trace; no accesses: it is a pass */
    double coverage;       /* share of a pass that the trace saw, at most 1 */
    bool in_pieces;        /* the trace was recorded in several runs (R16's windows) */
    double noise_rate;     /* hits that look like misses, by access, as this trace has them */
    double pass_cycles;    /* average of a pass; NaN: it is a trace */
};

/* What is known before: from the reference and the classes. */
struct pb_sweep_model {
    struct pb_tally background; /* the reference's tally */
    double outlier_rate;      /* expected hits that look like a miss, by access; NaN: count them */
    double pass_cycles;       /* of a pass that fits; NaN: passes are left aside */
    double pass_noise_cycles; /* standard deviation of such passes, above 0 */
    double miss_penalty_cycles; /* miss less hit */
    double unit_bytes;          /* pb_sweep_unit_bytes(); pb_onset_find() sets it */
};

/* Where the sweep is cut in two. */
struct pb_sweep_edge {
    uint64_t fits_bytes;     /* the largest footprint that fits; 0: none does */
    uint64_t overflow_bytes; /* the next one; no chase that overflows has a smaller one */
};

/* Sorts by footprint. */
void pb_sweep_sort(struct pb_sweep_point *points, size_t count);

/* A pass, timed as a whole, and no trace. */
bool pb_sweep_is_pass(const struct pb_sweep_point *point);

/* Misses by accesses: counted in a trace, from its time for a pass. */
double pb_sweep_share(const struct pb_sweep_point *point, const struct pb_sweep_model *model);

/*
 * What one miss brings in, at most: by the longest array, of which as many loads miss as ever do.
 * No less than a line may have.
 */
double pb_sweep_unit_bytes(const struct pb_sweep_point *points, size_t count,
                           const struct pb_sweep_model *model);

/*
 * Log likelihood that a pass shows none of the misses of so many lines in excess, where it was
 * recorded in part or in pieces: each is another run, in which a line may miss in all or in none.
 */
double pb_sweep_log_silence(double excess);

/* Log likelihood of a tally's misses if there are `rate` > 0 by access. */
double pb_tally_log_poisson(const struct pb_tally *tally, double rate);

/* Log likelihood of a chase whose footprint fits, with `rate` > 0 outliers by access. */
double pb_sweep_log_fits(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                         double rate);

/*
 * Log likelihood of a chase whose footprint overflows, if the edge is there.
 *
 * others      the traces of the same footprint that were counted before it and missed; may be empty
 * seen_share  of loads that miss at least in an overflowing trace of no larger a footprint
 */
double pb_sweep_log_overflows(const struct pb_sweep_point *point,
                              const struct pb_sweep_model *model, const struct pb_sweep_edge *edge,
                              const struct pb_tally *others, double seen_share, double rate);

/* Log likelihood of a trace whose misses are the recording's, as many as there may be. */
double pb_sweep_log_disturbed(const struct pb_sweep_point *point);

#endif
