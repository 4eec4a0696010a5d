/*
 * Private to the battery: one load in each of n pages, for rising n, and where it gets slower.
 *
 * Limit: it compares chases access by access, so the loads must come to the same lines in all of
 * them; a device that moves from SM to SM between chases shows more knees than it has.
 */
#ifndef PB_BATTERY_TLB_SWEEP_H
#define PB_BATTERY_TLB_SWEEP_H

#include "battery/battery.h"

/* Pages at one distance from each other. */
struct pb_tlb_sweep {
    const char *phase;
    uint64_t stride_bytes;
    uint64_t each_pages; /* every number of pages up to here, */
    uint64_t per_octave; /* then so many in each doubling, */
    uint64_t most_pages; /* and no more than these */
    uint64_t repeat;
    uint64_t record_loads;        /* of a pass: all of a shorter one, the first of a longer one */
    uint64_t alias_bytes;         /* see struct pb_chase */
    const uint64_t *offset_bytes; /* [most_pages] one slot in each page */
    uint64_t slower_pages;        /* result: the last knee's first slower number; 0: none */
};

/*
 * Loads that are recorded of a pass. The sets of a large level show by pages of theirs that begin
 * to miss together: of 256 sets, two pages each are among the first 512, which leaves an index open
 * that so many are enough.
 */
enum { PB_TLB_SWEEP_LOADS = 512, PB_TLB_SWEEP_LOADS_OF_SETS = 2048 };

/* Bytes of plain memory that pages may take: all that is free less a reserve for all others, or
 * half of very little. */
uint64_t pb_tlb_sweep_bytes_max(const struct pb_session *session);

/* The phase of pages 2, 4, … 64 MiB apart. */
const char *pb_tlb_sweep_phase(uint64_t stride_bytes);

/*
 * Sweeps over numbers of pages, past L1. Between two numbers that differ in their latencies the
 * first slower one is looked for, to the page, and what lies beyond it is measured finely: there
 * one set of translations after the other overflows (M16 4.4).
 *
 * The largest number comes first: the device then lays out its memory once, and where it has less
 * than was requested, sweep->most_pages is halved until it fits. Errors are the device's.
 */
enum pb_status pb_tlb_sweep_run(struct pb_session *session, struct pb_tlb_sweep *sweep,
                                struct pb_recording *recording, struct pb_error *err);

#endif
