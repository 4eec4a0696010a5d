/* Byte queues of accesses; see queue.h. */
#include "analysis/kernel/queue.h"

#include <stdlib.h>
#include <string.h>

/*
 * An access: instruction, lane mask, bytes, base less the last base, then 0 and a stride where the
 * addresses of the lanes are affine in their rank, else 1 and the differences of neighbours.
 */
enum { RECORD_MAX = 5 + 5 + 5 + 10 + 1 + PB_LANES_MAX * 10 };

struct output {
    unsigned char bytes[RECORD_MAX];
    size_t count;
};

static void put_number(struct output *output, uint64_t number)
{
    while (number >= 0x80) {
        output->bytes[output->count++] = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    output->bytes[output->count++] = (unsigned char)number;
}

/* Differences wrap around; small ones of either sign become small numbers. */
static void put_difference(struct output *output, uint64_t difference)
{
    put_number(output, (difference << 1) ^ (difference >> 63 ? UINT64_MAX : 0));
}

static uint64_t undo_difference(uint64_t number)
{
    return (number >> 1) ^ (number & 1 ? UINT64_MAX : 0);
}

static size_t count_lanes(uint32_t mask)
{
    return (size_t)__builtin_popcount(mask);
}

static bool is_affine(const struct pb_access *access, size_t lanes)
{
    uint64_t stride = lanes > 1 ? access->address[1] - access->address[0] : 0;

    for (size_t i = 2; i < lanes; i++)
        if (access->address[i] - access->address[i - 1] != stride)
            return false;
    return true;
}

static void encode(const struct pb_access *access, uint64_t last, struct output *output)
{
    size_t lanes = count_lanes(access->lane_mask);
    bool affine = is_affine(access, lanes);

    put_number(output, access->instruction);
    put_number(output, access->lane_mask);
    put_number(output, access->bytes);
    put_difference(output, access->address[0] - last);
    put_number(output, affine ? 0 : 1);
    if (affine)
        put_difference(output, lanes > 1 ? access->address[1] - access->address[0] : 0);
    for (size_t i = 1; i < lanes && !affine; i++)
        put_difference(output, access->address[i] - access->address[i - 1]);
}

/* ---- chunks ---- */

static enum pb_status add_chunk(struct pb_queue_pool *pool, struct pb_queue *queue,
                                struct pb_error *err)
{
    struct pb_queue_chunk *chunk = pool->spare;

    if (chunk != NULL)
        pool->spare = chunk->next;
    else if (pool->bytes + sizeof(*chunk) > PB_QUEUE_BYTES_MAX)
        return pb_fail(err, PB_INVALID,
                       "expected an end, found more than %llu GiB of accesses that wait for others",
                       (unsigned long long)(PB_QUEUE_BYTES_MAX >> 30));
    else
        chunk = malloc(sizeof(*chunk));
    if (chunk == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for accesses that wait");
    pool->bytes += sizeof(*chunk);
    if (pool->bytes > pool->bytes_max)
        pool->bytes_max = pool->bytes;
    chunk->next = NULL;
    if (queue->tail == NULL)
        queue->head = chunk;
    else
        queue->tail->next = chunk;
    queue->tail = chunk;
    queue->written = 0;
    return PB_OK;
}

static void drop_head(struct pb_queue_pool *pool, struct pb_queue *queue)
{
    struct pb_queue_chunk *head = queue->head;

    queue->head = head->next;
    if (queue->head == NULL)
        queue->tail = NULL;
    head->next = pool->spare;
    pool->spare = head;
    pool->bytes -= sizeof(*head);
}

enum pb_status pb_queue_put(struct pb_queue_pool *pool, struct pb_queue *queue,
                            const struct pb_access *access, struct pb_error *err)
{
    struct output output = {.count = 0};
    size_t done = 0;

    encode(access, queue->last_put, &output);
    while (done < output.count) {
        size_t count = output.count - done;

        if (queue->tail == NULL || queue->written == PB_QUEUE_CHUNK) {
            enum pb_status status = add_chunk(pool, queue, err);

            if (status != PB_OK)
                return status;
        }
        if (count > PB_QUEUE_CHUNK - queue->written)
            count = PB_QUEUE_CHUNK - queue->written;
        memcpy(queue->tail->bytes + queue->written, output.bytes + done, count);
        queue->written += (uint32_t)count;
        done += count;
    }
    queue->last_put = access->address[0];
    queue->count++;
    return PB_OK;
}

/* ---- reading ---- */

static uint64_t get_number(struct pb_queue_cursor *cursor)
{
    uint64_t number = 0;

    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte;

        if (cursor->read == PB_QUEUE_CHUNK) {
            cursor->chunk = cursor->chunk->next;
            cursor->read = 0;
        }
        byte = cursor->chunk->bytes[cursor->read++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
}

void pb_queue_begin(const struct pb_queue *queue, struct pb_queue_cursor *cursor_out)
{
    *cursor_out = (struct pb_queue_cursor){
        .chunk = queue->head,
        .read = queue->read,
        .last = queue->last_got,
        .left = queue->count,
    };
}

bool pb_queue_read(struct pb_queue_cursor *cursor, struct pb_access *access_out)
{
    uint64_t stride = 0;
    size_t lanes;
    bool affine;

    if (cursor->left == 0)
        return false;
    cursor->left--;
    access_out->instruction = (uint32_t)get_number(cursor);
    access_out->lane_mask = (uint32_t)get_number(cursor);
    access_out->bytes = (uint32_t)get_number(cursor);
    access_out->address[0] = cursor->last + undo_difference(get_number(cursor));
    cursor->last = access_out->address[0];
    lanes = count_lanes(access_out->lane_mask);
    affine = get_number(cursor) == 0;
    if (affine)
        stride = undo_difference(get_number(cursor));
    for (size_t i = 1; i < lanes; i++)
        access_out->address[i] =
            access_out->address[i - 1] + (affine ? stride : undo_difference(get_number(cursor)));
    return true;
}

bool pb_queue_take(struct pb_queue_pool *pool, struct pb_queue *queue, struct pb_access *access_out)
{
    struct pb_queue_cursor cursor;

    pb_queue_begin(queue, &cursor);
    if (!pb_queue_read(&cursor, access_out))
        return false;
    while (queue->head != cursor.chunk)
        drop_head(pool, queue);
    queue->read = cursor.read;
    queue->last_got = cursor.last;
    if (--queue->count == 0)
        pb_queue_clear(pool, queue);
    return true;
}

void pb_queue_clear(struct pb_queue_pool *pool, struct pb_queue *queue)
{
    while (queue->head != NULL)
        drop_head(pool, queue);
    memset(queue, 0, sizeof(*queue));
}

void pb_queue_pool_clear(struct pb_queue_pool *pool)
{
    while (pool->spare != NULL) {
        struct pb_queue_chunk *chunk = pool->spare;

        pool->spare = chunk->next;
        free(chunk);
    }
    memset(pool, 0, sizeof(*pool));
}
