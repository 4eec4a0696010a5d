/* The change point of a sweep; quadratic in the number of its points, of which there are few. */
#include "analysis/cache/onset.h"

#include <float.h>
#include <math.h>

#include "analysis/constants.h"
#include "analysis/statistics/likelihood.h"

/* Outliers by accesses over the reference and the points that fit, but for those of bursts. */
static struct pb_tally tally_fitting(const struct pb_sweep_point *points, size_t fitting,
                                     const struct pb_sweep_model *model)
{
    struct pb_tally sum = model->background;

    for (size_t i = 0; i < fitting; i++)
        if ((double)points[i].tally.misses >
            pb_classes_most_noise(points[i].noise_rate) * (double)points[i].tally.accesses)
            pb_tally_add(&sum, points[i].tally);
        else
            sum.accesses += points[i].tally.accesses;
    return sum;
}

static struct pb_sweep_edge edge_at(const struct pb_sweep_point *points, size_t count, size_t cut)
{
    return (struct pb_sweep_edge){cut > 0 ? points[cut - 1].footprint_bytes : 0,
                                  cut < count ? points[cut].footprint_bytes : 0};
}

static bool is_in_pieces(const struct pb_sweep_point *point)
{
    return !pb_sweep_is_pass(point) && point->in_pieces;
}

/* Of a trace's loads, those that miss but for chance and as many outliers. */
static double sure_share(const struct pb_sweep_point *point, double rate)
{
    double misses = (double)point->tally.misses, accesses = (double)point->tally.accesses;

    return pb_sweep_is_pass(point)
               ? 0.0
               : fmax(0.0, misses - PB_SIGMAS * sqrt(misses) - rate * accesses) /
                     fmax(1.0, accesses);
}

/*
 * Log likelihood of: points [0, cut) fit with this rate of outliers, the others overflow. Traces of
 * a part of the pass that show no miss are one piece of evidence, the strongest one: they see the
 * same part, which may have none. is_disturbed: what was recorded in pieces, each a launch of its
 * own, is no evidence.
 */
static double rate_likelihood(const struct pb_sweep_point *points, size_t count, size_t cut,
                              const struct pb_sweep_model *model, double rate, bool is_disturbed)
{
    struct pb_sweep_edge edge = edge_at(points, count, cut);
    double sum = pb_tally_log_poisson(&model->background, rate), silence = 0.0;
    struct pb_tally others = {0, 0, 0}; /* traces of the same footprint that missed */
    double seen_share = 0.0;

    for (size_t i = 0; i < count; i++) {
        double likelihood =
            is_disturbed && is_in_pieces(&points[i]) ? pb_sweep_log_disturbed(&points[i])
            : i < cut                                ? pb_sweep_log_fits(&points[i], model, rate)
                      : pb_sweep_log_overflows(&points[i], model, &edge, &others, seen_share, rate);
        bool is_silent = i >= cut && !pb_sweep_is_pass(&points[i]) && points[i].coverage < 1.0 &&
                         points[i].tally.misses == 0;
        double no_outlier = is_silent ? pb_tally_log_poisson(&points[i].tally, rate) : likelihood;

        sum += no_outlier;
        silence = fmin(silence, likelihood - no_outlier);
        if (points[i].tally.misses > 0)
            pb_tally_add(&others, points[i].tally);
        if (i >= cut && !is_disturbed)
            seen_share = fmax(seen_share, sure_share(&points[i], rate));
        if (i + 1 < count && points[i + 1].footprint_bytes != points[i].footprint_bytes)
            others = (struct pb_tally){0, 0, 0};
    }
    return sum + silence;
}

/*
 * Rates that explain the outliers: the expected one, or by exception whatever was counted. An
 * expectation that the reference exceeds is none.
 */
struct outlier_rates {
    double expected, counted;
};

static struct outlier_rates rates_of(const struct pb_sweep_point *points, size_t cut,
                                     const struct pb_sweep_model *model)
{
    struct pb_tally fitting = tally_fitting(points, cut, model);
    double counted = ((double)fitting.misses + 0.5) / ((double)fitting.accesses + 1.0);
    double expected = fmax(model->outlier_rate, DBL_EPSILON);
    bool is_known = !isnan(model->outlier_rate) &&
                    !pb_exceeds_noise((double)model->background.misses,
                                      expected * (double)model->background.accesses);

    return (struct outlier_rates){is_known ? expected : counted, counted};
}

/*
 * Over both rates, and the chance that recording in pieces disturbs. A rate taken from the points
 * themselves is charged for that (Schwarz).
 */
static double cut_likelihood(const struct pb_sweep_point *points, size_t count, size_t cut,
                             const struct pb_sweep_model *model)
{
    struct outlier_rates rates = rates_of(points, cut, model);
    double accesses = (double)tally_fitting(points, cut, model).accesses;
    double expected =
        log(1.0 - PB_EXCEPTION) + rate_likelihood(points, count, cut, model, rates.expected, false);
    double counted = log(PB_EXCEPTION) - 0.5 * log(fmax(accesses, 1.0)) +
                     rate_likelihood(points, count, cut, model, rates.counted, false);
    double disturbed =
        log(PB_POSSIBLE_SHARE) + rate_likelihood(points, count, cut, model, rates.expected, true);

    return pb_add_likelihoods(pb_add_likelihoods(expected, counted), disturbed);
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

/* Where else the edge may be: at cuts with a share of the likelihood that is not negligible. */
static void find_bounds(const struct pb_sweep_point *points, size_t count, size_t best,
                        const struct pb_sweep_model *model, struct pb_onset *onset)
{
    double most = cut_likelihood(points, count, best, model);

    onset->least_bytes = onset->fits_bytes;
    onset->most_bytes = onset->overflow_bytes - onset->stride_bytes;
    if (onset->most_bytes < onset->fits_bytes)
        onset->most_bytes = onset->fits_bytes;
    if (onset->posterior > 1.0 - PB_POSSIBLE_SHARE) /* then no other one has so much */
        return;
    for (size_t cut = 1; cut < count; cut++) {
        uint64_t fits = points[cut - 1].footprint_bytes, overflow = points[cut].footprint_bytes;

        if (!is_cut(points, count, cut) ||
            onset->posterior * exp(cut_likelihood(points, count, cut, model) - most) <
                PB_POSSIBLE_SHARE)
            continue;
        if (fits < onset->least_bytes)
            onset->least_bytes = fits;
        if (overflow - points[cut].stride_bytes > onset->most_bytes)
            onset->most_bytes = overflow - points[cut].stride_bytes;
    }
}

/* Does a point on its own say that it fits (> 0) or overflows (< 0)? In log likelihood. */
static double margin_of(const struct pb_sweep_point *point, const struct pb_sweep_model *model,
                        const struct outlier_rates *rates, const struct pb_sweep_edge *edge)
{
    double expected = pb_sweep_log_fits(point, model, rates->expected);
    double counted = pb_sweep_log_fits(point, model, rates->counted) + log(PB_EXCEPTION);
    double rate = expected > counted ? rates->expected : rates->counted;
    const struct pb_tally none = {0, 0, 0};

    return fmax(expected, counted) - pb_sweep_log_overflows(point, model, edge, &none, 0.0, rate);
}

static void count_agreement(const struct pb_sweep_point *points, size_t count, size_t cut,
                            const struct pb_sweep_model *model, struct pb_onset *onset)
{
    struct outlier_rates rates = rates_of(points, cut, model);

    for (size_t i = 0; i < count; i++) {
        struct pb_sweep_edge edge = edge_at(points, count, cut);
        double margin;

        if (i < cut) /* had it overflowed, the edge would lie below it */
            edge = (struct pb_sweep_edge){0, points[i].footprint_bytes};
        margin = margin_of(&points[i], model, &rates, &edge);
        if (fabs(margin) < 1.0) /* says nothing on its own */
            continue;
        onset->seen++;
        onset->agreeing += (margin > 0.0) == (i < cut);
    }
}

/* A share is off by one miss of the pass, whose last line need not be whole; a pass's by its noise.
 */
static double noise_of(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    double one_miss = (double)point->stride_bytes / (double)point->footprint_bytes;

    return pb_sweep_is_pass(point)
               ? fmax(one_miss, model->pass_noise_cycles / model->miss_penalty_cycles)
               : one_miss;
}

/*
 * How far the share of one point may lie from that of its plateau: in part of it, since of a stride
 * shorter than the line or behind a prefetcher few loads miss even there; but by its noise.
 */
static double tolerance_of(const struct pb_sweep_point *point, const struct pb_sweep_point *plateau,
                           const struct pb_sweep_model *model)
{
    return fmin(PB_ALIKE_SHARE,
                fmax(PB_ALIKE_SHARE * pb_sweep_share(plateau, model), noise_of(point, model)));
}

/* What it may be too small by chance: where all behind it are larger than that, misses still grow.
 */
static double chance_of(const struct pb_sweep_point *point, const struct pb_sweep_model *model)
{
    double misses = (double)point->tally.misses, hits = (double)point->tally.accesses - misses;
    double counted =
        pb_sweep_is_pass(point) ? 0.0 : PB_SIGMAS * sqrt(misses * hits / pow(misses + hits, 3.0));

    return fmax(noise_of(point, model), counted);
}

/* The end of a sweep that holds one share of misses, by traces or by passes. */
struct plateau {
    uint64_t start; /* its first footprint; 0: there is none, misses still grow */
    uint64_t most;  /* the first one at which nothing shows that they do */
};

/* Nothing more can miss there. Where the last one of its kind still grew, the next bounds it. */
static struct plateau find_plateau_of(const struct pb_sweep_point *points, size_t count,
                                      const struct pb_sweep_model *model, bool passes)
{
    const struct pb_sweep_point *last = NULL;
    struct plateau plateau = {0, 0};
    double least_behind = INFINITY;

    for (size_t i = count; i-- > 0;) {
        double share = pb_sweep_share(&points[i], model);

        if (pb_sweep_is_pass(&points[i]) != passes)
            continue;
        if (last == NULL) {
            last = &points[i];
            plateau.most = points[i + 1 < count ? i + 1 : i].footprint_bytes;
        }
        if (fabs(share - pb_sweep_share(last, model)) > tolerance_of(&points[i], last, model))
            break;
        plateau.start = points[i].footprint_bytes;
        if (share + chance_of(&points[i], model) >= least_behind)
            plateau.most = plateau.start;
        least_behind = fmin(least_behind, share);
    }
    if (last != NULL && plateau.start == last->footprint_bytes)
        plateau.start = 0;
    return plateau;
}

/* Does anything behind the last trace miss more than it? Then traces end before the rise does. */
static bool rises_behind_traces(const struct pb_sweep_point *points, size_t count,
                                const struct pb_sweep_model *model)
{
    size_t last = count;

    for (size_t i = 0; i < count; i++)
        last = pb_sweep_is_pass(&points[i]) ? last : i;
    for (size_t i = last; i < count; i++)
        if (pb_sweep_share(&points[i], model) >
            pb_sweep_share(&points[last], model) + tolerance_of(&points[i], &points[last], model))
            return true;
    return false;
}

static void find_plateau(const struct pb_sweep_point *points, size_t count, size_t cut,
                         const struct pb_sweep_model *model, struct pb_onset *onset)
{
    struct plateau plateau = find_plateau_of(points + cut, count - cut, model, false);

    if (plateau.start == 0 || rises_behind_traces(points + cut, count - cut, model))
        plateau = find_plateau_of(points + cut, count - cut, model, true);
    onset->full_bytes = plateau.start;
    onset->full_most_bytes = plateau.most;
}

/*
 * Where half of the loads of sampled chases miss. A hashed index fills sets as chance has it, so
 * their first overflows are rare and differ from run to run; as many lines lie in overflowing sets
 * as in others where the average set is full, and that does not.
 */
static uint64_t find_half(const struct pb_sweep_point *points, size_t count, size_t cut,
                          const struct pb_sweep_model *model)
{
    const struct pb_sweep_point *below = &points[cut - 1];
    double below_share = 0.0;

    for (size_t i = cut; i < count; i++) {
        double share = pb_sweep_share(&points[i], model), way;

        if (pb_sweep_is_pass(&points[i]) || !(points[i].coverage < 1.0))
            continue;
        if (share < 0.5) {
            below = &points[i];
            below_share = share;
            continue;
        }
        way = (0.5 - below_share) / (share - below_share);
        return below->footprint_bytes +
               (uint64_t)(way * (double)(points[i].footprint_bytes - below->footprint_bytes));
    }
    return 0;
}

/*
 * One set after the other overflows when a perfectly mapped cache does, so its misses grow at least
 * in proportion, from the first on to where half of the most misses are seen. Clearly less than
 * that is a soft onset: sets fill unevenly, and the onset is below the capacity.
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
    return seen >= 2 && sum / (double)seen < PB_MOST;
}

enum pb_status pb_onset_find(const struct pb_sweep_point *points, size_t count,
                             const struct pb_sweep_model *known, struct pb_onset *onset_out,
                             struct pb_error *err)
{
    struct pb_sweep_model own = *known, *model = &own;
    struct pb_onset onset = {0};
    size_t cut;

    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: the sweep is empty");
    own.unit_bytes = pb_sweep_unit_bytes(points, count, known);
    cut = best_cut(points, count, model, &onset.posterior);
    if (cut == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "sweep too small: already the smallest footprint, %llu bytes, has misses",
                       (unsigned long long)points[0].footprint_bytes);
    if (cut == count)
        return pb_fail(err, PB_NOT_FOUND, PB_ONSET_ALL_FIT,
                       (unsigned long long)points[count - 1].footprint_bytes);
    onset.fits_bytes = points[cut - 1].footprint_bytes;
    onset.overflow_bytes = points[cut].footprint_bytes;
    onset.stride_bytes = points[cut].stride_bytes;
    find_bounds(points, count, cut, model, &onset);
    count_agreement(points, count, cut, model, &onset);
    find_plateau(points, count, cut, model, &onset);
    onset.soft = is_soft(points, count, cut, model);
    onset.half_bytes = find_half(points, count, cut, model);
    *onset_out = onset;
    return PB_OK;
}
