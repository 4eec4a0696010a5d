/*
 * same_cache_as: which paths go through one cache. shares_capacity_with: which take each other's
 * room.
 *
 * An array loaded by one path hits by another exactly when both use the same cache. What a hit and
 * a miss look like by a path, its own warm and cold chases tell. Where lines loaded by another path
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
#include "analysis/constants.h"
#include "analysis/statistics/classes.h"
#include "analysis/trace.h"

static const struct {
    const char *memory, *path;
} ways[] = {{"l1", "global_ca"}, {"readonly", "readonly"}, {"texture", "texture"}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* What hits by one path, and its loads that tell a warm cache from a cold one. */
struct view {
    const struct pb_series *series;
    const char *path;
    struct pb_classes classes;
    double cold, warm; /* shares of loads that hit; after none where lines are prefetched */
    size_t loads;      /* of the warm pass that miss in the cold one */
};

/* Share of the path's loads of a phase that hit; NaN: there are none. */
static double share_of_hits(const struct view *view, const char *phase, size_t *accesses_out)
{
    struct pb_pick pick = {view->path, "traced", phase};
    size_t hits = 0, accesses = 0;
    const struct pb_point *point;

    for (size_t at = 0; (point = pb_point_next(view->series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(view->series, point);
        struct pb_tally tally = pb_classes_count(&view->classes, &chase);

        hits += tally.hits;
        accesses += chase.count;
    }
    *accesses_out = accesses;
    return accesses == 0 ? NAN : (double)hits / (double)accesses;
}

static enum pb_status open_view(struct view *view, struct pb_error *err)
{
    enum pb_status status =
        pb_classes_read(view->series, view->path, view->path, "none", &view->classes, NULL, err);
    size_t cold, warm;

    if (status != PB_OK)
        return status;
    view->cold = share_of_hits(view, "none", &cold);
    view->warm = share_of_hits(view, view->path, &warm);
    if (!(view->cold < view->warm))
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: by %s %.0f%% hit in a cold cache, and %.0f%% in a warm one",
                       view->path, 100.0 * view->cold, 100.0 * view->warm);
    view->loads = (size_t)ceil((view->warm - view->cold) * (double)warm);
    return PB_OK;
}

/*
 * Share of lines that are there: 0 where as many loads hit as in a cold cache, since what runs
 * ahead of loads makes some hit there too, and 1 where as many do as in a warm one. NaN: no pass.
 */
static double share_there(const struct view *view, const char *phase, const char *other)
{
    char name[PB_NAME_LENGTH];
    size_t accesses;

    snprintf(name, sizeof(name), "%s%s", phase, other);
    return (share_of_hits(view, name, &accesses) - view->cold) / (view->warm - view->cold);
}

/* What the other paths show by a phase: those that go with this one, and the shares of all. */
struct others {
    char list[PB_TEXT_LENGTH], shares[PB_TEXT_LENGTH];
    struct pb_votes votes;
};

/*
 * Of paths that go with this one lines are there (is_one_there), or they are gone. PB_NOT_FOUND: of
 * one path the share is between; err says which.
 */
static enum pb_status compare_others(const struct view *view, const char *phase, const char *what,
                                     bool is_one_there, struct others *others, struct pb_error *err)
{
    for (size_t i = 0; i < WAYS; i++) {
        double share = share_there(view, phase, ways[i].path), vote;
        size_t used = strlen(others->list), told = strlen(others->shares);

        if (isnan(share) || strcmp(ways[i].path, view->path) == 0)
            continue;
        if (share > 1.0 - PB_MOST && share < PB_MOST)
            return pb_fail(err, PB_NOT_FOUND,
                           "ambiguous: %.0f%% of the lines %s %s, between what one cache and what "
                           "two caches show",
                           100.0 * share, what, ways[i].path);
        share = fmin(1.0, fmax(0.0, share));
        vote = fmax(share, 1.0 - share) * (double)view->loads;
        pb_votes_add_share(&others->votes, (size_t)vote, view->loads, PB_PIECES_MAX);
        snprintf(others->shares + told, sizeof(others->shares) - told, "%s%.0f%% after %s",
                 told > 0 ? ", " : "", 100.0 * share, ways[i].path);
        if ((share >= PB_MOST) == is_one_there)
            snprintf(others->list + used, sizeof(others->list) - used, "%s%s", used > 0 ? " " : "",
                     ways[i].memory);
    }
    if (others->shares[0] == '\0')
        return pb_fail(err, PB_NOT_FOUND, "not applicable: no other path is cached before L2");
    return PB_OK;
}

static const char *list_of(const struct others *others)
{
    return others->list[0] != '\0' ? others->list : "none";
}

/* shares_capacity_with, where lines of the path itself are seen to evict each other. */
static enum pb_status infer_room(const struct pb_case *at, const struct view *view,
                                 struct pb_error *err)
{
    double own = share_there(view, "evict_", view->path);
    struct others others = {.votes = {0, 0}};
    enum pb_status status;

    if (isnan(own))
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no pass that evicts lines");
    if (own > 1.0 - PB_MOST)
        return pb_fail(err, PB_NOT_FOUND,
                       "inconsistent: more lines loaded by %s itself do not evict its own lines",
                       view->path);
    status = compare_others(view, "evict_", "survive lines loaded by", false, &others, err);
    if (status == PB_OK)
        pb_parameter_set_word(pb_case_answer(at, "shares_capacity_with"), list_of(&others),
                              pb_votes_confidence(&others.votes),
                              "share of lines that still hit after several times as many were "
                              "loaded by another path: %s; by %s itself %.0f%%",
                              others.shares, view->path, 100.0 * fmax(own, 0.0));
    return status;
}

enum pb_status pb_infer_sharing(const struct pb_case *at, struct pb_error *err)
{
    struct view view = {.series = &at->recordings[0].series};
    struct others others = {.votes = {0, 0}};
    enum pb_status status;

    for (size_t i = 0; i < WAYS; i++)
        if (strcmp(at->inference->memory, ways[i].memory) == 0)
            view.path = ways[i].path;
    if (view.path == NULL)
        return pb_fail(err, PB_INVALID, "not applicable: this device has no path to %s",
                       at->inference->memory);
    status = open_view(&view, err);
    if (status != PB_OK)
        return status;
    status = infer_room(at, &view, err);
    if (status != PB_OK)
        pb_parameter_set_none(pb_case_answer(at, "shares_capacity_with"), "%s", err->message);
    status = compare_others(&view, "", "are there after", true, &others, err);
    if (status == PB_OK)
        pb_parameter_set_word(pb_case_answer(at, "same_cache_as"), list_of(&others),
                              pb_votes_confidence(&others.votes),
                              "array of half the cache loaded by another path, lines that are "
                              "there: %s",
                              others.shares);
    return status;
}
