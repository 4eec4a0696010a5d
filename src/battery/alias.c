/*
 * Family tlb: translations far beyond memory (facts 2.11).
 *
 * One block is mapped over and over, so that all pages end in the same few lines of L2. Of these
 * only the faster are taken: they lie on one side of L2, and every step of what is loaded from them
 * is translation. The larger the block, the fewer calls the driver takes for so many addresses: of
 * all GPUs of a node it answers one at a time.
 *
 *   map         the first and the last page: all is mapped before anything is measured
 *   reference   the lines of the block's pages, with their translations warm
 *   stride32    one load in each of n pages 32 MiB apart (tlb_sweep.c)
 *   stride2     the same, 2 MiB apart
 *   stride4, stride8, stride16, stride64, and stride32 again (repeat) with more of each pass
 *               the same, only where stride32 gets slower beyond all memory that is free: tlb_reach
 *               cannot show then how much an entry spans, nor which pages share a set
 *
 * Limit: it is assumed that the device translates each mapping by itself, and that a block has no
 * larger page than 2 MiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/chase.h"
#include "battery/tests.h"
#include "battery/tlb_sweep.h"

enum {
    LINE_BYTES = 128,
    LINE_WORDS = 16,    /* each may hold a slot */
    CHASE_LINES = 512,  /* looked at in one chase: of one page of the block, or of some */
    CHASE_CHUNKS = 32,  /* a chase each, where there are more */
    TAKEN_LINES = 4608, /* in all pages, and of one at most half */
    CHUNKS_MAX = 128,
    SLOTS_MAX = 8192,
    PER_OCTAVE = 4,
    EACH_PAGES = 192,
    EACH_PAGES_FAR = 48
};

static const uint64_t mib = (uint64_t)1 << 20;

/*
 * Addresses that are mapped, and what of memory. Where a level's index is a hash, every other of
 * its entries fills it as well, with twice the bytes: 128 GiB hold 2,048 of 32 MiB so, and an
 * eighth more makes them miss.
 */
static const uint64_t span_bytes_max = (uint64_t)144 << 30;
static const uint64_t span_bytes_min = (uint64_t)9 << 30;
static const uint64_t block_bytes_max = (uint64_t)256 << 20;
static const uint64_t block_bytes_min = (uint64_t)32 << 20;

struct alias {
    uint64_t span_bytes, block_bytes;
    size_t chunks;              /* pages of the block */
    size_t seen;                /* lines of each that are looked at, */
    size_t taken;               /* and that are taken */
    uint64_t fast[TAKEN_LINES]; /* [chunks][taken] offsets within their page */
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

/* Less than a hundredth of free memory, where that is more than the least. */
static void choose_block(const struct pb_session *session, struct alias *alias)
{
    alias->block_bytes = block_bytes_max;
    while (alias->block_bytes > block_bytes_min &&
           alias->block_bytes > session->info.memory_free_bytes / 128)
        alias->block_bytes /= 2;
    alias->chunks = (size_t)(alias->block_bytes / PB_PAGE_BYTES);
    alias->seen =
        alias->chunks > CHASE_CHUNKS ? CHASE_LINES * CHASE_CHUNKS / alias->chunks : CHASE_LINES;
    alias->taken = TAKEN_LINES / alias->chunks;
    if (alias->taken > alias->seen / 2)
        alias->taken = alias->seen / 2;
}

/* Where the driver gives out fewer addresses, half of them must do. */
static enum pb_status map_all(struct pb_session *session, struct alias *alias,
                              struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_NO_MEMORY;

    for (uint64_t span = span_bytes_max; status == PB_NO_MEMORY && span >= span_bytes_min;
         span /= 2) {
        const uint64_t ends[] = {0, span - alias->block_bytes + LINE_BYTES};
        struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CG,
                                     .order = PB_ORDER_GIVEN,
                                     .phase = "map",
                                     .footprint_bytes = span,
                                     .stride_bytes = span - alias->block_bytes,
                                     .offset_bytes = ends,
                                     .offset_count = 2,
                                     .record = PB_WHOLE_PASS,
                                     .alias_bytes = alias->block_bytes};

        alias->span_bytes = span;
        status = pb_chase_take(session, &spec, recording, NULL, err);
    }
    return status;
}

/* A chase over lines of pages from `chunk` on. Every 32 MiB of the block have lines of their own,
 * so that those of an L2 without a hash share no set. */
static enum pb_status find_fast_lines(struct pb_session *session, size_t chunk, struct alias *alias,
                                      struct pb_recording *recording, struct pb_error *err)
{
    struct line lines[CHASE_LINES];
    struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CG,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = "reference",
                                 .stride_bytes = LINE_BYTES,
                                 .offset_bytes = alias->offset_bytes,
                                 .offset_count = CHASE_LINES,
                                 .warm = 2 * CHASE_LINES,
                                 .record = CHASE_LINES,
                                 .repeat = chunk,
                                 .alias_bytes = alias->block_bytes};
    struct pb_chase_result result;
    enum pb_status status;

    for (size_t i = 0; i < CHASE_LINES; i++) {
        size_t page = chunk + i / alias->seen, line = i % alias->seen;

        line += page * PB_PAGE_BYTES / block_bytes_min * CHASE_LINES;
        alias->offset_bytes[i] = page * PB_PAGE_BYTES + line * LINE_BYTES;
    }
    spec.footprint_bytes = alias->offset_bytes[CHASE_LINES - 1] + LINE_BYTES;
    status = pb_chase_take(session, &spec, recording, &result, err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < CHASE_LINES; i++)
        lines[i] = (struct line){recording->series.index_bytes[result.first + i],
                                 recording->series.latency_cycles[result.first + i]};
    for (size_t i = 0; i < CHASE_LINES; i += alias->seen, chunk++) {
        qsort(lines + i, alias->seen, sizeof(lines[0]), by_cycles);
        for (size_t k = 0; k < alias->taken; k++)
            alias->fast[chunk * alias->taken + k] = lines[i + k].offset_bytes % PB_PAGE_BYTES;
    }
    return PB_OK;
}

/* Slot i in page i, in fast lines of the page of the block that it is: each once, then their next
 * words. Returns how many pages there are slots for. */
static uint64_t place_slots(struct alias *alias, uint64_t stride_bytes)
{
    uint64_t pages = alias->span_bytes / stride_bytes, used[CHUNKS_MAX] = {0};

    for (uint64_t i = 0; i < pages && i < SLOTS_MAX; i++) {
        size_t chunk = (size_t)(i * (stride_bytes / PB_PAGE_BYTES) % alias->chunks);
        const uint64_t *fast = alias->fast + chunk * alias->taken;
        uint64_t turn = used[chunk]++;

        if (turn == alias->taken * LINE_WORDS)
            return i;
        alias->offset_bytes[i] =
            i * stride_bytes + fast[turn % alias->taken] + 8 * (turn / alias->taken);
    }
    return pages < SLOTS_MAX ? pages : SLOTS_MAX;
}

static enum pb_status chase_stride(struct pb_session *session, struct alias *alias,
                                   uint64_t stride_bytes, struct pb_tlb_sweep *sweep_out,
                                   struct pb_recording *recording, struct pb_error *err)
{
    *sweep_out = (struct pb_tlb_sweep){.phase = pb_tlb_sweep_phase(stride_bytes),
                                       .stride_bytes = stride_bytes,
                                       .each_pages = stride_bytes == PB_PAGE_BYTES ? EACH_PAGES
                                                                                   : EACH_PAGES_FAR,
                                       .per_octave = PER_OCTAVE,
                                       .most_pages = place_slots(alias, stride_bytes),
                                       .record_loads = PB_TLB_SWEEP_LOADS,
                                       .alias_bytes = alias->block_bytes,
                                       .offset_bytes = alias->offset_bytes};
    return pb_tlb_sweep_run(session, sweep_out, recording, err);
}

/* What lies between 2 and 32 MiB, and beyond, where this alone can go so far. */
static enum pb_status chase_other_strides(struct pb_session *session, struct alias *alias,
                                          struct pb_recording *recording, struct pb_error *err)
{
    static const uint64_t strides_mib[] = {4, 8, 16, 64};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(strides_mib) / sizeof(strides_mib[0]) && status == PB_OK; i++) {
        struct pb_tlb_sweep sweep;

        status = chase_stride(session, alias, strides_mib[i] * mib, &sweep, recording, err);
    }
    return status;
}

/* Pages of one set are few among the first of a pass, and far between: more of each pass is kept.
 */
static enum pb_status chase_for_sets(struct pb_session *session, struct alias *alias,
                                     const struct pb_tlb_sweep *far, struct pb_recording *recording,
                                     struct pb_error *err)
{
    struct pb_tlb_sweep again = *far;

    place_slots(alias, again.stride_bytes);
    again.repeat = 1;
    again.each_pages = PER_OCTAVE;
    again.per_octave = 2 * PER_OCTAVE; /* each page hits in some chases, before it misses */
    again.record_loads = PB_TLB_SWEEP_LOADS_OF_SETS;
    return pb_tlb_sweep_run(session, &again, recording, err);
}

static enum pb_status chase_all(struct pb_session *session, struct alias *alias,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_tlb_sweep far, near;
    bool is_beyond = false;
    enum pb_status status = chase_stride(session, alias, 32 * mib, &far, recording, err);

    if (status == PB_OK)
        status = chase_stride(session, alias, PB_PAGE_BYTES, &near, recording, err);
    if (status == PB_OK)
        is_beyond = far.slower_pages * far.stride_bytes > pb_tlb_sweep_bytes_max(session);
    if (is_beyond)
        status = chase_other_strides(session, alias, recording, err);
    if (is_beyond && status == PB_OK)
        status = chase_for_sets(session, alias, &far, recording, err);
    if (status == PB_OK)
        snprintf(
            recording->message, sizeof(recording->message),
            "one block of %llu MiB at up to %llu pages 2 MiB apart, and at up to %llu that are "
            "32 MiB apart%s",
            (unsigned long long)(alias->block_bytes / mib), (unsigned long long)near.most_pages,
            (unsigned long long)far.most_pages,
            is_beyond ? "; these get slower beyond all free memory: at other strides, too" : "");
    return status;
}

enum pb_status pb_test_tlb_remap(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    struct alias *alias;
    enum pb_status status;

    if (session->info.memory_free_bytes < block_bytes_min)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)session->info.memory_free_bytes);
    alias = calloc(1, sizeof(*alias));
    if (alias == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the slots of %d pages",
                       (int)SLOTS_MAX);
    choose_block(session, alias);
    status = map_all(session, alias, recording, err);
    for (size_t chunk = 0; chunk < alias->chunks && status == PB_OK;
         chunk += CHASE_LINES / alias->seen)
        status = find_fast_lines(session, chunk, alias, recording, err);
    if (status == PB_OK)
        status = chase_all(session, alias, recording, err);
    free(alias);
    return status;
}
