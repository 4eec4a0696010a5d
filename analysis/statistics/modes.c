/* Modes by nearest-neighbour density with hysteresis; linear in the number of members. */
#include "analysis/statistics/modes.h"

#include <math.h>

#include "analysis/statistics/sample.h"

/* Half of the finest window: a value and its neighbours one cycle away. */
static const double half_window_cycles = 1.5;

/* Peaks are compared over many places, hence four standard deviations of the log density. */
static const double significance_sigmas = 4.0;

/* A window over the distribution, upwards. */
struct density {
    const double *sorted;
    size_t count;
    size_t neighbours; /* members a window must hold */
    size_t first, end; /* members within half_window_cycles of the place looked at last */
    size_t nearest;    /* the first of its nearest neighbours */
};

/* Members per cycle around x; x must not fall from call to call. */
static double density_at(struct density *window, double x)
{
    const double *v = window->sorted;
    size_t low, high;

    while (window->first < window->count && v[window->first] < x - half_window_cycles)
        window->first++;
    while (window->end < window->count && v[window->end] <= x + half_window_cycles)
        window->end++;
    low = window->first;
    high = window->end > window->first ? window->end : window->first;
    if (high - low >= window->neighbours)
        return (double)(high - low) / (2.0 * half_window_cycles);

    for (low = window->nearest; low + window->neighbours < window->count; low++)
        if (x - v[low] <= v[low + window->neighbours] - x)
            break;
    window->nearest = low;
    high = low + window->neighbours;
    return (double)window->neighbours / (2.0 * fmax(x - v[low], v[high - 1] - x));
}

/*
 * Fewer members than a window must hold, behind a gap wider than all below them spread, are no mode
 * of their own, and outliers of this one: where so many lie there that they would widen its band,
 * those below. Returns how many.
 */
static size_t count_together(const double *members, size_t count, size_t neighbours)
{
    size_t tail = count / 40; /* as many the band leaves out */

    for (size_t i = count - tail; i-- > 1 && count - i < neighbours;)
        if (members[i] - members[i - 1] > fmax(members[i - 1] - members[0], half_window_cycles))
            return i;
    return count;
}

static void close_mode(const struct density *window, size_t first, size_t end,
                       struct pb_mode *mode_out)
{
    const double *members = window->sorted + first;
    size_t count = end - first;

    mode_out->first = first;
    mode_out->count = count;
    mode_out->median = pb_quantile(members, count, 0.5);
    mode_out->band = pb_band_of(members, count_together(members, count, window->neighbours));
}

/* The next place to look at: in the middle of a gap of more than a cycle, else the next value. */
static double next_place(const double *sorted, size_t count, size_t *at, double place)
{
    double value = sorted[*at], middle;

    if (place > value)
        return sorted[++*at];
    while (*at + 1 < count && sorted[*at + 1] == value)
        ++*at;
    if (*at + 1 == count)
        return INFINITY;
    middle = value + (sorted[*at + 1] - value) / 2.0;
    /* Numbers may be too large, or too odd, to have a middle. */
    if (middle - value > 0.5 && middle > value && middle < sorted[*at + 1])
        return middle;
    return sorted[++*at];
}

size_t pb_modes_find(const double *sorted, size_t count, size_t max, struct pb_mode *modes_out)
{
    size_t neighbours = (size_t)ceil(sqrt((double)count)), first = 0, found = 0, at = 0;
    struct density window = {sorted, count, neighbours, 0, 0, 0};
    double ratio, x, peak = 0.0, valley = 0.0, valley_place = 0.0;

    if (count == 0)
        return 0;
    ratio = fmax(2.0, exp(significance_sigmas * sqrt(2.0 / (double)neighbours)));
    x = sorted[0];
    while (x < INFINITY) {
        double here = density_at(&window, x);

        if (here >= ratio * valley && peak >= ratio * valley && valley > 0.0 && found + 1 < max) {
            size_t begin, end;

            pb_sorted_range(sorted, count, sorted[first], valley_place, &begin, &end);
            close_mode(&window, first, end, &modes_out[found++]);
            first = end;
            peak = valley = here;
        } else if (here >= peak) {
            peak = valley = here;
            valley_place = x;
        } else if (here < valley) {
            valley = here;
            valley_place = x;
        }
        x = next_place(sorted, count, &at, x);
    }
    close_mode(&window, first, count, &modes_out[found++]);
    return found;
}

const struct pb_mode *pb_modes_largest(const struct pb_mode *modes, size_t count)
{
    const struct pb_mode *largest = &modes[0];

    for (size_t i = 1; i < count; i++)
        if (modes[i].count > largest->count)
            largest = &modes[i];
    return largest;
}

struct pb_band pb_modes_bulk(const struct pb_mode *modes, size_t count, double share)
{
    struct pb_band bulk = {INFINITY, -INFINITY};
    size_t total = 0, held = 0, smallest = 0;

    for (size_t i = 0; i < count; i++)
        total += modes[i].count;
    for (size_t i = 0; i < count; i++)
        if (modes[i].count > smallest)
            smallest = modes[i].count;
    /* Takes modes of falling size until they hold the share; equal ones come together. */
    while (smallest > 0) {
        size_t next = 0;

        for (size_t i = 0; i < count; i++) {
            if (modes[i].count == smallest) {
                bulk.low = fmin(bulk.low, modes[i].band.low);
                bulk.high = fmax(bulk.high, modes[i].band.high);
                held += smallest;
            } else if (modes[i].count < smallest && modes[i].count > next) {
                next = modes[i].count;
            }
        }
        if ((double)held >= share * (double)total)
            break;
        smallest = next;
    }
    return bulk;
}

struct pb_band pb_band_of(const double *sorted, size_t count)
{
    double low = pb_quantile(sorted, count, 0.025), high = pb_quantile(sorted, count, 0.975);
    double middle = pb_quantile(sorted, count, 0.5);

    return (struct pb_band){low - (middle - low) - 1.0, high + (high - middle) + 1.0};
}

bool pb_band_holds(struct pb_band band, double value)
{
    return value >= band.low && value <= band.high;
}
