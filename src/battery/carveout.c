/*
 * Family cache: how large L1 is beside every shared-memory carve-out (M16 4.5; facts 1).
 *
 * For each carve-out the reference points and a search for the edge as in l1_capacity: phases
 * reference, miss, coarse, bisect and confirm; the column carveout distinguishes them. As there,
 * every line is loaded several times: a cache that keeps what has hit would keep the kernel's own
 * line for practice, and one of four in its set less for the array (seen on an H200, from 203 KiB
 * on).
 *
 * Where the largest carve-out leaves the edge where it was, L1 is not unified with shared memory:
 * the message says so, and the steps between are not measured.
 */
#include <stdio.h>

#include "battery/search.h"
#include "battery/tests.h"

static const uint64_t steps_kib[] = {8, 16, 32, 64, 100, 132, 164, 196, 228};
enum { STEPS = sizeof(steps_kib) / sizeof(steps_kib[0]) };

/* *edge_out: 0 where the device cannot set as much aside, or nothing misses. */
static enum pb_status find_edge(struct pb_session *session, uint64_t carveout_bytes,
                                struct pb_recording *recording, uint64_t *edge_out,
                                struct pb_error *err)
{
    struct pb_search search;
    enum pb_status status;

    *edge_out = 0;
    pb_search_begin(session, PB_CACHE_L1, &search);
    search.carveout_bytes = (int64_t)carveout_bytes;
    status = pb_search_references(session, &search, recording, err);
    if (status == PB_OK)
        status = pb_search_edge(session, &search, recording, err);
    if (status == PB_OK && search.overflows_bytes > 0)
        *edge_out = search.fits_bytes;
    return status == PB_UNSUPPORTED || status == PB_NOT_FOUND ? PB_OK : status;
}

static size_t step_count(const struct pb_session *session)
{
    size_t count = 0;

    while (count < STEPS && steps_kib[count] << 10 <= session->info.shared_per_sm_bytes)
        count++;
    return count;
}

static bool is_moved(const struct pb_search *search, uint64_t edge_bytes)
{
    return edge_bytes + search->stride_bytes < search->fits_bytes ||
           edge_bytes > search->fits_bytes + search->stride_bytes;
}

enum pb_status pb_test_l1_carveout(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    struct pb_search search;
    size_t count = step_count(session);
    uint64_t edge = 0;
    enum pb_status status = pb_search_from_hints(session, PB_CACHE_L1, &search, recording, err);

    if (status == PB_OK && count == 0)
        return pb_fail(err, PB_UNSUPPORTED, "an SM's shared memory is smaller than any carve-out");
    if (status == PB_OK)
        status = find_edge(session, steps_kib[count - 1] << 10, recording, &edge, err);
    if (status != PB_OK)
        return status;
    if (edge != 0 && !is_moved(&search, edge)) {
        snprintf(recording->message, sizeof(recording->message),
                 "L1 keeps its %llu bytes beside a carve-out of %llu KiB: it is not unified",
                 (unsigned long long)edge, (unsigned long long)steps_kib[count - 1]);
        return PB_OK;
    }
    for (size_t i = 0; i + 1 < count && status == PB_OK; i++)
        status = find_edge(session, steps_kib[i] << 10, recording, &edge, err);
    return status;
}
