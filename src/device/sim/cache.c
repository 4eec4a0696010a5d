/*
 * A cache as one pool of slots: sets of a few ways are searched, of more ways a hash of line
 * numbers finds the slot. A list per set orders its slots by age, and a generation number shows
 * what belongs to the current launch, so that emptying 50 MB is one addition.
 */
#include "device/sim/cache.h"

#include <stdlib.h>
#include <string.h>

#include "device/sim/cache_body.h"

#define NONE UINT32_MAX

enum {
    STREAM_REACH_BYTES = 4096,
    SEARCHED_WAYS_MAX = 32, /* their lines lie in a few of the host's own */
};

static const uint64_t NO_LINE = UINT64_MAX;

static unsigned log2_of(uint64_t power_of_two)
{
    return (unsigned)__builtin_ctzll(power_of_two);
}

static bool allocate_buckets(struct pb_sim_cache *cache)
{
    uint64_t count = 16;

    while (count < 2 * pb_sim_cache_slots(cache))
        count *= 2;
    cache->buckets = calloc(count, sizeof(*cache->buckets));
    cache->chain = calloc(pb_sim_cache_slots(cache), sizeof(*cache->chain));
    cache->bucket_mask = count - 1;
    return cache->buckets != NULL && cache->chain != NULL;
}

static enum pb_status allocate_slots(struct pb_sim_cache *cache, struct pb_error *err)
{
    size_t count = pb_sim_cache_slots(cache);
    bool is_there;

    cache->lines = calloc(count, sizeof(*cache->lines));
    if (cache->sector_mask != 0)
        cache->sectors = calloc(count, sizeof(*cache->sectors));
    is_there = cache->lines != NULL && (cache->sector_mask == 0 || cache->sectors != NULL);
    if (cache->pool.most_ways > SEARCHED_WAYS_MAX)
        is_there = allocate_buckets(cache) && is_there;
    if (!is_there)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a cache of %zu lines", count);
    return PB_OK;
}

enum pb_status pb_sim_cache_create(const struct pb_sim_shape *shape,
                                   struct pb_sim_prefetch prefetch, struct pb_sim_cache **cache_out,
                                   struct pb_error *err)
{
    struct pb_sim_cache *cache = calloc(1, sizeof(*cache));
    enum pb_status status;

    if (cache == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a cache");
    cache->shape = shape;
    cache->prefetch = prefetch;
    cache->size_bytes = pb_sim_shape_bytes(shape);
    cache->is_random =
        shape->policy == PB_SIM_POLICY_RANDOM || shape->policy == PB_SIM_POLICY_WEIGHTED;
    cache->line_shift = log2_of(shape->line_bytes);
    cache->sector_shift = log2_of(shape->sector_bytes);
    cache->sector_mask = shape->line_bytes / shape->sector_bytes - 1;
    status = pb_sim_index_create(shape, &cache->index, err);
    if (status == PB_OK)
        status = pb_sim_pool_create(shape, &cache->pool, err);
    if (status == PB_OK)
        status = allocate_slots(cache, err);
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
    free(cache->lines);
    free(cache->sectors);
    free(cache->chain);
    free(cache->buckets);
    free(cache);
}

void pb_sim_cache_start(struct pb_sim_cache *cache, uint64_t bytes)
{
    double share = bytes < cache->size_bytes ? (double)bytes / (double)cache->size_bytes : 1.0;

    if (pb_sim_pool_start(&cache->pool, share) && cache->buckets != NULL)
        memset(cache->buckets, 0, (cache->bucket_mask + 1) * sizeof(*cache->buckets));
    cache->last_line = NO_LINE;
    cache->end_line = 0;
    cache->stream = (struct pb_sim_cache_stream){0, 0};
    cache->seen = (struct pb_sim_cache_extent){0, 0};
    cache->prefetch_is_suspended = cache->has_random_victim = false;
}

void pb_sim_cache_suspend_prefetch(struct pb_sim_cache *cache)
{
    cache->prefetch_is_suspended = true;
}

uint32_t pb_sim_cache_set(const struct pb_sim_cache *cache, uint64_t address)
{
    return pb_sim_index_set(cache->index, address);
}

bool pb_sim_cache_has_random_victim(const struct pb_sim_cache *cache)
{
    return cache->has_random_victim;
}

/*
 * Neighbouring lines lie in neighbouring buckets, which is what a chase in order needs of the
 * host's own caches; blocks of 4096 are scattered.
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
static struct pb_sim_cache_bucket *bucket_of(struct pb_sim_cache *cache, uint64_t line)
{
    struct pb_sim_cache_bucket *bucket = &cache->buckets[hash(line) & cache->bucket_mask];

    if (bucket->generation != cache->pool.generation) {
        bucket->generation = cache->pool.generation;
        bucket->slot = NONE;
    }
    return bucket;
}

/* Takes the line in this slot out of its bucket. */
static void forget(struct pb_sim_cache *cache, uint32_t victim)
{
    uint32_t *link = &bucket_of(cache, cache->lines[victim])->slot;

    while (*link != victim)
        link = &cache->chain[*link];
    *link = cache->chain[victim];
}

/* Puts the line in this slot into its bucket. */
static void remember(struct pb_sim_cache *cache, uint32_t slot)
{
    struct pb_sim_cache_bucket *bucket = bucket_of(cache, cache->lines[slot]);

    cache->chain[slot] = bucket->slot;
    bucket->slot = slot;
}

/* Gives the line a slot of its set without any sector, evicting another if the set is full. */
static uint32_t allocate_line(struct pb_sim_cache *cache, uint64_t line, uint32_t set,
                              struct pb_sim_random *random)
{
    uint32_t slot;
    bool evicts = false;

    if (!pb_sim_pool_take(&cache->pool, set, random, &slot, &evicts))
        return NONE;
    if (evicts)
        cache->has_random_victim = cache->is_random;
    if (evicts && cache->chain != NULL)
        forget(cache, slot);
    cache->lines[slot] = line;
    if (cache->sectors != NULL)
        cache->sectors[slot] = 0;
    if (cache->chain != NULL)
        remember(cache, slot);
    return slot;
}

static uint32_t find_hashed(const struct pb_sim_cache *cache, uint64_t line)
{
    const struct pb_sim_cache_bucket *bucket = &cache->buckets[hash(line) & cache->bucket_mask];
    uint32_t slot = bucket->generation == cache->pool.generation ? bucket->slot : NONE;

    while (slot != NONE && cache->lines[slot] != line)
        slot = cache->chain[slot];
    return slot;
}

static uint32_t find_in_set(const struct pb_sim_cache *cache, uint64_t line, uint32_t set)
{
    uint32_t first = set * cache->pool.most_ways, used = pb_sim_pool_used(&cache->pool, set);
    const uint64_t *lines = cache->lines + first;

    for (uint32_t way = 0; way < used; way++)
        if (lines[way] == line)
            return first + way;
    return NONE;
}

/* The slot of a line of this set; NONE when it is not here. */
static uint32_t find_line(const struct pb_sim_cache *cache, uint64_t line, uint32_t set)
{
    if (line >= cache->end_line) /* every load of a first pass in order */
        return NONE;
    return cache->chain != NULL ? find_hashed(cache, line) : find_in_set(cache, line, set);
}

static bool has_sector(const struct pb_sim_cache *cache, uint32_t slot, uint64_t address)
{
    return cache->sectors == NULL || (cache->sectors[slot] & sector_of(cache, address)) != 0;
}

bool pb_sim_cache_holds(const struct pb_sim_cache *cache, uint64_t address)
{
    uint32_t slot =
        find_line(cache, address >> cache->line_shift, pb_sim_cache_set(cache, address));

    return slot != NONE && has_sector(cache, slot, address);
}

bool pb_sim_cache_keeps(const struct pb_sim_cache *cache, uint64_t address)
{
    return !pb_sim_pool_has_evicted(&cache->pool, pb_sim_cache_set(cache, address)) &&
           pb_sim_cache_holds(cache, address);
}

/* True: nothing so low or so high was loaded before. Takes the sector into what was. */
static bool is_first_walk(struct pb_sim_cache_extent *seen, uint64_t address, uint64_t sector_end)
{
    bool is_first = address >= seen->end_byte || address < seen->first_byte;

    if (seen->first_byte == seen->end_byte)
        *seen = (struct pb_sim_cache_extent){address, sector_end};
    if (address < seen->first_byte)
        seen->first_byte = address;
    if (sector_end > seen->end_byte)
        seen->end_byte = sector_end;
    return is_first;
}

/* True: the stream had this sector on its way. Otherwise a new stream may start here. */
static bool is_prefetched(struct pb_sim_cache *cache, uint64_t address)
{
    struct pb_sim_cache_stream *stream = &cache->stream;
    uint64_t sector_end = (address | (((uint64_t)1 << cache->sector_shift) - 1)) + 1;

    if (cache->prefetch.bytes == 0 || cache->prefetch_is_suspended)
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

/* A sector that was missing; true: it was on its way. */
static bool fill(struct pb_sim_cache *cache, uint32_t slot, uint64_t address)
{
    if (cache->sectors != NULL)
        cache->sectors[slot] |= sector_of(cache, address);
    return is_prefetched(cache, address);
}

/*
 * A load of another line than the one before. Kept out of the caller, where it would make the most
 * frequent case save registers.
 */
static __attribute__((noinline)) bool access_other(struct pb_sim_cache *cache, uint64_t address,
                                                   uint64_t line, struct pb_sim_random *random)
{
    uint32_t set = pb_sim_index_set(cache->index, address), slot = find_line(cache, line, set);
    bool is_here = slot != NONE;

    if (!is_here)
        slot = allocate_line(cache, line, set, random);
    else if (cache->pool.places != NULL)
        pb_sim_pool_touch(&cache->pool, slot);
    if (slot == NONE)
        return false;
    /* of kept hits the last one counts again */
    cache->last_line = cache->pool.last_hits == NULL ? line : NO_LINE;
    cache->last_slot = slot;
    cache->end_line = line < cache->end_line ? cache->end_line : line + 1;
    return (is_here && has_sector(cache, slot, address)) || fill(cache, slot, address);
}

bool pb_sim_cache_access(struct pb_sim_cache *cache, uint64_t address, struct pb_sim_random *random)
{
    uint64_t line = address >> cache->line_shift;

    /* Using the same line twice in a row changes nothing else. */
    if (line != cache->last_line)
        return access_other(cache, address, line, random);
    return has_sector(cache, cache->last_slot, address) || fill(cache, cache->last_slot, address);
}
