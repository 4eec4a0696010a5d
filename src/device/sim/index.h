/* From an address to a set: the three kinds of index, prepared so that each costs a few cycles. */
#ifndef PB_DEVICE_SIM_INDEX_H
#define PB_DEVICE_SIM_INDEX_H

#include <stdint.h>

#include "device/sim/profile.h"

struct pb_sim_index_map;

/* The shape must outlive the map. PB_NO_MEMORY. */
enum pb_status pb_sim_index_create(const struct pb_sim_shape *shape,
                                   struct pb_sim_index_map **map_out, struct pb_error *err);
void pb_sim_index_free(struct pb_sim_index_map *map); /* NULL is allowed */

uint32_t pb_sim_index_set(const struct pb_sim_index_map *map, uint64_t address);

#endif
