/* plumb-gpu-smoke: texture, constant memory, crossed paths and TLBs; see smoke.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/time.h"
#include "smoke.h"

static void sweep(struct smoke *smoke, enum pb_path path, uint64_t low, uint64_t high,
                  uint64_t stride)
{
    printf("%s stride %" PRIu64 ":", pb_path_name(path), stride);
    for (uint64_t bytes = low; bytes <= high; bytes *= 2)
        printf(" %" PRIu64 "=%.1f", bytes, smoke_pass(smoke, path, bytes, stride, -1, -1, true));
    printf("\n");
}

void smoke_textures(struct smoke *smoke)
{
    uint64_t most = (smoke->is_small ? 16 : 1024) << 10;

    sweep(smoke, PB_PATH_TEXTURE, 1 << 10, most, 128);
    sweep(smoke, PB_PATH_TEXTURE_2D, 1 << 10, most, 128);
    sweep(smoke, PB_PATH_TEXTURE_2D, 8 << 10, most, 1024);
    smoke_trace(smoke, PB_PATH_TEXTURE, 4 << 10, 32, -1, true);
    smoke_trace(smoke, PB_PATH_TEXTURE, most / 16, 32, -1, false);
    smoke_trace(smoke, PB_PATH_TEXTURE_2D, 4 << 10, 32, -1, true);
    smoke_trace(smoke, PB_PATH_TEXTURE_2D, most / 16, 32, -1, false);
}

void smoke_constants(struct smoke *smoke)
{
    uint64_t large = (smoke->is_small ? 2 : 16) << 10;

    sweep(smoke, PB_PATH_CONSTANT, 256, 64 << 10, 64);
    sweep(smoke, PB_PATH_CONSTANT, 1024, 64 << 10, 256);
    smoke_trace(smoke, PB_PATH_CONSTANT, 1 << 10, 64, -1, true);
    smoke_trace(smoke, PB_PATH_CONSTANT, large, 64, -1, true);
    smoke_trace(smoke, PB_PATH_CONSTANT, large, 8, -1, false);
}

/* The mean of one pass over 4 KiB that another path has loaded before; also loaded untraced. */
static double crossed(struct smoke *smoke, enum pb_path warm_path, enum pb_path path)
{
    enum { COUNT = 32 };
    uint64_t offsets[COUNT], indices[COUNT];
    uint32_t cycles[COUNT];
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = COUNT,
                             .warm = COUNT,
                             .record = COUNT,
                             .cross = true,
                             .warm_path = warm_path,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {.latency_cycles = cycles, .index_bytes = indices};
    double sum = 0.0;

    for (uint64_t i = 0; i < COUNT; i++)
        offsets[i] = 128 * i;
    if (!smoke_worked(smoke, smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err)))
        return NAN;
    for (int i = 0; i < COUNT; i++)
        sum += cycles[i];
    chase.record = 0;
    chase.timed = COUNT;
    smoke_worked(smoke, smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err));
    return sum / COUNT;
}

void smoke_crosses(struct smoke *smoke)
{
    static const enum pb_path paths[] = {PB_PATH_GLOBAL_CA, PB_PATH_GLOBAL_CG, PB_PATH_READONLY,
                                         PB_PATH_TEXTURE, PB_PATH_TEXTURE_2D};
    double hit = crossed(smoke, PB_PATH_GLOBAL_CA, PB_PATH_GLOBAL_CA);
    double miss = crossed(smoke, PB_PATH_GLOBAL_CG, PB_PATH_GLOBAL_CA);

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        printf("warm by %-10s:", pb_path_name(paths[i]));
        for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++)
            printf("  %s %.1f", pb_path_name(paths[k]), crossed(smoke, paths[i], paths[k]));
        printf("\n");
    }
    smoke_require(smoke, smoke->is_small || hit < miss, "loads past L1 leave nothing there");
}

static void pages(struct smoke *smoke, uint64_t page_bytes, uint64_t alias_bytes, uint64_t most)
{
    printf("%s, %" PRIu64 " MiB apart:", alias_bytes > 0 ? "one block" : "plain", page_bytes >> 20);
    for (uint64_t count = 8; count <= most; count *= 2)
        printf(" %" PRIu64 "=%.1f", count, smoke_pages(smoke, count, page_bytes, alias_bytes));
    printf("\n");
}

void smoke_aliases(struct smoke *smoke)
{
    const uint64_t mib = 1u << 20;

    if ((smoke->info.capabilities & PB_CAP_ALIAS) == 0)
        printf("the driver cannot alias memory\n");
    else
        pages(smoke, 2 * mib, 2 * mib, smoke->is_small ? 64 : 4096);
}

/* Up to nine tenths of what is free: arrays that large must be had. */
void smoke_tlbs(struct smoke *smoke)
{
    const uint64_t mib = 1u << 20;
    uint64_t room = smoke->is_small ? 64 * mib : smoke->info.memory_free_bytes / 10 * 9;

    pages(smoke, 2 * mib, 0, room / (2 * mib));
    pages(smoke, 32 * mib, 0, room / (32 * mib));
    printf("most: %" PRIu64 " pages=%.1f\n", room / (2 * mib),
           smoke_pages(smoke, room / (2 * mib), 2 * mib, 0));
}

/* Chases of smoke_abreast(): the lines of an array, one SM each, in words of their own. */
enum { ABREAST = 48, ABREAST_ORDERS = 16 };

struct abreast {
    struct pb_chase chases[ABREAST];
    struct pb_chase_trace traces[ABREAST];
    uint64_t *offsets; /* [ABREAST_ORDERS][lines] */
    uint32_t *cycles;
    uint64_t *indices;
    size_t lines, count;
    uint32_t between_cycles; /* more than any hit, as stamped, less than any miss */
};

/* 64 bytes is a line of constants, 128 of what goes through L1. */
static uint64_t abreast_line_bytes(enum pb_path path)
{
    return path == PB_PATH_CONSTANT ? 64 : 128;
}

static bool open_abreast(const struct smoke *smoke, struct abreast *abreast, enum pb_path path,
                         size_t lines)
{
    uint64_t line_bytes = abreast_line_bytes(path);

    abreast->lines = lines;
    abreast->between_cycles = path == PB_PATH_CONSTANT ? 75 : 150;
    abreast->count = smoke->info.sm_count / 2 < ABREAST ? smoke->info.sm_count / 2 : ABREAST;
    abreast->offsets = malloc(ABREAST_ORDERS * lines * sizeof(uint64_t));
    abreast->cycles = malloc(ABREAST * lines * sizeof(uint32_t));
    abreast->indices = malloc(ABREAST * lines * sizeof(uint64_t));
    if (abreast->offsets == NULL || abreast->cycles == NULL || abreast->indices == NULL)
        return false;
    for (size_t i = 0; i < ABREAST_ORDERS * lines; i++)
        abreast->offsets[i] = line_bytes * (i % lines);
    for (size_t i = 0; i < abreast->count; i++) {
        abreast->chases[i] =
            (struct pb_chase){.path = path,
                              .offset_bytes = abreast->offsets + i % ABREAST_ORDERS * lines,
                              .offset_count = lines,
                              .warm = 2 * lines,
                              .record = lines,
                              .carveout_bytes = -1,
                              .sm = 2 * (int64_t)i,
                              .is_confined = true,
                              .slack_bytes = line_bytes};
        abreast->traces[i] = (struct pb_chase_trace){.latency_cycles = abreast->cycles + i * lines,
                                                     .index_bytes = abreast->indices + i * lines};
    }
    return true;
}

static void close_abreast(struct abreast *abreast)
{
    free(abreast->indices);
    free(abreast->cycles);
    free(abreast->offsets);
}

/* Hits and misses of one SM. */
struct tally {
    double hit_cycles, miss_cycles, miss_share;
};

static struct tally tally_of(const struct abreast *abreast, size_t sm)
{
    const uint32_t between = abreast->between_cycles;
    size_t misses = 0;
    double hits = 0.0, missed = 0.0;

    for (size_t i = 0; i < abreast->lines; i++) {
        uint32_t cycles = abreast->cycles[sm * abreast->lines + i];

        if (cycles < between)
            hits += cycles;
        else
            missed += cycles < 1000 ? cycles : 1000; /* what is slower met something else */
        misses += cycles >= between;
    }
    return (struct tally){hits / (double)(abreast->lines - misses), missed / (double)misses,
                          (double)misses / (double)abreast->lines};
}

/* All of them at once or one after the other; the time it took, NaN when it failed. */
static double run_abreast(struct smoke *smoke, struct abreast *abreast, bool at_once,
                          struct tally *tallies)
{
    double begin = pb_time_monotonic_seconds();
    bool worked = true;

    if (at_once)
        worked =
            smoke_could(smoke, smoke->ops->chases(smoke->device, abreast->chases, abreast->count,
                                                  abreast->traces, &smoke->err));
    for (size_t i = 0; !at_once && worked && i < abreast->count; i++)
        worked = smoke_could(smoke, smoke->ops->chase(smoke->device, &abreast->chases[i],
                                                      &abreast->traces[i], &smoke->err));
    for (size_t i = 0; worked && i < abreast->count; i++)
        tallies[i] = tally_of(abreast, i);
    return worked ? pb_time_monotonic_seconds() - begin : NAN;
}

static void compare_abreast(struct smoke *smoke, enum pb_path path, size_t lines)
{
    struct abreast abreast;
    struct tally alone[ABREAST] = {{0}}, together[ABREAST] = {{0}};
    double alone_s, together_s, hit = 0, miss = 0, share = 0;

    if (!open_abreast(smoke, &abreast, path, lines))
        return;
    alone_s = run_abreast(smoke, &abreast, false, alone);
    together_s = run_abreast(smoke, &abreast, true, together);
    for (size_t i = 0; i < abreast.count; i++) {
        hit = fmax(hit, fabs(together[i].hit_cycles - alone[i].hit_cycles));
        share = fmax(share, fabs(together[i].miss_share - alone[i].miss_share));
        if (alone[i].miss_share > 0.01)
            miss = fmax(miss, fabs(together[i].miss_cycles / alone[i].miss_cycles - 1));
    }
    printf("%-10s %4zu lines on %zu SMs: %.1f ms alone, %.1f together; at most hits %.3f cycles "
           "apart, misses %.2f%%, their share %.2f%%\n",
           pb_path_name(path), lines, abreast.count, 1e3 * alone_s, 1e3 * together_s, hit,
           100 * miss, 100 * share);
    if (!smoke->is_small && alone_s == alone_s && together_s == together_s) {
        smoke_require(smoke, share < 0.03, "as many misses together as alone");
        smoke_require(smoke, hit < 0.5, "a hit takes as long together as alone");
        smoke_require(smoke, miss < 0.02, "a miss takes as long together as alone");
    }
    close_abreast(&abreast);
}

/* Conflicts of every stride, alone and together: the medians in cycles, all of them equal. */
static void compare_conflicts(struct smoke *smoke, uint32_t word_bytes)
{
    enum { STRIDES = 33, LOADS = 33 };
    static uint32_t cycles[2][STRIDES][LOADS];
    static uint64_t indices[STRIDES][LOADS];
    struct pb_conflict conflicts[STRIDES];
    struct pb_chase_trace traces[2][STRIDES];
    double begin, alone_s, together_s;
    uint32_t apart = 0;
    bool worked = true;

    for (uint32_t i = 0; i < STRIDES; i++) {
        conflicts[i] = (struct pb_conflict){word_bytes, i, 16, LOADS, -1};
        for (int at_once = 0; at_once < 2; at_once++)
            traces[at_once][i] = (struct pb_chase_trace){.latency_cycles = cycles[at_once][i],
                                                         .index_bytes = indices[i]};
    }
    begin = pb_time_monotonic_seconds();
    for (uint32_t i = 0; i < STRIDES && worked; i++)
        worked = smoke_could(smoke, smoke->ops->conflicts(smoke->device, &conflicts[i], 1,
                                                          &traces[0][i], &smoke->err));
    alone_s = pb_time_monotonic_seconds() - begin;
    begin = pb_time_monotonic_seconds();
    if (!worked || !smoke_could(smoke, smoke->ops->conflicts(smoke->device, conflicts, STRIDES,
                                                             traces[1], &smoke->err)))
        return;
    together_s = pb_time_monotonic_seconds() - begin;
    for (uint32_t i = 0; i < STRIDES; i++) {
        uint32_t alone = smoke_median(cycles[0][i], LOADS);
        uint32_t together = smoke_median(cycles[1][i], LOADS);
        uint32_t difference = alone < together ? together - alone : alone - together;

        apart = difference > apart ? difference : apart;
    }
    printf("conflicts of %" PRIu32 "-byte words, %d strides: %.1f ms alone, %.1f together; medians "
           "at most %" PRIu32 " cycles apart\n",
           word_bytes, STRIDES, 1e3 * alone_s, 1e3 * together_s, apart);
    smoke_require(smoke, smoke->is_small || apart == 0,
                  "a bank conflict takes as long together as alone");
}

/* The same chases on the same SMs at once and one by one: nothing but the time may differ. */
void smoke_abreast(struct smoke *smoke)
{
    static const enum pb_path paths[] = {PB_PATH_GLOBAL_CA, PB_PATH_READONLY, PB_PATH_TEXTURE,
                                         PB_PATH_CONSTANT};
    static const size_t lines[] = {64, 1400, 2400, 4000}, constant_lines[] = {24, 40, 64, 120};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        for (size_t j = 0; j < (smoke->is_small ? 1 : 4); j++)
            compare_abreast(smoke, paths[i],
                            paths[i] == PB_PATH_CONSTANT ? constant_lines[j] : lines[j]);
    for (uint32_t word_bytes = 4; word_bytes <= 16; word_bytes *= 2)
        compare_conflicts(smoke, word_bytes);
}
