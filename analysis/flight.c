/* Loads in flight, sent one by one. */
#include "analysis/flight.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The warp that can go on first, of several the one behind; warps when all loads are sent. */
static unsigned next_warp(const struct pb_flight *flight, unsigned warps, unsigned loads)
{
    unsigned next = warps;

    for (unsigned w = 0; w < warps; w++) {
        if (flight->sent[w] == loads)
            continue;
        if (next == warps || flight->ready[w] < flight->ready[next] ||
            (flight->ready[w] == flight->ready[next] && flight->sent[w] < flight->sent[next]))
            next = w;
    }
    return next;
}

/* Every register is taken in turn, so the next one is the oldest. */
double pb_flight_last(struct pb_flight *flight, unsigned warps, unsigned loads)
{
    double now = 0.0, last = 0.0;
    unsigned total = 0, w;

    memset(flight->ready, 0, sizeof(flight->ready));
    memset(flight->sent, 0, sizeof(flight->sent));
    memset(flight->warp_free, 0, sizeof(double) * warps * flight->per_warp);
    memset(flight->sm_free, 0, sizeof(double) * flight->per_sm);
    while ((w = next_warp(flight, warps, loads)) < warps) {
        double *own = flight->warp_free + (size_t)w * flight->per_warp;
        double *of_sm = &flight->sm_free[total++ % flight->per_sm];

        now = fmax(fmax(now, flight->ready[w]), *of_sm);
        own[flight->sent[w] % flight->per_warp] = *of_sm = last = now + flight->latency;
        now += flight->issue;
        flight->sent[w]++;
        flight->ready[w] = fmax(now, own[flight->sent[w] % flight->per_warp]);
    }
    return last;
}
