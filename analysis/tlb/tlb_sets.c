/* Which pages share a set, and how many of them fit; see tlb_sets.h. */
#include "analysis/tlb/tlb_sets.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/gf2.h"
#include "analysis/tlb/tlb_sweep.h"

enum {
    SIGHTINGS_MIN = 2, /* of a difference between two entries of a set */
    WALKS_MIN = 3,     /* in which a page misses, and hits before */
    WAYS_MAX = 4096,
    BITS_MAX = 12, /* of an index */
    SEEN_MIN = 64, /* hits in full sets, and misses, that an index must foretell */
};

/* Where some hit and some miss, an index foretells so many of both, and of the misses. */
static const double foretold_share = 0.98;

/* Accesses of mixed walks by how many entries of their set these touch; and room for the sets. */
struct tally {
    size_t hits[WAYS_MAX + 2], misses[WAYS_MAX + 2];
    size_t other_hits[WAYS_MAX + 2], other_misses[WAYS_MAX + 2]; /* of all other walks */
    uint16_t in_set[1 << BITS_MAX];
};

/*
 * The page with which this place begins to miss, where walks show that to the page: all walks over
 * fewer hit, all over more miss. 0: they do not.
 */
static uint64_t find_cause(const struct pb_tlb_sweep *sweep, size_t place)
{
    uint64_t most_hit = 0, least_miss = UINT64_MAX;
    size_t hits = 0, misses = 0;

    for (size_t w = 0; w < sweep->count; w++) {
        unsigned char sight = sweep->sights[w * sweep->places + place];
        uint64_t pages = sweep->walks[w]->pages;

        if (sight == PB_TLB_HIT) {
            most_hit = pages;
            hits++;
        } else if (sight == PB_TLB_MISS) {
            least_miss = pages < least_miss ? pages : least_miss;
            misses++;
        }
    }
    if (least_miss != most_hit + 1 || hits < WALKS_MIN || misses < WALKS_MIN)
        return 0;
    return most_hit; /* pages count from 0: this one was added */
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Adds what was seen more than once: a page whose first miss hid would leave a wrong difference. */
static void add_differences(uint64_t *differences, size_t count, struct pb_gf2_span *same)
{
    qsort(differences, count, sizeof(*differences), by_value);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && differences[end] == differences[i];)
            end++;
        if (end - i >= SIGHTINGS_MIN)
            pb_gf2_add(same, differences[i]);
    }
}

/* What a sweep in which every page has an entry of its own tells of pages that share a set. */
static enum pb_status learn(const struct pb_tlb_search *search, const struct pb_tlb_sweep *sweep,
                            struct pb_gf2_span *tried, struct pb_gf2_span *same,
                            struct pb_error *err)
{
    uint64_t *differences = malloc((sweep->places + 1) * sizeof(*differences));
    size_t count = 0;

    if (differences == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu places", sweep->places);
    for (size_t i = 1; i < sweep->entry_count; i++)
        pb_gf2_add(tried, sweep->entries[i] ^ sweep->entries[0]);
    for (size_t place = 0; place < sweep->places; place++) {
        uint64_t cause = find_cause(sweep, place);

        if (cause > place)
            differences[count++] =
                pb_tlb_entry_of(search, sweep, place) ^ pb_tlb_entry_of(search, sweep, cause);
    }
    add_differences(differences, count, same);
    free(differences);
    return PB_OK;
}

static size_t set_of(const struct pb_tlb_sets *sets, uint64_t entry)
{
    size_t set = 0;

    for (size_t i = 0; i < sets->mask_count; i++)
        set |= (size_t)__builtin_parityll(sets->masks[i] & entry) << i;
    return set;
}

/* Walks grow: each adds its entries to those of the one before. set_of_place[places]. */
static void count_sweep(const struct pb_tlb_search *search, const struct pb_tlb_sweep *sweep,
                        const struct pb_tlb_sets *sets, uint16_t *set_of_place, struct tally *tally)
{
    size_t touched = 0;

    memset(tally->in_set, 0, sizeof(tally->in_set));
    for (size_t place = 0; place < sweep->places; place++)
        set_of_place[place] = (uint16_t)set_of(sets, pb_tlb_entry_of(search, sweep, place));
    for (size_t w = 0; w < sweep->count; w++) {
        const unsigned char *sights = sweep->sights + w * sweep->places;
        size_t *hits = sweep->mixed[w] ? tally->hits : tally->other_hits;
        size_t *misses = sweep->mixed[w] ? tally->misses : tally->other_misses;

        for (; touched < sweep->touched[w]; touched++)
            tally->in_set[set_of(sets, sweep->entries[touched])]++;
        for (size_t place = 0; place < sweep->places; place++) {
            size_t full = tally->in_set[set_of_place[place]];

            full = full <= WAYS_MAX ? full : WAYS_MAX + 1;
            hits[full] += sights[place] == PB_TLB_HIT;
            misses[full] += sights[place] == PB_TLB_MISS;
        }
    }
}

/* The ways with which fewest accesses are otherwise than foretold. */
static void choose_ways(const struct tally *tally, struct pb_tlb_sets *sets)
{
    size_t right, misses;

    sets->seen = sets->misses = sets->ways = 0;
    for (size_t full = 0; full <= WAYS_MAX + 1; full++) {
        sets->seen += tally->hits[full] + tally->misses[full];
        sets->misses += tally->misses[full];
    }
    right = misses = sets->foretold = sets->foretold_misses = sets->misses; /* all miss */
    for (size_t ways = 1; ways <= WAYS_MAX; ways++) {
        right = right + tally->hits[ways] - tally->misses[ways];
        misses -= tally->misses[ways];
        if (right <= sets->foretold)
            continue;
        sets->foretold = right;
        sets->ways = ways;
        sets->foretold_misses = misses;
    }
}

/* Accesses of all walks that are as the sets have them. */
static size_t count_right(const struct tally *tally, const struct pb_tlb_sets *sets)
{
    size_t right = sets->foretold;

    for (size_t full = 0; full <= WAYS_MAX + 1; full++)
        right += full <= sets->ways ? tally->other_hits[full] : tally->other_misses[full];
    return right;
}

/* Holds the index against every walk of these strides. */
static void hold(const struct pb_tlb_search *search, const struct pb_tlb_sweeps *sweeps,
                 uint64_t least_stride_bytes, struct pb_tlb_sets *sets, struct tally *tally,
                 uint16_t *set_of_place)
{
    memset(tally, 0, sizeof(*tally));
    sets->set_count = (size_t)1 << sets->mask_count;
    for (size_t i = 0; i < sweeps->count; i++)
        if (sweeps->items[i].stride_bytes >= least_stride_bytes)
            count_sweep(search, &sweeps->items[i], sets, set_of_place, tally);
    choose_ways(tally, sets);
    sets->right = count_right(tally, sets);
}

static bool is_proven(const struct pb_tlb_sets *sets, const struct tally *tally)
{
    return sets->ways > 0 && tally->hits[sets->ways] >= SEEN_MIN &&
           tally->misses[sets->ways + 1] >= SEEN_MIN &&
           (double)sets->foretold >= foretold_share * (double)sets->seen &&
           (double)sets->foretold_misses >= foretold_share * (double)sets->misses;
}

/* Half as many sets: bits i and j become one, or bit i is left out where j is i. */
static struct pb_tlb_sets halve(const struct pb_tlb_sets *sets, size_t i, size_t j)
{
    struct pb_tlb_sets half = *sets;

    if (i != j)
        half.masks[j] ^= half.masks[i];
    for (size_t k = i; k + 1 < half.mask_count; k++)
        half.masks[k] = half.masks[k + 1];
    half.mask_count--;
    return half;
}

/*
 * Where pages were seen to share a set too seldom, the index has more bits than the level's. As
 * long as half the sets foretell more, they are it; where they foretell as much, either may be.
 */
static void coarsen(const struct pb_tlb_search *search, const struct pb_tlb_sweeps *sweeps,
                    struct pb_tlb_sets *sets, struct tally *tally, uint16_t *set_of_place)
{
    const uint64_t span = search->span_bytes; /* shorter strides show fewer entries */
    bool found = true;

    hold(search, sweeps, span, sets, tally, set_of_place);
    sets->finest_sets = sets->set_count;
    while (found) {
        struct pb_tlb_sets best = *sets;

        found = false;
        for (size_t i = 0; i < sets->mask_count; i++) {
            for (size_t j = i; j < sets->mask_count; j++) {
                struct pb_tlb_sets half = halve(sets, i, j);

                hold(search, sweeps, span, &half, tally, set_of_place);
                if (half.right < best.right || (found && half.right == best.right))
                    continue;
                half.finest_sets = half.right > sets->right ? half.set_count : sets->finest_sets;
                best = half;
                found = true;
            }
        }
        best.guessed |= found;
        *sets = best;
    }
}

/* The index by the sweeps [first, end), held against all of them. */
static enum pb_status find_index(const struct pb_tlb_search *search,
                                 const struct pb_tlb_sweeps *sweeps, size_t first, size_t end,
                                 struct pb_tlb_sets *sets, struct pb_error *err)
{
    struct pb_gf2_span tried = {.rank = 0}, same = {.rank = 0};
    size_t places = 0;
    struct tally *tally;
    uint16_t *set_of_place;
    enum pb_status status = PB_OK;

    for (size_t i = first; i < end && status == PB_OK; i++)
        if (sweeps->items[i].stride_bytes >= search->span_bytes)
            status = learn(search, &sweeps->items[i], &tried, &same, err);
    if (status != PB_OK)
        return status;
    if (same.rank == 0 || tried.rank > BITS_MAX + same.rank)
        return pb_fail(err, PB_NOT_FOUND,
                       "too few pages begin to miss with the one that was added");
    for (size_t i = 0; i < sweeps->count; i++)
        places = sweeps->items[i].places > places ? sweeps->items[i].places : places;
    tally = malloc(sizeof(*tally));
    set_of_place = calloc(places + 1, sizeof(*set_of_place));
    if (tally == NULL || set_of_place == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu places", places);
    } else {
        sets->mask_count = pb_gf2_masks(&tried, &same, sets->masks);
        sets->told = pb_gf2_told(&tried);
        coarsen(search, sweeps, sets, tally, set_of_place);
        hold(search, sweeps, 0, sets, tally, set_of_place);
        if (!is_proven(sets, tally))
            status = pb_fail(err, PB_NOT_FOUND,
                             "%zu sets of %zu, by pages that begin to miss together, predict only "
                             "%zu of %zu accesses, and %zu of %zu misses",
                             sets->set_count, sets->ways, sets->foretold, sets->seen,
                             sets->foretold_misses, sets->misses);
    }
    free(set_of_place);
    free(tally);
    return status;
}

/* Masks of numbers of entries become masks of addresses. */
static void shift_masks(struct pb_tlb_sets *sets, uint64_t span_bytes)
{
    for (size_t i = 0; i < sets->mask_count; i++)
        sets->masks[i] *= span_bytes;
    sets->told *= span_bytes;
}

enum pb_status pb_tlb_find_sets(const struct pb_recording *recordings, size_t count,
                                uint64_t span_bytes, double entries, double miss_cycles,
                                struct pb_tlb_sets *sets_out, struct pb_error *err)
{
    const struct pb_tlb_search search = {
        .span_bytes = span_bytes, .entries = entries, .miss_cycles = miss_cycles};
    struct pb_tlb_sweeps sweeps = {NULL, 0};
    struct pb_tlb tlb[2] = {{NULL}};
    struct pb_tlb_sets sets = {.mask_count = 0};
    size_t first[3] = {0, 0, 0};
    enum pb_status status = PB_OK, found = PB_NOT_FOUND;

    for (size_t i = 0; i < 2 && status == PB_OK; i++) {
        status = i < count ? pb_tlb_read_walks(&recordings[i], 1, &tlb[i], err) : PB_NOT_FOUND;
        if (status == PB_OK)
            status = pb_tlb_add_sweeps(&search, &tlb[i], &sweeps, err);
        first[i + 1] = sweeps.count;
        status = status == PB_NOT_FOUND ? PB_OK : status;
    }
    for (size_t i = 0; i < 2 && status == PB_OK && found == PB_NOT_FOUND; i++)
        if (first[i + 1] > first[i])
            found = find_index(&search, &sweeps, first[i], first[i + 1], &sets, err);
    if (status == PB_OK && found == PB_NOT_FOUND && sweeps.count > 0) /* arrays lie far apart */
        found = find_index(&search, &sweeps, 0, sweeps.count, &sets, err);
    pb_tlb_clear_sweeps(&sweeps);
    for (size_t i = 0; i < 2; i++)
        pb_tlb_clear(&tlb[i]);
    if (status != PB_OK || found != PB_OK)
        return status != PB_OK ? status : found;
    shift_masks(&sets, span_bytes);
    *sets_out = sets;
    return PB_OK;
}

enum pb_status pb_tlb_find_sets_of(const struct pb_tlb *tlb, size_t level, uint64_t span_bytes,
                                   struct pb_tlb_sets *sets_out, struct pb_error *err)
{
    const struct pb_tlb_search search = {.span_bytes = span_bytes, .level = level};
    struct pb_tlb_sweeps sweeps = {NULL, 0};
    struct pb_tlb_sets sets = {.mask_count = 0};
    enum pb_status status = pb_tlb_add_sweeps(&search, tlb, &sweeps, err);

    if (status == PB_OK)
        status = find_index(&search, &sweeps, 0, sweeps.count, &sets, err);
    pb_tlb_clear_sweeps(&sweeps);
    if (status != PB_OK)
        return status;
    shift_masks(&sets, span_bytes);
    *sets_out = sets;
    return PB_OK;
}
