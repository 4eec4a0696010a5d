/*
 * Where the majority of a sample lies and how widely it is spread, when nearly half of the values
 * may be anything.
 *
 * Model: value = mode + noise for the majority, mode + noise + an effect of its own for the rest
 * (the mean-shift model with a hard threshold). The fit starts from the shortest interval that
 * holds half of the values (six at least), takes its first scale from the narrower side of that
 * interval's center (sick devices mostly lie to one side), and then admits values from the inside
 * outwards as long as they lie within a threshold of the mean and standard deviation of those
 * admitted. What is never admitted moves neither location nor scale.
 *
 * Source: She and Owen, JASA 106 (2011) 626 (mean shifts with hard thresholds); Atkinson, Riani and
 * Cerioli, Exploring Multivariate Data with the Forward Search (2004); Rousseeuw, JASA 79 (1984)
 * 871 (shortest half).
 */
#ifndef PB_ANALYSIS_VERDICT_MAJORITY_H
#define PB_ANALYSIS_VERDICT_MAJORITY_H

#include <stdbool.h>
#include <stddef.h>

struct pb_majority {
    double center, scale; /* mean; standard deviation, but never below the floor */
    double spread;        /* the standard deviation as it is */
    double floor;         /* what the scale cannot be below */
    double low, high;     /* the outermost values of the majority */
    size_t count;         /* its values */
};

/*
 * Fits sorted[count], count > 0, in O(count).
 *
 * minimum  the scale is never less; in the values' unit
 */
void pb_majority_fit(const double *sorted, size_t count, double minimum,
                     struct pb_majority *majority_out);

/*
 * Distance of one of the fitted values from the others of the majority, in their standard
 * deviations (externally studentized): a value does not speak for itself. The scale is no less than
 * `noise`. Signed; 0 for 0 / 0; never beyond a million.
 *
 * Source: Cook and Weisberg, Residuals and Influence in Regression (1982), 2.2.
 */
double pb_majority_sigmas(const struct pb_majority *majority, double value, double noise);

/* The center of the others: what is expected of a value that is compared with them. */
double pb_majority_expected(const struct pb_majority *majority, double value);

bool pb_majority_holds(const struct pb_majority *majority, double value);

/* distance / scale, 0 for 0 / 0, and never beyond a million. */
double pb_sigmas(double distance, double scale);

#endif
