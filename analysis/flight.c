/* Loads in flight, sent one by one. */
#include "analysis/flight.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/*
 * Every register is taken in turn, so the next one is the oldest. And since all loads take as long,
 * the warp that went on first is the first to go on again: warps send in turn.
 */
double pb_flight_last(struct pb_flight *flight, unsigned warps, unsigned loads)
{
    double now = 0.0, last = 0.0;

    memset(flight->ready, 0, sizeof(flight->ready));
    memset(flight->warp_free, 0, sizeof(double) * warps * flight->per_warp);
    memset(flight->sm_free, 0, sizeof(double) * flight->per_sm);
    for (unsigned i = 0; i < warps * loads; i++) {
        unsigned warp = i % warps, sent = i / warps;
        double *own = flight->warp_free + (size_t)warp * flight->per_warp;
        double *of_sm = &flight->sm_free[i % flight->per_sm];

        now = fmax(fmax(now, flight->ready[warp]), *of_sm);
        own[sent % flight->per_warp] = *of_sm = last = now + flight->latency;
        now += flight->issue;
        flight->ready[warp] = fmax(now, own[(sent + 1) % flight->per_warp]);
    }
    return last;
}
