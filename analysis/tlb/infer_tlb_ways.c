/*
 * way_counts of a level of translation: with an LRU, every page beyond the reach makes one set more
 * miss as a whole; the counts must add up to all entries.
 *
 * way_counts is one number where sets are equal, else a list, in the order in which addresses come
 * to the sets.
 *
 * Source: M16 section 4.4.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/tlb/infer_tlb.h"
#include "analysis/trace.h"

/* Misses so many levels, or is as slow for another reason, which may hide a miss. */
static bool is_slow(const struct pb_tlb_view *view, size_t level, const struct pb_tlb_walk *walk,
                    size_t i)
{
    return level == 0 || pb_access_cycles(&walk->accesses, i) >= view->tlb->bands[level].low;
}

/* Entries with a miss of a level in the walk of so many pages, by entry; false: there is no whole
 * lap of it.
 */
static bool mark_missing(const struct pb_tlb_view *view, size_t level, uint64_t stride_bytes,
                         uint64_t pages, bool *missing, size_t entries)
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
                missing[entry] |= is_slow(view, level, walk, k);
        }
        return pb_tlb_is_whole(walk);
    }
    return false;
}

/* Sets as they overflow one after the other. */
struct sets {
    double ways[PB_LIST_MAX];
    size_t count;
    double sum;
    bool whole; /* all entries accounted for */
};

/* A level followed page by page; arrays of so many entries. */
struct follower {
    const struct pb_tlb_view *view;
    uint64_t stride_bytes;
    size_t entries;
    bool *always;         /* miss where all fit: for another reason */
    bool *missing, *once; /* in both of two walks, in one of them */
    size_t *set_of;       /* the set by its number from 1 on; 0: hits as yet */
};

/* Came to a set that overflowed before: to which one does not show. */
static const size_t some_set = SIZE_MAX;

/* Entries that miss in both walks: a stray does not come twice. False: a walk is missing. */
static bool mark_twice(struct follower *follower, uint64_t pages, uint64_t pages_again)
{
    if (!mark_missing(follower->view, follower->view->level, follower->stride_bytes, pages,
                      follower->missing, follower->entries) ||
        !mark_missing(follower->view, follower->view->level, follower->stride_bytes, pages_again,
                      follower->once, follower->entries))
        return false;
    for (size_t i = 0; i < follower->entries; i++)
        follower->missing[i] &= follower->once[i];
    return true;
}

/*
 * From n - 1 entries to n. With an LRU the last one misses, alone or with all of a set that it
 * overfills, and what missed before goes on. False: something else happens.
 */
static bool add_entry(struct follower *follower, uint64_t n, struct sets *sets)
{
    uint64_t pages = n * (follower->view->span_bytes / follower->stride_bytes);
    size_t members = 0;

    /* Pages beyond the last whole entry would only half fill one: the walk ends with it. */
    if (sets->count == PB_LIST_MAX || !mark_twice(follower, pages, pages + 1))
        return false;
    for (size_t i = 0; i < follower->entries; i++) {
        bool misses = follower->missing[i] && !follower->always[i];

        if (!misses && follower->set_of[i] > 0)
            return false;
        if (!misses || follower->set_of[i] > 0)
            continue;
        follower->set_of[i] = sets->count + 1;
        members++;
    }
    if (follower->set_of[n - 1] == 0)
        return false;
    if (members == 1) {
        follower->set_of[n - 1] = some_set;
        return true;
    }
    sets->ways[sets->count] = (double)members - 1.0;
    sets->sum += sets->ways[sets->count++];
    return true;
}

/* Entries from the first one on whose sets are known. */
static size_t count_known(const struct follower *follower, const struct sets *sets)
{
    size_t known = 0;

    while (known < follower->entries && follower->set_of[known] > 0 &&
           follower->set_of[known] <= sets->count)
        known++;
    return known;
}

/*
 * Do the same entries miss where others between them are left out? Of a tree-PLRU, pages that begin
 * to miss together are no set. Only what misses the levels before asks this one.
 */
static bool holds_farther(const struct follower *follower, const struct sets *sets,
                          uint64_t stride_bytes)
{
    size_t apart = (size_t)(stride_bytes / follower->view->span_bytes);
    size_t known = count_known(follower, sets), level = follower->view->level;

    for (size_t pages = 2; (pages - 1) * apart < known; pages++) {
        size_t held[PB_LIST_MAX] = {0};

        if (!mark_missing(follower->view, level, stride_bytes, pages, follower->missing,
                          follower->entries) ||
            !mark_missing(follower->view, level - 1, stride_bytes, pages, follower->once,
                          follower->entries))
            continue;
        for (size_t k = 0; k < pages; k++)
            held[follower->set_of[k * apart] - 1]++;
        for (size_t k = 0; k < pages; k++) {
            size_t set = follower->set_of[k * apart] - 1;

            if ((double)held[set] > sets->ways[set] && follower->once[k * apart] &&
                !follower->missing[k * apart])
                return false;
        }
    }
    return true;
}

/* At all strides of whole entries over the same pages. */
static bool is_confirmed(const struct follower *follower, const struct sets *sets,
                         uint64_t base_address)
{
    const struct pb_tlb *tlb = follower->view->tlb;

    for (size_t i = 0; i < tlb->stride_count; i++) {
        size_t first, count;

        pb_tlb_range(tlb, tlb->strides[i], &first, &count);
        if (tlb->strides[i] > follower->view->span_bytes &&
            tlb->walks[first].base_address == base_address &&
            !holds_farther(follower, sets, tlb->strides[i]))
            return false;
    }
    return true;
}

/*
 * In the order in which addresses come to them, from a whole number of turns through the level on:
 * where the array begins does not matter. All of the first `entries` entries are of some set.
 */
static void put_in_order(const struct follower *follower, uint64_t base_address, size_t entries,
                         struct sets *sets)
{
    size_t begun = (size_t)(base_address / follower->view->span_bytes % entries), count = 0;
    double ways[PB_LIST_MAX];
    bool seen[PB_LIST_MAX] = {false};

    for (size_t i = 0; i < entries && count < sets->count; i++) {
        size_t set = follower->set_of[(entries - begun + i) % entries] - 1;

        if (!seen[set])
            ways[count++] = sets->ways[set];
        seen[set] = true;
    }
    memcpy(sets->ways, ways, count * sizeof(ways[0]));
}

static void follow(struct follower *follower, uint64_t entry_count, struct sets *sets)
{
    const struct pb_tlb *tlb = follower->view->tlb;
    uint64_t fits = entry_count * (follower->view->span_bytes / follower->stride_bytes), base;
    size_t first, count;

    pb_tlb_range(tlb, follower->stride_bytes, &first, &count);
    if (count == 0)
        return;
    base = tlb->walks[first].base_address;
    mark_twice(follower, fits, fits - 1);
    memcpy(follower->always, follower->missing, follower->entries * sizeof(bool));
    for (uint64_t n = entry_count + 1; sets->sum < (double)entry_count; n++)
        if (n > entry_count + PB_LIST_MAX || !add_entry(follower, n, sets))
            break;
    sets->whole = sets->sum == (double)entry_count && is_confirmed(follower, sets, base);
    if (sets->whole)
        put_in_order(follower, base, entry_count, sets);
}

/*
 * With entry_count entries, walks every number of entries from there on, pages so far apart.
 * PB_NO_MEMORY.
 */
static enum pb_status follow_sets(const struct pb_tlb_view *view, uint64_t stride_bytes,
                                  uint64_t entry_count, struct sets *sets_out, struct pb_error *err)
{
    struct follower follower = {
        view, stride_bytes, (size_t)(entry_count + PB_LIST_MAX + 2), NULL, NULL, NULL, NULL};
    bool *marks = calloc(3 * follower.entries, sizeof(*marks));
    enum pb_status status = PB_OK;

    follower.set_of = calloc(follower.entries, sizeof(*follower.set_of));
    *sets_out = (struct sets){.count = 0};
    if (marks != NULL && follower.set_of != NULL) {
        follower.always = marks;
        follower.missing = marks + follower.entries;
        follower.once = marks + 2 * follower.entries;
        follow(&follower, entry_count, sets_out);
    } else {
        status = pb_fail(err, PB_NO_MEMORY, "no memory for %zu entries", follower.entries);
    }
    free(follower.set_of);
    free(marks);
    return status;
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
    for (size_t i = 0; i < sets->count; i++) {
        equal &= sets->ways[i] == sets->ways[0];
        ways[i] = (struct pb_estimate){sets->ways[i], sets->ways[i], sets->ways[i]};
    }
    if (equal)
        pb_parameter_set_number(answer, ways[0], confidence,
                                "M16 4.4: %zu equal sets overflow one after the other",
                                sets->count);
    else
        pb_parameter_set_list(
            answer, ways, sets->count, confidence,
            "M16 4.4: misses by page beyond the reach, set by set in the order of "
            "addresses");
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
