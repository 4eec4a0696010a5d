/*
 * Changing devices that broad.c drew (seeds from BLIND_HIDDEN_FIRST on), so that one thing hides
 * another: steps of TLB levels within the noise, TPCs within GPCs whose SMs slow each other down as
 * well, a third cache close behind an L2 with random victims, second constant caches that are no
 * larger than what the battery begins with, or whose sets differ.
 */
#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

static void draw_noise(uint64_t *state, struct blind_profile *profile)
{
    profile->jitter_cycles = (uint32_t)ONE_OF(state, 15, 25, 40, 60);
    for (size_t i = 0; i < BLIND_TLBS; i++)
        if (profile->tlbs[i].span_bytes > 0 && chance(state, 60))
            profile->tlbs[i].penalty_cycles = between(state, 8, 60);
}

static void draw_groups(uint64_t *state, struct blind_profile *profile)
{
    profile->tpc_sms = between(state, 1, 4);
    profile->tpc_slowdown = 1.0 + 0.1 * between(state, 0, 12);
    profile->gpc_slowdown = 1.0 + 0.05 * between(state, 1, 8);
}

static void draw_third(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l2 = &profile->caches[BLIND_L2], *l3 = &profile->caches[BLIND_FOURTH];

    l2->policy = "random";
    *l3 = *l2;
    l3->id = "l3";
    l3->is_xor = false;
    l3->mask_count = 0;
    l3->sets *= (uint32_t)ONE_OF(state, 2, 4, 8);
    l3->policy = chance(state, 50) ? "lru" : "random";
    l3->prefetch_bytes = 0;
    l3->is_first_walk_only = false;
    l3->latency_cycles = l2->latency_cycles + profile->jitter_cycles + between(state, 30, 120);
    profile->dram_cycles = l3->latency_cycles + profile->jitter_cycles + between(state, 40, 200);
}

static void draw_constants(uint64_t *state, struct blind_cache *second)
{
    second->is_xor = false;
    second->mask_count = 0;
    second->policy = chance(state, 60) ? "lru" : "random";
    second->line_bytes = second->sector_bytes = ONE_OF(state, 64, 128, 256);
    second->sets = (uint32_t)(ONE_OF(state, 6144, 7680, 8192, 24576, 32768) / second->line_bytes);
    second->ways = 1;
    while (second->sets % 2 == 0 && chance(state, 70)) {
        second->sets /= 2;
        second->ways *= 2;
    }
    second->more_every = between(state, 2, 12);
    second->more_ways = chance(state, 50) ? between(state, 1, 4) : 0;
}

void blind_draw_hidden(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0xd6e8feb86659fd93u + 7;
    struct blind_cache *second = &profile->caches[BLIND_SECOND_CONSTANT];

    if (chance(&state, 50))
        draw_noise(&state, profile);
    if (chance(&state, 60) && profile->sm_count >= 4)
        draw_groups(&state, profile);
    if (chance(&state, 40) && blind_cache_bytes(&profile->caches[BLIND_L2]) <= (uint64_t)4 << 20 &&
        profile->sides.far_cycles == 0.0)
        draw_third(&state, profile);
    if (profile->caches[BLIND_CONSTANT].line_bytes == 0 || !chance(&state, 70))
        return;
    *second = (struct blind_cache){.id = "constant_l15", .paths = "[\"constant\"]"};
    draw_constants(&state, second);
    second->latency_cycles = profile->caches[BLIND_CONSTANT].latency_cycles +
                             profile->jitter_cycles + between(&state, 20, 60);
    if (second->latency_cycles + profile->jitter_cycles >=
        profile->caches[BLIND_L2].latency_cycles - 20.0)
        second->line_bytes = 0;
}
