/* The likelihood of loads by what they are predicted to miss; see replay.h. */
#include "analysis/tlb/replay.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/room.h"
#include "analysis/statistics/likelihood.h"

/* What loads of one chase do that come to a level. */
struct tally {
    float expected;        /* misses of these loads that clearly hit or miss, */
    uint32_t seen, misses; /* how many these are; of these, misses */
    uint32_t sure;         /* that are sure, or beside all steps; */
    uint32_t outliers;     /* of these, others than predicted */
};

/* Of a chase's loads that come to one set of a level, those that clearly hit or miss. */
struct set_tally {
    float seen, misses, expected;
    float log_chance; /* of what they do, if each does it by itself */
};

/* Of a chase's loads, log likelihoods: if each misses by itself, and if what they miss is known. */
struct chase_tally {
    double apart, known;
};

/* What is seen of the loads of a scan that come to a level. */
struct seen {
    struct tally *chases;
    struct set_tally *sets; /* [chase][group] */
};

/* Of the loads of a line, by the levels that they miss, and their excess. */
struct densities {
    float of[PB_TLB_FOUND_MAX + 1][PB_TLB_ROWS + 1];
    float sure[PB_TLB_FOUND_MAX + 1][PB_TLB_ROWS + 1]; /* where they are predicted to, for sure */
};

/* One that was recorded: at `at` of the predictions. */
struct load {
    float cycles;
    uint32_t at;
    uint8_t missed; /* as in the prediction */
};

struct replay {
    struct pb_tlb_evidence *evidence;
    struct pb_tlb_prediction prediction;
    struct seen seen[PB_TLB_FOUND_MAX];
    double steps[PB_TLB_FOUND_MAX + 1]; /* what a load takes more that misses so many */
    struct densities *densities;        /* [kinds of bases] */
    struct load *loads;                 /* [chases] of a place */
    size_t load_count;
    struct chase_tally *tallies; /* [chases] */
    double *log_factorial;       /* [places + 2] */
    double least_density;        /* of a load that levels explain */
    double log_likelihood;
};

static enum pb_status open_replay(struct replay *replay, struct pb_error *err)
{
    struct pb_room *room = &replay->evidence->replay_room;
    const size_t chases = replay->prediction.chases_max, places = replay->prediction.places_max;

    PB_ROOM_ARRAY(room, replay->log_factorial, places + 2);
    for (size_t i = 1; i < places + 2 && replay->log_factorial != NULL; i++)
        replay->log_factorial[i] = replay->log_factorial[i - 1] + log((double)i);
    PB_ROOM_SCRATCH(room, replay->loads, chases);
    PB_ROOM_SCRATCH(room, replay->tallies, chases);
    PB_ROOM_ARRAY(room, replay->densities, pb_tlb_base_kinds(replay->evidence));
    for (size_t i = 0; i < replay->prediction.count; i++) {
        PB_ROOM_SCRATCH(room, replay->seen[i].chases, chases);
        PB_ROOM_SCRATCH(room, replay->seen[i].sets, replay->prediction.cells / 2 + chases);
    }
    return pb_room_status(room, err);
}

/* By the number of levels that it misses: density_out[count + 1]. */
static void find_densities(const struct replay *replay, const struct pb_tlb_base *base,
                           double excess, float *density_out)
{
    size_t row = pb_tlb_row(excess);

    for (size_t i = 0; i <= replay->prediction.count; i++)
        density_out[i] = replay->densities[base->cache].of[i][row];
}

/* How likely a load is whose levels are missed by chance: at `at` of the predictions. */
static double weigh_unsure(const struct replay *replay, const struct pb_tlb_base *base, size_t at,
                           double excess)
{
    double likely = 0.0, comes = 1.0;
    float density[PB_TLB_FOUND_MAX + 1];

    find_densities(replay, base, excess, density);
    for (size_t i = 0; i < replay->prediction.count; i++) {
        double miss = replay->prediction.levels[i].chance[at];

        likely += comes * (1.0 - miss) * density[i];
        comes *= miss;
    }
    return likely + comes * density[replay->prediction.count];
}

/* Into replay->loads: those of a place that were recorded. */
static void list_loads(struct replay *replay, const struct pb_tlb_scan *scan, size_t place)
{
    const float *cycles = pb_tlb_cycles(scan, place, 0);
    size_t row = place * scan->chase_count;

    replay->load_count = 0;
    for (size_t j = 0; j < replay->prediction.chase_count; j++) {
        float here = cycles[replay->prediction.chases[j]];

        if (!isnan(here))
            replay->loads[replay->load_count++] =
                (struct load){here, (uint32_t)(row + j), replay->prediction.missed[row + j]};
    }
}

/* Log likelihood of the listed loads with such a base. */
static double weigh_place(const struct replay *replay, const struct pb_tlb_base *base)
{
    const struct densities *densities = &replay->densities[base->cache];
    double product = 1.0, sum = 0.0, shift = PB_TLB_BELOW + 0.5 - base->cycles;

    for (size_t i = 0; i < replay->load_count; i++) {
        const struct load *load = &replay->loads[i];

        product *= load->missed == PB_TLB_UNSURE
                       ? weigh_unsure(replay, base, load->at, load->cycles - base->cycles)
                       : densities->sure[load->missed][pb_tlb_row_at(load->cycles + shift)];
        if (product < 1e-200) {
            sum += log(product);
            product = 1.0;
        }
    }
    return sum + log(product);
}

/*
 * Where lines take different times, so do those of page tables: may a load miss so many levels,
 * whose step differs by no more than this part of it?
 */
static bool is_near_step(const struct replay *replay, double excess)
{
    for (size_t i = 1; i <= replay->prediction.count && !replay->evidence->is_uniform; i++)
        if (fabs(excess - replay->steps[i]) <= PB_EXCEPTION * replay->steps[i])
            return true;
    return false;
}

/*
 * A load that no number of missed levels explains counts against the level before whose step it
 * lies, or against the last one.
 */
static bool is_outlier(struct replay *replay, size_t chase, double excess, const float *density,
                       struct pb_tlb_fit *fits)
{
    for (size_t i = 0; i <= replay->prediction.count; i++)
        if (density[i] > replay->least_density)
            return false;
    if (is_near_step(replay, excess))
        return true;
    for (size_t i = 0; i < replay->prediction.count; i++) {
        if (fits == NULL || excess < replay->steps[i] ||
            (i + 1 < replay->prediction.count && excess > replay->steps[i + 1]))
            continue;
        fits[i].loads += 1.0;
        fits[i].leading += 1.0;
        fits[i].against += 1.0;
        replay->seen[i].chases[chase].sure++;
        replay->seen[i].chases[chase].outliers++;
    }
    return true;
}

static struct set_tally *tally_of(struct replay *replay, size_t level, size_t chase, size_t place)
{
    const struct pb_tlb_misses *misses = &replay->prediction.levels[level];

    return &replay->seen[level]
                .sets[chase * misses->groups + (misses->groups > 1 ? misses->set[place] : 0)];
}

/* A load that clearly hits or misses. */
static void add_to_set(struct set_tally *tally, double chance, bool is_miss)
{
    tally->seen += 1.0F;
    tally->misses += is_miss;
    tally->expected += (float)chance;
    tally->log_chance += (float)log(is_miss ? chance : 1.0 - chance);
}

/* How likely the cycles of a load are that misses so many levels and more: misses_out[count]. */
static void weigh_misses(const struct replay *replay, size_t at, const float *density,
                         double *misses_out)
{
    for (size_t i = replay->prediction.count; i-- > 0;) {
        double chance =
            i + 1 < replay->prediction.count ? replay->prediction.levels[i + 1].chance[at] : 0.0;

        misses_out[i] = (1.0 - chance) * density[i + 1];
        if (i + 1 < replay->prediction.count)
            misses_out[i] += chance * misses_out[i + 1];
    }
}

/* Do replays of the chase differ? */
static bool is_drawn(const struct replay *replay, size_t chase)
{
    bool any = false;

    for (size_t i = 0; i < replay->prediction.count; i++)
        any |= replay->prediction.levels[i].draws[chase].draws > 0;
    return any;
}

/*
 * A load that does other than in all replays. As often one of these does other than all the rest:
 * the recorded loads might be one more of them.
 */
static void count_denied(const struct pb_tlb_draws *draws, double chance, bool is_miss,
                         struct pb_tlb_fit *fit)
{
    double rarer = draws->draws * fmin(chance, 1.0 - chance); /* in how many replays */

    if (draws->draws > 0 && rarer < 0.5)
        fit->denied += is_miss != (chance > 0.5);
    else if (draws->draws > 0 && rarer < 1.5)
        fit->deniable += 1.0 / draws->draws;
}

/* Compares a place's loads with what is predicted. */
static void check_place(struct replay *replay, const struct pb_tlb_scan *scan, size_t place,
                        const struct pb_tlb_base *base, struct pb_tlb_fit *fits)
{
    static const float clear = 20.0F;
    bool was_against[PB_TLB_FOUND_MAX] = {false}; /* in the chase before */
    bool is_other_line = base->log_prior < log(2.0 * PB_TLB_OTHER_LINES / PB_TLB_CYCLES_MAX);

    for (size_t j = 0; j < replay->prediction.chase_count; j++) {
        double excess = *pb_tlb_cycles(scan, place, replay->prediction.chases[j]) - base->cycles;
        float density[PB_TLB_FOUND_MAX + 1] = {0.0F};
        double comes = 1.0; /* chance that it misses all before */
        double misses[PB_TLB_FOUND_MAX] = {0.0}, likely = 1.0, known = 1.0;
        double others = 1.0; /* chance of what loads do that are not the first of their entry */
        bool is_miss = true, is_predicted = is_drawn(replay, j);

        if (isnan(excess) || (fits == NULL && !is_predicted))
            continue;
        find_densities(replay, base, excess, density);
        if (is_outlier(replay, j, excess, density, fits))
            continue;
        if (is_predicted) {
            weigh_misses(replay, place * scan->chase_count + j, density, misses);
            likely = known = weigh_unsure(replay, base, place * scan->chase_count + j, excess);
        }
        for (size_t i = 0; i < replay->prediction.count && is_miss; i++) {
            struct tally *tally = &replay->seen[i].chases[j];
            float chance = replay->prediction.levels[i].chance[place * scan->chase_count + j],
                  most = 0.0F;
            bool leads =
                replay->prediction.levels[i].first[place] == place; /* others of its entry hit */

            for (size_t k = i + 1; k <= replay->prediction.count; k++)
                most = density[k] > most ? density[k] : most;
            if (most < clear * density[i] && density[i] < clear * most)
                break;
            is_miss = most > density[i];
            if (fits != NULL) {
                fits[i].loads += 1.0;
                fits[i].leading += leads;
                fits[i].of_other_lines += leads && i == 0 && is_other_line;
                fits[i].answered += is_miss ? 0.0 : comes * (1.0 - chance);
                fits[i].missed += is_miss ? chance : 0.0;
            }
            if (chance > 0.0F && chance < 1.0F) {
                tally->expected += chance;
                tally->seen++;
                tally->misses += is_miss;
                if (fits != NULL)
                    count_denied(&replay->prediction.levels[i].draws[j], chance, is_miss, &fits[i]);
                if (is_predicted && leads)
                    add_to_set(tally_of(replay, i, j, place), chance, is_miss);
                else if (is_predicted)
                    others *= is_miss ? chance : 1.0F - chance;
                if (is_predicted)
                    known = others * (is_miss ? misses[i] : density[i]);
            } else {
                bool is_against = is_miss != (chance > 0.5F);

                is_predicted &= !is_against;
                tally->sure += leads;
                tally->outliers += leads && is_against;
                if (fits != NULL) {
                    fits[i].against += is_against;
                    fits[i].repeated += is_against && was_against[i];
                }
                was_against[i] = is_against;
            }
            comes *= chance;
        }
        if (known != likely) {
            replay->tallies[j].apart += log(likely);
            replay->tallies[j].known += log(known);
        }
    }
}

/*
 * Log of the product of 1 + i * step, 0 < i < count: exact however small the step is, where the
 * difference of two gamma functions is all rounding.
 */
static double log_rising(double step, size_t count)
{
    double product = 1.0, sum = 0.0;

    for (size_t i = 1; i < count; i++) {
        product *= 1.0 + (double)i * step;
        if (product > 1e200) {
            sum += log(product);
            product = 1.0;
        }
    }
    return sum + log(product);
}

/*
 * Log likelihood of what loads of a set do. They do not miss independently where one that hits
 * saves the others: beta-binomial, pairs are correlated as drawn, up to all or none. Draws do not
 * show all that may happen: any number of misses may be what was not drawn, as rarely however few
 * draws there are, or wrong levels would be the likelier the fewer are made.
 */
static double weigh_set(const struct replay *replay, const struct set_tally *set, double together)
{
    const double *log_factorial = replay->log_factorial;
    double seen = set->seen, misses = set->misses, hits = seen - misses;
    double chance = pb_tlb_bounded(set->expected / seen), likely = set->log_chance, any;

    if (together > 0.0) {
        double odds = together / (1.0 - together);

        likely += log_rising(odds / chance, (size_t)misses) +
                  log_rising(odds / (1.0 - chance), (size_t)hits) - log_rising(odds, (size_t)seen);
    }
    any = log_factorial[(size_t)misses] + log_factorial[(size_t)hits] -
          log_factorial[(size_t)seen + 1];
    return pb_add_likelihoods(likely, any + log(PB_TLB_RARE));
}

/*
 * By how much likelier a chase is, of which some loads were drawn, if it is not known whether loads
 * miss each by itself, as they were weighed, or by sets.
 */
static double weigh_together(const struct replay *replay, size_t chase)
{
    double by_sets = replay->tallies[chase].known, apart = replay->tallies[chase].apart;

    for (size_t i = 0; i < replay->prediction.count; i++) {
        const struct pb_tlb_misses *misses = &replay->prediction.levels[i];
        const struct set_tally *sets = replay->seen[i].sets + chase * misses->groups;

        for (size_t k = 0; k < misses->groups && replay->seen[i].chases[chase].seen > 0; k++)
            if (sets[k].seen > 0.0F)
                by_sets += weigh_set(replay, &sets[k], misses->draws[chase].together);
    }
    return is_drawn(replay, chase) ? pb_add_likelihoods(apart, by_sets) - M_LN2 - apart : 0.0;
}

/*
 * How far a share lies from those that were drawn, squared, in variances: by how many of so many
 * others are less, since one hit may save its whole set in one chase of a hundred.
 */
static double square_of_deviation(const struct pb_tlb_draws *draws, float share, double others)
{
    double less = 0.5 * (1.0 + others - draws->draws), deviation;

    for (size_t r = 0; r < draws->draws; r++)
        less += draws->drawn[r] < share ? 1.0 : draws->drawn[r] > share ? 0.0 : 0.5;
    deviation = gsl_cdf_ugaussian_Pinv(less / (others + 1.0));
    return deviation * deviation;
}

/* The same of the shares that were drawn, on average. */
static double mean_square(const struct pb_tlb_draws *draws)
{
    double sum = 0.0;

    for (size_t r = 0; r < draws->draws; r++)
        sum += square_of_deviation(draws, draws->drawn[r], draws->draws - 1.0);
    return sum / draws->draws;
}

/* The share of a scan's loads, of those that are sure of the level, that noise has do otherwise. */
static double share_of_noise(const struct replay *replay, size_t level)
{
    double outliers = 0.0, sure = 0.0;

    for (size_t j = 0; j < replay->prediction.chase_count; j++) {
        outliers += replay->seen[level].chases[j].outliers;
        sure += replay->seen[level].chases[j].sure;
    }
    return fmin(PB_TLB_OUTLIERS, outliers / fmax(sure, 1.0));
}

/* What noise, which meets all chases of a scan alike, may make of so many loads by chance. */
static double noise_of(double share, double loads)
{
    double mean = share * loads;

    return fmax(fmax(1.0, PB_TLB_OUTLIERS * loads), mean + PB_SIGMAS * sqrt(mean));
}

/* The chases in which it varies what misses. */
static void add_chases(struct replay *replay, struct pb_tlb_fit *fits)
{
    for (size_t j = 0; j < replay->prediction.chase_count; j++)
        replay->log_likelihood += weigh_together(replay, j);
    for (size_t i = 0; i < replay->prediction.count; i++) {
        double share = share_of_noise(replay, i);

        for (size_t j = 0; j < replay->prediction.chase_count; j++) {
            const struct tally *tally = &replay->seen[i].chases[j];
            const struct pb_tlb_draws *draws = &replay->prediction.levels[i].draws[j];
            double seen = tally->seen, misses = tally->misses;

            if (fits != NULL)
                fits[i].unexplained += fmax(0.0, tally->outliers - noise_of(share, tally->sure));
            if (fits == NULL || seen < 8.0 || draws->variance <= 0.0F)
                continue;
            fits[i].deviation += square_of_deviation(draws, (float)(misses / seen), draws->draws);
            fits[i].by_chance += mean_square(draws);
        }
    }
}
/*
 * What a line takes is known by a few loads alone: the likeliest for all its loads, from there on
 * by whole cycles. Returns by how much likelier.
 */
static double adjust_base(const struct replay *replay, struct pb_tlb_base *base,
                          double log_likelihood)
{
    double most = log_likelihood;

    for (int step = -1; step <= 1; step += 2) {
        struct pb_tlb_base other = *base;
        double here;

        other.cycles += step;
        while ((here = weigh_place(replay, &other)) > most) {
            most = here;
            *base = other;
            other.cycles += step;
        }
    }
    return most - log_likelihood;
}

static void replay_scan(struct replay *replay, size_t s, struct pb_tlb_fit *fits)
{
    const struct pb_tlb_scan *scan = &replay->evidence->scans->items[s];
    const struct pb_tlb_prediction *prediction = &replay->prediction;

    pb_tlb_predict(&replay->prediction, s);
    for (size_t i = 0; i < prediction->count; i++) {
        memset(replay->seen[i].chases, 0,
               prediction->chase_count * sizeof(*replay->seen[i].chases));
        memset(replay->seen[i].sets, 0,
               prediction->chase_count * prediction->levels[i].groups *
                   sizeof(*replay->seen[i].sets));
    }
    memset(replay->tallies, 0, replay->prediction.chase_count * sizeof(*replay->tallies));
    for (size_t place = 0; place < scan->place_count; place++) {
        struct pb_tlb_base bases[PB_TLB_BASES_MAX];
        size_t base_count = pb_tlb_find_bases(replay->evidence, s, place, bases), best = 0;
        double most = -INFINITY;

        list_loads(replay, scan, place);
        for (size_t i = 0; i < base_count; i++) {
            double here = bases[i].log_prior + weigh_place(replay, &bases[i]);

            if (here > most) {
                most = here;
                best = i;
            }
        }
        if (base_count > 0 && !replay->evidence->is_uniform)
            most += adjust_base(replay, &bases[best], most - bases[best].log_prior);
        replay->log_likelihood += base_count > 0 ? most : 0.0;
        if (base_count > 0 && (fits != NULL || !replay->prediction.is_sure))
            check_place(replay, scan, place, &bases[best], fits);
    }
    add_chases(replay, fits);
}

/*
 * How likely a load is by its excess: one that misses all levels that are replayed may miss as well
 * any number of those behind, that which is likeliest, and a few do otherwise than is sure.
 */
static void tabulate(const struct replay *replay, const struct pb_tlb_level *levels, size_t count,
                     size_t kind)
{
    struct densities *densities = &replay->densities[kind];
    float one[PB_TLB_ROWS + 1];
    double step = 0.0;

    pb_tlb_tabulate(replay->evidence, kind, one);
    for (size_t i = 0; i <= count; i++) {
        size_t missed = i < replay->prediction.count ? i : replay->prediction.count;

        for (int row = 0; row < PB_TLB_ROWS; row++)
            densities->of[missed][row] += one[pb_tlb_row(row - PB_TLB_BELOW - step)];
        step += i < count ? levels[i].penalty_cycles : 0.0;
    }
    for (size_t i = 0; i <= replay->prediction.count; i++)
        densities->of[i][PB_TLB_ROWS] = 1.0F; /* not recorded */
    for (size_t row = 0; row <= PB_TLB_ROWS; row++) {
        double all = 0.0;

        for (size_t i = 0; i <= replay->prediction.count; i++)
            all += densities->of[i][row];
        for (size_t i = 0; i <= replay->prediction.count; i++)
            densities->sure[i][row] = (float)((1.0 - PB_TLB_RARE) * densities->of[i][row] +
                                              PB_TLB_RARE * (all - densities->of[i][row]) /
                                                  (double)replay->prediction.count);
    }
}

void pb_tlb_start_race(struct pb_tlb_race *race)
{
    race->noise = 0.0;
    for (size_t k = 0; k < PB_TLB_RACE_SCANS; k++) {
        race->ahead[k] = -INFINITY;
        race->order[k] = (uint8_t)k;
    }
}

/*
 * Notes how likely the k-th scan is. Are the levels too far behind to win, by those up to it? Then
 * the scan that is most against them is the first one that others meet.
 */
static bool is_behind(struct pb_tlb_race *race, size_t k, double log_likelihood)
{
    size_t worst = 0;
    double behind = 0.0, most = -INFINITY;

    race->own[race->order[k]] = log_likelihood;
    for (size_t i = 0; i <= k; i++) {
        double here = race->ahead[race->order[i]] - race->own[race->order[i]];

        behind += here;
        if (here > most) {
            most = here;
            worst = i;
        }
    }
    if (behind <= PB_TLB_BEHIND + race->noise)
        return false;
    for (; worst > 0; worst--) {
        uint8_t other = race->order[worst - 1];

        race->order[worst - 1] = race->order[worst];
        race->order[worst] = other;
    }
    return true;
}

enum pb_status pb_tlb_replay(struct pb_tlb_evidence *evidence, const struct pb_tlb_level *levels,
                             size_t count, const struct pb_tlb_effort *effort,
                             struct pb_tlb_race *race, double *log_likelihood_out,
                             struct pb_tlb_fit *fits_out, struct pb_error *err)
{
    size_t replayed =
        effort->level_count > 0 && effort->level_count < count ? effort->level_count : count;
    struct replay replay = {.evidence = evidence,
                            .least_density = 3.0 * exp(evidence->noise.log_contamination)};
    bool is_lost = false;
    enum pb_status status =
        pb_tlb_prediction_open(evidence->scans, levels, replayed, effort, fits_out != NULL,
                               &evidence->replay_room, &replay.prediction, err);

    for (size_t i = 0; i < replayed; i++) {
        replay.steps[i + 1] = replay.steps[i] + levels[i].penalty_cycles;
        if (fits_out != NULL)
            fits_out[i] = (struct pb_tlb_fit){.loads = 0.0};
    }
    if (status == PB_OK)
        status = open_replay(&replay, err);
    for (size_t i = 0; i < pb_tlb_base_kinds(evidence) && status == PB_OK; i++)
        tabulate(&replay, levels, count, i);
    for (size_t k = 0; k < evidence->scans->count && status == PB_OK && !is_lost; k++) {
        bool is_raced = race != NULL && k < PB_TLB_RACE_SCANS;
        double before = replay.log_likelihood;

        replay_scan(&replay, is_raced ? race->order[k] : k, fits_out);
        is_lost = is_raced && is_behind(race, k, replay.log_likelihood - before);
    }
    if (is_lost)
        replay.log_likelihood = -INFINITY;
    *log_likelihood_out = replay.log_likelihood;
    pb_room_reuse(&evidence->replay_room);
    return status;
}
