/* Bootstrap intervals, for statistics whose interval has no closed form. */
#ifndef PB_ANALYSIS_STATISTICS_RESAMPLE_H
#define PB_ANALYSIS_STATISTICS_RESAMPLE_H

#include <stddef.h>

#include "core/error.h"

/*
 * The interval that holds the median of values[count] with the given probability, by the moving
 * block bootstrap: accesses that follow each other resemble each other (same page, same slice), so
 * blocks of the square root of their number are drawn, not single ones. Values are in order of
 * measurement; more than 4,096 are thinned evenly. The draws are the same at every call.
 *
 * PB_INVALID: count == 0. PB_NO_MEMORY.
 *
 * Source: Künsch, Annals of Statistics 17 (1989).
 */
enum pb_status pb_bootstrap_median(const double *values, size_t count, double probability,
                                   double *low_out, double *high_out, struct pb_error *err);

#endif
