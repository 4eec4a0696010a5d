/* Replaying policies on the lines of one set; linear in accesses times ways. */
#include "analysis/cache/replacement.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One access in two hundred may look like what it is not. */
static const double stray_rate = 0.005;

/* More strays than these, and this part of a trace: the policy does not foretell it. */
static const double against_share = 0.02;
enum { STRAYS_MAX = 1 };

enum { EMPTY = UINT32_MAX };

const char *pb_policy_name(enum pb_policy policy)
{
    static const char *const names[PB_POLICY_COUNT] = {"lru", "fifo", "plru", "random", "weighted"};

    return names[policy];
}

/* A set under one policy. */
struct set {
    uint32_t ways;
    uint32_t line[PB_WAYS_MAX];     /* by way */
    uint64_t stamp[PB_WAYS_MAX];    /* lru: of the last use; fifo: of the filling */
    bool to_right[2 * PB_WAYS_MAX]; /* plru: of inner node n, with children 2n and 2n + 1 */
    uint64_t now;
};

static void empty_set(struct set *set, uint32_t ways)
{
    memset(set, 0, sizeof(*set));
    set->ways = ways;
    for (uint32_t way = 0; way < ways; way++)
        set->line[way] = EMPTY;
}

static uint32_t way_of(const struct set *set, uint32_t line)
{
    uint32_t way = 0;

    while (way < set->ways && set->line[way] != line)
        way++;
    return way;
}

static uint32_t leaves_of(uint32_t ways)
{
    uint32_t leaves = 1;

    while (leaves < ways)
        leaves *= 2;
    return leaves;
}

/* Every node above a way points to its other side. */
static void point_away(struct set *set, uint32_t way)
{
    for (uint32_t node = leaves_of(set->ways) + way; node > 1; node /= 2)
        set->to_right[node / 2] = node % 2 == 0;
}

static uint32_t follow_tree(const struct set *set)
{
    uint32_t leaves = leaves_of(set->ways), node = 1, first = 0;

    for (uint32_t half = leaves / 2; half > 0; half /= 2) {
        bool right = set->to_right[node] && first + half < set->ways;

        node = 2 * node + right;
        first += right ? half : 0;
    }
    return first;
}

static uint32_t oldest_way(const struct set *set)
{
    uint32_t oldest = 0;

    for (uint32_t way = 1; way < set->ways; way++)
        if (set->stamp[way] < set->stamp[oldest])
            oldest = way;
    return oldest;
}

/* One access; true when it hits. */
static bool access_set(struct set *set, enum pb_policy policy, uint32_t line)
{
    uint32_t way = way_of(set, line);
    bool hit = way < set->ways;

    if (!hit)
        way = way_of(set, EMPTY);
    if (way == set->ways)
        way = policy == PB_POLICY_PLRU ? follow_tree(set) : oldest_way(set);
    set->line[way] = line;
    set->now++;
    if (!hit || policy == PB_POLICY_LRU)
        set->stamp[way] = set->now;
    point_away(set, way);
    return hit;
}

/* Log likelihood under a policy that foretells every access. */
static double replay(const struct pb_set_trace *trace, enum pb_policy policy, struct set *set,
                     size_t *strays)
{
    double sum = 0.0;

    for (size_t i = 0; i < trace->count; i++) {
        bool hit = access_set(set, policy, trace->line[i]), stray;

        if (trace->sight[i] == PB_SIGHT_NEITHER)
            continue;
        stray = hit != (trace->sight[i] == PB_SIGHT_HIT);
        *strays += stray;
        sum += stray ? log(stray_rate) : log1p(-stray_rate);
    }
    return sum;
}

/* Victims of a trace whose set holds all lines but one. */
struct tracker {
    struct set set;
    uint32_t loaded; /* the last line that missed; its victim shows later. EMPTY: still filling */
    size_t quiet;    /* hits since then */
    double log_likelihood;
    size_t *victims; /* [ways] */
};

/* A miss of a full set: this line was the last one's victim. False: that cannot be. */
static bool take_miss(struct tracker *tracker, uint32_t line)
{
    struct set *set = &tracker->set;
    uint32_t way = way_of(set, line), empty = way_of(set, EMPTY);

    tracker->quiet = 0;
    if (empty < set->ways) {
        set->line[empty] = line;
        return way == set->ways;
    }
    if (tracker->loaded == EMPTY) {
        tracker->loaded = line;
        return way == set->ways;
    }
    if (way == set->ways) /* the line just loaded, or none of the set */
        return false;
    tracker->victims[way]++;
    set->line[way] = tracker->loaded;
    tracker->loaded = line;
    return true;
}

/* A hit; false where the set cannot have the line, or nothing is absent any more. */
static bool take_hit(struct tracker *tracker, uint32_t line, uint32_t line_count)
{
    if (tracker->loaded == EMPTY)
        return way_of(&tracker->set, line) < tracker->set.ways;
    tracker->quiet++;
    return tracker->quiet < (size_t)64 * line_count;
}

/*
 * Log likelihood of all but the victims' ways. An access that looks like nothing ends the trace:
 * it may have been a miss.
 */
static double track(const struct pb_set_trace *trace, struct tracker *tracker)
{
    double sum = 0.0;

    tracker->loaded = EMPTY;
    tracker->quiet = 0;
    for (size_t i = 0; i < trace->count; i++) {
        bool fits;

        if (trace->sight[i] == PB_SIGHT_NEITHER)
            return sum;
        fits = trace->sight[i] == PB_SIGHT_MISS
                   ? take_miss(tracker, trace->line[i])
                   : take_hit(tracker, trace->line[i], trace->line_count);
        if (!fits) /* from here on nothing is explained */
            return sum + (double)(trace->count - i) * log(stray_rate) / 2.0;
        sum += log1p(-stray_rate);
    }
    return sum;
}

/* Log of the chance of these victims, all ways alike; or over all weights, alike before. */
static double log_draws(const size_t *victims, uint32_t ways, bool weighted)
{
    double sum = 0.0, draws = 0.0;

    for (uint32_t way = 0; way < ways; way++) {
        draws += (double)victims[way];
        if (weighted)
            sum += gsl_sf_lngamma((double)victims[way] + 1.0);
    }
    if (!weighted)
        return -draws * log(ways);
    return sum + gsl_sf_lngamma(ways) - gsl_sf_lngamma(draws + ways);
}

/* Likelihoods of one trace; a drawn victim counts as even odds here, weights need all traces. */
static void fit_trace(const struct pb_set_trace *trace, uint32_t ways, struct tracker *tracker,
                      struct pb_replacement *fit)
{
    double own[PB_POLICY_COUNT], best = -INFINITY;
    size_t victims[PB_WAYS_MAX] = {0};

    for (int policy = PB_POLICY_LRU; policy <= PB_POLICY_PLRU; policy++) {
        size_t strays = 0;

        empty_set(&tracker->set, ways);
        own[policy] = replay(trace, (enum pb_policy)policy, &tracker->set, &strays);
        fit->strays[policy] += strays;
        fit->against[policy] += (double)strays > STRAYS_MAX + against_share * (double)trace->count;
    }
    empty_set(&tracker->set, ways);
    tracker->victims = victims;
    own[PB_POLICY_RANDOM] = own[PB_POLICY_WEIGHTED] =
        trace->line_count == ways + 1 ? track(trace, tracker) : -INFINITY;
    for (int policy = 0; policy < PB_POLICY_COUNT; policy++)
        fit->log_likelihood[policy] += own[policy];
    own[PB_POLICY_RANDOM] += log_draws(victims, ways, false);
    own[PB_POLICY_WEIGHTED] += log_draws(victims, ways, false);
    for (uint32_t way = 0; way < ways; way++) {
        fit->victims[way] += victims[way];
        fit->draws += victims[way];
    }
    for (int policy = 0; policy < PB_POLICY_COUNT; policy++)
        best = fmax(best, own[policy]);
    for (int policy = 0; policy < PB_POLICY_COUNT; policy++)
        fit->agreeing[policy] += own[policy] >= best - 1.0;
    fit->traces++;
    fit->accesses += trace->count;
}

enum pb_status pb_replacement_fit(const struct pb_set_trace *traces, size_t count, uint32_t ways,
                                  struct pb_replacement *fit_out, struct pb_error *err)
{
    struct tracker *tracker;

    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "no chase over the lines of one set was taken");
    if (traces[0].line_count <= ways)
        return pb_fail(err, PB_NOT_FOUND, "the %u lines that were found of a set fit in %u ways",
                       traces[0].line_count, ways);
    tracker = malloc(sizeof(*tracker));
    if (tracker == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a set of %u ways", ways);
    memset(fit_out, 0, sizeof(*fit_out));
    for (size_t i = 0; i < count; i++)
        fit_trace(&traces[i], ways, tracker, fit_out);
    fit_out->log_likelihood[PB_POLICY_RANDOM] += log_draws(fit_out->victims, ways, false);
    fit_out->log_likelihood[PB_POLICY_WEIGHTED] += log_draws(fit_out->victims, ways, true);
    free(tracker);
    return PB_OK;
}
