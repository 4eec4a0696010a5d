/*
 * same_cache_as: which paths go through one cache. shares_capacity_with: which take each other's
 * room.
 *
 * An array loaded by one path hits by another exactly when both use the same cache. What a hit and
 * a miss look like by a path, its own warm and cold walks tell. Where lines loaded by another path
 * evict those of this one, both lie in one store, even if neither hits the other's lines: an H200
 * keeps textures and other data in one store, but tells them apart by their tags.
 *
 * Source: M16 section 4.3; facts on unified L1 caches.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/statistics/classes.h"
#include "analysis/trace.h"

/* Of the hits of a shared cache; half as many is an open question. */
static const double most_share = 0.8, least_share = 0.2;

enum { PIECES_MAX = 30 };

static const struct {
    const char *memory, *path;
} ways[] = {{"l1", "global_ca"}, {"readonly", "readonly"}, {"texture", "texture"}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static enum pb_status read_classes(const struct pb_series *series, const char *path,
                                   struct pb_classes *classes_out, struct pb_error *err)
{
    struct pb_pick warm = {path, "traced", path}, cold = {path, "traced", "none"};
    struct pb_sample hits = {NULL, 0, 0}, misses = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(series, &warm, &hits, err);

    if (status == PB_OK)
        status = pb_trace_collect(series, &cold, &misses, err);
    if (status == PB_OK)
        status = pb_classes_find(&hits, &misses, classes_out, err);
    pb_sample_clear(&misses);
    pb_sample_clear(&hits);
    return status;
}

/* Share of hits by `path` after `warm`; NaN: no walk. */
static double share_of_hits(const struct pb_series *series, const struct pb_classes *classes,
                            const char *path, const char *warm)
{
    struct pb_pick pick = {path, "traced", warm};
    struct pb_tally sum = {0, 0, 0};
    const struct pb_point *point;

    for (size_t at = 0; (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses walk = pb_point_accesses(series, point);
        struct pb_tally tally = pb_classes_count(classes, &walk);

        sum.hits += tally.hits;
        sum.misses += tally.misses;
    }
    return sum.hits + sum.misses == 0 ? NAN : (double)sum.hits / (double)(sum.hits + sum.misses);
}

/* Share of an array's lines that still hit by `path` after more were loaded by `other`; NaN. */
static double share_left(const struct pb_series *series, const struct pb_classes *classes,
                         const char *path, const char *other)
{
    char phase[PB_NAME_LENGTH];
    struct pb_pick pick = {path, "traced", phase};
    size_t hits = 0, accesses = 0;
    const struct pb_point *point;

    snprintf(phase, sizeof(phase), "evict_%s", other);
    for (size_t at = 0; (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses walk = pb_point_accesses(series, point);
        struct pb_tally tally = pb_classes_count(classes, &walk);

        hits += tally.hits;
        accesses += walk.count;
    }
    return accesses == 0 ? NAN : (double)hits / (double)accesses;
}

/* shares_capacity_with, where lines of the path itself are seen to evict each other. */
static void state_room(const struct pb_case *at, const struct pb_series *series,
                       const struct pb_classes *classes, const char *path)
{
    struct pb_parameter *answer = pb_case_answer(at, "shares_capacity_with");
    double own = share_left(series, classes, path, path);
    char list[PB_TEXT_LENGTH] = "", shares[PB_TEXT_LENGTH] = "";
    struct pb_votes votes = {0, 0};

    if (isnan(own)) {
        pb_parameter_set_none(answer, "not recorded: no pass that evicts lines");
        return;
    }
    if (own > least_share) {
        pb_parameter_set_none(
            answer, "inconsistent: more lines loaded by %s itself do not evict its own lines",
            path);
        return;
    }
    for (size_t i = 0; i < WAYS; i++) {
        double left = share_left(series, classes, path, ways[i].path);
        size_t used = strlen(list), told = strlen(shares);

        if (isnan(left) || strcmp(ways[i].path, path) == 0)
            continue;
        if (left > least_share && left < most_share) {
            pb_parameter_set_none(answer,
                                  "ambiguous: %.0f%% of the lines survive lines loaded by %s, too "
                                  "many for shared capacity and too few for separate ones",
                                  100.0 * left, ways[i].path);
            return;
        }
        pb_votes_add_share(&votes, (size_t)(fmax(left, 1.0 - left) * PIECES_MAX), PIECES_MAX,
                           PIECES_MAX);
        snprintf(shares + told, sizeof(shares) - told, "%s%.0f%% after %s", told > 0 ? ", " : "",
                 100.0 * left, ways[i].path);
        if (left <= least_share)
            snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? " " : "", ways[i].memory);
    }
    if (shares[0] == '\0')
        pb_parameter_set_none(answer, "not applicable: no other path is cached before L2");
    else
        pb_parameter_set_word(answer, list[0] != '\0' ? list : "none", pb_votes_confidence(&votes),
                              "share of lines that still hit after several times as many were "
                              "loaded by another path: %s; by %s itself %.0f%%",
                              shares, path, 100.0 * own);
}

enum pb_status pb_infer_sharing(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_parameter *answer = pb_case_answer(at, "same_cache_as");
    char list[PB_TEXT_LENGTH] = "", shares[PB_TEXT_LENGTH] = "";
    const char *path = NULL;
    struct pb_classes classes;
    struct pb_votes votes = {0, 0};
    enum pb_status status;

    for (size_t i = 0; i < WAYS; i++)
        if (strcmp(at->inference->memory, ways[i].memory) == 0)
            path = ways[i].path;
    if (path == NULL)
        return pb_fail(err, PB_INVALID, "not applicable: this device has no path to %s",
                       at->inference->memory);
    status = read_classes(series, path, &classes, err);
    if (status != PB_OK)
        return status;
    state_room(at, series, &classes, path);
    for (size_t i = 0; i < WAYS; i++) {
        double share = share_of_hits(series, &classes, path, ways[i].path);
        size_t used = strlen(list), told = strlen(shares);

        if (isnan(share) || strcmp(ways[i].path, path) == 0)
            continue;
        if (share > least_share && share < most_share)
            return pb_fail(err, PB_NOT_FOUND,
                           "ambiguous: %.0f%% hits by %s after %s, between what one cache and what "
                           "two caches show",
                           100.0 * share, path, ways[i].path);
        pb_votes_add_share(&votes, (size_t)(fmax(share, 1.0 - share) * PIECES_MAX), PIECES_MAX,
                           PIECES_MAX);
        snprintf(shares + told, sizeof(shares) - told, "%s%.0f%% hits after %s",
                 told > 0 ? ", " : "", 100.0 * share, ways[i].path);
        if (share >= most_share)
            snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? " " : "", ways[i].memory);
    }
    if (shares[0] == '\0')
        return pb_fail(err, PB_NOT_FOUND, "not applicable: no other path is cached before L2");
    pb_parameter_set_word(answer, list[0] != '\0' ? list : "none", pb_votes_confidence(&votes),
                          "array of half the cache loaded by another path: %s", shares);
    return PB_OK;
}
