/*
 * prefetch_bytes of l1 or l2: how far a miss makes the cache run ahead of a stride; and fetch_bytes
 * where the cold chase over its lines has not told.
 *
 * The same cold slots were loaded in order and at random. At random, only what one miss fetches can
 * make a neighbour hit: with slots of s bytes, one load in fetch / s misses. In order, steps of
 * fetch bytes miss every time unless something ran ahead (a cache that is smaller than the chase
 * has lost a line before its next sector is loaded at random: what l1_line or l2_line say is
 * fetched counts then); then misses are as far apart as what was fetched and what ran ahead
 * together. 0: nothing runs ahead.
 *
 * Where the finest steps do not reach the end of what runs ahead (M16: two thirds of L2), wider
 * ones do. Those cross pages: only what takes as long as the misses at random is a miss there, not
 * a hit that waited for its translation.
 *
 * L2 is filled from DRAM (loads by global_cg, caches flushed), L1 from L2 (by global_ca).
 *
 * Limit: what runs ahead forever leaves no two misses to measure between; and a stride may be too
 * wide for what ran ahead of finer ones, then neither tells a distance.
 *
 * Source: M16 4.6; F13 3.4.1.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/modes.h"
#include "analysis/statistics/sample.h"
#include "analysis/trace.h"

/* Which loads fill the row's cache, and what a hit and a miss of it take. */
struct filling {
    const char *memory, *path;
    const char *below; /* where misses are answered */
    double border_cycles;
};

/* How far misses of one chase lie apart. */
struct gaps {
    const struct pb_point *point;
    struct pb_sample bytes; /* sorted */
    double miss_share;      /* of its loads, by the border alone */
    size_t ambiguous;       /* of the gaps: another miss may be hidden in them */
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
        return pb_fail(err, PB_NOT_FOUND, "depends on the latency of %s, which is undetermined",
                       hit > 0.0 ? filling.below : filling.memory);
    miss = below->numbers[0].low; /* the nearest of several places */
    if (!(miss > (1.0 + PB_NEXT_LEVEL_ALIKE) * hit))
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: hits of %.0f and misses of %.0f cycles are too alike", hit,
                       miss);
    filling.border_cycles = (hit + miss) / 2.0;
    *filling_out = filling;
    return PB_OK;
}

/* True: a is loaded in finer steps than b, or in the same over less. */
static bool is_finer(const struct pb_point *a, const struct pb_point *b)
{
    if (a->stride_bytes != b->stride_bytes)
        return a->stride_bytes < b->stride_bytes;
    return a->footprint_bytes < b->footprint_bytes;
}

/* The finest chase of that phase in steps of at least so many bytes, but none up to `after`. */
static const struct pb_point *find_chase(const struct pb_series *series,
                                         const struct filling *filling, const char *phase,
                                         uint64_t least_bytes, const struct pb_point *after)
{
    struct pb_pick pick = {filling->path, "traced", phase};
    const struct pb_point *point, *found = NULL;
    size_t at = 0;

    while ((point = pb_point_next(series, &pick, &at)) != NULL)
        if (point->stride_bytes >= least_bytes && point->stride_bytes > 0 &&
            (after == NULL || is_finer(after, point)) &&
            pb_point_accesses(series, point).count >= PB_FEW &&
            (found == NULL || is_finer(point, found)))
            found = point;
    return found;
}

static size_t count_misses(const struct pb_accesses *chase, double border_cycles)
{
    size_t misses = 0;

    for (size_t i = 0; i < chase->count; i++)
        misses += pb_access_cycles(chase, i) > border_cycles;
    return misses;
}

/* What one miss fetches. PB_NOT_FOUND: no chase at random, or nothing misses. */
static enum pb_status measure_fetch(const struct pb_series *series, const struct filling *filling,
                                    struct pb_estimate *fetch_out, struct pb_error *err)
{
    const struct pb_point *point = find_chase(series, filling, "random", 1, NULL);
    struct pb_accesses chase;
    double share, fetch;

    if (point == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no cold loads at random by %s",
                       filling->path);
    chase = pb_point_accesses(series, point);
    share = (double)count_misses(&chase, filling->border_cycles) / (double)chase.count;
    if (share * (double)chase.count < PB_FEW)
        return pb_fail(err, PB_NOT_FOUND,
                       "inconsistent: only %.0f of %zu cold loads at random miss",
                       share * (double)chase.count, chase.count);
    /* a power of two: outliers move the share a little */
    fetch = (double)point->stride_bytes * (share > PB_MOST ? 1.0 : exp2(round(-log2(share))));
    *fetch_out = (struct pb_estimate){fetch, fetch, fetch};
    if (share > PB_MOST)
        fetch_out->low = fmin(fetch, 1.0); /* smaller steps were not taken */
    return PB_OK;
}

/* What the misses at random take, outliers left out. They are there: measure_fetch() has seen them.
 */
static enum pb_status measure_misses(const struct pb_series *series, const struct filling *filling,
                                     struct pb_band *miss_out, struct pb_error *err)
{
    struct pb_accesses chase =
        pb_point_accesses(series, find_chase(series, filling, "random", 1, NULL));
    struct pb_sample misses = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&misses, chase.count, err);
    double margin;

    for (size_t i = 0; status == PB_OK && i < chase.count; i++)
        if (pb_access_cycles(&chase, i) > filling->border_cycles)
            misses.values[misses.count++] = pb_access_cycles(&chase, i);
    if (status == PB_OK)
        status = pb_sample_sorted(&misses, &sorted, err);
    if (status == PB_OK) {
        margin = PB_NEXT_LEVEL_ALIKE * pb_quantile(sorted.values, sorted.count, 0.5);
        miss_out->low =
            fmax(pb_quantile(sorted.values, sorted.count, 0.25) - margin, filling->border_cycles);
        miss_out->high = pb_quantile(sorted.values, sorted.count, 0.75) + margin;
    }
    pb_sample_clear(&misses);
    pb_sample_clear(&sorted);
    return status;
}

/* True: a load that takes more than a miss lies where the distance would be a half or a third. */
static bool may_hide(const struct pb_accesses *chase, const struct pb_band *miss, size_t from,
                     size_t to)
{
    for (size_t parts = 2; parts <= 3; parts++)
        if ((to - from) % parts == 0 &&
            pb_access_cycles(chase, from + (to - from) / parts) > miss->high)
            return true;
    return false;
}

/* Bytes from one miss of the ordered chase to the next. gaps_out->bytes is to be cleared. */
static enum pb_status collect_gaps(const struct pb_series *series, const struct pb_point *point,
                                   const struct filling *filling, const struct pb_band *miss,
                                   struct gaps *gaps_out, struct pb_error *err)
{
    struct pb_accesses chase = pb_point_accesses(series, point);
    struct pb_sample gaps = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&gaps, chase.count, err);
    size_t last = chase.count;

    gaps_out->ambiguous = 0;
    for (size_t i = 0; status == PB_OK && i < chase.count; i++) {
        double cycles = pb_access_cycles(&chase, i);

        if (cycles <= miss->low || cycles > miss->high)
            continue;
        if (last < i && chase.index_bytes[i] > chase.index_bytes[last]) {
            gaps.values[gaps.count++] = (double)(chase.index_bytes[i] - chase.index_bytes[last]);
            gaps_out->ambiguous += may_hide(&chase, miss, last, i);
        }
        last = i;
    }
    gaps_out->point = point;
    gaps_out->miss_share =
        (double)count_misses(&chase, filling->border_cycles) / (double)chase.count;
    if (status == PB_OK)
        status = pb_sample_sorted(&gaps, &gaps_out->bytes, err);
    pb_sample_clear(&gaps);
    return status;
}

/* The finest chase in order that misses often enough; *endless_bytes_out: what finer ones covered.
 */
static enum pb_status choose_gaps(const struct pb_series *series, const struct filling *filling,
                                  double fetch, struct gaps *gaps_out, double *endless_bytes_out,
                                  struct pb_error *err)
{
    struct pb_band miss = {filling->border_cycles, INFINITY};
    const struct pb_point *point = NULL, *last = NULL;
    enum pb_status status = PB_OK;

    *endless_bytes_out = 0.0;
    while ((point = find_chase(series, filling, "strided", (uint64_t)fetch, last)) != NULL) {
        if (last != NULL)
            status = measure_misses(series, filling, &miss, err);
        if (status == PB_OK)
            status = collect_gaps(series, point, filling, &miss, gaps_out, err);
        if (status != PB_OK || gaps_out->bytes.count >= PB_FEW)
            return status;
        pb_sample_clear(&gaps_out->bytes);
        *endless_bytes_out = fmax(*endless_bytes_out, (double)point->footprint_bytes);
        last = point;
    }
    if (last == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no cold loads in steps of %.0f bytes",
                       fetch);
    return pb_fail(err, PB_NOT_FOUND,
                   "sweep too small: no end of the prefetched range: of %llu loads in steps of "
                   "%llu bytes fewer than %d miss",
                   (unsigned long long)last->count, (unsigned long long)last->stride_bytes,
                   PB_FEW + 1);
}

/* PB_NOT_FOUND: the misses tell no one distance. */
static enum pb_status check_gaps(const struct gaps *gaps, double gap, size_t agreeing,
                                 double endless_bytes, struct pb_error *err)
{
    double stride = (double)gaps->point->stride_bytes;

    if (gap * (PB_FEW + 1) < endless_bytes)
        return pb_fail(
            err, PB_NOT_FOUND,
            "ambiguous: no prefetch at this stride: steps of %.0f bytes miss every %.0f bytes, "
            "smaller ones fewer than %d times in %.0f",
            stride, gap, PB_FEW + 1, endless_bytes);
    if (2 * agreeing <= gaps->bytes.count)
        return pb_fail(err, PB_NOT_FOUND,
                       "ambiguous: misses in steps of %.0f bytes lie %.0f to %.0f bytes apart: no "
                       "distance prevails",
                       stride, gaps->bytes.values[0], gaps->bytes.values[gaps->bytes.count - 1]);
    if (endless_bytes > 0.0 && 2 * gaps->ambiguous >= gaps->bytes.count)
        return pb_fail(
            err, PB_NOT_FOUND,
            "ambiguous: misses in steps of %.0f bytes lie %.0f bytes apart, but slow loads between "
            "them may hide a miss in %zu of %zu gaps",
            stride, gap, gaps->ambiguous, gaps->bytes.count);
    return PB_OK;
}

/* "; 67% of the cache's 524288 bytes" where that much runs ahead and its size is known. */
static void describe_share(const struct pb_case *at, double ahead, char *text, size_t size)
{
    double cache = pb_parameters_number(at->parameters, at->inference->memory, "size_bytes");

    text[0] = '\0';
    if (ahead > PB_ALIKE_SHARE * cache)
        snprintf(text, size, "; %.0f%% of the cache's %.0f bytes", 100.0 * ahead / cache, cache);
}

/* States the distance of the misses less what was fetched. */
static enum pb_status state_ahead(const struct pb_case *at, const struct gaps *gaps, double fetch,
                                  double endless_bytes, struct pb_error *err)
{
    const struct pb_sample *bytes = &gaps->bytes;
    double gap = pb_quantile(bytes->values, bytes->count, 0.5);
    double stride = (double)gaps->point->stride_bytes;
    double high = gaps->miss_share > PB_MOST ? 0.0 : fmax(gap - fetch, 0.0);
    double low = stride > fetch ? fmax(high - stride + fetch, 0.0) : high;
    double ahead = endless_bytes > 0.0 ? (low + high) / 2.0 : high;
    struct pb_votes votes = {0, 0};
    char share[64];
    size_t first, end;
    enum pb_status status;

    pb_sorted_range(bytes->values, bytes->count, gap, gap, &first, &end);
    status = check_gaps(gaps, gap, end - first, endless_bytes, err);
    if (status != PB_OK)
        return status;
    pb_votes_add_share(&votes, end - first, bytes->count, PB_PIECES_MAX);
    describe_share(at, ahead, share, sizeof(share));
    pb_parameter_set_number(
        pb_case_answer(at, "prefetch_bytes"), (struct pb_estimate){ahead, low, high},
        pb_votes_confidence(&votes),
        "M16 4.6: cold loads in steps of %.0f bytes miss every %.0f bytes, a miss fetches %.0f; "
        "%zu of %zu gaps agree%s",
        stride, gap, fetch, end - first, bytes->count, share);
    return PB_OK;
}

static enum pb_status measure_ahead(const struct pb_case *at, const struct filling *filling,
                                    double fetch, struct pb_error *err)
{
    struct gaps gaps = {NULL, {NULL, 0, 0}, 0.0, 0};
    double endless_bytes;
    enum pb_status status =
        choose_gaps(&at->recordings[0].series, filling, fetch, &gaps, &endless_bytes, err);

    if (status == PB_OK)
        status = state_ahead(at, &gaps, fetch, endless_bytes, err);
    pb_sample_clear(&gaps.bytes);
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
    fetch.value = fmax(fetch.value,
                       pb_parameters_number(at->parameters, at->inference->memory, "fetch_bytes"));
    return measure_ahead(at, &filling, fetch.value, err);
}
