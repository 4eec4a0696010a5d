/* See reserve.h. */
#include "core/reserve.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_LEAST = 16 };

enum pb_status pb_reserve(void *items_inout, size_t item_size, size_t count, size_t *capacity_inout,
                          const char *what, struct pb_error *err)
{
    size_t capacity = *capacity_inout == 0 ? CAPACITY_LEAST : 2 * *capacity_inout;
    void *items;

    if (count < *capacity_inout)
        return PB_OK;
    memcpy(&items, items_inout, sizeof(items));
    items = realloc(items, capacity * item_size);
    if (items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu %s", capacity, what);
    memcpy(items_inout, &items, sizeof(items));
    *capacity_inout = capacity;
    return PB_OK;
}
