/*
 * Samples of numbers and their order statistics.
 *
 * Quantiles are members of the sample, never means of two: cycles stay whole cycles.
 */
#ifndef PB_ANALYSIS_STATISTICS_SAMPLE_H
#define PB_ANALYSIS_STATISTICS_SAMPLE_H

#include <stddef.h>

#include "core/error.h"

/* Numbers in the order they were added, which is the order of measurement. */
struct pb_sample {
    double *values;
    size_t count, capacity;
};

/* Frees what the sample owns and empties it; NULL is allowed. */
void pb_sample_clear(struct pb_sample *sample);

/* Makes room for `more` further numbers. */
enum pb_status pb_sample_reserve(struct pb_sample *sample, size_t more, struct pb_error *err);

/* Adds one number. */
enum pb_status pb_sample_add(struct pb_sample *sample, double value, struct pb_error *err);

/* A sorted copy of the sample. NaN is left out. */
enum pb_status pb_sample_sorted(const struct pb_sample *sample, struct pb_sample *sorted_out,
                                struct pb_error *err);

/* The member at fraction f (0 … 1) of sorted[count]; NaN when there are none. */
double pb_quantile(const double *sorted, size_t count, double fraction);

/* Distance of the quartiles of sorted[count]; NaN when there are none. */
double pb_interquartile_range(const double *sorted, size_t count);

/* Half-open range of the members of sorted[count] with low <= member <= high. */
void pb_sorted_range(const double *sorted, size_t count, double low, double high, size_t *first_out,
                     size_t *end_out);

/*
 * Distribution-free interval of the median: the pair of order statistics that holds it with at
 * least the given probability (binomial). With too few members, the whole range. count > 0.
 */
void pb_median_interval(const double *sorted, size_t count, double probability, double *low_out,
                        double *high_out);

/*
 * 95% interval of a probability, of which `hits` of `count` independent trials are known:
 * Jeffreys', as far as it holds the share itself. count > 0.
 */
void pb_share_interval(double hits, double count, double *low_out, double *high_out);

/*
 * Probability that a member of a is less than one of b, ties counting half (the area under the ROC
 * curve): 1/2 when they do not differ, 1 when all of a lie below b. NaN when one is empty.
 */
double pb_probability_less(const double *a_sorted, size_t a_count, const double *b_sorted,
                           size_t b_count);

#endif
