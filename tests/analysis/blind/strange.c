/*
 * Changing devices that unusual.c drew once more (seeds from BLIND_STRANGE_FIRST on), in what no
 * other kind varies: which paths a cache serves, whether there is an L1, what looking a cache up in
 * vain costs, the number of banks, indexes whose parities mix all bits, TLB levels of many sets in
 * turn or hashed from the first one on, penalties as long as a cache's step.
 */
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

/* The texture cache may serve read-only loads too, L2 all paths; there may be no L1. */
static void draw_paths(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l1 = &profile->caches[BLIND_L1], *l2 = &profile->caches[BLIND_L2];
    struct blind_cache *texture = &profile->caches[BLIND_TEXTURE];
    bool is_unified = strstr(l1->paths, "texture") != NULL;

    if (texture->line_bytes > 0 && chance(state, 50))
        texture->paths = "[\"readonly\", \"texture\"]";
    if (is_unified && chance(state, 50))
        l1->paths = "[\"global_ca\", \"readonly\"]";
    if (chance(state, 60))
        l2->paths = "[\"global_ca\", \"global_cg\", \"readonly\", \"texture\", \"constant\"]";
    if (profile->caches[BLIND_FOURTH].line_bytes > 0)
        profile->caches[BLIND_FOURTH].paths = l2->paths;
    if (!is_unified && chance(state, 30))
        l1->line_bytes = 0;
}

static void draw_lookups(uint64_t *state, struct blind_profile *profile)
{
    for (size_t i = 0; i < BLIND_CACHES; i++)
        if (profile->caches[i].line_bytes > 0 && chance(state, 50))
            profile->caches[i].miss_cycles = between(state, 1, 40);
}

/* Each parity has a bit of its own, any of those below it, and any of many above. */
static void mix_index(uint64_t *state, struct blind_cache *cache)
{
    uint32_t bits = cache->sets > 0 ? (uint32_t)__builtin_ctz(cache->sets) : 0;

    if (cache->line_bytes == 0 || cache->more_ways > 0 || bits == 0 || bits > BLIND_MASKS_MAX ||
        (cache->sets & (cache->sets - 1)) != 0 || !chance(state, 40))
        return;
    cache->is_xor = true;
    cache->mask_count = bits;
    for (uint32_t bit = 0; bit < bits; bit++) {
        uint64_t below = draw(state) & (((uint64_t)1 << bit) - 1);

        cache->masks[bit] = cache->line_bytes * (((uint64_t)1 << bit) | below);
        for (uint32_t more = between(state, 0, 5); more > 0; more--)
            cache->masks[bit] |= cache->sets * cache->line_bytes << between(state, 0, 9);
    }
}

static void spread_sets(uint64_t *state, struct blind_tlb *tlb, uint32_t least)
{
    tlb->mask_count = 0;
    tlb->sets = (size_t)ONE_OF(state, 6, 9, 10, 12, 16, 20, 24, 32);
    for (size_t set = 0; set < tlb->sets; set++)
        tlb->ways[set] = least / (uint32_t)tlb->sets + 1;
}

static void hash_first(uint64_t *state, struct blind_tlb *tlb)
{
    tlb->mask_count = between(state, 1, 3);
    tlb->sets = (size_t)1 << tlb->mask_count;
    tlb->ways[0] = (uint32_t)ONE_OF(state, 2, 4, 5, 8);
    for (size_t i = 0; i < tlb->mask_count; i++)
        tlb->masks[i] = tlb->span_bytes << i | (tlb->span_bytes << tlb->mask_count)
                                                   << between(state, 0, 3);
}

static uint64_t reach_of(const struct blind_tlb *tlb)
{
    return blind_tlb_entries(tlb) * tlb->span_bytes;
}

/* A level reaches at least half as far again as the one before, or is none. */
static void order_tlbs(struct blind_profile *profile)
{
    for (size_t i = 1; i < BLIND_TLBS && profile->tlbs[i].span_bytes > 0; i++)
        if (2 * reach_of(&profile->tlbs[i]) < 3 * reach_of(&profile->tlbs[i - 1]))
            profile->tlbs[i].span_bytes = 0;
}

static void draw_tlbs(uint64_t *state, struct blind_profile *profile)
{
    struct blind_tlb *first = &profile->tlbs[0], *second = &profile->tlbs[1];
    double step = profile->dram_cycles - profile->caches[BLIND_L2].latency_cycles;

    if (first->span_bytes == 0)
        return;
    if (chance(state, 25))
        hash_first(state, first);
    if (second->span_bytes > 0 && chance(state, 50))
        spread_sets(state, second,
                    (uint32_t)(reach_of(first) / second->span_bytes) * between(state, 2, 6));
    order_tlbs(profile);
    for (size_t i = 0; i < BLIND_TLBS; i++)
        if (chance(state, 20))
            profile->tlbs[i].penalty_cycles = chance(state, 50) ? step : between(state, 250, 900);
}

/* Conflicts that cost nothing up to some ways, or no more from some on. */
static void bend_conflicts(uint64_t *state, struct blind_profile *profile)
{
    uint32_t bend = between(state, 0, BLIND_CONFLICTS - 1);

    if (chance(state, 50))
        for (uint32_t i = 0; i < bend; i++)
            profile->conflict_cycles[i] = profile->shared_cycles;
    else
        for (uint32_t i = bend + 1; i < BLIND_CONFLICTS; i++)
            profile->conflict_cycles[i] = profile->conflict_cycles[bend];
}

static void draw_odd_caches(uint64_t *state, struct blind_profile *profile)
{
    static const size_t behind[] = {BLIND_TEXTURE, BLIND_CONSTANT, BLIND_L2};
    struct blind_cache *l1 = &profile->caches[BLIND_L1], *texture = &profile->caches[BLIND_TEXTURE];

    for (size_t i = 0; i < 3; i++) {
        struct blind_cache *cache = &profile->caches[behind[i]];

        if (cache->line_bytes > 0 && cache->ways >= 3 && cache->more_ways == 0 && chance(state, 20))
            cache->policy = "keep_hits";
    }
    if (texture->line_bytes > 0 && chance(state, 15))
        texture->prefetch_bytes = ONE_OF(state, 1, 2, 4) * texture->line_bytes;
    if (texture->line_bytes > 0 && l1->line_bytes > 0 && chance(state, 20))
        texture->latency_cycles = l1->latency_cycles;
}

static void draw_odd_tlbs(uint64_t *state, struct blind_profile *profile)
{
    uint64_t smaller = ONE_OF(state, 2, 4, 16);

    if (profile->tlbs[0].span_bytes == 65536 && chance(state, 50))
        for (size_t i = 0; i < BLIND_TLBS; i++) {
            struct blind_tlb *tlb = &profile->tlbs[i];

            tlb->span_bytes /= smaller;
            tlb->page_bytes /= smaller;
            for (size_t k = 0; k < tlb->mask_count; k++)
                tlb->masks[k] /= smaller;
        }
}

static void draw_odd_limits(uint64_t *state, struct blind_profile *profile)
{
    if (chance(state, 20)) {
        profile->per_warp = (uint32_t)ONE_OF(state, 1, 48, 64);
        profile->per_sm = profile->per_warp * (uint32_t)ONE_OF(state, 1, 2, 16);
    }
    if (chance(state, 20))
        profile->overhead_cycles = between(state, 120, 400);
    if (chance(state, 15)) {
        profile->spike_probability = 5e-2;
        profile->spike_cycles = (uint32_t)ONE_OF(state, 40, 200, 3000);
    }
}

void blind_draw_strange(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0xbf58476d1ce4e5b9u + 5;

    draw_paths(&state, profile);
    draw_lookups(&state, profile);
    for (size_t i = 0; i < BLIND_CACHES; i++)
        mix_index(&state, &profile->caches[i]);
    draw_tlbs(&state, profile);
    if (chance(&state, 30))
        profile->banks = (uint32_t)ONE_OF(&state, 16, 64);
    if (profile->seed < BLIND_STRANGER_FIRST)
        return;
    if (chance(&state, 30))
        bend_conflicts(&state, profile);
    draw_odd_caches(&state, profile);
    draw_odd_tlbs(&state, profile);
    draw_odd_limits(&state, profile);
}
