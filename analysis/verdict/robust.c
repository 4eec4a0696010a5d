/* Median and Qn; see robust.h. */
#include "analysis/verdict/robust.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

enum { WORK_PER_VALUE = 3, WORK_INT_PER_VALUE = 5 }; /* as GSL asks for Qn */

enum pb_status pb_robust_reserve(struct pb_robust *robust, size_t count, struct pb_error *err)
{
    struct pb_robust grown = {.capacity = count};

    if (count <= robust->capacity)
        return PB_OK;
    grown.spread = malloc(count * sizeof(*grown.spread));
    grown.work = malloc(WORK_PER_VALUE * count * sizeof(*grown.work));
    grown.work_int = malloc(WORK_INT_PER_VALUE * count * sizeof(*grown.work_int));
    if (grown.spread == NULL || grown.work == NULL || grown.work_int == NULL) {
        pb_robust_clear(&grown);
        return pb_fail(err, PB_NO_MEMORY, "no memory for the scale of %zu values", count);
    }
    pb_robust_clear(robust);
    *robust = grown;
    return PB_OK;
}

void pb_robust_clear(struct pb_robust *robust)
{
    if (robust == NULL)
        return;
    free(robust->spread);
    free(robust->work);
    free(robust->work_int);
    *robust = (struct pb_robust){0};
}

double pb_robust_center(const double *sorted, size_t count)
{
    return gsl_stats_median_from_sorted_data(sorted, 1, count);
}

/* Spreads the `count` equal values between two that differ, half a step to each side at most. */
static void spread_run(double value, size_t count, double below, double above, double quantum,
                       double *spread_out)
{
    double low = fmin(quantum, value - below) / 2.0, high = fmin(quantum, above - value) / 2.0;

    for (size_t i = 0; i < count; i++)
        spread_out[i] = value - low + (low + high) * ((double)i + 0.5) / (double)count;
}

static void spread_ties(const double *sorted, size_t count, double quantum, double *spread_out)
{
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && sorted[end] == sorted[first])
            end++;
        spread_run(sorted[first], end - first, first > 0 ? sorted[first - 1] : -INFINITY,
                   end < count ? sorted[end] : INFINITY, quantum, &spread_out[first]);
    }
}

double pb_robust_scale(struct pb_robust *robust, const double *sorted, size_t count, double quantum)
{
    if (count < 2)
        return 0.0;
    spread_ties(sorted, count, quantum, robust->spread);
    return gsl_stats_Qn_from_sorted_data(robust->spread, 1, count, robust->work, robust->work_int);
}
