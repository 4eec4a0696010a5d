/* Fitting one metric of one group; see population.h. */
#include "analysis/verdict/population.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/event.h"

#define SPLIT_SCALES      8.0   /* that the populations lie apart at least, … */
#define SPLIT_SCALES_FEW  128.0 /* … and more by this over the number of values */
#define PRACTICAL_SHARE   0.1
#define SMALLEST_RELATIVE 1e-6 /* of the center: where nothing else is known */

enum pb_status pb_column_reserve(struct pb_column *column, size_t count, struct pb_error *err)
{
    struct pb_column grown = {.capacity = count};

    if (count <= column->capacity)
        return PB_OK;
    grown.values = malloc(count * sizeof(*grown.values));
    grown.noise = malloc(count * sizeof(*grown.noise));
    grown.sorted = malloc(count * sizeof(*grown.sorted));
    grown.devices = malloc(count * sizeof(*grown.devices));
    if (grown.values == NULL || grown.noise == NULL || grown.sorted == NULL ||
        grown.devices == NULL) {
        pb_column_clear(&grown);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a metric of %zu devices",
                       count);
    }
    pb_column_clear(column);
    *column = grown;
    return PB_OK;
}

void pb_column_clear(struct pb_column *column)
{
    if (column == NULL)
        return;
    free(column->values);
    free(column->noise);
    free(column->sorted);
    free(column->devices);
    *column = (struct pb_column){0};
}

static bool is_absolute(enum pb_domain domain)
{
    return domain == PB_DOMAIN_FRACTION || domain == PB_DOMAIN_COUNT || domain == PB_DOMAIN_STATE;
}

bool pb_metric_is_tail(const struct pb_metric *metric)
{
    return (metric->traits & PB_TRAIT(TAIL_SHARE)) != 0;
}

double pb_metric_practical(const struct pb_metric *metric, double center)
{
    return is_absolute(metric->domain) ? metric->practical : metric->practical * fabs(center);
}

double pb_metric_shift(const struct pb_metric *metric, double value, double center)
{
    double distance = value - center;

    if (is_absolute(metric->domain) || distance == 0.0)
        return distance;
    return center != 0.0 ? distance / fabs(center) : copysign(1.0, distance);
}

/* The middle one of the noises that are known; 0 unless at least half are. */
static double typical_noise(struct pb_column *column)
{
    size_t known = 0;

    for (size_t i = 0; i < column->count; i++)
        if (column->noise[i] > 0.0)
            column->sorted[known++] = column->noise[i];
    if (known == 0 || 2 * known < column->count)
        return 0.0;
    gsl_sort(column->sorted, 1, known);
    return gsl_stats_median_from_sorted_data(column->sorted, 1, known);
}

/* What moves a healthy number at the least. */
static double least_scale(const struct pb_metric *metric, double noise, double center)
{
    double least =
        fmax(fmax(noise, metric->quantum / sqrt(12.0)), SMALLEST_RELATIVE * fabs(center));

    least = fmax(least, PRACTICAL_SHARE * pb_metric_practical(metric, center));
    if (metric->domain == PB_DOMAIN_COUNT) /* events scatter by the root of their number */
        least = fmax(least, sqrt(fabs(center)));
    return least;
}

/* sorted[first … end): the values that lie to one side of the majority by the practical size. */
struct side {
    size_t first, end;
    bool is_better;
};

static struct side side_of(const struct pb_metric *metric, const struct pb_majority *majority,
                           const double *sorted, size_t count, bool high)
{
    double apart = pb_metric_practical(metric, majority->center);
    struct side side = {0, count, metric->better == (high ? PB_BETTER_HIGHER : PB_BETTER_LOWER)};

    if (high)
        while (side.first < count && (sorted[side.first] <= majority->high ||
                                      sorted[side.first] - majority->center < apart))
            side.first++;
    else
        while (side.end > 0 && (sorted[side.end - 1] >= majority->low ||
                                majority->center - sorted[side.end - 1] < apart))
            side.end--;
    return side;
}

/* Is what lies to both sides of the majority, the larger part to one, a population of its own? */
static bool is_population(const struct pb_majority *majority, const double *sorted, size_t count,
                          const struct side *side, size_t away)
{
    size_t held = side->end - side->first;
    double scales = SPLIT_SCALES + SPLIT_SCALES_FEW / (double)count;
    double share = (double)away / (double)count;

    if (count < PB_SPLIT_MIN || held < PB_POPULATION_MIN ||
        !(share >= PB_EVEN_SHARE || (side->is_better && share >= PB_BETTER_SHARE)))
        return false;
    return fabs(sorted[side->first + held / 2] - majority->center) >= scales * majority->scale;
}

static void fit_second(const struct pb_metric *metric, double noise, const double *sorted,
                       size_t count, struct pb_fit *fit)
{
    const struct pb_majority *majority = &fit->majority;
    struct side low = side_of(metric, majority, sorted, count, false);
    struct side high = side_of(metric, majority, sorted, count, true);
    size_t away = low.end - low.first + high.end - high.first;
    const struct side *side = high.end - high.first > low.end - low.first ? &high : &low;

    if (!is_population(majority, sorted, count, side, away))
        return;
    fit->split = true;
    fit->other_is_high = side == &high;
    fit->boundary = fit->other_is_high ? (sorted[side->first] + majority->high) / 2.0
                                       : (sorted[side->end - 1] + majority->low) / 2.0;
    pb_majority_fit(&sorted[side->first], side->end - side->first,
                    least_scale(metric, noise, sorted[(side->first + side->end) / 2]), &fit->other);
}

static void sort_column(struct pb_column *column)
{
    memcpy(column->sorted, column->values, column->count * sizeof(*column->sorted));
    gsl_sort(column->sorted, 1, column->count);
}

/* Is the scale that of values which lie more than a step apart? */
static bool is_measured(const struct pb_metric *metric, const struct pb_majority *majority)
{
    return majority->spread > majority->floor && majority->spread > metric->quantum;
}

void pb_fit_column(const struct pb_metric *metric, struct pb_column *column, struct pb_fit *fit_out)
{
    double noise = typical_noise(column), middle;
    struct pb_majority *majority = &fit_out->majority;

    memset(fit_out, 0, sizeof(*fit_out));
    fit_out->count = column->count;
    *majority = (struct pb_majority){.center = NAN, .scale = NAN};
    fit_out->is_event = metric->domain == PB_DOMAIN_COUNT;
    if (column->count < PB_POPULATION_MIN)
        return;
    sort_column(column);
    middle = column->sorted[column->count / 2];
    fit_out->is_event &= middle <= 0.0 || pb_metric_is_event(metric);
    pb_majority_fit(column->sorted, column->count, least_scale(metric, noise, middle), majority);
    fit_out->measured = is_measured(metric, majority);
    if (metric->domain != PB_DOMAIN_COUNT)
        fit_second(metric, noise, column->sorted, column->count, fit_out);
}

static void fit_part(const struct pb_metric *metric, double noise, const double *sorted,
                     size_t count, struct pb_majority *majority_out)
{
    pb_majority_fit(sorted, count, least_scale(metric, noise, sorted[count / 2]), majority_out);
}

void pb_fit_divide(const struct pb_metric *metric, struct pb_column *column, double boundary,
                   struct pb_fit *fit)
{
    double noise = typical_noise(column);
    size_t low = 0;

    sort_column(column);
    while (low < column->count && column->sorted[low] <= boundary)
        low++;
    fit->split = true;
    fit->boundary = boundary;
    fit->other_is_high = 2 * low >= column->count;
    fit_part(metric, noise, column->sorted, low, fit->other_is_high ? &fit->majority : &fit->other);
    fit_part(metric, noise, column->sorted + low, column->count - low,
             fit->other_is_high ? &fit->other : &fit->majority);
    fit->measured = is_measured(metric, &fit->majority);
}

const struct pb_majority *pb_fit_part(const struct pb_fit *fit, double value)
{
    if (!fit->split || (value > fit->boundary) != fit->other_is_high)
        return &fit->majority;
    return &fit->other;
}
