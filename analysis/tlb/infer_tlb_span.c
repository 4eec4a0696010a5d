/*
 * How far one level of translation reaches, and one of its entries.
 *
 * The reach is the largest footprint without misses; strides up to the span of an entry all show
 * it. The span is the smaller of two views, as with lines of caches: neighbouring pages of one
 * entry hit and miss together; and up to that stride, the reach stays the same. Where pages say
 * less than two strides and more do, the span is open, unless the pages tell for sure: only every
 * so many'th misses, which holds against any stride that says less, or pages of what the strides
 * take for one entry miss apart from each other. A stride that leaves out half of the sets reaches
 * as far as one of half the pages.
 *
 * Source: M16 section 4.4.
 */
#include "analysis/tlb/infer_tlb.h"

#include <math.h>

#include "analysis/trace.h"

/* Powers of two that are told apart. */
enum { PLACE_POWERS = 16 };

/* Entries of a walk: fewer that miss alike are strays. */
enum { ENTRIES_MIN = 4 };

/* Walks over so many times the reach show nothing new of entries, but perhaps misses of L2. */
enum { REACHES_MAX = 16 };

/* So far, in parts of it, a reach may be taken wrong where laps were recorded in part. */
static const double unseen_share = 1.0 / 32.0;

/* Fits and overflows in pages at a stride; false where the onset does not show. */
static bool pages_at(const struct pb_tlb_view *view, uint64_t stride_bytes, uint64_t *fits_out,
                     uint64_t *over_out)
{
    struct pb_tlb_onset onset;

    if (pb_tlb_find_onset(view->tlb, view->level, stride_bytes, &onset, NULL) != PB_OK)
        return false;
    *fits_out = onset.fits_pages;
    *over_out = onset.overflow_pages;
    return true;
}

/* Pages of one kind by the powers of two that divide them. */
struct places {
    size_t of_power[PLACE_POWERS], total;
};

static void add_place(struct places *places, uint64_t page)
{
    unsigned power = page == 0 ? PLACE_POWERS - 1 : (unsigned)__builtin_ctzll(page);

    places->of_power[power < PLACE_POWERS ? power : PLACE_POWERS - 1]++;
    places->total++;
}

/* The largest power of two that divides all but one in eight; 0: there are none. */
static uint64_t unit_of(const struct places *places)
{
    uint64_t unit = 1;

    if (places->total == 0)
        return 0;
    for (size_t i = 0, below = 0; i + 1 < PLACE_POWERS; i++) {
        below += places->of_power[i];
        if (8 * below > places->total)
            break;
        unit *= 2;
    }
    return unit;
}

static bool is_just_beyond(const struct pb_tlb_view *view, const struct pb_tlb_walk *walk)
{
    return walk->pages > view->onset.fits_pages &&
           walk->pages <= REACHES_MAX * view->onset.overflow_pages;
}

/* Where a walk beyond the reach misses, and where it turns between hits and misses. */
static void find_places(const struct pb_tlb_view *view, struct places *misses, struct places *turns)
{
    size_t first, count;

    pb_tlb_range(view->tlb, view->stride_bytes, &first, &count);
    for (size_t i = first; i < first + count; i++) {
        const struct pb_tlb_walk *walk = &view->tlb->walks[i];
        uint64_t last = 0;
        bool before = false;

        if (!is_just_beyond(view, walk))
            continue;
        for (size_t k = 0; k < walk->accesses.count && k < walk->pages; k++) {
            uint64_t page = walk->accesses.index_bytes[k] / view->stride_bytes;
            bool misses_here = pb_tlb_misses(view->tlb, walk, k, view->level);

            if (misses_here && k > 0)
                add_place(misses, page);
            if (misses_here != before && page == last + 1)
                add_place(turns, page);
            before = misses_here;
            last = page;
        }
    }
}

/* Entries by what their pages do. */
struct fates {
    size_t all_hit, first_misses, all_miss, apart;
    bool some_first, some_all; /* walks in which entries miss by the first page, or by all */
};

/* An entry of so many pages, all of them walked. */
static void add_fate(const struct pb_tlb_view *view, const struct pb_tlb_walk *walk, size_t first,
                     size_t pages, struct fates *fates)
{
    size_t misses = 0;

    for (size_t i = first; i < first + pages; i++)
        misses += pb_tlb_misses(view->tlb, walk, i, view->level);
    if (misses == 0)
        fates->all_hit++;
    else if (misses == pages)
        fates->all_miss++;
    else if (misses == 1 && pb_tlb_misses(view->tlb, walk, first, view->level))
        fates->first_misses++;
    else
        fates->apart++;
}

/*
 * Adds a walk, unless all entries miss whole, but for what spikes hide: that says nothing, any
 * pages do that together.
 */
static void add_fates(const struct pb_tlb_view *view, const struct pb_tlb_walk *walk, size_t pages,
                      struct fates *sum)
{
    struct fates fates = {.apart = 0};

    /* the first entry also ends the lap before: its record begins in the middle */
    for (size_t k = pages; k + pages <= walk->accesses.count && k + pages <= walk->pages;
         k += pages)
        if (walk->left_out == 0 && walk->accesses.index_bytes[k] / view->stride_bytes == k)
            add_fate(view, walk, k, pages, &fates);
    if (8 * (fates.all_hit + fates.first_misses + fates.apart) <= fates.all_miss)
        return;
    sum->all_hit += fates.all_hit;
    sum->first_misses += fates.first_misses;
    sum->all_miss += fates.all_miss;
    sum->apart += fates.apart;
    sum->some_first |= fates.first_misses >= ENTRIES_MIN && fates.first_misses > fates.all_miss;
    sum->some_all |= fates.all_miss >= ENTRIES_MIN && fates.all_miss > fates.first_misses;
}

/*
 * Pages within a span that hit and miss apart from each other, in one of eight entries or more; or
 * of which only the first ones miss in some walks, and all of them in others.
 */
static bool is_refuted(const struct pb_tlb_view *view, uint64_t span_bytes)
{
    size_t pages = (size_t)(span_bytes / view->stride_bytes), first, count;
    struct fates sum = {.apart = 0};

    pb_tlb_range(view->tlb, view->stride_bytes, &first, &count);
    for (size_t i = first; i < first + count; i++)
        if (is_just_beyond(view, &view->tlb->walks[i]))
            add_fates(view, &view->tlb->walks[i], pages, &sum);
    return 8 * sum.apart > sum.all_hit + sum.first_misses + sum.all_miss + sum.apart ||
           (sum.some_first && sum.some_all);
}

/*
 * Pages that share their fate: only the first one of an entry misses (*sure_out); or, where every
 * page of an entry is fetched by itself, all of them do, and walks turn at whole entries. 0:
 * neither shows.
 */
static uint64_t pages_of_entry(const struct pb_tlb_view *view, bool *sure_out)
{
    struct places misses = {{0}, 0}, turns = {{0}, 0};
    uint64_t unit;

    find_places(view, &misses, &turns);
    unit = unit_of(&misses);
    *sure_out = unit > 1;
    return unit > 1 ? unit : unit_of(&turns);
}

/*
 * How far the reach of a stride may be from the level's, in parts of it: where a lap is longer than
 * its record, the first sets to overflow may lie behind it.
 */
static double slack_of(const struct pb_tlb_view *view, uint64_t stride_bytes, uint64_t over_pages)
{
    size_t first, count;

    pb_tlb_range(view->tlb, stride_bytes, &first, &count);
    for (size_t i = first; i < first + count; i++)
        if (view->tlb->walks[i].pages == over_pages &&
            view->tlb->walks[i].accesses.count >= over_pages)
            return 0.0;
    return unseen_share;
}

/* Does a stride reach as far as the smallest one, as finely as both were walked? */
static bool keeps_reach(const struct pb_tlb_view *view, uint64_t stride, uint64_t fits,
                        uint64_t over)
{
    double slack = fmax(slack_of(view, stride, over),
                        slack_of(view, view->stride_bytes, view->onset.overflow_pages));
    double reach = (double)(view->onset.fits_pages * view->stride_bytes);
    double next = (double)(view->onset.overflow_pages * view->stride_bytes);

    return (double)(fits * stride) * (1.0 - slack) < next &&
           (double)(over * stride) > reach * (1.0 - slack);
}

/* Up to which stride does the reach stay? *keeping_out: strides that keep it, in a row or not. */
static uint64_t span_by_strides(struct pb_tlb_view *view, size_t *keeping_out)
{
    const struct pb_tlb *tlb = view->tlb;
    uint64_t span = view->stride_bytes, fits, over;

    *keeping_out = 0;
    for (size_t i = 0; i < tlb->stride_count; i++) {
        uint64_t stride = tlb->strides[i];

        if (stride <= view->stride_bytes || !pages_at(view, stride, &fits, &over))
            continue;
        view->strides++;
        if (!keeps_reach(view, stride, fits, over))
            continue;
        ++*keeping_out;
        if (stride != 2 * span)
            continue;
        span = stride;
        view->strides_agreeing++;
    }
    return span;
}

/* What the strides up to the span leave of the reach: a miss is sure, a fit only where none is. */
static void narrow_reach(struct pb_tlb_view *view)
{
    uint64_t fits, over;

    view->next_bytes = UINT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < view->tlb->stride_count; i++) {
            uint64_t stride = view->tlb->strides[i];

            if (stride > view->span_bytes || !pages_at(view, stride, &fits, &over) ||
                !keeps_reach(view, stride, fits, over))
                continue;
            if (pass == 0 && over * stride < view->next_bytes) {
                view->next_bytes = over * stride;
                view->step_bytes = stride;
                view->slack = slack_of(view, stride, over);
            }
            if (pass == 1 && fits * stride > view->fits_bytes && fits * stride < view->next_bytes)
                view->fits_bytes = fits * stride;
        }
    }
}

/*
 * The next entry begins to miss with its first page: what misses before that is a spike, unless the
 * array begins within an entry.
 */
static void keep_to_entries(struct pb_tlb_view *view)
{
    uint64_t span = view->span_bytes, end;
    size_t first, count;

    if (span == 0)
        return;
    end = (view->fits_bytes + span - 1) / span * span;
    pb_tlb_range(view->tlb, view->step_bytes, &first, &count);
    if (count == 0 || view->next_bytes > end || view->tlb->walks[first].base_address % span != 0)
        return;
    for (size_t i = first; i < first + count; i++) {
        uint64_t bytes = view->tlb->walks[i].pages * view->step_bytes;

        if (bytes <= end)
            continue;
        view->fits_bytes = end;
        view->next_bytes = bytes;
        return;
    }
}

static uint64_t farthest(const struct pb_tlb *tlb)
{
    uint64_t most = 0;

    for (size_t i = 0; i < tlb->walk_count; i++)
        if (tlb->walks[i].pages * tlb->walks[i].stride_bytes > most)
            most = tlb->walks[i].pages * tlb->walks[i].stride_bytes;
    return most;
}

enum pb_status pb_tlb_look(const struct pb_tlb *tlb, size_t level, struct pb_tlb_view *view_out,
                           struct pb_error *err)
{
    struct pb_tlb_view view = {.tlb = tlb, .level = level};
    uint64_t shared, strides;
    size_t keeping;
    bool sure;
    enum pb_status status = PB_NOT_FOUND;

    if (level > tlb->levels)
        return pb_fail(err, PB_NOT_FOUND,
                       "no such level: passes over up to %llu MiB show %zu levels",
                       (unsigned long long)(farthest(tlb) >> 20), tlb->levels);
    for (size_t i = 0; i < tlb->stride_count && status == PB_NOT_FOUND; i++) {
        view.stride_bytes = tlb->strides[i];
        status = pb_tlb_find_onset(tlb, level, view.stride_bytes, &view.onset, err);
    }
    if (status != PB_OK)
        return status;
    shared = pages_of_entry(&view, &sure) * view.stride_bytes;
    strides = span_by_strides(&view, &keeping);
    view.span_bytes = shared > 0 && (sure || shared < strides) ? shared : strides;
    view.sure = sure && shared > view.stride_bytes;
    sure = sure || (shared < strides && is_refuted(&view, strides));
    view.disputed =
        shared > 0 && !sure &&
        ((shared < strides && view.strides_agreeing > 1) || keeping > view.strides_agreeing + 1);
    while (view.span_bytes > view.stride_bytes && is_refuted(&view, view.span_bytes))
        view.span_bytes /= 2;
    narrow_reach(&view);
    keep_to_entries(&view);
    *view_out = view;
    return PB_OK;
}
