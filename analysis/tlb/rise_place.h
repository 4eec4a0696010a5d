/* Private to rise.c: where a step begins, by its single places. */
#ifndef PB_ANALYSIS_TLB_RISE_PLACE_H
#define PB_ANALYSIS_TLB_RISE_PLACE_H

#include "analysis/tlb/rise.h"
#include "analysis/tlb/tlb.h"

/* The walks of one sweep. */
struct pb_rise_walks {
    const struct pb_tlb_walk *walks;
    size_t count;
    size_t places;
    double *cells; /* [count * places] */
    double *means; /* [count] cycles above the places' own */
    size_t *seen;  /* [count] places */
    double noise_cycles;
};

/*
 * A set that overflows lifts a walk's mean by less than can be seen, but its own places by a whole
 * miss. So the step begins with the first walk of those before it where any place misses.
 *
 * first, at, flat  walks: where the flat part before begins, that seen to rise, and the first
 * behind step             its begin is moved, and sharp set, where single places bear it out
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_rise_sharpen(const struct pb_rise_walks *sweep, size_t first, size_t at,
                               size_t flat, struct pb_rise_step *step, struct pb_error *err);

#endif
