/*
 * Family prefetch: how much does a miss bring, and does anything run ahead of a stride? (M16 4.6;
 * F13 3.4.1)
 *
 * The same slots are loaded once, cold, in order (phase "strided") and at random (phase "random"),
 * at strides of 32 to 4096 bytes. By global_cg, and caches that were flushed: what L2 gets from
 * DRAM. By global_ca, when L2 has them all: what L1 gets from L2.
 *
 * The stride from which on every load of the random order misses is what one miss fetches. Where a
 * stride is faster than chance, lines came that nobody had asked for: the distance from one miss of
 * the strided order to the next is what was fetched and what ran ahead.
 */
#include "battery/tests.h"
#include "battery/walk.h"

enum {
    LOADS_FROM_DRAM = 2048,
    LOADS_FROM_L2 = 512, /* few enough to stay in the sets of a small L2 */
    STRIDE_MIN_BYTES = 32,
    STRIDE_MAX_BYTES = 4096
};

static enum pb_status take(struct pb_bench *bench, enum pb_path path, enum pb_order order,
                           uint64_t stride_bytes, struct pb_recording *recording,
                           struct pb_error *err)
{
    bool from_dram = path == PB_PATH_GLOBAL_CG;
    uint64_t loads = from_dram ? LOADS_FROM_DRAM : LOADS_FROM_L2;
    struct pb_walk walk = {.path = path,
                           .order = order,
                           .phase = order == PB_ORDER_SEQUENTIAL ? "strided" : "random",
                           .footprint_bytes = loads * stride_bytes,
                           .stride_bytes = stride_bytes,
                           .record = loads,
                           .seed = bench->seed + stride_bytes,
                           .flush = from_dram,
                           .prefill = !from_dram};

    return pb_walk_take(bench, &walk, recording, NULL, err);
}

enum pb_status pb_test_prefetch(struct pb_bench *bench, struct pb_recording *recording,
                                struct pb_error *err)
{
    static const enum pb_path paths[] = {PB_PATH_GLOBAL_CG, PB_PATH_GLOBAL_CA};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        for (uint64_t s = STRIDE_MIN_BYTES; s <= STRIDE_MAX_BYTES; s *= 2) {
            enum pb_status status = take(bench, paths[i], PB_ORDER_SEQUENTIAL, s, recording, err);

            if (status == PB_OK)
                status = take(bench, paths[i], PB_ORDER_RANDOM, s, recording, err);
            if (status != PB_OK)
                return status;
        }
    }
    return PB_OK;
}
