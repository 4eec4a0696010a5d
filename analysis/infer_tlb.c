/*
 * page_bytes, entry_count, entry_span_bytes, reach_bytes, way_counts and penalty_cycles of a level
 * of translation.
 *
 * The reach is the largest footprint without misses at the smallest stride. The span of an entry is
 * the smaller of two views, as with lines of caches: neighbouring pages of one entry hit and miss
 * together; and up to that stride, the reach stays the same. Ways: with an LRU, every page beyond
 * the reach makes one set more miss as a whole; the counts must add up to all entries. Where pages
 * say less than two strides and more do, the span is open.
 *
 * way_counts is one number where sets are equal, else a list, the largest set first: where the
 * first one begins depends on the address.
 *
 * Source: M16 section 4.4.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/infer_tlb.h"
#include "analysis/tlb.h"
#include "analysis/trace.h"

/* Powers of two that are told apart. */
enum { PLACE_POWERS = 16 };

/* What is seen of one level. */
struct view {
    const struct pb_tlb *tlb;
    size_t level;
    struct pb_tlb_onset onset; /* at the smallest stride that shows one */
    uint64_t stride_bytes;
    uint64_t span_bytes;
    size_t strides_agreeing, strides; /* that keep to span and reach */
    size_t strides_keeping;           /* that keep to the reach, whatever those below do */
    bool disputed;                    /* pages say less than several strides do */
};

/* Fits and overflows in pages at a stride; false where the onset does not show. */
static bool pages_at(const struct view *view, uint64_t stride_bytes, uint64_t *fits_out,
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

/* Where a walk beyond the reach misses, and where it turns between hits and misses. */
static void find_places(const struct view *view, struct places *misses, struct places *turns)
{
    size_t first, count;

    pb_tlb_range(view->tlb, view->stride_bytes, &first, &count);
    for (size_t i = first; i < first + count; i++) {
        const struct pb_tlb_walk *walk = &view->tlb->walks[i];
        bool before = false;

        if (walk->pages <= view->onset.fits_pages)
            continue;
        for (size_t k = 0; k < walk->accesses.count && k < walk->pages; k++) {
            uint64_t page = walk->accesses.index_bytes[k] / view->stride_bytes;
            bool misses_here = pb_tlb_misses(view->tlb, walk, k, view->level);

            if (misses_here && k > 0)
                add_place(misses, page);
            if (misses_here != before && k > 0)
                add_place(turns, page);
            before = misses_here;
        }
    }
}

/*
 * Pages that share their fate: only the first one of an entry misses; or, where every page of an
 * entry is fetched by itself, all of them do, and walks turn at whole entries. 0: neither shows.
 */
static uint64_t pages_of_entry(const struct view *view)
{
    struct places misses = {{0}, 0}, turns = {{0}, 0};
    uint64_t unit;

    find_places(view, &misses, &turns);
    unit = unit_of(&misses);
    return unit > 1 ? unit : unit_of(&turns);
}

/* Up to which stride does the reach stay? */
static uint64_t span_by_strides(struct view *view)
{
    const struct pb_tlb *tlb = view->tlb;
    uint64_t reach = view->onset.fits_pages * view->stride_bytes;
    uint64_t next = view->onset.overflow_pages * view->stride_bytes;
    uint64_t span = view->stride_bytes, fits, over;

    for (size_t i = 0; i < tlb->stride_count; i++) {
        uint64_t stride = tlb->strides[i];

        if (stride <= view->stride_bytes || !pages_at(view, stride, &fits, &over))
            continue;
        view->strides++;
        /* the reach must lie where this stride's does, as finely as both were walked */
        if (fits * stride >= next || over * stride <= reach)
            continue;
        view->strides_keeping++;
        if (stride != 2 * span)
            continue;
        span = stride;
        view->strides_agreeing++;
    }
    return span;
}

static uint64_t farthest(const struct pb_tlb *tlb)
{
    uint64_t most = 0;

    for (size_t i = 0; i < tlb->walk_count; i++)
        if (tlb->walks[i].pages * tlb->walks[i].stride_bytes > most)
            most = tlb->walks[i].pages * tlb->walks[i].stride_bytes;
    return most;
}

/* Looks at a level. PB_NOT_FOUND: its reach is not seen. */
static enum pb_status look(const struct pb_tlb *tlb, size_t level, struct view *view,
                           struct pb_error *err)
{
    uint64_t shared, strides;
    enum pb_status status = PB_NOT_FOUND;

    *view = (struct view){.tlb = tlb, .level = level};
    if (level > tlb->levels)
        return pb_fail(err, PB_NOT_FOUND, "walks over up to %llu MiB show %zu levels",
                       (unsigned long long)(farthest(tlb) >> 20), tlb->levels);
    for (size_t i = 0; i < tlb->stride_count && status == PB_NOT_FOUND; i++) {
        view->stride_bytes = tlb->strides[i];
        status = pb_tlb_find_onset(tlb, level, view->stride_bytes, &view->onset, err);
    }
    if (status != PB_OK)
        return status;
    shared = pages_of_entry(view) * view->stride_bytes;
    strides = span_by_strides(view);
    view->span_bytes = shared > 0 && shared < strides ? shared : strides;
    view->disputed = shared > 0 && ((shared < strides && view->strides_agreeing > 1) ||
                                    view->strides_keeping > view->strides_agreeing + 1);
    return PB_OK;
}

/* Misses the level, or is slower than that for another reason, which may hide a miss. */
static bool is_slow(const struct view *view, const struct pb_tlb_walk *walk, size_t i)
{
    return pb_access_cycles(&walk->accesses, i) >= view->tlb->bands[view->level].low;
}

/* Entries with a miss in the walk of so many pages, by entry; false: there is no whole lap of it.
 */
static bool mark_missing(const struct view *view, uint64_t stride_bytes, uint64_t pages,
                         bool *missing, size_t entries)
{
    size_t first, count;

    memset(missing, 0, entries * sizeof(*missing));
    pb_tlb_range(view->tlb, stride_bytes, &first, &count);
    for (size_t i = first; i < first + count; i++) {
        const struct pb_tlb_walk *walk = &view->tlb->walks[i];

        if (walk->pages != pages)
            continue;
        for (size_t k = 0; k < walk->accesses.count; k++) {
            uint64_t entry = walk->accesses.index_bytes[k] / view->span_bytes;

            if (entry < entries)
                missing[entry] |= is_slow(view, walk, k);
        }
        return walk->accesses.count >= pages;
    }
    return false;
}

/* Entries that miss in both walks: a stray does not come twice. SIZE_MAX: a walk is missing. */
static size_t count_missing(const struct view *view, uint64_t stride_bytes, uint64_t pages,
                            const bool *always, bool *missing, bool *again, size_t entries)
{
    size_t count = 0;

    if (!mark_missing(view, stride_bytes, pages, missing, entries) ||
        !mark_missing(view, stride_bytes, pages + 1, again, entries))
        return SIZE_MAX;
    for (size_t i = 0; i < entries; i++)
        count += missing[i] && again[i] && !always[i];
    return count;
}

/* Sets as they overflow one after the other. */
struct sets {
    double ways[PB_LIST_MAX];
    size_t count;
    double sum;
    bool whole; /* all entries accounted for */
};

/*
 * With entry_count entries, walks every number of entries from there on, pages so far apart.
 * PB_NO_MEMORY.
 */
static enum pb_status follow_sets(const struct view *view, uint64_t stride_bytes,
                                  uint64_t entry_count, struct sets *sets_out, struct pb_error *err)
{
    uint64_t per_entry = view->span_bytes / stride_bytes, fits = entry_count * per_entry;
    size_t before = 0, entries = (size_t)(entry_count + PB_LIST_MAX + 2);
    bool *missing = calloc(3 * entries, sizeof(*missing));
    struct sets sets = {.count = 0};

    if (missing == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu entries", entries);
    /* What misses twice where all fit misses for another reason. */
    mark_missing(view, stride_bytes, fits, missing, entries);
    mark_missing(view, stride_bytes, fits - 1, missing + entries, entries);
    for (size_t i = 0; i < entries; i++)
        missing[i] &= missing[entries + i];
    /* Pages beyond the last whole entry would only half fill one: the walk ends with it. */
    for (uint64_t n = entry_count + 1; n <= entry_count + PB_LIST_MAX && !sets.whole; n++) {
        size_t here = count_missing(view, stride_bytes, n * per_entry, missing, missing + entries,
                                    missing + 2 * entries, entries);

        if (here == SIZE_MAX || here <= before || sets.count == PB_LIST_MAX)
            break;
        if (here - before > 1) {
            sets.ways[sets.count] = (double)(here - before) - 1.0;
            sets.sum += sets.ways[sets.count++];
        }
        before = here;
        sets.whole = sets.sum >= (double)entry_count;
    }
    sets.whole = sets.sum == (double)entry_count;
    free(missing);
    *sets_out = sets;
    return PB_OK;
}

static int larger_first(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left < *right) - (*left > *right);
}

static void state_ways(struct pb_parameter *answer, struct sets *sets, double entry_count,
                       double confidence)
{
    struct pb_estimate ways[PB_LIST_MAX] = {{0.0, 0.0, 0.0}};
    bool equal = true;

    if (!sets->whole || sets->count == 0) {
        pb_parameter_set_none(answer,
                              "sets that overflow one after the other hold %.0f of %.0f entries: "
                              "not LRU, or not walked far and finely enough",
                              sets->sum, entry_count);
        return;
    }
    qsort(sets->ways, sets->count, sizeof(sets->ways[0]), larger_first);
    for (size_t i = 0; i < sets->count; i++) {
        equal &= sets->ways[i] == sets->ways[0];
        ways[i] = (struct pb_estimate){sets->ways[i], sets->ways[i], sets->ways[i]};
    }
    if (equal)
        pb_parameter_set_number(answer, ways[0], confidence,
                                "M16 4.4: %zu equal sets overflow one after the other",
                                sets->count);
    else
        pb_parameter_set_list(answer, ways, sets->count, confidence,
                              "M16 4.4: misses by page beyond the reach; largest first");
}

/* Entries and ways, where reach and span are known finely enough. */
static enum pb_status state_entries(const struct pb_case *at, const struct view *view,
                                    double confidence, struct pb_error *err)
{
    struct pb_parameter *answer = pb_case_answer(at, "entry_count");
    double span = (double)view->span_bytes;
    double stride = (double)view->stride_bytes;
    double fits = floor((double)view->onset.fits_pages * stride / span);
    double most = ceil((double)view->onset.overflow_pages * stride / span) - 1.0;
    struct sets sets = {.count = 0};
    enum pb_status status;

    if (fits < 1.0 || most > fits) {
        pb_parameter_set_none(answer, "%.0f to %.0f entries: too coarse a step", fits, most);
        pb_parameter_set_none(pb_case_answer(at, "way_counts"), "entry_count is not determined");
        return PB_OK;
    }
    pb_parameter_set_number(answer, (struct pb_estimate){fits, fits, fits}, confidence,
                            "reach of %llu bytes by span of %.0f",
                            (unsigned long long)(view->onset.fits_pages * view->stride_bytes),
                            span);
    /* A page an entry makes the shortest walks; several show the same where that was not walked. */
    status = follow_sets(view, view->span_bytes, (uint64_t)fits, &sets, err);
    if (status == PB_OK && !sets.whole && view->span_bytes != view->stride_bytes)
        status = follow_sets(view, view->stride_bytes, (uint64_t)fits, &sets, err);
    if (status == PB_OK)
        state_ways(pb_case_answer(at, "way_counts"), &sets, fits, confidence);
    return status;
}

static enum pb_status state_level(const struct pb_case *at, const struct view *view,
                                  struct pb_error *err)
{
    const struct pb_tlb_onset *onset = &view->onset;
    double fits = (double)(onset->fits_pages * view->stride_bytes);
    double next = (double)(onset->overflow_pages * view->stride_bytes);
    double span = (double)view->span_bytes, confidence;
    double page = (double)view->tlb->strides[0];
    struct pb_votes votes = {0, 0};

    pb_votes_add_many(&votes, onset->agreeing, onset->seen);
    confidence = onset->posterior * pb_votes_confidence(&votes);
    pb_parameter_set_number(
        pb_case_answer(at, "reach_bytes"),
        (struct pb_estimate){fits, fits, fmax(fits, next - (double)view->stride_bytes)}, confidence,
        "M16 4.4: largest footprint without misses, pages %llu bytes apart; %.0f misses",
        (unsigned long long)view->stride_bytes, next);
    if (view->strides == 0 || view->disputed) {
        pb_parameter_set_none(pb_case_answer(at, "entry_span_bytes"),
                              view->disputed
                                  ? "pages of an entry seem fewer than strides that keep the reach"
                                  : "misses show at one stride only");
        pb_parameter_set_none(pb_case_answer(at, "entry_count"), "entry_span_bytes is open");
        pb_parameter_set_none(pb_case_answer(at, "way_counts"), "entry_span_bytes is open");
        pb_parameter_set_none(pb_case_answer(at, "page_bytes"), "entry_span_bytes is open");
        return PB_OK;
    }
    pb_parameter_set_number(pb_case_answer(at, "entry_span_bytes"),
                            (struct pb_estimate){span, span, span}, confidence,
                            "pages that share their fate, and strides that keep the reach: %zu of "
                            "%zu larger ones",
                            view->strides_agreeing, view->strides);
    pb_parameter_set_number(
        pb_case_answer(at, "page_bytes"), (struct pb_estimate){page, 0.0, page}, confidence / 2.0,
        "every step of the smallest stride needs a translation; smaller pages are not excluded");
    return state_entries(at, view, confidence, err);
}

static void state_penalty(const struct pb_case *at, const struct pb_tlb *tlb, size_t level)
{
    struct pb_estimate miss = tlb->cycles[level], hit = tlb->cycles[level - 1];
    struct pb_votes votes = {0, 0};
    size_t seen = 0;

    for (size_t i = 0; i < tlb->walk_count; i++) {
        const struct pb_accesses *walk = &tlb->walks[i].accesses;
        bool found = false;

        for (size_t k = 0; k < walk->count && !found; k++)
            found = pb_band_holds(tlb->bands[level], pb_access_cycles(walk, k));
        seen += found;
    }
    pb_votes_add_share(&votes, seen, seen, 30);
    pb_parameter_set_number(pb_case_answer(at, "penalty_cycles"),
                            (struct pb_estimate){miss.value - hit.value,
                                                 fmin(miss.value - hit.value, miss.low - hit.high),
                                                 fmax(miss.value - hit.value, miss.high - hit.low)},
                            pb_votes_confidence(&votes),
                            "M16 4.4: accesses of %zu walks take %.0f cycles, one level less %.0f",
                            seen, miss.value, hit.value);
}

/* The level by its memory's name. */
static size_t level_of(const struct pb_case *at)
{
    return (size_t)(at->inference->memory[strlen("tlb_l")] - '0');
}

/* Plain memory, and where the device can do it, one block mapped over and over. */
enum pb_status pb_infer_tlb(const struct pb_case *at, struct pb_error *err)
{
    double dram = pb_parameters_number(at->parameters, "dram", "latency_cycles");
    double l2 = pb_parameters_number(at->parameters, "l2", "latency_cycles");
    size_t level = level_of(at);
    struct pb_tlb tlb = {NULL};
    struct view view;
    enum pb_status status;

    if (isnan(dram - l2))
        return pb_fail(err, PB_NOT_FOUND,
                       "without the latencies of l2 and dram, misses of L2 cannot "
                       "be told from those of translation");
    status = pb_tlb_open(at->recordings, 2, dram - l2, &tlb, err);
    if (status == PB_UNSUPPORTED) /* a line is delayed by less than a miss of L2, or disturbed */
        return pb_infer_tlb_rise(at, level, (dram - l2) / 2.0, err);
    if (status == PB_OK)
        status = look(&tlb, level, &view, err);
    if (status == PB_OK) {
        state_penalty(at, &tlb, level);
        status = state_level(at, &view, err);
    }
    pb_tlb_clear(&tlb);
    return status;
}
