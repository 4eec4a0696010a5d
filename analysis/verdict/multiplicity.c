/* Holm steps down from the smallest p, Benjamini and Hochberg step up from the largest. */
#include "analysis/verdict/multiplicity.h"

double pb_holm_cutoff(const double *sorted, size_t count, double rate)
{
    double cutoff = -1.0;

    for (size_t i = 0; i < count && sorted[i] <= rate / (double)(count - i); i++)
        cutoff = sorted[i];
    return cutoff;
}

double pb_benjamini_hochberg_cutoff(const double *sorted, size_t count, double rate)
{
    for (size_t i = count; i-- > 0;)
        if (sorted[i] <= rate * (double)(i + 1) / (double)count)
            return sorted[i];
    return -1.0;
}
