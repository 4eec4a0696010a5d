/*
 * way_counts of a level of translation: with an LRU, every page beyond the reach makes one set more
 * miss as a whole; the counts must add up to all entries.
 *
 * way_counts is one number where sets are equal, else a list, the largest set first: where the
 * first one begins depends on the address.
 *
 * Source: M16 section 4.4.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/tlb/infer_tlb.h"
#include "analysis/trace.h"

/* Misses the level, or is slower than that for another reason, which may hide a miss. */
static bool is_slow(const struct pb_tlb_view *view, const struct pb_tlb_walk *walk, size_t i)
{
    return pb_access_cycles(&walk->accesses, i) >= view->tlb->bands[view->level].low;
}

/* Entries with a miss in the walk of so many pages, by entry; false: there is no whole lap of it.
 */
static bool mark_missing(const struct pb_tlb_view *view, uint64_t stride_bytes, uint64_t pages,
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
static size_t count_missing(const struct pb_tlb_view *view, uint64_t stride_bytes, uint64_t pages,
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
static enum pb_status follow_sets(const struct pb_tlb_view *view, uint64_t stride_bytes,
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

enum pb_status pb_tlb_state_ways(const struct pb_tlb_view *view, uint64_t entry_count,
                                 double confidence, struct pb_parameter *answer,
                                 struct pb_error *err)
{
    struct sets sets = {.count = 0};
    /* A page an entry makes the shortest walks; several show the same where that was not walked. */
    enum pb_status status = follow_sets(view, view->span_bytes, entry_count, &sets, err);

    if (status == PB_OK && !sets.whole && view->span_bytes != view->stride_bytes)
        status = follow_sets(view, view->stride_bytes, entry_count, &sets, err);
    if (status == PB_OK)
        state_ways(answer, &sets, (double)entry_count, confidence);
    return status;
}
