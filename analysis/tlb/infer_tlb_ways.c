/*
 * set_count and way_counts of a level of translation: with an LRU, every page beyond the reach
 * makes one set more miss as a whole; the counts must add up to all entries.
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

/* What a walk shows of an entry, the surest last. */
enum sight { UNSEEN, HIT, OPEN, MISS };

/* A spike looks like a miss of L2 as well more often than like a kind of access of its own. */
enum { WEIGHT = 1, WEIGHT_OF_KIND = 2 };

struct look {
    enum sight sight;
    int weight;
};

/* One entry of the level, by walks over ever more: it hits, then it misses, as most agree. */
struct entry {
    uint64_t hits_until;  /* the number of entries up to which hits are most ahead of misses, */
    uint64_t misses_from; /* and the first one behind it with which it missed; 0: none */
    int votes;            /* hits less misses with as many entries, by weight; */
    int lead, most;       /* with all so far, and the most there were */
    bool missed;          /* when it was seen last */
    size_t set;           /* from 1 on; 0: not known */
};

/* Sets as they overflow one after the other. */
struct sets {
    double ways[PB_LIST_MAX];
    size_t count;
    double sum;
    bool whole; /* all entries accounted for */
};

/* A level followed entry by entry. */
struct follower {
    const struct pb_tlb_view *view;
    uint64_t stride_bytes, base_address;
    size_t fits;           /* entries */
    size_t last;           /* walks over more are not followed */
    struct entry *entries; /* [last] */
    struct look *looks;    /* [last] of one walk */
    size_t *set_of;        /* [last] from 1 on, once all are found; 0: not known */
    size_t hits, returns;  /* hits in all, and those after a miss */
};

/* Of several pages of an entry only the first can miss. */
static void look(struct follower *follower, size_t level, const struct pb_tlb_walk *walk)
{
    const struct pb_tlb *tlb = follower->view->tlb;

    memset(follower->looks, 0, follower->last * sizeof(*follower->looks));
    for (size_t i = 0; i < walk->accesses.count; i++) {
        uint64_t entry = walk->accesses.index_bytes[i] / follower->view->span_bytes;
        enum sight here = OPEN;

        if (entry >= follower->last)
            continue;
        if (pb_tlb_misses(tlb, walk, i, level))
            here = MISS;
        else if (pb_tlb_hits(tlb, walk, i, level))
            here = HIT;
        if (here > follower->looks[entry].sight)
            follower->looks[entry] =
                (struct look){here, pb_tlb_hits_l2(tlb, walk, i) ? WEIGHT_OF_KIND : WEIGHT};
    }
}

/* Where two cuts are as good as each other, an entry begins to miss in between. */
static void count_votes(struct follower *follower, uint64_t n)
{
    for (size_t i = 0; i < follower->last; i++) {
        struct entry *entry = &follower->entries[i];

        entry->lead += entry->votes;
        if (entry->lead > entry->most)
            entry->hits_until = n;
        if (entry->lead >= entry->most && entry->votes > 0)
            entry->misses_from = 0;
        else if (entry->votes < 0 && entry->misses_from == 0)
            entry->misses_from = n;
        entry->most = entry->lead > entry->most ? entry->lead : entry->most;
        entry->votes = 0;
    }
}

/* Takes note of a walk over n entries. */
static void add_walk(struct follower *follower, const struct pb_tlb_walk *walk, size_t n)
{
    look(follower, follower->view->level, walk);
    for (size_t i = 0; i < n; i++) {
        struct entry *entry = &follower->entries[i];
        struct look here = follower->looks[i];

        if (here.sight != HIT && here.sight != MISS)
            continue;
        follower->hits += here.sight == HIT;
        follower->returns += here.sight == HIT && entry->missed;
        entry->missed = here.sight == MISS;
        entry->votes += entry->missed ? -here.weight : here.weight;
    }
}

/* Walks over whole entries, or over one page more, which takes another entry. */
static void read_walks(struct follower *follower)
{
    const struct pb_tlb *tlb = follower->view->tlb;
    uint64_t per_entry = follower->view->span_bytes / follower->stride_bytes, before = 0;
    size_t first, count;

    for (size_t i = 0; i < follower->last; i++)
        follower->entries[i].hits_until = i < follower->fits ? follower->fits : i;
    pb_tlb_range(tlb, follower->stride_bytes, &first, &count);
    for (size_t i = first; i < first + count; i++) {
        uint64_t rest = tlb->walks[i].pages % per_entry;
        uint64_t n = tlb->walks[i].pages / per_entry + (rest > 0);

        if (n <= follower->fits || n >= follower->last || rest > 1 ||
            tlb->walks[i].base_address != tlb->walks[first].base_address ||
            !pb_tlb_is_whole(&tlb->walks[i]))
            continue;
        if (n != before)
            count_votes(follower, before);
        before = n;
        add_walk(follower, &tlb->walks[i], (size_t)n);
    }
    count_votes(follower, before);
    if (count > 0)
        follower->base_address = tlb->walks[first].base_address;
}

/* Beyond the level an entry misses from the first; else it is seen to begin, if no spike hides it.
 */
static uint64_t begins(const struct follower *follower, size_t i)
{
    const struct entry *entry = &follower->entries[i];

    if (entry->misses_from == 0 || i >= follower->fits)
        return entry->misses_from == 0 ? 0 : entry->hits_until + 1;
    return entry->misses_from == entry->hits_until + 1 ? entry->misses_from : 0;
}

/* The entries that begin to miss with so many are a set, the last of them the one too many. */
static bool add_set(struct follower *follower, size_t n, struct sets *sets)
{
    size_t members = 0;

    if (sets->count == PB_LIST_MAX || begins(follower, n - 1) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        members += begins(follower, i) == n;
    if (members == 1) /* of a set that overflowed before */
        return true;
    sets->count++;
    for (size_t i = 0; i < n; i++)
        if (begins(follower, i) == n)
            follower->entries[i].set = sets->count;
    return true;
}

/* How far the nearest other entry of a set is; SIZE_MAX: there is none. */
static size_t nearest(const struct follower *follower, size_t set, size_t from)
{
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < follower->fits; i++) {
        size_t apart = i > from ? i - from : from - i;

        if (follower->entries[i].set == set && i != from && apart < least)
            least = apart;
    }
    return least;
}

/* How near to each other two entries of a set come; *regular_out: each has one so near. */
static size_t spacing(const struct follower *follower, size_t set, bool *regular_out)
{
    size_t least = SIZE_MAX, most = 0;

    for (size_t i = 0; i < follower->fits; i++) {
        size_t apart = follower->entries[i].set == set ? nearest(follower, set, i) : 0;

        least = apart > 0 && apart < least ? apart : least;
        most = apart > most ? apart : most;
    }
    *regular_out = least == most;
    return least;
}

/*
 * An entry whose beginning a spike hides is of the only set around that it suits, unless it may as
 * well be of one whose entries come at no regular distance.
 */
static void place(struct follower *follower, size_t i)
{
    struct entry *entry = &follower->entries[i];
    size_t found = 0;

    for (size_t k = follower->fits; k < follower->last; k++) {
        size_t set = follower->entries[k].set;
        bool regular, suits;

        if (set == 0 || k < entry->hits_until || k >= entry->misses_from)
            continue;
        suits = nearest(follower, set, i) == spacing(follower, set, &regular);
        if ((suits && found > 0) || (!suits && !regular))
            return;
        found = suits ? set : found;
    }
    entry->set = found;
}

/* Counts sets and their ways, once walks are read. */
static void count_sets(struct follower *follower, struct sets *sets)
{
    for (size_t n = follower->fits + 1; n < follower->last; n++)
        if (!add_set(follower, n, sets))
            break;
    for (size_t i = 0; i < follower->fits; i++)
        if (follower->entries[i].set == 0)
            place(follower, i);
    for (size_t i = 0; i < follower->fits; i++)
        if (follower->entries[i].set > 0) {
            sets->ways[follower->entries[i].set - 1]++;
            sets->sum++;
        }
}

/* The set of an access that asks the level: what misses those before. 0: it does not. */
static size_t set_asked(const struct follower *follower, const struct pb_tlb_walk *walk, size_t i)
{
    size_t at = (size_t)(walk->accesses.index_bytes[i] / follower->view->span_bytes);
    size_t level = follower->view->level;

    if (at >= follower->last ||
        (level > 1 && !pb_tlb_misses(follower->view->tlb, walk, i, level - 1)))
        return 0;
    return follower->entries[at].set;
}

/*
 * Do the same entries miss where others between them are left out? Of a tree-PLRU, pages that begin
 * to miss together are no set.
 */
static bool holds_farther(struct follower *follower, const struct sets *sets,
                          const struct pb_tlb_walk *walk)
{
    double held[PB_LIST_MAX + 1] = {0.0};

    for (size_t i = 0; i < walk->accesses.count; i++)
        held[set_asked(follower, walk, i)]++;
    for (size_t i = 0; i < walk->accesses.count; i++) {
        size_t set = set_asked(follower, walk, i);

        if (set > 0 && held[set] > sets->ways[set - 1] &&
            pb_tlb_hits(follower->view->tlb, walk, i, follower->view->level))
            return false;
    }
    return true;
}

/* At all strides of whole entries over the same pages, as far as their sets are known. */
static bool is_confirmed(struct follower *follower, const struct sets *sets)
{
    const struct pb_tlb *tlb = follower->view->tlb;
    size_t known = follower->fits;

    while (known < follower->last && follower->entries[known].set > 0)
        known++;
    for (size_t i = 0; i < tlb->walk_count; i++) {
        const struct pb_tlb_walk *walk = &tlb->walks[i];
        uint64_t apart = walk->stride_bytes / follower->view->span_bytes;

        if (apart > 1 && walk->base_address == follower->base_address &&
            (walk->pages - 1) * apart < known && !holds_farther(follower, sets, walk))
            return false;
    }
    return true;
}

/*
 * In the order in which addresses come to them, from a whole number of turns through the level on:
 * where the array begins does not matter.
 */
static void put_in_order(const struct follower *follower, struct sets *sets)
{
    size_t begun = (size_t)(follower->base_address / follower->view->span_bytes % follower->fits);
    double ways[PB_LIST_MAX] = {0.0};
    bool seen[PB_LIST_MAX] = {false};
    size_t count = 0;

    for (size_t i = 0; i < follower->fits && count < sets->count; i++) {
        size_t at = (follower->fits - begun + i) % follower->fits;
        size_t set = follower->entries[at].set - 1;

        if (!seen[set])
            ways[count++] = sets->ways[set];
        seen[set] = true;
    }
    memcpy(sets->ways, ways, count * sizeof(ways[0]));
}

/* An LRU's entry does not hit again with more of them, but for what only looked like a miss. */
static bool is_lru(const struct follower *follower)
{
    return follower->returns <= 1 + follower->hits / 256;
}

static void state_index(const struct pb_case *at, const struct follower *follower,
                        const struct sets *sets, double confidence)
{
    struct pb_tlb_members members = {
        .first = follower->base_address / follower->view->span_bytes,
        .span_bytes = follower->view->span_bytes,
        .sets = follower->set_of,
        .count = follower->last,
        .set_count = sets->count,
        .equal = pb_tlb_are_equal(sets->ways, sets->count),
    };

    for (size_t i = 0; i < follower->last; i++)
        follower->set_of[i] = follower->entries[i].set;
    pb_tlb_state_members(at, &members, confidence);
}

/*
 * With entry_count entries, walks every number of entries from there on, pages so far apart. States
 * the index where the sets come out whole. PB_NO_MEMORY.
 */
static enum pb_status follow_sets(const struct pb_case *at, const struct pb_tlb_view *view,
                                  uint64_t stride_bytes, uint64_t entry_count, double confidence,
                                  struct sets *sets_out, struct pb_error *err)
{
    struct follower follower = {.view = view,
                                .stride_bytes = stride_bytes,
                                .fits = (size_t)entry_count,
                                .last = (size_t)entry_count + PB_LIST_MAX + 1};
    enum pb_status status = PB_OK;

    follower.entries = calloc(follower.last, sizeof(*follower.entries));
    follower.looks = calloc(follower.last, sizeof(*follower.looks));
    follower.set_of = calloc(follower.last, sizeof(*follower.set_of));
    *sets_out = (struct sets){.count = 0};
    if (follower.entries != NULL && follower.looks != NULL && follower.set_of != NULL) {
        read_walks(&follower);
        count_sets(&follower, sets_out);
        sets_out->whole = sets_out->sum == (double)entry_count && is_lru(&follower) &&
                          is_confirmed(&follower, sets_out);
        if (sets_out->whole) {
            put_in_order(&follower, sets_out);
            state_index(at, &follower, sets_out, confidence);
        }
    } else {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu entries", follower.last);
    }
    free(follower.entries);
    free(follower.looks);
    free(follower.set_of);
    return status;
}

enum pb_status pb_tlb_state_ways(const struct pb_case *at, const struct pb_tlb_view *view,
                                 uint64_t entry_count, double confidence, struct pb_error *err)
{
    struct sets sets = {.count = 0};
    /* A page an entry makes the shortest walks; several show the same where that was not walked. */
    enum pb_status status =
        follow_sets(at, view, view->span_bytes, entry_count, confidence, &sets, err);

    if (status == PB_OK && !sets.whole && view->span_bytes != view->stride_bytes)
        status = follow_sets(at, view, view->stride_bytes, entry_count, confidence, &sets, err);
    if (status == PB_OK && sets.whole && sets.count > 0)
        pb_tlb_state_list(at, sets.ways, sets.count, confidence);
    else if (status == PB_OK)
        pb_parameter_set_none(pb_case_answer(at, "way_counts"),
                              "sets that overflow one after the other hold %.0f of %llu entries: "
                              "not LRU, or the sweep is too short or too coarse",
                              sets.sum, (unsigned long long)entry_count);
    return status;
}
