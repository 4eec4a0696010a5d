/*
 * Which levels of translation walks show: every level that misses is a kind of access of its own.
 *
 * Kinds come from all walks together, and from those of each octave of pages: a level that few
 * numbers of pages miss alone is next to nothing among all walks, but prevails where it shows.
 */
#include "analysis/tlb/tlb.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/latency.h"
#include "analysis/tlb/tlb_crowd.h"
#include "analysis/trace.h"

enum {
    MODES_MAX = 64,
    KINDS_MAX = 2 * MODES_MAX,
    PAGES_MIN = 8, /* walks over fewer pages prove no kind */
    WALKS_MIN = 2, /* in which a kind prevails */
};

/* A kind of access with less than this share of all walks is no level, unless it prevails. */
static const double least_share = 0.005;

/* Hits of L2 are one kind where this share of the reference is, */
static const double one_kind = 0.9;

/* and where most of them, but for as many at either end, lie within so many cycles. */
static const double kind_edge = 0.05, kind_cycles = 12.0;

/* Two latencies this near to each other are the same. */
static const double same_cycles = 2.0;

/* Accesses that take alike. */
struct kind {
    double edge, median;
    struct pb_band band;
    double share;  /* of all accesses */
    bool prevails; /* in some walks that surely fit in L2 */
};

struct kinds {
    struct kind items[KINDS_MAX];
    size_t count;
};

/* Walks over so many pages: [first, end). */
struct octave {
    uint64_t first_pages, end_pages;
};

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
    struct pb_pick pick = {NULL, "traced", "reference"};
    struct pb_sample hits = {NULL, 0, 0}, no_laps = {NULL, 0, 0};
    struct pb_latency_estimate latency;
    enum pb_status status = pb_trace_collect(&recording->series, &pick, &hits, err);

    if (status == PB_OK)
        status = pb_latency_estimate(&hits, &no_laps, &latency, err);
    if (status == PB_OK && latency.largest_share < one_kind)
        status =
            pb_fail(err, PB_UNSUPPORTED,
                    "L2 hits have %zu latency classes, which hide TLB penalties", latency.modes);
    if (status == PB_OK)
        status = check_width(&hits, err);
    if (status == PB_OK) {
        tlb->cycles[0] = latency.cycles;
        tlb->bands[0] = latency.band;
        tlb->sure_pages = hits.count;
    }
    pb_sample_clear(&hits);
    return status;
}

static bool is_in(const struct octave *octave, const struct pb_tlb_walk *walk)
{
    return walk->pages >= octave->first_pages && walk->pages < octave->end_pages;
}

/*
 * All that is slower than the reference: among hits, a kind that takes little longer would drown.
 * *all_out: accesses, hits and all.
 */
static enum pb_status collect(const struct pb_tlb *tlb, const struct octave *octave,
                              struct pb_sample *cycles, size_t *all_out, struct pb_error *err)
{
    *all_out = 0;
    for (size_t i = 0; i < tlb->walk_count; i++) {
        const struct pb_accesses *walk = &tlb->walks[i].accesses;
        enum pb_status status;

        if (!is_in(octave, &tlb->walks[i]))
            continue;
        status = pb_sample_reserve(cycles, walk->count, err);
        if (status != PB_OK)
            return status;
        for (size_t k = 0; k < walk->count; k++)
            if (pb_access_cycles(walk, k) > tlb->bands[0].high)
                cycles->values[cycles->count++] = pb_access_cycles(walk, k);
        *all_out += walk->count;
    }
    return PB_OK;
}

/* Does half of a whole lap and more take from `low` to `high` cycles? */
static bool prevails_in(const struct pb_tlb_walk *walk, double low, double high)
{
    size_t held = 0;

    for (size_t k = 0; k < walk->accesses.count; k++) {
        double cycles = pb_access_cycles(&walk->accesses, k);

        held += cycles >= low && cycles <= high;
    }
    return pb_tlb_is_whole(walk) && 2 * held >= walk->accesses.count;
}

/*
 * What so many pages miss, as many pages further apart miss as well: they take more entries, not
 * fewer. Lines of L2 that displace each other do not care.
 */
static bool prevails_farther(const struct pb_tlb *tlb, const struct pb_tlb_walk *first, double low)
{
    for (size_t s = 0; s < tlb->stride_count; s++) {
        size_t at, count;
        bool walked = false, found = false;

        pb_tlb_range(tlb, tlb->strides[s], &at, &count);
        for (size_t i = at; i < at + count && tlb->strides[s] > first->stride_bytes; i++) {
            if (tlb->walks[i].pages < first->pages || tlb->walks[i].pages > tlb->sure_pages)
                continue;
            walked = true;
            found = found || prevails_in(&tlb->walks[i], low, INFINITY);
        }
        if (walked && !found)
            return false;
    }
    return true;
}

/* Do so many cycles prevail in more than one walk of the octave, and in those like the first? */
static bool prevails(const struct pb_tlb *tlb, const struct octave *octave, struct pb_band band)
{
    size_t walks = 0;

    for (size_t i = 0; i < tlb->walk_count && walks < WALKS_MIN; i++) {
        const struct pb_tlb_walk *walk = &tlb->walks[i];

        if (!is_in(octave, walk) || !prevails_in(walk, band.low, band.high))
            continue;
        if (walks++ == 0 && !prevails_farther(tlb, walk, band.low))
            return false;
    }
    return walks == WALKS_MIN;
}

static struct kind *find_same(struct kinds *kinds, double median)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (pb_band_holds(kinds->items[i].band, median) ||
            fabs(kinds->items[i].median - median) <= same_cycles)
            return &kinds->items[i];
    return NULL;
}

/* Where spikes make a band wide, it ends in the middle of the gap to the next kind's members. */
static void part_modes(const double *sorted, struct pb_mode *modes, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const double *first = sorted + modes[i].first;
        double middle = (first[-1] + first[0]) / 2.0;

        modes[i - 1].band.high = fmin(modes[i - 1].band.high, middle);
        modes[i].band.low = fmax(modes[i].band.low, middle);
    }
}

/* Adds the kinds of an octave that prevail in it; of all walks (prevailing is false) every kind. */
static enum pb_status add_kinds(const struct pb_tlb *tlb, const struct octave *octave,
                                bool prevailing, struct kinds *kinds, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    struct pb_mode modes[MODES_MAX];
    size_t count = 0, all;
    enum pb_status status = collect(tlb, octave, &cycles, &all, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK)
        count = pb_modes_find(sorted.values, sorted.count, MODES_MAX, modes);
    part_modes(sorted.values, modes, count);
    for (size_t i = 0; i < count; i++) {
        struct kind *same = prevailing ? find_same(kinds, modes[i].median) : NULL;

        if (prevailing && !prevails(tlb, octave, modes[i].band))
            continue;
        if (same != NULL)
            same->prevails = true;
        else if (kinds->count < KINDS_MAX)
            kinds->items[kinds->count++] = (struct kind){
                .edge = pb_quantile(sorted.values + modes[i].first, modes[i].count, 0.01),
                .median = modes[i].median,
                .band = modes[i].band,
                .share = (double)modes[i].count / (double)all,
                .prevails = prevailing,
            };
    }
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

static int by_median(const void *a, const void *b)
{
    const struct kind *left = a, *right = b;

    return (left->median > right->median) - (left->median < right->median);
}

/* Lines as many as the reference's fit in L2 as they do: there, no kind that prevails misses it. */
static enum pb_status find_kinds(const struct pb_tlb *tlb, struct kinds *kinds,
                                 struct pb_error *err)
{
    const struct octave all = {0, UINT64_MAX};
    enum pb_status status = add_kinds(tlb, &all, false, kinds, err);

    for (uint64_t pages = PAGES_MIN; status == PB_OK && 2 * pages <= tlb->sure_pages; pages *= 2)
        status = add_kinds(tlb, &(struct octave){pages, 2 * pages}, true, kinds, err);
    qsort(kinds->items, kinds->count, sizeof(kinds->items[0]), by_median);
    return status;
}

/* A miss of L2 by an access that misses so many levels or fewer. */
static bool is_cache_miss(const struct pb_tlb *tlb, double cycles)
{
    for (size_t level = 0; level <= tlb->levels && !isnan(tlb->dram_cycles); level++)
        if (fabs(cycles - tlb->dram_cycles - tlb->cycles[level].value) <= same_cycles)
            return true;
    return false;
}

/*
 * Another kind of access takes as much longer as a miss of L2 does: this one hits in L2, since none
 * misses there twice. So a penalty that happens to be like that miss is still told from it.
 */
static bool has_cache_miss(const struct pb_tlb *tlb, const struct kinds *kinds, double cycles)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (fabs(kinds->items[i].median - cycles - tlb->dram_cycles) <= same_cycles)
            return true;
    return false;
}

static bool is_level(const struct pb_tlb *tlb, const struct kinds *kinds, const struct kind *kind)
{
    if (kind->median <= tlb->cycles[0].high + 1.0)
        return false;
    return kind->prevails ||
           (kind->share >= least_share &&
            (!is_cache_miss(tlb, kind->edge) || has_cache_miss(tlb, kinds, kind->median)));
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

static enum pb_status find_levels(struct pb_tlb *tlb, struct pb_error *err)
{
    struct kinds *kinds = calloc(1, sizeof(*kinds));
    enum pb_status status;

    if (kinds == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d kinds of access",
                       (int)KINDS_MAX);
    status = find_kinds(tlb, kinds, err);
    for (size_t i = 0; i < kinds->count && tlb->levels < PB_TLB_LEVELS_MAX; i++) {
        const struct kind *kind = &kinds->items[i];

        if (!is_level(tlb, kinds, kind))
            continue;
        tlb->levels++;
        tlb->bands[tlb->levels] = kind->band;
        tlb->cycles[tlb->levels] = (struct pb_estimate){kind->edge, kind->edge, kind->median};
    }
    part_bands(tlb);
    free(kinds);
    return status;
}

/* Does a miss of L2 that hits a level take as long as a hit of L2 that misses it? */
static bool looks_like_cache_miss(const struct pb_tlb *tlb, size_t level)
{
    struct pb_band band = tlb->bands[level];

    for (size_t below = 0; below < level; below++) {
        double cycles = tlb->cycles[below].value + tlb->dram_cycles;

        if (cycles >= band.low - same_cycles && cycles <= band.high + same_cycles)
            return true;
    }
    return false;
}

/* Where one looks like the other, only lines that surely stay in L2 tell. */
static void leave_out_unsure(struct pb_tlb *tlb)
{
    bool unsure = false;
    size_t kept = 0;

    for (size_t level = 1; level <= tlb->levels; level++)
        unsure |= looks_like_cache_miss(tlb, level);
    for (size_t i = 0; i < tlb->walk_count; i++)
        if (!unsure || tlb->walks[i].is_aliased || tlb->walks[i].pages <= tlb->sure_pages)
            tlb->walks[kept++] = tlb->walks[i];
    tlb->walk_count = kept;
}

enum pb_status pb_tlb_open(const struct pb_recording *recordings, size_t count, double dram_cycles,
                           const struct pb_tlb_l2 *l2, struct pb_tlb *tlb_out, struct pb_error *err)
{
    struct pb_tlb tlb = {.walk_count = 0};
    enum pb_status status = pb_tlb_read_walks(recordings, count, &tlb, err);

    tlb.dram_cycles = dram_cycles;
    if (status == PB_OK)
        status = pb_tlb_leave_out_crowded(&tlb, l2, err);
    if (status == PB_OK)
        status = read_reference(&recordings[0], &tlb, err);
    if (status == PB_OK)
        status = find_levels(&tlb, err);
    if (status == PB_OK && l2->sets == 0)
        leave_out_unsure(&tlb);
    if (status != PB_OK) {
        pb_tlb_clear(&tlb);
        return status;
    }
    *tlb_out = tlb;
    return PB_OK;
}
