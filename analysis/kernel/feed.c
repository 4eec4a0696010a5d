/* Accesses of single warps; see feed.h. */
#include "analysis/kernel/feed.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernel/queue.h"

enum { BUCKET_COUNT = 4096 };

struct block {
    struct block *next_of_bucket;
    struct block *next_new; /* behind it in its stream, not handed out */
    uint64_t number;
    uint32_t ended; /* bit i: nothing more comes of warp i */
    struct pb_queue warps[];
};

struct stream {
    struct block *first_new, *last_new;
    bool has_ended;
};

struct pb_feed {
    const struct pb_trace *trace;
    const struct pb_kernel *kernel;
    struct pb_queue_pool pool;
    struct stream *streams; /* [kernel->stream_count] */
    struct block *buckets[BUCKET_COUNT];
};

enum pb_status pb_feed_create(const struct pb_trace *trace, struct pb_feed **feed_out,
                              struct pb_error *err)
{
    struct pb_feed *feed = calloc(1, sizeof(*feed));

    if (feed != NULL) {
        feed->trace = trace;
        feed->kernel = trace->ops->kernel(trace->state);
        feed->streams = calloc(feed->kernel->stream_count, sizeof(*feed->streams));
    }
    if (feed == NULL || feed->streams == NULL) {
        free(feed);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the blocks of a trace");
    }
    *feed_out = feed;
    return PB_OK;
}

static struct block **bucket_of(struct pb_feed *feed, uint64_t number)
{
    return &feed->buckets[number % BUCKET_COUNT];
}

static struct block *find_block(struct pb_feed *feed, uint64_t number)
{
    struct block *block = *bucket_of(feed, number);

    while (block != NULL && block->number != number)
        block = block->next_of_bucket;
    return block;
}

static struct block *add_block(struct pb_feed *feed, struct stream *stream, uint64_t number)
{
    struct block *block =
        calloc(1, sizeof(*block) + feed->kernel->warp_count * sizeof(block->warps[0]));
    struct block **bucket = bucket_of(feed, number);

    if (block == NULL)
        return NULL;
    block->number = number;
    if (feed->trace->ops->idle_warps != NULL)
        block->ended = feed->trace->ops->idle_warps(feed->trace->state, number);
    block->next_of_bucket = *bucket;
    *bucket = block;
    if (stream->last_new == NULL)
        stream->first_new = block;
    else
        stream->last_new->next_new = block;
    stream->last_new = block;
    return block;
}

void pb_feed_drop(struct pb_feed *feed, uint64_t number)
{
    struct block **at = bucket_of(feed, number);

    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next_of_bucket;
    if (*at != NULL) {
        struct block *block = *at;

        *at = block->next_of_bucket;
        for (uint32_t i = 0; i < feed->kernel->warp_count; i++)
            pb_queue_clear(&feed->pool, &block->warps[i]);
        free(block);
    }
}

void pb_feed_destroy(struct pb_feed *feed)
{
    if (feed == NULL)
        return;
    for (size_t i = 0; i < BUCKET_COUNT; i++)
        while (feed->buckets[i] != NULL)
            pb_feed_drop(feed, feed->buckets[i]->number);
    pb_queue_pool_clear(&feed->pool);
    free(feed->streams);
    free(feed);
}

/* Reads one event of a stream and keeps what it brings. */
static enum pb_status pull(struct pb_feed *feed, uint32_t number, struct pb_error *err)
{
    struct stream *stream = &feed->streams[number];
    struct pb_trace_event event;
    struct block *block;
    enum pb_status status = feed->trace->ops->next(feed->trace->state, number, &event, err);

    if (status != PB_OK)
        return status;
    if (event.kind == PB_EVENT_STREAM_END) {
        stream->has_ended = true;
        return PB_OK;
    }
    block = find_block(feed, event.block);
    if (block == NULL && event.kind != PB_EVENT_ACCESS)
        return PB_OK; /* the end of one that was dropped, or never did anything */
    if (block == NULL)
        block = add_block(feed, stream, event.block);
    if (block == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the blocks of a trace");
    if (event.kind == PB_EVENT_ACCESS)
        return pb_queue_put(&feed->pool, &block->warps[event.warp], &event.access, err);
    block->ended |= event.kind == PB_EVENT_WARP_END ? UINT32_C(1) << event.warp : UINT32_MAX;
    return PB_OK;
}

enum pb_status pb_feed_block(struct pb_feed *feed, uint32_t number, uint64_t *block_out,
                             bool *found_out, struct pb_error *err)
{
    struct stream *stream = &feed->streams[number];
    enum pb_status status = PB_OK;

    while (status == PB_OK && stream->first_new == NULL && !stream->has_ended)
        status = pull(feed, number, err);
    *found_out = status == PB_OK && stream->first_new != NULL;
    if (*found_out) {
        *block_out = stream->first_new->number;
        stream->first_new = stream->first_new->next_new;
        if (stream->first_new == NULL)
            stream->last_new = NULL;
    }
    return status;
}

enum pb_status pb_feed_access(struct pb_feed *feed, uint32_t number, uint64_t block_number,
                              uint32_t warp, struct pb_access *access_out, bool *found_out,
                              struct pb_error *err)
{
    struct stream *stream = &feed->streams[number];
    struct block *block = find_block(feed, block_number);

    while (!stream->has_ended &&
           (block == NULL || (block->warps[warp].count == 0 && !(block->ended >> warp & 1)))) {
        enum pb_status status = pull(feed, number, err);

        if (status != PB_OK)
            return status;
        block = find_block(feed, block_number);
    }
    *found_out = block != NULL && pb_queue_take(&feed->pool, &block->warps[warp], access_out);
    return PB_OK;
}

uint64_t pb_feed_bytes_max(const struct pb_feed *feed)
{
    return feed->pool.bytes_max;
}
