/* Samples and their order statistics. */
#include "analysis/statistics/sample.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/sort.h"

void pb_sample_clear(struct pb_sample *sample)
{
    if (sample == NULL)
        return;
    free(sample->values);
    memset(sample, 0, sizeof(*sample));
}

enum pb_status pb_sample_reserve(struct pb_sample *sample, size_t more, struct pb_error *err)
{
    size_t need = sample->count + more;
    size_t capacity = 2 * sample->capacity > need ? 2 * sample->capacity : need;
    double *larger;

    if (need <= sample->capacity)
        return PB_OK;
    larger = realloc(sample->values, capacity * sizeof(*larger));
    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a sample of %zu", capacity);
    sample->values = larger;
    sample->capacity = capacity;
    return PB_OK;
}

enum pb_status pb_sample_add(struct pb_sample *sample, double value, struct pb_error *err)
{
    enum pb_status status = pb_sample_reserve(sample, 1, err);

    if (status == PB_OK)
        sample->values[sample->count++] = value;
    return status;
}

enum pb_status pb_sample_sorted(const struct pb_sample *sample, struct pb_sample *sorted_out,
                                struct pb_error *err)
{
    struct pb_sample sorted = {NULL, 0, sample->count + 1};

    sorted.values = malloc(sorted.capacity * sizeof(*sorted.values));
    if (sorted.values == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a sample of %zu",
                       sample->count);
    for (size_t i = 0; i < sample->count; i++)
        if (!isnan(sample->values[i]))
            sorted.values[sorted.count++] = sample->values[i];
    pb_sort(sorted.values, sorted.count);
    *sorted_out = sorted;
    return PB_OK;
}

double pb_quantile(const double *sorted, size_t count, double fraction)
{
    if (count == 0)
        return NAN;
    return sorted[(size_t)(fraction * (double)(count - 1) + 0.5)];
}

double pb_interquartile_range(const double *sorted, size_t count)
{
    return pb_quantile(sorted, count, 0.75) - pb_quantile(sorted, count, 0.25);
}

/* Number of members less than value (or not above it). */
static size_t count_below(const double *sorted, size_t count, double value, int or_equal)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sorted[middle] < value || (or_equal && sorted[middle] == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pb_sorted_range(const double *sorted, size_t count, double low, double high, size_t *first_out,
                     size_t *end_out)
{
    size_t first = count_below(sorted, count, low, 0);
    size_t end = count_below(sorted, count, high, 1);

    *first_out = first;
    *end_out = end > first ? end : first;
}

void pb_median_interval(const double *sorted, size_t count, double probability, double *low_out,
                        double *high_out)
{
    double tail = (1.0 - probability) / 2.0;
    size_t cut = (size_t)((double)count / 2.0);

    /* The most members that may be cut off at either end: P(Binomial(count, 1/2) < cut) <= tail. */
    while (cut > 0 && gsl_cdf_binomial_P((unsigned)(cut - 1), 0.5, (unsigned)count) > tail)
        cut -= 1 + cut / 64;
    *low_out = sorted[cut];
    *high_out = sorted[count - 1 - cut];
    if (*low_out > *high_out)
        *low_out = *high_out;
}

/* By halving: gsl_cdf_beta_Pinv() finds none for some hundreds of hits and more. */
static double beta_quantile(double chance, double a, double b)
{
    double low = 0.0, high = 1.0;

    while (high - low > DBL_EPSILON) {
        double middle = (low + high) / 2.0;

        if (gsl_cdf_beta_P(middle, a, b) < chance)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2.0;
}

void pb_share_interval(double hits, double count, double *low_out, double *high_out)
{
    double share = hits / count;

    *low_out = fmin(share, beta_quantile(0.025, hits + 0.5, count - hits + 0.5));
    *high_out = fmax(share, beta_quantile(0.975, hits + 0.5, count - hits + 0.5));
}

double pb_probability_less(const double *a_sorted, size_t a_count, const double *b_sorted,
                           size_t b_count)
{
    size_t less = 0, not_above = 0;
    double sum = 0.0;

    if (a_count == 0 || b_count == 0)
        return NAN;
    for (size_t i = 0; i < a_count; i++) {
        while (less < b_count && b_sorted[less] < a_sorted[i])
            less++;
        if (not_above < less)
            not_above = less;
        while (not_above < b_count && b_sorted[not_above] == a_sorted[i])
            not_above++;
        sum += (double)(b_count - not_above) + 0.5 * (double)(not_above - less);
    }
    return sum / ((double)a_count * (double)b_count);
}
