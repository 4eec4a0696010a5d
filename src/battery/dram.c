/* Family cache: loads that no cache can serve (M16 5.2, patterns P4 and P5). */
#include "battery/tests.h"
#include "battery/walk.h"

enum { REPEATS = 24, NEAR_LOADS = 2048, FAR_LOADS = 2048 };

static enum pb_status take_near(struct pb_bench *bench, uint64_t repeat,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = PB_ORDER_PAGES,
                           .phase = "near",
                           .footprint_bytes = (uint64_t)16 << 20,
                           .stride_bytes = 4096,
                           .warm = 8, /* one load in each page: TLB hits from then on */
                           .record = NEAR_LOADS,
                           .seed = bench->seed + repeat,
                           .repeat = repeat,
                           .flush = true};

    return pb_walk_take(bench, &walk, recording, NULL, err);
}

static enum pb_status take_far(struct pb_bench *bench, uint64_t repeat,
                               struct pb_recording *recording, struct pb_error *err)
{
    uint64_t most = (uint64_t)4 << 30, half = bench->info.memory_free_bytes / 2;
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = PB_ORDER_RANDOM,
                           .phase = "far",
                           .footprint_bytes = half < most ? half : most,
                           .record = FAR_LOADS,
                           .seed = bench->seed + repeat,
                           .repeat = repeat,
                           .flush = true};

    walk.stride_bytes = walk.footprint_bytes / FAR_LOADS;
    walk.stride_bytes -= walk.stride_bytes % 4096;
    if (walk.stride_bytes == 0)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)bench->info.memory_free_bytes);
    return pb_walk_take(bench, &walk, recording, NULL, err);
}

enum pb_status pb_test_dram_latency(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err)
{
    for (uint64_t repeat = 0; repeat < REPEATS; repeat++) {
        enum pb_status status = take_near(bench, repeat, recording, err);

        if (status == PB_OK)
            status = take_far(bench, repeat, recording, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}
