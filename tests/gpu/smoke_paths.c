/* plumb-gpu-smoke: texture, constant memory, crossed paths and TLBs; see smoke.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "smoke.h"

static void sweep(struct smoke *smoke, enum pb_path path, uint64_t low, uint64_t high,
                  uint64_t stride)
{
    printf("%s stride %" PRIu64 ":", pb_path_name(path), stride);
    for (uint64_t bytes = low; bytes <= high; bytes *= 2)
        printf(" %" PRIu64 "=%.1f", bytes, smoke_lap(smoke, path, bytes, stride, -1, -1, true));
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

/* The mean of one lap over 4 KiB that another path has walked before; also walked untraced. */
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
    struct pb_trace trace = {.latency_cycles = cycles, .index_bytes = indices};
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
