/* The state of one cache as bytes, to be put back later; see cache.h. */
#include "device/sim/cache.h"

#include <string.h>

#include "device/sim/cache_body.h"

/* Those of the pool, and lines, sectors, chain and buckets. */
enum { PARTS_MAX = PB_SIM_POOL_PARTS_MAX + 4 };

static size_t add_part(struct pb_sim_part *parts, size_t count, void *bytes, size_t size)
{
    if (bytes == NULL)
        return count;
    parts[count] = (struct pb_sim_part){bytes, size};
    return count + 1;
}

/* The arrays; the struct itself, which holds no others that change, is the rest of the state. */
static size_t parts_of(const struct pb_sim_cache *cache, struct pb_sim_part parts_out[PARTS_MAX])
{
    size_t count = pb_sim_pool_parts(&cache->pool, parts_out), slots = pb_sim_cache_slots(cache);

    count = add_part(parts_out, count, cache->lines, slots * sizeof(*cache->lines));
    count = add_part(parts_out, count, cache->sectors, slots * sizeof(*cache->sectors));
    count = add_part(parts_out, count, cache->chain, slots * sizeof(*cache->chain));
    return add_part(parts_out, count, cache->buckets,
                    (cache->bucket_mask + 1) * sizeof(*cache->buckets));
}

size_t pb_sim_cache_state_bytes(const struct pb_sim_cache *cache)
{
    struct pb_sim_part parts[PARTS_MAX];
    size_t count = parts_of(cache, parts), bytes = sizeof(*cache);

    for (size_t i = 0; i < count; i++)
        bytes += parts[i].size;
    return bytes;
}

void pb_sim_cache_save(const struct pb_sim_cache *cache, unsigned char *state_out)
{
    struct pb_sim_part parts[PARTS_MAX];
    size_t count = parts_of(cache, parts);

    memcpy(state_out, cache, sizeof(*cache));
    state_out += sizeof(*cache);
    for (size_t i = 0; i < count; i++) {
        memcpy(state_out, parts[i].bytes, parts[i].size);
        state_out += parts[i].size;
    }
}

void pb_sim_cache_restore(struct pb_sim_cache *cache, const unsigned char *state)
{
    struct pb_sim_part parts[PARTS_MAX];
    size_t count = parts_of(cache, parts);

    memcpy(cache, state, sizeof(*cache));
    state += sizeof(*cache);
    for (size_t i = 0; i < count; i++) {
        memcpy(parts[i].bytes, state, parts[i].size);
        state += parts[i].size;
    }
}
