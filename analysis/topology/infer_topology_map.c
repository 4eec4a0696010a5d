/*
 * sm.group_sm_counts, l2.line_group_count and l2.slice_count: what the map of SM × line shows.
 *
 * What atomics from one SM take, line by line, less what is common to all SMs and to all lines, is
 * the SM's profile; turned around, the line's. Profiles that are alike make groups. SMs of a group
 * have the same way to every part of L2, lines of a group lie in the same part.
 *
 * group_sm_counts lists how many SMs the finest clear groups hold, the group of the first one
 * first; line_group_count is how many such groups lines make up. A group of lines is a slice where
 * groups do not fall apart any further, not even a little; else slice_count is open.
 *
 * Limit: SMs at mirrored places look alike, and so do slices; a group need not be one GPC.
 *
 * Source: facts on Ampere's and Hopper's L2 (2.10).
 */
#include "analysis/infer.h"

#include <stdlib.h>

#include "analysis/confidence.h"
#include "analysis/statistics/grouping.h"
#include "analysis/topology/sm_map.h"

enum { PIECES_MAX = 30 };

/* The least gap that parts groups, and the least one that makes them doubtful as the last. */
static const double least_gap = 2.0, doubtful_gap = 1.1;

/* Groups of SMs, or of lines. *groups_out[number of them] is to be freed. */
static enum pb_status group_map(const struct pb_sm_map *map, bool of_lines, size_t **groups_out,
                                struct pb_grouping *grouping_out, struct pb_error *err)
{
    size_t count = of_lines ? map->lines : map->sms, length = of_lines ? map->sms : map->lines;
    float *profiles = malloc((count * length + 1) * sizeof(*profiles));
    double *work = malloc((count + length) * sizeof(*work));
    size_t *groups = malloc((count + 1) * sizeof(*groups));
    enum pb_status status = PB_OK;

    if (profiles == NULL || work == NULL || groups == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu profiles of %zu", count,
                         length);
    if (status == PB_OK) {
        pb_sm_map_profiles(map, of_lines, work, profiles);
        status = pb_grouping_find(profiles, count, length, least_gap, groups, grouping_out, err);
    }
    if (status == PB_OK && grouping_out->count < 2)
        status = pb_fail(err, PB_NOT_FOUND, "the profiles of %zu %s do not fall into groups", count,
                         of_lines ? "lines" : "SMs");
    if (status == PB_OK && !of_lines && grouping_out->count > PB_LIST_MAX)
        status = pb_fail(err, PB_NOT_FOUND, "%zu groups are too many to list", grouping_out->count);
    free(work);
    free(profiles);
    if (status != PB_OK) {
        free(groups);
        return status;
    }
    *groups_out = groups;
    return PB_OK;
}

/* Members vote for their groups, strays against them. */
static double confidence_of(const struct pb_grouping *grouping, size_t count)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, count - grouping->strays, count, PIECES_MAX);
    return pb_votes_confidence(&votes);
}

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
    pb_parameter_set_list(answer, sizes, grouping->count, confidence_of(grouping, count),
                          "profiles of %zu SMs by atomics, single linkage: gaps of %.1f cycles "
                          "between groups, of %.1f inside; %zu outliers",
                          count, grouping->between, grouping->within, grouping->strays);
}

enum pb_status pb_infer_sm_groups(const struct pb_case *at, struct pb_error *err)
{
    struct pb_grouping grouping;
    struct pb_sm_map map;
    size_t *groups = NULL;
    enum pb_status status = pb_sm_map_open(&at->recordings[0].matrix, &map, err);

    if (status == PB_OK)
        status = group_map(&map, false, &groups, &grouping, err);
    if (status == PB_OK)
        state_sizes(pb_case_answer(at, "group_sm_counts"), groups, map.sms, &grouping);
    free(groups);
    return status;
}

static void state_lines(const struct pb_case *at, const struct pb_sm_map *map,
                        const struct pb_grouping *grouping)
{
    double count = (double)grouping->count;

    pb_parameter_set_number(pb_case_answer(at, "line_group_count"),
                            (struct pb_estimate){count, count, count},
                            confidence_of(grouping, map->lines),
                            "profiles of %zu lines by atomics, single linkage: gaps of %.1f cycles "
                            "between groups, of %.1f inside; %zu outliers",
                            map->lines, grouping->between, grouping->within, grouping->strays);
}

static void state_slices(const struct pb_case *at, const struct pb_sm_map *map,
                         const struct pb_grouping *grouping)
{
    struct pb_parameter *answer = pb_case_answer(at, "slice_count");
    double count = (double)grouping->count;

    if (grouping->gap_inside > doubtful_gap)
        pb_parameter_set_none(answer,
                              "lines form %zu groups, whose own parts are not clearly separated "
                              "(gaps %.2f times as wide as inside)",
                              grouping->count, grouping->gap_inside);
    else
        pb_parameter_set_number(answer, (struct pb_estimate){count, count, count},
                                confidence_of(grouping, map->lines),
                                "groups of %zu lines that SMs distinguish: gaps of %.1f cycles "
                                "between them, of %.1f inside",
                                map->lines, grouping->between, grouping->within);
}

enum pb_status pb_infer_slices(const struct pb_case *at, struct pb_error *err)
{
    struct pb_grouping grouping;
    struct pb_sm_map map;
    size_t *groups = NULL;
    enum pb_status status = pb_sm_map_open(&at->recordings[0].matrix, &map, err);

    if (status == PB_OK)
        status = group_map(&map, true, &groups, &grouping, err);
    if (status == PB_OK) {
        state_lines(at, &map, &grouping);
        state_slices(at, &map, &grouping);
    }
    free(groups);
    return status;
}
