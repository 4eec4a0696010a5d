/* Family shared: latency alone, and with bank conflicts by stride (M16 6.2). */
#include <string.h>

#include "battery/tests.h"
#include "battery/walk.h"

enum { LOADS = 64, STRIDE_MAX = 64 };

enum pb_status pb_test_shared_latency(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err)
{
    struct pb_walk walk = {.path = PB_PATH_SHARED,
                           .order = PB_ORDER_SEQUENTIAL,
                           .phase = "reference",
                           .footprint_bytes = 1024,
                           .stride_bytes = 8,
                           .warm = 512,
                           .record = 512};
    enum pb_status status = pb_walk_take(bench, &walk, recording, NULL, err);

    walk.record = 0;
    walk.timed = 8192;
    return status != PB_OK ? status : pb_walk_take(bench, &walk, recording, NULL, err);
}

static enum pb_status take_conflict(struct pb_bench *bench, uint32_t word_bytes,
                                    uint32_t stride_words, const char *phase,
                                    struct pb_recording *recording, struct pb_error *err)
{
    uint32_t latency[LOADS];
    uint64_t index[LOADS];
    struct pb_conflict conflict = {
        .word_bytes = word_bytes, .stride_words = stride_words, .warm = 16, .record = LOADS};
    struct pb_trace trace = {.latency_cycles = latency, .index_bytes = index, .sm_id = -1};
    struct pb_point point = {.stride_bytes = (uint64_t)stride_words * word_bytes,
                             .count = LOADS,
                             .warm = conflict.warm,
                             .overhead_cycles = bench->overhead_cycles};
    enum pb_status status = bench->device->ops->conflict(bench->device, &conflict, &trace, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(point.path, pb_path_name(PB_PATH_SHARED));
    PB_TEXT_SET(point.order, "warp");
    PB_TEXT_SET(point.mode, "trace");
    PB_TEXT_SET(point.phase, phase);
    point.footprint_bytes = bench->info.warp_size * point.stride_bytes;
    point.window = trace.window;
    point.base_address = trace.base_address;
    point.carveout_bytes = trace.carveout_bytes;
    point.sm_id = recording->sm_id = trace.sm_id;
    return pb_series_append(&recording->series, &point, latency, index, err);
}

enum pb_status pb_test_bank_conflict(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err)
{
    static const struct {
        uint32_t word_bytes;
        const char *phase;
    } words[] = {{4, "word4"}, {8, "word8"}, {16, "word16"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (uint32_t stride = 0; stride <= STRIDE_MAX; stride++) {
            uint64_t needed = (uint64_t)bench->info.warp_size * stride * words[i].word_bytes;
            enum pb_status status = PB_OK;

            if (needed < bench->info.shared_per_cta_bytes)
                status = take_conflict(bench, words[i].word_bytes, stride, words[i].phase,
                                       recording, err);
            if (status != PB_OK && status != PB_UNSUPPORTED)
                return status;
        }
    }
    return PB_OK;
}
