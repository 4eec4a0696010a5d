/* Every line of a sweep against itself: does it hit or miss? See tlb_sweep.h. */
#include "analysis/tlb/tlb_sweep.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEPS_MAX = 32,
    PLACES_MAX = 4096,     /* of a walk */
    WALKS_MIN = 3,         /* in which a place hits, before it is believed to miss */
    ENTRIES_MAX = 1 << 16, /* that a walk touches */
    MIXED_MIN = 2,         /* places of either kind: one may be a stray */
};

/* Walks over fewer entries than this part of the level's all hit. */
static const double surely_fits = 3.0 / 4.0;

uint64_t pb_tlb_entry_of(const struct pb_tlb_search *search, const struct pb_tlb_sweep *sweep,
                         uint64_t page)
{
    return (sweep->base + page * sweep->stride_bytes) / search->span_bytes;
}

static bool is_first(const struct pb_tlb_search *search, const struct pb_tlb_sweep *sweep,
                     uint64_t page)
{
    return page == 0 ||
           pb_tlb_entry_of(search, sweep, page) != pb_tlb_entry_of(search, sweep, page - 1);
}

static int ascending(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static bool holds(const struct pb_tlb_sweep *sweep, const struct pb_tlb_walk *walk, size_t place)
{
    return place < walk->accesses.count && place < walk->pages &&
           walk->accesses.index_bytes[place] / sweep->stride_bytes == place;
}

/* What the place takes, by the walks that surely fit: NaN where too few saw it. */
static double base_of(const struct pb_tlb_search *search, const struct pb_tlb_sweep *sweep,
                      size_t place, double *room)
{
    size_t seen = 0;

    for (size_t w = 0; w < sweep->count; w++)
        if ((double)sweep->touched[w] <= surely_fits * search->entries &&
            holds(sweep, sweep->walks[w], place))
            room[seen++] = pb_access_cycles(&sweep->walks[w]->accesses, place);
    if (seen < WALKS_MIN)
        return NAN;
    qsort(room, seen, sizeof(*room), ascending);
    return room[seen / 2];
}

/* What looks like nothing known stays unseen. */
static void see_kinds(const struct pb_tlb_search *search, const struct pb_tlb *tlb,
                      struct pb_tlb_sweep *sweep)
{
    for (size_t w = 0; w < sweep->count; w++) {
        const struct pb_tlb_walk *walk = sweep->walks[w];

        for (size_t i = 0; i < walk->accesses.count && i < walk->pages; i++) {
            uint64_t place = walk->accesses.index_bytes[i] / sweep->stride_bytes;
            unsigned char *sight = &sweep->sights[w * sweep->places + place];

            if (place >= sweep->places || !is_first(search, sweep, place))
                continue;
            if (pb_tlb_misses(tlb, walk, i, search->level))
                *sight = PB_TLB_MISS;
            else if (pb_tlb_hits(tlb, walk, i, search->level))
                *sight = PB_TLB_HIT;
        }
    }
}

/* room[count]. A place that no walk saw hit stays unseen. */
static void see_lines(const struct pb_tlb_search *search, struct pb_tlb_sweep *sweep, double *room)
{
    for (size_t place = 0; place < sweep->places; place++) {
        double base = base_of(search, sweep, place, room);

        if (isnan(base) || !is_first(search, sweep, place))
            continue;
        for (size_t w = 0; w < sweep->count; w++) {
            const struct pb_tlb_walk *walk = sweep->walks[w];

            if (!holds(sweep, walk, place))
                continue;
            sweep->sights[w * sweep->places + place] =
                pb_access_cycles(&walk->accesses, place) - base > search->miss_cycles / 2.0
                    ? PB_TLB_MISS
                    : PB_TLB_HIT;
        }
    }
}

static void mark_mixed(struct pb_tlb_sweep *sweep)
{
    for (size_t w = 0; w < sweep->count; w++) {
        size_t hits = 0, misses = 0;

        for (size_t place = 0; place < sweep->places; place++) {
            hits += sweep->sights[w * sweep->places + place] == PB_TLB_HIT;
            misses += sweep->sights[w * sweep->places + place] == PB_TLB_MISS;
        }
        sweep->mixed[w] = hits >= MIXED_MIN && misses >= MIXED_MIN;
    }
}

static void clear_sweep(struct pb_tlb_sweep *sweep)
{
    free(sweep->walks);
    free(sweep->sights);
    free(sweep->entries);
    free(sweep->touched);
    free(sweep->mixed);
}

/* Which entries the walks touch, as they grow. */
static void touch(const struct pb_tlb_search *search, struct pb_tlb_sweep *sweep)
{
    uint64_t page = 0;

    for (size_t w = 0; w < sweep->count; w++) {
        for (; page < sweep->walks[w]->pages; page++)
            if (is_first(search, sweep, page))
                sweep->entries[sweep->entry_count++] = pb_tlb_entry_of(search, sweep, page);
        sweep->touched[w] = sweep->entry_count;
    }
}

/* Places that walks show: of some, lines were left out. */
static size_t places_of(const struct pb_tlb_sweep *sweep)
{
    size_t most = 0;

    for (size_t w = 0; w < sweep->count; w++) {
        size_t shown = sweep->walks[w]->accesses.count + sweep->walks[w]->left_out;

        most = shown > most ? shown : most;
    }
    return most;
}

/* From the walks to all the rest. PB_NO_MEMORY. */
static enum pb_status fill(const struct pb_tlb_search *search, const struct pb_tlb *tlb,
                           struct pb_tlb_sweep *sweep, struct pb_error *err)
{
    uint64_t pages = sweep->walks[sweep->count - 1]->pages;
    double *room = malloc(sweep->count * sizeof(*room));

    sweep->places = places_of(sweep);
    sweep->places = sweep->places < PLACES_MAX ? sweep->places : PLACES_MAX;
    sweep->sights = calloc(sweep->count * sweep->places + 1, sizeof(*sweep->sights));
    sweep->entries = calloc((size_t)pages, sizeof(*sweep->entries));
    sweep->touched = calloc(sweep->count, sizeof(*sweep->touched));
    sweep->mixed = calloc(sweep->count, sizeof(*sweep->mixed));
    if (room == NULL || sweep->sights == NULL || sweep->entries == NULL || sweep->touched == NULL) {
        free(room);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases over %zu places",
                       sweep->count, sweep->places);
    }
    touch(search, sweep);
    if (search->level > 0)
        see_kinds(search, tlb, sweep);
    else
        see_lines(search, sweep, room);
    mark_mixed(sweep);
    free(room);
    return PB_OK;
}

/* Those of walks[count] that can be compared with the last one, which are taken out. */
static void take_walks(const struct pb_tlb_walk **walks, size_t *count, struct pb_tlb_sweep *sweep)
{
    const struct pb_tlb_walk *largest = walks[*count - 1];
    size_t kept = 0;

    sweep->stride_bytes = largest->stride_bytes;
    sweep->base = largest->base_address;
    for (size_t i = 0; i < *count; i++) {
        if (pb_tlb_comparable(walks[i], largest))
            sweep->walks[sweep->count++] = walks[i];
        else
            walks[kept++] = walks[i];
    }
    *count = kept;
}

/* Adds the walks that are alike; those left in `walks` are others. PB_NO_MEMORY. */
static enum pb_status add_sweep(const struct pb_tlb_search *search, const struct pb_tlb *tlb,
                                const struct pb_tlb_walk **walks, size_t *count,
                                struct pb_tlb_sweeps *sweeps, struct pb_error *err)
{
    struct pb_tlb_sweep sweep = {.walks = calloc(*count, sizeof(const struct pb_tlb_walk *))};
    enum pb_status status = PB_OK;
    bool wanted;

    if (sweep.walks == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", *count);
    take_walks(walks, count, &sweep);
    wanted = sweep.count > WALKS_MIN && sweeps->count < SWEEPS_MAX &&
             sweep.walks[sweep.count - 1]->pages <= ENTRIES_MAX;
    if (wanted)
        status = fill(search, tlb, &sweep, err);
    if (status == PB_OK && wanted)
        sweeps->items[sweeps->count++] = sweep;
    else
        clear_sweep(&sweep);
    return status;
}

enum pb_status pb_tlb_add_sweeps(const struct pb_tlb_search *search, const struct pb_tlb *tlb,
                                 struct pb_tlb_sweeps *sweeps, struct pb_error *err)
{
    const struct pb_tlb_walk **walks =
        calloc(tlb->walk_count + 1, sizeof(const struct pb_tlb_walk *));
    enum pb_status status = PB_OK;

    if (sweeps->items == NULL)
        sweeps->items = calloc(SWEEPS_MAX, sizeof(*sweeps->items));
    if (walks == NULL || sweeps->items == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", tlb->walk_count);
    for (size_t k = 0; status == PB_OK && k < tlb->stride_count; k++) {
        size_t first, count;

        pb_tlb_range(tlb, tlb->strides[k], &first, &count);
        for (size_t i = 0; i < count; i++)
            walks[i] = &tlb->walks[first + i];
        while (status == PB_OK && count > 0)
            status = add_sweep(search, tlb, walks, &count, sweeps, err);
    }
    free(walks);
    return status;
}

void pb_tlb_clear_sweeps(struct pb_tlb_sweeps *sweeps)
{
    for (size_t i = 0; i < sweeps->count; i++)
        clear_sweep(&sweeps->items[i]);
    free(sweeps->items);
    memset(sweeps, 0, sizeof(*sweeps));
}
