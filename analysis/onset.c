/* The change point of a footprint sweep; quadratic in the number of points, of which there are few.
 */
#include "analysis/onset.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>

/* Share of measurements that something outside the device disturbed. */
static const double disturbed = 0.01;

/* An overflowing lap without a single miss: only if the classes fail. */
static const double silent_overflow = 1e-3;

static int by_footprint(const void *a, const void *b)
{
    const struct pb_sweep_point *left = a, *right = b;

    return (left->footprint_bytes > right->footprint_bytes) -
           (left->footprint_bytes < right->footprint_bytes);
}

void pb_sweep_sort(struct pb_sweep_point *points, size_t count)
{
    if (count > 1)
        qsort(points, count, sizeof(*points), by_footprint);
}

double pb_sweep_share(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    if (isnan(point->lap_cycles))
        return point->tally.accesses == 0
                   ? NAN
                   : (double)point->tally.misses / (double)point->tally.accesses;
    return (point->lap_cycles - model->lap_cycles) / model->miss_penalty_cycles;
}

/* Any number of misses from 1 on, the more the rarer: 1 / (k (k + 1)) sums to 1. */
static double any_number(double misses)
{
    return 1.0 / (misses * (misses + 1.0));
}

static double trace_fits(const struct pb_sweep_point *point, double rate)
{
    double misses = (double)point->tally.misses, mean = rate * (double)point->tally.accesses;
    double poisson = exp(misses * log(mean) - mean - gsl_sf_lngamma(misses + 1.0));

    return log((1.0 - disturbed) * poisson + disturbed * any_number(misses + 1.0));
}

static double trace_overflows(const struct pb_sweep_point *point)
{
    double unseen = fmax(silent_overflow, 1.0 - point->coverage);

    if (point->tally.misses == 0)
        return log(unseen);
    return log((1.0 - unseen) * any_number((double)point->tally.misses) + silent_overflow * 1e-9);
}

static double lap_fits(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    double excess = point->lap_cycles - model->lap_cycles;

    return log((1.0 - disturbed) * gsl_ran_gaussian_pdf(excess, model->lap_noise_cycles) +
               disturbed / (model->miss_penalty_cycles + fabs(excess)));
}

/* The excess is log-uniform from one miss a lap to all misses; below the noise it is not seen. */
static double lap_overflows(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    double excess = point->lap_cycles - model->lap_cycles, noise = model->lap_noise_cycles;
    double lines = (double)point->footprint_bytes / (double)point->stride_bytes;
    double decades = log(fmax(lines, 2.0));
    double seen = log(fmax(model->miss_penalty_cycles / noise, 1.0));
    double unseen = fmin(0.99, fmax(0.01, 1.0 - seen / decades));
    double slower = excess > noise ? 1.0 / (excess * fmax(seen, 1.0)) : 0.0;

    return log(unseen * gsl_ran_gaussian_pdf(excess, noise) + (1.0 - unseen) * slower +
               silent_overflow / (model->miss_penalty_cycles + fabs(excess)));
}

static bool is_lap(const struct pb_sweep_point *point)
{
    return !isnan(point->lap_cycles);
}

static double log_overflows(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    return is_lap(point) ? lap_overflows(point, model) : trace_overflows(point);
}

static double log_fits(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                       double rate)
{
    return is_lap(point) ? lap_fits(point, model) : trace_fits(point, rate);
}

/* Strays by accesses over the points that fit; the worst of them may be a disturbed one. */
static double stray_rate(const struct pb_sweep_point *points, size_t fitting,
                         const struct pb_sweep_model *model)
{
    double misses = (double)model->background.misses;
    double accesses = (double)model->background.accesses;
    double worst = -1.0, worst_misses = 0.0, worst_accesses = 0.0;
    size_t traces = 0;

    for (size_t i = 0; i < fitting; i++) {
        double share = pb_sweep_share(&points[i], model);

        if (is_lap(&points[i]) || isnan(share))
            continue;
        traces++;
        misses += (double)points[i].tally.misses;
        accesses += (double)points[i].tally.accesses;
        if (share > worst) {
            worst = share;
            worst_misses = (double)points[i].tally.misses;
            worst_accesses = (double)points[i].tally.accesses;
        }
    }
    if (traces >= 3) {
        misses -= worst_misses;
        accesses -= worst_accesses;
    }
    return (misses + 0.5) / (accesses + 1.0);
}

/* Log likelihood of: points [0, cut) fit, the others overflow. */
static double cut_likelihood(const struct pb_sweep_point *points, size_t count, size_t cut,
                             const struct pb_sweep_model *model)
{
    double rate = stray_rate(points, cut, model), sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += i < cut ? log_fits(&points[i], model, rate) : log_overflows(&points[i], model);
    return sum;
}

/* A cut lies between two different footprints. */
static bool is_cut(const struct pb_sweep_point *points, size_t count, size_t cut)
{
    return cut == 0 || cut == count ||
           points[cut - 1].footprint_bytes < points[cut].footprint_bytes;
}

/* The best cut, and its share of the likelihood of all. */
static size_t best_cut(const struct pb_sweep_point *points, size_t count,
                       const struct pb_sweep_model *model, double *posterior_out)
{
    double best = -INFINITY, sum = 0.0;
    size_t at = 0;

    for (size_t cut = 0; cut <= count; cut++) {
        double likelihood;

        if (!is_cut(points, count, cut))
            continue;
        likelihood = cut_likelihood(points, count, cut, model);
        if (likelihood > best) {
            sum = sum * exp(best - likelihood) + 1.0;
            best = likelihood;
            at = cut;
        } else {
            sum += exp(likelihood - best);
        }
    }
    *posterior_out = sum > 0.0 ? 1.0 / sum : 0.0;
    return at;
}

static void count_agreement(const struct pb_sweep_point *points, size_t count, size_t cut,
                            const struct pb_sweep_model *model, struct pb_onset *onset)
{
    double rate = stray_rate(points, cut, model);

    for (size_t i = 0; i < count; i++) {
        double margin = log_fits(&points[i], model, rate) - log_overflows(&points[i], model);

        if (fabs(margin) < 1.0) /* says nothing on its own */
            continue;
        onset->seen++;
        onset->agreeing += (margin > 0.0) == (i < cut);
    }
}

/*
 * The share of misses that the last footprints hold: nothing more can miss there. Traces tell where
 * there are any, as the time of a lap knows the share less well.
 */
static void find_plateau(const struct pb_sweep_point *points, size_t count,
                         const struct pb_sweep_model *model, struct pb_onset *onset)
{
    double last = NAN;
    bool laps = true;

    for (size_t i = 0; i < count; i++)
        laps = laps && (is_lap(&points[i]) || points[i].footprint_bytes < onset->overflow_bytes);
    for (size_t i = count; i-- > 0 && points[i].footprint_bytes >= onset->overflow_bytes;) {
        double share = pb_sweep_share(&points[i], model);

        if (is_lap(&points[i]) != laps)
            continue;
        if (isnan(last))
            last = share;
        else if (fabs(share - last) > 0.01 * last)
            return;
        else
            onset->full_bytes = points[i].footprint_bytes;
    }
}

/*
 * One set after the other overflows when a perfectly mapped cache does, so its misses grow at least
 * in proportion from the first on. Half of that, up to where half of the most misses are seen, is a
 * soft onset: sets fill unevenly, and the onset is below the capacity.
 */
static bool is_soft(const struct pb_sweep_point *points, size_t count, size_t cut,
                    const struct pb_sweep_model *model)
{
    double most = 0.0, sum = 0.0, start = (double)points[cut - 1].footprint_bytes;
    size_t half = cut, seen = 0;

    for (size_t i = cut; i < count; i++)
        most = fmax(most, pb_sweep_share(&points[i], model));
    while (half + 1 < count && !(pb_sweep_share(&points[half], model) >= most / 2.0))
        half++;
    for (size_t i = cut; i < half; i++) {
        double way = ((double)points[i].footprint_bytes - start) /
                     ((double)points[half].footprint_bytes - start);
        double share = pb_sweep_share(&points[i], model);

        if (isnan(share) || !(way > 0.0))
            continue;
        sum += share / (way * pb_sweep_share(&points[half], model));
        seen++;
    }
    return seen >= 2 && sum / (double)seen < 0.5;
}

enum pb_status pb_onset_find(const struct pb_sweep_point *points, size_t count,
                             const struct pb_sweep_model *model, struct pb_onset *onset_out,
                             struct pb_error *err)
{
    struct pb_onset onset = {0};
    size_t cut;

    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "the sweep is empty");
    cut = best_cut(points, count, model, &onset.posterior);
    if (cut == 0)
        return pb_fail(err, PB_NOT_FOUND, "already the smallest footprint, %llu bytes, misses",
                       (unsigned long long)points[0].footprint_bytes);
    if (cut == count)
        return pb_fail(err, PB_NOT_FOUND, "no misses up to %llu bytes, the largest footprint",
                       (unsigned long long)points[count - 1].footprint_bytes);
    onset.fits_bytes = points[cut - 1].footprint_bytes;
    onset.overflow_bytes = points[cut].footprint_bytes;
    onset.stride_bytes = points[cut].stride_bytes;
    count_agreement(points, count, cut, model, &onset);
    find_plateau(points, count, model, &onset);
    onset.soft = is_soft(points, count, cut, model);
    *onset_out = onset;
    return PB_OK;
}
