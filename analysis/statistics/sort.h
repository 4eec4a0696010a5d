/* Numbers in order, in time that grows as their number does: a trace holds many, a fleet more. */
#ifndef PB_ANALYSIS_STATISTICS_SORT_H
#define PB_ANALYSIS_STATISTICS_SORT_H

#include <stddef.h>

/* Ascending; no value is NaN. Takes as much room again; does without where there is none. */
void pb_sort(double *values, size_t count);

/*
 * The median, for an even count the mean of the middle two; no value is NaN, count > 0.
 *
 * values[count]  come back in another order
 */
double pb_median(double *values, size_t count);

#endif
