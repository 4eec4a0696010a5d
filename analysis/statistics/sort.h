/* Numbers in order, in time that grows as their number does: a trace holds many, a fleet more. */
#ifndef PB_ANALYSIS_STATISTICS_SORT_H
#define PB_ANALYSIS_STATISTICS_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending; no value is NaN. Takes as much room again; does without where there is none. */
void pb_sort(double *values, size_t count);

/*
 * The median, for an even count the mean of the middle two; no value is NaN, count > 0.
 *
 * values[count]  come back in another order
 */
double pb_median(double *values, size_t count);

/* Of two uint64_t, for qsort() and bsearch(). */
static inline int pb_compare_uint64(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

#endif
