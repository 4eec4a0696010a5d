/* Arrays that are given back together; see room.h. */
#include "analysis/room.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pb_room_part {
    struct pb_room_part *next;
    size_t bytes_held;
    _Alignas(max_align_t) unsigned char bytes[];
};

/* A part that is left over from an earlier piece of work, or NULL. */
static struct pb_room_part *take_left(struct pb_room *room, size_t bytes)
{
    for (struct pb_room_part **at = &room->left; *at != NULL; at = &(*at)->next) {
        struct pb_room_part *part = *at;

        if (part->bytes_held < bytes)
            continue;
        *at = part->next;
        return part;
    }
    return NULL;
}

static void *add_part(struct pb_room *room, size_t count, size_t size, bool is_scratch)
{
    struct pb_room_part *part = NULL;

    if (count <= (SIZE_MAX - sizeof(*part)) / size) {
        size_t bytes = count * size;

        part = take_left(room, bytes);
        if (part != NULL && !is_scratch) {
            memset(part->bytes, 0, bytes);
        } else if (part == NULL) {
            part = is_scratch ? malloc(sizeof(*part) + bytes) : calloc(1, sizeof(*part) + bytes);
            if (part != NULL)
                part->bytes_held = bytes;
        }
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

/* The first one first: the next piece of work most likely asks for the same ones in turn. */
void pb_room_reuse(struct pb_room *room)
{
    while (room->parts != NULL) {
        struct pb_room_part *part = room->parts;

        room->parts = part->next;
        part->next = room->left;
        room->left = part;
    }
    room->is_out = false;
}

void pb_room_clear(struct pb_room *room)
{
    pb_room_reuse(room);
    while (room->left != NULL) {
        struct pb_room_part *part = room->left;

        room->left = part->next;
        free(part);
    }
}
