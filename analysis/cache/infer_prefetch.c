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
    const struct pb_series *series;
    const char *path;
    double border_cycles;     /* between hits and misses */
    struct pb_band miss;      /* what the misses at random take, outliers left out */
    struct pb_estimate fetch; /* what one miss brings in, in bytes */
};

/* How far misses of one chase lie apart. */
struct gaps {
    const struct pb_point *point;
    struct pb_sample bytes; /* sorted */
    double miss_share;      /* of its loads, by the border alone */
    size_t ambiguous;       /* of the gaps: another miss may be hidden in them */
};

/* The border between hits and misses, from the latencies stated before. */
static enum pb_status find_border(const struct pb_case *at, double *border_cycles_out,
                                  struct pb_error *err)
{
    const char *memory = at->inference->memory;
    const char *answers = strcmp(memory, "l1") == 0 ? "l2" : "dram"; /* its misses */
    const struct pb_parameter *below =
        pb_parameters_find(at->parameters, answers, "latency_cycles");
    double hit = pb_parameters_number(at->parameters, memory, "latency_cycles"), miss;

    if (below == NULL || below->kind != PB_VALUE_NUMBER || !(hit > 0.0))
        return pb_fail(err, PB_NOT_FOUND, "depends on the latency of %s, which is undetermined",
                       hit > 0.0 ? answers : memory);
    miss = below->numbers[0].low; /* the nearest of several places */
    if (!(miss > (1.0 + PB_NEXT_LEVEL_ALIKE) * hit))
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: hits of %.0f and misses of %.0f cycles are too alike", hit,
                       miss);
    *border_cycles_out = (hit + miss) / 2.0;
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
static const struct pb_point *find_chase(const struct filling *filling, const char *phase,
                                         uint64_t least_bytes, const struct pb_point *after)
{
    struct pb_pick pick = {filling->path, "traced", phase};
    const struct pb_point *point, *found = NULL;
    size_t at = 0;

    while ((point = pb_point_next(filling->series, &pick, &at)) != NULL)
        if (point->stride_bytes >= least_bytes && point->stride_bytes > 0 &&
            (after == NULL || is_finer(after, point)) &&
            pb_point_accesses(filling->series, point).count >= PB_FEW &&
            (found == NULL || is_finer(point, found)))
            found = point;
    return found;
}

/* Accesses that take longer than the border, sorted. */
static enum pb_status sort_misses(const struct pb_accesses *chase, double border_cycles,
                                  struct pb_sample *sorted_out, struct pb_error *err)
{
    struct pb_sample misses = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&misses, chase->count, err);

    for (size_t i = 0; status == PB_OK && i < chase->count; i++)
        if (pb_access_cycles(chase, i) > border_cycles)
            misses.values[misses.count++] = pb_access_cycles(chase, i);
    if (status == PB_OK)
        status = pb_sample_sorted(&misses, sorted_out, err);
    pb_sample_clear(&misses);
    return status;
}

/* Of the loads at random. PB_NOT_FOUND: there are none, or nothing misses. */
static enum pb_status measure_misses(struct filling *filling, struct pb_error *err)
{
    const struct pb_point *point = find_chase(filling, "random", 1, NULL);
    struct pb_sample misses = {NULL, 0, 0};
    struct pb_accesses chase;
    double share, bytes, margin;
    enum pb_status status;

    if (point == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no cold loads at random by %s",
                       filling->path);
    chase = pb_point_accesses(filling->series, point);
    status = sort_misses(&chase, filling->border_cycles, &misses, err);
    if (status == PB_OK && misses.count < PB_FEW)
        status =
            pb_fail(err, PB_NOT_FOUND, "inconsistent: only %zu of %zu cold loads at random miss",
                    misses.count, chase.count);
    if (status == PB_OK) {
        /* a power of two: outliers move the share a little */
        share = (double)misses.count / (double)chase.count;
        bytes = (double)point->stride_bytes * (share > PB_MOST ? 1.0 : exp2(round(-log2(share))));
        filling->fetch = (struct pb_estimate){bytes, bytes, bytes};
        if (share > PB_MOST)
            filling->fetch.low = fmin(bytes, 1.0); /* smaller steps were not taken */
        margin = PB_NEXT_LEVEL_ALIKE * pb_quantile(misses.values, misses.count, 0.5);
        filling->miss.low =
            fmax(pb_quantile(misses.values, misses.count, 0.25) - margin, filling->border_cycles);
        filling->miss.high = pb_quantile(misses.values, misses.count, 0.75) + margin;
    }
    pb_sample_clear(&misses);
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

/*
 * Bytes from one miss of the ordered chase to the next; what takes as long as the band is a miss.
 * gaps_out->bytes is to be cleared.
 */
static enum pb_status collect_gaps(const struct filling *filling, const struct pb_point *point,
                                   const struct pb_band *miss, struct gaps *gaps_out,
                                   struct pb_error *err)
{
    struct pb_accesses chase = pb_point_accesses(filling->series, point);
    struct pb_sample gaps = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&gaps, chase.count, err);
    size_t last = chase.count, slow = 0;

    gaps_out->point = point;
    gaps_out->ambiguous = 0;
    for (size_t i = 0; status == PB_OK && i < chase.count; i++) {
        double cycles = pb_access_cycles(&chase, i);

        slow += cycles > filling->border_cycles;
        if (cycles <= miss->low || cycles > miss->high)
            continue;
        if (last < i && chase.index_bytes[i] > chase.index_bytes[last]) {
            gaps.values[gaps.count++] = (double)(chase.index_bytes[i] - chase.index_bytes[last]);
            gaps_out->ambiguous += may_hide(&chase, miss, last, i);
        }
        last = i;
    }
    gaps_out->miss_share = (double)slow / (double)chase.count;
    if (status == PB_OK)
        status = pb_sample_sorted(&gaps, &gaps_out->bytes, err);
    pb_sample_clear(&gaps);
    return status;
}

/* The finest chase in order that misses often enough; *endless_bytes_out: what finer ones covered.
 */
static enum pb_status choose_gaps(const struct filling *filling, struct gaps *gaps_out,
                                  double *endless_bytes_out, struct pb_error *err)
{
    struct pb_band miss = {filling->border_cycles, INFINITY};
    const struct pb_point *point = NULL, *last = NULL;

    *endless_bytes_out = 0.0;
    while ((point = find_chase(filling, "strided", (uint64_t)filling->fetch.value, last)) != NULL) {
        enum pb_status status = collect_gaps(filling, point, &miss, gaps_out, err);

        if (status != PB_OK || gaps_out->bytes.count >= PB_FEW)
            return status;
        pb_sample_clear(&gaps_out->bytes);
        *endless_bytes_out = fmax(*endless_bytes_out, (double)point->footprint_bytes);
        miss = filling->miss; /* wider steps cross pages */
        last = point;
    }
    if (last == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no cold loads in steps of %.0f bytes",
                       filling->fetch.value);
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
    const char *memory = at->inference->memory;
    struct filling filling = {.series = &at->recordings[0].series,
                              .path = strcmp(memory, "l1") == 0 ? "global_ca" : "global_cg"};
    struct gaps gaps = {.point = NULL};
    double endless_bytes;
    enum pb_status status = find_border(at, &filling.border_cycles, err);

    if (status == PB_OK)
        status = measure_misses(&filling, err);
    if (status != PB_OK)
        return status;
    complete_fetch(at, &filling.fetch);
    filling.fetch.value =
        fmax(filling.fetch.value, pb_parameters_number(at->parameters, memory, "fetch_bytes"));
    status = choose_gaps(&filling, &gaps, &endless_bytes, err);
    if (status == PB_OK)
        status = state_ahead(at, &gaps, filling.fetch.value, endless_bytes, err);
    pb_sample_clear(&gaps.bytes);
    return status;
}
