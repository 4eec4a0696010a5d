/*
 * The traces of N14's tracer: "blocksize: X Y Z", then a line for each access of a thread:
 *   thread 0|1 address bytes        (0: load, 1: store; all decimal, threads counted over the grid)
 *
 * Lines are in program order within a thread only. The accesses of a warp's lanes that come at the
 * same place make one access of the warp, as N14 has it; lanes that do something else there follow.
 * A thread's accesses may lie anywhere in the file, so that all of them are kept, packed. Threads
 * without any cost no memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel/line_map.h"
#include "analysis/kernel/queue.h"
#include "analysis/kernel/text_trace.h"

enum { THREADS_MAX = 1 << 24, BYTES_MAX = 128, INSTRUCTION_COUNT = PB_KIND_STORE + 1 };

struct lane {
    struct pb_queue_cursor cursor;
    struct pb_access next; /* of this thread alone */
    bool has_next;
};

struct n14_trace {
    struct pb_kernel kernel;
    struct pb_instruction instructions[INSTRUCTION_COUNT];
    const struct pb_instruction *instruction_list;
    size_t instruction_count;
    struct pb_queue_pool pool;
    struct pb_line_map places; /* of a thread's queue among those below */
    struct pb_queue *threads;
    size_t thread_capacity;
    uint64_t thread_count; /* with those that have no queue */
    uint32_t block_threads;
    bool has_started; /* the kernel was handed out */
    uint64_t block;   /* at which the stream is */
    uint32_t warp;
    bool is_in_warp;
    struct lane lanes[PB_LANES_MAX];
};

/* ---- reading the file ---- */

static enum pb_status read_block(struct n14_trace *trace, struct pb_text *text, char *line,
                                 struct pb_error *err)
{
    char copy[64] = "";
    char *rest = line;
    uint64_t size;
    bool good = true;

    snprintf(copy, sizeof(copy), "%s", line);
    pb_word_next(&rest); /* "blocksize:" */
    for (size_t i = 0; i < 3; i++) {
        good = good && pb_word_number(pb_word_next(&rest), 10, 1024, &size);
        trace->kernel.block[i] = good ? (uint32_t)size : 0;
        trace->kernel.grid[i] = 1;
    }
    if (!good || pb_word_next(&rest) != NULL || !pb_kernel_count(&trace->kernel))
        return pb_text_refuse(text, copy, err,
                              "\"blocksize: X Y Z\" with 1 to 1024 threads in all");
    trace->block_threads = trace->kernel.block[0] * trace->kernel.block[1] * trace->kernel.block[2];
    return PB_OK;
}

/* The queue of a thread; NULL: no memory. */
static struct pb_queue *make_thread(struct n14_trace *trace, uint64_t thread)
{
    size_t count = trace->places.count, capacity = count < 512 ? 1024 : 2 * count;
    uint64_t *place = pb_line_map_at(&trace->places, thread);
    struct pb_queue *threads;

    if (place == NULL)
        return NULL;
    if (trace->places.count > count)
        *place = count;
    if (*place >= trace->thread_capacity) {
        threads = realloc(trace->threads, capacity * sizeof(*threads));
        if (threads == NULL)
            return NULL;
        memset(threads + trace->thread_capacity, 0,
               (capacity - trace->thread_capacity) * sizeof(*threads));
        trace->threads = threads;
        trace->thread_capacity = capacity;
    }
    if (thread >= trace->thread_count)
        trace->thread_count = thread + 1;
    return &trace->threads[*place];
}

static enum pb_status read_access(struct n14_trace *trace, struct pb_text *text, char *line,
                                  struct pb_error *err)
{
    struct pb_access access = {.lane_mask = 1};
    uint64_t thread = 0;
    uint64_t kind = 0;
    uint64_t bytes = 0;
    char copy[64] = "";
    char *rest = line;
    struct pb_queue *queue;
    enum pb_status status;

    snprintf(copy, sizeof(copy), "%s", line);
    if (!pb_word_number(pb_word_next(&rest), 10, THREADS_MAX - 1, &thread) ||
        !pb_word_number(pb_word_next(&rest), 10, PB_KIND_STORE, &kind) ||
        !pb_word_number(pb_word_next(&rest), 10, UINT64_MAX - BYTES_MAX, &access.address[0]) ||
        !pb_word_number(pb_word_next(&rest), 10, BYTES_MAX, &bytes) || bytes == 0 ||
        pb_word_next(&rest) != NULL)
        return pb_text_refuse(text, copy, err,
                              "\"thread 0|1 address bytes\" with a thread below %d and 1 to %d "
                              "bytes",
                              THREADS_MAX, BYTES_MAX);
    access.instruction = (uint32_t)kind;
    access.bytes = (uint32_t)bytes;
    queue = make_thread(trace, thread);
    status = queue == NULL
                 ? pb_fail(err, PB_NO_MEMORY, "out of memory for %zu threads", trace->places.count)
                 : pb_queue_put(&trace->pool, queue, &access, err);
    if (status != PB_OK)
        pb_error_prefix(err, "%s:%llu", pb_text_path(text),
                        (unsigned long long)pb_text_number(text));
    return status;
}

static void set_grid(struct n14_trace *trace)
{
    trace->kernel.grid[0] =
        (uint32_t)((trace->thread_count + trace->block_threads - 1) / trace->block_threads);
    pb_kernel_count(&trace->kernel);
}

static void set_kernel(struct n14_trace *trace, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct pb_kernel *kernel = &trace->kernel;

    PB_TEXT_SET(kernel->name, slash == NULL ? path : slash + 1);
    kernel->shared_bytes = kernel->carveout_bytes = -1;
    kernel->stream_count = 1;
    for (size_t i = 0; i < INSTRUCTION_COUNT; i++)
        trace->instructions[i].kind = (enum pb_access_kind)i;
    trace->instruction_list = trace->instructions;
    trace->instruction_count = INSTRUCTION_COUNT;
    kernel->instructions = &trace->instruction_list;
    kernel->instruction_count = &trace->instruction_count;
}

static enum pb_status read_file(struct n14_trace *trace, struct pb_text *text, struct pb_error *err)
{
    char *line = NULL;
    enum pb_status status = pb_text_line(text, &line, err);

    if (status == PB_OK)
        status = read_block(trace, text, line, err);
    while (status == PB_OK) {
        status = pb_text_line(text, &line, err);
        if (status != PB_OK || line == NULL)
            break;
        if (line[strspn(line, " \t")] != '\0')
            status = read_access(trace, text, line, err);
    }
    if (status == PB_OK && trace->thread_count == 0)
        status = pb_text_refuse(text, NULL, err, "\"thread 0|1 address bytes\"");
    if (status == PB_OK)
        set_grid(trace);
    return status;
}

/* ---- handing out ---- */

static enum pb_status restart(void *state, struct pb_error *err)
{
    struct n14_trace *trace = state;

    (void)err;
    trace->block = 0;
    trace->warp = 0;
    trace->is_in_warp = false;
    return PB_OK;
}

static enum pb_status next_kernel(void *state, bool *found_out, struct pb_error *err)
{
    struct n14_trace *trace = state;

    *found_out = !trace->has_started;
    trace->has_started = true;
    return restart(state, err);
}

static const struct pb_kernel *get_kernel(const void *state)
{
    return &((const struct n14_trace *)state)->kernel;
}

static void advance(struct lane *lane)
{
    lane->has_next = pb_queue_read(&lane->cursor, &lane->next);
}

static void begin_warp(struct n14_trace *trace)
{
    for (uint32_t i = 0; i < PB_LANES_MAX; i++) {
        uint32_t in_block = trace->warp * PB_LANES_MAX + i;
        uint64_t thread = trace->block * trace->block_threads + in_block;
        struct lane *lane = &trace->lanes[i];
        const uint64_t *place = NULL;

        if (in_block < trace->block_threads)
            place = pb_line_map_find(&trace->places, thread);
        lane->has_next = false;
        if (place == NULL)
            continue;
        pb_queue_begin(&trace->threads[*place], &lane->cursor);
        advance(lane);
    }
    trace->is_in_warp = true;
}

/* What the first lane that has an access left does, and all that do the same. */
static bool take_access(struct n14_trace *trace, struct pb_access *access)
{
    size_t lanes = 0;

    access->lane_mask = 0;
    for (uint32_t i = 0; i < PB_LANES_MAX; i++) {
        struct lane *lane = &trace->lanes[i];

        if (!lane->has_next || (lanes > 0 && (lane->next.instruction != access->instruction ||
                                              lane->next.bytes != access->bytes)))
            continue;
        access->instruction = lane->next.instruction;
        access->bytes = lane->next.bytes;
        access->lane_mask |= UINT32_C(1) << i;
        access->address[lanes++] = lane->next.address[0];
        advance(lane);
    }
    return lanes > 0;
}

static enum pb_status next_event(void *state, uint32_t stream, struct pb_trace_event *event,
                                 struct pb_error *err)
{
    struct n14_trace *trace = state;

    (void)stream;
    (void)err;
    if (trace->block >= trace->kernel.block_count) {
        event->kind = PB_EVENT_STREAM_END;
        return PB_OK;
    }
    event->block = trace->block;
    event->warp = trace->warp;
    if (trace->warp == trace->kernel.warp_count) {
        event->kind = PB_EVENT_BLOCK_END;
        trace->block++;
        trace->warp = 0;
        return PB_OK;
    }
    if (!trace->is_in_warp)
        begin_warp(trace);
    if (take_access(trace, &event->access)) {
        event->kind = PB_EVENT_ACCESS;
        return PB_OK;
    }
    event->kind = PB_EVENT_WARP_END;
    trace->is_in_warp = false;
    trace->warp++;
    return PB_OK;
}

static void close_trace(void *state)
{
    struct n14_trace *trace = state;

    for (size_t i = 0; i < trace->thread_capacity; i++)
        pb_queue_clear(&trace->pool, &trace->threads[i]);
    pb_queue_pool_clear(&trace->pool);
    pb_line_map_clear(&trace->places);
    free(trace->threads);
    free(trace);
}

enum pb_status pb_n14_open(struct pb_text *text, struct pb_trace *trace_out, struct pb_error *err)
{
    static const struct pb_trace_ops ops = {
        .format = "N14",
        .next_kernel = next_kernel,
        .restart = restart,
        .kernel = get_kernel,
        .next = next_event,
        .close = close_trace,
    };
    struct n14_trace *trace = calloc(1, sizeof(*trace));
    enum pb_status status;

    if (trace == NULL) {
        pb_text_close(text);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for a trace");
    }
    set_kernel(trace, pb_text_path(text));
    status = read_file(trace, text, err);
    pb_text_close(text);
    if (status != PB_OK) {
        close_trace(trace);
        return status;
    }
    *trace_out = (struct pb_trace){&ops, trace};
    return PB_OK;
}
