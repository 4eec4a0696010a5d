/*
 * same_cache_as: which paths go through one cache. shares_capacity_with: which take each other's
 * room.
 *
 * Of an array loaded by one path, the same lines are in one cache whichever path looks: two paths
 * with one first cache agree on what is there after either's loads. Each path is compared with
 * itself only: what hits its first cache takes what its reference does, a few lines that surely
 * fit. Lines that hit by the one path and not by the other, or not even by the path that loaded
 * them, are in different caches, whatever is common behind these. Where lines loaded by another
 * path evict those of this one, and the other way, both lie in one store, even if neither hits the
 * other's lines: an H200 keeps textures and other data in one store, but tells them apart by their
 * tags.
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

/*
 * What is in the first cache of one path, as shares of the most lines of the array that were there
 * after any path's loads; NaN: not recorded, or nothing shows it.
 */
struct view {
    double there[WAYS]; /* after being loaded by each path */
    double left[WAYS];  /* after more lines were loaded by each path */
    size_t loads;       /* whose hits tell that the array is there; 0: none of it ever is */
    const char *why;    /* nothing is left to see, or NULL */
};

static bool is_most(double share)
{
    return share >= PB_MOST;
}

static bool is_little(double share)
{
    return share <= 1.0 - PB_MOST;
}

/* Share of the path's loads of a phase that hit; NaN: there are none. */
static double share_of_hits(const struct pb_series *series, const struct pb_classes *classes,
                            const char *path, const char *phase, const char *other,
                            size_t *accesses_out)
{
    char name[PB_NAME_LENGTH];
    struct pb_pick pick = {path, "traced", name};
    size_t hits = 0, accesses = 0;
    const struct pb_point *point;

    snprintf(name, sizeof(name), "%s%s", phase, other);
    for (size_t at = 0; (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(series, point);
        struct pb_tally tally = pb_classes_count(classes, &chase);

        hits += tally.hits;
        accesses += chase.count;
    }
    *accesses_out = accesses;
    return accesses == 0 ? NAN : (double)hits / (double)accesses;
}

/*
 * Shares of lines: 0 where as many loads hit as in a cold cache, since what runs ahead of loads
 * makes some hit there too, and 1 where as many do as after the path's most successful warm-up.
 */
static enum pb_status open_view(const struct pb_series *series, size_t way, struct view *view,
                                struct pb_error *err)
{
    const char *path = ways[way].path;
    struct pb_classes classes;
    enum pb_status status = pb_classes_read(series, path, "reference", "none", &classes, NULL, err);
    double cold, warm = 0.0;
    size_t accesses, count = 0;

    *view = (struct view){.loads = 0};
    for (size_t i = 0; i < WAYS; i++)
        view->there[i] = view->left[i] = NAN;
    if (status != PB_OK)
        return status;
    cold = share_of_hits(series, &classes, path, "none", "", &accesses);
    for (size_t i = 0; i < WAYS; i++) {
        double share = share_of_hits(series, &classes, path, "", ways[i].path, &accesses);

        if (share > warm) {
            warm = share;
            count = accesses;
        }
    }
    view->loads = warm > cold ? (size_t)ceil((warm - cold) * (double)count) : 0;
    if (view->loads < PB_FEW && cold > 1.0 - PB_MOST)
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: by %s %.0f%% hit in a cold cache, and %.0f%% in a warm one",
                       path, 100.0 * cold, 100.0 * warm);
    if (view->loads < PB_FEW)
        view->loads = 0;
    for (size_t i = 0; i < WAYS; i++) {
        double there = share_of_hits(series, &classes, path, "", ways[i].path, &accesses);
        double left = share_of_hits(series, &classes, path, "evict_", ways[i].path, &accesses);

        view->there[i] = view->loads == 0 ? 0.0 * there : (there - cold) / (warm - cold);
        view->left[i] = (left - cold) / (warm - cold);
    }
    view->why = view->loads == 0         ? "not observable: the array is larger than the cache"
                : isnan(view->left[way]) ? "not recorded: no pass that evicts lines"
                : !is_little(view->left[way])
                    ? "inconsistent: more lines loaded by the path do not evict its own lines"
                    : NULL;
    for (size_t i = 0; i < WAYS && view->why != NULL; i++)
        view->left[i] = NAN;
    return PB_OK;
}

/* Do two paths go together, and by which share of lines is that shown? */
struct relation {
    enum { UNKNOWN, TOGETHER, APART } kind;
    double share;
};

/* One cache: the same lines are there, for both. A path that shows nothing has what it loaded. */
static struct relation compare_lines(const struct view views[WAYS], size_t a, size_t b)
{
    const size_t loaded_by[] = {b, a};
    struct relation relation = {TOGETHER, 1.0};

    for (size_t i = 0; i < 2; i++) {
        double one = views[a].there[loaded_by[i]], other = views[b].there[loaded_by[i]], least;

        if (isnan(other) && i > 0)
            continue;
        if (isnan(other))
            other = 1.0;
        least = fmin(one, other);
        if (is_most(fmax(one, other)) && is_little(least))
            return (struct relation){APART, fmin(fmax(one, other), 1.0 - least)};
        if (!is_most(least))
            relation.kind = UNKNOWN;
        relation.share = fmin(relation.share, least);
    }
    return relation;
}

/*
 * One store: each one's lines take the other's room. Not where the path that loaded lines misses
 * them and the other one hits them: they passed through another store.
 */
static struct relation compare_room(const struct view views[WAYS], size_t a, size_t b)
{
    const size_t pair[] = {a, b};
    double most = fmax(views[a].left[b], views[b].left[a]); /* NaN only where both are */

    for (size_t i = 0; i < 2; i++) {
        double own = views[pair[i]].there[pair[i]], other = views[pair[1 - i]].there[pair[i]];

        if (is_little(own) && is_most(other))
            return (struct relation){APART, fmin(other, 1.0 - own)};
    }
    if (is_most(most))
        return (struct relation){APART, most};
    if (is_little(most) && !isnan(views[a].left[b]))
        return (struct relation){TOGETHER, 1.0 - most};
    return (struct relation){UNKNOWN, most};
}

static double share_there(const struct view *view, size_t other)
{
    return view->there[other];
}

static double share_left(const struct view *view, size_t other)
{
    return view->left[other];
}

/* What is stated of all pairs, and by which share of lines. */
struct question {
    const char *name;
    struct relation (*compare)(const struct view views[WAYS], size_t a, size_t b);
    double (*share)(const struct view *view, size_t other);
    const char *lines, *method;
};

static const struct question questions[] = {
    {"shares_capacity_with", compare_room, share_left, "survive lines loaded by",
     "share of lines that still hit after several times as many were loaded by another path"},
    {"same_cache_as", compare_lines, share_there, "are there after",
     "array of half the cache loaded by another path, lines that are there"},
};

/* What the other paths show: those that go with this one, and the shares of all. */
struct others {
    char list[PB_TEXT_LENGTH], shares[PB_TEXT_LENGTH];
    struct pb_votes votes;
};

static void add_other(const struct question *question, const struct view views[WAYS], size_t a,
                      size_t b, struct others *others)
{
    struct relation relation = question->compare(views, a, b);
    double here = question->share(&views[a], b), reverse = question->share(&views[b], a);
    size_t loads = views[a].loads > views[b].loads ? views[a].loads : views[b].loads;
    size_t used = strlen(others->list), told = strlen(others->shares);
    char share[16] = "unseen";

    pb_votes_add_share(&others->votes, (size_t)(fmin(1.0, relation.share) * (double)loads), loads,
                       PB_PIECES_MAX);
    if (!isnan(here))
        snprintf(share, sizeof(share), "%.0f%%", 100.0 * fmax(0.0, here));
    snprintf(others->shares + told, sizeof(others->shares) - told, "%s%s after %s",
             told > 0 ? ", " : "", share, ways[b].path);
    told = strlen(others->shares);
    if (!isnan(reverse))
        snprintf(others->shares + told, sizeof(others->shares) - told, " (%.0f%% the other way)",
                 100.0 * fmax(0.0, reverse));
    if (relation.kind == TOGETHER)
        snprintf(others->list + used, sizeof(others->list) - used, "%s%s", used > 0 ? " " : "",
                 ways[b].memory);
}

static enum pb_status answer(const struct pb_case *at, const struct question *question,
                             const struct view views[WAYS], size_t a, struct pb_error *err)
{
    struct others others = {.votes = {0, 0}};

    for (size_t b = 0; b < WAYS; b++) {
        double share = question->share(&views[a], b);
        bool is_known = question->compare(views, a, b).kind != UNKNOWN;

        if (b == a || isnan(views[a].there[b]))
            continue;
        if (is_known)
            add_other(question, views, a, b, &others);
        else if (views[a].loads == 0 || (isnan(share) && views[a].why != NULL))
            return pb_fail(err, PB_NOT_FOUND, "%s", views[a].why);
        else if (!isnan(share))
            return pb_fail(err, PB_NOT_FOUND,
                           "ambiguous: %.0f%% of the lines %s %s, between what one cache and what "
                           "two caches show",
                           100.0 * share, question->lines, ways[b].path);
    }
    if (others.shares[0] == '\0')
        return pb_fail(err, PB_NOT_FOUND, "not applicable: no other path is cached before L2");
    pb_parameter_set_word(
        pb_case_answer(at, question->name), others.list[0] != '\0' ? others.list : "none",
        pb_votes_confidence(&others.votes), "%s: %s", question->method, others.shares);
    return PB_OK;
}

enum pb_status pb_infer_sharing(const struct pb_case *at, struct pb_error *err)
{
    struct view views[WAYS];
    enum pb_status status = PB_OK;
    size_t a = 0;

    while (a < WAYS && strcmp(at->inference->memory, ways[a].memory) != 0)
        a++;
    if (a == WAYS)
        return pb_fail(err, PB_INVALID, "not applicable: this device has no path to %s",
                       at->inference->memory);
    for (size_t i = 1; i <= WAYS && status != PB_NO_MEMORY; i++) /* the path itself is the last */
        status = open_view(&at->recordings[0].series, (a + i) % WAYS, &views[(a + i) % WAYS], err);
    for (size_t i = 0; status == PB_OK && i < sizeof(questions) / sizeof(questions[0]); i++)
        if (answer(at, &questions[i], views, a, err) != PB_OK)
            pb_parameter_set_none(pb_case_answer(at, questions[i].name), "%s", err->message);
    return status;
}
