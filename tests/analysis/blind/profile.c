/* Drawing profiles, and writing them as the simulator reads them (design 3.4). */
#include "analysis/blind/profile.h"

#include <stdio.h>
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/parallel.h"

static bool is_power_of_two(uint64_t value)
{
    return (value & (value - 1)) == 0;
}

uint32_t blind_ways(const struct blind_cache *cache, uint32_t set)
{
    uint32_t every = cache->more_every > 0 ? cache->more_every : 2;

    return cache->ways + (set % every == every - 1 ? cache->more_ways : 0);
}

uint64_t blind_cache_bytes(const struct blind_cache *cache)
{
    uint64_t lines = 0;

    for (uint32_t set = 0; set < cache->sets; set++)
        lines += blind_ways(cache, set);
    return cache->line_bytes * lines;
}

uint32_t blind_tlb_entries(const struct blind_tlb *tlb)
{
    uint32_t entries = 0;

    if (tlb->mask_count > 0)
        return (uint32_t)tlb->sets * tlb->ways[0];
    for (size_t i = 0; i < tlb->sets; i++)
        entries += tlb->ways[i];
    return entries;
}

/* Every index bit is an address bit of its own, and up to two higher ones. */
static void draw_index(uint64_t *state, struct blind_cache *cache)
{
    if (!is_power_of_two(cache->sets) || draw(state) % 2 == 0)
        return;
    cache->is_xor = true;
    for (uint64_t bit = 1; bit < cache->sets; bit *= 2) {
        uint64_t mask = bit * cache->line_bytes;
        uint32_t others = between(state, 0, 2);

        for (uint32_t i = 0; i < others; i++)
            mask |= cache->sets * cache->line_bytes << between(state, 0, 9);
        cache->masks[cache->mask_count++] = mask;
    }
}

/* Weights are distinguished for caches of few ways only; see infer_policy.c. */
static void draw_policy(uint64_t *state, struct blind_cache *cache)
{
    static const char *const policies[] = {"lru", "fifo", "plru", "random", "weighted"};

    cache->policy = policies[draw(state) % (cache->ways <= 8 ? 5 : 4)];
    for (uint32_t way = 0; way < cache->ways && way < BLIND_WAYS_MAX; way++)
        cache->weights[way] = between(state, 1, 3);
    cache->weights[0] += 3; /* clearly uneven */
}

/* Half of all sets are powers of two: only these can be hashed. */
static uint32_t draw_sets(uint64_t *state, uint32_t low, uint32_t high)
{
    uint32_t sets = between(state, low, high), power = 1;

    while (2 * power <= sets)
        power *= 2;
    return draw(state) % 2 == 0 ? sets : power;
}

static uint64_t draw_sector(uint64_t *state, uint64_t line_bytes)
{
    uint64_t sector_bytes = ONE_OF(state, 32, 32, 64, line_bytes, line_bytes);

    return sector_bytes < line_bytes ? sector_bytes : line_bytes;
}

static void draw_l1(uint64_t *state, struct blind_cache *l1)
{
    *l1 = (struct blind_cache){.id = "l1", .paths = "[\"global_ca\"]"};
    l1->line_bytes = ONE_OF(state, 32, 64, 128);
    l1->sector_bytes = draw_sector(state, l1->line_bytes);
    l1->sets = draw_sets(state, 4, 64);
    do
        l1->ways = between(state, 2, 32);
    while (blind_cache_bytes(l1) > 131072 || blind_cache_bytes(l1) < 512);
    l1->latency_cycles = between(state, 25, 110);
    draw_index(state, l1);
    draw_policy(state, l1);
}

/* 32-byte lines, four of them in a row in one set (M16 4.3), or a plain modulo. */
static void draw_texture(uint64_t *state, struct blind_cache *texture)
{
    static const char *const policies[] = {"lru", "lru", "fifo", "plru", "random"};

    *texture = (struct blind_cache){
        .id = "texture", .paths = "[\"texture\"]", .line_bytes = 32, .sector_bytes = 32, .sets = 4};
    texture->ways =
        draw(state) % 2 == 0 ? (uint32_t)ONE_OF(state, 48, 64, 96) : between(state, 48, 96);
    texture->latency_cycles = between(state, 70, 120);
    texture->policy = policies[draw(state) % 5];
    if (draw(state) % 2 == 0)
        return;
    texture->is_xor = true;
    texture->masks[0] = 0x80;
    texture->masks[1] = 0x100;
    texture->mask_count = 2;
}

static void draw_l2(uint64_t *state, struct blind_cache *l2, uint64_t least_bytes)
{
    *l2 = (struct blind_cache){.id = "l2", .paths = "[\"global_ca\", \"global_cg\", \"texture\"]"};
    do {
        l2->line_bytes = ONE_OF(state, 32, 64, 128);
        l2->sets = draw_sets(state, 256, 1024);
        l2->ways = between(state, 2, 32);
    } while (blind_cache_bytes(l2) > 2097152 || blind_cache_bytes(l2) < 65536 ||
             blind_cache_bytes(l2) < least_bytes);
    l2->sector_bytes = draw_sector(state, l2->line_bytes);
    l2->latency_cycles = between(state, 170, 330);
    draw_index(state, l2);
    draw_policy(state, l2);
}

static void draw_tlbs(uint64_t *state, struct blind_profile *profile)
{
    struct blind_tlb *first = &profile->tlbs[0], *second = &profile->tlbs[1];

    first->span_bytes = second->span_bytes = ONE_OF(state, 2097152, 16777216);
    first->sets = 1;
    first->ways[0] = between(state, 8, 20);
    first->penalty_cycles = between(state, 6, 60);
    second->sets = (size_t)ONE_OF(state, 1, 4, 5, 7);
    for (size_t i = 0; i < second->sets; i++)
        second->ways[i] = i == 0 ? between(state, 8, 17) : 8;
    second->penalty_cycles = between(state, 40, 90);
    while (blind_tlb_entries(second) < 2 * first->ways[0])
        second->ways[0]++;
}

static void draw_shared(uint64_t *state, struct blind_profile *profile)
{
    uint32_t step = between(state, 2, 35);

    profile->bank_bytes = (uint32_t)ONE_OF(state, 4, 8, 16);
    profile->shared_cycles = between(state, 20, 60);
    for (uint32_t i = 0; i < BLIND_CONFLICTS; i++)
        profile->conflict_cycles[i] = profile->shared_cycles + step * ((2u << i) - 1);
}

/* Two or four small sets or one, and behind them sets of any sizes that hold half as much again. */
static void widen_tlbs(uint64_t *state, struct blind_profile *profile)
{
    struct blind_tlb *first = &profile->tlbs[0], *second = &profile->tlbs[1];

    first->sets = (size_t)ONE_OF(state, 1, 1, 2, 4);
    for (size_t i = 0; i < first->sets; i++)
        first->ways[i] = between(state, 8, 20) / (uint32_t)first->sets;
    first->span_bytes = ONE_OF(state, 2097152, 2097152, 16777216);
    second->span_bytes = ONE_OF(state, first->span_bytes, 16777216);
    second->sets = between(state, 1, 8);
    for (size_t i = 0; i < second->sets; i++)
        second->ways[i] = (uint32_t)ONE_OF(state, 6, 8, 8, 10, 12, 16, 17);
    while (blind_tlb_entries(second) * second->span_bytes * 2 <
           blind_tlb_entries(first) * first->span_bytes * 3)
        second->ways[0]++;
}

/* Every bit of the index is an address bit of its own, and up to two of the next higher ones. */
static void hash_tlb(uint64_t *state, struct blind_tlb *tlb)
{
    size_t bits = between(state, 2, 8);

    tlb->span_bytes = ONE_OF(state, 2097152, 16777216, 33554432);
    tlb->sets = (size_t)1 << bits;
    tlb->ways[0] = (uint32_t)ONE_OF(state, 4, 6, 8, 8, 12);
    tlb->mask_count = bits;
    for (size_t i = 0; i < bits; i++) {
        uint32_t others = between(state, 0, 2);

        tlb->masks[i] = tlb->span_bytes << i;
        for (; others > 0; others--)
            tlb->masks[i] |= (tlb->span_bytes << bits) << between(state, 0, 4);
    }
}

/* A hashed level behind one set, that reaches half as far again. */
static void hash_second(uint64_t *state, struct blind_profile *profile)
{
    struct blind_tlb *first = &profile->tlbs[0], *second = &profile->tlbs[1];

    do
        hash_tlb(state, second);
    while (second->span_bytes < first->span_bytes ||
           blind_tlb_entries(second) * second->span_bytes * 2 <
               blind_tlb_entries(first) * first->span_bytes * 3);
    profile->memory_bytes = ONE_OF(state, 4, 4, 24, 80, 140) << 30;
}

/* Up to four more bits in each mask. */
static void widen_masks(uint64_t *state, struct blind_cache *cache)
{
    for (size_t i = 0; i < cache->mask_count; i++)
        for (uint32_t more = between(state, 0, 4); more > 0; more--)
            cache->masks[i] |= cache->sets * cache->line_bytes << between(state, 0, 9);
}

static void widen(uint64_t *state, struct blind_profile *profile)
{
    struct blind_cache *l1 = &profile->caches[BLIND_L1], *l2 = &profile->caches[BLIND_L2];
    uint32_t texture_cycles = profile->caches[BLIND_TEXTURE].latency_cycles;

    widen_tlbs(state, profile);
    widen_masks(state, l1);
    widen_masks(state, l2);
    if (draw(state) % 2 == 0) {
        l2->latency_cycles =
            l1->latency_cycles > texture_cycles ? l1->latency_cycles : texture_cycles;
        l2->latency_cycles += between(state, 15, 60);
        profile->dram_cycles = l2->latency_cycles + between(state, 40, 350);
    }
    profile->bank_bytes = (uint32_t)ONE_OF(state, 4, 8, 16, 32);
    if (draw(state) % 3 == 0) {
        profile->spike_probability = 1e-3;
        profile->spike_cycles = between(state, 400, 1000);
    }
}

void blind_draw(uint64_t seed, struct blind_profile *profile_out)
{
    struct blind_profile profile = {.seed = seed,
                                    .memory_bytes = (uint64_t)4 << 30,
                                    .sm_count = 8,
                                    .bandwidth_bytes_per_s = 2e11,
                                    .theoretical_bytes_per_s = 2.5e11};
    uint64_t state = seed * 0x2545f4914f6cdd1du + 1;

    if (seed >= BLIND_HIDDEN_FIRST) {
        blind_draw_broad(seed, profile_out);
        blind_parallel_draw(profile_out);
        blind_draw_hidden(profile_out);
        return;
    }
    if (seed >= BLIND_BUSY_FIRST) {
        blind_draw_broad(seed, profile_out);
        blind_parallel_draw(profile_out);
        profile_out->spike_probability = (double)ONE_OF(&state, 1, 5, 20, 50) * 1e-3;
        profile_out->spike_cycles = (uint32_t)ONE_OF(&state, 30, 100, 400, 2000);
        profile_out->burst_loads = (uint32_t)ONE_OF(&state, 8, 40, 200, 1000);
        return;
    }
    if (seed >= BLIND_SLICED_FIRST) {
        blind_draw_broad(seed, profile_out);
        blind_parallel_draw(profile_out);
        profile_out->caches[BLIND_L2].spread_cycles = between(&state, 4, 96);
        return;
    }
    if (seed >= BLIND_BROAD_FIRST) {
        blind_draw_broad(seed, profile_out);
        if (seed >= BLIND_UNUSUAL_FIRST)
            blind_draw_unusual(profile_out);
        if (seed >= BLIND_RARE_FIRST && seed < BLIND_STRANGE_FIRST)
            blind_draw_rare(profile_out);
        if (seed >= BLIND_STRANGE_FIRST && seed < BLIND_IMPAIRED_FIRST)
            blind_draw_strange(profile_out);
        if (seed >= BLIND_PARALLEL_FIRST)
            blind_parallel_draw(profile_out);
        if (seed >= BLIND_IMPAIRED_FIRST && seed < BLIND_EXTREME_FIRST)
            blind_draw_impaired(profile_out);
        if (seed >= BLIND_EXTREME_FIRST)
            blind_draw_extreme(profile_out);
        return;
    }

    profile.overhead_cycles = between(&state, 6, 20);
    profile.clock_mhz = between(&state, 700, 2000);
    draw_l1(&state, &profile.caches[BLIND_L1]);
    draw_texture(&state, &profile.caches[BLIND_TEXTURE]);
    draw_l2(&state, &profile.caches[BLIND_L2], 4 * blind_cache_bytes(&profile.caches[BLIND_L1]));
    profile.dram_cycles = profile.caches[BLIND_L2].latency_cycles + between(&state, 120, 350);
    draw_tlbs(&state, &profile);
    draw_shared(&state, &profile);
    profile.per_warp = between(&state, 6, 16);
    profile.per_sm = between(&state, 32, 128);
    profile.jitter_cycles = between(&state, 0, 2);
    if (draw(&state) % 2 == 0) {
        profile.spike_probability = 1e-4;
        profile.spike_cycles = between(&state, 100, 500);
    }
    if (seed >= BLIND_WIDE_FIRST)
        widen(&state, &profile);
    if (seed >= BLIND_HASHED_FIRST)
        hash_second(&state, &profile);
    *profile_out = profile;
}

static void write_cache(FILE *file, const struct blind_cache *cache)
{
    fprintf(file,
            "  {\"id\": \"%s\", \"paths\": %s, \"line_bytes\": %llu, \"sector_bytes\": %llu,\n"
            "   \"sets\": %u, \"latency_cycles\": %.17g, \"ways\": ",
            cache->id, cache->paths, (unsigned long long)cache->line_bytes,
            (unsigned long long)cache->sector_bytes, cache->sets, cache->latency_cycles);
    if (cache->more_ways == 0)
        fprintf(file, "%u", cache->ways);
    for (uint32_t set = 0; set < cache->sets && cache->more_ways > 0; set++)
        fprintf(file, "%s%u", set == 0 ? "[" : ", ", blind_ways(cache, set));
    fprintf(file, "%s, \"index\": {\"kind\": ", cache->more_ways > 0 ? "]" : "");
    fputs(cache->is_xor ? "\"xor\", \"masks\": [" : "\"modulo\"", file);
    for (size_t i = 0; i < cache->mask_count; i++)
        fprintf(file, "%s\"0x%llx\"", i > 0 ? ", " : "", (unsigned long long)cache->masks[i]);
    fprintf(file, "%s},\n   \"policy\": {\"kind\": \"%s\"", cache->is_xor ? "]" : "",
            cache->policy);
    if (strcmp(cache->policy, "weighted") == 0) {
        for (uint32_t way = 0; way < cache->ways; way++)
            fprintf(file, "%s%u", way > 0 ? ", " : ", \"weights\": [", cache->weights[way]);
        fputs("]", file);
    }
    fprintf(file,
            "}, \"prefetch_bytes\": %llu, \"prefetch_first_walk_only\": %s,\n"
            "   \"skips_tlb\": %s, \"tlb_detour_cycles\": %u, \"miss_cycles\": %u,\n   "
            "\"line_spread_cycles\": %u, \"unified_with_shared\": %s}",
            (unsigned long long)cache->prefetch_bytes, cache->is_first_walk_only ? "true" : "false",
            cache->skips_tlb ? "true" : "false", cache->detour_cycles, cache->miss_cycles,
            cache->spread_cycles, cache->is_unified ? "true" : "false");
}

uint64_t blind_tlb_page_bytes(const struct blind_tlb *tlb)
{
    if (tlb->page_bytes > 0)
        return tlb->page_bytes;
    return tlb->span_bytes < 2097152 ? tlb->span_bytes : 2097152;
}

static void write_tlb(FILE *file, const struct blind_tlb *tlb, const char *id)
{
    uint64_t page_bytes = blind_tlb_page_bytes(tlb);

    fprintf(file,
            "  {\"id\": \"%s\", \"page_bytes\": %llu, \"entry_span_bytes\": %llu, "
            "\"policy\": {\"kind\": \"%s\"}, \"penalty_cycles\": %.17g, \"ways\": [",
            id, (unsigned long long)page_bytes, (unsigned long long)tlb->span_bytes,
            tlb->policy != NULL ? tlb->policy : "lru", tlb->penalty_cycles);
    for (size_t i = 0; i < tlb->sets; i++)
        fprintf(file, "%s%u", i > 0 ? ", " : "", tlb->ways[tlb->mask_count > 0 ? 0 : i]);
    fputs("]", file);
    for (size_t i = 0; i < tlb->mask_count; i++)
        fprintf(file, "%s\"0x%llx\"%s",
                i > 0 ? ", " : ", \"index\": {\"kind\": \"xor\", \"masks\": [",
                (unsigned long long)tlb->masks[i], i + 1 < tlb->mask_count ? "" : "]}");
    fputs("}", file);
}

uint32_t blind_banks(const struct blind_profile *profile)
{
    return profile->banks > 0 ? profile->banks : 32;
}

double blind_shared_peak(const struct blind_profile *profile)
{
    return profile->parallel.is_set ? profile->parallel.shared_bytes_per_cycle : 128.0;
}

static void write_rest(FILE *file, const struct blind_profile *profile)
{
    const uint32_t *conflict = profile->conflict_cycles;
    uint64_t shared_bytes = profile->parallel.is_set ? profile->parallel.shared_bytes : 49152;

    fprintf(file,
            " \"dram\": {\"latency_cycles\": %.17g, \"bandwidth_bytes_per_s\": %.17g, "
            "\"theoretical_bytes_per_s\": %.17g},\n"
            " \"shared\": {\"bytes_per_sm\": %llu, \"banks\": %u, \"bank_bytes\": %u, "
            "\"latency_cycles\": %u, \"peak_bytes_per_cycle\": %.17g, \"conflict_cycles\": "
            "{\"2\": %u, \"4\": %u, \"8\": %u, \"16\": %u, \"32\": %u}},\n"
            " \"mshr\": {\"per_sm\": %u, \"per_warp\": %u},\n"
            " \"noise\": {\"jitter_cycles\": %u, \"spike_probability\": %g, "
            "\"spike_cycles\": %u, \"burst_loads\": %u}}\n",
            profile->dram_cycles, profile->bandwidth_bytes_per_s, profile->theoretical_bytes_per_s,
            (unsigned long long)shared_bytes, blind_banks(profile), profile->bank_bytes,
            profile->shared_cycles, blind_shared_peak(profile), conflict[0], conflict[1],
            conflict[2], conflict[3], conflict[4], profile->per_sm, profile->per_warp,
            profile->jitter_cycles, profile->spike_probability, profile->spike_cycles,
            profile->burst_loads);
}

uint32_t blind_cluster_max(const struct blind_profile *profile)
{
    if (profile->parallel.is_set)
        return profile->parallel.cluster_max;
    return profile->has_clusters ? 16 : 0;
}

static void write_sides(FILE *file, const struct blind_profile *profile)
{
    const struct blind_sides *sides = &profile->sides;

    fprintf(file, " \"layout\": {\"cluster_max\": %u", blind_cluster_max(profile));
    if (profile->tpc_sms > 0)
        fprintf(file, ", \"tpc_sms\": %u, \"tpc_slowdown\": %.17g", profile->tpc_sms,
                profile->tpc_slowdown);
    if (profile->gpc_slowdown > 0.0)
        fprintf(file, ", \"gpc_slowdown\": %.17g", profile->gpc_slowdown);
    fputs("},\n", file);
    if (sides->far_cycles == 0)
        return;
    fprintf(file,
            " \"l2_sides\": {\"far_latency_cycles\": %.17g, \"mask\": \"0x%llx\", \"slices\": %u, "
            "\"slice_spread_cycles\": %u, \"far_bytes\": %llu, \"gpc_sms\": [",
            sides->far_cycles, (unsigned long long)sides->mask, sides->slices, sides->spread_cycles,
            (unsigned long long)profile->parallel.far_bytes);
    for (uint32_t i = 0; i < sides->gpc_count; i++)
        fprintf(file, "%s%u", i > 0 ? ", " : "", sides->gpc_sms[i]);
    fputs("], \"gpc_cycles\": [", file);
    for (uint32_t i = 0; i < sides->gpc_count; i++)
        fprintf(file, "%s%d", i > 0 ? ", " : "", sides->gpc_cycles[i]);
    fputs("]},\n", file);
}

static void write_caches(FILE *file, const struct blind_profile *profile)
{
    /* As the simulator asks them: what serves all SMs last. */
    static const size_t order[] = {BLIND_L1, BLIND_TEXTURE, BLIND_CONSTANT, BLIND_SECOND_CONSTANT,
                                   BLIND_L2, BLIND_FOURTH};
    const char *before = "";

    for (size_t i = 0; i < BLIND_CACHES; i++) {
        if (profile->caches[order[i]].line_bytes == 0)
            continue;
        fputs(before, file);
        write_cache(file, &profile->caches[order[i]]);
        before = ",\n";
    }
    fputs("],\n \"tlbs\": [\n", file);
}

int blind_write(const struct blind_profile *profile, const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        return -1;
    fprintf(file,
            "{\"name\": \"blind %llu\", \"source\": \"drawn\", \"compute_capability\": \"%s\",\n"
            " \"sm_count\": %u, \"clock_mhz\": %.17g, \"memory_bytes\": %llu, "
            "\"clock_overhead_cycles\": %u,\n \"caches\": [\n",
            (unsigned long long)profile->seed,
            profile->compute_capability != NULL ? profile->compute_capability : "5.2",
            profile->sm_count, profile->clock_mhz, (unsigned long long)profile->memory_bytes,
            profile->overhead_cycles);
    write_caches(file, profile);
    for (size_t i = 0; i < BLIND_TLBS && profile->tlbs[i].span_bytes > 0; i++) {
        const char id[] = {'t', 'l', 'b', '_', 'l', (char)('1' + i), '\0'};

        fputs(i > 0 ? ",\n" : "", file);
        write_tlb(file, &profile->tlbs[i], id);
    }
    fputs("],\n", file);
    write_sides(file, profile);
    blind_parallel_write(file, profile);
    write_rest(file, profile);
    return fclose(file) == 0 ? 0 : -1;
}
