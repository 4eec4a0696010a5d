/*
 * One metric of one group: where its majority lies, and whether a second population stands beside
 * it.
 *
 * The scale is never below what is known to move a healthy number: the median repeat noise of the
 * devices, the rounding to whole steps, and a tenth of the practical size, so that nothing within
 * the practical size is ever further than ten scales.
 */
#ifndef PB_ANALYSIS_VERDICT_POPULATION_H
#define PB_ANALYSIS_VERDICT_POPULATION_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/features.h"
#include "analysis/verdict/majority.h"

enum {
    PB_POPULATION_MIN = 4, /* values without which nothing is scored */
    PB_SPLIT_MIN = 8       /* values without which nothing is called split */
};

/* Shares of a group from which on it cannot be shown which part is the healthy one: near half, or
 * fewer that are better, for healthy devices do not become faster: the majority may be the sick. */
#define PB_EVEN_SHARE   0.4
#define PB_BETTER_SHARE 0.25

/* The values of one metric in one group: the group's own first, then the baseline's. */
struct pb_column {
    double *values, *noise; /* noise 0: not known */
    double *sorted;         /* scratch */
    size_t *devices;        /* of the values; who needs them sets them */
    size_t count, capacity;
};

/* PB_NO_MEMORY: column is unchanged. */
enum pb_status pb_column_reserve(struct pb_column *column, size_t count, struct pb_error *err);

void pb_column_clear(struct pb_column *column); /* NULL is allowed */

/* Whose values were fitted: an event may show devices to be wrong in what a metric measures. */
enum pb_peers {
    PB_PEERS_ALL,
    PB_PEERS_RIGHT, /* so many are wrong that they are no peers */
    PB_PEERS_WRONG, /* and too few are not, so that these have no peers */
};

struct pb_fit {
    struct pb_majority majority; /* center and scale NaN: too few values */
    struct pb_majority other;    /* the second population, when split */
    size_t count;                /* values */
    enum pb_peers peers;
    double boundary; /* when split: between the two */
    bool split, other_is_high;
    bool measured; /* the scale is that of values which lie more than a step apart */
    bool is_event; /* a count of which any is one too many; of errors that devices recover from only
                      where most values are 0 */
};

/* Is it a share of accesses, of all those counted? */
bool pb_metric_is_tail(const struct pb_metric *metric);

/* A relative shift (absolute for fractions, counts and states) in the metric's unit. */
double pb_metric_practical(const struct pb_metric *metric, double center);

/* How far value lies from center, in the same terms. Where the center is 0, a relative shift is 1.
 */
double pb_metric_shift(const struct pb_metric *metric, double value, double center);

/*
 * Fits a column; with fewer than PB_POPULATION_MIN values center and scale are NaN.
 *
 * A second population is what lies outside the majority by the practical size at least, if that is
 * two fifths of all values (then chance, not health, decides which of the two is larger), or a
 * quarter of them and better than the majority (healthy devices do not become faster: the majority
 * may be the sick ones); four values at least, and in the median 8 + 128 / count scales away, since
 * small samples look split by chance. A smaller share that is worse consists of deviating devices.
 */
void pb_fit_column(const struct pb_metric *metric, struct pb_column *column,
                   struct pb_fit *fit_out);

/*
 * Divides a fitted column at a boundary that other evidence gives: what lies above and below it are
 * two populations from then on. Each side should have PB_POPULATION_MIN values.
 */
void pb_fit_divide(const struct pb_metric *metric, struct pb_column *column, double boundary,
                   struct pb_fit *fit);

/* The population that a value is measured against. */
const struct pb_majority *pb_fit_part(const struct pb_fit *fit, double value);

#endif
