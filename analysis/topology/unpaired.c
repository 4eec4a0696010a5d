/* Unpaired SMs join the component that they resemble; unpaired.h says by what. */
#include "analysis/topology/unpaired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/statistics/sort.h"
#include "analysis/topology/pairs.h"
#include "analysis/topology/sm_map.h"

enum { PIECES_MAX = 30 };

/* Of the SMs whose GPC is known, so many must resemble one of their own most. */
static const double least_trust = 0.9;

/* An SM is of the GPC that it resembles most with odds of seven at least; of H200s with 1e50. */
static const double least_log_odds = 2.0;

/* What SMs resemble each other by: values[sms][length]. */
struct profiles {
    float *values;
    size_t sms, length;
    bool by_mean; /* a component is like the mean of its SMs, else like the likest one */
};

/* The mean profile of a component, less that of one SM if it is a member. False: no other SM is in
 * it.
 */
static bool average(const struct profiles *profiles, const struct pb_union_find *components,
                    size_t first, size_t but, double *mean_out)
{
    size_t members = 0;

    memset(mean_out, 0, profiles->length * sizeof(*mean_out));
    for (size_t i = 0; i < profiles->sms; i++) {
        if (i == but || pb_union_find_first(components, i) != first)
            continue;
        members++;
        for (size_t j = 0; j < profiles->length; j++)
            mean_out[j] += profiles->values[i * profiles->length + j];
    }
    for (size_t j = 0; j < profiles->length && members > 0; j++)
        mean_out[j] /= (double)members;
    return members > 0;
}

static double distance_to_mean(const struct profiles *profiles,
                               const struct pb_union_find *components, size_t first, size_t sm,
                               double *mean)
{
    const float *own = profiles->values + sm * profiles->length;
    double sum = 0.0;

    if (!average(profiles, components, first, sm, mean))
        return INFINITY;
    for (size_t j = 0; j < profiles->length; j++)
        sum += fabs(mean[j] - own[j]);
    return sum;
}

static double distance_to_likest(const struct profiles *profiles,
                                 const struct pb_union_find *components, size_t first, size_t sm)
{
    const float *own = profiles->values + sm * profiles->length;
    double least = INFINITY;

    for (size_t i = 0; i < profiles->sms; i++) {
        const float *other = profiles->values + i * profiles->length;
        double sum = 0.0;

        if (i == sm || pb_union_find_first(components, i) != first)
            continue;
        for (size_t j = 0; j < profiles->length && sum < least; j++)
            sum += fabsf(other[j] - own[j]);
        least = fmin(least, sum);
    }
    return least;
}

static double distance(const struct profiles *profiles, const struct pb_union_find *components,
                       size_t first, size_t sm, double *mean)
{
    return profiles->by_mean ? distance_to_mean(profiles, components, first, sm, mean)
                             : distance_to_likest(profiles, components, first, sm);
}

/*
 * The component of several SMs that the SM resembles most, or that all SMs of its own component do
 * together; the number of SMs when there is none. *log_odds_out, or NULL: against the next one,
 * where the spread of the differences is not known. mean[length] is for its work.
 */
static size_t nearest(const struct profiles *profiles, const bool *unpaired,
                      const struct pb_union_find *components, size_t sm, bool together,
                      double *log_odds_out, double *mean)
{
    size_t best = profiles->sms, own = pb_union_find_first(components, sm);
    double least = INFINITY, next = INFINITY, compared = 0.0;

    for (size_t first = 0; first < profiles->sms; first++) {
        double sum = 0.0;

        if (unpaired[first] || pb_union_find_first(components, first) != first)
            continue;
        compared = 0.0;
        for (size_t i = 0; i < profiles->sms; i++) {
            if (i != sm && !(together && pb_union_find_first(components, i) == own))
                continue;
            sum += distance(profiles, components, first, i, mean);
            compared += (double)profiles->length;
        }
        if (sum < least) {
            next = least;
            least = sum;
            best = first;
        } else {
            next = fmin(next, sum);
        }
    }
    if (log_odds_out != NULL)
        *log_odds_out = compared * log(next / least);
    return best;
}

/* Do the SMs whose GPC is known resemble their own? Votes by their share. */
static bool is_trusted(const struct profiles *profiles, const bool *unpaired,
                       const struct pb_union_find *components, double *mean, struct pb_votes *votes)
{
    size_t known = 0, own = 0;

    for (size_t sm = 0; sm < profiles->sms; sm++) {
        size_t like = unpaired[sm] ? profiles->sms
                                   : nearest(profiles, unpaired, components, sm, false, NULL, mean);

        if (like == profiles->sms)
            continue;
        known++;
        own += like == pb_union_find_first(components, sm);
    }
    if (known == 0 || (double)own < least_trust * (double)known)
        return false;
    pb_votes_add_share(votes, own, known, PIECES_MAX);
    return true;
}

/*
 * SMs of an unpaired component are of one GPC, which they show together; each votes for it.
 * PB_NOT_FOUND: some resemble two GPCs about as much.
 */
static enum pb_status join_alike(const struct profiles *profiles, const bool *unpaired,
                                 struct pb_union_find *components, double *mean,
                                 struct pb_votes *votes, struct pb_error *err)
{
    size_t joined[PB_UNPAIRED_SMS_MAX];

    for (size_t sm = 0; sm < profiles->sms; sm++) {
        double log_odds;

        if (!unpaired[sm])
            continue;
        joined[sm] = nearest(profiles, unpaired, components, sm, true, &log_odds, mean);
        if (!(log_odds >= least_log_odds))
            return pb_fail(
                err, PB_NOT_FOUND,
                "ambiguous: SM %zu shared no cluster with others, and resembles two GPCs "
                "about as much",
                sm);
        pb_votes_add(votes,
                     nearest(profiles, unpaired, components, sm, false, NULL, mean) == joined[sm]);
    }
    for (size_t sm = 0; sm < profiles->sms; sm++)
        if (unpaired[sm])
            pb_union_find_join(components, joined[sm], sm);
    return PB_OK;
}

/*
 * What each SM takes with each other one, by its median over these: how long it takes alone was
 * measured once, and would shift all of a row. medians_out[sms], work[sms].
 */
static void find_medians(const double *cycles, size_t sms, double *work, double *medians_out)
{
    for (size_t sm = 0; sm < sms; sm++) {
        memcpy(work, cycles + sm * sms, sms * sizeof(*work));
        medians_out[sm] = pb_median(work, sms);
    }
}

/* Rows of the symmetric matrix of how long constants take together. */
static enum pb_status take_slowdowns(const struct pb_matrix *pairs, struct profiles *profiles_out,
                                     struct pb_error *err)
{
    enum pb_status status = pb_pairs_check(pairs, err);
    const double *cycles;
    size_t kind, sms;
    double *medians;
    float *values;

    if (status != PB_OK)
        return status;
    kind = pb_axis_label(&pairs->axes[0], "constant");
    if (kind == pairs->axes[0].length)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no pairs of SMs that read constants");
    sms = pairs->axes[1].length;
    cycles = pairs->values + kind * sms * sms;
    medians = malloc(2 * sms * sizeof(*medians));
    values = malloc(sms * sms * sizeof(*values));
    if (medians == NULL || values == NULL) {
        free(medians);
        free(values);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating pairs of %zu SMs", sms);
    }
    find_medians(cycles, sms, medians + sms, medians);
    for (size_t i = 0; i < sms; i++)
        for (size_t j = 0; j < sms; j++)
            values[i * sms + j] =
                (float)((cycles[i * sms + j] / medians[i] + cycles[j * sms + i] / medians[j]) /
                        2.0);
    free(medians);
    *profiles_out = (struct profiles){values, sms, sms, true};
    return PB_OK;
}

static enum pb_status take_ways(const struct pb_matrix *matrix, struct profiles *profiles_out,
                                struct pb_error *err)
{
    struct pb_sm_map map;
    enum pb_status status = pb_sm_map_open(matrix, NAN, &map, err);
    double *work;
    float *values;

    if (status != PB_OK)
        return status;
    work = malloc((map.sms + map.lines) * sizeof(*work));
    values = malloc(map.sms * map.lines * sizeof(*values));
    if (work == NULL || values == NULL) {
        pb_sm_map_clear(&map);
        free(values);
        free(work);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating profiles of %zu SMs", map.sms);
    }
    pb_sm_map_profiles(&map, false, work, values);
    pb_sm_map_clear(&map);
    free(work);
    *profiles_out = (struct profiles){values, map.sms, map.lines, false};
    return PB_OK;
}

/* What SMs are compared by, the better one first. */
static const struct {
    const char *what;
    enum pb_status (*take)(const struct pb_matrix *matrix, struct profiles *profiles_out,
                           struct pb_error *err);
} comparisons[] = {{"which other SMs slow down their constant loads", take_slowdowns},
                   {"their latencies to L2", take_ways}};

/* *is_trusted_out: can the comparison be? Else PB_NOT_FOUND. */
static enum pb_status compare_all(const struct profiles *profiles, const bool *unpaired,
                                  struct pb_union_find *components, struct pb_votes *votes,
                                  bool *is_trusted_out, struct pb_error *err)
{
    double *mean = malloc(profiles->length * sizeof(*mean));
    enum pb_status status = PB_NOT_FOUND;

    if (mean == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating profiles of SMs");
    *is_trusted_out = is_trusted(profiles, unpaired, components, mean, votes);
    if (*is_trusted_out)
        status = join_alike(profiles, unpaired, components, mean, votes, err);
    free(mean);
    return status;
}

enum pb_status pb_unpaired_join(const struct pb_matrix *pairs, const struct pb_matrix *map,
                                const bool *unpaired, struct pb_union_find *components,
                                struct pb_votes *votes, const char **basis_out,
                                struct pb_error *err)
{
    const struct pb_matrix *matrices[] = {pairs, map};

    for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); i++) {
        struct profiles profiles = {0};
        enum pb_status status = PB_NOT_FOUND;
        bool can_be_trusted = false;

        if (matrices[i]->rank > 0)
            status = comparisons[i].take(matrices[i], &profiles, err);
        if (status == PB_OK && profiles.sms == components->members)
            status = compare_all(&profiles, unpaired, components, votes, &can_be_trusted, err);
        free(profiles.values);
        *basis_out = comparisons[i].what;
        if (can_be_trusted || status == PB_NO_MEMORY)
            return status;
    }
    return pb_fail(err, PB_NOT_FOUND,
                   "too few observations: some SMs shared no cluster with others, and no latency "
                   "map assigns them");
}
