/*
 * A table of latencies, walks by places, taken apart: what a place costs, and what a walk adds to
 * every place. Lines of a large L2 differ by their slice far more than a level of translation
 * costs; a line compared with itself does not.
 */
#ifndef PB_ANALYSIS_STATISTICS_POLISH_H
#define PB_ANALYSIS_STATISTICS_POLISH_H

#include <stddef.h>

#include "core/error.h"

/* The caller's cells; NaN: this walk did not see this place. */
struct pb_polish {
    const double *cells; /* [walks * places] */
    size_t walks, places;
    double *place_cycles; /* [places] NaN where no walk saw it */
    double *walk_cycles;  /* [walks] what the walk adds to most of its places */
    double noise_cycles;  /* scale of what is left over (1.4826 times the median of its size) */
};

/*
 * Tukey's median polish of an incomplete table. pb_polish_clear() it.
 *
 * PB_NO_MEMORY; PB_INVALID: no cell
 *
 * Source: Tukey, Exploratory Data Analysis (1977), chapter 11.
 */
enum pb_status pb_polish_fit(const double *cells, size_t walks, size_t places,
                             struct pb_polish *polish_out, struct pb_error *err);
void pb_polish_clear(struct pb_polish *polish);

/*
 * How much slower a walk's places are on the whole than they are in most walks: the mean over its
 * places, each within most_cycles, so that no stray carries it. *count_out: places seen.
 */
double pb_polish_mean(const struct pb_polish *polish, size_t walk, double most_cycles,
                      size_t *count_out);

#endif
