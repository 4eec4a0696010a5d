/*
 * Changing devices that unusual.c drew once more (seeds from BLIND_EXTREME_FIRST on), in numbers
 * far from those of any device known: an L2 smaller than L1, levels of translation of one entry or
 * of hundreds from the first one on, latencies a quarter or four times as long, clocks from 50 MHz
 * to 8 GHz, sides of GPCs of any size, banks of 16 bytes, ways that no line is evicted from.
 */
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

static void draw_small_l2(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l2 = &profile->caches[BLIND_L2];

    l2->sets = (uint32_t)ONE_OF(state, 64, 128, 200, 256);
    l2->ways = (uint32_t)ONE_OF(state, 2, 4, 8, 12);
    l2->is_xor = false;
    l2->mask_count = 0;
    l2->more_ways = 0;
    l2->policy = (const char *const[]){"lru", "fifo", "random"}[draw(state) % 3];
    l2->prefetch_bytes = 0;
    l2->is_first_walk_only = false;
    profile->caches[BLIND_FOURTH].line_bytes = 0;
    profile->parallel.far_bytes = 0;
}

static void scale_latencies(uint64_t *state, struct blind_profile *profile)
{
    double factor = 0.25 * (double)ONE_OF(state, 1, 2, 6, 10, 16);

    for (size_t i = 0; i < BLIND_CACHES; i++)
        profile->caches[i].latency_cycles = (int)(profile->caches[i].latency_cycles * factor) + 2;
    for (size_t i = 0; i < BLIND_TLBS; i++)
        profile->tlbs[i].penalty_cycles = (int)(profile->tlbs[i].penalty_cycles * factor) + 5;
    profile->sides.far_cycles = (int)(profile->sides.far_cycles * factor);
    if (profile->sides.far_cycles > 0) /* slices differ by less than the sides do */
        profile->sides.far_cycles += profile->sides.spread_cycles + 10;
    profile->dram_cycles = (int)(profile->dram_cycles * factor) + 40;
    if (profile->dram_cycles < profile->sides.far_cycles + 50)
        profile->dram_cycles = profile->sides.far_cycles + 50;
}

static void draw_tlbs(uint64_t *state, struct blind_profile *profile)
{
    struct blind_tlb *first = &profile->tlbs[0];
    uint64_t reach;

    if (first->span_bytes == 0)
        return;
    first->mask_count = 0;
    first->sets = 1;
    first->ways[0] = (uint32_t)ONE_OF(state, 1, 2, 3, 4, 100, 256, 512);
    reach = first->ways[0] * first->span_bytes;
    for (size_t i = 1; i < BLIND_TLBS && profile->tlbs[i].span_bytes > 0; i++) {
        struct blind_tlb *tlb = &profile->tlbs[i];

        if (2 * blind_tlb_entries(tlb) * tlb->span_bytes < 3 * reach)
            tlb->span_bytes = 0;
        reach = blind_tlb_entries(tlb) * tlb->span_bytes;
    }
}

static void draw_gpcs(uint64_t *state, struct blind_profile *profile)
{
    struct blind_sides *sides = &profile->sides;
    uint32_t rest = profile->sm_count;

    if (sides->far_cycles == 0.0 || profile->sm_count < 24)
        return;
    sides->mask |= (uint64_t)between(state, 0, 63) << 18;
    sides->gpc_count = between(state, 2, 6);
    for (uint32_t i = 0; i + 1 < sides->gpc_count; i++) {
        sides->gpc_sms[i] = 2 * between(state, 1, profile->sm_count / sides->gpc_count / 2);
        rest -= sides->gpc_sms[i];
    }
    sides->gpc_sms[sides->gpc_count - 1] = rest;
}

static void draw_weights(uint64_t *state, struct blind_cache *cache)
{
    if (cache->line_bytes > 0 && strcmp(cache->policy, "weighted") == 0 && cache->ways > 2)
        cache->weights[between(state, 1, cache->ways - 1)] = 0;
}

void blind_draw_extreme(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0xd6e8feb86659fd93u + 13;

    if (chance(&state, 25))
        draw_small_l2(&state, profile);
    if (chance(&state, 40))
        scale_latencies(&state, profile);
    if (chance(&state, 40))
        draw_tlbs(&state, profile);
    draw_gpcs(&state, profile);
    for (size_t i = 0; i < BLIND_CACHES; i++)
        if (chance(&state, 50))
            draw_weights(&state, &profile->caches[i]);
    if (chance(&state, 30))
        profile->clock_mhz = (double)ONE_OF(&state, 50, 100, 5000, 8000);
    if (chance(&state, 30))
        profile->bank_bytes = 16;
    if (chance(&state, 30))
        profile->theoretical_bytes_per_s =
            profile->bandwidth_bytes_per_s * (double)ONE_OF(&state, 1, 2, 5);
    for (size_t i = 0; i < BLIND_TLBS; i++) /* what noise hides is none */
        if (profile->tlbs[i].penalty_cycles < profile->jitter_cycles + 4)
            profile->tlbs[i].penalty_cycles += profile->jitter_cycles + 4;
}
