/* The way of a load through TLBs and caches; see memory.h. */
#include "device/sim/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/sim/limits.h"

enum {
    RECORD_BYTES = 12,          /* two stamps of 4 bytes and the low word of the pointer */
    UNIFIED_WINDOW_BYTES = 6144 /* with the 1 KiB that a CTA reserves: the smallest carve-out */
};

static const uint32_t translated_paths = 1u << PB_PATH_GLOBAL_CA | 1u << PB_PATH_GLOBAL_CG |
                                         1u << PB_PATH_READONLY | 1u << PB_PATH_TEXTURE;

/* The path that a profile names for this one. */
static enum pb_path named_path(enum pb_path path)
{
    return path == PB_PATH_TEXTURE_2D ? PB_PATH_TEXTURE : path;
}

struct pb_sim_memory {
    const struct pb_sim_profile *profile;
    struct pb_sim_cache *caches[PB_SIM_CACHES_MAX];
    struct pb_sim_cache *tlbs[PB_SIM_TLBS_MAX];
    bool chip_wide[PB_SIM_CACHES_MAX];
    uint64_t size_bytes[PB_SIM_CACHES_MAX];
    double sm_share; /* of that, on the SM at hand */
};

bool pb_sim_cache_is_chip_wide(const struct pb_sim_profile *profile, size_t cache)
{
    if ((profile->caches[cache].paths >> PB_PATH_GLOBAL_CG & 1) != 0)
        return true;
    for (size_t i = cache + 1; i < profile->cache_count; i++)
        if ((profile->caches[i].paths & profile->caches[cache].paths) != 0)
            return false;
    return true;
}

enum pb_status pb_sim_memory_create(const struct pb_sim_profile *profile, double l1_share,
                                    struct pb_sim_memory **memory_out, struct pb_error *err)
{
    struct pb_sim_memory *memory = calloc(1, sizeof(*memory));
    enum pb_status status = PB_OK;

    if (memory == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a memory hierarchy");
    memory->profile = profile;
    memory->sm_share = 1.0;
    for (size_t i = 0; i < profile->cache_count && status == PB_OK; i++) {
        const struct pb_sim_cache_spec *spec = &profile->caches[i];

        memory->chip_wide[i] = pb_sim_cache_is_chip_wide(profile, i);
        memory->size_bytes[i] = pb_sim_shape_bytes(&spec->shape);
        if (!memory->chip_wide[i])
            memory->size_bytes[i] = (uint64_t)((double)memory->size_bytes[i] * l1_share);
        status = pb_sim_cache_create(&spec->shape, spec->prefetch, &memory->caches[i], err);
    }
    for (size_t i = 0; i < profile->tlb_count && status == PB_OK; i++)
        status = pb_sim_cache_create(&profile->tlbs[i].shape, (struct pb_sim_prefetch){0},
                                     &memory->tlbs[i], err);
    if (status != PB_OK) {
        pb_sim_memory_free(memory);
        return status;
    }
    *memory_out = memory;
    return PB_OK;
}

void pb_sim_memory_free(struct pb_sim_memory *memory)
{
    if (memory == NULL)
        return;
    for (size_t i = 0; i < PB_SIM_CACHES_MAX; i++)
        pb_sim_cache_free(memory->caches[i]);
    for (size_t i = 0; i < PB_SIM_TLBS_MAX; i++)
        pb_sim_cache_free(memory->tlbs[i]);
    free(memory);
}

static uint64_t size_beside(const struct pb_sim_memory *memory, size_t cache,
                            uint64_t carveout_bytes)
{
    uint64_t size = memory->size_bytes[cache];

    if (!memory->chip_wide[cache] && memory->sm_share < 1.0)
        size = (uint64_t)((double)size * memory->sm_share);
    if (!memory->profile->caches[cache].unified_with_shared)
        return size;
    return size > carveout_bytes ? size - carveout_bytes : 0;
}

void pb_sim_memory_turn(struct pb_sim_memory *memory, double sm_share)
{
    memory->sm_share = sm_share;
}

void pb_sim_memory_flush(struct pb_sim_memory *memory, uint64_t carveout_bytes)
{
    for (size_t i = 0; i < memory->profile->cache_count; i++)
        pb_sim_cache_start(memory->caches[i], size_beside(memory, i, carveout_bytes));
}

void pb_sim_memory_launch(struct pb_sim_memory *memory, uint64_t carveout_bytes)
{
    pb_sim_memory_flush(memory, carveout_bytes);
    for (size_t i = 0; i < memory->profile->tlb_count; i++)
        pb_sim_cache_start(memory->tlbs[i], UINT64_MAX);
}

void pb_sim_memory_suspend_prefetch(struct pb_sim_memory *memory)
{
    for (size_t i = 0; i < memory->profile->cache_count; i++)
        pb_sim_cache_suspend_prefetch(memory->caches[i]);
}

static void route_caches(struct pb_sim_memory *memory, enum pb_path path,
                         const struct pb_sim_timing *timing, struct pb_sim_route *route)
{
    double missed_cycles = 0.0;

    for (size_t i = 0; i < memory->profile->cache_count; i++) {
        if ((memory->profile->caches[i].paths >> path & 1) == 0)
            continue;
        route->caches[route->cache_count] = memory->caches[i];
        route->cycles[route->cache_count] = missed_cycles + timing->cache_cycles[i];
        route->detour_cycles[route->cache_count] = timing->detour_cycles[i];
        route->skips_tlb[route->cache_count++] = memory->profile->caches[i].skips_tlb;
        if (timing->spread_cycles[i] > 0.0) {
            route->spread_cycles = timing->spread_cycles[i];
            route->spread_from = route->cache_count - 1;
            route->spread_line_bytes = memory->profile->caches[i].shape.line_bytes;
        }
        missed_cycles += timing->miss_cycles[i];
        if (!memory->chip_wide[i])
            route->first_chip_wide = route->cache_count;
    }
    route->cycles[route->cache_count] =
        path == PB_PATH_SHARED ? timing->shared_cycles : missed_cycles + timing->dram_cycles;
}

void pb_sim_memory_route(struct pb_sim_memory *memory, enum pb_path path,
                         const struct pb_sim_timing *timing, struct pb_sim_route *route_out)
{
    struct pb_sim_route route = {.is_tiled = path == PB_PATH_TEXTURE_2D};

    path = named_path(path);
    route_caches(memory, path, timing, &route);
    if ((translated_paths >> path & 1) != 0)
        route.tlb_count = memory->profile->tlb_count;
    for (size_t i = 0; i < route.tlb_count; i++) {
        route.tlbs[i] = memory->tlbs[i];
        route.penalty_cycles[i] = timing->tlb_cycles[i];
    }
    *route_out = route;
}

static double translate(const struct pb_sim_route *route, uint64_t address,
                        struct pb_sim_random *random)
{
    double cycles = 0.0;

    for (size_t i = 0; i < route->tlb_count; i++) {
        if (pb_sim_cache_access(route->tlbs[i], address, random))
            break;
        cycles += route->penalty_cycles[i];
    }
    return cycles;
}

/* What the way to the line adds to that of the nearest one, for loads that come to its cache. */
static double distance_of(const struct pb_sim_route *route, size_t depth, uint64_t address)
{
    if (route->spread_cycles <= 0.0 || depth < route->spread_from)
        return 0.0;
    return floor(route->spread_cycles *
                 ((double)(pb_sim_mix(address / route->spread_line_bytes + 1) >> 11) * 0x1p-53));
}

double pb_sim_route_load(const struct pb_sim_route *route, struct pb_sim_address address,
                         struct pb_sim_random *random, size_t *depth_out)
{
    double penalty, cycles;
    size_t depth = 0;

    while (depth < route->cache_count &&
           !pb_sim_cache_access(route->caches[depth], address.line, random))
        depth++;
    *depth_out = depth;
    cycles = route->cycles[depth] + distance_of(route, depth, address.line);
    if (route->skips_tlb[depth])
        return cycles;
    penalty = translate(route, address.page, random);
    if (penalty > 0.0)
        penalty += route->detour_cycles[depth];
    return cycles + penalty;
}

bool pb_sim_route_has_random_victim(const struct pb_sim_route *route)
{
    bool has_random_victim = false;

    for (size_t i = 0; i < route->cache_count; i++)
        has_random_victim |= pb_sim_cache_has_random_victim(route->caches[i]);
    for (size_t i = 0; i < route->tlb_count; i++)
        has_random_victim |= pb_sim_cache_has_random_victim(route->tlbs[i]);
    return has_random_victim;
}

bool pb_sim_route_keeps(const struct pb_sim_route *route, struct pb_sim_address address)
{
    if (route->cache_count == 0 || (route->spread_cycles > 0.0 && route->spread_from == 0) ||
        !pb_sim_cache_keeps(route->caches[0], address.line))
        return false;
    return route->skips_tlb[0] || route->tlb_count == 0 ||
           pb_sim_cache_keeps(route->tlbs[0], address.page);
}

void pb_sim_route_prefill(const struct pb_sim_route *route, struct pb_sim_address address,
                          struct pb_sim_random *random)
{
    translate(route, address.page, random);
    for (size_t i = route->first_chip_wide; i < route->cache_count; i++)
        if (pb_sim_cache_access(route->caches[i], address.line, random))
            return;
}

uint64_t pb_sim_memory_window(const struct pb_sim_profile *profile, enum pb_path path)
{
    path = named_path(path);
    for (size_t i = 0; i < profile->cache_count; i++)
        if (profile->caches[i].unified_with_shared && (profile->caches[i].paths >> path & 1) != 0)
            return UNIFIED_WINDOW_BYTES / RECORD_BYTES;
    return pb_sim_limits_shared_per_cta(profile) / RECORD_BYTES;
}
