/*
 * Family cache: line and sector of each cache (M16 4.2 stage 1).
 *
 * Three views that together tell what one alone cannot:
 *   cold      word by word through an empty cache: how much one miss brings in
 *   overflow  a little more than fits, sector by sector: where hits turn into misses
 *   stride    a quarter more than fits, ever sparser: from which stride on it fits again
 */
#include "battery/search.h"
#include "battery/tests.h"

enum { COLD_BYTES = 4096, WORD_BYTES = 8, STRIDE_STEPS = 4 };

/* The commonest distance between two misses of the cold walk; 32 where there is none. */
static uint64_t fetch_distance(const struct pb_bench *bench, const struct pb_search *search,
                               const struct pb_recording *recording,
                               const struct pb_walk_result *cold)
{
    const uint32_t *latency = recording->series.latency_cycles + cold->first;
    size_t seen[COLD_BYTES / WORD_BYTES] = {0}, last = 0, best = 0;

    for (size_t i = 1; i < cold->count; i++) {
        if (latency[i] - bench->overhead_cycles < search->miss_low_cycles)
            continue;
        seen[i - last]++;
        last = i;
    }
    for (size_t i = 1; i < COLD_BYTES / WORD_BYTES; i++)
        if (seen[i] > seen[best])
            best = i;
    return best == 0 ? 32 : best * WORD_BYTES;
}

static enum pb_status take_cold(struct pb_bench *bench, const struct pb_search *search,
                                struct pb_recording *recording, uint64_t *sector_bytes_out,
                                struct pb_error *err)
{
    struct pb_walk walk = {.path = search->target->path,
                           .order = PB_ORDER_SEQUENTIAL,
                           .phase = "cold",
                           .footprint_bytes = COLD_BYTES,
                           .stride_bytes = WORD_BYTES,
                           .record = PB_WALK_LAP,
                           .prefill = !search->target->chip_wide,
                           .flush = search->target->chip_wide};
    struct pb_walk_result cold;
    enum pb_status status = pb_walk_take(bench, &walk, recording, &cold, err);

    if (status == PB_OK)
        *sector_bytes_out = fetch_distance(bench, search, recording, &cold);
    return status;
}

static enum pb_status take_steady(struct pb_bench *bench, const struct pb_search *search,
                                  const char *phase, uint64_t footprint_bytes,
                                  uint64_t stride_bytes, struct pb_recording *recording,
                                  struct pb_error *err)
{
    struct pb_walk walk;

    footprint_bytes -= footprint_bytes % stride_bytes;
    walk = pb_search_steady(search, phase, footprint_bytes, stride_bytes);
    walk.order = PB_ORDER_SEQUENTIAL; /* neighbours must follow each other */
    return pb_walk_take(bench, &walk, recording, NULL, err);
}

static enum pb_status take_overflow(struct pb_bench *bench, const struct pb_search *search,
                                    uint64_t sector_bytes, struct pb_recording *recording,
                                    struct pb_error *err)
{
    uint64_t edge = search->fits_bytes;
    const uint64_t footprints[] = {edge + sector_bytes,
                                   edge + 2 * sector_bytes,
                                   edge + 4 * sector_bytes,
                                   edge + edge / 32 + sector_bytes,
                                   edge + edge / 16 + sector_bytes,
                                   edge + edge / 8 + sector_bytes};

    for (size_t i = 0; i < sizeof(footprints) / sizeof(footprints[0]); i++) {
        enum pb_status status =
            take_steady(bench, search, "overflow", footprints[i], sector_bytes, recording, err);

        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

static enum pb_status take_strides(struct pb_bench *bench, const struct pb_search *search,
                                   uint64_t sector_bytes, struct pb_recording *recording,
                                   struct pb_error *err)
{
    for (int i = 0; i < STRIDE_STEPS; i++) {
        enum pb_status status = take_steady(bench, search, "stride", search->fits_bytes / 4 * 5,
                                            sector_bytes << i, recording, err);

        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

static enum pb_status line(struct pb_bench *bench, enum pb_cache cache,
                           struct pb_recording *recording, struct pb_error *err)
{
    struct pb_known *known = &bench->known[cache];
    struct pb_search search;
    uint64_t sector_bytes = 0;
    enum pb_status status;

    pb_search_begin(bench, cache, &search);
    status = pb_search_references(bench, &search, recording, err);
    if (status == PB_OK)
        status = take_cold(bench, &search, recording, &sector_bytes, err);
    if (status == PB_OK && known->edge_bytes == 0) {
        status = pb_search_edge(bench, &search, recording, err);
        known->edge_bytes = search.overflows_bytes > 0 ? search.fits_bytes : 0;
    }
    if (status != PB_OK)
        return status;
    if (known->edge_bytes == 0) {
        PB_TEXT_SET(recording->message, "no misses up to the limit: only the cold walk was taken");
        return PB_OK;
    }
    search.fits_bytes = known->edge_bytes;
    status = take_overflow(bench, &search, sector_bytes, recording, err);
    return status != PB_OK ? status : take_strides(bench, &search, sector_bytes, recording, err);
}

enum pb_status pb_test_l1_line(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err)
{
    return line(bench, PB_CACHE_L1, recording, err);
}

enum pb_status pb_test_readonly_line(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return line(bench, PB_CACHE_READONLY, recording, err);
}

enum pb_status pb_test_texture_line(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return line(bench, PB_CACHE_TEXTURE, recording, err);
}

enum pb_status pb_test_constant_line(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return line(bench, PB_CACHE_CONSTANT, recording, err);
}

enum pb_status pb_test_l2_line(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err)
{
    return line(bench, PB_CACHE_L2, recording, err);
}
