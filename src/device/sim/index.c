/* The three kinds of index; see index.h, and cache.h for what "dealt" means. */
#include "device/sim/index.h"

#include <stdlib.h>
#include <string.h>

static uint32_t xor_set(const struct pb_sim_shape *shape, uint64_t address)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < shape->mask_count; i++)
        set |= (uint32_t)__builtin_parityll(address & shape->masks[i]) << i;
    return set;
}

static void tabulate_xor(struct pb_sim_index_map *map, const struct pb_sim_shape *shape)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < shape->mask_count; i++)
        used |= shape->masks[i];
    if (used != 0) {
        map->first_byte = (unsigned)__builtin_ctzll(used) / 8;
        map->end_byte = PB_SIM_ADDRESS_BYTES - (unsigned)__builtin_clzll(used) / 8;
    }
    for (unsigned byte = 0; byte < PB_SIM_ADDRESS_BYTES; byte++)
        for (uint64_t value = 0; value < 256; value++)
            map->of_byte[byte][value] = xor_set(shape, value << (8 * byte));
}

uint64_t pb_sim_shape_bytes(const struct pb_sim_shape *shape)
{
    uint64_t lines = 0;

    for (uint32_t set = 0; set < shape->set_count; set++)
        lines += shape->ways[set];
    return lines * shape->line_bytes;
}

static enum pb_status deal(struct pb_sim_index_map *map, const struct pb_sim_shape *shape,
                           struct pb_error *err)
{
    uint64_t dealt = 0;

    map->deal_count = pb_sim_shape_bytes(shape) / shape->line_bytes;
    map->deal = malloc(map->deal_count * sizeof(*map->deal));
    if (map->deal == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating an index of %llu entries",
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
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating an index");
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
