/*
 * Loads in flight (N14 4.4 and 5.2): how long independent loads take when the registers that hold
 * pending misses are limited per warp and per SM.
 */
#ifndef PB_DEVICE_SIM_MSHR_H
#define PB_DEVICE_SIM_MSHR_H

#include <stdint.h>

#include "device/sim/profile.h"

/*
 * Cycles from the first issue to the last answer when each of `warps` warps (>= 1) issues `loads`
 * independent misses (>= 1) of `latency_cycles` each, the warps taking turns, one issue every
 * `issue_cycles`. A load that finds no free register waits for the oldest one in flight; hence the
 * plateau up to 6 loads of one warp and the steps at 7, 13, 19 that N14's figure 9 shows for Fermi.
 */
double pb_sim_mshr_cycles(const struct pb_sim_mshr_spec *mshr, uint32_t warps, uint32_t loads,
                          double latency_cycles, double issue_cycles);

#endif
