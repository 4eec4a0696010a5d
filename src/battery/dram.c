/*
 * Family cache: loads that no cache can serve (M16 5.2, patterns P4 and P5).
 *
 *   far     the TLB cold: loads over as much memory as is free, up to 4 GiB
 *   near    the TLB warm, where 16 MiB are no more than eight pages of 2 MiB
 *   pages   whether they are: over the same 16 MiB two lines that L2 has from each of 256 places,
 *           64 KiB apart and in a shuffled order; where translations lack, the first of two takes
 *           longer
 *
 * How far DRAM is depends on where the SM lies, and on the page: every SM has its turn, each over
 * pages of its own.
 */
#include "battery/chase.h"
#include "battery/sms.h"
#include "battery/tests.h"

enum { TURNS_MIN = 24, LOADS = 24 * 2048, LOADS_MIN = 256, FAR_SLOTS = 2048 };
enum {
    NEAR_PAGES = 8,
    PLACES = 256,
    PLACE_BYTES = 65536,
    SMALL_PAGE_BYTES = 4096,
    LINE_BYTES = 128
};

static const uint64_t near_bytes = (uint64_t)16 << 20, far_bytes = (uint64_t)4 << 30;

/* Where there are few SMs, each has several turns. */
static uint32_t turns_of(const struct pb_session *session)
{
    return (TURNS_MIN + session->info.sm_count - 1) / session->info.sm_count;
}

/* As many loads in all, whatever the number of SMs. */
static uint64_t loads_of(const struct pb_session *session)
{
    uint64_t loads = LOADS / ((uint64_t)turns_of(session) * session->info.sm_count);

    return loads > LOADS_MIN ? loads : LOADS_MIN;
}

/* Memory that the array of a turn may lie in. */
static uint64_t available_bytes_of(const struct pb_session *session)
{
    uint64_t half = session->info.memory_free_bytes / 2;

    return half < far_bytes ? half : far_bytes;
}

static struct pb_chase_spec chase_of(const struct pb_session *session, const char *phase,
                                     uint32_t sm, uint32_t turn)
{
    return (struct pb_chase_spec){.path = PB_PATH_GLOBAL_CG,
                                  .phase = phase,
                                  .record = loads_of(session),
                                  .seed = session->seed + sm * turns_of(session) + turn,
                                  .repeat = turn,
                                  .flush = true,
                                  .on_sm = true,
                                  .sm = sm};
}

static enum pb_status take_near(struct pb_session *session, uint32_t sm, uint32_t turn,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = chase_of(session, "near", sm, turn);
    uint64_t places = available_bytes_of(session) / near_bytes;

    spec.order = PB_ORDER_PAGES;
    spec.base_bytes = places > 0 ? (turn * session->info.sm_count + sm) % places * near_bytes : 0;
    spec.footprint_bytes = near_bytes;
    spec.stride_bytes = 4096;
    spec.warm = NEAR_PAGES; /* one load in each page: TLB hits from then on */
    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status take_far(struct pb_session *session, uint32_t sm, uint32_t turn,
                               struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = chase_of(session, "far", sm, turn);

    spec.order = PB_ORDER_RANDOM;
    spec.footprint_bytes = available_bytes_of(session);
    spec.stride_bytes = spec.footprint_bytes / FAR_SLOTS;
    spec.stride_bytes -= spec.stride_bytes % 4096;
    if (spec.stride_bytes == 0)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)session->info.memory_free_bytes);
    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* The far ones first: what memory they take is there for the near ones, too. */
static enum pb_status take_turns(struct pb_session *session, uint32_t sm, const void *context,
                                 struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    (void)context;
    for (uint32_t turn = 0; turn < turns_of(session) && status == PB_OK; turn++) {
        status = take_far(session, sm, turn, recording, err);
        if (status == PB_OK)
            status = take_near(session, sm, turn, recording, err);
    }
    return status;
}

/* Two lines of each place, all over the sets of L2; the pages come first, as they do in near. */
static void list_places(const struct pb_session *session, uint64_t *offsets)
{
    uint64_t places[PLACES];

    for (uint64_t i = 0; i < PLACES; i++)
        places[i] = i * PLACE_BYTES + i % (PLACE_BYTES / SMALL_PAGE_BYTES) * SMALL_PAGE_BYTES;
    pb_order_shuffle(places, PLACES, session->seed);
    for (uint64_t i = 0; i < NEAR_PAGES; i++)
        offsets[i] = (i + 1) * (near_bytes / NEAR_PAGES) - LINE_BYTES;
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t line = places[i] + i % 8 * 2 * LINE_BYTES;

        offsets[NEAR_PAGES + 2 * i] = line + LINE_BYTES;
        offsets[NEAR_PAGES + 2 * i + 1] = line; /* nothing runs ahead to lower addresses */
    }
}

static enum pb_status take_pages(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    uint64_t offsets[NEAR_PAGES + 2 * PLACES];
    struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CG,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = "pages",
                                 .footprint_bytes = near_bytes,
                                 .stride_bytes = LINE_BYTES,
                                 .offset_bytes = offsets,
                                 .offset_count = NEAR_PAGES + 2 * PLACES,
                                 .prefill = true,
                                 .warm = NEAR_PAGES,
                                 .record = 2 * PLACES,
                                 .seed = session->seed};

    list_places(session, offsets);
    return pb_chase_take(session, &spec, recording, NULL, err);
}

enum pb_status pb_test_dram_latency(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    enum pb_status status = pb_sms_each(session, take_turns, NULL, recording, err);

    return status == PB_OK ? take_pages(session, recording, err) : status;
}
