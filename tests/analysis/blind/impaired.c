/*
 * Changing devices that unusual.c drew once more (seeds from BLIND_IMPAIRED_FIRST on), into what a
 * fleet's devices are and a data sheet's are not: latencies in fractions of a cycle, an L1 that
 * shares its store with shared memory, GPCs some of which are farther away, TPCs whose SMs slow
 * each other down, and faults.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/blind/draw.h"
#include "analysis/blind/profile.h"

static double fraction(uint64_t *state)
{
    return 0.01 * between(state, 0, 99);
}

static bool is_chip_wide(size_t cache)
{
    return cache == BLIND_L2 || cache == BLIND_FOURTH;
}

/* What lies behind an SM takes no whole cycles. */
static void draw_fractions(uint64_t *state, struct blind_profile *profile)
{
    for (size_t i = 0; i < BLIND_CACHES; i++)
        profile->caches[i].latency_cycles += is_chip_wide(i) ? fraction(state) : 0.0;
    for (size_t i = 0; i < BLIND_TLBS; i++)
        profile->tlbs[i].penalty_cycles += fraction(state);
    profile->dram_cycles += 1.0 + fraction(state);
    profile->sides.far_cycles += profile->sides.far_cycles > 0.0 ? fraction(state) : 0.0;
}

/* SM 0's is the nearest, or of them. */
static void draw_places(uint64_t *state, struct blind_sides *sides)
{
    for (uint32_t i = 1; i < sides->gpc_count; i++)
        sides->gpc_cycles[i] = (int)between(state, 0, 12);
}

static void add_fault(struct blind_profile *profile, struct blind_fault fault)
{
    if (profile->fault_count < BLIND_FAULTS_MAX)
        profile->faults[profile->fault_count++] = fault;
}

/* Does so much of each cache of an SM leave whole ways in all sets? */
static bool may_shrink(const struct blind_profile *profile)
{
    for (size_t i = 0; i < BLIND_CACHES; i++) {
        const struct blind_cache *cache = &profile->caches[i];

        if (cache->line_bytes > 0 && !is_chip_wide(i) &&
            (cache->ways % 2 != 0 || cache->more_ways > 0 ||
             strcmp(cache->policy, "weighted") == 0))
            return false;
    }
    return true;
}

static void draw_fault(uint64_t *state, struct blind_profile *profile)
{
    uint32_t sm = profile->sm_count > 1 ? between(state, 1, profile->sm_count - 1) : 0;

    switch (between(state, 0, 8)) {
    case 0:
    case 1:
        add_fault(profile,
                  (struct blind_fault){.name = "tail",
                                       .value = 1e-4 * (double)ONE_OF(state, 1, 10, 100, 300),
                                       .cycles = (uint32_t)ONE_OF(state, 40, 150, 600, 3000)});
        return;
    case 2:
        if (sm > 0)
            add_fault(profile, (struct blind_fault){.name = "sm_slow",
                                                    .sm = sm,
                                                    .value = 1.0 + 0.01 * between(state, 3, 100)});
        return;
    case 3:
        if (sm > 0)
            add_fault(profile, (struct blind_fault){.name = "sm_l1_size",
                                                    .sm = sm,
                                                    .value = 0.01 * between(state, 25, 90)});
        return;
    case 4:
        if (profile->sides.far_cycles == 0.0)
            add_fault(profile, (struct blind_fault){.name = "l2_latency",
                                                    .value = 1.0 + 0.01 * between(state, 1, 12)});
        return;
    case 5:
        add_fault(profile, (struct blind_fault){.name = "dram_latency",
                                                .value = 1.0 + 0.01 * between(state, 5, 60)});
        return;
    case 6:
        add_fault(profile,
                  (struct blind_fault){.name = "clock", .value = 0.01 * between(state, 40, 95)});
        return;
    case 7:
        if (may_shrink(profile))
            add_fault(profile, (struct blind_fault){.name = "l1_size", .value = 0.5});
        return;
    default:
        add_fault(profile, (struct blind_fault){.name = "bitflip",
                                                .value = pow(10.0, -(double)between(state, 5, 9))});
    }
}

void blind_draw_impaired(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0x94d049bb133111ebu + 11;
    struct blind_cache *l1 = &profile->caches[BLIND_L1];

    if (chance(&state, 50))
        draw_fractions(&state, profile);
    if (chance(&state, 25) && l1->ways >= 4)
        l1->is_unified = true;
    if (chance(&state, 30))
        draw_places(&state, &profile->sides);
    if (chance(&state, 30) && profile->sm_count >= 4) {
        profile->tpc_sms = (uint32_t)ONE_OF(&state, 2, 2, 4);
        profile->tpc_slowdown = 1.0 + 0.1 * between(&state, 1, 10);
    }
    for (uint32_t i = between(&state, 0, 2); i > 0; i--)
        draw_fault(&state, profile);
}

void blind_fault_text(const struct blind_fault *fault, char text_out[64])
{
    if (fault->cycles > 0)
        snprintf(text_out, 64, "%s=%.17g:%u", fault->name, fault->value, fault->cycles);
    else if (fault->sm > 0)
        snprintf(text_out, 64, "%s=%u:%.17g", fault->name, fault->sm, fault->value);
    else
        snprintf(text_out, 64, "%s=%.17g", fault->name, fault->value);
}

/* DRAM's own part of its latency takes as long as before, in cycles of another length. */
static void slow_clock(struct blind_profile *profile, double factor)
{
    double slowest = 0.0;

    for (size_t i = 0; i < BLIND_CACHES; i++)
        if (profile->caches[i].line_bytes > 0)
            slowest = fmax(slowest, fmin(profile->caches[i].latency_cycles, profile->dram_cycles));
    profile->clock_mhz *= factor;
    profile->dram_cycles = slowest + (profile->dram_cycles - slowest) * factor;
}

/* Of caches and DRAM, as they are at the clock. */
static void apply(struct blind_profile *profile, const struct blind_fault *fault)
{
    for (size_t i = 0; i < BLIND_CACHES; i++) {
        if (strcmp(fault->name, "l2_latency") == 0 && is_chip_wide(i))
            profile->caches[i].latency_cycles *= fault->value;
        if (strcmp(fault->name, "l1_size") == 0 && !is_chip_wide(i))
            profile->caches[i].ways = (uint32_t)(profile->caches[i].ways * fault->value);
    }
    if (strcmp(fault->name, "dram_latency") == 0)
        profile->dram_cycles *= fault->value;
}

void blind_apply_faults(struct blind_profile *profile)
{
    for (size_t i = 0; i < profile->fault_count; i++)
        if (strcmp(profile->faults[i].name, "clock") == 0)
            slow_clock(profile, profile->faults[i].value);
    for (size_t i = 0; i < profile->fault_count; i++)
        apply(profile, &profile->faults[i]);
}
