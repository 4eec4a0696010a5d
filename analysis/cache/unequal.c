/* Sets of unequal ways; see unequal.h. */
#include "analysis/cache/unequal.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#include "analysis/constants.h"
#include "analysis/statistics/likelihood.h"

/* More lines of one set are not told apart, nor are more sets looked at: it bounds the time. */
enum { LINES_MOST = 256, CELLS_MAX = 1 << 22 };

/* Chances that a pass over a set is not as it must be: a line of it misses, or none does. */
struct noise {
    double missed, lacking;
};

/*
 * What equal sets show of them, at least what is expected of any. Overfull sets lack misses where
 * lines are fetched ahead.
 */
static struct noise measure_noise(const struct pb_set_passes *tallies,
                                  const struct pb_geometry *equal, size_t most)
{
    struct pb_set_passes fitting = {0, 0}, overfull = {0, 0};
    struct noise noise = {.lacking = PB_EXCEPTION};

    for (uint64_t set = 0; set < equal->sets; set++) {
        for (size_t lines = 1; lines <= most; lines++) {
            struct pb_set_passes *sum = lines <= equal->ways ? &fitting : &overfull;

            sum->passes += tallies[set * (most + 1) + lines].passes;
            sum->missed += tallies[set * (most + 1) + lines].missed;
        }
    }
    noise.missed = fmin(0.5, fmax(PB_SPIKES_MOST, (fitting.missed + 0.5) / (fitting.passes + 1.0)));
    if (equal->hides_misses)
        noise.lacking = fmin(0.5, fmax(PB_EXCEPTION, (overfull.passes - overfull.missed + 0.5) /
                                                         (overfull.passes + 1.0)));
    return noise;
}

/* By how much likelier a set is with so many ways than with none: likely_out[most + 1]. */
static void weigh_ways(const struct pb_set_passes *tally, size_t most, struct noise noise,
                       double *likely_out)
{
    likely_out[0] = 0.0;
    for (size_t lines = 1; lines <= most; lines++) {
        double missed = tally[lines].missed, hit = (double)tally[lines].passes - missed;

        likely_out[lines] = likely_out[lines - 1] + missed * log(noise.missed) +
                            hit * log1p(-noise.missed) - missed * log1p(-noise.lacking) -
                            hit * log(noise.lacking);
    }
}

/* By how much likelier it is that a set has any other ways than most. NaN: no pass tells. */
static double weigh_others(const struct pb_set_passes *tally, const double *likely, size_t most,
                           size_t equal)
{
    double others = -INFINITY;
    size_t passes = 0;

    for (size_t ways = 1; ways <= most; ways++) {
        passes += tally[ways].passes;
        if (ways != equal)
            others = pb_add_likelihoods(others, likely[ways]);
    }
    return passes == 0 ? NAN : others - log((double)most) - likely[equal];
}

/*
 * Log odds that a set has others than most, by how often that is so of those that passes tell of.
 * *told_out: how many these are.
 */
static double log_odds_of_others(const double *others, size_t sets, size_t *told_out)
{
    enum { ROUNDS = 30 };
    double odds = 0.0;

    for (size_t round = 0; round < ROUNDS; round++) {
        double share = 0.0;

        *told_out = 0;
        for (size_t set = 0; set < sets; set++) {
            if (isnan(others[set]))
                continue;
            share += 1.0 / (1.0 + exp(-others[set] - odds));
            ++*told_out;
        }
        odds = log((share + 0.5) / ((double)*told_out - share + 0.5));
    }
    return odds;
}

/* The likeliest ways of a set, and those that are nearly as likely. */
static void choose_ways(const double *likely, size_t most, size_t equal, bool has_others,
                        size_t set, struct pb_unequal *unequal)
{
    size_t best = equal, alike = 0;

    for (size_t ways = 1; ways <= most && has_others; ways++)
        if (likely[ways] > likely[best])
            best = ways;
    unequal->ways[set] = unequal->least[set] = unequal->most[set] = (uint32_t)best;
    for (size_t ways = 1; ways <= most; ways++) {
        if (likely[ways] < likely[best] - PB_SAME_PREDICTION)
            continue;
        alike++;
        if (ways < unequal->least[set])
            unequal->least[set] = (uint32_t)ways;
        if (ways > unequal->most[set])
            unequal->most[set] = (uint32_t)ways;
    }
    if (unequal->most[set] == most)
        unequal->most[set] = UINT32_MAX;
    if (best == equal)
        return;
    unequal->others++;
    unequal->log_gain += likely[best] - likely[equal];
    unequal->log_prior += log((double)alike / (double)most);
}

enum pb_status pb_unequal_propose(const struct pb_cache_chases *chases,
                                  const struct pb_geometry *equal, struct pb_unequal *unequal,
                                  struct pb_error *err)
{
    size_t most = 4 * equal->ways + 16 < LINES_MOST ? 4 * equal->ways + 16 : LINES_MOST;
    struct pb_room *room = &unequal->room;
    struct pb_set_passes *tallies;
    enum pb_status status;
    struct noise noise;
    double *likely, *others, odds;
    size_t told;

    *unequal = (struct pb_unequal){.others = 0};
    if (equal->sets < 2 || equal->ways >= most || equal->sets > CELLS_MAX / (most + 1))
        return PB_OK;
    PB_ROOM_ARRAY(room, unequal->ways, equal->sets);
    PB_ROOM_ARRAY(room, unequal->least, equal->sets);
    PB_ROOM_ARRAY(room, unequal->most, equal->sets);
    PB_ROOM_ARRAY(room, tallies, equal->sets * (most + 1));
    PB_ROOM_ARRAY(room, likely, most + 1);
    PB_ROOM_ARRAY(room, others, equal->sets);
    status = pb_room_status(room, err);
    if (status == PB_OK)
        status = pb_geometry_tally_sets(chases, equal, most, tallies, err);
    if (status != PB_OK)
        return status;
    noise = measure_noise(tallies, equal, most);
    for (size_t set = 0; set < equal->sets; set++) {
        weigh_ways(tallies + set * (most + 1), most, noise, likely);
        others[set] = weigh_others(tallies + set * (most + 1), likely, most, equal->ways);
    }
    odds = log_odds_of_others(others, equal->sets, &told);
    for (size_t set = 0; set < equal->sets; set++) {
        weigh_ways(tallies + set * (most + 1), most, noise, likely);
        choose_ways(likely, most, equal->ways, others[set] + odds > 0.0, set, unequal);
    }
    unequal->log_prior +=
        gsl_sf_lnbeta((double)unequal->others + 1.0, (double)(told - unequal->others) + 1.0);
    return PB_OK;
}

void pb_unequal_clear(struct pb_unequal *unequal)
{
    pb_room_clear(&unequal->room);
}

void pb_unequal_state(const struct pb_unequal *unequal, const struct pb_geometry *geometry,
                      double confidence, struct pb_parameter *ways, struct pb_parameter *size,
                      const char *method)
{
    struct pb_estimate list[PB_LIST_MAX], bytes = {0.0, 0.0, 0.0};
    size_t open = 0;

    for (size_t set = 0; set < geometry->sets; set++) {
        struct pb_estimate here = {unequal->ways[set], unequal->least[set], unequal->most[set]};

        open += unequal->most[set] == UINT32_MAX;
        bytes.value += here.value * (double)geometry->line_bytes;
        bytes.low += here.low * (double)geometry->line_bytes;
        bytes.high += here.high * (double)geometry->line_bytes;
        if (set < PB_LIST_MAX)
            list[set] = here;
    }
    if (geometry->sets > PB_LIST_MAX || geometry->index == PB_INDEX_XOR)
        pb_parameter_set_none(ways, "not applicable: %zu of %llu sets, %s, have other ways",
                              unequal->others, (unsigned long long)geometry->sets,
                              geometry->index == PB_INDEX_XOR ? "which have no order"
                                                              : "too many to list");
    else if (open > 0)
        pb_parameter_set_none(ways,
                              "too few observations: %zu of %llu sets have other ways than most, "
                              "and no pass overfills %zu of the sets",
                              unequal->others, (unsigned long long)geometry->sets, open);
    else
        pb_parameter_set_list(ways, list, geometry->sets, confidence, "%s", method);
    if (size != NULL && open == 0)
        pb_parameter_set_number(size, bytes, confidence, "%s", method);
}
