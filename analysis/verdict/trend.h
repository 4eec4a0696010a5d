/*
 * Trends: what creeps from night to night, of each device and of a whole group.
 *
 * A drift against a baseline is granted as far as healthy devices repeat; what moves less than that
 * each night is never seen, and moves its own baseline along. A slope over all nights is.
 */
#ifndef PB_ANALYSIS_VERDICT_TREND_H
#define PB_ANALYSIS_VERDICT_TREND_H

#include <stddef.h>

#include "analysis/verdict/score.h"

enum { PB_TREND_MIN_RUNS = 6 };

struct pb_trend {
    size_t group, metric;
    size_t device;        /* of the feature table; SIZE_MAX: the whole group */
    size_t runs;          /* that have the number, this one among them */
    double slope_per_day; /* Theil-Sen, relative to the value at the start */
    double span_days;     /* from the first run to this one */
    double start, now;    /* of the fitted line, in the metric's unit */
    double p;             /* before multiplicity */
};

struct pb_trends {
    struct pb_trend *items; /* those beyond chance, by group, device and metric */
    size_t count, capacity;
};

/*
 * Finds slopes of latencies and rates for the worse over the runs of a history and this one.
 *
 * Of a device of a group with four or more devices the group's median of each run is taken off
 * first, so that what all share is the group's trend alone. The slope is Theil-Sen's; its standard
 * error comes from the residuals of all devices of the group, its p from Student's t with their
 * degrees of freedom, and Kendall's test must reject at 1% as well: a single step or outlying run
 * is no trend. Holm's bound over all slopes of the fleet at `rate`. A change of less than a quarter
 * of the practical size so far is no finding.
 *
 * history     rows of earlier runs (pb_feature_row.run, measured_seconds), in any order; those of
 *             other drivers are not compared
 * trends_out  for pb_trends_clear()
 *
 * PB_NO_MEMORY is the only error.
 * Source: Theil 1950; Sen 1968; Kendall 1975, Rank Correlation Methods.
 */
enum pb_status pb_trends_find(const struct pb_features *features, const struct pb_features *history,
                              const struct pb_scores *scores, double rate,
                              struct pb_trends *trends_out, struct pb_error *err);

void pb_trends_clear(struct pb_trends *trends); /* NULL is allowed */

/*
 * Theil-Sen's slope of y over x, count >= 2 and x not all equal: the median of the slopes of all
 * pairs. scratch has room for count * (count - 1) / 2 numbers.
 */
double pb_theil_sen(const double *x, const double *y, size_t count, double *scratch);

/*
 * Two-sided p of Kendall's S between the order of y and its position: exact up to 12 values without
 * ties, else normal with the correction for ties and continuity.
 */
double pb_kendall_p(const double *y, size_t count);

#endif
