/* A map from numbers (of lines or sectors) to numbers that only grows. Zeroed is empty. */
#ifndef PB_ANALYSIS_KERNEL_LINE_MAP_H
#define PB_ANALYSIS_KERNEL_LINE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct pb_line_map {
    struct pb_line_map_entry {
        uint64_t key; /* 1 + ; 0: free */
        uint64_t value;
    } * entries;
    size_t capacity, count;
};

/* Where the key's value stands, 0 when it is new; valid until the next call. NULL: no memory. */
uint64_t *pb_line_map_at(struct pb_line_map *map, uint64_t key);
/* NULL: it was never there. */
const uint64_t *pb_line_map_find(const struct pb_line_map *map, uint64_t key);
void pb_line_map_clear(struct pb_line_map *map);

#endif
