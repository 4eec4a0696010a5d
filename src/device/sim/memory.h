/*
 * The memories of a simulated device between one thread and DRAM: which cache answers a load, and
 * what that costs.
 *
 * Where the profile format (design 3.4) is silent, this holds:
 *
 * - A load first looks up the TLBs, level by level. A level that misses adds its penalty and takes
 * the entry in; the first level that hits ends the search, so that a miss in levels 1 and 2 costs
 * the sum of both (M16 5.2: 351, 351 + 27, 351 + 27 + 84). The levels after a hit are not touched.
 *   All global paths, readonly and texture are translated; constant and shared memory are not.
 * - It then looks up the caches of its path in the profile's order. All that miss take the line in;
 * the one that hits, or DRAM, gives the latency.
 * - A cache may cost what the rest does not know of (M16 5.2, L1 on): a load that missed it pays
 *   miss_cycles; one that hits pays tlb_detour_cycles on top of any penalty of TLBs, and with
 *   skips_tlb nothing at all for them: they do not see it.
 * - A cache is chip-wide when no path goes on to another cache behind it; the others belong to the
 *   SM that measures. `prefill` reads through the TLBs and the chip-wide caches only, since the
 *   reading SMs' own caches are not the measuring one's.
 * - Every launch starts with all of it cold, so `flush` has nothing left to empty.
 * - A carve-out makes caches that are unified with shared memory smaller by as many bytes;
 *   recording a window of at most pb_sim_memory_window() loads takes no carve-out of its own.
 * - texture_2d is the texture path under another order of addresses: see tile.h. No profile names
 *   it.
 */
#ifndef PB_DEVICE_SIM_MEMORY_H
#define PB_DEVICE_SIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "device/sim/cache.h"
#include "device/sim/profile.h"
#include "device/sim/random.h"

struct pb_sim_memory;

/* What each level costs on this device at this moment; see pb_sim_device_timing(). */
struct pb_sim_timing {
    double cache_cycles[PB_SIM_CACHES_MAX];  /* by the profile's order */
    double spread_cycles[PB_SIM_CACHES_MAX]; /* by how much lines differ */
    double miss_cycles[PB_SIM_CACHES_MAX];
    double detour_cycles[PB_SIM_CACHES_MAX];
    double tlb_cycles[PB_SIM_TLBS_MAX];
    double dram_cycles;
    double shared_cycles;
};

/*
 * One word, as the TLBs see it and as the caches see it. The two differ where one block is mapped
 * many times, and where a texture lays rows out in tiles.
 */
struct pb_sim_address {
    uint64_t page, line;
};

/* The usual case: both the same. */
static inline struct pb_sim_address pb_sim_address_of(uint64_t address)
{
    return (struct pb_sim_address){address, address};
}

/* The way of a load over one path. */
struct pb_sim_route {
    struct pb_sim_cache *caches[PB_SIM_CACHES_MAX];
    double cycles[PB_SIM_CACHES_MAX + 1];        /* in all; the last: DRAM, or shared memory */
    double detour_cycles[PB_SIM_CACHES_MAX + 1]; /* on top of any TLB's penalty */
    bool skips_tlb[PB_SIM_CACHES_MAX + 1];
    double spread_cycles; /* between the ways to the lines of one cache, and past it, */
    size_t spread_from;   /* which is this one */
    uint64_t spread_line_bytes;
    size_t cache_count;
    size_t first_chip_wide; /* caches from here on serve all SMs */
    struct pb_sim_cache *tlbs[PB_SIM_TLBS_MAX];
    double penalty_cycles[PB_SIM_TLBS_MAX];
    size_t tlb_count;
    bool is_tiled; /* its lines hold tiles: tile.h */
};

/*
 * All caches and TLBs of a profile, which must outlive them. l1_share scales the caches that are
 * not chip-wide (an injected fault). PB_NO_MEMORY.
 */
enum pb_status pb_sim_memory_create(const struct pb_sim_profile *profile, double l1_share,
                                    struct pb_sim_memory **memory_out, struct pb_error *err);
void pb_sim_memory_free(struct pb_sim_memory *memory); /* NULL is allowed */

/* Empties everything, and sizes what is unified with shared memory for a launch. */
void pb_sim_memory_launch(struct pb_sim_memory *memory, uint64_t carveout_bytes);

/* From the next launch on, caches of an SM have this share of their size: that of another SM. */
void pb_sim_memory_turn(struct pb_sim_memory *memory, double sm_share);

/* Empties the caches alone: what loads find after other data went through L2. */
void pb_sim_memory_flush(struct pb_sim_memory *memory, uint64_t carveout_bytes);

/* Loads come all at once, until the next launch or flush: nothing runs ahead of them in time. */
void pb_sim_memory_suspend_prefetch(struct pb_sim_memory *memory);

/* The way over one path. Several may be used in one launch: they share what their paths share. */
void pb_sim_memory_route(struct pb_sim_memory *memory, enum pb_path path,
                         const struct pb_sim_timing *timing, struct pb_sim_route *route_out);

/* Does it serve all SMs: does it cache loads that bypass L1, or is none behind it on any path? */
bool pb_sim_cache_is_chip_wide(const struct pb_sim_profile *profile, size_t cache);

/* Cycles of one load; *depth_out: the cache that answered, cache_count for DRAM. */
double pb_sim_route_load(const struct pb_sim_route *route, struct pb_sim_address address,
                         struct pb_sim_random *random, size_t *depth_out);

/* True: chance has chosen what a cache or TLB on the way let go, since the launch. */
bool pb_sim_route_has_random_victim(const struct pb_sim_route *route);

/*
 * True: the first cache on the way answers without a TLB's penalty, and will as long as no other
 * line or page comes (pb_sim_cache_keeps): always for cycles[0].
 */
bool pb_sim_route_keeps(const struct pb_sim_route *route, struct pb_sim_address address);

/* One load of `prefill`. */
void pb_sim_route_prefill(const struct pb_sim_route *route, struct pb_sim_address address,
                          struct pb_sim_random *random);

/* Loads that one launch records over this path: 12 bytes each in shared memory. */
uint64_t pb_sim_memory_window(const struct pb_sim_profile *profile, enum pb_path path);

#endif
