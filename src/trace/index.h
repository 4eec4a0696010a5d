/*
 * What a stream holds, without the accesses themselves: where each launch's chunks lie in the file.
 * Memory in proportion to the number of frames, not to their content.
 */
#ifndef PB_TRACE_INDEX_H
#define PB_TRACE_INDEX_H

#include "trace/stream.h"

struct pb_index_module {
    struct pb_stream_module row;
    struct pb_stream_frame frame; /* the row, then the cubin */
};

struct pb_index_chunk {
    struct pb_stream_frame frame; /* the row, then the words */
    uint32_t sm, traced;
};

struct pb_index_launch {
    struct pb_stream_launch row;
    struct pb_stream_launch_end end;
    bool has_end;
    struct pb_index_chunk *chunks;
    size_t chunk_count, chunk_capacity;
};

/* An allocation or a free. */
struct pb_index_event {
    struct pb_stream_allocation row;
    bool is_free;
};

struct pb_index {
    struct pb_stream_context *contexts;
    struct pb_index_event *events;
    struct pb_index_module *modules;
    struct pb_stream_function *functions;
    struct pb_index_launch *launches;
    char (*skipped)[PB_STREAM_TEXT_LENGTH];
    size_t context_count, event_count, module_count, function_count, launch_count, skipped_count;
    size_t context_capacity, event_capacity, module_capacity, function_capacity, launch_capacity,
        skipped_capacity;
    char damage[PB_ERROR_LENGTH]; /* where the stream ends before its time; empty: it does not */
};

/*
 * Reads a stream to its end, or to where it is torn. PB_CORRUPT: a frame that is whole says what
 * cannot be. pb_index_clear() it.
 */
enum pb_status pb_index_read(struct pb_stream_reader *reader, struct pb_index *index_out,
                             struct pb_error *err);
void pb_index_clear(struct pb_index *index);

#endif
