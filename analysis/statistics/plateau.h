/* Where a rise ends: a line up to a knee, level behind it. */
#ifndef PB_ANALYSIS_STATISTICS_PLATEAU_H
#define PB_ANALYSIS_STATISTICS_PLATEAU_H

#include <stddef.h>

#include "analysis/parameter.h"

struct pb_plateau {
    struct pb_estimate knee;  /* in units of x: a place that was measured; its rivals are around */
    struct pb_estimate slope; /* before the knee, with its 95% interval */
    double base;              /* y where x is 0 */
    size_t points;            /* the places that line and plateau explain, from the first on */
};

/*
 * Fits y = base + slope * min(x, knee) by least squares, for every knee among the measured places
 * but the first and the last, to as many places from the first on as agree within 3%: what comes
 * behind a plateau (a cache that overflows) is left alone. A knee is a rival when the data are not
 * clearly (at 5%, by the F test) better off with the best.
 *
 * x[count], y[count]   x rising, y positive
 *
 * PB_NOT_FOUND  fewer than 5 points; or y rises by less than `least_rise` of itself; or no such
 *               line goes through the first 5 or more
 */
enum pb_status pb_plateau_fit(const double *x, const double *y, size_t count, double least_rise,
                              struct pb_plateau *plateau_out, struct pb_error *err);

#endif
