/*
 * Frames on their way to rank 0. Rank 0 takes them when it can; a rank does not wait for that,
 * since its probe would wait as well, and with it the device.
 *
 * Limit: what is being sent moves only in these calls; pb_outbox_step() is to be called again and
 * again until pb_outbox_is_empty().
 */
#ifndef PB_RUN_GATHER_OUTBOX_H
#define PB_RUN_GATHER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

struct pb_outgoing; /* a frame */

/* Start from all zero. */
struct pb_outbox {
    struct pb_outgoing *first, *last; /* the first is being sent */
    size_t size;                      /* bytes of all */
};

/* How much may wait here; a standard battery is a tenth of it. */
enum { PB_OUTBOX_BYTES_MAX = 64 << 20 };

/* Sends a copy of bytes[size] to rank 0; waits where there is no room for it. */
void pb_outbox_send(struct pb_outbox *outbox, int tag, const void *bytes, size_t size);

/* Frees what has arrived. */
void pb_outbox_step(struct pb_outbox *outbox);

bool pb_outbox_is_empty(const struct pb_outbox *outbox);

#endif
