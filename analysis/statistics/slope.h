/* A slope that outliers do not move, and whether it stays the same along the way. */
#ifndef PB_ANALYSIS_STATISTICS_SLOPE_H
#define PB_ANALYSIS_STATISTICS_SLOPE_H

#include <stddef.h>

#include "analysis/parameter.h"

struct pb_slope {
    struct pb_estimate all;    /* rise of y per unit of x, with its 95% interval */
    double first, last;        /* slope of the first and of the last third */
    size_t pairs, pairs_close; /* slopes it is the median of, and those within 0.1% of it */
};

/*
 * Median of the slopes of the disjoint pairs (i, i + count / 2): long baselines, and independent of
 * each other, so that the binomial interval of the median holds.
 *
 * x[count], y[count]   in order of measurement
 *
 * PB_INVALID    fewer than 6 samples, or x not rising
 *
 * Source: Theil (1950) with the split-half pairs of his incomplete method.
 */
enum pb_status pb_slope_fit(const double *x, const double *y, size_t count,
                            struct pb_slope *slope_out, struct pb_error *err);

#endif
