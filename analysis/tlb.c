/* Levels of translation as kinds of access. */
#include "analysis/tlb.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency.h"
#include "analysis/trace.h"

enum { MODES_MAX = 64 };

/* A kind of access with less than this share of all walks is no level. */
static const double least_share = 0.005;

/* Hits of L2 are one kind where this share of the reference is, */
static const double one_kind = 0.9;

/* and where most of them, but for as many at either end, lie within so many cycles. */
static const double kind_edge = 0.05, kind_cycles = 12.0;

/* An access looks like a miss without being one no more often than this. */
static const double stray_rate = 1e-4;

/* Two latencies this near to each other are the same. */
static const double same_cycles = 2.0;

void pb_tlb_clear(struct pb_tlb *tlb)
{
    if (tlb == NULL)
        return;
    free(tlb->walks);
    memset(tlb, 0, sizeof(*tlb));
}

static bool is_walk(const struct pb_point *point)
{
    return strncmp(point->phase, "stride", strlen("stride")) == 0 && point->stride_bytes > 0 &&
           strncmp(point->mode, "trace", PB_NAME_LENGTH) == 0 &&
           point->footprint_bytes >= point->stride_bytes;
}

static int by_stride_and_pages(const void *a, const void *b)
{
    const struct pb_tlb_walk *left = a, *right = b;

    if (left->stride_bytes != right->stride_bytes)
        return left->stride_bytes < right->stride_bytes ? -1 : 1;
    return (left->pages > right->pages) - (left->pages < right->pages);
}

static enum pb_status read_walks(const struct pb_recording *recordings, size_t count,
                                 struct pb_tlb *tlb, struct pb_error *err)
{
    size_t points = 0;

    for (size_t i = 0; i < count; i++)
        points += recordings[i].series.point_count;
    tlb->walks = calloc(points + 1, sizeof(*tlb->walks));
    if (tlb->walks == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu walks", points);
    for (size_t i = 0; i < count; i++) {
        const struct pb_series *series = &recordings[i].series;

        for (size_t k = 0; k < series->point_count; k++) {
            const struct pb_point *point = &series->points[k];
            struct pb_accesses accesses = pb_point_accesses(series, point);

            if (is_walk(point) && accesses.count > 0)
                tlb->walks[tlb->walk_count++] = (struct pb_tlb_walk){
                    point->stride_bytes, point->footprint_bytes / point->stride_bytes,
                    point->base_address, point->sm_id, accesses};
        }
    }
    if (tlb->walk_count == 0)
        return pb_fail(err, PB_NOT_FOUND, "the recording holds no walk over pages");
    qsort(tlb->walks, tlb->walk_count, sizeof(*tlb->walks), by_stride_and_pages);
    for (size_t i = 0; i < tlb->walk_count; i++) {
        uint64_t stride = tlb->walks[i].stride_bytes;

        if (tlb->stride_count > 0 && tlb->strides[tlb->stride_count - 1] == stride)
            continue;
        if (tlb->stride_count < PB_TLB_STRIDES_MAX)
            tlb->strides[tlb->stride_count++] = stride;
    }
    return PB_OK;
}

enum pb_status pb_tlb_read_walks(const struct pb_recording *recordings, size_t count,
                                 struct pb_tlb *tlb_out, struct pb_error *err)
{
    struct pb_tlb tlb = {.walk_count = 0};
    enum pb_status status = read_walks(recordings, count, &tlb, err);

    if (status == PB_OK)
        *tlb_out = tlb;
    else
        pb_tlb_clear(&tlb);
    return status;
}

void pb_tlb_range(const struct pb_tlb *tlb, uint64_t stride_bytes, size_t *first_out,
                  size_t *count_out)
{
    size_t first = 0, end;

    while (first < tlb->walk_count && tlb->walks[first].stride_bytes != stride_bytes)
        first++;
    end = first;
    while (end < tlb->walk_count && tlb->walks[end].stride_bytes == stride_bytes)
        end++;
    *first_out = first;
    *count_out = end - first;
}

/* PB_UNSUPPORTED: hits scatter more than the smallest level of translation may cost. */
static enum pb_status check_width(const struct pb_sample *hits, struct pb_error *err)
{
    struct pb_sample sorted = {NULL, 0, 0};
    enum pb_status status = pb_sample_sorted(hits, &sorted, err);
    double width;

    if (status != PB_OK)
        return status;
    width = pb_quantile(sorted.values, sorted.count, 1.0 - kind_edge) -
            pb_quantile(sorted.values, sorted.count, kind_edge);
    pb_sample_clear(&sorted);
    if (width > kind_cycles)
        return pb_fail(err, PB_UNSUPPORTED, "L2 hits scatter by %.0f cycles", width);
    return PB_OK;
}

/* Level 0: the reference, packed into one page. */
static enum pb_status read_reference(const struct pb_recording *recording, struct pb_tlb *tlb,
                                     struct pb_error *err)
{
    struct pb_pick pick = {NULL, "trace", "reference"};
    struct pb_sample hits = {NULL, 0, 0}, no_laps = {NULL, 0, 0};
    struct pb_latency latency;
    enum pb_status status = pb_trace_collect(&recording->series, &pick, &hits, err);

    if (status == PB_OK)
        status = pb_latency_estimate(&hits, &no_laps, &latency, err);
    if (status == PB_OK && latency.largest_share < one_kind)
        status = pb_fail(err, PB_UNSUPPORTED,
                         "L2 hits come in %zu kinds, so that penalties of translation do not show",
                         latency.modes);
    if (status == PB_OK)
        status = check_width(&hits, err);
    if (status == PB_OK) {
        tlb->cycles[0] = latency.cycles;
        tlb->bands[0] = latency.band;
    }
    pb_sample_clear(&hits);
    return status;
}

/* All that is slower than the reference: among hits, a kind that takes little longer would drown.
 */
static enum pb_status collect_walks(const struct pb_tlb *tlb, struct pb_sample *cycles_out,
                                    size_t *all_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0};

    for (size_t i = 0; i < tlb->walk_count; i++) {
        const struct pb_accesses *walk = &tlb->walks[i].accesses;
        enum pb_status status = pb_sample_reserve(&cycles, walk->count, err);

        if (status != PB_OK) {
            pb_sample_clear(&cycles);
            return status;
        }
        for (size_t k = 0; k < walk->count; k++)
            if (pb_access_cycles(walk, k) > tlb->bands[0].high)
                cycles.values[cycles.count++] = pb_access_cycles(walk, k);
        *all_out += walk->count;
    }
    *cycles_out = cycles;
    return PB_OK;
}

/* A miss of L2 by an access that misses so many levels or fewer. */
static bool is_cache_miss(const struct pb_tlb *tlb, double cycles, double dram_cycles)
{
    for (size_t level = 0; level <= tlb->levels && !isnan(dram_cycles); level++)
        if (fabs(cycles - dram_cycles - tlb->cycles[level].value) <= same_cycles)
            return true;
    return false;
}

/*
 * Another kind of access takes as much longer as a miss of L2 does: this one hits in L2, since none
 * misses there twice. So a penalty that happens to be like that miss is still told from it.
 */
static bool has_cache_miss(const struct pb_mode *modes, size_t count, double cycles,
                           double dram_cycles)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(modes[i].median - cycles - dram_cycles) <= same_cycles)
            return true;
    return false;
}

/* Bands that touch are parted in the middle. */
static void part_bands(struct pb_tlb *tlb)
{
    for (size_t level = 1; level <= tlb->levels; level++) {
        struct pb_band *below = &tlb->bands[level - 1], *here = &tlb->bands[level];
        double middle = (tlb->cycles[level - 1].high + tlb->cycles[level].value) / 2.0;

        below->high = fmin(below->high, nextafter(middle, -INFINITY));
        here->low = fmax(here->low, middle);
    }
}

static enum pb_status find_levels(struct pb_tlb *tlb, double dram_cycles, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    struct pb_mode modes[MODES_MAX];
    size_t count = 0, all = 0;
    enum pb_status status = collect_walks(tlb, &cycles, &all, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK)
        count = pb_modes_find(sorted.values, sorted.count, MODES_MAX, modes);
    for (size_t i = 0; i < count && tlb->levels < PB_TLB_LEVELS_MAX; i++) {
        const double *members = sorted.values + modes[i].first;
        double edge = pb_quantile(members, modes[i].count, 0.01);

        if (modes[i].median <= tlb->cycles[0].high + 1.0 ||
            (double)modes[i].count < least_share * (double)all ||
            (is_cache_miss(tlb, edge, dram_cycles) &&
             !has_cache_miss(modes, count, modes[i].median, dram_cycles)))
            continue;
        tlb->levels++;
        tlb->bands[tlb->levels] = modes[i].band;
        tlb->cycles[tlb->levels] = (struct pb_estimate){edge, edge, modes[i].median};
    }
    part_bands(tlb);
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

enum pb_status pb_tlb_open(const struct pb_recording *recordings, size_t count, double dram_cycles,
                           struct pb_tlb *tlb_out, struct pb_error *err)
{
    struct pb_tlb tlb = {.walk_count = 0};
    enum pb_status status = read_walks(recordings, count, &tlb, err);

    if (status == PB_OK)
        status = read_reference(&recordings[0], &tlb, err);
    if (status == PB_OK)
        status = find_levels(&tlb, dram_cycles, err);
    if (status != PB_OK) {
        pb_tlb_clear(&tlb);
        return status;
    }
    *tlb_out = tlb;
    return PB_OK;
}

bool pb_tlb_misses(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i, size_t level)
{
    double cycles = pb_access_cycles(&walk->accesses, i);

    for (; level <= tlb->levels; level++)
        if (pb_band_holds(tlb->bands[level], cycles))
            return true;
    return false;
}

/* One walk of a stride, counted. */
struct count {
    uint64_t pages;
    double accesses, misses;
    double coverage; /* share of a lap that was recorded, at most 1 */
};

/* Log likelihood of a walk that fits, whose misses are strays. */
static double log_fits(const struct count *count)
{
    return count->misses * log(stray_rate) +
           (count->accesses - count->misses) * log1p(-stray_rate) +
           gsl_sf_lnchoose((unsigned)count->accesses, (unsigned)count->misses);
}

/*
 * And of one that overflows: any number of misses, seldom none. The record begins with the lap,
 * where the pages lie that the last ones of the lap displace.
 */
static double log_overflows(const struct count *count)
{
    double silent = count->coverage < 1.0 ? 0.02 : stray_rate;

    return count->misses == 0.0 ? log(silent) : log((1.0 - silent) / count->accesses);
}

static double log_cut(const struct count *counts, size_t count, size_t cut)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += i < cut ? log_fits(&counts[i]) : log_overflows(&counts[i]);
    return sum;
}

static enum pb_status find_cut(const struct count *counts, size_t count, struct pb_tlb_onset *onset,
                               struct pb_error *err)
{
    double best = -INFINITY, sum = 0.0;
    size_t at = 0;

    for (size_t cut = 0; cut <= count; cut++) {
        double here = log_cut(counts, count, cut);

        if (cut > 0 && cut < count && counts[cut - 1].pages == counts[cut].pages)
            continue;
        sum = here > best ? sum * exp(best - here) + 1.0 : sum + exp(here - best);
        if (here <= best)
            continue;
        best = here;
        at = cut;
    }
    if (at == 0)
        return pb_fail(err, PB_NOT_FOUND, "already the smallest walk of this stride misses");
    if (at == count)
        return pb_fail(err, PB_NOT_FOUND, "no misses up to %llu pages",
                       (unsigned long long)counts[count - 1].pages);
    *onset = (struct pb_tlb_onset){.fits_pages = counts[at - 1].pages,
                                   .overflow_pages = counts[at].pages,
                                   .posterior = 1.0 / sum};
    for (size_t i = 0; i < count; i++) {
        double margin = log_fits(&counts[i]) - log_overflows(&counts[i]);

        onset->seen++;
        onset->agreeing += (margin > 0.0) == (i < at);
    }
    return PB_OK;
}

enum pb_status pb_tlb_find_onset(const struct pb_tlb *tlb, size_t level, uint64_t stride_bytes,
                                 struct pb_tlb_onset *onset_out, struct pb_error *err)
{
    struct count *counts;
    size_t first, count;
    enum pb_status status;

    pb_tlb_range(tlb, stride_bytes, &first, &count);
    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "no walk with this stride");
    counts = calloc(count, sizeof(*counts));
    if (counts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu walks", count);
    for (size_t i = 0; i < count; i++) {
        const struct pb_tlb_walk *walk = &tlb->walks[first + i];

        counts[i] = (struct count){.pages = walk->pages, .accesses = (double)walk->accesses.count};
        counts[i].coverage = fmin(1.0, counts[i].accesses / (double)walk->pages);
        for (size_t k = 0; k < walk->accesses.count; k++)
            counts[i].misses += pb_tlb_misses(tlb, walk, k, level);
    }
    status = find_cut(counts, count, onset_out, err);
    free(counts);
    return status;
}
