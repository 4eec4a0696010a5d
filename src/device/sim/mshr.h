/*
 * Loads outstanding (N14 4.4 and 5.2): how long independent loads take when the registers that hold
 * pending misses are limited per warp and per SM.
 */
#ifndef PB_DEVICE_SIM_MSHR_H
#define PB_DEVICE_SIM_MSHR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "device/sim/profile.h"

/* One line that one warp requests. */
struct pb_sim_request {
    double latency_cycles;
    bool is_miss; /* takes a register until it is back; a hit or a pending line takes none */
};

/*
 * Sends the requests of every warp, requests[warps][count], each warp's in order, and computes when
 * the last of each warp is back: finish_cycles_out[warps], from a common start.
 *
 * One request leaves every issue_cycles: that of the warp which is ready first, in turn where
 * several are. A miss that finds no free register waits for the oldest one outstanding, of its warp
 * or of the SM; hence the plateau up to 6 loads of one warp and the steps at 7, 13, 19 that N14's
 * figure 9 shows for Fermi, and 5 loads a warp for 11 warps, 4 for 13, 3 for 17.
 *
 * PB_NO_MEMORY.
 */
enum pb_status pb_sim_mshr_fly(const struct pb_sim_mshr_spec *mshr, uint32_t warps, size_t count,
                               const struct pb_sim_request *requests, double issue_cycles,
                               double *finish_cycles_out, struct pb_error *err);

#endif
