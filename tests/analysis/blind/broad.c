/*
 * Drawing devices as broadly as the profile format allows (seeds from BLIND_BROAD_FIRST on): every
 * part may be missing, and sizes, noise and numbers of SMs span what any maker has built.
 */
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

static const uint64_t mebibyte = 1 << 20;

static void draw_index(uint64_t *state, struct blind_cache *cache)
{
    uint32_t bits = (uint32_t)__builtin_ctz(cache->sets);

    if ((cache->sets & (cache->sets - 1)) != 0 || bits == 0 || bits > BLIND_MASKS_MAX ||
        chance(state, 50))
        return;
    cache->is_xor = true;
    for (uint32_t bit = 0; bit < bits; bit++) {
        uint64_t mask = cache->line_bytes << bit;

        for (uint32_t more = between(state, 0, 3); more > 0; more--)
            mask |= cache->sets * cache->line_bytes << between(state, 0, 7);
        cache->masks[cache->mask_count++] = mask;
    }
}

static void draw_policy(uint64_t *state, struct blind_cache *cache)
{
    static const char *const policies[] = {"lru", "lru", "fifo", "plru", "random", "weighted"};

    cache->policy = policies[draw(state) % (cache->ways <= 8 ? 6 : 5)];
    for (uint32_t way = 0; way < cache->ways && way < BLIND_WAYS_MAX; way++)
        cache->weights[way] = between(state, 1, 3);
    cache->weights[0] += 3;
}

/* A number near 2^low to 2^high, each power alike; of no power of two in half of all cases. */
static uint32_t draw_near_power(uint64_t *state, uint32_t low, uint32_t high)
{
    uint32_t power = 1u << between(state, low, high);

    return chance(state, 50) || power < 4 ? power : power + between(state, 1, power - 1);
}

static void draw_shape(uint64_t *state, struct blind_cache *cache, uint32_t sets_low,
                       uint32_t sets_high, uint64_t least_bytes, uint64_t most_bytes)
{
    do {
        cache->line_bytes = ONE_OF(state, 32, 64, 128, 128);
        cache->sets = draw_near_power(state, sets_low, sets_high);
        cache->ways = (uint32_t)ONE_OF(state, 1, 2, 2, 3, 4, 6, 8, 16, 20, 32);
    } while (blind_cache_bytes(cache) > most_bytes || blind_cache_bytes(cache) < least_bytes);
    cache->sector_bytes = ONE_OF(state, 32, 32, 64, 128);
    if (cache->sector_bytes > cache->line_bytes)
        cache->sector_bytes = cache->line_bytes;
    draw_index(state, cache);
    draw_policy(state, cache);
}

static void draw_first_caches(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l1 = &profile->caches[BLIND_L1];
    struct blind_cache *texture = &profile->caches[BLIND_TEXTURE];
    struct blind_cache *constant = &profile->caches[BLIND_CONSTANT];
    bool unified = chance(state, 35);

    *l1 = (struct blind_cache){.id = "l1", .paths = "[\"global_ca\"]"};
    if (unified)
        l1->paths = "[\"global_ca\", \"readonly\", \"texture\"]";
    draw_shape(state, l1, 1, 9, 1024, 262144);
    l1->latency_cycles = between(state, 25, 90);
    if (!unified && chance(state, 60)) {
        *texture = (struct blind_cache){.id = "texture", .paths = "[\"texture\"]"};
        draw_shape(state, texture, 1, 6, 2048, 65536);
        texture->latency_cycles = between(state, 60, 120);
    }
    if (chance(state, 40)) {
        *constant = (struct blind_cache){.id = "constant_l1", .paths = "[\"constant\"]"};
        draw_shape(state, constant, 2, 5, 1024, 8192);
        constant->latency_cycles = between(state, 24, 60);
    }
}

static void draw_last_caches(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l2 = &profile->caches[BLIND_L2];
    struct blind_cache *fourth = &profile->caches[BLIND_FOURTH];
    uint64_t least = 2 * blind_cache_bytes(&profile->caches[BLIND_L1]);
    uint64_t most = ONE_OF(state, 262144, 2 * mebibyte, 8 * mebibyte, 128 * mebibyte);

    if (most < 2 * least)
        most = 2 * least;
    *l2 = (struct blind_cache){
        .id = "l2",
        .paths = "[\"global_ca\", \"global_cg\", \"readonly\", \"texture\", \"constant\"]"};
    if (profile->caches[BLIND_TEXTURE].line_bytes == 0 &&
        strchr(profile->caches[BLIND_L1].paths, ',') == NULL)
        l2->paths = "[\"global_ca\", \"global_cg\"]";
    else if (profile->caches[BLIND_CONSTANT].line_bytes == 0)
        l2->paths = profile->caches[BLIND_TEXTURE].line_bytes > 0
                        ? "[\"global_ca\", \"global_cg\", \"texture\"]"
                        : "[\"global_ca\", \"global_cg\", \"readonly\", \"texture\"]";
    else if (profile->caches[BLIND_TEXTURE].line_bytes > 0)
        l2->paths = "[\"global_ca\", \"global_cg\", \"texture\", \"constant\"]";
    draw_shape(state, l2, 6, 16, least > 65536 ? least : 65536, most);
    l2->latency_cycles = between(state, 150, 330);
    profile->dram_cycles = l2->latency_cycles + between(state, 100, 400);
    if (chance(state, 10) && blind_cache_bytes(l2) <= 2 * mebibyte) {
        *fourth = (struct blind_cache){.id = "l3", .paths = l2->paths};
        draw_shape(state, fourth, 10, 16, 4 * blind_cache_bytes(l2), 32 * blind_cache_bytes(l2));
        fourth->latency_cycles = l2->latency_cycles + between(state, 60, 200);
        profile->dram_cycles = fourth->latency_cycles + between(state, 100, 400);
    }
    if (chance(state, 20))
        l2->prefetch_bytes = ONE_OF(state, 4, 16, 64) * l2->line_bytes;
    if (chance(state, 10))
        profile->caches[BLIND_L1].prefetch_bytes =
            ONE_OF(state, 2, 4, 8) * profile->caches[BLIND_L1].line_bytes;
}

/* Levels reach 1.5 to 16 times as far one after the other, or in one case of eight just as far. */
static void draw_tlbs(uint64_t *state, struct blind_profile *profile)
{
    uint64_t page =
        ONE_OF(state, 65536, 2 * mebibyte, 2 * mebibyte, 16 * mebibyte, 1024 * mebibyte);
    uint32_t levels = (uint32_t)ONE_OF(state, 0, 1, 2, 2, 2, 2, 3, 3);
    uint32_t entries = between(state, 8, 32);

    for (uint32_t level = 0; level < levels; level++) {
        struct blind_tlb *tlb = &profile->tlbs[level];

        tlb->page_bytes = page;
        tlb->span_bytes = page;
        tlb->sets = level == 0 ? 1 : (size_t)ONE_OF(state, 1, 1, 2, 4, 8);
        for (size_t set = 0; set < tlb->sets; set++)
            tlb->ways[set] = (entries + (uint32_t)tlb->sets - 1) / (uint32_t)tlb->sets;
        tlb->penalty_cycles = between(state, 10, 80) * (level + 1);
        entries = blind_tlb_entries(tlb);
        if (!chance(state, 12))
            entries = entries * between(state, 3, 16) / 2;
    }
}

/* TLB levels of any policy, by a copy of the state: the next random number does not depend on it.
 */
static void draw_tlb_policies(uint64_t state, struct blind_profile *profile)
{
    static const char *const policies[] = {"random", "random", "random", "plru", "fifo", "lru"};

    for (size_t i = 0; i < BLIND_TLBS && profile->tlbs[i].span_bytes > 0; i++)
        profile->tlbs[i].policy =
            policies[between(&state, 0, sizeof(policies) / sizeof(policies[0]) - 1)];
}

static void draw_sides(uint64_t *state, struct blind_profile *profile)
{
    const struct blind_cache *l2 = &profile->caches[BLIND_L2];
    struct blind_sides *sides = &profile->sides;
    uint32_t rest = profile->sm_count;

    if (profile->sm_count < 8 || profile->caches[BLIND_FOURTH].line_bytes > 0 || !chance(state, 35))
        return;
    sides->far_cycles = l2->latency_cycles * between(state, 125, 180) / 100;
    if (profile->dram_cycles < sides->far_cycles + 50)
        profile->dram_cycles = sides->far_cycles + 50;
    sides->mask = (l2->line_bytes << between(state, 0, 3)) | (0x10000u << between(state, 0, 3));
    sides->slices = (uint32_t)ONE_OF(state, 1, 8, 16, 40, 96);
    sides->spread_cycles = sides->slices > 1 ? between(state, 16, 40) : 0;
    sides->gpc_count = profile->sm_count >= 32 ? 8 : 2;
    for (uint32_t i = 0; i < sides->gpc_count; i++) {
        uint32_t left = sides->gpc_count - i;

        sides->gpc_sms[i] = left == 1 ? rest : rest / left / 2 * 2;
        rest -= sides->gpc_sms[i];
    }
    profile->has_clusters = chance(state, 50);
}

static void draw_noise(uint64_t *state, struct blind_profile *profile)
{
    profile->jitter_cycles = (uint32_t)ONE_OF(state, 0, 1, 1, 2, 4, 8);
    if (chance(state, 60)) {
        profile->spike_probability = (double)ONE_OF(state, 1, 1, 10, 50) * 1e-4;
        profile->spike_cycles = between(state, 100, 1500);
    }
}

void blind_draw_broad(uint64_t seed, struct blind_profile *profile_out)
{
    struct blind_profile profile = {.seed = seed};
    uint64_t state = seed * 0x2545f4914f6cdd1du + 1;
    uint32_t step;

    profile.overhead_cycles = between(&state, 4, 40);
    profile.clock_mhz = between(&state, 600, 2600);
    profile.sm_count = (uint32_t)ONE_OF(&state, 1, 2, 4, 7, 8, 16, 30, 60, 80, 132, 160);
    profile.memory_bytes = 16 * mebibyte << between(&state, 0, 10);
    draw_first_caches(&state, &profile);
    draw_last_caches(&state, &profile);
    while (profile.memory_bytes < 8 * blind_cache_bytes(&profile.caches[BLIND_L2]))
        profile.memory_bytes *= 2;
    draw_tlbs(&state, &profile);
    if (seed >= BLIND_TLB_POLICIES_FIRST)
        draw_tlb_policies(state, &profile);
    draw_sides(&state, &profile);
    step = between(&state, 2, 35);
    profile.bank_bytes = (uint32_t)ONE_OF(&state, 4, 4, 8);
    profile.shared_cycles = between(&state, 18, 60);
    for (uint32_t i = 0; i < BLIND_CONFLICTS; i++)
        profile.conflict_cycles[i] = profile.shared_cycles + step * ((2u << i) - 1);
    profile.per_warp = between(&state, 2, 32);
    profile.per_sm = profile.per_warp * between(&state, 1, 12);
    profile.bandwidth_bytes_per_s = 1e9 * between(&state, 20, 4000);
    profile.theoretical_bytes_per_s = 1.25 * profile.bandwidth_bytes_per_s;
    draw_noise(&state, &profile);
    *profile_out = profile;
}
