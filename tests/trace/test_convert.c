/* From streams to trace files: what the device wrote comes out, and torn streams give what they
 * hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/convert.h"
#include "trace/words.h"

enum { GRID = 6 };

static char stream_path[64];

static void put(struct pb_stream_writer *writer, enum pb_stream_type type, const void *row,
                size_t size, const void *extra, size_t extra_size)
{
    assert_int_equal(pb_stream_write(writer, type, row, size, extra, extra_size), PB_OK);
}

static struct pb_stream_writer *begin_stream(void)
{
    struct pb_stream_context context = {.sm_count = 132, .model = "a GPU", .shared_per_sm = 233472};
    struct pb_stream_writer *writer = NULL;

    snprintf(stream_path, sizeof(stream_path), "stream.%ld", (long)getpid());
    assert_int_equal(pb_stream_create("stream", &writer, NULL), PB_OK);
    put(writer, PB_STREAM_CONTEXT, &context, sizeof(context), NULL, 0);
    return writer;
}

static void put_preferring_launch(struct pb_stream_writer *writer, uint64_t number,
                                  int32_t carveout_percent)
{
    struct pb_stream_launch row = {.launch = number,
                                   .grid = {GRID, 1, 1},
                                   .block = {128, 1, 1},
                                   .shared_dynamic_bytes = -1,
                                   .carveout_percent = carveout_percent,
                                   .name = "kernel"};

    put(writer, PB_STREAM_LAUNCH, &row, sizeof(row), NULL, 0);
}

static void put_launch(struct pb_stream_writer *writer, uint64_t number)
{
    put_preferring_launch(writer, number, -2);
}

static void put_end(struct pb_stream_writer *writer, uint64_t number)
{
    struct pb_stream_launch_end row = {.launch = number, .seconds = 1};

    put(writer, PB_STREAM_LAUNCH_END, &row, sizeof(row), NULL, 0);
}

static void put_chunk(struct pb_stream_writer *writer, uint64_t launch, uint32_t sm,
                      const uint32_t *words, size_t count)
{
    struct pb_stream_chunk row = {.launch = launch, .sm = sm, .traced = 1};

    put(writer, PB_STREAM_CHUNK, &row, sizeof(row), words, count * sizeof(*words));
}

static size_t cta(uint32_t *words, uint32_t type, uint32_t number, uint32_t sequence, uint32_t ns)
{
    memcpy(words, (uint32_t[]){type, number, sequence, ns, 1}, 5 * sizeof(*words));
    return 5;
}

static size_t access_head(uint32_t *words, uint32_t form, uint32_t mask, uint32_t sequence,
                          uint32_t number)
{
    memcpy(words,
           (uint32_t[]){PB_WORDS_ACCESS | form << 8 | 1u << 16 | 4u << 24, mask, sequence, 0x1020,
                        number, 3, 0x1000, 0x7f},
           8 * sizeof(*words));
    return 8;
}

static enum pb_status convert(struct pb_trace_summary *summary_out, struct pb_error *err)
{
    const char *path = stream_path;
    struct pb_memtrace_program program = {.tool_version = "1"};

    return pb_trace_convert(&path, 1, "trace.h5", &program, summary_out, err);
}

static struct pb_memtrace_reader *open_trace(void)
{
    struct pb_memtrace_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_memtrace_open("trace.h5", &reader, &err) != PB_OK)
        fail_msg("%s", err.message);
    return reader;
}

static struct pb_memtrace_launch read_launch(struct pb_memtrace_reader *reader, size_t number)
{
    struct pb_memtrace_launch launch;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_memtrace_read_launch(reader, number, &launch, &err) != PB_OK)
        fail_msg("%s", err.message);
    return launch;
}

/* The addresses of record `row` of launch 0. */
static size_t read_record(struct pb_memtrace_reader *reader, uint64_t row,
                          struct pb_memtrace_record *record_out, uint64_t *addresses)
{
    const struct pb_memtrace_record *record = NULL;
    struct pb_memtrace_cursor *cursor = NULL;
    struct pb_error err = PB_ERROR_INIT;
    size_t lanes = 0;

    assert_int_equal(pb_memtrace_cursor_open(reader, 0, row, 1, 0, &cursor, &err), PB_OK);
    assert_int_equal(pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, &err), PB_OK);
    assert_non_null(record);
    *record_out = *record;
    pb_memtrace_cursor_close(cursor);
    return lanes;
}

static void test_convert__every_form_of_addresses_comes_out(void **state)
{
    struct pb_stream_writer *writer = begin_stream();
    struct pb_trace_summary summary;
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_record record;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t addresses[PB_WARP_LANES];
    uint32_t words[256];
    size_t count = 0;

    (void)state;
    put_launch(writer, 0);
    count += access_head(words + count, PB_FORM_AFFINE, 0x0f0f, 5, 0);
    words[count++] = (uint32_t)-16;
    count += access_head(words + count, PB_FORM_NEAR, 0x80000011u, 6, 0);
    words[count++] = (uint32_t)-4;
    words[count++] = 1000;
    count += access_head(words + count, PB_FORM_FAR, 0x3, 7, 0);
    words[count++] = 8;
    words[count++] = 0xffffffffu; /* -2^32 + 8 */
    count += access_head(words + count, PB_FORM_BULK, 0x1, 8, 0);
    words[count++] = 4096;
    put_chunk(writer, 0, 9, words, count);
    put_end(writer, 0);
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_OK);
    reader = open_trace();
    assert_int_equal(read_record(reader, 0, &record, addresses), 8);
    assert_int_equal(addresses[7], 0x7f00001000 - 7 * 16);
    assert_int_equal(record.sequence, 5);
    assert_int_equal(record.warp, 3);
    assert_int_equal(read_record(reader, 1, &record, addresses), 3);
    assert_int_equal(addresses[1], 0x7f00001000 - 4);
    assert_int_equal(addresses[2], 0x7f00001000 + 1000);
    assert_int_equal(read_record(reader, 2, &record, addresses), 2);
    assert_int_equal(addresses[1], 0x7f00001000 - 0x100000000 + 8);
    assert_int_equal(read_record(reader, 3, &record, addresses), 1);
    assert_int_equal(record.size, 4096);
    assert_int_equal(record.flags, PB_ACCESS_READ);
    pb_memtrace_close(reader);
    unlink(stream_path);
}

/* Two SMs in turn, CTAs of both, an end of a CTA by two of its warps, a sequence past 32 bits. */
static void test_convert__records_are_grouped_by_sm_and_the_schedule_is_kept(void **state)
{
    struct pb_stream_writer *writer = begin_stream();
    struct pb_trace_summary summary;
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_launch launch;
    struct pb_memtrace_record record;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t addresses[PB_WARP_LANES];
    uint32_t words[64], top = 0xfffffff0u;
    size_t count;

    (void)state;
    put_launch(writer, 0);
    for (uint32_t i = 0; i < GRID; i++) {
        count = cta(words, PB_WORDS_CTA_BEGIN, i, i == 0 ? 1 : 10 * i, 100 + i);
        count += access_head(words + count, PB_FORM_AFFINE, 1, 10 * i + 2, i);
        words[count++] = 0;
        count += cta(words + count, PB_WORDS_CTA_END, i, 10 * i + 3, 200 + i);
        count += cta(words + count, PB_WORDS_CTA_END, i, 10 * i + 4, 190 + i);
        put_chunk(writer, 0, i % 2 == 0 ? 40 : 7, words, count);
    }
    for (uint32_t i = 1; i < 5; i++) { /* grows by less than 2^31 each */
        count = access_head(words, PB_FORM_AFFINE, 1, i * 0x40000000u, 0);
        words[count++] = 0;
        put_chunk(writer, 0, 7, words, count);
    }
    count = access_head(words, PB_FORM_AFFINE, 1, top, 0);
    words[count++] = 0;
    put_chunk(writer, 0, 7, words, count);
    put_end(writer, 0);
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_OK);
    assert_true(summary.is_complete);
    reader = open_trace();
    launch = read_launch(reader, 0);
    assert_int_equal(launch.kernel.complete, 1);
    assert_int_equal(launch.sm_count, 2);
    assert_int_equal(launch.sms[0].sm, 40);
    assert_int_equal(launch.sms[0].count, 3);
    assert_int_equal(launch.sms[1].first, 3);
    assert_int_equal(launch.sms[1].count, 8);
    assert_int_equal(launch.sms[1].ctas, 3);
    assert_int_equal(launch.cta_count, GRID);
    for (uint32_t i = 0; i < GRID; i++) { /* in the order of their starts */
        assert_int_equal(launch.ctas[i].cta, i);
        assert_int_equal(launch.ctas[i].sm, i % 2 == 0 ? 40 : 7);
        assert_int_equal(launch.ctas[i].end_ns, (UINT64_C(1) << 32) + 200 + i);
    }
    read_record(reader, 3 + 6, &record, addresses);
    assert_int_equal(record.sequence, UINT64_C(0x100000000));
    read_record(reader, 3 + 7, &record, addresses);
    assert_int_equal(record.sequence,
                     0xfffffff0u); /* a little before: order within an SM is not strict */
    pb_memtrace_launch_clear(&launch);
    pb_memtrace_close(reader);
    unlink(stream_path);
}

static void test_convert__allocations_meet_their_frees(void **state)
{
    static const struct {
        uint64_t address;
        bool is_free;
    } events[] = {{100, false}, {200, false}, {100, true}, {100, false}, {200, true}, {300, true}};
    struct pb_stream_writer *writer = begin_stream();
    struct pb_memtrace_allocation *rows = NULL;
    struct pb_memtrace_reader *reader;
    struct pb_trace_summary summary;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;

    (void)state;
    for (uint64_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct pb_stream_allocation row = {
            .address = events[i].address, .bytes = 8, .event = i, .kind = "device"};

        put(writer, events[i].is_free ? PB_STREAM_FREE : PB_STREAM_ALLOCATION, &row, sizeof(row),
            NULL, 0);
    }
    put_launch(writer, 0);
    put_end(writer, 0);
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_OK);
    reader = open_trace();
    assert_int_equal(pb_memtrace_allocations(reader, &rows, &count, &err), PB_OK);
    assert_int_equal(count, 3);
    assert_int_equal(rows[0].freed_event, 2);
    assert_int_equal(rows[1].freed_event, 4);
    assert_int_equal(rows[2].allocated_event, 3);
    assert_int_equal(rows[2].freed_event, -1);
    free(rows);
    pb_memtrace_close(reader);
    unlink(stream_path);
}

/* Two launches of six CTAs with three accesses each. */
static void write_two_launches(void)
{
    struct pb_stream_writer *writer = begin_stream();
    uint32_t words[64];

    for (uint64_t launch = 0; launch < 2; launch++) {
        put_launch(writer, launch);
        for (uint32_t i = 0; i < GRID; i++) {
            size_t count = cta(words, PB_WORDS_CTA_BEGIN, i, 10 * i, i);

            for (uint32_t k = 1; k < 4; k++) {
                count += access_head(words + count, PB_FORM_AFFINE, 0xff, 10 * i + k, i);
                words[count++] = 4;
            }
            put_chunk(writer, launch, i, words, count);
        }
        put_end(writer, launch);
    }
    pb_stream_close(writer);
}

static long read_bytes(const char *path, unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t length;

    assert_non_null(file);
    length = fread(bytes, 1, size, file);
    fclose(file);
    return (long)length;
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Cut anywhere, a stream gives its whole frames, and says that there was more. */
static void test_convert__a_cut_stream_gives_what_it_holds(void **state)
{
    static unsigned char bytes[1 << 16];
    struct pb_trace_summary summary;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t most = 0;
    long size;

    (void)state;
    write_two_launches();
    size = read_bytes(stream_path, bytes, sizeof(bytes));
    for (long cut = 0; cut <= size; cut += 149) {
        enum pb_status status;

        write_bytes(stream_path, bytes, (size_t)cut);
        unlink("trace.h5");
        status = convert(&summary, &err);
        if (status == PB_OK) {
            assert_true(summary.records >= most); /* more stream, no fewer records */
            most = summary.records;
            assert_true(!summary.is_complete || summary.kernels < 2 || cut + 149 > size);
        } else {
            assert_true(status == PB_INVALID || status == PB_NOT_FOUND);
            assert_int_equal(access("trace.h5", F_OK), -1);
        }
    }
    write_bytes(stream_path, bytes, (size_t)size);
    assert_int_equal(convert(&summary, &err), PB_OK);
    assert_true(summary.is_complete);
    assert_int_equal(summary.records, 2 * GRID * 3);
    unlink(stream_path);
}

static void test_convert__a_damaged_stream_is_survived_and_never_complete(void **state)
{
    static unsigned char bytes[1 << 16];
    struct pb_trace_summary summary;
    struct pb_error err = PB_ERROR_INIT;
    long size;

    (void)state;
    write_two_launches();
    size = read_bytes(stream_path, bytes, sizeof(bytes));
    for (long at = PB_STREAM_HEADER_BYTES; at < size; at += 67) {
        bytes[at] ^= 0x10;
        write_bytes(stream_path, bytes, (size_t)size);
        if (convert(&summary, &err) == PB_OK)
            assert_false(summary.is_complete);
        bytes[at] ^= 0x10;
    }
    unlink(stream_path);
}

/* Sound checksums around words that are no records. */
static void test_convert__words_that_are_no_records_are_refused_with_their_place(void **state)
{
    struct pb_stream_writer *writer = begin_stream();
    struct pb_trace_summary summary;
    struct pb_error err = PB_ERROR_INIT;
    uint32_t words[3] = {PB_WORDS_ACCESS, 1, 2};

    (void)state;
    unlink("trace.h5");
    put_launch(writer, 0);
    put_chunk(writer, 0, 0, words, 3);
    put_end(writer, 0);
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_CORRUPT);
    assert_non_null(strstr(err.message, "word 0 of a chunk is no record"));
    assert_int_equal(access("trace.h5", F_OK), -1);
    unlink(stream_path);
}

static void test_convert__lost_records_are_counted(void **state)
{
    struct pb_stream_writer *writer = begin_stream();
    struct pb_stream_launch_end end = {.launch = 0, .lost_records = 42};
    struct pb_memtrace_launch launch;
    struct pb_memtrace_reader *reader;
    struct pb_trace_summary summary;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    pb_stream_header(writer)->write_errno = ENOSPC;
    pb_stream_header(writer)->lost_records = 42;
    put_launch(writer, 0);
    put(writer, PB_STREAM_LAUNCH_END, &end, sizeof(end), NULL, 0);
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_OK);
    assert_false(summary.is_complete);
    assert_int_equal(summary.lost_records, 42);
    assert_non_null(strstr(summary.message, "No space left on device (42 were lost)"));
    reader = open_trace();
    launch = read_launch(reader, 0);
    assert_int_equal(launch.kernel.lost_records, 42);
    assert_int_equal(launch.kernel.complete, 0);
    pb_memtrace_launch_clear(&launch);
    pb_memtrace_close(reader);
    unlink(stream_path);
}

/* In bytes; a share that no GPU has is not known. */
static void test_convert__preferred_carveouts_come_out(void **state)
{
    static const struct {
        int32_t percent;
        int64_t bytes;
    } cases[] = {{-2, -1}, {-1, -2}, {0, 0}, {50, 116736}, {33, 77046}, {100, 233472}, {101, -1}};
    struct pb_stream_writer *writer = begin_stream();
    struct pb_memtrace_reader *reader;
    struct pb_trace_summary summary;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_preferring_launch(writer, i, cases[i].percent);
        put_end(writer, i);
    }
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_OK);
    reader = open_trace();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pb_memtrace_launch launch = read_launch(reader, i);

        assert_int_equal(launch.kernel.shared_carveout_bytes, cases[i].bytes);
        pb_memtrace_launch_clear(&launch);
    }
    pb_memtrace_close(reader);
    unlink(stream_path);
}

/* Where a function lies is known behind its first launch only; records have 32 bits of it. */
static void test_convert__functions_are_found_behind_their_launch(void **state)
{
    struct pb_stream_writer *writer = begin_stream();
    struct pb_stream_module module = {.module = 0};
    struct pb_stream_function function = {.pc = 0x7f1200001000, .bytes = 0x80, .name = "kernel"};
    struct pb_trace_summary summary;
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_launch launch;
    struct pb_error err = PB_ERROR_INIT;
    uint32_t words[16];
    size_t count;

    (void)state;
    put(writer, PB_STREAM_MODULE, &module, sizeof(module), "", 1);
    put_launch(writer, 0);
    count = access_head(words, PB_FORM_AFFINE, 1, 1, 0);
    words[count++] = 0;
    put_chunk(writer, 0, 7, words, count);
    put_end(writer, 0);
    put(writer, PB_STREAM_FUNCTION, &function,
        offsetof(struct pb_stream_function, name) + sizeof("kernel"), NULL, 0);
    pb_stream_close(writer);
    assert_int_equal(convert(&summary, &err), PB_OK);
    reader = open_trace();
    launch = read_launch(reader, 0);
    assert_int_equal(launch.instruction_count, 1);
    assert_string_equal(launch.instructions[0].function, "kernel");
    assert_int_equal(launch.instructions[0].pc, 0x20);
    pb_memtrace_launch_clear(&launch);
    pb_memtrace_close(reader);
    unlink(stream_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convert__functions_are_found_behind_their_launch),
        cmocka_unit_test(test_convert__every_form_of_addresses_comes_out),
        cmocka_unit_test(test_convert__preferred_carveouts_come_out),
        cmocka_unit_test(test_convert__records_are_grouped_by_sm_and_the_schedule_is_kept),
        cmocka_unit_test(test_convert__allocations_meet_their_frees),
        cmocka_unit_test(test_convert__a_cut_stream_gives_what_it_holds),
        cmocka_unit_test(test_convert__a_damaged_stream_is_survived_and_never_complete),
        cmocka_unit_test(test_convert__words_that_are_no_records_are_refused_with_their_place),
        cmocka_unit_test(test_convert__lost_records_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
