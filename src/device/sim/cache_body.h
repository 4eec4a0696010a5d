/* Private to cache.c and cache_state.c: what a cache is made of. */
#ifndef PB_DEVICE_SIM_CACHE_BODY_H
#define PB_DEVICE_SIM_CACHE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/sim/cache.h"
#include "device/sim/index.h"
#include "device/sim/victim.h"

/* The hash chain of lines that fall into one bucket; stale when the generation differs. */
struct pb_sim_cache_bucket {
    uint32_t generation;
    uint32_t slot;
};

/* The sequential stream that a miss opened: covers (last_byte, end_byte). */
struct pb_sim_cache_stream {
    uint64_t last_byte, end_byte;
};

/* From the lowest to the highest byte that was loaded in this launch; empty: first = end. */
struct pb_sim_cache_extent {
    uint64_t first_byte, end_byte;
};

struct pb_sim_cache {
    const struct pb_sim_shape *shape;
    struct pb_sim_index_map *index;
    struct pb_sim_pool pool; /* sets, slots and ages: victim.h */
    uint64_t *lines;         /* of each slot */
    uint32_t *sectors;       /* of each slot, bit i: sector i is here; NULL: a line is one sector */
    uint32_t *chain;         /* of each slot: the next one in its bucket; NULL: sets are searched */
    struct pb_sim_cache_bucket *buckets; /* as chain */
    uint64_t bucket_mask;
    unsigned line_shift, sector_shift;
    uint64_t sector_mask;
    struct pb_sim_prefetch prefetch;
    bool prefetch_is_suspended; /* nothing can run ahead in time */
    bool is_random;             /* its policy chooses victims at random */
    bool has_random_victim;     /* since it was emptied */
    struct pb_sim_cache_stream stream;
    struct pb_sim_cache_extent seen; /* kept for a prefetch of first passes only */
    uint64_t last_line;              /* the line used last, in last_slot, or NO_LINE */
    uint32_t last_slot;
    uint64_t end_line; /* no line from here on was loaded since the start */
    uint64_t size_bytes;
};

/* Of all sets together, before any carve-out. */
static inline size_t pb_sim_cache_slots(const struct pb_sim_cache *cache)
{
    return (size_t)cache->shape->set_count * cache->pool.most_ways;
}

#endif
