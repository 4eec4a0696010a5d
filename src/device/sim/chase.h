/* What chase.c and chase_check.c share. */
#ifndef PB_DEVICE_SIM_CHASE_H
#define PB_DEVICE_SIM_CHASE_H

#include "device/sim/simulator.h"

/* Bytes from the first slot's base to the end of the farthest. */
uint64_t pb_sim_chase_footprint(const struct pb_chase *chase);

/*
 * PB_INVALID: no such chase anywhere. PB_UNSUPPORTED, PB_NO_MEMORY: not on this device. PB_LOST.
 */
enum pb_status pb_sim_chase_check(const struct pb_sim_device *device, const struct pb_chase *chase,
                                  struct pb_error *err);

#endif
