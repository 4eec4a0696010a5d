/*
 * prefetch_bytes of l1 or l2: how far a miss makes the cache run ahead of a stride; and fetch_bytes
 * where the cold walk over its lines has not told.
 *
 * The same cold slots were loaded in order and at random. At random, only what one miss fetches can
 * make a neighbour hit: with slots of s bytes, one load in fetch / s misses. In order, steps of
 * fetch bytes miss every time unless something ran ahead; then misses are as far apart as what was
 * fetched and what ran ahead together. 0: nothing runs ahead.
 *
 * L2 is filled from DRAM (loads by global_cg, caches flushed), L1 from L2 (by global_ca).
 *
 * Limit: what runs ahead forever leaves no two misses to measure between.
 *
 * Source: M16 4.6; F13 3.4.1.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/sample.h"
#include "analysis/trace.h"

enum { LOADS_MIN = 32, GAPS_MIN = 4, PIECES_MAX = 30 };

/* Every load misses, but for strays, where more than this share do. */
static const double all_miss = 0.9;

/* A miss is slower than a hit by at least this part, or the two cannot be told apart. */
static const double least_contrast = 0.2;

/* Which loads fill the row's cache, and what a hit and a miss of it take. */
struct filling {
    const char *memory, *path;
    const char *below; /* where misses are answered */
    double border_cycles;
};

/* The border between hits and misses, from the latencies stated before. */
static enum pb_status open_filling(const struct pb_case *at, struct filling *filling_out,
                                   struct pb_error *err)
{
    bool is_l1 = strcmp(at->inference->memory, "l1") == 0;
    struct filling filling = {at->inference->memory, is_l1 ? "global_ca" : "global_cg",
                              is_l1 ? "l2" : "dram", 0.0};
    const struct pb_parameter *below =
        pb_parameters_find(at->parameters, filling.below, "latency_cycles");
    double hit = pb_parameters_number(at->parameters, filling.memory, "latency_cycles"), miss;

    if (below == NULL || below->kind != PB_VALUE_NUMBER || !(hit > 0.0))
        return pb_fail(err, PB_NOT_FOUND, "the latency of %s is not known",
                       hit > 0.0 ? filling.below : filling.memory);
    miss = below->numbers[0].low; /* the nearest of several places */
    if (!(miss > (1.0 + least_contrast) * hit))
        return pb_fail(err, PB_NOT_FOUND, "hits of %.0f and misses of %.0f cycles are too alike",
                       hit, miss);
    filling.border_cycles = (hit + miss) / 2.0;
    *filling_out = filling;
    return PB_OK;
}

/* The walk of that phase with the smallest stride of at least so many bytes; NULL: none. */
static const struct pb_point *find_walk(const struct pb_series *series,
                                        const struct filling *filling, const char *phase,
                                        uint64_t least_bytes)
{
    struct pb_pick pick = {filling->path, "trace", phase};
    const struct pb_point *point, *found = NULL;
    size_t at = 0;

    while ((point = pb_point_next(series, &pick, &at)) != NULL)
        if (point->stride_bytes >= least_bytes && point->stride_bytes > 0 &&
            pb_point_accesses(series, point).count >= LOADS_MIN &&
            (found == NULL || point->stride_bytes < found->stride_bytes))
            found = point;
    return found;
}

static size_t count_misses(const struct pb_accesses *walk, double border_cycles)
{
    size_t misses = 0;

    for (size_t i = 0; i < walk->count; i++)
        misses += pb_access_cycles(walk, i) > border_cycles;
    return misses;
}

/* What one miss fetches. PB_NOT_FOUND: no walk at random, or nothing misses. */
static enum pb_status measure_fetch(const struct pb_series *series, const struct filling *filling,
                                    struct pb_estimate *fetch_out, struct pb_error *err)
{
    const struct pb_point *point = find_walk(series, filling, "random", 1);
    struct pb_accesses walk;
    double share, fetch;

    if (point == NULL)
        return pb_fail(err, PB_NOT_FOUND, "no cold loads at random by %s were recorded",
                       filling->path);
    walk = pb_point_accesses(series, point);
    share = (double)count_misses(&walk, filling->border_cycles) / (double)walk.count;
    if (share * (double)walk.count < GAPS_MIN)
        return pb_fail(err, PB_NOT_FOUND, "%.0f of %zu cold loads at random miss",
                       share * (double)walk.count, walk.count);
    /* a power of two: strays move the share a little */
    fetch = (double)point->stride_bytes * (share > all_miss ? 1.0 : exp2(round(-log2(share))));
    *fetch_out = (struct pb_estimate){fetch, fetch, fetch};
    if (share > all_miss)
        fetch_out->low = fmin(fetch, 1.0); /* smaller steps were not taken */
    return PB_OK;
}

/* Bytes from one miss of the ordered walk to the next. */
static enum pb_status collect_gaps(const struct pb_accesses *walk, double border_cycles,
                                   struct pb_sample *gaps_out, struct pb_error *err)
{
    struct pb_sample gaps = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&gaps, walk->count, err);
    size_t last = walk->count;

    for (size_t i = 0; status == PB_OK && i < walk->count; i++) {
        if (pb_access_cycles(walk, i) <= border_cycles)
            continue;
        if (last < i && walk->index_bytes[i] > walk->index_bytes[last])
            gaps.values[gaps.count++] = (double)(walk->index_bytes[i] - walk->index_bytes[last]);
        last = i;
    }
    if (status == PB_OK)
        status = pb_sample_sorted(&gaps, gaps_out, err);
    pb_sample_clear(&gaps);
    return status;
}

/* States the distance of the misses less what was fetched. gaps: sorted. */
static enum pb_status state_ahead(const struct pb_case *at, const struct pb_point *point,
                                  const struct pb_sample *gaps, double fetch, double share,
                                  struct pb_error *err)
{
    double gap = pb_quantile(gaps->values, gaps->count, 0.5), stride = (double)point->stride_bytes;
    double ahead = share > all_miss ? 0.0 : fmax(gap - fetch, 0.0);
    struct pb_votes votes = {0, 0};
    size_t first, end;

    if (gaps->count < GAPS_MIN)
        return pb_fail(err, PB_NOT_FOUND,
                       "of %llu loads in steps of %.0f bytes, %zu miss after another: what runs "
                       "ahead has no end here",
                       (unsigned long long)point->count, stride, gaps->count);
    pb_sorted_range(gaps->values, gaps->count, gap, gap, &first, &end);
    pb_votes_add_share(&votes, end - first, gaps->count, PIECES_MAX);
    pb_parameter_set_number(
        pb_case_answer(at, "prefetch_bytes"),
        (struct pb_estimate){ahead, stride > fetch ? fmax(ahead - stride + fetch, 0.0) : ahead,
                             ahead},
        pb_votes_confidence(&votes),
        "M16 4.6: cold loads in steps of %.0f bytes miss every %.0f bytes, a miss fetches %.0f; "
        "%zu of %zu gaps agree",
        stride, gap, fetch, end - first, gaps->count);
    return PB_OK;
}

static enum pb_status measure_ahead(const struct pb_case *at, const struct filling *filling,
                                    double fetch, struct pb_error *err)
{
    const struct pb_series *series = &at->recordings[0].series;
    const struct pb_point *point = find_walk(series, filling, "strided", (uint64_t)fetch);
    struct pb_sample gaps = {NULL, 0, 0};
    struct pb_accesses walk;
    enum pb_status status;

    if (point == NULL)
        return pb_fail(err, PB_NOT_FOUND, "no cold loads in steps of %.0f bytes were recorded",
                       fetch);
    walk = pb_point_accesses(series, point);
    status = collect_gaps(&walk, filling->border_cycles, &gaps, err);
    if (status == PB_OK)
        status = state_ahead(
            at, point, &gaps, fetch,
            (double)count_misses(&walk, filling->border_cycles) / (double)walk.count, err);
    pb_sample_clear(&gaps);
    return status;
}

/* The row of the cache's lines may have left it open. */
static void complete_fetch(const struct pb_case *at, const struct pb_estimate *fetch)
{
    struct pb_parameter *open =
        pb_parameters_find(at->parameters, at->inference->memory, "fetch_bytes");

    if (open == NULL || open->kind != PB_VALUE_NONE)
        return;
    pb_parameter_set_number(open, *fetch, 0.5, "M16 4.6: share of cold loads at random that miss");
    PB_TEXT_SET(open->evidence, pb_case_answer(at, "prefetch_bytes")->evidence);
}

enum pb_status pb_infer_prefetch(const struct pb_case *at, struct pb_error *err)
{
    struct filling filling = {NULL, NULL, NULL, 0.0};
    struct pb_estimate fetch;
    enum pb_status status = open_filling(at, &filling, err);

    if (status == PB_OK)
        status = measure_fetch(&at->recordings[0].series, &filling, &fetch, err);
    if (status != PB_OK)
        return status;
    complete_fetch(at, &fetch);
    return measure_ahead(at, &filling, fetch.value, err);
}
