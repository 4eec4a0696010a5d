/*
 * Family cache: loads that no cache can serve (M16 5.2, patterns P4 and P5).
 *
 * How far DRAM is depends on where the SM lies, and on the page: every SM has its turn, each over
 * pages of its own.
 */
#include "battery/tests.h"
#include "battery/walk.h"

#include "battery/sms.h"
#include "battery/tests.h"
#include "battery/walk.h"

enum { TURNS_MIN = 24, LOADS = 24 * 2048, LOADS_MIN = 256, FAR_SLOTS = 2048 };

static const uint64_t near_bytes = (uint64_t)16 << 20, far_bytes = (uint64_t)4 << 30;

/* Where there are few SMs, each has several turns. */
static uint32_t turns_of(const struct pb_bench *bench)
{
    return (TURNS_MIN + bench->info.sm_count - 1) / bench->info.sm_count;
}

/* As many loads in all, whatever the number of SMs. */
static uint64_t loads_of(const struct pb_bench *bench)
{
    uint64_t loads = LOADS / ((uint64_t)turns_of(bench) * bench->info.sm_count);

    return loads > LOADS_MIN ? loads : LOADS_MIN;
}

/* Memory that the array of a turn may lie in. */
static uint64_t room_of(const struct pb_bench *bench)
{
    uint64_t half = bench->info.memory_free_bytes / 2;

    return half < far_bytes ? half : far_bytes;
}

static struct pb_walk walk_of(const struct pb_bench *bench, const char *phase, uint32_t sm,
                              uint32_t turn)
{
    return (struct pb_walk){.path = PB_PATH_GLOBAL_CG,
                            .phase = phase,
                            .record = loads_of(bench),
                            .seed = bench->seed + sm * turns_of(bench) + turn,
                            .repeat = turn,
                            .flush = true,
                            .on_sm = true,
                            .sm = sm};
}

static enum pb_status take_near(struct pb_bench *bench, uint32_t sm, uint32_t turn,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_walk walk = walk_of(bench, "near", sm, turn);
    uint64_t places = room_of(bench) / near_bytes;

    walk.order = PB_ORDER_PAGES;
    walk.base_bytes = places > 0 ? (turn * bench->info.sm_count + sm) % places * near_bytes : 0;
    walk.footprint_bytes = near_bytes;
    walk.stride_bytes = 4096;
    walk.warm = 8; /* one load in each page: TLB hits from then on */
    return pb_walk_take(bench, &walk, recording, NULL, err);
}

static enum pb_status take_far(struct pb_bench *bench, uint32_t sm, uint32_t turn,
                               struct pb_recording *recording, struct pb_error *err)
{
    struct pb_walk walk = walk_of(bench, "far", sm, turn);

    walk.order = PB_ORDER_RANDOM;
    walk.footprint_bytes = room_of(bench);
    walk.stride_bytes = walk.footprint_bytes / FAR_SLOTS;
    walk.stride_bytes -= walk.stride_bytes % 4096;
    if (walk.stride_bytes == 0)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)bench->info.memory_free_bytes);
    return pb_walk_take(bench, &walk, recording, NULL, err);
}

/* The far ones first: what memory they take is there for the near ones, too. */
static enum pb_status take_turns(struct pb_bench *bench, uint32_t sm, const void *context,
                                 struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    (void)context;
    for (uint32_t turn = 0; turn < turns_of(bench) && status == PB_OK; turn++) {
        status = take_far(bench, sm, turn, recording, err);
        if (status == PB_OK)
            status = take_near(bench, sm, turn, recording, err);
    }
    return status;
}

enum pb_status pb_test_dram_latency(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return pb_sms_each(bench, take_turns, NULL, recording, err);
}
