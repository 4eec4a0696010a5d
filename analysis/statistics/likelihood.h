/* Likelihoods by their logarithms. */
#ifndef PB_ANALYSIS_STATISTICS_LIKELIHOOD_H
#define PB_ANALYSIS_STATISTICS_LIKELIHOOD_H

#include <math.h>

/* The logarithm of the sum of two likelihoods, each by its logarithm. */
static inline double pb_add_likelihoods(double log_a, double log_b)
{
    double most = fmax(log_a, log_b);

    return most == -INFINITY ? most : most + log1p(exp(-fabs(log_a - log_b)));
}

#endif
