/*
 * Byte queues that hold accesses compactly until their turn comes: many short ones, in chunks of
 * one pool. Numbers are stored in as few bytes as they need.
 */
#ifndef PB_ANALYSIS_KERNEL_QUEUE_H
#define PB_ANALYSIS_KERNEL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/kernel/trace.h"
#include "core/error.h"

enum { PB_QUEUE_CHUNK = 120 };

struct pb_queue_chunk {
    struct pb_queue_chunk *next;
    unsigned char bytes[PB_QUEUE_CHUNK];
};

struct pb_queue_pool {
    struct pb_queue_chunk *spare;
    uint64_t bytes, bytes_max; /* in use now, and at most */
};

/* Zeroed is empty. */
struct pb_queue {
    struct pb_queue_chunk *head, *tail;
    uint32_t read, written;      /* in head, in tail */
    uint64_t last_put, last_got; /* base addresses: neighbours are stored as differences */
    uint64_t count;              /* accesses in it */
};

/* What a reader that removes nothing keeps; pb_queue_begin() sets it. */
struct pb_queue_cursor {
    const struct pb_queue_chunk *chunk;
    uint32_t read;
    uint64_t last, left;
};

/* A pool holds this many bytes at most; more is PB_INVALID, since such a trace has no end. */
#define PB_QUEUE_BYTES_MAX (UINT64_C(8) << 30)

enum pb_status pb_queue_put(struct pb_queue_pool *pool, struct pb_queue *queue,
                            const struct pb_access *access, struct pb_error *err);

/* Takes the first access out; false: there is none. */
bool pb_queue_take(struct pb_queue_pool *pool, struct pb_queue *queue,
                   struct pb_access *access_out);

/* Reads without removing. */
void pb_queue_begin(const struct pb_queue *queue, struct pb_queue_cursor *cursor_out);
bool pb_queue_read(struct pb_queue_cursor *cursor, struct pb_access *access_out);

/* Empties a queue; frees a pool, all of whose queues are gone. */
void pb_queue_clear(struct pb_queue_pool *pool, struct pb_queue *queue);
void pb_queue_pool_clear(struct pb_queue_pool *pool);

#endif
