/* From an address to a set: the three kinds of index, prepared so that each costs a few cycles. */
#ifndef PB_DEVICE_SIM_INDEX_H
#define PB_DEVICE_SIM_INDEX_H

#include <stdint.h>

#include "device/sim/profile.h"

enum { PB_SIM_ADDRESS_BYTES = 8 };

/* index.c fills it; here only so that a look-up, which every load does several of, is no call. */
struct pb_sim_index_map {
    enum pb_sim_index kind;
    unsigned line_shift;
    uint32_t set_count;
    uint32_t set_mask; /* of a power of two above 1; else 0 */
    /* xor is linear over GF(2): the set is the XOR of one entry for each byte of the address */
    uint32_t of_byte[PB_SIM_ADDRESS_BYTES][256];
    unsigned first_byte, end_byte; /* those that any mask has bits in */
    uint32_t *deal; /* [deal_count] the set that each of deal_count consecutive lines goes to */
    uint64_t deal_count;
};

/* The shape must outlive the map. PB_NO_MEMORY. */
enum pb_status pb_sim_index_create(const struct pb_sim_shape *shape,
                                   struct pb_sim_index_map **map_out, struct pb_error *err);
void pb_sim_index_free(struct pb_sim_index_map *map); /* NULL is allowed */

static inline uint32_t pb_sim_index_set(const struct pb_sim_index_map *map, uint64_t address)
{
    uint64_t line = address >> map->line_shift;
    uint32_t set = 0;

    if (map->kind == PB_SIM_INDEX_MODULO) /* a mask is much faster than a division */
        return map->set_mask != 0 ? (uint32_t)line & map->set_mask
                                  : (uint32_t)(line % map->set_count);
    if (map->kind == PB_SIM_INDEX_DEALT)
        return map->deal[line % map->deal_count];
    for (unsigned byte = map->first_byte; byte < map->end_byte; byte++)
        set ^= map->of_byte[byte][(address >> (8 * byte)) & 0xff];
    return set;
}

#endif
