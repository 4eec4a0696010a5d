/*
 * A cache as one pool of slots. A hash of line numbers finds a slot, a list per set orders its
 * slots by age, and a generation number tells what belongs to the current launch, so that emptying
 * 50 MB is one addition.
 */
#include "device/sim/cache.h"

#include <stdlib.h>
#include <string.h>

#include "device/sim/index.h"
#include "device/sim/victim.h"

#define NONE UINT32_MAX

enum { STREAM_REACH_BYTES = 4096 };

/* The hash chain of lines that fall into one bucket; stale when the generation differs. */
struct bucket {
    uint32_t generation;
    uint32_t slot;
};

/* The sequential stream that a miss opened: covers (last_byte, end_byte). */
struct stream {
    uint64_t last_byte, end_byte;
};

/* From the lowest to the highest byte that was loaded in this launch; empty: first = end. */
struct extent {
    uint64_t first_byte, end_byte;
};

struct pb_sim_cache {
    const struct pb_sim_shape *shape;
    struct pb_sim_index_map *index;
    struct pb_sim_pool pool; /* sets, slots and ages: victim.h */
    struct bucket *buckets;
    uint64_t bucket_mask;
    unsigned line_shift, sector_shift;
    uint64_t sector_mask;
    struct pb_sim_prefetch prefetch;
    bool is_rushed; /* nothing can run ahead in time */
    bool draws;     /* its policy draws lots */
    bool has_drawn; /* since it was emptied */
    struct stream stream;
    struct extent seen; /* kept for a prefetch of first walks only */
    uint64_t last_line; /* the line used last, in last_slot, or NO_LINE */
    uint32_t last_slot;
    uint64_t size_bytes;
};

static const uint64_t NO_LINE = UINT64_MAX;

static unsigned log2_of(uint64_t power_of_two)
{
    return (unsigned)__builtin_ctzll(power_of_two);
}

static enum pb_status allocate_buckets(struct pb_sim_cache *cache, uint64_t lines,
                                       struct pb_error *err)
{
    uint64_t count = 16;

    while (count < 2 * lines)
        count *= 2;
    cache->buckets = calloc(count, sizeof(*cache->buckets));
    cache->bucket_mask = count - 1;
    if (cache->buckets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a cache of %llu lines",
                       (unsigned long long)lines);
    return PB_OK;
}

enum pb_status pb_sim_cache_create(const struct pb_sim_shape *shape,
                                   struct pb_sim_prefetch prefetch, struct pb_sim_cache **cache_out,
                                   struct pb_error *err)
{
    struct pb_sim_cache *cache = calloc(1, sizeof(*cache));
    enum pb_status status;

    if (cache == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a cache");
    cache->shape = shape;
    cache->prefetch = prefetch;
    cache->size_bytes = pb_sim_shape_bytes(shape);
    cache->draws = shape->policy == PB_SIM_POLICY_RANDOM || shape->policy == PB_SIM_POLICY_WEIGHTED;
    cache->line_shift = log2_of(shape->line_bytes);
    cache->sector_shift = log2_of(shape->sector_bytes);
    cache->sector_mask = shape->line_bytes / shape->sector_bytes - 1;
    status = pb_sim_index_create(shape, &cache->index, err);
    if (status == PB_OK)
        status = pb_sim_pool_create(shape, &cache->pool, err);
    if (status == PB_OK)
        status = allocate_buckets(cache, cache->size_bytes / shape->line_bytes, err);
    if (status != PB_OK) {
        pb_sim_cache_free(cache);
        return status;
    }
    pb_sim_cache_start(cache, cache->size_bytes);
    *cache_out = cache;
    return PB_OK;
}

void pb_sim_cache_free(struct pb_sim_cache *cache)
{
    if (cache == NULL)
        return;
    pb_sim_index_free(cache->index);
    pb_sim_pool_free(&cache->pool);
    free(cache->buckets);
    free(cache);
}

void pb_sim_cache_start(struct pb_sim_cache *cache, uint64_t bytes)
{
    double share = bytes < cache->size_bytes ? (double)bytes / (double)cache->size_bytes : 1.0;

    if (pb_sim_pool_start(&cache->pool, share))
        memset(cache->buckets, 0, (cache->bucket_mask + 1) * sizeof(*cache->buckets));
    cache->last_line = NO_LINE;
    cache->stream = (struct stream){0, 0};
    cache->seen = (struct extent){0, 0};
    cache->is_rushed = cache->has_drawn = false;
}

void pb_sim_cache_rush(struct pb_sim_cache *cache)
{
    cache->is_rushed = true;
}

uint32_t pb_sim_cache_set(const struct pb_sim_cache *cache, uint64_t address)
{
    return pb_sim_index_set(cache->index, address);
}

bool pb_sim_cache_has_drawn(const struct pb_sim_cache *cache)
{
    return cache->has_drawn;
}

/*
 * Neighbouring lines lie in neighbouring buckets, which is what a walk in order needs of the host's
 * own caches; blocks of 4096 are scattered.
 */
static uint64_t hash(uint64_t line)
{
    return line ^ ((line >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

/* The bit of an address's sector within its line. */
static uint32_t sector_of(const struct pb_sim_cache *cache, uint64_t address)
{
    return UINT32_C(1) << ((address >> cache->sector_shift) & cache->sector_mask);
}

/* The bucket a line is chained in, emptied if it is stale. */
static struct bucket *bucket_of(struct pb_sim_cache *cache, uint64_t line)
{
    struct bucket *bucket = &cache->buckets[hash(line) & cache->bucket_mask];

    if (bucket->generation != cache->pool.generation) {
        bucket->generation = cache->pool.generation;
        bucket->slot = NONE;
    }
    return bucket;
}

static void forget(struct pb_sim_cache *cache, uint32_t victim)
{
    struct pb_sim_slot *slots = cache->pool.slots;
    uint32_t *link = &bucket_of(cache, slots[victim].line)->slot;

    while (*link != victim)
        link = &slots[*link].chain;
    *link = slots[victim].chain;
}

/* Gives the line a slot without any sector, evicting one if its set is full. */
static uint32_t allocate_line(struct pb_sim_cache *cache, uint64_t line, uint64_t address,
                              struct pb_sim_random *random)
{
    struct pb_sim_pool *pool = &cache->pool;
    uint32_t set = pb_sim_index_set(cache->index, address), slot;
    bool evicts = false;
    struct bucket *bucket;

    if (!pb_sim_pool_take(pool, set, random, &slot, &evicts))
        return NONE;
    if (evicts) {
        forget(cache, slot);
        cache->has_drawn = cache->draws;
    }
    bucket = bucket_of(cache, line);
    pool->slots[slot].line = line;
    pool->slots[slot].sectors = 0;
    pool->slots[slot].chain = bucket->slot;
    bucket->slot = slot;
    return slot;
}

/* The slot of a line; NONE when it is not here. */
static uint32_t find_line(const struct pb_sim_cache *cache, uint64_t line)
{
    const struct bucket *bucket = &cache->buckets[hash(line) & cache->bucket_mask];
    uint32_t slot = bucket->generation == cache->pool.generation ? bucket->slot : NONE;

    while (slot != NONE && cache->pool.slots[slot].line != line)
        slot = cache->pool.slots[slot].chain;
    return slot;
}

bool pb_sim_cache_holds(const struct pb_sim_cache *cache, uint64_t address)
{
    uint32_t slot = find_line(cache, address >> cache->line_shift);

    return slot != NONE && (cache->pool.slots[slot].sectors & sector_of(cache, address)) != 0;
}

bool pb_sim_cache_keeps(const struct pb_sim_cache *cache, uint64_t address)
{
    return !pb_sim_pool_has_evicted(&cache->pool, pb_sim_cache_set(cache, address)) &&
           pb_sim_cache_holds(cache, address);
}

/* True: nothing so low or so high was loaded before. Takes the sector into what was. */
static bool is_first_walk(struct extent *seen, uint64_t address, uint64_t sector_end)
{
    bool is_first = address >= seen->end_byte || address < seen->first_byte;

    if (seen->first_byte == seen->end_byte)
        *seen = (struct extent){address, sector_end};
    if (address < seen->first_byte)
        seen->first_byte = address;
    if (sector_end > seen->end_byte)
        seen->end_byte = sector_end;
    return is_first;
}

/* True: the stream had this sector on its way. Otherwise a new stream may start here. */
static bool is_prefetched(struct pb_sim_cache *cache, uint64_t address)
{
    struct stream *stream = &cache->stream;
    uint64_t sector_end = (address | (((uint64_t)1 << cache->sector_shift) - 1)) + 1;

    if (cache->prefetch.bytes == 0 || cache->is_rushed)
        return false;
    if (cache->prefetch.first_walk_only && !is_first_walk(&cache->seen, address, sector_end))
        return false;
    if (address > stream->last_byte && address < stream->end_byte &&
        address - stream->last_byte <= STREAM_REACH_BYTES) {
        stream->last_byte = address;
        return true;
    }
    stream->last_byte = address;
    stream->end_byte = sector_end + cache->prefetch.bytes;
    return false;
}

/* A load of another line than the one before. */
static bool access_other(struct pb_sim_cache *cache, uint64_t address, uint64_t line,
                         struct pb_sim_random *random)
{
    uint32_t sector = sector_of(cache, address), slot = find_line(cache, line);

    if (slot != NONE)
        pb_sim_pool_touch(&cache->pool, slot);
    else
        slot = allocate_line(cache, line, address, random);
    if (slot == NONE)
        return false;
    cache->last_line = line;
    cache->last_slot = slot;
    if ((cache->pool.slots[slot].sectors & sector) != 0)
        return true;
    cache->pool.slots[slot].sectors |= sector;
    return is_prefetched(cache, address);
}

bool pb_sim_cache_access(struct pb_sim_cache *cache, uint64_t address, struct pb_sim_random *random)
{
    uint64_t line = address >> cache->line_shift;
    uint32_t *sectors, sector;

    /* Using the same line twice in a row changes no policy's mind. */
    if (line != cache->last_line)
        return access_other(cache, address, line, random);
    sectors = &cache->pool.slots[cache->last_slot].sectors;
    sector = sector_of(cache, address);
    if ((*sectors & sector) != 0)
        return true;
    *sectors |= sector;
    return is_prefetched(cache, address);
}

/* The arrays; the struct itself, which holds no others that change, is the rest of the state. */
static size_t parts_of(const struct pb_sim_cache *cache,
                       struct pb_sim_part parts_out[PB_SIM_POOL_PARTS_MAX + 1])
{
    size_t count = pb_sim_pool_parts(&cache->pool, parts_out);

    parts_out[count++] =
        (struct pb_sim_part){cache->buckets, (cache->bucket_mask + 1) * sizeof(*cache->buckets)};
    return count;
}

size_t pb_sim_cache_state_bytes(const struct pb_sim_cache *cache)
{
    struct pb_sim_part parts[PB_SIM_POOL_PARTS_MAX + 1];
    size_t count = parts_of(cache, parts), bytes = sizeof(*cache);

    for (size_t i = 0; i < count; i++)
        bytes += parts[i].size;
    return bytes;
}

void pb_sim_cache_save(const struct pb_sim_cache *cache, unsigned char *state_out)
{
    struct pb_sim_part parts[PB_SIM_POOL_PARTS_MAX + 1];
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
    struct pb_sim_part parts[PB_SIM_POOL_PARTS_MAX + 1];
    size_t count = parts_of(cache, parts);

    memcpy(cache, state, sizeof(*cache));
    state += sizeof(*cache);
    for (size_t i = 0; i < count; i++) {
        memcpy(parts[i].bytes, state, parts[i].size);
        state += parts[i].size;
    }
}
