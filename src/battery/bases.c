/*
 * Family cache: does L1's edge depend on where the array begins?
 *
 * An index that hashes the address, and sets of unequal size, fill evenly from some addresses only:
 * the first set overflows sooner or later, by a line or by a few. So the edge is looked for again
 * with the array some lines further on.
 *
 *   shifted   chases near the edge, by lines; their base_address shows where the array begins
 *
 * Source: M16 4.2 stage 1; and the unequal sets of M16 4.4.
 */
#include <stdio.h>

#include "battery/search.h"
#include "battery/tests.h"

/* Sums and differences of these move every low bit of a line's number. An H200's array at 2 MiB
 * fills its sets evenly enough from all but 129 and 257. */
static const uint64_t shifts_lines[] = {1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025};
enum { SHIFTS = sizeof(shifts_lines) / sizeof(shifts_lines[0]) };

enum pb_status pb_test_l1_alignment(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    struct pb_search search;
    uint64_t least, most, edge;
    enum pb_status status = pb_search_from_hints(session, PB_CACHE_L1, &search, recording, err);

    if (status != PB_OK)
        return status;
    least = most = edge = search.fits_bytes;
    search.phase = "shifted";
    for (size_t i = 0; i < SHIFTS && status == PB_OK; i++) {
        search.base_bytes = shifts_lines[i] * search.stride_bytes;
        search.fits_bytes = edge;
        status = pb_search_edge_again(session, &search, recording, err);
        if (status != PB_OK || search.overflows_bytes == 0)
            continue;
        least = search.fits_bytes < least ? search.fits_bytes : least;
        most = search.fits_bytes > most ? search.fits_bytes : most;
    }
    session->hints[PB_CACHE_L1].is_uneven = most > least;
    if (status == PB_OK && most > least)
        snprintf(recording->message, sizeof(recording->message),
                 "misses begin beyond %llu to %llu bytes, by where the array begins",
                 (unsigned long long)least, (unsigned long long)most);
    return status;
}
