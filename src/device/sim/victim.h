/*
 * The sets of a cache and their slots: which slot is taken next, by the replacement policy.
 * Knows nothing of addresses; cache.c keeps what the slots hold.
 */
#ifndef PB_DEVICE_SIM_VICTIM_H
#define PB_DEVICE_SIM_VICTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/sim/profile.h"
#include "device/sim/random.h"

/* Where a slot stands; policies that only draw lots keep none. */
struct pb_sim_place {
    uint32_t set;
    uint32_t newer, older; /* neighbours in the set's order of use (lru) or filling (fifo) */
    uint32_t hits;         /* keep_hits: how many of the set's last hits were of it */
};

struct pb_sim_set {
    uint32_t generation; /* stale when it differs from the pool's */
    uint32_t ways;       /* left after the carve-out */
    uint32_t used;       /* ways 0 … used - 1 hold lines */
    bool has_evicted;    /* since it was emptied */
    uint32_t newest, oldest;
    uint32_t next_hit; /* keep_hits: the entry of last_hits that goes next */
};

/* Way w of set s is slot s * most_ways + w. */
struct pb_sim_pool {
    const struct pb_sim_shape *shape;
    struct pb_sim_set *sets;
    struct pb_sim_place *places; /* of each slot; NULL: the policy needs none */
    uint32_t most_ways;          /* of any set */
    uint32_t *last_hits;         /* keep_hits: slots; of set s the first ways / 2 of most_ways */
    uint8_t *tree;               /* plru: the bits of set s begin at 2 * most_ways * s */
    double *cumulative;          /* weighted: sums of the weights up to each way */
    uint32_t generation;
    double share; /* of the ways that may be used */
};

/* The slots of a set that hold lines: so many, from s * most_ways on. */
static inline uint32_t pb_sim_pool_used(const struct pb_sim_pool *pool, uint32_t set)
{
    return pool->sets[set].generation == pool->generation ? pool->sets[set].used : 0;
}

enum pb_status pb_sim_pool_create(const struct pb_sim_shape *shape, struct pb_sim_pool *pool_out,
                                  struct pb_error *err);
void pb_sim_pool_free(struct pb_sim_pool *pool);

/*
 * Empties all sets and leaves each the given share of its ways, rounded down. True: generations
 * begin anew, so that marks of old ones must be wiped (every 2^32 starts).
 */
bool pb_sim_pool_start(struct pb_sim_pool *pool, double share);

/*
 * A slot for a new line of this set, marked as used just now; *evicts_out: it holds an old line.
 * False: the set has no ways.
 */
bool pb_sim_pool_take(struct pb_sim_pool *pool, uint32_t set, struct pb_sim_random *random,
                      uint32_t *slot_out, bool *evicts_out);

/* True: a line of this set was let go since the start. */
bool pb_sim_pool_has_evicted(const struct pb_sim_pool *pool, uint32_t set);

/* What changes after the creation, without the struct itself: PARTS_MAX arrays at most. */
enum { PB_SIM_POOL_PARTS_MAX = 4 };
struct pb_sim_part {
    void *bytes;
    size_t size;
};
size_t pb_sim_pool_parts(const struct pb_sim_pool *pool,
                         struct pb_sim_part parts_out[PB_SIM_POOL_PARTS_MAX]);

/* Takes note that the line in this slot was used; only for pools that keep places. */
void pb_sim_pool_touch(struct pb_sim_pool *pool, uint32_t slot);

#endif
