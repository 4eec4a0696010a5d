/*
 * Drawing devices of kinds that broad.c never draws (seeds from BLIND_UNUSUAL_FIRST on): one of
 * broad.c's, changed in some of its parts.
 */
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

static const uint64_t mebibyte = 1 << 20;

/* Sets of a hash: every bit of an address bit of its own, and up to two higher ones. */
static void hash_sets(uint64_t *state, struct blind_tlb *tlb)
{
    size_t bits = between(state, 1, 7);

    tlb->sets = (size_t)1 << bits;
    tlb->mask_count = bits;
    tlb->ways[0] = (uint32_t)ONE_OF(state, 2, 4, 6, 8, 8, 12);
    for (size_t i = 0; i < bits; i++) {
        tlb->masks[i] = tlb->span_bytes << i;
        for (uint32_t others = between(state, 0, 2); others > 0; others--)
            tlb->masks[i] |= (tlb->span_bytes << bits) << between(state, 0, 3);
    }
}

/* Sets in turn, of as many ways each or of any. */
static void deal_sets(uint64_t *state, struct blind_tlb *tlb, uint32_t entries)
{
    bool is_equal = chance(state, 60);

    tlb->sets = (size_t)ONE_OF(state, 1, 1, 2, 3, 4, 5, 7, 8);
    for (size_t set = 0; set < tlb->sets; set++)
        tlb->ways[set] = (entries + (uint32_t)tlb->sets - 1) / (uint32_t)tlb->sets +
                         (is_equal ? 0 : between(state, 0, 6));
}

/*
 * Each level of another policy, with entries of one page or of a group of them that grow from level
 * to level, in sets of one size, of several, or hashed; penalties in any order.
 */
static void draw_tlbs(uint64_t *state, struct blind_profile *profile)
{
    static const char *const policies[] = {"lru", "lru", "lru", "random", "plru", "fifo"};
    uint64_t page = ONE_OF(state, 65536, 2 * mebibyte, 2 * mebibyte, 2 * mebibyte);
    uint64_t span = page * ONE_OF(state, 1, 1, 2, 8, 16), reach = 0;
    uint32_t levels = (uint32_t)ONE_OF(state, 1, 2, 2, 2, 3);

    memset(profile->tlbs, 0, sizeof(profile->tlbs));
    for (uint32_t level = 0; level < levels; level++) {
        struct blind_tlb *tlb = &profile->tlbs[level];
        uint32_t tries = 0;

        do {
            uint32_t least = (uint32_t)(reach / span) + 1;

            *tlb = (struct blind_tlb){.page_bytes = page, .span_bytes = span};
            tlb->policy = policies[draw(state) % (sizeof(policies) / sizeof(policies[0]))];
            if (level > 0 && chance(state, 40))
                hash_sets(state, tlb);
            else
                deal_sets(state, tlb,
                          level == 0 ? between(state, 4, 40)
                                     : least * between(state, 3, 8) / 2 + between(state, 1, 8));
            if (strcmp(tlb->policy, "lru") != 0) /* others are found in equal sets in turn alone */
                for (size_t set = 1; set < tlb->sets && tlb->mask_count == 0; set++)
                    tlb->ways[set] = tlb->ways[0];
        } while (blind_tlb_entries(tlb) * span * 2 < 3 * reach && ++tries < 64);
        if (tries == 64) {
            tlb->span_bytes = 0; /* no further level */
            return;
        }
        tlb->penalty_cycles = between(state, 5, 250);
        reach = blind_tlb_entries(tlb) * span;
        span *= ONE_OF(state, 1, 1, 2, 4);
    }
}

static void draw_caches(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l1 = &profile->caches[BLIND_L1], *l2 = &profile->caches[BLIND_L2];

    if (chance(state, 25) && l1->ways >= 4)
        l1->policy = "keep_hits";
    if (chance(state, 15) && !l1->is_xor && !l2->is_xor) {
        l1->line_bytes = l2->line_bytes = 256;
        l1->sets = l1->sets > 1 ? l1->sets / 2 : 1;
        l2->sets = l2->sets > 1 ? l2->sets / 2 : 1;
        if ((profile->sides.mask & 255) != 0) /* a line has one home */
            profile->sides.mask = (profile->sides.mask & ~(uint64_t)255) | 256;
    }
    if (chance(state, 20) && !l1->is_xor) { /* one set, or nearly */
        l1->sets = (uint32_t)ONE_OF(state, 1, 1, 2, 3);
        l1->ways = between(state, 32, 200);
        l1->policy = (const char *const[]){"lru", "fifo", "plru", "random"}[draw(state) % 4];
    }
    l1->skips_tlb = chance(state, 25);
    l1->detour_cycles = !l1->skips_tlb && chance(state, 30) ? between(state, 1, 60) : 0;
    l2->is_first_walk_only = l2->prefetch_bytes > 0 && chance(state, 50);
    if (chance(state, 25)) { /* latencies close to each other */
        uint32_t most = l1->latency_cycles;

        for (size_t i = 0; i < BLIND_CACHES; i++)
            if (i != BLIND_L2 && i != BLIND_FOURTH && profile->caches[i].line_bytes > 0 &&
                profile->caches[i].latency_cycles > most)
                most = profile->caches[i].latency_cycles;
        l2->latency_cycles = most + between(state, 20, 60);
    }
}

static void draw_noise(uint64_t *state, struct blind_profile *profile)
{
    profile->jitter_cycles = (uint32_t)ONE_OF(state, 0, 1, 2, 3, 6, 12);
    profile->spike_probability = (double)ONE_OF(state, 0, 1, 5, 20, 100) * 1e-4;
    profile->spike_cycles = between(state, 20, 400); /* as long as a miss */
}

static void draw_chip(uint64_t *state, struct blind_profile *profile)
{
    struct blind_sides *sides = &profile->sides;

    profile->clock_mhz = between(state, 200, 3500);
    profile->overhead_cycles = between(state, 0, 120);
    profile->memory_bytes = mebibyte * ONE_OF(state, 1024, 3072, 5120, 12288, 24576, 81920, 144384);
    while (profile->memory_bytes < 8 * blind_cache_bytes(&profile->caches[BLIND_L2]))
        profile->memory_bytes *= 2;
    if (sides->far_cycles > 0 && sides->gpc_count == 8) /* chips lose SMs here and there */
        for (uint32_t i = 0; i + 1 < sides->gpc_count; i += 2) {
            uint32_t less = 2 * between(state, 0, sides->gpc_sms[i + 1] > 4 ? 1 : 0);

            sides->gpc_sms[i] += less;
            sides->gpc_sms[i + 1] -= less;
        }
    if (sides->far_cycles > 0 && sides->slices > 1)
        sides->slices = (uint32_t)ONE_OF(state, 3, 5, 12, 24, 48, 80);
}

/* More ways in every second set, in fewer, or in the last one alone. */
static void make_unequal(uint64_t *state, struct blind_cache *cache)
{
    uint32_t every = (uint32_t)ONE_OF(state, 2, 3, 4, cache->sets),
             more = (uint32_t)ONE_OF(state, 1, 2, 3, 8);

    if (cache->line_bytes == 0 || cache->sets < 2 || cache->is_xor ||
        strcmp(cache->policy, "weighted") == 0 || !chance(state, 35))
        return;
    cache->more_every = every > 1 ? every : 2;
    cache->more_ways = more;
}

static void draw_unequal(uint64_t *state, struct blind_profile *profile)
{
    static const char *const capabilities[] = {"2.0", "3.5", "5.2", "7.0", "8.0", "9.0"};
    struct blind_cache *l1 = &profile->caches[BLIND_L1];
    const struct blind_cache *constant = &profile->caches[BLIND_CONSTANT];
    struct blind_cache *second = &profile->caches[BLIND_SECOND_CONSTANT];

    profile->compute_capability = capabilities[draw(state) % 6];
    if (chance(state, 30) && l1->sets % 2 == 0 && l1->sets <= 32 && l1->ways <= 30 && !l1->is_xor &&
        strcmp(l1->policy, "weighted") != 0)
        l1->more_ways = between(state, 1, 2);
    if (constant->line_bytes == 0 || !chance(state, 60))
        return;
    *second = *constant;
    second->id = "constant_l15";
    second->sets *= (uint32_t)ONE_OF(state, 2, 4, 8);
    second->is_xor = false;
    second->mask_count = 0;
    second->latency_cycles += between(state, 20, 60);
}

static void draw_unequal_any(uint64_t *state, struct blind_profile *profile)
{
    for (size_t i = 0; i < BLIND_CACHES; i++)
        if (i != BLIND_L2 || profile->sides.far_cycles == 0)
            make_unequal(state, &profile->caches[i]);
}

void blind_draw_unusual(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0xd1342543de82ef95u + 7;

    draw_caches(&state, profile);
    draw_tlbs(&state, profile);
    draw_noise(&state, profile);
    draw_chip(&state, profile);
    if (profile->seed >= BLIND_UNEQUAL_FIRST)
        draw_unequal(&state, profile);
    if (profile->seed >= BLIND_UNEQUAL_ANY_FIRST && profile->seed < BLIND_RARE_FIRST)
        draw_unequal_any(&state, profile);
    for (size_t i = 0; i < BLIND_TLBS; i++) /* what noise hides is none */
        if (profile->tlbs[i].penalty_cycles < profile->jitter_cycles + 4)
            profile->tlbs[i].penalty_cycles += profile->jitter_cycles + 4;
    if (profile->dram_cycles < profile->caches[BLIND_L2].latency_cycles + 60)
        profile->dram_cycles = profile->caches[BLIND_L2].latency_cycles + 60;
}
