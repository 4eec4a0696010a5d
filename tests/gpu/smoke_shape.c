/* plumb-gpu-smoke: what is not a chase; see smoke.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smoke.h"

/* The slowest warp's cycles. */
static uint32_t burst(struct smoke *smoke, enum pb_path path, uint32_t warps, uint32_t lanes,
                      uint32_t loads, bool flush)
{
    struct pb_burst request = {path, warps, lanes, loads, 128, flush};
    uint32_t cycles[32] = {0}, most = 0;

    if (!smoke_worked(smoke, smoke->ops->burst(smoke->device, &request, cycles, &smoke->err)))
        return 0;
    for (uint32_t w = 0; w < warps; w++)
        most = cycles[w] > most ? cycles[w] : most;
    return most;
}

static void burst_line(struct smoke *smoke, uint32_t warps, uint32_t lanes, bool flush)
{
    printf("%2u warps %2u lanes %s, loads=cycles:", warps, lanes, flush ? "DRAM" : "L2  ");
    for (uint32_t loads = 1; loads <= 32; loads += loads < 16 ? 1 : 4)
        printf(" %u=%u", loads, burst(smoke, PB_PATH_GLOBAL_CA, warps, lanes, loads, flush));
    printf("\n");
}

/* All kernels of bursts: each path, each number of loads. */
static void all_bursts(struct smoke *smoke)
{
    static const enum pb_path paths[] = {PB_PATH_GLOBAL_CA, PB_PATH_GLOBAL_CG, PB_PATH_READONLY};

    for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
        printf("2 warps %s, loads=cycles:", pb_path_name(paths[p]));
        for (uint32_t loads = 1; loads <= 48; loads++)
            printf(" %u=%u", loads, burst(smoke, paths[p], 2, 31, loads, false));
        printf("\n");
    }
}

void smoke_bursts(struct smoke *smoke)
{
    all_bursts(smoke);
    if (smoke->is_small)
        return;
    burst_line(smoke, 1, 1, false);
    burst_line(smoke, 1, 1, true);
    burst_line(smoke, 1, 32, false);
    burst_line(smoke, 8, 1, false);
    burst_line(smoke, 32, 1, false);
    burst_line(smoke, 32, 32, false);
    printf(" 1 load, lanes=cycles:");
    for (uint32_t lanes = 1; lanes <= 32; lanes++)
        printf(" %u=%u", lanes, burst(smoke, PB_PATH_GLOBAL_CA, 1, lanes, 1, false));
    printf("\n");
}

static int compare_cycles(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void map(struct smoke *smoke, enum pb_touch touch, const char *name)
{
    enum { LINES = 1024 };
    static uint64_t offsets[LINES];
    uint32_t *cycles = calloc((size_t)smoke->info.sm_count * LINES, sizeof(*cycles));
    const uint64_t lines = smoke->is_small ? 8 : LINES;
    struct pb_map request = {
        .touch = touch, .offset_bytes = offsets, .offset_count = lines, .warm = 1};

    for (uint64_t i = 0; i < LINES; i++)
        offsets[i] = 4096 * i;
    if (cycles != NULL &&
        smoke_worked(smoke, smoke->ops->map(smoke->device, &request, cycles, &smoke->err))) {
        printf("%s, one line from each SM:", name);
        for (uint32_t sm = 0; sm < smoke->info.sm_count; sm++)
            printf(" %u", cycles[sm * lines]);
        printf("\n");
        for (uint32_t sm = 0; sm < smoke->info.sm_count; sm += smoke->info.sm_count / 4 + 1) {
            uint32_t *row = cycles + sm * lines;
            qsort(row, lines, sizeof(*row), compare_cycles);
            printf("SM %u: min %u q1 %u median %u q3 %u max %u\n", sm, row[0], row[lines / 4],
                   row[lines / 2], row[3 * lines / 4], row[lines - 1]);
        }
    }
    free(cycles);
}

void smoke_maps(struct smoke *smoke)
{
    map(smoke, PB_TOUCH_LOAD, "loads");
    map(smoke, PB_TOUCH_ATOMIC, "atomics");
}

/* Which SMs the CTAs of each cluster ran on. */
static void clusters(struct smoke *smoke, uint32_t size)
{
    struct pb_cluster request = {.size = size, .count = smoke->info.sm_count / size / 2 + 1};
    uint32_t *sms = calloc(request.count * size, sizeof(*sms));

    printf("clusters of %2u:", size);
    if (sms != NULL &&
        smoke_could(smoke, smoke->ops->cluster(smoke->device, &request, sms, &smoke->err)))
        for (size_t i = 0; i < request.count * size && i < 32; i++)
            printf("%s%u", i % size == 0 ? "  " : " ", sms[i]);
    printf("\n");
    free(sms);
}

static void pairs(struct smoke *smoke, enum pb_pair_kind kind, const char *name)
{
    const uint32_t last = smoke->info.sm_count - 1;
    const uint32_t sms[][2] = {{0, 0}, {0, 1}, {0, last}, {last, last}};
    const size_t count = sizeof(sms) / sizeof(sms[0]);
    struct pb_pair request = {.kind = kind, .sms = sms, .count = count};
    uint32_t cycles[8] = {0};

    printf("pairs that %s:", name);
    if (smoke_could(smoke, smoke->ops->pair(smoke->device, &request, cycles, &smoke->err)))
        for (size_t i = 0; i < count; i++)
            printf("  %u and %u: %u %u", sms[i][0], sms[i][1], cycles[2 * i], cycles[2 * i + 1]);
    printf("\n");
}

void smoke_neighbours(struct smoke *smoke)
{
    if ((smoke->info.capabilities & PB_CAP_CLUSTER) != 0)
        for (uint32_t size = 1; size <= 16; size++)
            clusters(smoke, size);
    if ((smoke->info.capabilities & PB_CAP_PAIR) == 0)
        return;
    pairs(smoke, PB_PAIR_READ, "read");
    pairs(smoke, PB_PAIR_WRITE, "write");
    pairs(smoke, PB_PAIR_ATOMIC, "add");
    pairs(smoke, PB_PAIR_CONSTANT, "read constants");
    pairs(smoke, PB_PAIR_TRANSLATE, "walk over pages");
}

static void study(struct smoke *smoke, enum pb_study_kind kind, const char *name,
                  const uint32_t *parameters, size_t count)
{
    static const uint32_t threads[] = {1, 32, 128, 1024};

    for (size_t t = smoke->is_small ? 2 : 0; t < 4; t++) {
        printf("%-8s %4u threads:", name, threads[t]);
        for (size_t i = 0; i < count; i++) {
            struct pb_study request = {kind, threads[t], parameters[i]};
            struct pb_study_result result = {0, 0.0};

            if (smoke_worked(smoke,
                             smoke->ops->study(smoke->device, &request, &result, &smoke->err)))
                printf(" %u=%" PRIu64, parameters[i], result.cycles);
        }
        printf("\n");
    }
}

#define STUDY(smoke, kind, name, ...)                                                              \
    study(smoke, kind, name, (const uint32_t[]){__VA_ARGS__},                                      \
          sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

void smoke_studies(struct smoke *smoke)
{
    STUDY(smoke, PB_STUDY_SYNC, "sync", 1, 4, 16);
    if (!smoke->is_small)
        STUDY(smoke, PB_STUDY_SYNC, "sync", 64, 256, 1024);
    STUDY(smoke, PB_STUDY_COALESCE, "coalesce", 4, 8, 16, 32, 64, 128, 256, 512, 1024);
    STUDY(smoke, PB_STUDY_STRIDE, "stride", 4, 32, 128, 1024);
    STUDY(smoke, PB_STUDY_MISALIGN, "misalign", 0, 4, 16, 32, 64, 128);
    STUDY(smoke, PB_STUDY_SPILL, "spill", 1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048);
}

void smoke_shared_streams(struct smoke *smoke)
{
    static const uint32_t shapes[][2] = {{1, 32},  {2, 64},  {1, 256},  {1, 1024}, {2, 1024},
                                         {4, 512}, {8, 256}, {16, 128}, {3, 1024}};
    size_t count = smoke->is_small ? 2 : sizeof(shapes) / sizeof(shapes[0]);

    for (size_t i = 0; i < count; i++) {
        printf("%2u CTAs of %4u, ILP=bytes/cycle:", shapes[i][0], shapes[i][1]);
        for (uint32_t ilp = 1; ilp <= 8; ilp *= 2) {
            struct pb_shared_stream request = {shapes[i][0], shapes[i][1], ilp,
                                               smoke->is_small ? 4 : 1000};
            struct pb_shared_stream_result result = {0.0, 0, 0};

            if (!smoke_could(smoke, smoke->ops->shared_stream(smoke->device, &request, &result,
                                                              &smoke->err)))
                continue;
            printf(" %u=%.2f", ilp, (double)result.bytes_per_sm / result.cycles);
            smoke_require(smoke, result.mismatch_count == 0, "shared copies are right");
        }
        printf("\n");
    }
}

static void link(struct smoke *smoke, const struct pb_link *shape, const char *name)
{
    static const uint64_t sizes[] = {4, 4096, 1u << 20, 16u << 20, 256u << 20};
    struct pb_link request = *shape;

    printf("%s:", name);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pb_link_result result = {0.0, 0.0, 0};

        if (smoke->is_small && sizes[i] > 4096)
            break;
        request.bytes = sizes[i];
        request.repeats = sizes[i] < (1u << 20) && !smoke->is_small ? 100 : 5;
        if (!smoke_could(smoke, smoke->ops->link(smoke->device, &request, &result, &smoke->err)))
            break;
        printf("  %" PRIu64 " B %.2f us (%.2f) %.2f GB/s", sizes[i], 1e6 * result.seconds,
               1e6 * result.least_seconds, (double)sizes[i] / result.seconds / 1e9);
        smoke_require(smoke, result.mismatch_count == 0, "a transfer leaves the right data");
    }
    printf("\n");
}

static void peers(struct smoke *smoke)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0;

    if (!smoke_worked(smoke, smoke->ops->enumerate(&entries, &count, &smoke->err)))
        return;
    for (size_t i = 0; i < count; i++) {
        struct pb_link request = {.kind = PB_LINK_FROM_PEER, .peer = entries[i].uuid};
        struct pb_link_result result = {0.0, 0.0, 1};

        if (strcmp(entries[i].uuid, smoke->info.uuid) == 0)
            continue;
        link(smoke, &request, entries[i].uuid);
        request.kind = PB_LINK_TO_PEER;
        link(smoke, &request, "to it");
        request.kind = PB_LINK_BOTH_PEER;
        request.streams = 2;
        link(smoke, &request, "both ways in two parts");
        request.streams = 1;
        request.by_sms = true;
        request.bytes = 1u << 20;
        request.repeats = 2;
        if (smoke_could(smoke, smoke->ops->link(smoke->device, &request, &result, &smoke->err)))
            smoke_require(smoke, result.mismatch_count == 0, "SMs copy both ways at once");
    }
    free(entries);
}

void smoke_links(struct smoke *smoke)
{
    link(smoke, &(struct pb_link){.kind = PB_LINK_TO_DEVICE, .pinned = true}, "to, pinned");
    link(smoke, &(struct pb_link){.kind = PB_LINK_FROM_DEVICE, .pinned = true}, "from, pinned");
    link(smoke, &(struct pb_link){.kind = PB_LINK_TO_DEVICE}, "to, pageable");
    link(smoke, &(struct pb_link){.kind = PB_LINK_FROM_DEVICE}, "from, pageable");
    peers(smoke);
}

void smoke_patterns(struct smoke *smoke)
{
    static const uint64_t sizes[] = {64u << 20, 0};

    for (size_t i = 0; i < (smoke->is_small ? 1 : 2); i++) {
        struct pb_pattern request = {.bytes = sizes[i], .seed = 7, .passes = 2};
        struct pb_pattern_result result;

        if (!smoke_could(smoke, smoke->ops->pattern(smoke->device, &request, &result, &smoke->err)))
            continue;
        printf("%.2f GiB twice in %.3f s: %" PRIu64 " wrong\n",
               (double)result.bytes_tested / 0x1p30, result.seconds, result.mismatch_count);
        smoke_require(smoke, result.mismatch_count == 0, "memory keeps what was written");
    }
}
