/* Slopes over nights; see trend.h. */
#include "analysis/verdict/trend.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/baseline.h"
#include "analysis/verdict/multiplicity.h"
#include "analysis/verdict/population.h"
#include "core/reserve.h"

enum { EXACT_MAX = 12, PEERS_LEAST = 4 };

static const double seconds_per_day = 86400.0;
static const double kendall_rate = 0.01;
static const double practical_share = 0.25;
static const double median_efficiency = 0.6;     /* of a median against a mean, roughly 2 / pi */
static const double theil_sen_loss = M_PI / 3.0; /* of its variance over least squares' (Sen) */
static const double rounding = 0.2887; /* standard deviation of what rounding by one adds */

/* ---- the statistics of one series ---- */

double pb_theil_sen(const double *x, const double *y, size_t count, double *scratch)
{
    size_t pairs = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (x[i] != x[j])
                scratch[pairs++] = (y[i] - y[j]) / (x[i] - x[j]);
    gsl_sort(scratch, 1, pairs);
    return gsl_stats_median_from_sorted_data(scratch, 1, pairs);
}

/* Share of all orders of n values whose S is at least s, by the number of inversions. */
static double exact_tail(size_t n, size_t s)
{
    enum { INVERSIONS_MAX = EXACT_MAX * (EXACT_MAX - 1) / 2 };
    double shares[INVERSIONS_MAX + 1] = {1.0}, next[INVERSIONS_MAX + 1], tail = 0.0;
    size_t most = n * (n - 1) / 2;

    for (size_t values = 2; values <= n; values++) {
        for (size_t k = 0; k <= most; k++) {
            next[k] = 0.0;
            for (size_t new_ones = 0; new_ones < values && new_ones <= k; new_ones++)
                next[k] += shares[k - new_ones] / (double)values;
        }
        memcpy(shares, next, sizeof(shares));
    }
    for (size_t k = 0; k <= (most - s) / 2; k++) /* S is most less twice the inversions */
        tail += shares[k];
    return tail;
}

double pb_kendall_p(const double *y, size_t count)
{
    double s = 0.0, n = (double)count, variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    size_t ties = 0;

    for (size_t i = 0; i < count; i++) {
        size_t equal = 0, before = 0;

        for (size_t j = 0; j < count; j++)
            equal += y[j] == y[i];
        for (size_t j = 0; j < i; j++) {
            s += (y[i] > y[j]) - (y[i] < y[j]);
            before += y[j] == y[i];
        }
        ties += before;
        if (before == 0) /* the first of its ties speaks for all */
            variance -= (double)(equal * (equal - 1) * (2 * equal + 5)) / 18.0;
    }
    if (count <= EXACT_MAX && ties == 0)
        return fmin(1.0, 2.0 * exact_tail(count, (size_t)fabs(s)));
    if (variance <= 0.0)
        return 1.0;
    return 2.0 * gsl_cdf_ugaussian_Q(fmax(fabs(s) - 1.0, 0.0) / sqrt(variance));
}

/* ---- the series of a fleet ---- */

/* One device of a group, or the group's median, over the runs that have the number. */
struct series {
    double *days, *values; /* values relative to their median, less the group's */
    size_t count;
    double center;        /* the median, in the metric's unit */
    double slope, spread; /* Theil-Sen's; the root of the sum of squares of the days */
};

struct finder {
    const struct pb_features *features, *history;
    const struct pb_scores *scores;
    struct pb_uuids uuids;
    size_t runs;       /* of the history; this one is number `runs` */
    double *days;      /* [runs + 1] */
    size_t *order;     /* [runs + 1] of the runs, by time */
    double *centers;   /* [members] median of each over the runs; NaN: none */
    double *cells;     /* [members][runs + 1] of one metric of one group */
    double *medians;   /* [runs + 1] of the group */
    double *numbers;   /* scratch */
    double *variances; /* about the lines of a metric's series */
    size_t variance_count;
    double freedom; /* of all of them */
    struct series series;
    struct pb_trends candidates;
    struct pb_error *err;
};

static double median_of(double *values, size_t count)
{
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

static void set_cell(struct finder *finder, size_t member, size_t run, double value)
{
    finder->cells[member * (finder->runs + 1) + run] = value;
}

static double get_cell(const struct finder *finder, size_t member, size_t run)
{
    return finder->cells[member * (finder->runs + 1) + run];
}

static bool is_comparable(const struct pb_repeat *repeat, const struct pb_feature_row *now,
                          const struct pb_feature_row *then)
{
    return strcmp(now->info.model, then->info.model) == 0 &&
           strcmp(now->info.driver_version, then->info.driver_version) == 0 &&
           pb_repeat_compares(repeat, now, then);
}

static void collect(struct finder *finder, const struct pb_group *group, size_t metric,
                    size_t history_metric)
{
    struct pb_repeat repeat = pb_repeat_of(&finder->features->metrics[metric]);

    for (size_t i = 0; i < group->member_count; i++) {
        const struct pb_feature_row *now = &finder->features->devices[group->members[i]];
        size_t first, end;

        for (size_t run = 0; run < finder->runs; run++)
            set_cell(finder, i, run, NAN);
        set_cell(finder, i, finder->runs,
                 pb_features_reading(finder->features, group->members[i], metric).value);
        pb_uuids_range(&finder->uuids, now->info.uuid, &first, &end);
        for (size_t k = first; k < end; k++) {
            size_t row = finder->uuids.items[k].device;
            const struct pb_feature_row *then = &finder->history->devices[row];

            if (is_comparable(&repeat, now, then))
                set_cell(finder, i, then->run,
                         pb_features_reading(finder->history, row, history_metric).value);
        }
    }
}

/* Each device's own median over the runs; returns that of all devices. */
static double set_centers(struct finder *finder, size_t members)
{
    size_t known = 0;

    for (size_t i = 0; i < members; i++) {
        size_t count = 0;

        for (size_t run = 0; run <= finder->runs; run++)
            if (isfinite(get_cell(finder, i, run)))
                finder->numbers[count++] = get_cell(finder, i, run);
        finder->centers[i] = count > 0 ? median_of(finder->numbers, count) : NAN;
    }
    for (size_t i = 0; i < members; i++)
        if (isfinite(finder->centers[i]))
            finder->numbers[known++] = finder->centers[i];
    return known > 0 ? median_of(finder->numbers, known) : NAN;
}

/* Each run's median of the group's devices, each relative to its own: who was measured that night
 * makes no difference. */
static void set_medians(struct finder *finder, size_t members)
{
    double center = set_centers(finder, members);

    for (size_t run = 0; run <= finder->runs; run++) {
        size_t count = 0;

        for (size_t i = 0; i < members; i++)
            if (isfinite(get_cell(finder, i, run)) && finder->centers[i] != 0.0)
                finder->numbers[count++] = get_cell(finder, i, run) / finder->centers[i];
        finder->medians[run] =
            count >= PEERS_LEAST ? center * median_of(finder->numbers, count) : NAN;
    }
}

/* A row of cells as a series; minus[run] (NULL: nothing) is taken off, both relative to themselves.
 * False: too few runs, or this run is not among them. */
static bool make_series(struct finder *finder, const double *cells, const double *minus,
                        double minus_center)
{
    struct series *series = &finder->series;

    series->count = 0;
    for (size_t run = 0; run <= finder->runs; run++)
        if (isfinite(cells[run]))
            finder->numbers[series->count++] = cells[run];
    if (series->count < PB_TREND_MIN_RUNS || !isfinite(cells[finder->runs]))
        return false;
    series->center = median_of(finder->numbers, series->count);
    if (series->center == 0.0)
        return false;
    series->count = 0;
    for (size_t i = 0; i <= finder->runs; i++) {
        size_t run = finder->order[i];
        double off = minus == NULL ? 0.0 : minus[run] / minus_center;

        if (!isfinite(cells[run]) || !isfinite(off))
            continue;
        series->days[series->count] = finder->days[run];
        series->values[series->count++] = cells[run] / fabs(series->center) - off;
    }
    return series->count >= PB_TREND_MIN_RUNS;
}

/* Its slope, and the variance of its readings about the line, which joins those of the group. */
static bool fit_series(struct finder *finder)
{
    struct series *series = &finder->series;
    double mean = gsl_stats_mean(series->days, 1, series->count), squares = 0.0, level, rest = 0.0;
    double freedom = (double)series->count - 2.0;

    for (size_t i = 0; i < series->count; i++)
        squares += (series->days[i] - mean) * (series->days[i] - mean);
    series->spread = sqrt(squares);
    if (series->spread <= 0.0)
        return false;
    series->slope = pb_theil_sen(series->days, series->values, series->count, finder->numbers);
    for (size_t i = 0; i < series->count; i++)
        finder->numbers[i] = series->values[i] - series->slope * series->days[i];
    level = median_of(finder->numbers, series->count);
    for (size_t i = 0; i < series->count; i++)
        rest += (finder->numbers[i] - level) * (finder->numbers[i] - level);
    finder->variances[finder->variance_count++] = rest / freedom;
    finder->freedom += freedom;
    return true;
}

/*
 * Standard deviation of a reading about its line, relative, and the degrees of freedom with which
 * it is known. Of several devices the median counts, so that one that jumps hides no other; it lies
 * below the mean of a chi-squared variable by the factor of Wilson and Hilferty (1931).
 */
static double noise_of(const struct finder *finder, double floor, double *freedom_out)
{
    size_t count = finder->variance_count;
    double each = finder->freedom / (double)count;
    double variance = gsl_stats_mean(finder->variances, 1, count);

    *freedom_out = finder->freedom;
    if (count >= PEERS_LEAST) {
        variance = median_of(finder->variances, count) / pow(1.0 - 2.0 / (9.0 * each), 3.0);
        *freedom_out = fmax(each, median_efficiency * finder->freedom);
    }
    return fmax(sqrt(variance), floor);
}

static bool is_for_the_worse(const struct pb_metric *metric, double slope)
{
    return metric->better == PB_BETTER_NEITHER ||
           (metric->better == PB_BETTER_LOWER) == (slope > 0.0);
}

static enum pb_status add_candidate(struct finder *finder, size_t group, size_t device,
                                    size_t metric, double start_now[2])
{
    const struct series *series = &finder->series;
    struct pb_trends *list = &finder->candidates;
    enum pb_status status =
        PB_RESERVE(list->items, list->count, list->capacity, "slopes", finder->err);

    if (status != PB_OK)
        return status;
    list->items[list->count++] =
        (struct pb_trend){.group = group,
                          .metric = metric,
                          .device = device,
                          .runs = series->count,
                          .slope_per_day = series->slope,
                          .span_days = series->days[series->count - 1] - series->days[0],
                          .start = start_now[0],
                          .now = start_now[1],
                          .p = series->spread}; /* for now; set_p() knows the noise */
    return PB_OK;
}

static void begin_family(struct finder *finder)
{
    finder->variance_count = 0;
    finder->freedom = 0.0;
}

/* Candidates from `first` on have the spread of their days in p: it becomes their p. */
static void set_p(struct finder *finder, size_t first, double floor)
{
    double freedom, noise;

    if (finder->variance_count == 0)
        return;
    noise = noise_of(finder, floor, &freedom);
    for (size_t i = first; i < finder->candidates.count; i++) {
        struct pb_trend *trend = &finder->candidates.items[i];
        double error = noise * sqrt(theil_sen_loss) / trend->p;

        trend->p = isnan(trend->slope_per_day)
                       ? 1.0
                       : 2.0 * gsl_cdf_tdist_Q(fabs(trend->slope_per_day) / error, freedom);
    }
}

/* One series of a metric: fitted, and kept where order and direction speak for a trend. All count
 * in the family, so that the number of tests is not what the data choose. */
static enum pb_status try_series(struct finder *finder, size_t group, size_t device, size_t metric)
{
    const struct pb_metric *described = &finder->features->metrics[metric];
    struct series *series = &finder->series;
    double ends[2], change;
    enum pb_status status;

    if (!fit_series(finder))
        return PB_OK;
    change = series->slope * (series->days[series->count - 1] - series->days[0]);
    ends[1] = series->center * (1.0 + change / 2.0);
    ends[0] = series->center * (1.0 - change / 2.0);
    status = add_candidate(finder, group, device, metric, ends);
    if (status == PB_OK && (!is_for_the_worse(described, series->slope) ||
                            fabs(change) < practical_share * described->practical ||
                            pb_kendall_p(series->values, series->count) > kendall_rate))
        finder->candidates.items[finder->candidates.count - 1].slope_per_day = NAN;
    return status;
}

static bool has_slope(const struct pb_metric *metric)
{
    return metric->domain == PB_DOMAIN_CYCLES || metric->domain == PB_DOMAIN_NS ||
           metric->domain == PB_DOMAIN_RATE;
}

static double floor_of(const struct pb_metric *metric, double center)
{
    return fmax(rounding * metric->quantum / fabs(center), 1e-6);
}

static enum pb_status search_devices(struct finder *finder, size_t group_index, size_t metric,
                                     const double *minus, double minus_center)
{
    const struct pb_group *group = &finder->scores->groups[group_index];
    size_t first = finder->candidates.count;
    double center = NAN;
    enum pb_status status = PB_OK;

    begin_family(finder);
    for (size_t i = 0; i < group->member_count && status == PB_OK; i++) {
        if (!make_series(finder, &finder->cells[i * (finder->runs + 1)], minus, minus_center))
            continue;
        center = finder->series.center;
        status = try_series(finder, group_index, group->members[i], metric);
    }
    if (status == PB_OK)
        set_p(finder, first, floor_of(&finder->features->metrics[metric], center));
    return status;
}

static enum pb_status search_metric(struct finder *finder, size_t group_index, size_t metric)
{
    const struct pb_group *group = &finder->scores->groups[group_index];
    size_t history_metric = pb_baseline_metric(finder->history, &finder->features->metrics[metric]);
    size_t first = finder->candidates.count;
    double center;
    enum pb_status status;

    if (history_metric >= finder->history->metric_count)
        return PB_OK;
    collect(finder, group, metric, history_metric);
    set_medians(finder, group->member_count);
    begin_family(finder);
    if (!make_series(finder, finder->medians, NULL, 1.0))
        return search_devices(finder, group_index, metric, NULL, 1.0);
    center = finder->series.center;
    status = try_series(finder, group_index, SIZE_MAX, metric);
    if (status == PB_OK)
        set_p(finder, first, floor_of(&finder->features->metrics[metric], center));
    return status == PB_OK
               ? search_devices(finder, group_index, metric, finder->medians, fabs(center))
               : status;
}

/* ---- the runs of a history ---- */

/* Days since the first run; runs without a time are nights in the order of the files. */
static enum pb_status time_runs(struct finder *finder)
{
    const struct pb_features *features[2] = {finder->history, finder->features};
    double first = INFINITY;

    for (size_t i = 0; i < finder->history->device_count; i++)
        if (finder->history->devices[i].run >= finder->runs)
            finder->runs = finder->history->devices[i].run + 1;
    finder->days = calloc(finder->runs + 1, sizeof(*finder->days));
    if (finder->days == NULL)
        return pb_fail(finder->err, PB_NO_MEMORY, "out of memory for %zu runs", finder->runs);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < features[s]->device_count; i++) {
            const struct pb_feature_row *device = &features[s]->devices[i];
            double *seconds = &finder->days[s == 0 ? device->run : finder->runs];

            *seconds = fmax(*seconds, device->measured_seconds);
        }
    for (size_t run = 0; run <= finder->runs; run++)
        first = fmin(first, finder->days[run]);
    for (size_t run = 0; run <= finder->runs; run++)
        finder->days[run] =
            first > 0.0 ? (finder->days[run] - first) / seconds_per_day : (double)run;
    finder->order = calloc(finder->runs + 1, sizeof(*finder->order));
    if (finder->order == NULL)
        return pb_fail(finder->err, PB_NO_MEMORY, "out of memory for %zu runs", finder->runs);
    gsl_sort_index(finder->order, finder->days, 1, finder->runs + 1);
    return PB_OK;
}

static enum pb_status reserve(struct finder *finder)
{
    size_t runs = finder->runs + 1, members = finder->features->device_count + 1;
    size_t most = runs * runs > members * runs ? runs * runs : members * runs;

    finder->cells = calloc(members * runs, sizeof(*finder->cells));
    finder->centers = calloc(members, sizeof(*finder->centers));
    finder->medians = calloc(runs, sizeof(*finder->medians));
    finder->numbers = calloc(most, sizeof(*finder->numbers));
    finder->variances = calloc(members, sizeof(*finder->variances));
    finder->series.days = calloc(runs, sizeof(*finder->series.days));
    finder->series.values = calloc(runs, sizeof(*finder->series.values));
    if (finder->cells == NULL || finder->centers == NULL || finder->medians == NULL ||
        finder->numbers == NULL || finder->variances == NULL || finder->series.days == NULL ||
        finder->series.values == NULL)
        return pb_fail(finder->err, PB_NO_MEMORY, "out of memory for %zu runs of %zu devices", runs,
                       members);
    return PB_OK;
}

/* Keeps what Holm's bound rejects. */
static enum pb_status keep_significant(struct finder *finder, double rate,
                                       struct pb_trends *trends_out)
{
    struct pb_trends *list = &finder->candidates;
    double *p = calloc(list->count + 1, sizeof(*p)), cutoff;
    size_t kept = 0;

    if (p == NULL)
        return pb_fail(finder->err, PB_NO_MEMORY, "out of memory for %zu slopes", list->count);
    for (size_t i = 0; i < list->count; i++)
        p[i] = list->items[i].p;
    gsl_sort(p, 1, list->count);
    cutoff = pb_holm_cutoff(p, list->count, rate);
    free(p);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].p <= cutoff && !isnan(list->items[i].slope_per_day))
            list->items[kept++] = list->items[i];
    list->count = kept;
    *trends_out = *list;
    *list = (struct pb_trends){0};
    return PB_OK;
}

enum pb_status pb_trends_find(const struct pb_features *features, const struct pb_features *history,
                              const struct pb_scores *scores, double rate,
                              struct pb_trends *trends_out, struct pb_error *err)
{
    struct finder finder = {.features = features, .history = history, .scores = scores, .err = err};
    enum pb_status status = pb_uuids_make(history, &finder.uuids, err);

    if (status == PB_OK)
        status = time_runs(&finder);
    if (status == PB_OK)
        status = reserve(&finder);
    for (size_t group = 0; group < scores->group_count; group++)
        for (size_t metric = 0; metric < features->metric_count && status == PB_OK; metric++)
            if (has_slope(&features->metrics[metric]))
                status = search_metric(&finder, group, metric);
    if (status == PB_OK)
        status = keep_significant(&finder, rate, trends_out);
    pb_trends_clear(&finder.candidates);
    pb_uuids_clear(&finder.uuids);
    free(finder.days);
    free(finder.order);
    free(finder.centers);
    free(finder.cells);
    free(finder.medians);
    free(finder.numbers);
    free(finder.variances);
    free(finder.series.days);
    free(finder.series.values);
    return status;
}

void pb_trends_clear(struct pb_trends *trends)
{
    if (trends == NULL)
        return;
    free(trends->items);
    *trends = (struct pb_trends){0};
}
