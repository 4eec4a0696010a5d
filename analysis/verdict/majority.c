/* The forward fit of the majority; see majority.h. */
#include "analysis/verdict/majority.h"

#include <gsl/gsl_statistics.h>
#include <math.h>

/* Fewer leave nothing to start from: of six values chance brings three close together. */
enum { START_MIN = 6, LEFT_MIN = 4 };

/* Standard deviations beyond which a value is not admitted: so many, and more in small samples,
   whose scale is uncertain. A normal sample loses a value in one of some hundred columns. The first
   step is shorter, since its scale may be that of a part of the sick ones; in small samples it is
   wider, since chance brings a few values close together. */
#define THRESHOLD       4.0
#define THRESHOLD_FEW   30.0 /* over the number of values */
#define FIRST_THRESHOLD 3.0
#define FIRST_FEW       5000.0 /* over the cube of the number of values */
#define NORMAL_MAD      1.4826 /* standard deviation by median absolute deviation */
#define SIGMAS_MAX      1e6

/* sorted[first … end), and the sums of its values' distances from a reference. */
struct window {
    const double *sorted;
    size_t count, first, end;
    double reference, sum, squares;
};

double pb_sigmas(double distance, double scale)
{
    if (distance == 0.0)
        return 0.0;
    return fabs(distance) < SIGMAS_MAX * scale ? distance / scale : copysign(SIGMAS_MAX, distance);
}

static void admit(struct window *window, double value)
{
    double distance = value - window->reference;

    window->sum += distance;
    window->squares += distance * distance;
}

static double mean_of(const struct window *window)
{
    return window->reference + window->sum / (double)(window->end - window->first);
}

static double spread_of(const struct window *window)
{
    double n = (double)(window->end - window->first);

    return n > 1.0 ? sqrt(fmax(window->squares - window->sum * window->sum / n, 0.0) / (n - 1.0))
                   : 0.0;
}

/* Sums up anew: taking a far value off the sums would leave its rounding behind. */
static void sum_up(struct window *window)
{
    window->sum = window->squares = 0.0;
    for (size_t i = window->first; i < window->end; i++)
        admit(window, window->sorted[i]);
}

/* The shortest interval that holds so many values; of equally short ones the middle one. */
static void start(struct window *window, size_t held)
{
    const double *sorted = window->sorted;
    double shortest = INFINITY;
    size_t last = 0;

    for (size_t i = 0; i + held <= window->count; i++) {
        double length = sorted[i + held - 1] - sorted[i];

        if (length < shortest) {
            shortest = length;
            window->first = last = i;
        } else if (length <= shortest && i == last + 1) {
            last = i;
        }
    }
    window->first += (last - window->first) / 2;
    window->end = window->first + held;
    window->reference = sorted[window->first + held / 2];
    sum_up(window);
}

/* The first scale: by the median distance on the narrower side, where most are healthy even if the
   other side holds all that are sick; no less than half of the interval, which is shorter than two
   standard deviations of the majority. */
static double first_scale(const struct window *window)
{
    const double *sorted = window->sorted;
    double center = mean_of(window), low = INFINITY, high = INFINITY;
    double half = (sorted[window->end - 1] - sorted[window->first]) / 2.0;
    size_t from = window->first, to; /* from: values below the center; to: not above it */

    while (from < window->end && sorted[from] < center)
        from++;
    for (to = from; to < window->count && sorted[to] <= center;)
        to++;
    if (to >= 2)
        low = center - gsl_stats_median_from_sorted_data(sorted, 1, to);
    if (window->count - from >= 2)
        high = gsl_stats_median_from_sorted_data(sorted + from, 1, window->count - from) - center;
    low = fmin(low, high);
    low = isfinite(low) ? fmax(NORMAL_MAD * low, half) : half;
    return low * (1.0 + FIRST_FEW / pow((double)window->count, 3.0));
}

/* Admits what lies within so much of the center; was there any? */
static bool grow(struct window *window, double bound)
{
    double center = mean_of(window);
    size_t before = window->end - window->first;

    while (window->first > 0 && center - window->sorted[window->first - 1] <= bound)
        admit(window, window->sorted[--window->first]);
    while (window->end < window->count && window->sorted[window->end] - center <= bound)
        admit(window, window->sorted[window->end++]);
    return window->end - window->first > before;
}

/* Distance of a value of the window from its others, in their standard deviations. */
static double deleted_sigmas(double distance, double n, double spread, double minimum)
{
    double variance =
        ((n - 1.0) * spread * spread - distance * distance * n / (n - 1.0)) / (n - 2.0);

    return pb_sigmas(distance * n / (n - 1.0), fmax(sqrt(fmax(variance, 0.0)), minimum));
}

/* Drops the outer value that lies farthest off, if it is beyond the threshold of the others: of few
   values the start held all, or the wide first step let it in. */
static void shrink(struct window *window, double threshold, double minimum)
{
    double center = mean_of(window), spread = spread_of(window);
    double low = window->sorted[window->first], high = window->sorted[window->end - 1];
    size_t n = window->end - window->first;
    double outer = center - low > high - center ? low : high;

    if (n <= LEFT_MIN ||
        fabs(deleted_sigmas(outer - center, (double)n, spread, minimum)) <= threshold)
        return;
    window->first += outer == low;
    window->end -= outer != low;
    sum_up(window);
}

void pb_majority_fit(const double *sorted, size_t count, double minimum,
                     struct pb_majority *majority_out)
{
    struct window window = {.sorted = sorted, .count = count};
    size_t held = count - count / 2;
    double threshold = THRESHOLD + THRESHOLD_FEW / (double)count, scale;

    held = held < START_MIN ? START_MIN : held;
    start(&window, held < count ? held : count);
    grow(&window, FIRST_THRESHOLD * fmax(first_scale(&window), minimum));
    while (grow(&window, threshold * fmax(spread_of(&window), minimum)))
        ;
    shrink(&window, threshold, minimum);
    scale = spread_of(&window);
    *majority_out = (struct pb_majority){.center = mean_of(&window),
                                         .scale = fmax(scale, minimum),
                                         .spread = scale,
                                         .floor = minimum,
                                         .low = sorted[window.first],
                                         .high = sorted[window.end - 1],
                                         .count = window.end - window.first};
}

bool pb_majority_holds(const struct pb_majority *majority, double value)
{
    return value >= majority->low && value <= majority->high;
}

double pb_majority_expected(const struct pb_majority *majority, double value)
{
    double n = (double)majority->count;

    if (!pb_majority_holds(majority, value) || n < 3.0)
        return majority->center;
    return majority->center - (value - majority->center) / (n - 1.0);
}

double pb_majority_sigmas(const struct pb_majority *majority, double value, double noise)
{
    double distance = value - majority->center, n = (double)majority->count;
    double minimum = fmax(majority->floor, noise);

    if (!pb_majority_holds(majority, value) || n < 3.0)
        return pb_sigmas(distance, fmax(majority->scale, noise));
    return deleted_sigmas(distance, n, majority->spread, minimum);
}
