/* Room in lists that grow by one item at a time. */
#ifndef PB_ANALYSIS_VERDICT_ROOM_H
#define PB_ANALYSIS_VERDICT_ROOM_H

#include <stddef.h>

/*
 * The list, with room for one item behind its `count`: as it is, or twice as long.
 *
 * NULL: no memory; the list and its capacity are as they were.
 */
void *pb_with_room(void *items, size_t count, size_t *capacity_inout, size_t item_size);

#endif
