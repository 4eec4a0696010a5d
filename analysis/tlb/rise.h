/*
 * Levels of translation where L2's own hits come in several kinds (near and far slices): no
 * latency by itself tells a hit from a miss, but every line compared with itself does.
 *
 * A sweep is all walks of one stride over the same array on the same SM, so that page k is the same
 * line in all of them. Over growing numbers of pages the sweep rises once for every level that
 * begins to miss: by the whole penalty where each page takes an entry of its own, by the share of
 * stride in span where several pages follow each other within one entry.
 *
 * Source: M16 section 4.4, on lines that are compared with themselves.
 */
#ifndef PB_ANALYSIS_TLB_RISE_H
#define PB_ANALYSIS_TLB_RISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

enum { PB_RISE_STEPS_MAX = 4, PB_RISE_SWEEPS_MAX = 16 };

/*
 * Where a sweep rises. Where what else the SM does takes entries too, a few pages miss before the
 * level is full: then most_pages lies above fits_pages.
 */
struct pb_rise_step {
    uint64_t fits_pages, overflow_pages; /* nothing misses; the next walk, where something does */
    uint64_t most_pages, beyond_pages;   /* less than half of it all; the next walk: more */
    double cycles;                       /* from the flat part before to the one behind */
    double error_cycles;                 /* standard error of that */
    double first_share;                  /* of the rise, that the first walk beyond shows already */
    size_t walks;                        /* on the flat part behind */
    bool sharp;                          /* the first page that misses shows by itself */
};

struct pb_rise_sweep {
    uint64_t stride_bytes;
    uint64_t most_pages;
    struct pb_rise_step steps[PB_RISE_STEPS_MAX]; /* by pages */
    size_t step_count;
};

struct pb_rise {
    struct pb_rise_sweep sweeps[PB_RISE_SWEEPS_MAX]; /* by stride */
    size_t sweep_count;
};

/*
 * Finds the rises in the walks of recordings[count].
 *
 * most_cycles   what is slower or faster than its place by more is another matter
 *
 * PB_NO_MEMORY; PB_NOT_FOUND: no sweep of at least a few walks
 */
enum pb_status pb_rise_find(const struct pb_recording *recordings, size_t count, double most_cycles,
                            struct pb_rise *rise_out, struct pb_error *err);

/* One level, by the steps that belong to it. */
struct pb_rise_level {
    const struct pb_rise_sweep *sweeps[PB_RISE_SWEEPS_MAX]; /* by stride */
    const struct pb_rise_step *steps[PB_RISE_SWEEPS_MAX];
    size_t count;
};

/*
 * The level'th level (1, 2, …): a step of one stride and one of the next belong together where
 * their pages are the same, or their bytes.
 *
 * PB_NOT_FOUND: no sweep shows so many; err says how far they go
 */
enum pb_status pb_rise_level(const struct pb_rise *rise, size_t level,
                             struct pb_rise_level *level_out, struct pb_error *err);

#endif
