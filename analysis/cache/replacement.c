/* Policies as hypotheses about the lines of one set; see replacement.h. */
#include "analysis/cache/replacement.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"

enum { NONE = UINT32_MAX }; /* no way, or no line */

/* The policies that predict every access. */
static const enum pb_model_policy certain[] = {PB_MODEL_LRU, PB_MODEL_FIFO, PB_MODEL_PLRU,
                                               PB_MODEL_KEEP_HITS};
enum { CERTAIN = sizeof(certain) / sizeof(certain[0]) };

/* Log likelihood under a policy that predicts every access; *behind_out: of those from `end` on. */
static double replay(const struct pb_set_trace *trace, struct pb_model_cache *set, size_t end,
                     double *behind_out, size_t *mispredicted)
{
    const double log_wrong = log(PB_SPIKES_MOST), log_other = log1p(-PB_SPIKES_MOST);
    double sum = 0.0;

    *behind_out = 0.0;
    pb_model_cache_clear(set);
    for (size_t i = 0; i < trace->count; i++) {
        bool hit = pb_model_cache_touch(set, trace->line[i], NULL), is_wrong;

        if (trace->observed[i] == PB_OBSERVED_NEITHER)
            continue;
        is_wrong = hit != (trace->observed[i] == PB_OBSERVED_HIT);
        *mispredicted += is_wrong;
        sum += is_wrong ? log_wrong : log_other;
        *behind_out += i < end ? 0.0 : is_wrong ? log_wrong : log_other;
    }
    return sum;
}

/* Victims of a trace whose set, of which the ways fill in order, holds all lines but one. */
struct tracker {
    uint32_t ways, filled;
    uint32_t line[PB_WAYS_MAX]; /* by way, of the filled ones */
    uint32_t *way;              /* by line; NONE: not in the set */
    uint32_t loaded; /* the last line that missed; its victim shows later. NONE: still filling */
    size_t victims[PB_WAYS_MAX];
};

static void put_line(struct tracker *set, uint32_t way, uint32_t line)
{
    if (way < set->filled)
        set->way[set->line[way]] = NONE;
    else
        set->filled++;
    set->line[way] = line;
    set->way[line] = way;
}

/* A miss of a full set: this line was the last one's victim. False: that cannot be. */
static bool take_miss(struct tracker *set, uint32_t line)
{
    uint32_t way = set->way[line], before = set->loaded;

    if (set->filled < set->ways) {
        if (way == NONE)
            put_line(set, set->filled, line);
        return way == NONE;
    }
    if (before != NONE && way == NONE) /* the line just loaded, or none of the set */
        return false;
    set->loaded = line;
    if (before == NONE)
        return way == NONE;
    set->victims[way]++;
    put_line(set, way, before);
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

    for (size_t way = 0; way < tracker->filled; way++)
        tracker->way[tracker->line[way]] = NONE;
    tracker->filled = 0;
    tracker->loaded = NONE;
    for (size_t i = 0; i < trace->count; i++) {
        bool fits;

        if (trace->observed[i] == PB_OBSERVED_NEITHER) {
            *end_out = i;
            return sum;
        }
        fits = trace->observed[i] == PB_OBSERVED_MISS
                   ? take_miss(tracker, trace->line[i])
                   : tracker->loaded != NONE || tracker->way[trace->line[i]] != NONE;
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
static void fit_trace(const struct pb_set_trace *trace, struct pb_model_cache *const *sets,
                      struct tracker *tracker, struct pb_replacement *fit)
{
    double own[PB_MODEL_POLICY_COUNT], best = -INFINITY, behind = 0.0;
    size_t end = trace->count;

    memset(tracker->victims, 0, sizeof(tracker->victims));
    own[PB_MODEL_RANDOM] =
        trace->line_count == tracker->ways + 1 ? track(trace, tracker, &end) : -INFINITY;
    for (size_t i = 0; i < CERTAIN; i++) {
        enum pb_model_policy policy = certain[i];
        double rest;

        own[policy] = replay(trace, sets[i], end, &rest, &fit->mispredicted[policy]);
        behind = own[policy] > best ? rest : behind;
        best = fmax(best, own[policy]);
    }
    own[PB_MODEL_WEIGHTED] = own[PB_MODEL_RANDOM] += behind;
    for (int policy = 0; policy < PB_MODEL_POLICY_COUNT; policy++)
        fit->log_likelihood[policy] += own[policy];
    own[PB_MODEL_RANDOM] += log_draws(tracker->victims, tracker->ways, false);
    own[PB_MODEL_WEIGHTED] = own[PB_MODEL_RANDOM];
    add_victims(tracker->victims, tracker->ways, fit);
    best = fmax(best, own[PB_MODEL_RANDOM]);
    for (int policy = 0; policy < PB_MODEL_POLICY_COUNT; policy++)
        fit->agreeing[policy] += own[policy] >= best - 1.0;
    fit->traces++;
    fit->accesses += trace->count;
}

/* A set of so many ways by each of the policies that predict. PB_NO_MEMORY. */
static enum pb_status make_sets(size_t ways, struct pb_model_cache *sets[CERTAIN],
                                struct pb_error *err)
{
    struct pb_model_shape shape = {.line_bytes = 1, .set_count = 1, .way_count = ways};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < CERTAIN && status == PB_OK; i++) {
        shape.policy = certain[i];
        status = pb_model_cache_create(&shape, 0, &sets[i], err);
    }
    return status;
}

enum pb_status pb_replacement_fit(const struct pb_set_trace *traces, size_t count, uint32_t ways,
                                  struct pb_replacement *fit_out, struct pb_error *err)
{
    struct tracker tracker = {.ways = ways};
    struct pb_model_cache *sets[CERTAIN] = {NULL};
    size_t lines = 0;
    enum pb_status status;

    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "not observable: no chase over the lines of one set");
    if (traces[0].line_count <= ways)
        return pb_fail(err, PB_NOT_FOUND,
                       "too few observations: a policy shows with more lines of one set than it "
                       "has ways; %u were "
                       "found, of %u ways",
                       traces[0].line_count, ways);
    for (size_t i = 0; i < count; i++)
        lines = traces[i].line_count > lines ? traces[i].line_count : lines;
    tracker.way = malloc(lines * sizeof(*tracker.way));
    if (tracker.way == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", lines);
    memset(tracker.way, UINT8_MAX, lines * sizeof(*tracker.way)); /* NONE */
    status = make_sets(ways, sets, err);
    memset(fit_out, 0, sizeof(*fit_out));
    for (size_t i = 0; i < count && status == PB_OK; i++)
        fit_trace(&traces[i], sets, &tracker, fit_out);
    fit_out->log_likelihood[PB_MODEL_RANDOM] += log_draws(fit_out->victims, ways, false);
    fit_out->log_likelihood[PB_MODEL_WEIGHTED] += log_draws(fit_out->victims, ways, true);
    for (size_t i = 0; i < CERTAIN; i++)
        pb_model_cache_destroy(sets[i]);
    free(tracker.way);
    return status;
}
