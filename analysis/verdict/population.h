/*
 * One metric of one group: where healthy devices lie, and whether they fall in two.
 *
 * The scale is Qn, but never below what is known to move a healthy number: the median repeat noise
 * of the devices, the rounding to whole steps, and a tenth of the practical size, so that nothing
 * within the practical size is ever further than ten scales.
 */
#ifndef PB_ANALYSIS_VERDICT_POPULATION_H
#define PB_ANALYSIS_VERDICT_POPULATION_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/robust.h"
#include "analysis/verdict/sheet.h"

enum {
    PB_POPULATION_MIN = 4, /* values without which nothing is scored */
    PB_SPLIT_MIN = 8       /* values without which nothing is called split */
};

/* The values of one metric in one group: the group's own first, then the baseline's. */
struct pb_column {
    double *values, *noise; /* noise 0: not known */
    double *sorted;         /* scratch */
    size_t *subjects;       /* of the own */
    size_t own, count, capacity;
};

/* PB_NO_MEMORY: column is unchanged. */
enum pb_status pb_column_reserve(struct pb_column *column, size_t count, struct pb_error *err);

void pb_column_clear(struct pb_column *column); /* NULL is allowed */

struct pb_population {
    double center, scale;
    size_t count;
    bool measured; /* the scale is Qn's, of values that lie more than a step apart */
};

struct pb_fit {
    struct pb_population whole;
    struct pb_population low, high; /* when split */
    double boundary;                /* values from here on belong to `high` */
    bool split;
};

/* A relative shift (absolute for fractions, counts and states) in the metric's unit. */
double pb_metric_practical(const struct pb_metric *metric, double center);

/* How far value lies from center, in the same terms. Where the center is 0, a relative shift is 1.
 */
double pb_metric_shift(const struct pb_metric *metric, double value, double center);

/* distance / scale, 0 for 0 / 0, and never beyond a million. */
double pb_sigmas(double distance, double scale);

/*
 * Fits a column; with fewer than PB_POPULATION_MIN values center and scale are NaN. `robust` must
 * have room for them.
 *
 * Two populations of near-even size: each holds at least 30% of the values, and their centers lie
 * at least 8 + 128 / count of the larger scale and the practical size apart: small samples look
 * split by chance. The boundary is that of the two medians with the least sum of distances. A
 * quarter of broken devices is no population.
 */
void pb_fit_column(struct pb_robust *robust, const struct pb_metric *metric,
                   struct pb_column *column, struct pb_fit *fit_out);

/* The population that a value is measured against. */
const struct pb_population *pb_fit_part(const struct pb_fit *fit, double value);

#endif
