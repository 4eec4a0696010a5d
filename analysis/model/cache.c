/* The store of lines: find, choose a victim, note the use. See cache.h. */
#include "analysis/model/cache.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/model/parities.h"
#include "analysis/model/tree.h"
#include "core/order.h"

enum { SEARCHED_WAYS_MAX = 16 }; /* of wider sets the lines are hashed */

static const uint32_t NONE = UINT32_MAX;   /* no slot */
static const uint64_t ABSENT = UINT64_MAX; /* no line */

/* A slot's neighbours in the order of use, or of filling. */
struct link {
    uint32_t older, newer;
};

struct ends {
    uint32_t oldest, newest;
};

struct line {
    struct link link;
    uint32_t sectors; /* there or in flight */
    uint32_t rank;    /* the list that holds it */
    uint32_t hits;    /* KEEP_HITS: of the last ones in its set */
};

/* The lists of a set: lines of a lower rank go first. */
enum { RANK_FIRST, RANK_ORDINARY, RANK_KEPT /* KEEP_HITS */, RANK_LAST, RANKS };

/* A set that makes room for another one has to have a line of these ranks, while there are any. */
enum { CLASS_FIRST, CLASS_ORDINARY, CLASS_LAST, CLASSES };

/* A set owns the slots [first, first + ways); `filled` of them have held a line. */
struct set {
    uint32_t epoch; /* not the cache's: it is empty */
    uint32_t first, ways, filled, holes;
    uint32_t next_hit; /* KEEP_HITS: where its segment of last_hits goes on */
    bool has_random_victim;
    struct ends ends[RANKS];
};

struct entry {
    uint32_t epoch, slot;
    uint64_t line;
};

struct pb_model_cache {
    struct pb_model_shape shape; /* without its pointers */
    unsigned line_shift, sector_shift, sector_count;
    uint64_t set_mask; /* of line numbers; 0: there is an index, or sets are no power of two */
    uint32_t epoch;
    struct set *sets;
    uint64_t *numbers;  /* [slots] of the lines */
    struct line *lines; /* [slots] */
    double *ready;      /* [slots * sector_count] NULL: no time was given yet */
    /* Where sets are wide: line number -> slot, open addressing. */
    struct entry *entries;
    unsigned entry_shift;
    uint32_t entry_mask;
    struct pb_parities *index; /* NULL: line number modulo sets */
    uint32_t
        *last_hits; /* [slot_count] KEEP_HITS: of each set's segment the first half of its ways */
    unsigned char *trees; /* [set_count][2 * leaves] plru; see tree.h */
    uint32_t leaves;
    double *weights; /* cumulative */
    uint64_t random;
    bool has_random_victim, is_short; /* a victim was chosen at random; the capacity was reached */
    uint64_t *turns; /* [set_count] sets in the order in which they lose a line to others;
                        NULL: capacity_lines limits nothing */
    size_t next_turn, held, slot_count;
    size_t held_of[CLASSES]; /* of those held */
};

static const char *const policy_names[PB_MODEL_POLICY_COUNT] = {"lru",    "fifo",     "plru",
                                                                "random", "weighted", "keep_hits"};

const char *pb_model_policy_name(enum pb_model_policy policy)
{
    return policy_names[policy];
}

enum pb_model_policy pb_model_policy_parse(const char *word)
{
    int policy = 0;

    while (policy < PB_MODEL_POLICY_COUNT && strcmp(policy_names[policy], word) != 0)
        policy++;
    return (enum pb_model_policy)policy;
}

/* Order of use */

static void list_clear(struct ends *ends)
{
    ends->oldest = ends->newest = NONE;
}

static void list_take(struct line *lines, struct ends *ends, uint32_t slot)
{
    struct link own = lines[slot].link;

    if (own.older == NONE)
        ends->oldest = own.newer;
    else
        lines[own.older].link.newer = own.newer;
    if (own.newer == NONE)
        ends->newest = own.older;
    else
        lines[own.newer].link.older = own.older;
}

static void list_append(struct line *lines, struct ends *ends, uint32_t slot)
{
    lines[slot].link = (struct link){ends->newest, NONE};
    if (ends->newest == NONE)
        ends->oldest = slot;
    else
        lines[ends->newest].link.newer = slot;
    ends->newest = slot;
}

/* Where an address belongs */

uint64_t pb_model_cache_line(const struct pb_model_cache *cache, uint64_t address)
{
    return address >> cache->line_shift;
}

size_t pb_model_cache_set(const struct pb_model_cache *cache, uint64_t address)
{
    if (cache->set_mask != 0)
        return address >> cache->line_shift & cache->set_mask;
    if (cache->shape.set_count == 1)
        return 0;
    if (cache->index == NULL)
        return (address >> cache->line_shift) % cache->shape.set_count;
    return pb_parities_index(cache->index, address);
}

uint64_t pb_model_cache_sector(const struct pb_model_cache *cache, uint64_t address)
{
    return address >> cache->sector_shift;
}

size_t pb_model_cache_sets(const struct pb_model_cache *cache)
{
    return cache->shape.set_count;
}

size_t pb_model_cache_ways(const struct pb_model_cache *cache, size_t set)
{
    return cache->sets[set].ways;
}

size_t pb_model_cache_capacity(const struct pb_model_cache *cache)
{
    return cache->turns != NULL ? cache->shape.capacity_lines : cache->slot_count;
}

uint32_t pb_model_cache_sectors(const struct pb_model_cache *cache, uint64_t address,
                                uint64_t bytes)
{
    uint64_t inside = cache->shape.line_bytes - 1;
    uint64_t last = (address & inside) + (bytes > 0 ? bytes - 1 : 0);
    unsigned low = (unsigned)((address & inside) >> cache->sector_shift);
    unsigned high = (unsigned)((last < inside ? last : inside) >> cache->sector_shift);

    return (UINT32_MAX >> (31 - (high - low))) << low;
}

/* The hash of wide sets */

static uint32_t entry_of(const struct pb_model_cache *cache, uint64_t line)
{
    return (uint32_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> cache->entry_shift);
}

static bool is_used(const struct pb_model_cache *cache, uint32_t at)
{
    return cache->entries[at].epoch == cache->epoch;
}

static uint32_t hash_find(const struct pb_model_cache *cache, uint64_t line)
{
    for (uint32_t at = entry_of(cache, line); is_used(cache, at); at = (at + 1) & cache->entry_mask)
        if (cache->entries[at].line == line)
            return cache->entries[at].slot;
    return NONE;
}

static void hash_put(struct pb_model_cache *cache, uint64_t line, uint32_t slot)
{
    uint32_t at = entry_of(cache, line);

    while (is_used(cache, at))
        at = (at + 1) & cache->entry_mask;
    cache->entries[at] = (struct entry){cache->epoch, slot, line};
}

/* Closes the gap, so that no search ends before its line. */
static void hash_take(struct pb_model_cache *cache, uint64_t line)
{
    uint32_t mask = cache->entry_mask, gap = entry_of(cache, line), at;

    while (cache->entries[gap].line != line)
        gap = (gap + 1) & mask;
    for (at = (gap + 1) & mask; is_used(cache, at); at = (at + 1) & mask) {
        uint32_t home = entry_of(cache, cache->entries[at].line);

        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        cache->entries[gap] = cache->entries[at];
        gap = at;
    }
    cache->entries[gap].epoch = cache->epoch - 1;
}

/* Sets and victims */

static unsigned char *tree_of(struct pb_model_cache *cache, const struct set *set)
{
    return cache->trees + 2 * cache->leaves * (size_t)(set - cache->sets);
}

static void empty_set(struct pb_model_cache *cache, struct set *set)
{
    set->epoch = cache->epoch;
    set->filled = set->holes = set->next_hit = 0;
    set->has_random_victim = false;
    for (uint32_t i = 0; cache->last_hits != NULL && i < set->ways / 2; i++)
        cache->last_hits[set->first + i] = NONE;
    for (size_t rank = 0; rank < RANKS; rank++)
        list_clear(&set->ends[rank]);
    if (cache->trees != NULL)
        memset(tree_of(cache, set), 0, 2 * (size_t)cache->leaves);
}

static inline struct set *open_set(struct pb_model_cache *cache, size_t index)
{
    struct set *set = &cache->sets[index];

    if (set->epoch != cache->epoch)
        empty_set(cache, set);
    return set;
}

static uint32_t find(const struct pb_model_cache *cache, const struct set *set, uint64_t line)
{
    const uint64_t *numbers = &cache->numbers[set->first];

    if (cache->entries != NULL)
        return hash_find(cache, line);
    for (uint32_t way = 0; way < set->filled; way++)
        if (numbers[way] == line)
            return set->first + way;
    return NONE;
}

/* SplitMix64, by Steele, Lea and Flood; uniform in [0, 1). */
static double draw(struct pb_model_cache *cache)
{
    uint64_t z = cache->random += UINT64_C(0x9e3779b97f4a7c15);

    cache->has_random_victim = true;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static uint32_t draw_way(struct pb_model_cache *cache, uint32_t ways)
{
    uint32_t way = 0;
    double at = draw(cache);

    if (cache->weights == NULL)
        return (uint32_t)(at * ways);
    at *= cache->weights[ways - 1];
    while (way + 1 < ways && cache->weights[way] <= at)
        way++;
    return way;
}

/* A way of the set that lost its line to the capacity of the whole. */
static uint32_t find_hole(const struct pb_model_cache *cache, const struct set *set)
{
    uint32_t slot = set->first;

    while (cache->numbers[slot] != ABSENT)
        slot++;
    return slot;
}

static unsigned class_of(uint32_t rank)
{
    return rank == RANK_FIRST ? CLASS_FIRST : rank == RANK_LAST ? CLASS_LAST : CLASS_ORDINARY;
}

/* The line that goes first of those in order; there is one. */
static uint32_t first_to_go(const struct set *set)
{
    uint32_t rank = 0;

    while (set->ends[rank].oldest == NONE)
        rank++;
    return set->ends[rank].oldest;
}

/* The slot that a missing line takes. */
static uint32_t choose(struct pb_model_cache *cache, struct set *set)
{
    if (set->holes > 0)
        return find_hole(cache, set);
    if (set->filled < set->ways)
        return set->first + set->filled;
    switch (cache->shape.policy) {
    case PB_MODEL_PLRU:
        return set->first +
               pb_tree_victim(tree_of(cache, set), pb_tree_leaves(set->ways), set->ways);
    case PB_MODEL_RANDOM:
    case PB_MODEL_WEIGHTED:
        set->has_random_victim = true;
        return set->first + draw_way(cache, set->ways);
    default:
        return first_to_go(set);
    }
}

static bool keeps_order(const struct pb_model_cache *cache)
{
    enum pb_model_policy policy = cache->shape.policy;

    return policy == PB_MODEL_LRU || policy == PB_MODEL_FIFO || policy == PB_MODEL_KEEP_HITS;
}

/* Takes the line of a slot out of all that knows it. */
static void remove_line(struct pb_model_cache *cache, struct set *set, uint32_t slot)
{
    struct line *line = &cache->lines[slot];

    if (cache->entries != NULL)
        hash_take(cache, cache->numbers[slot]);
    if (keeps_order(cache))
        list_take(cache->lines, &set->ends[line->rank], slot);
    for (uint32_t i = 0; line->hits > 0 && i < set->ways / 2; i++)
        if (cache->last_hits[set->first + i] == slot)
            cache->last_hits[set->first + i] = NONE;
    line->hits = 0;
    cache->held_of[class_of(line->rank)]--;
    cache->held--;
}

/* The line that a set which is not full loses; it holds one at least. */
static uint32_t choose_present(struct pb_model_cache *cache, struct set *set)
{
    uint32_t way;

    if (keeps_order(cache))
        return first_to_go(set);
    if (cache->shape.policy == PB_MODEL_PLRU)
        way =
            pb_tree_victim(tree_of(cache, set), pb_tree_leaves(set->ways), set->ways) % set->filled;
    else
        way = draw_way(cache, set->filled);
    while (cache->numbers[set->first + way] == ABSENT)
        way = (way + 1) % set->filled;
    return set->first + way;
}

/* Has the set a line that goes before those of all other sets? */
static bool may_make_room(const struct pb_model_cache *cache, const struct set *set)
{
    bool has_first = set->ends[RANK_FIRST].oldest != NONE;
    bool has_ordinary =
        set->ends[RANK_ORDINARY].oldest != NONE || set->ends[RANK_KEPT].oldest != NONE;

    if (set->filled == set->holes)
        return false;
    if (!keeps_order(cache))
        return true;
    if (cache->held_of[CLASS_FIRST] > 0)
        return has_first;
    return has_ordinary || cache->held_of[CLASS_ORDINARY] == 0;
}

/*
 * The store of the data is full though the set is not: the sets lose a line in turn, each the one
 * that its policy gives up. So an H200's L1 does: of loops that are too long it loses what this
 * predicts, pass for pass (tests/gpu/l1_replacement.cu). The order of the sets is not known; it is
 * none that loops over lines follow.
 */
static void evict_in_turn(struct pb_model_cache *cache, struct pb_model_lookup *lookup)
{
    struct set *set;
    uint32_t slot;

    do {
        set = open_set(cache, (size_t)cache->turns[cache->next_turn]);
        cache->next_turn = (cache->next_turn + 1) % cache->shape.set_count;
    } while (!may_make_room(cache, set));
    slot = choose_present(cache, set);
    lookup->has_evicted = true;
    lookup->evicted_line = cache->numbers[slot];
    cache->is_short = true;
    remove_line(cache, set, slot);
    cache->numbers[slot] = ABSENT;
    set->holes++;
}

/* Evicts what has to go, and gives the line a slot without any sector. */
static uint32_t place(struct pb_model_cache *cache, struct set *set, uint64_t number,
                      struct pb_model_lookup *lookup)
{
    uint32_t slot = choose(cache, set);
    bool is_fresh = slot == set->first + set->filled;

    if (!is_fresh && cache->numbers[slot] != ABSENT) {
        lookup->has_evicted = true;
        lookup->evicted_line = cache->numbers[slot];
        remove_line(cache, set, slot);
    } else {
        if (cache->turns != NULL && cache->held == cache->shape.capacity_lines)
            evict_in_turn(cache, lookup);
        set->filled += is_fresh;
        set->holes -= !is_fresh;
    }
    cache->numbers[slot] = number;
    cache->lines[slot].sectors = 0;
    cache->lines[slot].rank = RANK_ORDINARY;
    cache->lines[slot].hits = 0;
    if (cache->entries != NULL)
        hash_put(cache, number, slot);
    if (keeps_order(cache))
        list_append(cache->lines, &set->ends[RANK_ORDINARY], slot);
    cache->held_of[CLASS_ORDINARY]++;
    cache->held++;
    return slot;
}

static void move_line(struct pb_model_cache *cache, struct set *set, uint32_t slot, uint32_t rank)
{
    struct line *line = &cache->lines[slot];

    list_take(cache->lines, &set->ends[line->rank], slot);
    if (line->rank != rank) {
        cache->held_of[class_of(line->rank)]--;
        cache->held_of[class_of(rank)]++;
        line->rank = rank;
    }
    list_append(cache->lines, &set->ends[rank], slot);
}

/* The line is of the set's last hits, and the one that is no longer goes back to the others. */
static void keep_hit(struct pb_model_cache *cache, struct set *set, uint32_t slot)
{
    uint32_t *oldest = &cache->last_hits[set->first + set->next_hit], former = *oldest;

    *oldest = slot;
    set->next_hit = set->next_hit + 1 < set->ways / 2 ? set->next_hit + 1 : 0;
    cache->lines[slot].hits++;
    move_line(cache, set, slot, RANK_KEPT);
    if (former != NONE && --cache->lines[former].hits == 0 &&
        cache->lines[former].rank == RANK_KEPT)
        move_line(cache, set, former, RANK_ORDINARY);
}

/* What a use of a line that is there changes in the order. */
static void note_use(struct pb_model_cache *cache, struct set *set, uint32_t slot)
{
    const struct line *line = &cache->lines[slot];
    enum pb_model_policy policy = cache->shape.policy;

    if (policy == PB_MODEL_KEEP_HITS && set->ways > 1 && line->rank <= RANK_KEPT)
        keep_hit(cache, set, slot);
    else if (policy != PB_MODEL_FIFO && keeps_order(cache) && line->link.newer != NONE)
        move_line(cache, set, slot, line->rank);
}

/* Those of the sectors there that have not arrived, and when the last one will. */
static uint32_t find_in_flight(const struct pb_model_cache *cache, uint32_t slot, uint32_t sectors,
                               double time, double *ready_out)
{
    const double *ready = &cache->ready[(size_t)slot * cache->sector_count];
    uint32_t in_flight = 0;

    for (uint32_t left = sectors; left != 0; left &= left - 1) {
        unsigned sector = (unsigned)__builtin_ctz(left);

        if (ready[sector] <= time)
            continue;
        in_flight |= UINT32_C(1) << sector;
        *ready_out = ready[sector] > *ready_out ? ready[sector] : *ready_out;
    }
    return in_flight;
}

static void set_ready(struct pb_model_cache *cache, uint32_t slot, uint32_t sectors, double time)
{
    double *ready = &cache->ready[(size_t)slot * cache->sector_count];

    for (uint32_t left = sectors; left != 0; left &= left - 1)
        ready[__builtin_ctz(left)] = time;
}

/* The line's slot, where it is from now on; lookup: of a set that has ways. */
static uint32_t take_line(struct pb_model_cache *cache, struct set *set, uint64_t number,
                          struct pb_model_lookup *lookup)
{
    uint32_t slot = find(cache, set, number);

    lookup->is_line_hit = slot != NONE;
    if (slot != NONE)
        note_use(cache, set, slot);
    else
        slot = place(cache, set, number, lookup);
    if (cache->trees != NULL)
        pb_tree_use(tree_of(cache, set), pb_tree_leaves(set->ways), slot - set->first);
    return slot;
}

void pb_model_cache_access(struct pb_model_cache *cache, uint64_t address, uint32_t sectors,
                           double time, struct pb_model_lookup *lookup_out)
{
    struct set *set = open_set(cache, pb_model_cache_set(cache, address));
    struct pb_model_lookup lookup = {.is_certain = !set->has_random_victim && !cache->is_short};
    uint32_t present;

    if (set->ways == 0) { /* its lines are never kept */
        *lookup_out = (struct pb_model_lookup){.missed = sectors, .is_certain = true, .slot = NONE};
        return;
    }
    lookup.slot = take_line(cache, set, address >> cache->line_shift, &lookup);
    present = cache->lines[lookup.slot].sectors & sectors;
    lookup.missed = sectors & ~present;
    if (cache->ready != NULL) {
        lookup.in_flight = find_in_flight(cache, lookup.slot, present, time, &lookup.ready_time);
        set_ready(cache, lookup.slot, lookup.missed, 0.0);
    }
    lookup.hit = present & ~lookup.in_flight;
    cache->lines[lookup.slot].sectors |= sectors;
    *lookup_out = lookup;
}

bool pb_model_cache_touch(struct pb_model_cache *cache, uint64_t address, bool *is_certain_out)
{
    struct set *set = open_set(cache, pb_model_cache_set(cache, address));
    uint64_t inside = cache->shape.line_bytes - 1;
    uint32_t sector = UINT32_C(1) << ((address & inside) >> cache->sector_shift), slot;
    struct pb_model_lookup lookup;
    bool is_hit;

    if (is_certain_out != NULL)
        *is_certain_out = set->ways == 0 || (!set->has_random_victim && !cache->is_short);
    if (set->ways == 0)
        return false;
    slot = take_line(cache, set, address >> cache->line_shift, &lookup);
    is_hit = (cache->lines[slot].sectors & sector) != 0;
    cache->lines[slot].sectors |= sector;
    return is_hit;
}

enum pb_status pb_model_cache_fill(struct pb_model_cache *cache, uint32_t slot, uint32_t sectors,
                                   double ready_time, struct pb_error *err)
{
    size_t count = cache->slot_count * cache->sector_count;

    if (slot == NONE)
        return PB_OK;
    if (cache->ready == NULL)
        cache->ready = calloc(count, sizeof(*cache->ready));
    if (cache->ready == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the times of %zu sectors",
                       count);
    set_ready(cache, slot, sectors, ready_time);
    return PB_OK;
}

static uint32_t find_line(const struct pb_model_cache *cache, uint64_t address)
{
    const struct set *set = &cache->sets[pb_model_cache_set(cache, address)];

    return set->epoch == cache->epoch ? find(cache, set, address >> cache->line_shift) : NONE;
}

uint32_t pb_model_cache_peek(const struct pb_model_cache *cache, uint64_t address, uint32_t sectors)
{
    uint32_t slot = find_line(cache, address);

    return slot == NONE ? 0 : cache->lines[slot].sectors & sectors;
}

void pb_model_cache_invalidate(struct pb_model_cache *cache, uint64_t address, uint32_t sectors)
{
    uint32_t slot = find_line(cache, address);

    if (slot != NONE)
        cache->lines[slot].sectors &= ~sectors;
}

void pb_model_cache_rank(struct pb_model_cache *cache, uint64_t address, enum pb_model_rank rank)
{
    uint32_t slot = find_line(cache, address);
    struct set *set = &cache->sets[pb_model_cache_set(cache, address)];

    if (slot != NONE && keeps_order(cache))
        move_line(cache, set, slot, rank == PB_MODEL_GOES_FIRST ? RANK_FIRST : RANK_LAST);
}

void pb_model_cache_drop(struct pb_model_cache *cache, uint64_t address)
{
    uint32_t slot = find_line(cache, address);
    struct set *set = &cache->sets[pb_model_cache_set(cache, address)];

    if (slot == NONE)
        return;
    remove_line(cache, set, slot);
    cache->numbers[slot] = ABSENT;
    cache->lines[slot].sectors = 0;
    set->holes++;
}

bool pb_model_cache_has_random_victim(const struct pb_model_cache *cache)
{
    return cache->has_random_victim;
}

/* Making one */

void pb_model_cache_clear(struct pb_model_cache *cache)
{
    cache->epoch++;
    if (cache->epoch == 0) { /* after 4 billion times an old number would come back */
        for (size_t i = 0; i < cache->shape.set_count; i++)
            cache->sets[i].epoch = 0;
        for (size_t i = 0; cache->entries != NULL && i <= cache->entry_mask; i++)
            cache->entries[i].epoch = 0;
        cache->epoch = 1;
    }
    cache->held = cache->next_turn = 0;
    memset(cache->held_of, 0, sizeof(cache->held_of));
    cache->has_random_victim = cache->is_short = false;
}

static bool is_power_of_two(uint64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static enum pb_status check_weights(const struct pb_model_shape *shape, struct pb_error *err)
{
    if (shape->policy == PB_MODEL_WEIGHTED && shape->way_weights == NULL)
        return pb_fail(err, PB_INVALID, "policy weighted: expected the weights of the ways");
    return PB_OK;
}

static enum pb_status check_shape(const struct pb_model_shape *shape, struct pb_error *err)
{
    uint64_t sector = shape->sector_bytes > 0 ? shape->sector_bytes : shape->line_bytes;

    if (!is_power_of_two(shape->line_bytes))
        return pb_fail(err, PB_INVALID, "line: expected a power of two, found %llu bytes",
                       (unsigned long long)shape->line_bytes);
    if (!is_power_of_two(sector) || sector > shape->line_bytes ||
        shape->line_bytes / sector > PB_MODEL_SECTORS_MAX)
        return pb_fail(err, PB_INVALID,
                       "sector: expected a power of two from line / %d to line, found %llu bytes",
                       PB_MODEL_SECTORS_MAX, (unsigned long long)sector);
    if (shape->set_count == 0 || shape->set_count > UINT32_MAX / 2)
        return pb_fail(err, PB_INVALID, "sets: expected 1 to %u, found %zu", UINT32_MAX / 2,
                       shape->set_count);
    if (shape->index_mask_count > 0 && (shape->index_mask_count >= PB_MODEL_MASKS_MAX ||
                                        (size_t)1 << shape->index_mask_count != shape->set_count))
        return pb_fail(err, PB_INVALID, "%zu index masks do not choose among %zu sets",
                       shape->index_mask_count, shape->set_count);
    if ((unsigned)shape->policy >= PB_MODEL_POLICY_COUNT)
        return pb_fail(err, PB_INVALID, "policy: %d is none", (int)shape->policy);
    return check_weights(shape, err);
}

/* Slots of all sets; 0: a set without ways, or too many. */
static size_t count_slots(const struct pb_model_shape *shape, size_t *widest_out)
{
    size_t sum = 0, widest = 0;

    for (size_t i = 0; i < shape->set_count; i++) {
        size_t ways = shape->way_counts != NULL ? shape->way_counts[i] : shape->way_count;

        sum += ways;
        widest = ways > widest ? ways : widest;
        if (sum >= UINT32_MAX / 4)
            return 0;
    }
    *widest_out = widest;
    return sum;
}

static bool make_sets(struct pb_model_cache *cache, const struct pb_model_shape *shape)
{
    uint32_t first = 0;

    cache->sets = calloc(shape->set_count, sizeof(*cache->sets));
    for (size_t i = 0; cache->sets != NULL && i < shape->set_count; i++) {
        size_t ways = shape->way_counts != NULL ? shape->way_counts[i] : shape->way_count;

        cache->sets[i].first = first;
        cache->sets[i].ways = (uint32_t)ways;
        first += (uint32_t)ways;
    }
    return cache->sets != NULL;
}

/* At most half of the entries are ever used. */
static bool make_hash(struct pb_model_cache *cache)
{
    unsigned bits = 4;

    while ((size_t)1 << bits < 2 * cache->slot_count)
        bits++;
    cache->entry_shift = 64 - bits;
    cache->entry_mask = (uint32_t)(((size_t)1 << bits) - 1);
    cache->entries = calloc((size_t)1 << bits, sizeof(*cache->entries));
    return cache->entries != NULL;
}

static bool make_index(struct pb_model_cache *cache)
{
    cache->index = malloc(sizeof(*cache->index));
    if (cache->index != NULL)
        pb_parities_make(cache->shape.index_masks, cache->shape.index_mask_count, cache->index);
    return cache->index != NULL;
}

static bool make_weights(struct pb_model_cache *cache, const double *weights, size_t widest)
{
    double sum = 0.0;

    cache->weights = calloc(widest, sizeof(*cache->weights));
    for (size_t way = 0; cache->weights != NULL && way < widest; way++)
        cache->weights[way] = sum += weights[way];
    return cache->weights != NULL;
}

static bool make_turns(struct pb_model_cache *cache)
{
    size_t count = cache->shape.set_count;

    cache->turns = malloc(count * sizeof(*cache->turns));
    for (size_t i = 0; cache->turns != NULL && i < count; i++)
        cache->turns[i] = i;
    if (cache->turns != NULL)
        pb_order_shuffle(cache->turns, count, 1);
    return cache->turns != NULL;
}

static bool make_arrays(struct pb_model_cache *cache, const struct pb_model_shape *shape,
                        size_t widest)
{
    bool is_limited = shape->capacity_lines > 0 && shape->capacity_lines < cache->slot_count;

    cache->leaves = pb_tree_leaves((uint32_t)widest);
    cache->numbers = malloc(cache->slot_count * sizeof(*cache->numbers));
    cache->lines = malloc(cache->slot_count * sizeof(*cache->lines));
    if (shape->policy == PB_MODEL_PLRU)
        cache->trees = malloc(shape->set_count * 2 * cache->leaves);
    if (shape->policy == PB_MODEL_KEEP_HITS)
        cache->last_hits = malloc(cache->slot_count * sizeof(*cache->last_hits));
    return cache->numbers != NULL && cache->lines != NULL &&
           (shape->policy != PB_MODEL_PLRU || cache->trees != NULL) &&
           (shape->policy != PB_MODEL_KEEP_HITS || cache->last_hits != NULL) &&
           (!is_limited || make_turns(cache)) && make_sets(cache, shape) &&
           (widest <= SEARCHED_WAYS_MAX || make_hash(cache)) &&
           (shape->index_mask_count == 0 || make_index(cache)) &&
           (shape->policy != PB_MODEL_WEIGHTED || make_weights(cache, shape->way_weights, widest));
}

enum pb_status pb_model_cache_create(const struct pb_model_shape *shape, uint64_t seed,
                                     struct pb_model_cache **cache_out, struct pb_error *err)
{
    size_t slots, widest = 0;
    struct pb_model_cache *cache;

    if (check_shape(shape, err) != PB_OK)
        return PB_INVALID;
    slots = count_slots(shape, &widest);
    if (slots == 0)
        return pb_fail(err, PB_INVALID, "ways: expected 1 to %u in all", UINT32_MAX / 4);
    cache = calloc(1, sizeof(*cache));
    if (cache != NULL) {
        cache->shape = *shape;
        cache->shape.way_counts = NULL;
        cache->shape.way_weights = NULL;
        if (cache->shape.sector_bytes == 0)
            cache->shape.sector_bytes = shape->line_bytes;
        cache->line_shift = (unsigned)__builtin_ctzll(shape->line_bytes);
        cache->sector_shift = (unsigned)__builtin_ctzll(cache->shape.sector_bytes);
        cache->sector_count = 1u << (cache->line_shift - cache->sector_shift);
        if (shape->index_mask_count == 0 && is_power_of_two(shape->set_count))
            cache->set_mask = shape->set_count - 1;
        cache->slot_count = slots;
        cache->random = seed;
    }
    if (cache == NULL || !make_arrays(cache, shape, widest)) {
        pb_model_cache_destroy(cache);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a cache of %zu lines", slots);
    }
    pb_model_cache_clear(cache);
    *cache_out = cache;
    return PB_OK;
}

void pb_model_cache_destroy(struct pb_model_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->sets);
    free(cache->numbers);
    free(cache->lines);
    free(cache->ready);
    free(cache->entries);
    free(cache->index);
    free(cache->last_hits);
    free(cache->trees);
    free(cache->weights);
    free(cache->turns);
    free(cache);
}
