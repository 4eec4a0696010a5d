/*
 * Family tlb: how far translations reach (M16 4.4; facts, table of TLBs, and 2.11).
 *
 * One load in each of n pages, lap after lap past L1, the slots stride + 128 byte apart so that
 * they lie in different lines of L2: what is slower than L2 is translation. A trace holds a whole
 * lap, or the first TRACE_LOADS of a longer one.
 *
 *   stride2, stride4, … stride64   pages so many MiB apart
 *   reference                      the same lines packed into one page: L2 and nothing else
 *
 * The column stride is the distance of two slots, footprint is n times that. tlb_reach walks plain
 * memory, as far as it is free; tlb_alias maps one block of 2 MiB over and over instead, so that
 * the lines stay in L2 however far it reaches: 8 GiB of addresses, in the full battery 128.
 */
#include <stdio.h>
#include <stdlib.h>

#include "battery/tests.h"
#include "battery/walk.h"

enum {
    LINE_BYTES = 128,
    TRACE_LOADS = 512,
    EACH_PAGES = 192,    /* every n up to here where pages are 2 MiB apart: M16 4.4 */
    EACH_PAGES_FAR = 48, /* and at the other strides */
    PER_OCTAVE = 8,      /* from there on */
    ALIAS_PAGES = 16384, /* 128 byte each fill the block */
    REFERENCE_LOADS = 512
};

static const uint64_t mib = (uint64_t)1 << 20;
static const uint64_t reserve_bytes = (uint64_t)1 << 30; /* of free memory, for everybody else */

/*
 * Addresses that an aliased block may take. Mapping is the driver's work, about 0.1 s a thousand
 * pages, and the GPUs of a node wait for each other there: only the full battery goes far.
 */
static const uint64_t alias_span_bytes = (uint64_t)8 << 30;
static const uint64_t alias_span_full_bytes = ((uint64_t)128 << 30) - ((uint64_t)32 << 20);

/* One stride to sweep. */
struct reach {
    uint64_t stride_bytes;
    uint64_t each_pages; /* every number of pages up to here, */
    uint64_t per_octave; /* then so many in each doubling, */
    uint64_t most_pages; /* and no more than these */
    uint64_t alias_bytes;
    const char *phase;
};

static uint64_t next_count(const struct reach *reach, uint64_t pages)
{
    uint64_t octave = 1;

    if (pages < reach->each_pages)
        return pages + 1;
    while (2 * octave <= pages)
        octave *= 2;
    return pages + (octave >= reach->per_octave ? octave / reach->per_octave : 1);
}

static uint64_t slot_offset(const struct reach *reach, uint64_t page)
{
    uint64_t spread = reach->alias_bytes > 0 ? reach->alias_bytes : mib;

    return page * reach->stride_bytes + page * LINE_BYTES % spread;
}

static enum pb_status take_pages(struct pb_bench *bench, const struct reach *reach,
                                 const uint64_t *offsets, uint64_t pages,
                                 struct pb_recording *recording, struct pb_error *err)
{
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = PB_ORDER_GIVEN,
                           .phase = reach->phase,
                           .footprint_bytes = pages * reach->stride_bytes,
                           .stride_bytes = reach->stride_bytes,
                           .offset_bytes = offsets,
                           .offset_count = (size_t)pages,
                           .warm = pages < TRACE_LOADS ? 2 * pages : pages,
                           .record = pages < TRACE_LOADS ? pages : TRACE_LOADS,
                           .alias_bytes = reach->alias_bytes};

    return pb_walk_take(bench, &walk, recording, NULL, err);
}

/*
 * The largest count first: the device then lays out its memory once, and where less of it is free
 * than there was, most_pages is halved until it fits.
 */
static enum pb_status take_most(struct pb_bench *bench, struct reach *reach,
                                const uint64_t *offsets, struct pb_recording *recording,
                                struct pb_error *err)
{
    for (;;) {
        enum pb_status status =
            take_pages(bench, reach, offsets, reach->most_pages, recording, err);

        if (status != PB_NO_MEMORY || reach->most_pages < 4)
            return status;
        reach->most_pages /= 2;
    }
}

static enum pb_status take_sweep(struct pb_bench *bench, struct reach *reach,
                                 struct pb_recording *recording, struct pb_error *err)
{
    uint64_t *offsets = malloc(reach->most_pages * sizeof(*offsets));
    enum pb_status status;

    if (offsets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %llu pages",
                       (unsigned long long)reach->most_pages);
    for (uint64_t i = 0; i < reach->most_pages; i++)
        offsets[i] = slot_offset(reach, i);
    status = take_most(bench, reach, offsets, recording, err);
    for (uint64_t pages = 1; pages < reach->most_pages && status == PB_OK;
         pages = next_count(reach, pages))
        status = take_pages(bench, reach, offsets, pages, recording, err);
    free(offsets);
    return status;
}

static enum pb_status take_reference(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err)
{
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = PB_ORDER_SEQUENTIAL,
                           .phase = "reference",
                           .footprint_bytes = REFERENCE_LOADS * LINE_BYTES,
                           .stride_bytes = LINE_BYTES,
                           .warm = 2 * REFERENCE_LOADS,
                           .record = REFERENCE_LOADS};

    return pb_walk_take(bench, &walk, recording, NULL, err);
}

static const char *phase_of(uint64_t stride_mib)
{
    static const char *const phases[] = {"stride2",  "stride4",  "stride8",
                                         "stride16", "stride32", "stride64"};
    size_t i = 0;

    while (stride_mib > 2) {
        stride_mib /= 2;
        i++;
    }
    return phases[i];
}

/* Memory that the pages may take: all that is free less a reserve, or half of very little. */
static uint64_t room_of(const struct pb_bench *bench)
{
    uint64_t free_bytes = bench->info.memory_free_bytes;

    return free_bytes > 2 * reserve_bytes ? free_bytes - reserve_bytes : free_bytes / 2;
}

enum pb_status pb_test_tlb_reach(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err)
{
    uint64_t room = room_of(bench), walked = 0;
    enum pb_status status = take_reference(bench, recording, err);

    if (status == PB_OK && room < 4 * mib)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)bench->info.memory_free_bytes);
    for (uint64_t stride_mib = 2; stride_mib <= 64 && status == PB_OK; stride_mib *= 2) {
        struct reach reach = {.stride_bytes = stride_mib * mib,
                              .each_pages = stride_mib == 2 ? EACH_PAGES : EACH_PAGES_FAR,
                              .per_octave = PER_OCTAVE,
                              .most_pages = room / (stride_mib * mib),
                              .phase = phase_of(stride_mib)};

        if (reach.most_pages < 2)
            break;
        status = take_sweep(bench, &reach, recording, err);
        if (reach.most_pages * reach.stride_bytes > walked)
            walked = reach.most_pages * reach.stride_bytes;
    }
    if (status == PB_OK)
        snprintf(recording->message, sizeof(recording->message),
                 "walked up to %llu MiB of the %llu MiB that were free",
                 (unsigned long long)(walked / mib),
                 (unsigned long long)(bench->info.memory_free_bytes / mib));
    return status;
}

enum pb_status pb_test_tlb_alias(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err)
{
    uint64_t span = bench->battery == PB_FULL ? alias_span_full_bytes : alias_span_bytes;
    uint64_t pages = span / (2 * mib) < ALIAS_PAGES ? span / (2 * mib) : ALIAS_PAGES;
    struct reach reaches[] = {
        {2 * mib, EACH_PAGES, PER_OCTAVE / 2, pages, 2 * mib, phase_of(2)},
        {32 * mib, EACH_PAGES_FAR, PER_OCTAVE / 4, span / (32 * mib), 2 * mib, phase_of(32)},
    };
    enum pb_status status = take_reference(bench, recording, err);

    for (size_t i = 0; i < sizeof(reaches) / sizeof(reaches[0]) && status == PB_OK; i++)
        status = take_sweep(bench, &reaches[i], recording, err);
    if (status == PB_OK)
        snprintf(recording->message, sizeof(recording->message),
                 "one block of 2 MiB at up to %llu pages, and at up to %llu that are 32 MiB apart",
                 (unsigned long long)reaches[0].most_pages,
                 (unsigned long long)reaches[1].most_pages);
    return status;
}
