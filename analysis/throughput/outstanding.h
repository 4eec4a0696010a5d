/*
 * Independent loads of several warps outstanding, under limits of how many a warp and an SM may
 * have (N14 4.4): a load that finds no free register waits for the oldest one.
 */
#ifndef PB_ANALYSIS_THROUGHPUT_OUTSTANDING_H
#define PB_ANALYSIS_THROUGHPUT_OUTSTANDING_H

enum { PB_OUTSTANDING_WARPS_MAX = 64, PB_OUTSTANDING_LOADS_MAX = 64 }; /* loads: of a warp */

/* Loads outstanding under one pair of limits. The arrays are room, not part of the question. */
struct pb_outstanding {
    unsigned per_warp, per_sm;
    double latency, issue; /* cycles of a load, and between two of them */
    /* When each register is free again: rings, the warps' side by side. */
    double warp_free[PB_OUTSTANDING_WARPS_MAX * (PB_OUTSTANDING_LOADS_MAX + 1)];
    double sm_free[PB_OUTSTANDING_WARPS_MAX * PB_OUTSTANDING_LOADS_MAX];
    double ready[PB_OUTSTANDING_WARPS_MAX];
};

/*
 * Plays `loads` of each of `warps` through, all from the same start. A burst of fewer loads is the
 * beginning of one of more: last_out[n] says when the last load of a burst of n + 1 is back.
 */
void pb_outstanding_simulate(struct pb_outstanding *outstanding, unsigned warps, unsigned loads,
                             double *last_out);

#endif
