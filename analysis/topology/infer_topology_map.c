/*
 * sm.sm_group_sizes, l2.address_group_count and l2.slice_count: what the map of SM × line shows.
 *
 * What atomics from one SM take, line by line, less what is common to all SMs and to all lines, is
 * the SM's profile; turned around, the line's. Profiles that are alike make groups. SMs of a group
 * have the same way to every part of L2, lines of a group lie in the same part.
 *
 * sm_group_sizes lists how many SMs the finest clear groups hold, the group of the first one
 * first; address_group_count is how many such groups lines make up. A group of lines is a slice
 * where groups do not fall apart any further, not even a little; else slice_count is open.
 *
 * Limit: SMs at mirrored places look alike, and so do slices; a group need not be one GPC.
 *
 * Source: facts on Ampere's and Hopper's L2 (2.10).
 */
#include "analysis/infer.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/grouping.h"
#include "analysis/statistics/sample.h"
#include "analysis/topology/sm_map.h"

enum { PIECES_MAX = 30 };

/* The least gap that parts groups, and the least one that makes them ambiguous as the last. */
static const double least_gap = 2.0, ambiguous_gap = 1.1;

/*
 * Groups of half of the columns leave at most this share of the spread over the others. Without
 * groups it is 1 or more; slices 16 cycles apart under 8 cycles of jitter leave 0.5.
 */
static const double most_unpredicted = 0.8;

/* Even shares of the lines leave so few to any group with this chance. */
static const double uneven_chance = 1e-3;

/* How far profiles lie from the mean of the others of their group, over one column. */
static double distance_in_column(const float *profiles, size_t count, size_t length, size_t column,
                                 const size_t *groups, double *sums, size_t *members)
{
    double distance = 0.0;

    for (size_t i = 0; i <= count; i++) {
        sums[i] = 0.0;
        members[i] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t group = groups != NULL ? groups[i] : 0;

        sums[group] += profiles[i * length + column];
        members[group]++;
    }
    for (size_t i = 0; i < count; i++) {
        size_t group = groups != NULL ? groups[i] : 0;
        double value = profiles[i * length + column];

        if (group < count && members[group] > 1)
            distance += fabs(value - (sums[group] - value) / (double)(members[group] - 1));
    }
    return distance;
}

/* Takes from every profile its mean over its own columns, so that halves share nothing. */
static void center(float *profiles, size_t count, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        double sum = 0.0;

        for (size_t k = 0; k < length; k++)
            sum += profiles[i * length + k];
        for (size_t k = 0; k < length; k++)
            profiles[i * length + k] -= (float)(sum / (double)length);
    }
}

/*
 * PB_NOT_FOUND: there is nothing that distinguishes groups, as far as these profiles show. Groups
 * that half of the columns make must predict the others: the members of a group lie nearer to each
 * other there than to the rest. What spikes and jitter make of one half does not come again in the
 * other.
 */
static enum pb_status check_predicted(const float *profiles, size_t count, size_t length,
                                      size_t *groups, struct pb_error *err)
{
    size_t half = length / 2, *members = malloc((count + 1) * sizeof(*members));
    float *even = calloc(count * half + 1, sizeof(*even));
    float *odd = calloc(count * half + 1, sizeof(*odd));
    double *sums = malloc((count + 1) * sizeof(*sums)), inside = 0.0, all = 0.0;
    enum pb_status status = PB_OK;
    struct pb_grouping grouping = {.count = 1};

    if (members == NULL || even == NULL || odd == NULL || sums == NULL)
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu profiles of %zu", count, half);
    for (size_t i = 0; status == PB_OK && i < count * half; i++) {
        even[i] = profiles[i / half * length + 2 * (i % half)];
        odd[i] = profiles[i / half * length + 2 * (i % half) + 1];
    }
    if (status == PB_OK) {
        center(even, count, half);
        center(odd, count, half);
        status = pb_grouping_find(even, count, half, least_gap, groups, &grouping, err);
    }
    for (size_t k = 0; status == PB_OK && k < half; k++) {
        inside += distance_in_column(odd, count, half, k, groups, sums, members);
        all += distance_in_column(odd, count, half, k, NULL, sums, members);
    }
    free(sums);
    free(odd);
    free(even);
    free(members);
    if (status == PB_OK && (grouping.count < 2 || inside >= most_unpredicted * all))
        return pb_fail(
            err, PB_NOT_FOUND,
            "not observable: %zu profiles do not form groups that repeat: those of half of the "
            "columns predict %.0f%% of the rest",
            count, all > 0.0 && grouping.count > 1 ? fmax(0.0, 100.0 * (1.0 - inside / all)) : 0.0);
    return status;
}

/*
 * The map by pairs of SMs that follow each other, which have the same way to L2 (a TPC): the faster
 * of both. What a spike adds to one load is gone, and lines with spikes make no groups.
 */
static enum pb_status pair_sms(const struct pb_sm_map *map, struct pb_sm_map *pairs_out,
                               struct pb_error *err)
{
    struct pb_sm_map pairs = {NULL, map->sms / 2, map->lines};

    if (pairs.sms < PB_SM_MAP_SMS_MIN)
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: %zu SMs, at least %d are needed to distinguish parts of L2",
                       map->sms, 2 * PB_SM_MAP_SMS_MIN);
    pairs.cycles = malloc((pairs.sms * pairs.lines + 1) * sizeof(*pairs.cycles));
    if (pairs.cycles == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating pairs of %zu SMs", map->sms);
    for (size_t sm = 0; sm < pairs.sms; sm++)
        for (size_t line = 0; line < pairs.lines; line++)
            pairs.cycles[sm * pairs.lines + line] =
                fmin(map->cycles[2 * sm * map->lines + line],
                     map->cycles[(2 * sm + 1) * map->lines + line]);
    *pairs_out = pairs;
    return PB_OK;
}

/*
 * How alike lines of a group still differ for the two SMs of each pair, -1 to 1: 0 where all that
 * is left is noise. 0 too without memory for it.
 */
static double likeness_inside(const struct pb_sm_map *map, const size_t *groups)
{
    double *rest = malloc((map->sms * map->lines + 1) * sizeof(*rest));
    double *sums = calloc(map->lines + 1, sizeof(*sums)), both = 0.0, first = 0.0, second = 0.0;
    double *members = calloc(map->lines + 1, sizeof(*members));

    for (size_t sm = 0; rest != NULL && sums != NULL && members != NULL && sm < map->sms; sm++) {
        const double *cycles = map->cycles + sm * map->lines;

        for (size_t line = 0; line <= map->lines; line++)
            sums[line] = members[line] = 0.0;
        for (size_t line = 0; line < map->lines; line++) {
            sums[groups[line]] += cycles[line];
            members[groups[line]]++;
        }
        for (size_t line = 0; line < map->lines; line++)
            rest[sm * map->lines + line] =
                groups[line] < map->lines
                    ? cycles[line] - sums[groups[line]] / members[groups[line]]
                    : 0.0;
    }
    for (size_t line = 0; rest != NULL && line < map->lines; line++) {
        double mean = 0.0;

        for (size_t sm = 0; sm < map->sms; sm++)
            mean += rest[sm * map->lines + line] / (double)map->sms;
        for (size_t sm = 0; sm + 1 < map->sms; sm += 2) {
            double a = rest[sm * map->lines + line] - mean;
            double b = rest[(sm + 1) * map->lines + line] - mean;

            both += a * b;
            first += a * a;
            second += b * b;
        }
    }
    free(members);
    free(sums);
    free(rest);
    return first > 0.0 && second > 0.0 ? both / sqrt(first * second) : 0.0;
}

/* Groups of SMs, or of lines. *groups_out[number of them] is to be freed. */
static enum pb_status group_map(const struct pb_sm_map *map, bool of_lines, size_t **groups_out,
                                struct pb_grouping *grouping_out, struct pb_error *err)
{
    size_t count = of_lines ? map->lines : map->sms, length = of_lines ? map->sms / 2 : map->lines;
    float *profiles = calloc(count * length + 1, sizeof(*profiles));
    double *work = malloc((count + length) * sizeof(*work));
    size_t *groups = malloc((count + 1) * sizeof(*groups));
    struct pb_sm_map pairs = {NULL, 0, 0};
    enum pb_status status = PB_OK;

    if (profiles == NULL || work == NULL || groups == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu profiles of %zu", count,
                         length);
    if (status == PB_OK && of_lines)
        status = pair_sms(map, &pairs, err);
    if (status == PB_OK) {
        pb_sm_map_profiles(of_lines ? &pairs : map, of_lines, work, profiles);
        status = check_predicted(profiles, count, length, groups, err);
    }
    if (status == PB_OK)
        status = pb_grouping_find(profiles, count, length, least_gap, groups, grouping_out, err);
    if (status == PB_OK && grouping_out->count < 2)
        status = pb_fail(err, PB_NOT_FOUND,
                         "not observable: the profiles of %zu %s do not fall into groups", count,
                         of_lines ? "lines" : "SMs");
    if (status == PB_OK && !of_lines && grouping_out->count > PB_LIST_MAX)
        status = pb_fail(err, PB_NOT_FOUND, "not applicable: %zu groups are too many to list",
                         grouping_out->count);
    pb_sm_map_clear(&pairs);
    free(work);
    free(profiles);
    if (status != PB_OK) {
        free(groups);
        return status;
    }
    *groups_out = groups;
    return PB_OK;
}

/* Members vote for their groups, outliers against them. */
static double confidence_of(const struct pb_grouping *grouping, size_t count)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, count - grouping->outliers, count, PIECES_MAX);
    return pb_votes_confidence(&votes);
}

/* An SM that is like no other may belong to any group: its profile was disturbed. */
static void state_sizes(struct pb_parameter *answer, const size_t *groups, size_t count,
                        const struct pb_grouping *grouping)
{
    struct pb_estimate sizes[PB_LIST_MAX] = {{0, 0, 0}};

    for (size_t i = 0; i < count; i++) {
        if (groups[i] == count)
            continue;
        sizes[groups[i]].value++;
        sizes[groups[i]].low++;
        sizes[groups[i]].high++;
    }
    for (size_t i = 0; i < grouping->count; i++)
        sizes[i].high += (double)grouping->outliers;
    pb_parameter_set_list(answer, sizes, grouping->count, confidence_of(grouping, count),
                          "profiles of %zu SMs by atomics, single linkage: gaps of %.1f cycles "
                          "between groups, of %.1f inside; %zu outliers",
                          count, grouping->between, grouping->within, grouping->outliers);
}

enum pb_status pb_infer_sm_groups(const struct pb_case *at, struct pb_error *err)
{
    struct pb_grouping grouping;
    struct pb_sm_map map = {NULL, 0, 0};
    size_t *groups = NULL;
    enum pb_status status = pb_sm_map_of(at, &map, err);

    if (status == PB_OK)
        status = group_map(&map, false, &groups, &grouping, err);
    if (status == PB_OK)
        state_sizes(pb_case_answer(at, "sm_group_sizes"), groups, map.sms, &grouping);
    pb_sm_map_clear(&map);
    free(groups);
    return status;
}

/*
 * Of many outliers some are alike by chance: a group of fewer lines than there are outliers, and
 * too few for an even share beside the group of half of all lines, is of these. PB_NO_MEMORY.
 */
static enum pb_status set_aside_small(size_t *groups, size_t lines, struct pb_grouping *grouping,
                                      struct pb_error *err)
{
    size_t *names = calloc(grouping->count, sizeof(*names)), named = 0, count = 0, more = 0;
    double *sizes = calloc(lines, sizeof(*sizes)), usual; /* of the group of each line */

    if (names == NULL || sizes == NULL) {
        free(names);
        free(sizes);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu groups", grouping->count);
    }
    for (size_t i = 0; i < lines; i++)
        if (groups[i] < lines)
            names[groups[i]]++;
    for (size_t i = 0; i < lines; i++)
        if (groups[i] < lines)
            sizes[count++] = (double)names[groups[i]];
    gsl_sort(sizes, 1, count);
    usual = pb_quantile(sizes, count, 0.5);
    for (size_t i = 0; i < grouping->count; i++) {
        double chance = gsl_cdf_poisson_P((unsigned)names[i], usual) * (double)grouping->count;
        bool is_group = names[i] > grouping->outliers || chance >= uneven_chance;

        more += is_group ? 0 : names[i];
        names[i] = is_group ? named++ : lines;
    }
    grouping->outliers += more;
    for (size_t i = 0; i < lines; i++)
        groups[i] = groups[i] < lines ? names[groups[i]] : lines;
    grouping->count = named;
    free(names);
    free(sizes);
    return PB_OK;
}

/*
 * Groups that some lines belong to: a line that is like no other may be an outlier or the only one
 * of its group. Groups of which no line was loaded are as many as Chao (1984) estimates from those
 * of one line and of two (at so few lines a group, as many of two as of one) or as even groups
 * leave, whichever is more, and by chance three standard deviations more.
 */
static struct pb_estimate count_groups(const struct pb_grouping *grouping, size_t lines)
{
    static const double plenty = 16.0; /* lines a group, from which on none is missed */
    double seen = (double)grouping->count, singletons = (double)grouping->outliers;
    double unseen = fmax(singletons, seen * exp(-(double)lines / seen));

    if ((double)lines > plenty * (seen + singletons))
        return (struct pb_estimate){seen, seen, seen + singletons};
    return (struct pb_estimate){seen + singletons, seen,
                                seen + singletons + ceil(unseen + 3.0 * sqrt(unseen))};
}

static void state_lines(const struct pb_case *at, const struct pb_sm_map *map,
                        const struct pb_grouping *grouping)
{
    struct pb_estimate count = count_groups(grouping, map->lines);

    pb_parameter_set_number(pb_case_answer(at, "address_group_count"), count,
                            confidence_of(grouping, map->lines),
                            "profiles of %zu lines by atomics, single linkage: gaps of %.1f cycles "
                            "between groups, of %.1f inside; %zu outliers",
                            map->lines, grouping->between, grouping->within, grouping->outliers);
}

static void state_slices(const struct pb_case *at, const struct pb_sm_map *map,
                         const struct pb_grouping *grouping, double likeness)
{
    struct pb_parameter *answer = pb_case_answer(at, "slice_count");
    struct pb_estimate count = count_groups(grouping, map->lines);
    double by_chance = PB_SIGMAS / sqrt((double)(map->sms / 2) * (double)map->lines);

    if (likeness > by_chance) /* lines of one slice differ by noise, which two SMs do not share */
        pb_parameter_set_none(
            answer,
            "ambiguous: lines form %zu groups, but lines of one group still differ "
            "alike for neighbouring SMs (correlation %.2f): there are finer parts",
            grouping->count, likeness);
    else if (grouping->gap_inside > ambiguous_gap)
        pb_parameter_set_none(
            answer,
            "ambiguous: lines form %zu groups, whose own parts are not clearly separated "
            "(gaps %.2f times as wide as inside)",
            grouping->count, grouping->gap_inside);
    else if (isnan(pb_parameters_number(at->parameters, "l2", "miss_latency_cycles")))
        pb_parameter_set_none(answer, "depends on miss_latency_cycles, which is undetermined: L2 "
                                      "may have lost lines, which form groups of their own");
    else
        pb_parameter_set_number(answer, count, confidence_of(grouping, map->lines),
                                "groups of %zu lines that SMs distinguish: gaps of %.1f cycles "
                                "between them, of %.1f inside",
                                map->lines, grouping->between, grouping->within);
}

enum pb_status pb_infer_slices(const struct pb_case *at, struct pb_error *err)
{
    struct pb_grouping grouping = {.count = 0};
    struct pb_sm_map map = {NULL, 0, 0};
    size_t *groups = NULL;
    enum pb_status status = pb_sm_map_of(at, &map, err);

    if (status == PB_OK)
        status = group_map(&map, true, &groups, &grouping, err);
    if (status == PB_OK)
        status = set_aside_small(groups, map.lines, &grouping, err);
    if (status == PB_OK && grouping.count < 2)
        status =
            pb_fail(err, PB_NOT_FOUND, "not observable: all but %zu of %zu lines are in one group",
                    grouping.outliers, map.lines);
    if (status == PB_OK) {
        state_lines(at, &map, &grouping);
        state_slices(at, &map, &grouping, likeness_inside(&map, groups));
    }
    pb_sm_map_clear(&map);
    free(groups);
    return status;
}
