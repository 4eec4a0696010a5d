/* Trace files of plumb-trace for the cache model; see model_trace.h. */
#include "cli/model_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5schema/memtrace.h"

enum { BULK_MAX = 1 << 20 }; /* bytes that one instruction copies at most: 65,535 blocks of 16 */

/* What one traced SM did. */
struct stream {
    uint64_t first, count;
    struct pb_memtrace_cursor *cursor; /* NULL: not begun */
    /* An event to come before the next record: the end of this warp. */
    bool has_end;
    uint64_t ended_block;
    uint32_t ended_warp;
};

struct h5_trace {
    char *path;
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_context *contexts; /* [context_count] */
    size_t context_count;
    size_t next_number; /* of the kernel that comes next */
    struct pb_memtrace_launch launch;
    struct pb_kernel kernel;
    struct pb_instruction *instructions;
    const struct pb_instruction *instruction_list;
    size_t instruction_count;
    struct pb_allocation *allocations;
    struct stream *streams;
    double *starts_ns; /* [stream_count] */
    uint32_t *sms;     /* [stream_count] */
    uint32_t *counts;  /* [block_count * warp_count] records of each warp */
    uint32_t *left;    /* the same, still to come */
    bool *recorded;    /* [instruction_count] it has records */
};

/* ---- tables ---- */

static enum pb_access_kind kind_of(const struct pb_memtrace_instruction *row)
{
    static const struct {
        const char *operation;
        enum pb_access_kind kind;
    } kinds[] = {
        {"store", PB_KIND_STORE},       {"bulk_store", PB_KIND_STORE},
        {"atomic", PB_KIND_ATOMIC},     {"reduction", PB_KIND_ATOMIC},
        {"prefetch", PB_KIND_PREFETCH}, {"bulk_reduction", PB_KIND_ATOMIC},
        {"empty_l1", PB_KIND_EMPTY_L1},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(row->operation, kinds[i].operation) == 0)
            return kinds[i].kind;
    return PB_KIND_LOAD;
}

/* How much its opcode has L2 fetch (docs/tracing.md). */
static uint32_t fetch_bytes_of(const struct pb_memtrace_instruction *row)
{
    const char *hint = strstr(row->opcode, ".LTC");

    return hint == NULL ? 0 : (uint32_t)strtoul(hint + 4, NULL, 10);
}

/* By the cache operator (docs/tracing.md), with or without "nc." before it. */
static enum pb_residence residence_of(const struct pb_memtrace_instruction *row)
{
    static const struct {
        const char *word;
        enum pb_residence residence;
    } words[] = {
        {"cs", PB_RESIDENCE_FIRST},
        {"evict_last", PB_RESIDENCE_LAST},
        {"no_allocate", PB_RESIDENCE_NONE},
        {"lu", PB_RESIDENCE_TAKEN},
    };
    const char *word = row->cache_operator;

    if (strncmp(word, "nc.", 3) == 0)
        word += 3;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].residence;
    return PB_RESIDENCE_ORDINARY;
}

static enum pb_status read_instructions(struct h5_trace *trace, struct pb_error *err)
{
    size_t count = trace->launch.instruction_count;

    trace->instructions = calloc(count + 1, sizeof(*trace->instructions));
    if (trace->instructions == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %zu instructions", trace->path,
                       count);
    for (size_t i = 0; i < count; i++) {
        const struct pb_memtrace_instruction *row = &trace->launch.instructions[i];
        struct pb_instruction *instruction = &trace->instructions[i];

        instruction->program_counter = row->pc;
        instruction->line = row->line;
        instruction->wait_counter = row->wait_pc;
        instruction->kind = kind_of(row);
        instruction->space = strcmp(row->memory, "local") == 0 ? PB_SPACE_LOCAL : PB_SPACE_GLOBAL;
        instruction->way = strcmp(row->operation, "async_copy") == 0  ? PB_WAY_ASYNC
                           : strncmp(row->operation, "bulk_", 5) == 0 ? PB_WAY_BULK
                                                                      : PB_WAY_REGISTERS;
        instruction->fetch_bytes = fetch_bytes_of(row);
        instruction->bypasses_l1 = row->bypasses_l1 != 0;
        instruction->residence = residence_of(row);
        PB_TEXT_SET(instruction->opcode, row->opcode);
        PB_TEXT_SET(instruction->file, row->file);
    }
    trace->instruction_list = trace->instructions;
    trace->instruction_count = count;
    return PB_OK;
}

static int compare_allocations(const void *a, const void *b)
{
    uint64_t left = ((const struct pb_allocation *)a)->address;
    uint64_t right = ((const struct pb_allocation *)b)->address;

    return (left > right) - (left < right);
}

/* Those of the kernel's context that are there when it starts. */
static enum pb_status read_allocations(struct h5_trace *trace, struct pb_error *err)
{
    struct pb_memtrace_allocation *rows = NULL;
    size_t count = 0;
    size_t kept = 0;
    uint64_t event = trace->launch.kernel.event;
    enum pb_status status = pb_memtrace_allocations(trace->reader, &rows, &count, err);

    if (status == PB_OK) {
        trace->allocations = calloc(count + 1, sizeof(*trace->allocations));
        if (trace->allocations == NULL)
            status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %zu allocations",
                             trace->path, count);
    }
    for (size_t i = 0; status == PB_OK && i < count; i++) {
        struct pb_allocation *allocation = &trace->allocations[kept];

        if (rows[i].context != trace->launch.kernel.context || rows[i].allocated_event >= event ||
            (rows[i].freed_event >= 0 && (uint64_t)rows[i].freed_event < event))
            continue;
        *allocation = (struct pb_allocation){.address = rows[i].address, .bytes = rows[i].bytes};
        snprintf(allocation->name, sizeof(allocation->name), "%.20s %zu", rows[i].kind, i);
        kept++;
    }
    free(rows);
    if (kept > 1)
        qsort(trace->allocations, kept, sizeof(*trace->allocations), compare_allocations);
    trace->kernel.allocations = trace->allocations;
    trace->kernel.allocation_count = kept;
    return status;
}

/* When the first block of that SM began, after the first of all. */
static double find_start(const struct pb_memtrace_launch *launch, uint32_t sm)
{
    uint64_t first = UINT64_MAX;
    uint64_t own = UINT64_MAX;

    for (size_t i = 0; i < launch->cta_count; i++) {
        uint64_t begin = launch->ctas[i].begin_ns;

        first = begin < first ? begin : first;
        if (launch->ctas[i].sm == sm && begin < own)
            own = begin;
    }
    return own == UINT64_MAX ? 0.0 : (double)(own - first);
}

static enum pb_status read_streams(struct h5_trace *trace, struct pb_error *err)
{
    const struct pb_memtrace_launch *launch = &trace->launch;

    trace->streams = calloc(launch->sm_count + 1, sizeof(*trace->streams));
    if (trace->streams == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %zu SMs", trace->path,
                       launch->sm_count);
    trace->starts_ns = calloc(launch->sm_count + 1, sizeof(*trace->starts_ns));
    trace->sms = calloc(launch->sm_count + 1, sizeof(*trace->sms));
    if (trace->starts_ns == NULL || trace->sms == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %zu SMs", trace->path,
                       launch->sm_count);
    for (size_t i = 0; i < launch->sm_count; i++)
        if (launch->sms[i].traced != 0 && launch->sms[i].count > 0) {
            trace->sms[trace->kernel.stream_count] = launch->sms[i].sm;
            trace->starts_ns[trace->kernel.stream_count] = find_start(launch, launch->sms[i].sm);
            trace->streams[trace->kernel.stream_count++] =
                (struct stream){.first = launch->sms[i].first, .count = launch->sms[i].count};
        }
    trace->kernel.starts_ns = trace->starts_ns;
    trace->kernel.sms = trace->sms;
    return PB_OK;
}

/* An access without a record has a row because the tracer gets none of it, when it is executed. */
static bool is_untraced(const struct h5_trace *trace, size_t i)
{
    const char *operation = trace->launch.instructions[i].operation;

    return !trace->recorded[i] && operation[0] != '\0' && strcmp(operation, "empty_l1") != 0;
}

/* Appends to a text that may be full already. */
static void append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);

    if (length + 1 < size)
        snprintf(text + length, size - length, "%s%s", length > 0 ? "; " : "", more);
}

/* What the code of the kernel does besides, by its instructions. */
static void describe_untraced(struct h5_trace *trace, char *message, size_t size)
{
    char opcodes[PB_MESSAGE_LENGTH / 4] = "", text[PB_MESSAGE_LENGTH];

    for (size_t i = 0; i < trace->launch.instruction_count; i++) {
        const struct pb_memtrace_instruction *row = &trace->launch.instructions[i];

        if (!is_untraced(trace, i))
            continue;
        trace->kernel.untraced++;
        if (strstr(opcodes, row->opcode) == NULL &&
            strlen(opcodes) + strlen(row->opcode) + 2 < sizeof(opcodes))
            snprintf(opcodes + strlen(opcodes), sizeof(opcodes) - strlen(opcodes), "%s%s",
                     opcodes[0] != '\0' ? " " : "", row->opcode);
    }
    if (trace->kernel.untraced > 0) {
        snprintf(text, sizeof(text),
                 "%llu instructions of its code access memory without a record (%s): these rates "
                 "leave out what they find, bring and evict",
                 (unsigned long long)trace->kernel.untraced, opcodes);
        append(message, size, text);
    }
}

/* In what the trace is not whole. */
static void describe_gaps(struct h5_trace *trace)
{
    const struct pb_memtrace_kernel *row = &trace->launch.kernel;
    char *message = trace->kernel.message, text[PB_MESSAGE_LENGTH];
    size_t size = sizeof(trace->kernel.message);

    if (trace->kernel.stream_count < trace->kernel.sm_count) {
        snprintf(text, sizeof(text), "%u of %zu SMs were recorded: L2 saw only their accesses",
                 trace->kernel.stream_count, trace->kernel.sm_count);
        append(message, size, text);
    }
    if (row->complete == 0)
        append(message, size, row->message[0] != '\0' ? row->message : "the trace is not complete");
    if (row->shared_dynamic_bytes < 0)
        append(message, size,
               "the shared memory of its blocks is not known: L1 is as large as without any");
    describe_untraced(trace, message, size);
}

static enum pb_status set_kernel(struct h5_trace *trace, struct pb_error *err)
{
    const struct pb_memtrace_kernel *row = &trace->launch.kernel;
    struct pb_kernel *kernel = &trace->kernel;
    uint64_t threads = (uint64_t)row->block_x * row->block_y * row->block_z;

    *kernel = (struct pb_kernel){
        .grid = {row->grid_x, row->grid_y, row->grid_z},
        .block = {row->block_x, row->block_y, row->block_z},
        .block_count = (uint64_t)row->grid_x * row->grid_y * row->grid_z,
        .warp_count = (uint32_t)((threads + PB_LANES_MAX - 1) / PB_LANES_MAX),
        .registers = row->registers,
        .shared_bytes = -1,
        .carveout_bytes = row->shared_carveout_bytes < 0 ? -1 : row->shared_carveout_bytes,
        .has_program_counters = true,
        .has_schedule = true,
        .sm_count = trace->launch.sm_count,
        .instructions = &trace->instruction_list,
        .instruction_count = &trace->instruction_count,
    };
    if (threads == 0 || threads > 1024 || kernel->block_count == 0 ||
        kernel->block_count > UINT32_MAX)
        return pb_fail(err, PB_INVALID,
                       "%s: /kernels/%zu: expected 1 to 1024 threads of a block and 1 to %u "
                       "blocks, found %llu and %llu",
                       trace->path, trace->next_number, UINT32_MAX, (unsigned long long)threads,
                       (unsigned long long)kernel->block_count);
    PB_TEXT_SET(kernel->name, row->name);
    for (size_t i = 0; i < trace->context_count; i++)
        if (trace->contexts[i].context == row->context)
            PB_TEXT_SET(kernel->device, trace->contexts[i].uuid);
    if (row->shared_static_bytes >= 0 && row->shared_dynamic_bytes >= 0)
        kernel->shared_bytes = row->shared_static_bytes + row->shared_dynamic_bytes;
    return PB_OK;
}

/* ---- records ---- */

static enum pb_status check_record(const struct h5_trace *trace,
                                   const struct pb_memtrace_record *record, struct pb_error *err)
{
    if (record->warp >= trace->kernel.warp_count || record->cta >= trace->kernel.block_count ||
        record->instruction >= trace->instruction_count || record->lane_mask == 0)
        return pb_fail(err, PB_INVALID,
                       "%s: /kernels/%zu/records: expected a warp below %u of a block below %llu, "
                       "found warp %u of block %u",
                       trace->path, trace->next_number - 1, trace->kernel.warp_count,
                       (unsigned long long)trace->kernel.block_count, record->warp, record->cta);
    if ((record->flags & PB_ACCESS_BULK) != 0 && record->size > BULK_MAX)
        return pb_fail(
            err, PB_INVALID,
            "%s: /kernels/%zu/records: expected at most %d bytes of a bulk copy, found %u",
            trace->path, trace->next_number - 1, BULK_MAX, record->size);
    return PB_OK;
}

static size_t warp_index(const struct h5_trace *trace, const struct pb_memtrace_record *record)
{
    return (size_t)record->cta * trace->kernel.warp_count + record->warp;
}

/* How many records each warp has, so that it is known at once when the last one has come. */
static enum pb_status count_stream(struct h5_trace *trace, const struct stream *stream,
                                   struct pb_error *err)
{
    struct pb_memtrace_cursor *cursor = NULL;
    const struct pb_memtrace_record *record = NULL;
    enum pb_status status = pb_memtrace_cursor_open(trace->reader, trace->next_number - 1,
                                                    stream->first, stream->count, 0, &cursor, err);

    while (status == PB_OK) {
        status = pb_memtrace_cursor_next(cursor, &record, NULL, NULL, err);
        if (status != PB_OK || record == NULL)
            break;
        status = check_record(trace, record, err);
        if (status != PB_OK)
            break;
        trace->counts[warp_index(trace, record)]++;
        trace->recorded[record->instruction] = true;
    }
    pb_memtrace_cursor_close(cursor);
    return status;
}

static enum pb_status count_records(struct h5_trace *trace, struct pb_error *err)
{
    size_t warps = trace->kernel.block_count * trace->kernel.warp_count;
    enum pb_status status = PB_OK;

    trace->counts = calloc(warps, sizeof(*trace->counts));
    trace->left = calloc(warps, sizeof(*trace->left));
    trace->recorded = calloc(trace->instruction_count + 1, sizeof(*trace->recorded));
    if (trace->counts == NULL || trace->left == NULL || trace->recorded == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %zu warps", trace->path, warps);
    for (uint32_t i = 0; i < trace->kernel.stream_count && status == PB_OK; i++)
        status = count_stream(trace, &trace->streams[i], err);
    return status;
}

static void copy_access(const struct pb_memtrace_record *record, size_t lanes,
                        const uint64_t *addresses, struct pb_access *access)
{
    access->instruction = record->instruction;
    access->lane_mask = record->lane_mask;
    access->bytes = record->size;
    memcpy(access->address, addresses, lanes * sizeof(*addresses));
}

/* ---- the interface ---- */

static enum pb_status next_event(void *state, uint32_t number, struct pb_trace_event *event,
                                 struct pb_error *err)
{
    struct h5_trace *trace = state;
    struct stream *stream = &trace->streams[number];
    const struct pb_memtrace_record *record = NULL;
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0;
    enum pb_status status = PB_OK;

    if (stream->has_end) {
        stream->has_end = false;
        event->kind = PB_EVENT_WARP_END;
        event->block = stream->ended_block;
        event->warp = stream->ended_warp;
        return PB_OK;
    }
    if (stream->cursor == NULL)
        status = pb_memtrace_cursor_open(trace->reader, trace->next_number - 1, stream->first,
                                         stream->count, 0, &stream->cursor, err);
    if (status == PB_OK)
        status = pb_memtrace_cursor_next(stream->cursor, &record, addresses, &lanes, err);
    if (status != PB_OK)
        return status;
    event->kind = record == NULL ? PB_EVENT_STREAM_END : PB_EVENT_ACCESS;
    if (record == NULL)
        return PB_OK;
    event->block = record->cta;
    event->warp = record->warp;
    copy_access(record, lanes, addresses, &event->access);
    stream->has_end = --trace->left[warp_index(trace, record)] == 0;
    stream->ended_block = event->block;
    stream->ended_warp = event->warp;
    return PB_OK;
}

static enum pb_status restart(void *state, struct pb_error *err)
{
    struct h5_trace *trace = state;
    size_t warps = trace->kernel.block_count * trace->kernel.warp_count;

    (void)err;
    for (uint32_t i = 0; i < trace->kernel.stream_count; i++) {
        pb_memtrace_cursor_close(trace->streams[i].cursor);
        trace->streams[i].cursor = NULL;
        trace->streams[i].has_end = false;
    }
    memcpy(trace->left, trace->counts, warps * sizeof(*trace->left));
    return PB_OK;
}

static void clear_kernel(struct h5_trace *trace)
{
    for (uint32_t i = 0; trace->streams != NULL && i < trace->kernel.stream_count; i++)
        pb_memtrace_cursor_close(trace->streams[i].cursor);
    free(trace->streams);
    free(trace->starts_ns);
    free(trace->sms);
    free(trace->instructions);
    free(trace->allocations);
    free(trace->counts);
    free(trace->left);
    free(trace->recorded);
    trace->recorded = NULL;
    trace->streams = NULL;
    trace->starts_ns = NULL;
    trace->sms = NULL;
    trace->instructions = NULL;
    trace->allocations = NULL;
    trace->counts = trace->left = NULL;
    trace->kernel.stream_count = 0;
    pb_memtrace_launch_clear(&trace->launch);
}

static enum pb_status next_kernel(void *state, bool *found_out, struct pb_error *err)
{
    struct h5_trace *trace = state;
    enum pb_status status;

    *found_out = false;
    clear_kernel(trace);
    if ((int64_t)trace->next_number >= pb_memtrace_program(trace->reader)->kernel_count)
        return PB_OK;
    status = pb_memtrace_read_launch(trace->reader, trace->next_number, &trace->launch, err);
    if (status == PB_OK)
        status = set_kernel(trace, err);
    trace->next_number++;
    if (status == PB_OK)
        status = read_instructions(trace, err);
    if (status == PB_OK)
        status = read_allocations(trace, err);
    if (status == PB_OK)
        status = read_streams(trace, err);
    if (status == PB_OK)
        status = count_records(trace, err);
    if (status != PB_OK)
        return status;
    describe_gaps(trace);
    *found_out = true;
    return restart(trace, err);
}

static const struct pb_kernel *get_kernel(const void *state)
{
    return &((const struct h5_trace *)state)->kernel;
}

static uint32_t find_idle_warps(const void *state, uint64_t block)
{
    const struct h5_trace *trace = state;
    uint32_t idle = 0;

    for (uint32_t i = 0; i < trace->kernel.warp_count; i++)
        if (trace->counts[block * trace->kernel.warp_count + i] == 0)
            idle |= UINT32_C(1) << i;
    return idle;
}

static void close_trace(void *state)
{
    struct h5_trace *trace = state;

    clear_kernel(trace);
    pb_memtrace_close(trace->reader);
    free(trace->contexts);
    free(trace->path);
    free(trace);
}

static enum pb_status open_h5(const char *path, struct pb_trace *trace_out, struct pb_error *err)
{
    static const struct pb_trace_ops ops = {
        .format = "plumb",
        .next_kernel = next_kernel,
        .restart = restart,
        .kernel = get_kernel,
        .idle_warps = find_idle_warps,
        .next = next_event,
        .close = close_trace,
    };
    struct h5_trace *trace = calloc(1, sizeof(*trace));
    enum pb_status status = PB_OK;

    if (trace == NULL || (trace->path = strdup(path)) == NULL) {
        free(trace);
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    }
    status = pb_memtrace_open(path, &trace->reader, err);
    if (status == PB_OK)
        status = pb_memtrace_contexts(trace->reader, &trace->contexts, &trace->context_count, err);
    if (status != PB_OK) {
        close_trace(trace);
        return status;
    }
    *trace_out = (struct pb_trace){&ops, trace};
    return PB_OK;
}

/* By its first bytes. */
static bool is_hdf5(const char *path)
{
    static const unsigned char magic[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char bytes[sizeof(magic)];
    FILE *file = fopen(path, "rbe");
    bool found;

    if (file == NULL)
        return false;
    found = fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes) &&
            memcmp(bytes, magic, sizeof(magic)) == 0;
    fclose(file);
    return found;
}

enum pb_status pb_model_trace_open(const char *path, struct pb_trace *trace_out,
                                   struct pb_error *err)
{
    enum pb_status status = pb_trace_check_file(path, err);

    if (status != PB_OK)
        return status;
    return is_hdf5(path) ? open_h5(path, trace_out, err) : pb_trace_open_text(path, trace_out, err);
}
