/*
 * Independent loads of several warps in flight, under limits of how many a warp and an SM may have
 * (N14 4.4): a load that finds no free register waits for the oldest one.
 */
#ifndef PB_ANALYSIS_FLIGHT_H
#define PB_ANALYSIS_FLIGHT_H

enum { PB_FLIGHT_WARPS_MAX = 64 };

/* Loads in flight under one pair of limits. */
struct pb_flight {
    unsigned per_warp, per_sm;
    double latency, issue; /* cycles of a load, and between two of them */
    double *warp_free;     /* [warps * per_warp] when each register is free again, as rings */
    double *sm_free;       /* [per_sm] */
    double ready[PB_FLIGHT_WARPS_MAX];
};

/* Cycles until the last load is back, when each of `warps` sends `loads`, all from the same start.
 */
double pb_flight_last(struct pb_flight *flight, unsigned warps, unsigned loads);

#endif
