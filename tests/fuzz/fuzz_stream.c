/*
 * Fuzz target over the streams of traced programs. The input is a list of frames, each a type, a
 * length of two bytes and the content; the stream around them has right checksums, so that what
 * contents say is what is tried. Whatever comes out as a trace file is read to its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/library.h"
#include "trace/convert.h"
#include "trace/words.h"

enum { HEAD = 3 };

static void read_kernel(struct pb_memtrace_reader *reader, size_t number)
{
    const struct pb_memtrace_record *record = NULL;
    struct pb_memtrace_cursor *cursor = NULL;
    struct pb_memtrace_launch launch;
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0;

    if (pb_memtrace_read_launch(reader, number, &launch, NULL) != PB_OK)
        return;
    if (pb_memtrace_cursor_open(reader, number, 0, launch.kernel.record_count, 0, &cursor, NULL) ==
        PB_OK)
        while (pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, NULL) == PB_OK &&
               record != NULL)
            ;
    pb_memtrace_cursor_close(cursor);
    pb_memtrace_launch_clear(&launch);
}

static void read_trace(const char *path)
{
    struct pb_memtrace_reader *reader = NULL;

    if (pb_memtrace_open(path, &reader, NULL) != PB_OK)
        abort(); /* it was written a moment ago */
    for (int64_t i = 0; i < pb_memtrace_program(reader)->kernel_count; i++)
        read_kernel(reader, (size_t)i);
    pb_memtrace_close(reader);
}

static void write_frames(struct pb_stream_writer *writer, const uint8_t *data, size_t size)
{
    while (size >= HEAD) {
        size_t length = (size_t)data[1] | (size_t)data[2] << 8;

        length = length > size - HEAD ? size - HEAD : length;
        pb_stream_write(writer, (enum pb_stream_type)(1 + data[0] % (PB_STREAM_TYPE_END - 1)),
                        data + HEAD, length, NULL, 0);
        data += HEAD + length;
        size -= HEAD + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct pb_memtrace_program program = {.tool_version = "fuzz"};
    char prefix[64], stream[96], trace[96];
    const char *streams[1] = {stream};
    struct pb_trace_summary summary;
    struct pb_stream_writer *writer = NULL;

    fuzz_keep_library_memory();
    snprintf(prefix, sizeof(prefix), "/dev/shm/plumb-fuzz-stream");
    snprintf(stream, sizeof(stream), "%s.%ld", prefix, (long)getpid());
    snprintf(trace, sizeof(trace), "%s-%ld.h5", prefix, (long)getpid());
    if (pb_stream_create(prefix, &writer, NULL) != PB_OK)
        exit(2);
    write_frames(writer, data, size);
    pb_stream_close(writer);
    if (pb_trace_convert(streams, 1, trace, &program, &summary, NULL) == PB_OK)
        read_trace(trace);
    unlink(stream);
    unlink(trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, capacity);
}

static size_t put(uint8_t *data, size_t capacity, size_t at, unsigned type, const void *content,
                  size_t length)
{
    if (capacity - at < HEAD + length)
        return at;
    data[at] = (uint8_t)(type - 1);
    data[at + 1] = (uint8_t)length;
    data[at + 2] = (uint8_t)(length >> 8);
    memcpy(data + at + HEAD, content, length);
    return at + HEAD + length;
}

/* A context, an allocation and a launch of two CTAs with one access of each form. */
size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity)
{
    struct pb_stream_context context = {.sm_count = 2, .model = "a GPU"};
    struct pb_stream_allocation allocation = {.address = 4096, .bytes = 64, .kind = "device"};
    struct pb_stream_launch launch = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .name = "kernel"};
    struct pb_stream_launch_end end = {.launch = 0};
    struct {
        struct pb_stream_chunk row;
        uint32_t words[64];
    } chunk = {{.traced = 1}, {0}};
    size_t at = 0, count = 0;

    if (i > 0)
        return 0;
    for (uint32_t form = 0; form < 4; form++) {
        uint32_t lanes = form == PB_FORM_BULK ? 1 : 3;

        chunk.words[count] = PB_WORDS_ACCESS | form << 8 | 1u << 16 | 4u << 24;
        chunk.words[count + 1] = (1u << lanes) - 1;
        chunk.words[count + 4] = form % 2;
        count += pb_words_length(chunk.words + count, (unsigned)(64 - count));
    }
    chunk.words[count] = PB_WORDS_CTA_BEGIN;
    count += PB_WORDS_CTA_LENGTH;
    at = put(data, capacity, at, PB_STREAM_CONTEXT, &context, sizeof(context));
    at = put(data, capacity, at, PB_STREAM_ALLOCATION, &allocation, sizeof(allocation));
    at = put(data, capacity, at, PB_STREAM_LAUNCH, &launch, sizeof(launch));
    at = put(data, capacity, at, PB_STREAM_CHUNK, &chunk,
             sizeof(chunk.row) + count * sizeof(uint32_t));
    return put(data, capacity, at, PB_STREAM_LAUNCH_END, &end, sizeof(end));
}
