/* The three kinds of index; see index.h, and cache.h for what "dealt" means. */
#include "device/sim/index.h"

#include <stdlib.h>
#include <string.h>

enum { ADDRESS_BYTES = 8 };

struct pb_sim_index_map {
    enum pb_sim_index kind;
    unsigned line_shift;
    uint32_t set_count;
    uint32_t set_mask; /* of a power of two above 1; else 0 */
    /* xor is linear over GF(2): the set is the XOR of one entry for each byte of the address */
    uint32_t of_byte[ADDRESS_BYTES][256];
    uint32_t *deal; /* [deal_count] the set that each of deal_count consecutive lines goes to */
    uint64_t deal_count;
};

static uint32_t xor_set(const struct pb_sim_shape *shape, uint64_t address)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < shape->mask_count; i++)
        set |= (uint32_t)__builtin_parityll(address & shape->masks[i]) << i;
    return set;
}

static void tabulate_xor(struct pb_sim_index_map *map, const struct pb_sim_shape *shape)
{
    for (unsigned byte = 0; byte < ADDRESS_BYTES; byte++)
        for (uint64_t value = 0; value < 256; value++)
            map->of_byte[byte][value] = xor_set(shape, value << (8 * byte));
}

static enum pb_status deal(struct pb_sim_index_map *map, const struct pb_sim_shape *shape,
                           struct pb_error *err)
{
    uint64_t dealt = 0;

    map->deal_count = pb_sim_shape_bytes(shape) / shape->line_bytes;
    map->deal = malloc(map->deal_count * sizeof(*map->deal));
    if (map->deal == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for an index of %llu entries",
                       (unsigned long long)map->deal_count);
    for (uint32_t round = 0; dealt < map->deal_count; round++)
        for (uint32_t set = 0; set < shape->set_count; set++)
            if (round < shape->ways[set])
                map->deal[dealt++] = set;
    return PB_OK;
}

enum pb_status pb_sim_index_create(const struct pb_sim_shape *shape,
                                   struct pb_sim_index_map **map_out, struct pb_error *err)
{
    struct pb_sim_index_map *map = calloc(1, sizeof(*map));
    enum pb_status status = PB_OK;

    if (map == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for an index");
    map->kind = shape->index;
    map->line_shift = (unsigned)__builtin_ctzll(shape->line_bytes);
    map->set_count = shape->set_count;
    map->set_mask = (shape->set_count & (shape->set_count - 1)) == 0 ? shape->set_count - 1 : 0;
    if (shape->index == PB_SIM_INDEX_XOR)
        tabulate_xor(map, shape);
    if (shape->index == PB_SIM_INDEX_DEALT)
        status = deal(map, shape, err);
    if (status != PB_OK) {
        pb_sim_index_free(map);
        return status;
    }
    *map_out = map;
    return PB_OK;
}

void pb_sim_index_free(struct pb_sim_index_map *map)
{
    if (map == NULL)
        return;
    free(map->deal);
    free(map);
}

uint32_t pb_sim_index_set(const struct pb_sim_index_map *map, uint64_t address)
{
    uint64_t line = address >> map->line_shift;
    uint32_t set = 0;

    switch (map->kind) {
    case PB_SIM_INDEX_MODULO: /* a mask is much faster than a division */
        return map->set_mask != 0 ? (uint32_t)line & map->set_mask
                                  : (uint32_t)(line % map->set_count);
    case PB_SIM_INDEX_DEALT:
        return map->deal[line % map->deal_count];
    case PB_SIM_INDEX_XOR:
        for (unsigned byte = 0; byte < ADDRESS_BYTES; byte++)
            set ^= map->of_byte[byte][(address >> (8 * byte)) & 0xff];
        break;
    }
    return set;
}
