/* Theil's incomplete median slope. */
#include "analysis/statistics/slope.h"

#include <gsl/gsl_sort.h>
#include <stdlib.h>

#include "analysis/statistics/sample.h"

enum { SAMPLES_MIN = 6 };

/* slopes[count / 2], sorted. */
static void pair_slopes(const double *x, const double *y, size_t count, double *slopes)
{
    size_t half = count / 2;

    for (size_t i = 0; i < half; i++)
        slopes[i] = (y[i + half] - y[i]) / (x[i + half] - x[i]);
    gsl_sort(slopes, 1, half);
}

static double median_slope(const double *x, const double *y, size_t count, double *slopes)
{
    pair_slopes(x, y, count, slopes);
    return pb_quantile(slopes, count / 2, 0.5);
}

enum pb_status pb_slope_fit(const double *x, const double *y, size_t count,
                            struct pb_slope *slope_out, struct pb_error *err)
{
    size_t half = count / 2, third = count / 3;
    struct pb_slope slope = {PB_ESTIMATE_NONE, NAN, NAN, half, 0};
    double *slopes;

    if (count < SAMPLES_MIN)
        return pb_fail(err, PB_INVALID, "%zu samples are too few for a slope", count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]) || !isfinite(y[i]) || (i > 0 && !(x[i] > x[i - 1])))
            return pb_fail(err, PB_INVALID, "sample %zu of %zu is not later than the one before", i,
                           count);

    slopes = malloc(half * sizeof(*slopes));
    if (slopes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu slopes", half);
    slope.first = median_slope(x, y, third, slopes);
    slope.last = median_slope(x + count - third, y + count - third, third, slopes);
    slope.all.value = median_slope(x, y, count, slopes);
    pb_median_interval(slopes, half, 0.95, &slope.all.low, &slope.all.high);
    for (size_t i = 0; i < half; i++)
        slope.pairs_close += fabs(slopes[i] - slope.all.value) <= 1e-3 * fabs(slope.all.value);
    free(slopes);
    *slope_out = slope;
    return PB_OK;
}
