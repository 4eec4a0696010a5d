/* Fitting one metric of one group; see population.h. */
#include "analysis/verdict/population.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPLIT_MIN_SHARE    0.3 /* of the smaller population: above the quarter that may be broken */
#define SPLIT_SCALES       8.0 /* that the populations lie apart at least, … */
#define SPLIT_SCALES_FEW   128.0 /* … and more by this over the number of values */
#define SPLIT_WHOLE_SCALES 3.0   /* of both together, which are at most 2.2 of one's own */
#define STRAY_SHARE        0.05  /* of a population, that may lie nearer to the other */
#define PRACTICAL_SHARE    0.1
#define SIGMAS_MAX         1e6
#define SMALLEST_RELATIVE  1e-6 /* of the center: where nothing else is known */

enum pb_status pb_column_reserve(struct pb_column *column, size_t count, struct pb_error *err)
{
    struct pb_column grown = {.capacity = count};

    if (count <= column->capacity)
        return PB_OK;
    grown.values = malloc(count * sizeof(*grown.values));
    grown.noise = malloc(count * sizeof(*grown.noise));
    grown.sorted = malloc(count * sizeof(*grown.sorted));
    grown.subjects = malloc(count * sizeof(*grown.subjects));
    if (grown.values == NULL || grown.noise == NULL || grown.sorted == NULL ||
        grown.subjects == NULL) {
        pb_column_clear(&grown);
        return pb_fail(err, PB_NO_MEMORY, "no memory for a metric of %zu devices", count);
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
    free(column->subjects);
    *column = (struct pb_column){0};
}

static bool is_absolute(enum pb_domain domain)
{
    return domain == PB_DOMAIN_FRACTION || domain == PB_DOMAIN_COUNT || domain == PB_DOMAIN_STATE;
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

double pb_sigmas(double distance, double scale)
{
    if (distance == 0.0)
        return 0.0;
    return fabs(distance) < SIGMAS_MAX * scale ? distance / scale : copysign(SIGMAS_MAX, distance);
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
    return pb_robust_center(column->sorted, known);
}

static void fit_values(struct pb_robust *robust, const struct pb_metric *metric, double noise,
                       const double *sorted, size_t count, struct pb_population *population_out)
{
    double center = pb_robust_center(sorted, count);
    double spread = pb_robust_scale(robust, sorted, count, metric->quantum);
    double rounding = metric->quantum / sqrt(12.0);
    double floor_scale = fmax(fmax(noise, rounding), SMALLEST_RELATIVE * fabs(center));

    floor_scale = fmax(floor_scale, PRACTICAL_SHARE * pb_metric_practical(metric, center));
    if (metric->domain == PB_DOMAIN_COUNT) /* events scatter by the root of their number */
        floor_scale = fmax(floor_scale, sqrt(fabs(center)));
    population_out->center = center;
    population_out->scale = fmax(spread, floor_scale);
    population_out->count = count;
    population_out->measured = spread > floor_scale && spread > metric->quantum;
}

/* Sum of distances of sorted[first … end) from their median, by running sums before each index. */
static double distances(const double *sorted, const double *sums, size_t first, size_t end)
{
    size_t middle = first + (end - first) / 2;
    double below = sums[middle] - sums[first], above = sums[end] - sums[middle];

    return above - below - sorted[middle] * ((double)(end - middle) - (double)(middle - first));
}

/* The boundary of the best two populations: the number of values below it. */
static size_t best_boundary(const double *sorted, size_t count, double *sums)
{
    size_t least = (size_t)ceil(SPLIT_MIN_SHARE * (double)count), best = least;
    double lowest = INFINITY;

    sums[0] = 0.0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + sorted[i];
    for (size_t cut = least; cut <= count - least; cut++) {
        double sum = distances(sorted, sums, 0, cut) + distances(sorted, sums, cut, count);

        if (sum < lowest && sorted[cut - 1] < sorted[cut]) {
            lowest = sum;
            best = cut;
        }
    }
    return best;
}

/* Are nearly all values of both sides nearer to their own center? Not when the boundary had to cut
   through one population to give the other its least share. */
static bool is_between(const double *sorted, size_t count, size_t cut, double middle)
{
    size_t low_strays = (size_t)(STRAY_SHARE * (double)cut);
    size_t high_strays = (size_t)(STRAY_SHARE * (double)(count - cut));

    return sorted[cut - 1 - low_strays] < middle && sorted[cut + high_strays] > middle;
}

/* Fits both sides of the best boundary, unless they are plainly too near for two populations. */
static void fit_split(struct pb_robust *robust, const struct pb_metric *metric, double noise,
                      const double *sorted, size_t count, struct pb_fit *fit)
{
    size_t cut = best_boundary(sorted, count, robust->work);
    double scales = SPLIT_SCALES + SPLIT_SCALES_FEW / (double)count;
    double low = pb_robust_center(sorted, cut), high = pb_robust_center(&sorted[cut], count - cut);
    double apart = high - low;

    if (apart < SPLIT_WHOLE_SCALES * fit->whole.scale ||
        !is_between(sorted, count, cut, (low + high) / 2.0))
        return;
    fit_values(robust, metric, noise, sorted, cut, &fit->low);
    fit_values(robust, metric, noise, &sorted[cut], count - cut, &fit->high);
    fit->boundary = (sorted[cut - 1] + sorted[cut]) / 2.0;
    fit->split = apart >= scales * fmax(fit->low.scale, fit->high.scale) &&
                 apart >= pb_metric_practical(metric, fit->low.center);
}

void pb_fit_column(struct pb_robust *robust, const struct pb_metric *metric,
                   struct pb_column *column, struct pb_fit *fit_out)
{
    double noise = typical_noise(column);

    memset(fit_out, 0, sizeof(*fit_out));
    fit_out->whole = (struct pb_population){NAN, NAN, column->count, false};
    if (column->count < PB_POPULATION_MIN)
        return;
    memcpy(column->sorted, column->values, column->count * sizeof(*column->sorted));
    gsl_sort(column->sorted, 1, column->count);
    fit_values(robust, metric, noise, column->sorted, column->count, &fit_out->whole);
    if (column->count >= PB_SPLIT_MIN)
        fit_split(robust, metric, noise, column->sorted, column->count, fit_out);
}

const struct pb_population *pb_fit_part(const struct pb_fit *fit, double value)
{
    if (!fit->split)
        return &fit->whole;
    return value < fit->boundary ? &fit->low : &fit->high;
}
