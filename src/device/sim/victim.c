/* Replacement policies; see victim.h. */
#include "device/sim/victim.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

static enum pb_status sum_weights(const struct pb_sim_shape *shape, struct pb_sim_pool *pool,
                                  struct pb_error *err)
{
    double sum = 0.0;

    pool->cumulative = malloc(shape->ways[0] * sizeof(*pool->cumulative));
    if (pool->cumulative == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u weights", shape->ways[0]);
    for (uint32_t way = 0; way < shape->ways[0]; way++)
        pool->cumulative[way] = sum += shape->weights[way];
    return PB_OK;
}

/* Random victims do not depend on what came before. */
static bool needs_places(const struct pb_sim_shape *shape)
{
    return shape->policy != PB_SIM_POLICY_RANDOM && shape->policy != PB_SIM_POLICY_WEIGHTED;
}

enum pb_status pb_sim_pool_create(const struct pb_sim_shape *shape, struct pb_sim_pool *pool_out,
                                  struct pb_error *err)
{
    struct pb_sim_pool pool = {.shape = shape, .share = 1.0};
    enum pb_status status = PB_OK;
    size_t slot_count;

    for (uint32_t set = 0; set < shape->set_count; set++)
        pool.most_ways = shape->ways[set] > pool.most_ways ? shape->ways[set] : pool.most_ways;
    slot_count = (size_t)pool.most_ways * shape->set_count;
    /* calloc, so that pages of a large cache cost memory only once they are used */
    pool.sets = calloc(shape->set_count, sizeof(*pool.sets));
    if (needs_places(shape))
        pool.places = calloc(slot_count, sizeof(*pool.places));
    if (shape->policy == PB_SIM_POLICY_PLRU)
        pool.tree = calloc(2 * slot_count, sizeof(*pool.tree));
    if (shape->policy == PB_SIM_POLICY_KEEP_HITS)
        pool.last_hits = calloc(slot_count, sizeof(*pool.last_hits));
    if (pool.sets == NULL || (needs_places(shape) && pool.places == NULL) ||
        (shape->policy == PB_SIM_POLICY_KEEP_HITS && pool.last_hits == NULL) ||
        (shape->policy == PB_SIM_POLICY_PLRU && pool.tree == NULL))
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating a cache of %zu lines", slot_count);
    if (status == PB_OK && shape->policy == PB_SIM_POLICY_WEIGHTED)
        status = sum_weights(shape, &pool, err);
    if (status != PB_OK) {
        pb_sim_pool_free(&pool);
        return status;
    }
    *pool_out = pool;
    return PB_OK;
}

void pb_sim_pool_free(struct pb_sim_pool *pool)
{
    free(pool->sets);
    free(pool->places);
    free(pool->last_hits);
    free(pool->tree);
    free(pool->cumulative);
    memset(pool, 0, sizeof(*pool));
}

size_t pb_sim_pool_parts(const struct pb_sim_pool *pool,
                         struct pb_sim_part parts_out[PB_SIM_POOL_PARTS_MAX])
{
    size_t sets = pool->shape->set_count, slots = sets * pool->most_ways, count = 0;

    parts_out[count++] = (struct pb_sim_part){pool->sets, sets * sizeof(*pool->sets)};
    if (pool->places != NULL)
        parts_out[count++] = (struct pb_sim_part){pool->places, slots * sizeof(*pool->places)};
    if (pool->last_hits != NULL)
        parts_out[count++] =
            (struct pb_sim_part){pool->last_hits, slots * sizeof(*pool->last_hits)};
    if (pool->tree != NULL)
        parts_out[count++] = (struct pb_sim_part){pool->tree, 2 * slots * sizeof(*pool->tree)};
    return count;
}

bool pb_sim_pool_start(struct pb_sim_pool *pool, double share)
{
    pool->share = share;
    pool->generation++;
    if (pool->generation != 0)
        return false;
    for (uint32_t set = 0; set < pool->shape->set_count; set++)
        pool->sets[set].generation = 0;
    pool->generation = 1;
    return true;
}

static uint32_t slot_of(const struct pb_sim_pool *pool, uint32_t set, uint32_t way)
{
    return set * pool->most_ways + way;
}

static uint8_t *tree_of(const struct pb_sim_pool *pool, uint32_t set)
{
    return pool->tree + 2 * (size_t)pool->most_ways * set;
}

/* The set, emptied if it was last used before the pool was. */
static struct pb_sim_set *fresh_set(struct pb_sim_pool *pool, uint32_t number)
{
    struct pb_sim_set *set = &pool->sets[number];

    if (set->generation == pool->generation)
        return set;
    set->generation = pool->generation;
    /* the tiny amount undoes the rounding of the division that made the share */
    set->ways = (uint32_t)((double)pool->shape->ways[number] * pool->share + 1e-6);
    set->used = 0;
    set->has_evicted = false;
    set->newest = set->oldest = NONE;
    set->next_hit = 0;
    for (uint32_t i = 0; pool->last_hits != NULL && i < set->ways / 2; i++)
        pool->last_hits[slot_of(pool, number, i)] = NONE;
    if (pool->tree != NULL)
        memset(tree_of(pool, number), 0, 2 * (size_t)pool->most_ways);
    return set;
}

static void unlink_slot(struct pb_sim_pool *pool, struct pb_sim_set *set, uint32_t number)
{
    struct pb_sim_place *place = &pool->places[number];

    *(place->newer == NONE ? &set->newest : &pool->places[place->newer].older) = place->older;
    *(place->older == NONE ? &set->oldest : &pool->places[place->older].newer) = place->newer;
}

static void link_newest(struct pb_sim_pool *pool, struct pb_sim_set *set, uint32_t number)
{
    struct pb_sim_place *place = &pool->places[number];

    place->newer = NONE;
    place->older = set->newest;
    *(set->newest == NONE ? &set->oldest : &pool->places[set->newest].newer) = number;
    set->newest = number;
}

static uint32_t leaves_of(uint32_t ways)
{
    uint32_t leaves = 1;

    while (leaves < ways)
        leaves *= 2;
    return leaves;
}

/*
 * The tree of a set: node n has the children 2n and 2n + 1, leaf `leaves + w` is way w; a bit of 1
 * sends the search for a victim to the right. Only inner nodes with a way below them are stored.
 */
static void tree_point_away(struct pb_sim_pool *pool, uint32_t slot)
{
    uint32_t set = pool->places[slot].set, way = slot - slot_of(pool, set, 0);
    uint8_t *bits = tree_of(pool, set);

    for (uint32_t node = leaves_of(pool->sets[set].ways) + way; node > 1; node /= 2)
        bits[node / 2] = node % 2 == 0;
}

static uint32_t tree_victim(const struct pb_sim_pool *pool, uint32_t set)
{
    const uint8_t *bits = tree_of(pool, set);
    uint32_t ways = pool->sets[set].ways, leaves = leaves_of(ways);
    uint32_t node = 1, low = 0, span = leaves;

    while (node < leaves) {
        span /= 2;
        /* the right half is pruned where it has no ways */
        if (bits[node] != 0 && low + span < ways) {
            low += span;
            node = 2 * node + 1;
        } else {
            node = 2 * node;
        }
    }
    return low;
}

/* Draws a way with its weight; ways that the carve-out took have none. */
static uint32_t weighted_victim(const struct pb_sim_pool *pool, const struct pb_sim_set *set,
                                struct pb_sim_random *random)
{
    double total = pool->cumulative[set->ways - 1], draw;
    uint32_t low = 0, high = set->ways - 1;

    if (total <= 0.0)
        return pb_sim_random_below(random, set->ways);
    draw = pb_sim_random_unit(random) * total;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        /* all ones or none; a branch here could not be predicted */
        uint32_t above = 0U - (uint32_t)(pool->cumulative[middle] <= draw);

        low += (middle + 1 - low) & above;
        high -= (high - middle) & ~above;
    }
    return low;
}

/* Of lines that none of the set's last hits was of, the one not used for longest. */
static uint32_t oldest_without_hit(const struct pb_sim_pool *pool, const struct pb_sim_set *set)
{
    uint32_t slot = set->oldest;

    while (pool->places[slot].hits > 0)
        slot = pool->places[slot].newer;
    return slot;
}

/* The slot whose line goes. */
static uint32_t choose_victim(const struct pb_sim_pool *pool, uint32_t number,
                              struct pb_sim_random *random)
{
    const struct pb_sim_set *set = &pool->sets[number];

    switch (pool->shape->policy) {
    case PB_SIM_POLICY_PLRU:
        return slot_of(pool, number, tree_victim(pool, number));
    case PB_SIM_POLICY_RANDOM:
        return slot_of(pool, number, pb_sim_random_below(random, set->ways));
    case PB_SIM_POLICY_WEIGHTED:
        return slot_of(pool, number, weighted_victim(pool, set, random));
    case PB_SIM_POLICY_KEEP_HITS:
        return oldest_without_hit(pool, set);
    default:
        return set->oldest;
    }
}

static bool keeps_order(const struct pb_sim_pool *pool)
{
    return pool->shape->policy == PB_SIM_POLICY_LRU || pool->shape->policy == PB_SIM_POLICY_FIFO ||
           pool->shape->policy == PB_SIM_POLICY_KEEP_HITS;
}

bool pb_sim_pool_take(struct pb_sim_pool *pool, uint32_t number, struct pb_sim_random *random,
                      uint32_t *slot_out, bool *evicts_out)
{
    struct pb_sim_set *set = fresh_set(pool, number);
    bool evicts = set->used == set->ways;
    uint32_t slot;

    if (set->ways == 0)
        return false;
    slot = evicts ? choose_victim(pool, number, random) : slot_of(pool, number, set->used++);
    set->has_evicted |= evicts;
    if (keeps_order(pool)) {
        if (evicts)
            unlink_slot(pool, set, slot);
        link_newest(pool, set, slot);
    }
    if (pool->places != NULL) {
        pool->places[slot].set = number;
        pool->places[slot].hits = 0;
    }
    if (pool->tree != NULL)
        tree_point_away(pool, slot);
    *slot_out = slot;
    *evicts_out = evicts;
    return true;
}

bool pb_sim_pool_has_evicted(const struct pb_sim_pool *pool, uint32_t number)
{
    const struct pb_sim_set *set = &pool->sets[number];

    return set->generation == pool->generation && set->has_evicted;
}

static void make_newest(struct pb_sim_pool *pool, struct pb_sim_set *set, uint32_t slot)
{
    unlink_slot(pool, set, slot);
    link_newest(pool, set, slot);
}

/* A line whose last hit is forgotten counts as used just now. */
static void remember_hit(struct pb_sim_pool *pool, struct pb_sim_set *set, uint32_t slot)
{
    uint32_t *entry = &pool->last_hits[slot_of(pool, pool->places[slot].set, set->next_hit)];
    uint32_t forgotten = *entry;

    *entry = slot;
    set->next_hit = (set->next_hit + 1) % (set->ways / 2);
    pool->places[slot].hits++;
    if (forgotten != NONE && --pool->places[forgotten].hits == 0)
        make_newest(pool, set, forgotten);
}

void pb_sim_pool_touch(struct pb_sim_pool *pool, uint32_t number)
{
    struct pb_sim_set *set = &pool->sets[pool->places[number].set];

    if (pool->shape->policy != PB_SIM_POLICY_FIFO && keeps_order(pool) && set->newest != number)
        make_newest(pool, set, number);
    if (pool->last_hits != NULL && set->ways > 1)
        remember_hit(pool, set, number);
    if (pool->tree != NULL)
        tree_point_away(pool, number);
}
