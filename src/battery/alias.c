/*
 * Family tlb: translations far beyond memory (facts 2.11).
 *
 * One block of 32 MiB is mapped over and over, so that all pages end in the same few lines of L2.
 * Of these only the faster half is taken: they lie on one side of L2, and every step of what is
 * walked over them is translation.
 *
 *   map         the first and the last page: all is mapped before anything is measured
 *   reference   the lines of each page of the block, with its translation warm
 *   stride32    one load in each of n pages 32 MiB apart (reach.c)
 *   stride2     the same, 2 MiB apart
 *
 * Limit: it is assumed that the device translates each mapping by itself, and that a block has no
 * larger page than 2 MiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/reach.h"
#include "battery/tests.h"
#include "battery/walk.h"

enum {
    LINE_BYTES = 128,
    LINE_WORDS = 16,
    CHUNKS = 16,       /* pages of the block, */
    CHUNK_LINES = 512, /* lines of each that are looked at, */
    FAST_LINES = 256,  /* and that are taken; each of their words may hold a slot */
    SLOTS_MAX = 8192,
    PER_OCTAVE = 4,
    EACH_PAGES = 192,
    EACH_PAGES_FAR = 48
};

static const uint64_t mib = (uint64_t)1 << 20;
static const uint64_t block_bytes = (uint64_t)CHUNKS * PB_PAGE_BYTES;

/* Addresses that are mapped: the driver takes a call for each of 4,096 blocks. */
static const uint64_t span_bytes_max = (uint64_t)128 << 30;
static const uint64_t span_bytes_min = (uint64_t)8 << 30;

struct alias {
    uint64_t span_bytes;
    uint64_t fast[CHUNKS][FAST_LINES]; /* offsets within their page */
    uint64_t offset_bytes[SLOTS_MAX];
};

/* A line of the block, and how long it takes. */
struct line {
    uint64_t offset_bytes;
    uint32_t cycles;
};

static int by_cycles(const void *a, const void *b)
{
    const struct line *left = a, *right = b;

    if (left->cycles != right->cycles)
        return left->cycles < right->cycles ? -1 : 1;
    return (left->offset_bytes > right->offset_bytes) - (left->offset_bytes < right->offset_bytes);
}

/* Where the driver gives out fewer addresses, half of them must do. */
static enum pb_status map_all(struct pb_bench *bench, struct alias *alias,
                              struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_NO_MEMORY;

    for (uint64_t span = span_bytes_max; status == PB_NO_MEMORY && span >= span_bytes_min;
         span /= 2) {
        const uint64_t ends[] = {0, span - block_bytes + LINE_BYTES};
        struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                               .order = PB_ORDER_GIVEN,
                               .phase = "map",
                               .footprint_bytes = span,
                               .stride_bytes = span - block_bytes,
                               .offset_bytes = ends,
                               .offset_count = 2,
                               .record = PB_WALK_LAP,
                               .alias_bytes = block_bytes};

        alias->span_bytes = span;
        status = pb_walk_take(bench, &walk, recording, NULL, err);
    }
    return status;
}

static enum pb_status find_fast_lines(struct pb_bench *bench, size_t chunk, struct alias *alias,
                                      struct pb_recording *recording, struct pb_error *err)
{
    struct line lines[CHUNK_LINES];
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = PB_ORDER_GIVEN,
                           .phase = "reference",
                           .footprint_bytes = chunk * PB_PAGE_BYTES + CHUNK_LINES * LINE_BYTES,
                           .stride_bytes = LINE_BYTES,
                           .offset_bytes = alias->offset_bytes,
                           .offset_count = CHUNK_LINES,
                           .warm = 2 * CHUNK_LINES,
                           .record = CHUNK_LINES,
                           .repeat = chunk,
                           .alias_bytes = block_bytes};
    struct pb_walk_result result;
    enum pb_status status;

    for (size_t i = 0; i < CHUNK_LINES; i++)
        alias->offset_bytes[i] = chunk * PB_PAGE_BYTES + i * LINE_BYTES;
    status = pb_walk_take(bench, &walk, recording, &result, err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < CHUNK_LINES; i++)
        lines[i] = (struct line){recording->series.index_bytes[result.first + i] % PB_PAGE_BYTES,
                                 recording->series.latency_cycles[result.first + i]};
    qsort(lines, CHUNK_LINES, sizeof(lines[0]), by_cycles);
    for (size_t i = 0; i < FAST_LINES; i++)
        alias->fast[chunk][i] = lines[i].offset_bytes;
    return PB_OK;
}

/* Slot i in page i, in fast lines of the page of the block that it is: each once, then their next
 * words. Returns how many pages there are slots for. */
static uint64_t place_slots(struct alias *alias, uint64_t stride_bytes)
{
    uint64_t pages = alias->span_bytes / stride_bytes, used[CHUNKS] = {0};

    for (uint64_t i = 0; i < pages && i < SLOTS_MAX; i++) {
        size_t chunk = (size_t)(i * (stride_bytes / PB_PAGE_BYTES) % CHUNKS);
        uint64_t turn = used[chunk]++;

        if (turn == (uint64_t)FAST_LINES * LINE_WORDS)
            return i;
        alias->offset_bytes[i] =
            i * stride_bytes + alias->fast[chunk][turn % FAST_LINES] + 8 * (turn / FAST_LINES);
    }
    return pages < SLOTS_MAX ? pages : SLOTS_MAX;
}

static enum pb_status walk_all(struct pb_bench *bench, struct alias *alias,
                               struct pb_recording *recording, struct pb_error *err)
{
    struct pb_reach far = {.phase = "stride32",
                           .stride_bytes = 32 * mib,
                           .each_pages = EACH_PAGES_FAR,
                           .per_octave = PER_OCTAVE,
                           .alias_bytes = block_bytes,
                           .offset_bytes = alias->offset_bytes};
    struct pb_reach near = far;
    enum pb_status status;

    far.most_pages = place_slots(alias, far.stride_bytes);
    status = pb_reach_sweep(bench, &far, recording, err);
    if (status != PB_OK)
        return status;
    near.phase = "stride2";
    near.stride_bytes = 2 * mib;
    near.each_pages = EACH_PAGES;
    near.most_pages = place_slots(alias, near.stride_bytes);
    status = pb_reach_sweep(bench, &near, recording, err);
    if (status == PB_OK)
        snprintf(recording->message, sizeof(recording->message),
                 "one block of 32 MiB at up to %llu pages 2 MiB apart, and at up to %llu that are "
                 "32 MiB apart",
                 (unsigned long long)near.most_pages, (unsigned long long)far.most_pages);
    return status;
}

enum pb_status pb_test_tlb_alias(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err)
{
    struct alias *alias = calloc(1, sizeof(*alias));
    enum pb_status status;

    if (alias == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for the slots of %d pages", (int)SLOTS_MAX);
    status = map_all(bench, alias, recording, err);
    for (size_t chunk = 0; chunk < CHUNKS && status == PB_OK; chunk++)
        status = find_fast_lines(bench, chunk, alias, recording, err);
    if (status == PB_OK)
        status = walk_all(bench, alias, recording, err);
    free(alias);
    return status;
}
