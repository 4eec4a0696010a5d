/* The likelihoods of a footprint sweep; see sweep.h. */
#include "analysis/cache/sweep.h"

#include <float.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/cache/geometry.h"
#include "analysis/constants.h"
#include "analysis/statistics/likelihood.h"

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

bool pb_sweep_is_pass(const struct pb_sweep_point *point)
{
    return !isnan(point->pass_cycles);
}

double pb_sweep_share(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    if (!pb_sweep_is_pass(point))
        return point->tally.accesses == 0
                   ? NAN
                   : (double)point->tally.misses / (double)point->tally.accesses;
    return (point->pass_cycles - model->pass_cycles) / model->miss_penalty_cycles;
}

/* Any number of misses from 1 on, the more the rarer: 1 / (k (k + 1)) sums to 1. */
static double any_number(double misses)
{
    return 1.0 / (misses * (misses + 1.0));
}

double pb_tally_log_poisson(const struct pb_tally *tally, double rate)
{
    double misses = (double)tally->misses, mean = rate * (double)tally->accesses;

    return tally->accesses == 0 ? 0.0 : misses * log(mean) - mean - gsl_sf_lngamma(misses + 1.0);
}

/* Log likelihood of any number of misses from 1 on, among outliers of this rate. */
static double among_outliers(const struct pb_tally *tally, double rate)
{
    double mean = rate * (double)tally->accesses, misses = (double)tally->misses, sum = 0.0;
    double reach = 2.0 * PB_SIGMAS * (sqrt(mean) + 1.0);
    double outliers = floor(fmax(0.0, mean - reach));
    double chance = exp(outliers * log(mean) - mean - gsl_sf_lngamma(outliers + 1.0));

    for (; outliers < fmin(misses, mean + reach); chance *= mean / ++outliers)
        sum += chance * any_number(misses - outliers);
    return log(sum + DBL_EPSILON);
}

double pb_sweep_log_disturbed(const struct pb_sweep_point *point)
{
    return log(any_number((double)point->tally.misses + 1.0));
}

static double trace_fits(const struct pb_sweep_point *point, double rate)
{
    return log((1.0 - PB_POSSIBLE_SHARE) * exp(pb_tally_log_poisson(&point->tally, rate)) +
               PB_POSSIBLE_SHARE * any_number((double)point->tally.misses + 1.0));
}

double pb_sweep_log_silence(double excess)
{
    return -log1p(excess);
}

/*
 * Chance that an overflowing trace shows no miss. A whole pass must miss the line that is not
 * there. A part of one need not see it; nor need a pass recorded in pieces, where replacement is
 * random: every piece is another run. Each line in excess then makes silence less likely; how many
 * there are, the largest fitting footprint leaves open.
 */
static double silence_of(const struct pb_sweep_point *point, const struct pb_sweep_edge *edge)
{
    uint64_t over_bytes = point->footprint_bytes - edge->fits_bytes;
    double excess = (double)over_bytes / (double)point->stride_bytes;

    return point->in_pieces || point->coverage < 1.0
               ? exp(pb_sweep_log_silence(point->coverage * excess))
               : PB_FAST_MISSES;
}

double pb_sweep_unit_bytes(const struct pb_sweep_point *points, size_t count,
                           const struct pb_sweep_model *model)
{
    double unit = 0.0;

    for (size_t i = 0; i < count; i++) {
        double share = pb_sweep_share(&points[i], model);

        if (share > 0.0)
            unit = (double)points[i].stride_bytes / share;
    }
    return fmax(unit, PB_LINE_MAX);
}

/* Share of a pass's accesses that must miss at least: every unit in excess of what fits does once.
 */
static double least_share(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                          const struct pb_sweep_edge *edge)
{
    double excess = (double)(point->footprint_bytes - edge->overflow_bytes) / model->unit_bytes;

    return excess * (double)point->stride_bytes / (double)point->footprint_bytes;
}

/*
 * Any number of misses, or as many as other traces of that footprint had that missed at all: what
 * they had is known as well as they have misses (a Poisson's rate, by Jeffreys' prior).
 */
static double as_often_as(const struct pb_tally *others, const struct pb_tally *tally, double rate)
{
    double any = among_outliers(tally, rate);
    double known = (double)others->accesses / (double)(others->accesses + tally->accesses);

    if (others->misses == 0 || tally->misses == 0)
        return any;
    return pb_add_likelihoods(log(PB_EXCEPTION) + any,
                              log(1.0 - PB_EXCEPTION) +
                                  log(gsl_ran_negative_binomial_pdf((unsigned)tally->misses, known,
                                                                    (double)others->misses + 0.5) +
                                      DBL_MIN));
}

static double trace_overflows(const struct pb_sweep_point *point,
                              const struct pb_sweep_model *model, const struct pb_sweep_edge *edge,
                              const struct pb_tally *others, double rate)
{
    double misses = (double)point->tally.misses, silent = silence_of(point, edge);
    bool too_few = misses < least_share(point, model, edge) * (double)point->tally.accesses;

    return pb_add_likelihoods(log(silent) + pb_tally_log_poisson(&point->tally, rate),
                              log(1.0 - silent) + as_often_as(others, &point->tally, rate)) +
           (misses > 0.0 && too_few ? log(PB_POSSIBLE_SHARE) : 0.0);
}

/*
 * How much slower a pass is than one that fits, in which as many loads are outliers as in traces.
 * Where the reference has outliers, too, it was timed with them.
 */
static double excess_of(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                        double rate)
{
    const struct pb_tally *known = &model->background;
    double before = ((double)known->misses + 0.5) / ((double)known->accesses + 1.0);
    double more = known->misses < PB_FEW ? fmax(0.0, rate - before) : 0.0;

    return point->pass_cycles - model->pass_cycles - more * model->miss_penalty_cycles;
}

static double pass_fits(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                        double rate)
{
    double excess = excess_of(point, model, rate);

    return log((1.0 - PB_POSSIBLE_SHARE) * gsl_ran_gaussian_pdf(excess, model->pass_noise_cycles) +
               PB_POSSIBLE_SHARE / (model->miss_penalty_cycles + fabs(excess)));
}

/* The excess is log-uniform from one miss a pass to all misses; below the noise it is not seen. */
static double pass_overflows(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                             const struct pb_sweep_edge *edge, double seen_share, double rate)
{
    double excess = excess_of(point, model, rate), noise = model->pass_noise_cycles;
    double lines = (double)point->footprint_bytes / (double)point->stride_bytes;
    double decades = log(fmax(lines, 2.0));
    double seen = log(fmax(model->miss_penalty_cycles / noise, 1.0));
    double unseen = fmin(1.0 - PB_POSSIBLE_SHARE, fmax(PB_POSSIBLE_SHARE, 1.0 - seen / decades));
    double slower = excess > noise ? 1.0 / (excess * fmax(seen, 1.0)) : 0.0;
    double share = fmax(least_share(point, model, edge), seen_share);
    double least = share * model->miss_penalty_cycles;
    bool too_few = excess + PB_SIGMAS * noise < least;

    return log(unseen * gsl_ran_gaussian_pdf(excess, noise) + (1.0 - unseen) * slower +
               PB_FAST_MISSES / (model->miss_penalty_cycles + fabs(excess))) +
           (too_few ? log(PB_POSSIBLE_SHARE) : 0.0);
}

/*
 * Of outliers, by access: the rate, or where noise clearly has more in this trace than that, as in
 * a burst, as many as it may be: there is no telling how many of its misses are any.
 */
static double own_rate(const struct pb_sweep_point *point, double rate)
{
    double accesses = (double)point->tally.accesses;
    double share = (double)point->tally.misses / fmax(1.0, accesses);
    bool is_disturbed = pb_exceeds_noise(point->noise_rate * accesses, rate * accesses);

    return is_disturbed ? fmax(rate, fmin(pb_classes_most_noise(point->noise_rate), share)) : rate;
}

double pb_sweep_log_overflows(const struct pb_sweep_point *point,
                              const struct pb_sweep_model *model, const struct pb_sweep_edge *edge,
                              const struct pb_tally *others, double seen_share, double rate)
{
    return pb_sweep_is_pass(point)
               ? pass_overflows(point, model, edge, seen_share, rate)
               : trace_overflows(point, model, edge, others, own_rate(point, rate));
}

double pb_sweep_log_fits(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                         double rate)
{
    return pb_sweep_is_pass(point) ? pass_fits(point, model, rate)
                                   : trace_fits(point, own_rate(point, rate));
}
