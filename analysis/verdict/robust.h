/*
 * Where a population lies and how wide it is, when up to half of it may be broken.
 *
 * The location is the median, the scale Rousseeuw and Croux's Qn with its small-sample correction.
 * Qn has the breakdown point of the MAD at 82% efficiency against 37%, and asks for no symmetry.
 * Numbers that come in steps (whole cycles) are spread over their step first: otherwise more than
 * half equal values make any such scale zero.
 */
#ifndef PB_ANALYSIS_VERDICT_ROBUST_H
#define PB_ANALYSIS_VERDICT_ROBUST_H

#include <stddef.h>

#include "core/error.h"

/* Room for the estimates of up to `capacity` values; used again and again. */
struct pb_robust {
    double *spread, *work;
    int *work_int;
    size_t capacity;
};

/* PB_NO_MEMORY: robust is unchanged. */
enum pb_status pb_robust_reserve(struct pb_robust *robust, size_t count, struct pb_error *err);

void pb_robust_clear(struct pb_robust *robust); /* NULL is allowed */

/* The median of sorted[count], the mean of the middle two where there are two; count > 0. */
double pb_robust_center(const double *sorted, size_t count);

/*
 * Qn of sorted[count], consistent for normal data; 0 when count < 2. O(n log n).
 *
 * quantum  the step of the values; 0: none. Equal values are spread evenly over one step (never
 *          beyond the middle to the next value that occurs), so that identical values give
 *          0.3 quantum, the scale of what rounding hides.
 *
 * Source: Rousseeuw and Croux, JASA 88 (1993) 1273.
 */
double pb_robust_scale(struct pb_robust *robust, const double *sorted, size_t count,
                       double quantum);

#endif
