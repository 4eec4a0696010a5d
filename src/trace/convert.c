/*
 * From streams to a trace file; see convert.h. A launch's chunks are read SM by SM, each once, so
 * that records come out grouped by SM while memory stays that of one batch.
 */
#include "trace/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/reserve.h"
#include "trace/decode.h"
#include "trace/index.h"
#include "trace/instructions.h"
#include "trace/words.h"

enum { BATCH_RECORDS = 16384 };

/* One launch on its way into the file. */
struct launch {
    struct pb_memtrace_writer *writer;
    struct pb_stream_reader *reader;
    const struct pb_index_launch *in;
    struct pb_instruction_table instructions;
    struct pb_memtrace_record *records; /* [BATCH_RECORDS] */
    int64_t *offsets;                   /* [BATCH_RECORDS * 31] */
    size_t record_count, offset_count;
    uint64_t written; /* records of the launch so far, those of the batch included */
    struct pb_memtrace_cta *ctas;
    size_t cta_count, cta_capacity, sm_first_cta;
    struct pb_memtrace_sm *sms;
    size_t sm_count;
    uint64_t sequence; /* the last one of this SM: low words are extended from it */
    uint32_t sm;
    uint32_t *words; /* of the chunk at hand */
    size_t word_capacity;
    bool gives_space_back;
    enum pb_status status;
    struct pb_error *err;
};

static enum pb_status flush(struct launch *launch)
{
    enum pb_status status =
        pb_memtrace_append(launch->writer, launch->records, launch->record_count, launch->offsets,
                           launch->offset_count, launch->err);

    launch->record_count = launch->offset_count = 0;
    return status;
}

/* Sequences of an SM are nearly in order: the nearest value with these low bits is the one. */
static uint64_t extend_sequence(struct launch *launch, uint32_t low)
{
    launch->sequence += (uint64_t)(int64_t)(int32_t)(low - (uint32_t)launch->sequence);
    return launch->sequence;
}

static uint32_t flags_of(const struct pb_warp_access *access,
                         const struct pb_memtrace_instruction *instruction)
{
    bool is_atomic =
        strcmp(instruction->operation, "atomic") == 0 ||
        strcmp(instruction->operation, "reduction") == 0 ||
        (access->flags & (PB_ACCESS_READ | PB_ACCESS_WRITE)) == (PB_ACCESS_READ | PB_ACCESS_WRITE);

    return access->flags | (is_atomic ? PB_ACCESS_ATOMIC : 0);
}

static bool take_access(void *context, const struct pb_warp_access *access)
{
    struct launch *launch = context;
    struct pb_memtrace_record *record;
    uint32_t instruction = 0;

    if (launch->record_count == BATCH_RECORDS)
        launch->status = flush(launch);
    if (launch->status == PB_OK)
        launch->status =
            pb_instructions_find(&launch->instructions, access->pc, &instruction, launch->err);
    if (launch->status != PB_OK)
        return false;
    record = &launch->records[launch->record_count++];
    *record = (struct pb_memtrace_record){
        .sequence = extend_sequence(launch, access->sequence),
        .base = access->base,
        .stride = access->stride,
        .first_offset = access->offset_count == 0 ? 0 : launch->offset_count,
        .instruction = instruction,
        .lane_mask = access->lane_mask,
        .cta = access->cta,
        .warp = access->warp,
        .size = access->size,
        .flags = flags_of(access, &launch->instructions.rows[instruction])};
    for (size_t k = 0; k < access->offset_count; k++)
        launch->offsets[launch->offset_count++] = access->offsets[k];
    launch->written++;
    return true;
}

static void begin_cta(struct launch *launch, const struct pb_cta_event *event)
{
    launch->status =
        PB_RESERVE(launch->ctas, launch->cta_count, launch->cta_capacity, "CTAs", launch->err);
    if (launch->status != PB_OK)
        return;
    launch->ctas[launch->cta_count++] =
        (struct pb_memtrace_cta){.cta = event->cta,
                                 .sm = launch->sm,
                                 .sequence = extend_sequence(launch, event->sequence),
                                 .begin_ns = event->ns};
}

static bool take_cta(void *context, const struct pb_cta_event *event)
{
    struct launch *launch = context;

    if (!event->is_end) {
        begin_cta(launch, event);
        return launch->status == PB_OK;
    }
    extend_sequence(launch, event->sequence);
    /* It is among the last that began on this SM. */
    for (size_t i = launch->cta_count; i > launch->sm_first_cta; i--) {
        struct pb_memtrace_cta *cta = &launch->ctas[i - 1];

        if (cta->cta != event->cta)
            continue;
        if (cta->end_ns < event->ns)
            cta->end_ns = event->ns;
        break;
    }
    return true;
}

/* The words of a chunk lie in a buffer of their own, since the reader's is used for cubins too. */
static enum pb_status load_words(struct launch *launch, const struct pb_index_chunk *chunk,
                                 size_t *count_out)
{
    size_t head = sizeof(struct pb_stream_chunk);
    size_t count = ((size_t)chunk->frame.size - head) / sizeof(uint32_t);
    enum pb_status status = pb_stream_read_again(launch->reader, &chunk->frame, launch->err);

    if (status != PB_OK)
        return status;
    if (count > launch->word_capacity) {
        uint32_t *larger = realloc(launch->words, count * sizeof(*larger));

        if (larger == NULL)
            return pb_fail(launch->err, PB_NO_MEMORY, "out of memory allocating %zu words", count);
        launch->words = larger;
        launch->word_capacity = count;
    }
    if (count > 0)
        memcpy(launch->words, launch->reader->bytes + head, count * sizeof(uint32_t));
    *count_out = count;
    return PB_OK;
}

static enum pb_status convert_chunk(struct launch *launch, const struct pb_index_chunk *chunk)
{
    struct pb_decode_visitor visitor = {launch, take_access, take_cta};
    size_t count = 0, taken;
    enum pb_status status = load_words(launch, chunk, &count);

    if (status != PB_OK)
        return status;
    taken = pb_decode(launch->words, count, &visitor);
    if (launch->status == PB_OK && taken < count)
        launch->status =
            pb_fail(launch->err, PB_CORRUPT, "%s: byte %llu: word %zu of a chunk is no record",
                    launch->reader->path, (unsigned long long)chunk->frame.offset, taken);
    if (launch->gives_space_back)
        pb_stream_release(launch->reader, &chunk->frame);
    return launch->status;
}

/* All chunks of one SM; `first` is the first of them. */
static enum pb_status convert_sm(struct launch *launch, size_t first)
{
    const struct pb_index_chunk *chunks = launch->in->chunks;
    struct pb_memtrace_sm *row = &launch->sms[launch->sm_count++];
    enum pb_status status = PB_OK;

    launch->sm = chunks[first].sm;
    launch->sm_first_cta = launch->cta_count;
    launch->sequence = 0;
    *row = (struct pb_memtrace_sm){
        .sm = launch->sm, .traced = chunks[first].traced, .first = launch->written};
    for (size_t i = first; i < launch->in->chunk_count && status == PB_OK; i++)
        if (chunks[i].sm == launch->sm)
            status = convert_chunk(launch, &chunks[i]);
    row->count = launch->written - row->first;
    row->ctas = launch->cta_count - launch->sm_first_cta;
    row->lost_records = launch->in->has_end && launch->in->end.lost_records == 0 ? 0 : -1;
    return status;
}

static bool has_sm(const struct launch *launch, uint32_t sm)
{
    for (size_t i = 0; i < launch->sm_count; i++)
        if (launch->sms[i].sm == sm)
            return true;
    return false;
}

static enum pb_status convert_sms(struct launch *launch)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < launch->in->chunk_count && status == PB_OK; i++) {
        struct pb_memtrace_sm *larger;

        if (has_sm(launch, launch->in->chunks[i].sm))
            continue;
        larger = realloc(launch->sms, (launch->sm_count + 1) * sizeof(*larger));
        if (larger == NULL)
            return pb_fail(launch->err, PB_NO_MEMORY, "out of memory allocating %zu SMs",
                           launch->sm_count + 1);
        launch->sms = larger;
        status = convert_sm(launch, i);
    }
    return status == PB_OK ? flush(launch) : status;
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t left = ((const struct pb_memtrace_cta *)a)->sequence;
    uint64_t right = ((const struct pb_memtrace_cta *)b)->sequence;

    return (left > right) - (left < right);
}

/* What is missing of a launch. */
static void judge(const struct launch *launch, struct pb_memtrace_kernel *kernel)
{
    uint64_t grid = (uint64_t)kernel->grid_x * kernel->grid_y * kernel->grid_z;
    char text[PB_MESSAGE_LENGTH] = "";

    if (!launch->in->has_end)
        snprintf(text, sizeof(text), "the program ended before the kernel's end was recorded");
    else if (launch->in->end.failed != 0)
        snprintf(text, sizeof(text), "%s", launch->in->end.message);
    else if (kernel->lost_records != 0)
        snprintf(text, sizeof(text), "%lld records were lost", (long long)kernel->lost_records);
    else if (launch->cta_count != grid)
        snprintf(text, sizeof(text), "the start of %llu of %llu CTAs was not recorded",
                 (unsigned long long)(grid - launch->cta_count), (unsigned long long)grid);
    PB_TEXT_SET(kernel->message, text);
    kernel->complete = text[0] == '\0';
}

/* As in the trace file: bytes, -1 for what is not known, -2 where the program prefers nothing. */
static int64_t carveout_of(const struct launch *launch)
{
    const struct pb_stream_context *context =
        &launch->instructions.index->contexts[launch->in->row.context];
    int32_t percent = launch->in->row.carveout_percent;
    uint64_t most = context->shared_per_sm;

    if (percent == -1)
        return -2;
    if (percent < 0 || percent > 100 || most == 0 || most > UINT32_MAX)
        return -1;
    return (int64_t)((most * (uint64_t)percent + 99) / 100);
}

static void describe_kernel(struct launch *launch, uint32_t first_context,
                            struct pb_memtrace_kernel *kernel)
{
    const struct pb_stream_launch *row = &launch->in->row;
    const struct pb_stream_launch_end *end = &launch->in->end;

    *kernel = (struct pb_memtrace_kernel){
        .context = first_context + row->context,
        .module = row->module,
        .launch = row->launch,
        .event = row->event,
        .stream = row->stream,
        .grid_x = row->grid[0],
        .grid_y = row->grid[1],
        .grid_z = row->grid[2],
        .block_x = row->block[0],
        .block_y = row->block[1],
        .block_z = row->block[2],
        .cluster_x = row->cluster[0],
        .cluster_y = row->cluster[1],
        .cluster_z = row->cluster[2],
        .shared_dynamic_bytes = row->shared_dynamic_bytes,
        .shared_carveout_bytes = carveout_of(launch),
        .lost_records = launch->in->has_end && end->failed == 0 ? (int64_t)end->lost_records : -1,
        .seconds = end->seconds,
    };
    for (size_t i = 0; i < launch->sm_count; i++)
        kernel->sms_traced += launch->sms[i].traced != 0;
    PB_TEXT_SET(kernel->name, row->name);
    pb_instructions_resources(&launch->instructions, row->module, row->name, &kernel->registers,
                              &kernel->shared_static_bytes);
    judge(launch, kernel);
}

static uint64_t raw_bytes_of(const struct launch *launch)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < launch->in->chunk_count; i++)
        bytes += launch->in->chunks[i].frame.size;
    return bytes;
}

static void count_kernel(const struct launch *launch, const struct pb_memtrace_kernel *kernel,
                         struct pb_trace_summary *summary)
{
    summary->kernels++;
    summary->records += launch->written;
    summary->raw_bytes += raw_bytes_of(launch);
    if (kernel->lost_records < 0 || summary->lost_records < 0)
        summary->lost_records = -1;
    else
        summary->lost_records += kernel->lost_records;
    if (kernel->complete == 1)
        return;
    if (summary->is_complete)
        snprintf(summary->message, sizeof(summary->message), "%s: %s", kernel->name,
                 kernel->message);
    summary->is_complete = false;
}

static enum pb_status convert_launch(struct launch *launch, uint32_t first_context,
                                     struct pb_trace_summary *summary)
{
    struct pb_memtrace_kernel kernel;
    struct pb_memtrace_kernel_tables tables;
    uint64_t words =
        raw_bytes_of(launch) / sizeof(uint32_t); /* a record or an offset has one or more */
    enum pb_status status = pb_memtrace_begin_kernel(launch->writer, words, launch->err);

    launch->record_count = launch->offset_count = 0;
    if (status == PB_OK)
        status = convert_sms(launch);
    if (status != PB_OK)
        return status;
    if (launch->cta_count > 0)
        qsort(launch->ctas, launch->cta_count, sizeof(*launch->ctas), by_sequence);
    describe_kernel(launch, first_context, &kernel);
    tables = (struct pb_memtrace_kernel_tables){
        launch->ctas,     launch->cta_count,         launch->sms,
        launch->sm_count, launch->instructions.rows, launch->instructions.count};
    count_kernel(launch, &kernel, summary);
    return pb_memtrace_end_kernel(launch->writer, &kernel, &tables, launch->err);
}

/* Everything of one process. */
struct process {
    struct pb_stream_reader reader;
    struct pb_index index;
    uint32_t first_context; /* number of its first context in the file */
};

static enum pb_status convert_launches(struct process *process, struct pb_memtrace_writer *writer,
                                       struct pb_trace_summary *summary, struct pb_error *err)
{
    struct pb_memtrace_record *records = calloc(BATCH_RECORDS, sizeof(*records));
    int64_t *offsets = calloc((size_t)BATCH_RECORDS * 31, sizeof(*offsets));
    enum pb_status status = PB_OK;

    if (records == NULL || offsets == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d records", BATCH_RECORDS);
    for (size_t i = 0; i < process->index.launch_count && status == PB_OK; i++) {
        struct launch launch = {.writer = writer,
                                .reader = &process->reader,
                                .in = &process->index.launches[i],
                                .records = records,
                                .offsets = offsets,
                                .gives_space_back = process->reader.header.write_errno != 0,
                                .err = err};

        pb_instructions_begin(&launch.instructions, &process->index, &process->reader,
                              launch.in->row.context);
        status = convert_launch(&launch, process->first_context, summary);
        pb_instructions_clear(&launch.instructions);
        free(launch.ctas);
        free(launch.sms);
        free(launch.words);
    }
    free(records);
    free(offsets);
    return status;
}

/* ---- tables of the root ---- */

static enum pb_status write_contexts(const struct process *processes, size_t count,
                                     struct pb_memtrace_writer *writer, struct pb_error *err)
{
    struct pb_memtrace_context *rows;
    enum pb_status status;
    size_t all = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        all += processes[i].index.context_count;
    rows = calloc(all + 1, sizeof(*rows));
    if (rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu contexts", all);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < processes[i].index.context_count; k++, at++) {
            const struct pb_stream_context *in = &processes[i].index.contexts[k];

            rows[at] = (struct pb_memtrace_context){.context = (uint32_t)at,
                                                    .pid = processes[i].reader.header.pid,
                                                    .device = in->device,
                                                    .compute_capability = in->compute_capability,
                                                    .sm_count = in->sm_count};
            PB_TEXT_SET(rows[at].model, in->model);
            PB_TEXT_SET(rows[at].uuid, in->uuid);
        }
    }
    status = pb_memtrace_write_contexts(writer, rows, all, err);
    free(rows);
    return status;
}

static int by_address(const void *a, const void *b)
{
    const struct pb_stream_allocation *left = &((const struct pb_index_event *)a)->row;
    const struct pb_stream_allocation *right = &((const struct pb_index_event *)b)->row;

    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->event > right->event) - (left->event < right->event);
}

static int by_event(const void *a, const void *b)
{
    uint64_t left = ((const struct pb_memtrace_allocation *)a)->allocated_event;
    uint64_t right = ((const struct pb_memtrace_allocation *)b)->allocated_event;

    return (left > right) - (left < right);
}

/* The allocations of one process; what follows one at its address frees it. Sorts the events. */
static size_t pair_events(struct process *process, struct pb_memtrace_allocation *rows)
{
    struct pb_index_event *events = process->index.events;
    size_t count = process->index.event_count, used = 0;

    if (count > 0)
        qsort(events, count, sizeof(*events), by_address);
    for (size_t i = 0; i < count; i++) {
        const struct pb_stream_allocation *in = &events[i].row;
        bool is_freed =
            i + 1 < count && events[i + 1].row.address == in->address && events[i + 1].is_free;

        if (events[i].is_free)
            continue;
        rows[used] = (struct pb_memtrace_allocation){
            .context = process->first_context + in->context,
            .address = in->address,
            .bytes = in->bytes,
            .allocated_event = in->event,
            .freed_event = is_freed ? (int64_t)events[i + 1].row.event : -1};
        PB_TEXT_SET(rows[used].kind, in->kind);
        used++;
    }
    if (used > 0)
        qsort(rows, used, sizeof(*rows), by_event);
    return used;
}

static enum pb_status write_allocations(struct process *processes, size_t count,
                                        struct pb_memtrace_writer *writer, struct pb_error *err)
{
    struct pb_memtrace_allocation *rows;
    enum pb_status status;
    size_t all = 0, used = 0;

    for (size_t i = 0; i < count; i++)
        all += processes[i].index.event_count;
    rows = calloc(all + 1, sizeof(*rows));
    if (rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu allocations", all);
    for (size_t i = 0; i < count; i++)
        used += pair_events(&processes[i], rows + used);
    status = pb_memtrace_write_allocations(writer, rows, used, err);
    free(rows);
    return status;
}

/* ---- all together ---- */

static void note_skipped(const struct pb_index *index, struct pb_trace_summary *summary)
{
    size_t used = strlen(summary->skipped);

    for (size_t i = 0; i < index->skipped_count && used < sizeof(summary->skipped); i++)
        used += (size_t)snprintf(summary->skipped + used, sizeof(summary->skipped) - used, "%s%s",
                                 used == 0 ? "" : ", ", index->skipped[i]);
    if (used >= sizeof(summary->skipped))
        memcpy(summary->skipped + sizeof(summary->skipped) - 4, "...", 4);
}

/* Counts what a process says of itself; its first message counts. */
static void note_process(const struct process *process, struct pb_trace_summary *summary)
{
    const struct pb_stream_header *header = &process->reader.header;
    const char *message = header->message[0] != '\0' ? header->message : process->index.damage;

    summary->contexts += process->index.context_count;
    summary->launches += header->launches;
    summary->graph_launches += header->untraced_graph_launches;
    note_skipped(&process->index, summary);
    if (header->write_errno != 0 && summary->is_complete) {
        snprintf(summary->message, sizeof(summary->message),
                 "records could not be written: %s (%llu were lost)", strerror(header->write_errno),
                 (unsigned long long)header->lost_records);
        summary->is_complete = false;
    }
    if (message[0] != '\0' && summary->is_complete) {
        PB_TEXT_SET(summary->message, message);
        summary->is_complete = false;
    }
}

static enum pb_status write_file(struct process *processes, size_t count, const char *path,
                                 const struct pb_memtrace_program *program,
                                 struct pb_trace_summary *summary, struct pb_error *err)
{
    struct pb_memtrace_program root = *program;
    struct pb_memtrace_writer *writer = NULL;
    enum pb_status status = pb_memtrace_create(path, &writer, err);

    if (status != PB_OK)
        return status;
    status = write_contexts(processes, count, writer, err);
    if (status == PB_OK)
        status = write_allocations(processes, count, writer, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = convert_launches(&processes[i], writer, summary, err);
    if (status != PB_OK) {
        pb_memtrace_abandon(writer);
        return status;
    }
    root.lost_records = summary->lost_records;
    root.complete = summary->is_complete;
    PB_TEXT_SET(root.message, summary->message);
    return pb_memtrace_commit(writer, &root, err);
}

static void clear_processes(struct process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pb_stream_reader_clear(&processes[i].reader);
        pb_index_clear(&processes[i].index);
    }
    free(processes);
}

enum pb_status pb_trace_convert(const char *const *streams, size_t count, const char *path,
                                const struct pb_memtrace_program *program,
                                struct pb_trace_summary *summary_out, struct pb_error *err)
{
    struct process *processes = calloc(count + 1, sizeof(*processes));
    struct pb_trace_summary summary = {.is_complete = true};
    enum pb_status status = PB_OK;
    size_t launches = 0, opened = 0;

    if (processes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu streams", count);
    while (opened < count && status == PB_OK) {
        struct process *process = &processes[opened];

        status = pb_stream_open(streams[opened], &process->reader, err);
        if (status != PB_OK)
            break;
        opened++;
        status = pb_index_read(&process->reader, &process->index, err);
        process->first_context = (uint32_t)summary.contexts;
        launches += process->index.launch_count;
        note_process(process, &summary);
    }
    if (status == PB_OK && launches == 0)
        status = pb_fail(err, PB_NOT_FOUND, "no launch was recorded");
    else if (status == PB_OK)
        status = write_file(processes, count, path, program, &summary, err);
    clear_processes(processes, opened);
    *summary_out = summary;
    return status;
}
