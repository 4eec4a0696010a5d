/*
 * Family tlb: how far translations reach (M16 4.4; facts, table of TLBs, and 2.11).
 *
 * One load in each of n pages, pass after pass past L1, in lines of L2 that differ: what is slower
 * than L2 is translation. A trace holds a whole pass, or the first 512 loads of a longer one. Where
 * the latencies rise, the number of pages is looked for at which they begin to (tlb_sweep.c).
 *
 *   stride2, stride4, … stride64   pages so many MiB apart
 *   fine64k, fine512k              slots so many KiB apart: pages smaller than 2 MiB would show
 *   reference                      as many lines in one page: L2 and nothing else
 *
 * The column stride is the distance of two slots, footprint is n times that. tlb_reach loads from
 * plain memory as far as it is free; stride32 twice, by other lines of the same pages (repeat): a
 * step that is translation stays, one that is a far slice of L2 moves. The second time holds 2,048
 * loads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "battery/chase.h"
#include "battery/tests.h"
#include "battery/tlb_sweep.h"

enum {
    LINE_BYTES = 128,
    EACH_PAGES = 192,    /* every n up to here where pages are 2 MiB apart: M16 4.4 */
    EACH_PAGES_FAR = 48, /* and at the other strides */
    PER_OCTAVE = 8,      /* from there on */
    REFERENCE_LOADS = 512,
    REPEATS_MAX = 2
};

static const uint64_t kib = (uint64_t)1 << 10, mib = (uint64_t)1 << 20;

/* Slot i in page i: neighbours lie in different lines, and so do the repeats. */
static uint64_t slot_offset(const struct pb_tlb_sweep *sweep, uint64_t page)
{
    uint64_t spread = sweep->stride_bytes < mib ? sweep->stride_bytes : mib;
    uint64_t shift = sweep->repeat * spread / REPEATS_MAX;

    return page * sweep->stride_bytes + (page * LINE_BYTES + shift) % spread;
}

static enum pb_status take_plain(struct pb_session *session, struct pb_tlb_sweep *sweep,
                                 struct pb_recording *recording, struct pb_error *err)
{
    uint64_t *offsets = malloc(sweep->most_pages * sizeof(*offsets));
    enum pb_status status;

    if (offsets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %llu pages",
                       (unsigned long long)sweep->most_pages);
    for (uint64_t i = 0; i < sweep->most_pages; i++)
        offsets[i] = slot_offset(sweep, i);
    sweep->offset_bytes = offsets;
    status = pb_tlb_sweep_run(session, sweep, recording, err);
    sweep->offset_bytes = NULL;
    free(offsets);
    return status;
}

static enum pb_status take_reference(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CG,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = "reference",
                                 .footprint_bytes = REFERENCE_LOADS * LINE_BYTES,
                                 .stride_bytes = LINE_BYTES,
                                 .warm = 2 * REFERENCE_LOADS,
                                 .record = REFERENCE_LOADS};

    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* Slots closer than 2 MiB, not far: to see whether pages are that small. */
static enum pb_status take_fine(struct pb_session *session, uint64_t available,
                                struct pb_recording *recording, struct pb_error *err)
{
    static const uint64_t span_bytes = (uint64_t)256 << 20;
    const struct {
        const char *phase;
        uint64_t stride_bytes;
    } fine[] = {{"fine64k", 64 * kib}, {"fine512k", 512 * kib}};
    uint64_t span = available < span_bytes ? available : span_bytes;

    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
        struct pb_tlb_sweep sweep = {.phase = fine[i].phase,
                                     .stride_bytes = fine[i].stride_bytes,
                                     .each_pages = PER_OCTAVE,
                                     .per_octave = PER_OCTAVE,
                                     .most_pages = span / fine[i].stride_bytes,
                                     .record_loads = PB_TLB_SWEEP_LOADS};
        enum pb_status status = take_plain(session, &sweep, recording, err);

        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

/* Pages so far apart, as many as there is room for; *spanned_out grows to what they span. */
static enum pb_status take_stride(struct pb_session *session, uint64_t stride_mib,
                                  uint64_t available, struct pb_recording *recording,
                                  uint64_t *spanned_out, struct pb_error *err)
{
    struct pb_tlb_sweep sweep = {.phase = pb_tlb_sweep_phase(stride_mib * mib),
                                 .stride_bytes = stride_mib * mib,
                                 .each_pages = stride_mib == 2 ? EACH_PAGES : EACH_PAGES_FAR,
                                 .per_octave = PER_OCTAVE,
                                 .most_pages = available / (stride_mib * mib),
                                 .record_loads = PB_TLB_SWEEP_LOADS};
    enum pb_status status = take_plain(session, &sweep, recording, err);

    if (sweep.most_pages * sweep.stride_bytes > *spanned_out)
        *spanned_out = sweep.most_pages * sweep.stride_bytes;
    sweep.repeat = 1;
    sweep.each_pages = PER_OCTAVE;
    sweep.record_loads = PB_TLB_SWEEP_LOADS_OF_SETS;
    if (status == PB_OK && stride_mib == 32)
        status = take_plain(session, &sweep, recording, err);
    return status;
}

enum pb_status pb_test_tlb_reach(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    uint64_t available = pb_tlb_sweep_bytes_max(session), spanned = 0;
    enum pb_status status = take_reference(session, recording, err);

    if (status == PB_OK && available < 4 * mib)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)session->info.memory_free_bytes);
    for (uint64_t stride_mib = 2; stride_mib <= 64 && status == PB_OK; stride_mib *= 2)
        if (available >= 2 * stride_mib * mib)
            status = take_stride(session, stride_mib, available, recording, &spanned, err);
    if (status == PB_OK)
        status = take_fine(session, available, recording, err);
    if (status == PB_OK)
        snprintf(recording->message, sizeof(recording->message),
                 "swept up to %llu MiB of the %llu MiB that were free",
                 (unsigned long long)(spanned / mib),
                 (unsigned long long)(session->info.memory_free_bytes / mib));
    return status;
}
