/* Replaying policies on the lines of one set; an access costs no search, plru's a chase up and
 * down.
 */
#include "analysis/cache/replacement.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"

enum { NONE = UINT32_MAX }; /* no way, or no line */

const char *pb_policy_name(enum pb_replacement_policy policy)
{
    static const char *const names[PB_POLICY_COUNT] = {"lru",       "fifo",   "plru",
                                                       "keep_hits", "random", "weighted"};

    return names[policy];
}

/* A set under one policy. Its ways fill in order. */
struct set {
    uint32_t ways, filled;
    uint32_t line[PB_WAYS_MAX]; /* by way, of the filled ones */
    uint32_t *way;              /* by line; NONE: not in the set */
    /* Ways in order of the last use (lru) or of the filling (fifo), as a ring through `ways`. */
    uint32_t older[PB_WAYS_MAX + 1], newer[PB_WAYS_MAX + 1];
    bool to_right[2 * PB_WAYS_MAX]; /* plru: of inner node n, with children 2n and 2n + 1 */
    /* keep_hits: the ways of the last hits, a ring of which next_hit is the oldest entry, and how
       many of these hits are of each way. */
    uint32_t last_hits[PB_WAYS_MAX / 2], next_hit, hits[PB_WAYS_MAX];
};

/* Forgets the lines; set->way is NONE for all others already. */
static void empty_set(struct set *set, uint32_t ways)
{
    for (uint32_t way = 0; way < set->filled; way++)
        set->way[set->line[way]] = NONE;
    set->ways = ways;
    set->filled = 0;
    set->older[ways] = set->newer[ways] = ways;
    memset(set->to_right, 0, sizeof(set->to_right));
    memset(set->hits, 0, sizeof(set->hits));
    for (uint32_t i = 0; i < ways / 2; i++)
        set->last_hits[i] = NONE;
    set->next_hit = 0;
}

static void put_line(struct set *set, uint32_t way, uint32_t line)
{
    if (way < set->filled)
        set->way[set->line[way]] = NONE;
    else
        set->filled++;
    set->line[way] = line;
    set->way[line] = way;
}

static void take_out(struct set *set, uint32_t way)
{
    set->newer[set->older[way]] = set->newer[way];
    set->older[set->newer[way]] = set->older[way];
}

static void make_newest(struct set *set, uint32_t way)
{
    uint32_t end = set->ways;

    set->older[way] = set->older[end];
    set->newer[way] = end;
    set->newer[set->older[end]] = way;
    set->older[end] = way;
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

/* A hit of a way is one of the set's last ones; the oldest of those is forgotten. */
static void remember_hit(struct set *set, uint32_t way)
{
    uint32_t *entry = &set->last_hits[set->next_hit], forgotten = *entry;

    *entry = way;
    set->next_hit = (set->next_hit + 1) % (set->ways / 2);
    set->hits[way]++;
    if (forgotten == NONE || --set->hits[forgotten] > 0)
        return;
    take_out(set, forgotten);
    make_newest(set, forgotten);
}

/* The way that has not been used for longest, of those that none of the last hits is of. */
static uint32_t oldest_without_hit(const struct set *set)
{
    uint32_t way = set->newer[set->ways];

    while (set->hits[way] > 0)
        way = set->newer[way];
    return way;
}

/* The way that a missing line takes. */
static uint32_t victim_of(const struct set *set, enum pb_replacement_policy policy)
{
    if (set->filled < set->ways)
        return set->filled;
    if (policy == PB_POLICY_PLRU)
        return follow_tree(set);
    return policy == PB_POLICY_KEEP_HITS ? oldest_without_hit(set) : set->newer[set->ways];
}

/* One access; true when it hits. */
static bool access_set(struct set *set, enum pb_replacement_policy policy, uint32_t line)
{
    uint32_t way = set->way[line];
    bool hit = way != NONE;

    if (!hit)
        way = victim_of(set, policy);
    if (policy == PB_POLICY_PLRU)
        point_away(set, way);
    else if (!hit || policy != PB_POLICY_FIFO) {
        if (way < set->filled)
            take_out(set, way);
        make_newest(set, way);
    }
    if (hit && policy == PB_POLICY_KEEP_HITS && set->ways > 1)
        remember_hit(set, way);
    if (!hit)
        put_line(set, way, line);
    return hit;
}

/* Log likelihood under a policy that predicts every access; *behind_out: of those from `end` on. */
static double replay(const struct pb_set_trace *trace, enum pb_replacement_policy policy,
                     struct set *set, size_t end, double *behind_out, size_t *mispredicted)
{
    const double log_wrong = log(PB_SPIKES_MOST), log_other = log1p(-PB_SPIKES_MOST);
    double sum = 0.0;

    *behind_out = 0.0;
    for (size_t i = 0; i < trace->count; i++) {
        bool hit = access_set(set, policy, trace->line[i]), is_wrong;

        if (trace->observed[i] == PB_OBSERVED_NEITHER)
            continue;
        is_wrong = hit != (trace->observed[i] == PB_OBSERVED_HIT);
        *mispredicted += is_wrong;
        sum += is_wrong ? log_wrong : log_other;
        *behind_out += i < end ? 0.0 : is_wrong ? log_wrong : log_other;
    }
    return sum;
}

/* Victims of a trace whose set holds all lines but one. */
struct tracker {
    struct set set;
    uint32_t loaded; /* the last line that missed; its victim shows later. NONE: still filling */
    double log_likelihood;
    size_t *victims; /* [ways] */
};

/* A miss of a full set: this line was the last one's victim. False: that cannot be. */
static bool take_miss(struct tracker *tracker, uint32_t line)
{
    struct set *set = &tracker->set;
    uint32_t way = set->way[line];

    if (set->filled < set->ways) {
        if (way == NONE)
            put_line(set, set->filled, line);
        return way == NONE;
    }
    if (tracker->loaded == NONE) {
        tracker->loaded = line;
        return way == NONE;
    }
    if (way == NONE) /* the line just loaded, or none of the set */
        return false;
    tracker->victims[way]++;
    put_line(set, way, tracker->loaded);
    tracker->loaded = line;
    return true;
}

/*
 * Log likelihood of all but the victims' ways. An access that looks like nothing ends the trace, at
 * *end_out: it may have been a miss.
 */
static double track(const struct pb_set_trace *trace, struct tracker *tracker, size_t *end_out)
{
    const double log_other = log1p(-PB_SPIKES_MOST);
    double sum = 0.0;

    tracker->loaded = NONE;
    for (size_t i = 0; i < trace->count; i++) {
        bool fits;

        if (trace->observed[i] == PB_OBSERVED_NEITHER) {
            *end_out = i;
            return sum;
        }
        fits = trace->observed[i] == PB_OBSERVED_MISS
                   ? take_miss(tracker, trace->line[i])
                   : tracker->loaded != NONE || tracker->set.way[trace->line[i]] != NONE;
        if (!fits) /* from here on nothing is explained */
            return sum + (double)(trace->count - i) * log(PB_SPIKES_MOST) / 2.0;
        sum += log_other;
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

static void add_victims(const size_t *victims, uint32_t ways, struct pb_replacement *fit)
{
    size_t draws = 0;

    for (uint32_t way = 0; way < ways; way++)
        draws += victims[way];
    for (uint32_t way = 0; way < ways; way++) {
        fit->victims[way] += victims[way];
        fit->squares[way] += (double)victims[way] * (double)victims[way];
        fit->products[way] += (double)victims[way] * (double)draws;
    }
    fit->draws += draws;
    fit->draws_squared += (double)draws * (double)draws;
}

double pb_replacement_deviation(const struct pb_replacement *fit, uint32_t way)
{
    double draws = (double)fit->draws, share = (double)fit->victims[way] / draws;
    double sum =
        fit->squares[way] - 2.0 * share * fit->products[way] + share * share * fit->draws_squared;

    return sqrt(fmax(0.0, sum)) / draws;
}

/*
 * Likelihoods of one trace; a drawn victim counts as even odds here, weights need all traces. What
 * lies behind the end of the trace of victims says nothing of them: it is as likely as under the
 * best of the other policies.
 */
static void fit_trace(const struct pb_set_trace *trace, uint32_t ways, struct tracker *tracker,
                      struct pb_replacement *fit)
{
    double own[PB_POLICY_COUNT], best = -INFINITY, behind = 0.0;
    size_t victims[PB_WAYS_MAX] = {0}, end = trace->count;

    empty_set(&tracker->set, ways);
    tracker->victims = victims;
    own[PB_POLICY_RANDOM] = trace->line_count == ways + 1 ? track(trace, tracker, &end) : -INFINITY;
    for (int policy = PB_POLICY_LRU; policy <= PB_POLICY_KEEP_HITS; policy++) {
        size_t mispredicted = 0;
        double rest;

        empty_set(&tracker->set, ways);
        own[policy] = replay(trace, (enum pb_replacement_policy)policy, &tracker->set, end, &rest,
                             &mispredicted);
        fit->mispredicted[policy] += mispredicted;
        behind = own[policy] > best ? rest : behind;
        best = fmax(best, own[policy]);
    }
    own[PB_POLICY_WEIGHTED] = own[PB_POLICY_RANDOM] += behind;
    for (int policy = 0; policy < PB_POLICY_COUNT; policy++)
        fit->log_likelihood[policy] += own[policy];
    own[PB_POLICY_RANDOM] += log_draws(victims, ways, false);
    own[PB_POLICY_WEIGHTED] += log_draws(victims, ways, false);
    add_victims(victims, ways, fit);
    for (int policy = 0; policy < PB_POLICY_COUNT; policy++)
        best = fmax(best, own[policy]);
    for (int policy = 0; policy < PB_POLICY_COUNT; policy++)
        fit->agreeing[policy] += own[policy] >= best - 1.0;
    fit->traces++;
    fit->accesses += trace->count;
}

/* A map from all lines of the traces to no way at all; NULL: no memory. */
static uint32_t *make_ways(const struct pb_set_trace *traces, size_t count)
{
    size_t lines = 0;
    uint32_t *way;

    for (size_t i = 0; i < count; i++)
        lines = traces[i].line_count > lines ? traces[i].line_count : lines;
    way = malloc((lines + 1) * sizeof(*way));
    for (size_t line = 0; way != NULL && line < lines; line++)
        way[line] = NONE;
    return way;
}

enum pb_status pb_replacement_fit(const struct pb_set_trace *traces, size_t count, uint32_t ways,
                                  struct pb_replacement *fit_out, struct pb_error *err)
{
    struct tracker *tracker;
    uint32_t *way;

    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "not observable: no chase over the lines of one set");
    if (traces[0].line_count <= ways)
        return pb_fail(err, PB_NOT_FOUND,
                       "too few observations: a policy shows with more lines of one set than it "
                       "has ways; %u were "
                       "found, of %u ways",
                       traces[0].line_count, ways);
    tracker = calloc(1, sizeof(*tracker));
    way = make_ways(traces, count);
    if (tracker == NULL || way == NULL) {
        free(tracker);
        free(way);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a set of %u ways", ways);
    }
    tracker->set.way = way;
    memset(fit_out, 0, sizeof(*fit_out));
    for (size_t i = 0; i < count; i++)
        fit_trace(&traces[i], ways, tracker, fit_out);
    fit_out->log_likelihood[PB_POLICY_RANDOM] += log_draws(fit_out->victims, ways, false);
    fit_out->log_likelihood[PB_POLICY_WEIGHTED] += log_draws(fit_out->victims, ways, true);
    free(way);
    free(tracker);
    return PB_OK;
}
