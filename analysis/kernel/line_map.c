/* Open addressing with linear probing; see line_map.h. */
#include "analysis/kernel/line_map.h"

#include <stdlib.h>

static size_t find_slot(const struct pb_line_map_entry *entries, size_t capacity, uint64_t key)
{
    size_t slot = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);

    while (entries[slot].key != 0 && entries[slot].key != key)
        slot = (slot + 1) & (capacity - 1);
    return slot;
}

static int grow(struct pb_line_map *map)
{
    size_t capacity = map->capacity == 0 ? 256 : 2 * map->capacity;
    struct pb_line_map_entry *entries = calloc(capacity, sizeof(*entries));

    if (entries == NULL)
        return -1;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key != 0)
            entries[find_slot(entries, capacity, map->entries[i].key)] = map->entries[i];
    free(map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return 0;
}

uint64_t *pb_line_map_at(struct pb_line_map *map, uint64_t key)
{
    struct pb_line_map_entry *entry;

    if (2 * map->count >= map->capacity && grow(map) != 0)
        return NULL;
    entry = &map->entries[find_slot(map->entries, map->capacity, key + 1)];
    if (entry->key == 0) {
        entry->key = key + 1;
        map->count++;
    }
    return &entry->value;
}

const uint64_t *pb_line_map_find(const struct pb_line_map *map, uint64_t key)
{
    const struct pb_line_map_entry *entry;

    if (map->capacity == 0)
        return NULL;
    entry = &map->entries[find_slot(map->entries, map->capacity, key + 1)];
    return entry->key == 0 ? NULL : &entry->value;
}

void pb_line_map_clear(struct pb_line_map *map)
{
    free(map->entries);
    *map = (struct pb_line_map){0};
}
