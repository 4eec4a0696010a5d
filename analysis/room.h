/* Memory for one piece of work, in many arrays that are given back together. */
#ifndef PB_ANALYSIS_ROOM_H
#define PB_ANALYSIS_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct pb_room_part;

/* All zero: empty. */
struct pb_room {
    struct pb_room_part *parts, *left; /* in use; left over, to be used again */
    bool is_out;                       /* some array could not be had */
};

/* An array of zeros; NULL where memory is out. */
void *pb_room_array(struct pb_room *room, size_t count, size_t size);

/* The same of what its user writes before it reads it: nothing is set to zero. */
void *pb_room_scratch(struct pb_room *room, size_t count, size_t size);

/* The array that a pointer is to point to, of so many of what it points to. */
#define PB_ROOM_ARRAY(room, pointer, count)                                                        \
    ((pointer) = pb_room_array((room), (count), sizeof(*(pointer))))
#define PB_ROOM_SCRATCH(room, pointer, count)                                                      \
    ((pointer) = pb_room_scratch((room), (count), sizeof(*(pointer))))

/* PB_NO_MEMORY where any array could not be had: none is to be used then. */
enum pb_status pb_room_status(const struct pb_room *room, struct pb_error *err);

/* Gives all arrays back to the room: those of the next piece of work may take their memory. */
void pb_room_reuse(struct pb_room *room);

/* Gives all arrays back, and what is left over. */
void pb_room_clear(struct pb_room *room);

#endif
