/* See room.h. */
#include "analysis/verdict/room.h"

#include <stdlib.h>

enum { CAPACITY_LEAST = 16 };

void *pb_with_room(void *items, size_t count, size_t *capacity_inout, size_t item_size)
{
    size_t capacity = *capacity_inout == 0 ? CAPACITY_LEAST : 2 * *capacity_inout;
    void *grown;

    if (count < *capacity_inout)
        return items;
    grown = realloc(items, capacity * item_size);
    if (grown != NULL)
        *capacity_inout = capacity;
    return grown;
}
