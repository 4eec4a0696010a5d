/*
 * Times of loads outstanding as the battery's matrix holds them (N14 5.2), and how well a pair of
 * limits predicts them, played through load by load (outstanding.h).
 */
#ifndef PB_ANALYSIS_THROUGHPUT_BURSTS_H
#define PB_ANALYSIS_THROUGHPUT_BURSTS_H

#include <stddef.h>

#include "analysis/throughput/outstanding.h"
#include "core/record.h"

/* Times by one lane a warp of one kind of traffic. */
struct pb_bursts {
    const struct pb_matrix *matrix;
    size_t first;                           /* its first cell */
    double latency_cycles, overhead_cycles; /* one load as it was stamped; of that, the stamps */
    double issue_cycles; /* between two loads; by those that surely do not wait */
};

/*
 * traffic  "l2" or "dram"
 *
 * PB_NOT_FOUND: the matrix has not these axes, or no load by one lane of one warp
 */
enum pb_status pb_bursts_read(const struct pb_recording *recording, const char *traffic,
                              struct pb_bursts *bursts_out, struct pb_error *err);

size_t pb_bursts_warps(const struct pb_bursts *bursts); /* rows */
size_t pb_bursts_loads(const struct pb_bursts *bursts); /* cells of a row */
unsigned pb_bursts_warps_at(const struct pb_bursts *bursts, size_t row);
unsigned pb_bursts_loads_at(const struct pb_bursts *bursts, size_t cell);

/* Cells that a judgement looks at. */
struct pb_bursts_range {
    unsigned warps_least, warps_most;
    unsigned total_most; /* warps by loads */
};

/* How well limits predict. */
struct pb_bursts_fit {
    size_t explained, seen; /* cells; explained: within a quarter of a latency */
    double error_cycles;    /* sum over the cells, each at most that quarter */
};

/*
 * Plays every cell of the range through.
 *
 * bound   an error beyond it is of no interest: then the fit's error is beyond it too, no more is
 *         said of it
 * flight  its limits; the rest is set here
 */
struct pb_bursts_fit pb_bursts_judge(const struct pb_bursts *bursts,
                                     const struct pb_bursts_range *range, double bound,
                                     struct pb_outstanding *outstanding);

/*
 * The same, but where jitter of the stamps may have lengthened every time, up to eight cycles of
 * the latency are taken for that, and the cost of issuing moves a little: as fits best. Both add up
 * over loads that wait for each other: a latency that is two cycles too long shows one load more.
 */
struct pb_bursts_fit pb_bursts_judge_fitted(const struct pb_bursts *bursts,
                                            const struct pb_bursts_range *range, double bound,
                                            struct pb_outstanding *outstanding);

#endif
