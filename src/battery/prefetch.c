/*
 * Family prefetch: how much does a miss bring, and does anything run ahead of a stride? (M16 4.6;
 * F13 3.4.1)
 *
 * The same slots are loaded once, cold, in order (phase "strided") and at random (phase "random"),
 * at strides of 32 to 4096 bytes. By global_cg, and caches that were flushed: what L2 gets from
 * DRAM. By global_ca, when L2 has them all: what L1 gets from L2.
 *
 * The stride from which on every load of the random order misses is what one miss fetches. Where a
 * stride is faster than chance, lines came that no load had requested: the distance from one miss
 * of the strided order to the next is what was fetched and what ran ahead. Where even the widest
 * strided chase hardly misses, longer ones look for the end: M16's devices fetch two thirds of L2
 * ahead. Their stride divides no page, so that misses and first loads of pages seldom coincide.
 */
#include "battery/chase.h"
#include "battery/tests.h"

enum {
    LOADS_FROM_DRAM = 2048,
    LOADS_FROM_L2 = 512, /* few enough to stay in the sets of a small L2 */
    STRIDE_MIN_BYTES = 32,
    STRIDE_MAX_BYTES = 4096,
    STRIDE_LONG_BYTES = 4096 - 128,
    ENDS_WANTED = 8,  /* misses of the strided chase: what ran ahead ended so often */
    L2_SPANS_MAX = 16 /* no chase looks for them over more than so many times L2 */
};

static enum pb_status take(struct pb_session *session, enum pb_path path, enum pb_order order,
                           uint64_t stride_bytes, uint64_t loads, struct pb_recording *recording,
                           struct pb_chase_result *result_out, struct pb_error *err)
{
    bool from_dram = path == PB_PATH_GLOBAL_CG;
    struct pb_chase_spec spec = {.path = path,
                                 .order = order,
                                 .phase = order == PB_ORDER_SEQUENTIAL ? "strided" : "random",
                                 .footprint_bytes = loads * stride_bytes,
                                 .stride_bytes = stride_bytes,
                                 .record = loads,
                                 .seed = session->seed + stride_bytes,
                                 .flush = from_dram,
                                 .prefill = !from_dram};

    return pb_chase_take(session, &spec, recording, result_out, err);
}

/* Both orders at every stride; the results are those of the widest. */
static enum pb_status take_strides(struct pb_session *session, enum pb_path path, uint64_t loads,
                                   struct pb_recording *recording,
                                   struct pb_chase_result *strided_out,
                                   struct pb_chase_result *random_out, struct pb_error *err)
{
    for (uint64_t s = STRIDE_MIN_BYTES; s <= STRIDE_MAX_BYTES; s *= 2) {
        enum pb_status status =
            take(session, path, PB_ORDER_SEQUENTIAL, s, loads, recording, strided_out, err);

        if (status == PB_OK)
            status = take(session, path, PB_ORDER_RANDOM, s, loads, recording, random_out, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

/* Loads of the strided chase that take as long as those at random, and not as a page's first. */
static size_t count_ends(const struct pb_session *session, const struct pb_recording *recording,
                         const struct pb_chase_result *strided,
                         const struct pb_chase_result *random)
{
    double half = (random->median_cycles - strided->median_cycles) / 2;

    return pb_chase_count_between(session, recording, strided, random->median_cycles - half,
                                  random->median_cycles + half);
}

/* Twice as far each time, until what runs ahead of the widest stride has ended often enough. */
static enum pb_status take_longer(struct pb_session *session, struct pb_chase_result strided,
                                  const struct pb_chase_result *random,
                                  struct pb_recording *recording, struct pb_error *err)
{
    static const double ran_ahead = 0.8; /* of what a load at random takes, at most */
    uint64_t most = L2_SPANS_MAX * session->info.l2_bytes, loads = LOADS_FROM_DRAM;
    enum pb_status status = PB_OK;

    if (most > session->info.memory_free_bytes / 2)
        most = session->info.memory_free_bytes / 2;
    while (status == PB_OK && strided.median_cycles < ran_ahead * random->median_cycles &&
           count_ends(session, recording, &strided, random) < ENDS_WANTED &&
           2 * loads * STRIDE_LONG_BYTES <= most) {
        loads *= 2;
        status = take(session, PB_PATH_GLOBAL_CG, PB_ORDER_SEQUENTIAL, STRIDE_LONG_BYTES, loads,
                      recording, &strided, err);
    }
    return status;
}

enum pb_status pb_test_prefetch(struct pb_session *session, struct pb_recording *recording,
                                struct pb_error *err)
{
    struct pb_chase_result strided, random;
    enum pb_status status = take_strides(session, PB_PATH_GLOBAL_CG, LOADS_FROM_DRAM, recording,
                                         &strided, &random, err);

    if (status == PB_OK)
        status = take_longer(session, strided, &random, recording, err);
    if (status == PB_OK)
        status = take_strides(session, PB_PATH_GLOBAL_CA, LOADS_FROM_L2, recording, &strided,
                              &random, err);
    return status;
}
