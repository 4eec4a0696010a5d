/*
 * Fuzz target over traces of kernels: the texts of N14 and Accel-Sim, and plumb's own file. Each is
 * read as plumb-model does, up to a number of events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/kernel/trace.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "fuzz/library.h"
#include "h5schema/memtrace.h"

enum { KERNELS_MAX = 4, EVENTS_MAX = 4000, TEXT_SEEDS = 2, SEEDS = TEXT_SEEDS + 1 };

static void read_kernel(struct pb_trace *trace)
{
    const struct pb_kernel *kernel = trace->ops->kernel(trace->state);
    size_t events = 0;

    for (uint32_t stream = 0; stream < kernel->stream_count && events < EVENTS_MAX; stream++) {
        struct pb_trace_event event = {.kind = PB_EVENT_BLOCK_END};

        while (event.kind != PB_EVENT_STREAM_END && events++ < EVENTS_MAX)
            if (trace->ops->next(trace->state, stream, &event, NULL) != PB_OK)
                return;
    }
}

static void read_text(const char *path)
{
    struct pb_trace trace = {NULL, NULL};
    bool found = true;

    if (pb_trace_open_text(path, &trace, NULL) != PB_OK)
        return;
    for (size_t i = 0; i < KERNELS_MAX && found; i++) {
        found = trace.ops->next_kernel(trace.state, &found, NULL) == PB_OK && found;
        if (found)
            read_kernel(&trace);
        if (found && trace.ops->restart(trace.state, NULL) == PB_OK)
            read_kernel(&trace);
    }
    pb_trace_close(&trace);
}

static void read_records(struct pb_memtrace_reader *reader, size_t number, uint64_t count)
{
    struct pb_memtrace_cursor *cursor = NULL;
    const struct pb_memtrace_record *record = NULL;
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0, records = 0;

    if (pb_memtrace_cursor_open(reader, number, 0, count, 0, &cursor, NULL) != PB_OK)
        return;
    while (records++ < EVENTS_MAX &&
           pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, NULL) == PB_OK &&
           record != NULL)
        ;
    pb_memtrace_cursor_close(cursor);
}

static void read_file(const char *path)
{
    struct pb_memtrace_reader *reader = NULL;
    struct pb_memtrace_context *contexts = NULL;
    struct pb_memtrace_allocation *allocations = NULL;
    struct pb_memtrace_launch launch;
    size_t count = 0;

    if (pb_memtrace_open(path, &reader, NULL) != PB_OK)
        return;
    pb_memtrace_contexts(reader, &contexts, &count, NULL);
    pb_memtrace_allocations(reader, &allocations, &count, NULL);
    for (size_t i = 0; i < KERNELS_MAX; i++) {
        if (pb_memtrace_read_launch(reader, i, &launch, NULL) != PB_OK)
            continue;
        read_records(reader, i, launch.kernel.record_count);
        pb_memtrace_launch_clear(&launch);
    }
    free(allocations);
    free(contexts);
    pb_memtrace_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_LENGTH];
    int file = fuzz_open_memory(data, size, path);

    fuzz_keep_library_memory();
    if (pb_memtrace_is_trace(path))
        read_file(path);
    else
        read_text(path);
    close(file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    if (size > 0 && data[0] == 0x89) /* HDF5 */
        return LLVMFuzzerMutate(data, size, capacity);
    return fuzz_mutate_text(data, size, capacity, seed);
}

/* ---- seeds ---- */

static void require(enum pb_status status, const struct pb_error *err)
{
    if (status == PB_OK)
        return;
    fprintf(stderr, "fuzz: the seed cannot be made: %s\n", err->message);
    exit(2);
}

static void write_kernel(struct pb_memtrace_writer *writer)
{
    struct pb_memtrace_kernel kernel = {.grid_x = 2, .grid_y = 1, .grid_z = 1, .complete = 1};
    struct pb_memtrace_cta ctas[2] = {{0}};
    struct pb_memtrace_sm sms[1] = {{.first = 0, .count = 4}};
    struct pb_memtrace_instruction instructions[1] = {{0}};
    struct pb_memtrace_record records[4];
    int64_t offsets[31];
    struct pb_error err = PB_ERROR_INIT;
    struct pb_memtrace_kernel_tables tables = {ctas, 2, sms, 1, instructions, 1};

    for (size_t i = 0; i < 31; i++)
        offsets[i] = (int64_t)(i * i * 64);
    for (size_t i = 0; i < 4; i++)
        records[i] = (struct pb_memtrace_record){.sequence = i,
                                                 .base = 0x7f0000000000 + i * 128,
                                                 .stride = 4,
                                                 .lane_mask = 0xffffffff,
                                                 .size = 4,
                                                 .flags = PB_ACCESS_READ};
    records[3].flags |= PB_ACCESS_OFFSETS;
    ctas[1].cta = 1;
    require(pb_memtrace_begin_kernel(writer, 4, &err), &err);
    require(pb_memtrace_append(writer, records, 4, offsets, 31, &err), &err);
    require(pb_memtrace_end_kernel(writer, &kernel, &tables, &err), &err);
}

static void write_file(const char *path)
{
    struct pb_memtrace_program program = {.tool_version = "1", .complete = 1};
    struct pb_memtrace_context context = {.pid = 7, .model = "a GPU", .sm_count = 132};
    struct pb_memtrace_allocation allocation = {.address = 4096, .bytes = 100, .freed_event = -1};
    struct pb_memtrace_writer *writer = NULL;
    struct pb_error err = PB_ERROR_INIT;

    require(pb_memtrace_create(path, &writer, &err), &err);
    require(pb_memtrace_write_contexts(writer, &context, 1, &err), &err);
    require(pb_memtrace_write_allocations(writer, &allocation, 1, &err), &err);
    write_kernel(writer);
    require(pb_memtrace_commit(writer, &program, &err), &err);
}

static size_t seed_file(uint8_t *data, size_t capacity)
{
    static uint8_t kept[1 << 17];
    static size_t size;
    char folder[] = "/tmp/plumb-fuzz-XXXXXX", path[64];

    if (size == 0) {
        if (mkdtemp(folder) == NULL)
            exit(2);
        snprintf(path, sizeof(path), "%s/trace.h5", folder);
        write_file(path);
        size = fuzz_read_file(path, kept, sizeof(kept));
        unlink(path);
        rmdir(folder);
    }
    if (size > capacity)
        exit(2);
    memcpy(data, kept, size);
    return size;
}

size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity)
{
    static const char *const texts[TEXT_SEEDS] = {
        "blocksize: 64 1 1\n0 0 4096 4\n1 0 4100 4\n33 1 8192 16\n63 0 4096 4\n",
        "-kernel name = _Z4copyPf\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n"
        "-shmem = 128\n-nregs = 20\n-shmem base_addr = 0x00007f0000000000\n"
        "-local mem base_addr = 0x00007e0000000000\n-accelsim tracer version = 5\n"
        "-enable lineinfo = 1\n\n#traces format = x\n\n#BEGIN_TB\n\nthread block = 1,0,0\n\n"
        "warp = 1\ninsts = 4\n7 0000 ffffffff 1 R1 MOV 1 R2 0 0\n"
        "9 0010 ffffffff 1 R4 LDG.E.64.CONSTANT 1 R2 8 1 0x1000 8 0\n"
        "9 0020 00000007 1 R4 LDG.E.STRONG.GPU 1 R2 4 2 0x2000 64 -32 0\n"
        "9 0030 00000005 0 STG.E 2 R2 R4 4 0 0x3000 0x4000 0\n\nwarp = 0\ninsts = 0\n\n#END_TB\n"};

    if (i >= SEEDS)
        return 0;
    if (i == TEXT_SEEDS)
        return seed_file(data, capacity);
    memcpy(data, texts[i], strlen(texts[i]));
    return strlen(texts[i]);
}
