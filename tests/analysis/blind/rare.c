/*
 * Changing devices that unusual.c drew once more (seeds from BLIND_RARE_FIRST on), into what no
 * device is known to be: TLB levels that keep what has hit, caches of few or odd numbers of sets
 * and ways, spikes on one load in fifty that last as long as jitter or for thousands of cycles,
 * jitter of up to 25 cycles, hardly any misses at a time.
 */
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

static void keep_hits(struct blind_tlb *tlb)
{
    if (tlb->span_bytes == 0)
        return;
    tlb->policy = "keep_hits";
    for (size_t set = 1; set < tlb->sets && tlb->mask_count == 0; set++)
        tlb->ways[set] = tlb->ways[0];
}

/* Sets in turn, where the device has the cache; the other policies know no number of ways. */
static void shape(struct blind_cache *cache, uint64_t sets, uint64_t ways)
{
    if (cache->line_bytes == 0 || cache->is_xor)
        return;
    cache->sets = (uint32_t)sets;
    cache->ways = (uint32_t)ways;
    cache->more_ways = 0;
    if (strcmp(cache->policy, "weighted") == 0)
        cache->policy = "lru";
}

void blind_draw_rare(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0x9e3779b97f4a7c15u + 3;
    struct blind_cache *l1 = &profile->caches[BLIND_L1];

    if (chance(&state, 40))
        keep_hits(&profile->tlbs[draw(&state) % 2]);
    if (chance(&state, 25)) {
        profile->spike_probability = 2e-2;
        profile->spike_cycles = (uint32_t)ONE_OF(&state, 15, 30, 60, 2500, 6000);
    }
    if (chance(&state, 40))
        shape(l1, ONE_OF(&state, 1, 3, 6, 7, 11, 12, 13, 24, 48, 96),
              ONE_OF(&state, 1, 3, 5, 7, 9, 11, 24));
    if (chance(&state, 40) && profile->sides.far_cycles == 0)
        shape(&profile->caches[BLIND_L2], ONE_OF(&state, 96, 384, 640, 896, 1000, 1536, 2560),
              ONE_OF(&state, 1, 2, 3, 6, 12, 24, 48));
    if (chance(&state, 40) && profile->caches[BLIND_SECOND_CONSTANT].line_bytes == 0)
        shape(&profile->caches[BLIND_CONSTANT], ONE_OF(&state, 1, 3, 5, 8, 12),
              ONE_OF(&state, 1, 2, 4, 5, 16));
    if (chance(&state, 20))
        profile->jitter_cycles = (uint32_t)ONE_OF(&state, 16, 20, 25);
    if (chance(&state, 30)) {
        profile->per_warp = between(&state, 1, 3);
        profile->per_sm = profile->per_warp * (uint32_t)ONE_OF(&state, 1, 5, 17);
    }
    if (chance(&state, 25) && !l1->skips_tlb)
        l1->detour_cycles = between(&state, 60, 250);
    for (size_t i = 0; i < BLIND_TLBS; i++) /* what noise hides is none */
        if (profile->tlbs[i].penalty_cycles < profile->jitter_cycles + 4)
            profile->tlbs[i].penalty_cycles += profile->jitter_cycles + 4;
}
