/* Lists that grow by one item at a time. */
#ifndef PB_CORE_RESERVE_H
#define PB_CORE_RESERVE_H

#include <stddef.h>

#include "core/error.h"

/*
 * Allocates for one item more than `count`: nothing to do, or twice the capacity. `what` names the
 * items in the message. PB_NO_MEMORY: the list and its capacity are as they were.
 */
#define PB_RESERVE(items, count, capacity, what, err)                                              \
    pb_reserve(&(items), sizeof(*(items)), (count), &(capacity), (what), (err))

/* items_inout: where the pointer to the items is, of whatever type. */
enum pb_status pb_reserve(void *items_inout, size_t item_size, size_t count, size_t *capacity_inout,
                          const char *what, struct pb_error *err);

#endif
