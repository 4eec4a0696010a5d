/*
 * Many looks at a healthy fleet: which p-values still mean something.
 *
 * Both functions take all p-values of a family, sorted ascending, and return the largest that is
 * rejected, so that p <= cutoff decides; -1 when none is.
 */
#ifndef PB_ANALYSIS_VERDICT_MULTIPLICITY_H
#define PB_ANALYSIS_VERDICT_MULTIPLICITY_H

#include <stddef.h>

/*
 * Keeps the probability of any false rejection at `rate`, however the values depend on each other.
 *
 * Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65.
 */
double pb_holm_cutoff(const double *sorted, size_t count, double rate);

/*
 * Keeps the expected share of false ones among the rejected at `rate`; values may be independent or
 * positively dependent, as the metrics of one device are.
 *
 * Source: Benjamini and Hochberg, JRSS B 57 (1995) 289; Benjamini and Yekutieli, Annals of
 * Statistics 29 (2001) 1165, on dependence.
 */
double pb_benjamini_hochberg_cutoff(const double *sorted, size_t count, double rate);

#endif
