/* Hit rates by reuse distances and chance; see stack_distance.h. */
#include "analysis/kernel/stack_distance.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static double hit_probability(uint64_t distance, size_t sets, size_t ways)
{
    if (distance < ways)
        return 1.0;
    if (sets == 1)
        return 0.0;
    return gsl_cdf_binomial_P((unsigned)(ways - 1), 1.0 / (double)sets, (unsigned)distance);
}

double pb_stack_distance_hit_rate(const struct pb_model_histogram *histogram, size_t sets,
                                  size_t ways)
{
    double hits = 0.0;

    if (histogram->total == 0 || sets == 0 || ways == 0)
        return NAN;
    for (size_t i = 0; i < PB_MODEL_HISTOGRAM_SIZE; i++)
        if (histogram->counts[i] > 0 && pb_model_histogram_low(i) <= UINT32_MAX)
            hits += (double)histogram->counts[i] *
                    hit_probability(pb_model_histogram_low(i), sets, ways);
    return hits / (double)histogram->total;
}
