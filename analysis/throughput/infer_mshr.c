/*
 * mshr.outstanding_per_warp and mshr.outstanding_per_sm: how many misses are outstanding at once.
 *
 * Loads that find no free register wait for the oldest one. Of every number of registers the times
 * of all bursts follow, played through load by load; stated is the number that predicts them best,
 * if it predicts nearly all, clearly better than any other one, and better than no limit at all.
 * One and two warps show a warp's limit, all others the SM's.
 *
 * Limit: where issuing takes longer than a miss, registers are never all taken, and no limit shows.
 *
 * Source: N14 section 5.2.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/confidence.h"
#include "analysis/throughput/bursts.h"

enum { PIECES_MAX = 60, TRAFFICS = 2, LIMIT_MAX = 512, NEAR = 4 };

/* Cells that must be explained. */
static const double explained_share = 0.9;

/* The second best number errs by at least so many cycles more, and by this part of the error. */
static const double least_margin_cycles = 8.0, margin_share = 0.1;

/* By what part a latency may be off at least, as where it is a mean over near and far lines. */
static const double latency_share = 0.02;

/* Of the loads that a latency has room for, by a cost of issuing that jitter makes inexact. */
static const double issue_share = 7.0 / 8.0;

/* One limit is sought, the other one is given or absent. */
struct search {
    const struct pb_bursts *bursts;
    struct pb_bursts_range range;
    bool of_sm; /* else of a warp */
    unsigned per_warp;
    unsigned most; /* number that can ever be outstanding: as good as no limit */
    struct pb_outstanding *outstanding;
};

/* What one kind of traffic says. */
struct finding {
    unsigned limit;
    struct pb_bursts_fit fit;
    bool is_seen, is_absent; /* neither: the times are unexplained */
    char reason[PB_TEXT_LENGTH];
};

/* `fitted`: takes 25 times as long, and distinguishes neighbours. */
static struct pb_bursts_fit try_limit(struct search *search, unsigned limit, bool fitted,
                                      double bound)
{
    search->outstanding->per_warp = search->of_sm ? search->per_warp : limit;
    search->outstanding->per_sm = search->of_sm ? limit : LIMIT_MAX;
    return fitted
               ? pb_bursts_judge_fitted(search->bursts, &search->range, bound, search->outstanding)
               : pb_bursts_judge(search->bursts, &search->range, bound, search->outstanding);
}

/*
 * The number with the least error of [low, high], the lowest of such, and the error of the best of
 * all others. The first one that is tried, if it is good, spares the others most of their work.
 */
static unsigned find_best(struct search *search, unsigned low, unsigned high, unsigned first,
                          bool fitted, struct pb_bursts_fit *best_out, double *second_out)
{
    struct pb_bursts_fit best = {0, 0, INFINITY};
    double second = INFINITY;
    unsigned at = low, count = high - low + 1;

    for (unsigned i = 0; i < count; i++) {
        unsigned limit = low + (first - low + i) % count;
        struct pb_bursts_fit fit = try_limit(search, limit, fitted, second);

        if (fit.error_cycles < best.error_cycles ||
            (fit.error_cycles == best.error_cycles && limit < at)) {
            second = best.error_cycles;
            best = fit;
            at = limit;
        } else if (fit.error_cycles < second) {
            second = fit.error_cycles;
        }
    }
    *best_out = best;
    *second_out = second;
    return at;
}

static bool is_explained(const struct pb_bursts_fit *fit)
{
    return fit->seen > 0 && (double)fit->explained >= explained_share * (double)fit->seen;
}

static void weigh(const struct search *search, double second, struct finding *finding)
{
    const struct pb_bursts_fit *fit = &finding->fit;

    finding->is_absent = finding->limit >= search->most;
    if (finding->is_absent)
        snprintf(finding->reason, sizeof(finding->reason), "no limit up to %u outstanding loads",
                 search->most);
    else if (!is_explained(fit))
        snprintf(finding->reason, sizeof(finding->reason),
                 "no single limit fits: the best one, %u, predicts only %zu of %zu times",
                 finding->limit, fit->explained, fit->seen);
    else if (second - fit->error_cycles <
             fmax(least_margin_cycles, margin_share * fit->error_cycles))
        snprintf(finding->reason, sizeof(finding->reason),
                 "ambiguous: the best limit, %u, predicts the times no better than another one",
                 finding->limit);
    else
        finding->is_seen = true;
}

/* Loads that are ever outstanding at once: a latency has room for so many issues, and no more. */
static unsigned most_outstanding(const struct search *search)
{
    const struct pb_bursts *bursts = search->bursts;
    double issues =
        (bursts->latency_cycles - bursts->overhead_cycles) / fmax(bursts->issue_cycles, 0.01);
    unsigned most = 0;

    for (size_t row = 0; row < pb_bursts_warps(bursts); row++) {
        unsigned warps = pb_bursts_warps_at(bursts, row);

        for (size_t cell = 0; cell < pb_bursts_loads(bursts); cell++) {
            unsigned loads = pb_bursts_loads_at(bursts, cell), outstanding;

            if (warps < search->range.warps_least || warps > search->range.warps_most ||
                warps * loads > search->range.total_most)
                continue;
            if (search->of_sm && loads > search->per_warp)
                loads = search->per_warp;
            outstanding = search->of_sm ? warps * loads : loads;
            most = outstanding > most ? outstanding : most;
        }
    }
    if (search->of_sm && issues < (double)most)
        most = (unsigned)(issue_share * issues) + 1;
    return most < LIMIT_MAX ? most : LIMIT_MAX;
}

static void find_limit(struct search *search, struct finding *finding)
{
    unsigned near, last;
    double second;

    search->most = most_outstanding(search);
    *finding = (struct finding){.is_seen = false};
    near = find_best(search, 1, search->most, 1, false, &finding->fit, &second);
    do { /* the best at the edge of its neighbours may have a better one beyond */
        last = near;
        near = find_best(search, last > NEAR ? last - NEAR : 1,
                         last + NEAR < search->most ? last + NEAR : search->most, last, true,
                         &finding->fit, &second);
    } while (near + NEAR == last || last + NEAR == near);
    finding->limit = near;
    weigh(search, second, finding);
}

/* By how much both kinds of traffic together err from a limit. */
static double error_of_both(struct search searches[TRAFFICS], unsigned limit)
{
    double sum = 0.0;

    for (size_t i = 0; i < TRAFFICS; i++)
        sum += try_limit(&searches[i], limit < searches[i].most ? limit : searches[i].most, true,
                         INFINITY)
                   .error_cycles;
    return sum;
}

/* A limit that one kind of traffic shows is none where both together speak for the other's best. */
static void compare(struct search searches[TRAFFICS], struct finding *shown,
                    const struct finding *other)
{
    if (!shown->is_seen || other->is_seen || !is_explained(&other->fit) ||
        error_of_both(searches, shown->limit) <= error_of_both(searches, other->limit))
        return;
    shown->is_seen = false;
    snprintf(shown->reason, sizeof(shown->reason),
             "inconsistent: the best limit, %u, does not predict the other kind of loads",
             shown->limit);
}

/* Both kinds of traffic. PB_NO_MEMORY. */
static enum pb_status find_limits(const struct pb_bursts bursts[TRAFFICS], bool of_sm,
                                  unsigned per_warp, struct finding findings[TRAFFICS],
                                  struct pb_error *err)
{
    static const struct pb_bursts_range of_warps = {1, 2, 128}, of_sms = {2, 64, 512};
    struct pb_outstanding *outstanding = calloc(1, sizeof(*outstanding));
    struct search searches[TRAFFICS];

    if (outstanding == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d loads in flight", LIMIT_MAX);
    for (size_t i = 0; i < TRAFFICS; i++) {
        searches[i] = (struct search){.bursts = &bursts[i],
                                      .range = of_sm ? of_sms : of_warps,
                                      .of_sm = of_sm,
                                      .per_warp = per_warp,
                                      .outstanding = outstanding};
        find_limit(&searches[i], &findings[i]);
    }
    for (size_t i = 0; i < TRAFFICS; i++)
        compare(searches, &findings[i], &findings[1 - i]);
    free(outstanding);
    return PB_OK;
}

/* By what part the latencies of L2 and DRAM may be off. */
static double latency_share_of(const struct pb_parameters *parameters)
{
    static const char *const memories[] = {"l2", "dram"};
    double share = latency_share;

    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        const struct pb_parameter *latency =
            pb_parameters_find(parameters, memories[i], "latency_cycles");

        if (latency != NULL && latency->kind == PB_VALUE_NUMBER)
            share = fmax(share, (latency->numbers[0].high - latency->numbers[0].low) /
                                    latency->numbers[0].value);
    }
    return share;
}

/*
 * Two kinds of traffic that both show a limit must show the same one. By one kind alone it is open
 * by a load, or by as large a part as the latency may be off: one that is too long shows more.
 */
static void state(struct pb_parameter *answer, const struct finding *near,
                  const struct finding *far, double share)
{
    const struct finding *seen = near->is_seen ? near : far;
    struct pb_votes votes = {0, 0};
    bool is_confirmed = near->is_seen && far->is_seen;
    double limit = seen->limit, open = is_confirmed ? 0.0 : ceil(share * limit);

    if (!seen->is_seen) {
        pb_parameter_set_none(answer, "unexplained: loads from L2: %s; from DRAM: %s", near->reason,
                              far->reason);
        return;
    }
    if (is_confirmed && near->limit != far->limit) {
        pb_parameter_set_none(answer, "inconsistent: loads from L2 show %u, from DRAM %u",
                              near->limit, far->limit);
        return;
    }
    pb_votes_add_share(&votes, seen->fit.explained, seen->fit.seen, PIECES_MAX);
    if (!is_confirmed)
        pb_votes_contradict(&votes);
    pb_parameter_set_number(
        answer, (struct pb_estimate){limit, fmax(1.0, limit - open), limit + open},
        pb_votes_confidence(&votes), "N14 5.2: predicts the times of %zu of %zu bursts; %s",
        seen->fit.explained, seen->fit.seen,
        is_confirmed ? "loads from L2 and DRAM agree" : "by loads of one kind only");
}

/* Without a warp's limit its loads are bounded by their number alone. */
static unsigned per_warp_of(const struct pb_parameter *answer)
{
    return answer->kind == PB_VALUE_NUMBER ? (unsigned)answer->numbers[0].value
                                           : PB_OUTSTANDING_LOADS_MAX;
}

enum pb_status pb_infer_mshr(const struct pb_case *at, struct pb_error *err)
{
    static const char *const traffics[TRAFFICS] = {"l2", "dram"};
    struct pb_parameter *per_warp = pb_case_answer(at, "outstanding_per_warp");
    struct pb_parameter *per_sm = pb_case_answer(at, "outstanding_per_sm");
    double share = latency_share_of(at->parameters);
    struct finding findings[TRAFFICS];
    struct pb_bursts bursts[TRAFFICS];
    bool is_unexplained; /* a warp's limit: then both kinds of traffic show an SM's, or none does */
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < TRAFFICS && status == PB_OK; i++)
        status = pb_bursts_read(&at->recordings[0], traffics[i], &bursts[i], err);
    if (status == PB_OK)
        status = find_limits(bursts, false, 0, findings, err);
    if (status != PB_OK)
        return status;
    state(per_warp, &findings[0], &findings[1], share);
    is_unexplained =
        per_warp->kind == PB_VALUE_NONE && !findings[0].is_absent && !findings[1].is_absent;
    status = find_limits(bursts, true, per_warp_of(per_warp), findings, err);
    if (status != PB_OK)
        return status;
    state(per_sm, &findings[0], &findings[1], share);
    if (is_unexplained && findings[0].is_seen != findings[1].is_seen)
        pb_parameter_set_none(per_sm, "depends on mshr.outstanding_per_warp: %s", per_warp->reason);
    return PB_OK;
}
