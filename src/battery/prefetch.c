/*
 * Family prefetch: does anything run ahead of a stride? (M16 4.6; F13 3.4.1)
 *
 * The same slots are loaded once from flushed caches, in order (phase "strided") and at random
 * (phase "random"). Where a stride is faster than chance, lines came that nobody had asked for.
 * The stride at which loads of the random order begin to miss every time is what one miss fetches.
 */
#include "battery/tests.h"
#include "battery/walk.h"

enum { LOADS = 4096 };

static enum pb_status take(struct pb_bench *bench, enum pb_order order, const char *phase,
                           uint64_t stride_bytes, struct pb_recording *recording,
                           struct pb_error *err)
{
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = order,
                           .phase = phase,
                           .footprint_bytes = LOADS * stride_bytes,
                           .stride_bytes = stride_bytes,
                           .record = LOADS,
                           .seed = bench->seed + stride_bytes,
                           .flush = true};

    return pb_walk_take(bench, &walk, recording, NULL, err);
}

enum pb_status pb_test_prefetch(struct pb_bench *bench, struct pb_recording *recording,
                                struct pb_error *err)
{
    static const uint64_t strides_bytes[] = {32, 64, 128, 256};

    for (size_t i = 0; i < sizeof(strides_bytes) / sizeof(strides_bytes[0]); i++) {
        enum pb_status status =
            take(bench, PB_ORDER_SEQUENTIAL, "strided", strides_bytes[i], recording, err);

        if (status == PB_OK)
            status = take(bench, PB_ORDER_RANDOM, "random", strides_bytes[i], recording, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}
