/*
 * Where SMs and lines of the last cache stand: GPCs, the two sides of L2, its slices.
 *
 * SM numbers are dealt as hardware deals them: pairs (TPCs) go to the GPCs in turn, as long as a
 * GPC has room. A line's home is one side; an SM of the other side that loads it gets a copy in its
 * own half (facts 2.10), so that only atomics and first loads show the distance. Every pair of GPC
 * and slice has a distance of its own within slice_spread_cycles around the profile's latency; that
 * is in maps alone. What gpc_cycles adds to a GPC's way out is in whatever its SMs load.
 */
#ifndef PB_DEVICE_SIM_SIDES_H
#define PB_DEVICE_SIM_SIDES_H

#include <stdint.h>

#include "device/sim/profile.h"

/* The GPC of an SM; 0 where the profile has no sides. */
uint32_t pb_sim_sides_gpc(const struct pb_sim_profile *profile, uint32_t sm);

/* The GPC of each SM, gpc_out[sm_count]; all 0 where the profile has no sides. */
void pb_sim_sides_deal(const struct pb_sim_profile *profile, uint32_t *gpc_out);

/* The TPC of each SM, tpc_out[sm_count], by its GPC: the last one of a GPC may be smaller. */
void pb_sim_sides_deal_tpcs(const struct pb_sim_profile *profile, const uint32_t *gpc,
                            uint32_t *tpc_out);

/* The side of a GPC, and the side that is home to an address: 0 or 1. */
uint32_t pb_sim_sides_of_gpc(const struct pb_sim_sides_spec *sides, uint32_t gpc);
uint32_t pb_sim_sides_of_line(const struct pb_sim_sides_spec *sides, uint64_t address);

/* What the way from a GPC to the slice of this line adds to the latency; may be negative. */
double pb_sim_sides_distance(const struct pb_sim_sides_spec *sides, uint32_t gpc, uint64_t line);

#endif
