/* Arrays that are given back together; see room.h. */
#include "analysis/room.h"

#include <stdint.h>
#include <stdlib.h>

struct pb_room_part {
    struct pb_room_part *next;
    _Alignas(max_align_t) unsigned char bytes[];
};

static void *add_part(struct pb_room *room, size_t count, size_t size, bool is_scratch)
{
    struct pb_room_part *part = NULL;

    if (count <= (SIZE_MAX - sizeof(*part)) / size) {
        size_t bytes = sizeof(*part) + count * size;

        part = is_scratch ? malloc(bytes) : calloc(1, bytes);
    }
    if (part == NULL) {
        room->is_out = true;
        return NULL;
    }
    part->next = room->parts;
    room->parts = part;
    return part->bytes;
}

void *pb_room_array(struct pb_room *room, size_t count, size_t size)
{
    return add_part(room, count, size, false);
}

void *pb_room_scratch(struct pb_room *room, size_t count, size_t size)
{
    return add_part(room, count, size, true);
}

enum pb_status pb_room_status(const struct pb_room *room, struct pb_error *err)
{
    return room->is_out ? pb_fail(err, PB_NO_MEMORY, "out of memory") : PB_OK;
}

void pb_room_clear(struct pb_room *room)
{
    while (room->parts != NULL) {
        struct pb_room_part *part = room->parts;

        room->parts = part->next;
        free(part);
    }
    room->is_out = false;
}
