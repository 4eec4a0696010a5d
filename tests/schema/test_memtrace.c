/* The trace file: what is written comes back, range by range, and damage is refused in one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5schema/memtrace.h"

#define FILE_NAME "memtrace.h5"

enum { SMS = 3, RECORDS_PER_SM = 7000, IRREGULAR = 5 };

static const struct pb_memtrace_program program = {.tool_version = "1",
                                                   .created = "2026-01-01T00:00:00Z",
                                                   .command_line = "plumb-trace -o t.h5 -- p",
                                                   .ending = "ended with exit status 0",
                                                   .complete = 1};

/* The k-th address of the i-th record of an SM, by formula. Every IRREGULAR-th is not affine. */
static uint64_t address_of(size_t sm, size_t i, size_t k)
{
    uint64_t base = UINT64_C(0x7f0000000000) + sm * 0x100000 + i * 128;

    return i % IRREGULAR == 0 ? base + k * k * 4096 - (k % 2) * 64 : base + 4 * k;
}

static uint32_t mask_of(size_t i)
{
    return i % 3 == 0 ? 0xffffffffu : i % 3 == 1 ? 0x0000ff0fu : 0x80000000u;
}

/* Appends the records [first, first + count) of an SM in one call. */
static void append(struct pb_memtrace_writer *writer, size_t sm, size_t first, size_t count)
{
    struct pb_memtrace_record *records = calloc(count, sizeof(*records));
    int64_t *offsets = calloc(count * PB_WARP_LANES, sizeof(*offsets));
    struct pb_error err = PB_ERROR_INIT;
    size_t used = 0;

    assert_non_null(records);
    assert_non_null(offsets);
    for (size_t n = 0; n < count; n++) {
        size_t i = first + n, lanes = (size_t)__builtin_popcount(mask_of(i));

        records[n] = (struct pb_memtrace_record){.sequence = i * SMS + sm,
                                                 .base = address_of(sm, i, 0),
                                                 .stride = 4,
                                                 .lane_mask = mask_of(i),
                                                 .instruction = (uint32_t)(i % 2),
                                                 .cta = (uint32_t)sm,
                                                 .size = 4,
                                                 .flags = PB_ACCESS_READ};
        if (i % IRREGULAR != 0)
            continue;
        records[n].flags |= PB_ACCESS_OFFSETS;
        records[n].first_offset = used;
        for (size_t k = 1; k < lanes; k++)
            offsets[used++] = (int64_t)(address_of(sm, i, k) - address_of(sm, i, 0));
    }
    assert_int_equal(pb_memtrace_append(writer, records, count, offsets, used, &err), PB_OK);
    free(records);
    free(offsets);
}

static void write_kernel(struct pb_memtrace_writer *writer, const char *name)
{
    struct pb_memtrace_kernel kernel = {.grid_x = SMS, .grid_y = 1, .grid_z = 1, .complete = 1};
    struct pb_memtrace_cta ctas[SMS] = {{0}};
    struct pb_memtrace_sm sms[SMS] = {{0}};
    struct pb_memtrace_instruction instructions[2] = {{.pc = 16, .cache_operator = "ca"},
                                                      {.pc = 32, .cache_operator = "cg"}};
    struct pb_memtrace_kernel_tables tables = {ctas, SMS, sms, SMS, instructions, 2};
    struct pb_error err = PB_ERROR_INIT;

    PB_TEXT_SET(kernel.name, name);
    assert_int_equal(pb_memtrace_begin_kernel(writer, 0, &err), PB_OK);
    for (size_t sm = 0; sm < SMS; sm++) {
        ctas[sm] = (struct pb_memtrace_cta){.cta = (uint32_t)sm, .sm = (uint32_t)(2 * sm)};
        sms[sm] = (struct pb_memtrace_sm){.sm = (uint32_t)(2 * sm),
                                          .traced = 1,
                                          .ctas = 1,
                                          .first = sm * RECORDS_PER_SM,
                                          .count = RECORDS_PER_SM};
        append(writer, sm, 0, 1000);
        append(writer, sm, 1000, RECORDS_PER_SM - 1000);
    }
    assert_int_equal(pb_memtrace_end_kernel(writer, &kernel, &tables, &err), PB_OK);
}

static void write_file(void)
{
    struct pb_memtrace_context context = {.pid = 7, .model = "a GPU", .sm_count = 132};
    struct pb_memtrace_allocation allocations[2] = {
        {.address = 4096, .bytes = 100, .freed_event = -1, .kind = "device"},
        {.address = 8192, .bytes = 200, .freed_event = 9, .kind = "managed"}};
    struct pb_memtrace_writer *writer = NULL;
    struct pb_error err = PB_ERROR_INIT;

    unlink(FILE_NAME);
    assert_int_equal(pb_memtrace_create(FILE_NAME, &writer, &err), PB_OK);
    assert_int_equal(pb_memtrace_write_contexts(writer, &context, 1, &err), PB_OK);
    assert_int_equal(pb_memtrace_write_allocations(writer, allocations, 2, &err), PB_OK);
    write_kernel(writer, "first");
    write_kernel(writer, "second");
    assert_int_equal(access(FILE_NAME, F_OK), -1); /* not before it is whole */
    assert_int_equal(pb_memtrace_commit(writer, &program, &err), PB_OK);
}

static struct pb_memtrace_reader *open_or_fail(void)
{
    struct pb_memtrace_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_memtrace_open(FILE_NAME, &reader, &err) != PB_OK)
        fail_msg("%s", err.message);
    return reader;
}

static void test_memtrace__tables_come_back(void **state)
{
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_context *contexts = NULL;
    struct pb_memtrace_allocation *allocations = NULL;
    struct pb_memtrace_launch launch;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;

    (void)state;
    write_file();
    assert_true(pb_memtrace_is_trace(FILE_NAME));
    reader = open_or_fail();
    assert_int_equal(pb_memtrace_program(reader)->kernel_count, 2);
    assert_string_equal(pb_memtrace_program(reader)->ending, program.ending);
    assert_int_equal(pb_memtrace_contexts(reader, &contexts, &count, &err), PB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(contexts[0].model, "a GPU");
    assert_int_equal(pb_memtrace_allocations(reader, &allocations, &count, &err), PB_OK);
    assert_int_equal(count, 2);
    assert_int_equal(allocations[1].freed_event, 9);
    assert_int_equal(pb_memtrace_read_launch(reader, 1, &launch, &err), PB_OK);
    assert_string_equal(launch.kernel.name, "second");
    assert_int_equal(launch.kernel.record_count, SMS * RECORDS_PER_SM);
    assert_int_equal(launch.cta_count, SMS);
    assert_int_equal(launch.ctas[2].sm, 4);
    assert_int_equal(launch.sms[1].first, RECORDS_PER_SM);
    assert_string_equal(launch.instructions[1].cache_operator, "cg");
    pb_memtrace_launch_clear(&launch);
    assert_int_equal(pb_memtrace_read_launch(reader, 2, &launch, &err), PB_NOT_FOUND);
    free(contexts);
    free(allocations);
    pb_memtrace_close(reader);
}

static void check_range(struct pb_memtrace_reader *reader, size_t sm, size_t buffer_rows)
{
    struct pb_memtrace_cursor *cursor = NULL;
    const struct pb_memtrace_record *record;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0;

    assert_int_equal(pb_memtrace_cursor_open(reader, 1, sm * RECORDS_PER_SM, RECORDS_PER_SM,
                                             buffer_rows, &cursor, &err),
                     PB_OK);
    for (size_t i = 0; i < RECORDS_PER_SM; i++) {
        assert_int_equal(pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, &err), PB_OK);
        assert_non_null(record);
        assert_int_equal(record->sequence, i * SMS + sm);
        assert_int_equal(lanes, __builtin_popcount(mask_of(i)));
        for (size_t k = 0; k < lanes; k++)
            assert_int_equal(addresses[k], address_of(sm, i, k));
    }
    assert_int_equal(pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, &err), PB_OK);
    assert_null(record);
    pb_memtrace_cursor_close(cursor);
}

static void test_memtrace_cursor__every_address_of_every_lane_comes_back(void **state)
{
    struct pb_memtrace_reader *reader;

    (void)state;
    write_file();
    reader = open_or_fail();
    for (size_t sm = 0; sm < SMS; sm++) {
        check_range(reader, sm, 0);
        check_range(reader, sm, 1);
        check_range(reader, sm, 333);
    }
    pb_memtrace_close(reader);
}

static void test_memtrace_cursor__range_outside_is_refused(void **state)
{
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_cursor *cursor = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    write_file();
    reader = open_or_fail();
    assert_int_equal(pb_memtrace_cursor_open(reader, 0, SMS * RECORDS_PER_SM, 1, 0, &cursor, &err),
                     PB_CORRUPT);
    assert_int_equal(pb_memtrace_cursor_open(reader, 0, UINT64_MAX, 2, 0, &cursor, &err),
                     PB_CORRUPT);
    pb_memtrace_close(reader);
}

static void test_memtrace_create__what_is_no_trace_is_not_overwritten(void **state)
{
    struct pb_memtrace_writer *writer = NULL;
    struct pb_error err = PB_ERROR_INIT;
    FILE *file = fopen("other.h5", "w");

    (void)state;
    assert_non_null(file);
    fputs("of another program", file);
    fclose(file);
    assert_int_equal(pb_memtrace_create("other.h5", &writer, &err), PB_EXISTS);
    assert_non_null(strstr(err.message, "other.h5"));
    assert_int_equal(pb_memtrace_create("no/such/folder/t.h5", &writer, &err), PB_INVALID);
    unlink("other.h5");
}

static void test_memtrace_abandon__leaves_nothing(void **state)
{
    struct pb_memtrace_writer *writer = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    unlink("gone.h5");
    assert_int_equal(pb_memtrace_create("gone.h5", &writer, &err), PB_OK);
    assert_int_equal(pb_memtrace_begin_kernel(writer, 0, &err), PB_OK);
    pb_memtrace_abandon(writer);
    assert_int_equal(access("gone.h5", F_OK), -1);
    assert_int_equal(system("ls -A | grep -q gone.h5"), 256);
}

/* Overwrites one element of a column of /kernels/0/<table>. */
static void set_column(const char *table, const char *column, hsize_t row, uint64_t value)
{
    char path[64];
    hid_t file = H5Fopen(FILE_NAME, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset, type, space, memory;
    hsize_t one = 1;

    snprintf(path, sizeof(path), "kernels/0/%s", table);
    dataset = H5Dopen2(file, path, H5P_DEFAULT);
    type = H5Tcreate(H5T_COMPOUND, sizeof(value));
    H5Tinsert(type, column, 0, H5T_NATIVE_UINT64);
    space = H5Dget_space(dataset);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &row, NULL, &one, NULL);
    memory = H5Screate_simple(1, &one, NULL);
    assert_true(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, &value) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
    assert_true(H5Fclose(file) >= 0);
}

static void expect_damage(const char *place)
{
    struct pb_memtrace_reader *reader = open_or_fail();
    struct pb_memtrace_cursor *cursor = NULL;
    const struct pb_memtrace_record *record = NULL;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t addresses[PB_WARP_LANES];
    enum pb_status status;
    size_t lanes = 0;

    assert_int_equal(pb_memtrace_cursor_open(reader, 0, 0, SMS * RECORDS_PER_SM, 0, &cursor, &err),
                     PB_OK);
    do
        status = pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, &err);
    while (status == PB_OK && record != NULL);
    assert_int_equal(status, PB_CORRUPT);
    if (strstr(err.message, place) == NULL)
        fail_msg("expected the place %s in: %s", place, err.message);
    pb_memtrace_cursor_close(cursor);
    pb_memtrace_close(reader);
}

static void test_memtrace_cursor__a_record_of_what_is_not_there_is_refused(void **state)
{
    static const struct {
        const char *column;
        uint64_t value;
    } damages[] = {{"instruction", 2}, {"lane_mask", 0}, {"cta", SMS}, {"first_offset", 1u << 30}};

    (void)state;
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        write_file();
        set_column("records", damages[i].column, 5000, damages[i].value);
        expect_damage("/kernels/0/records[5000]");
    }
}

static void test_memtrace_read_launch__an_sm_with_too_many_records_is_refused(void **state)
{
    struct pb_memtrace_reader *reader;
    struct pb_memtrace_launch launch;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    write_file();
    set_column("sms", "count", 2, RECORDS_PER_SM + 1);
    reader = open_or_fail();
    assert_int_equal(pb_memtrace_read_launch(reader, 0, &launch, &err), PB_CORRUPT);
    assert_non_null(strstr(err.message, "sms[2]"));
    assert_int_equal(pb_memtrace_read_launch(reader, 1, &launch, &err), PB_OK);
    pb_memtrace_launch_clear(&launch);
    pb_memtrace_close(reader);
}

static void read_everything(const char *path)
{
    struct pb_memtrace_reader *reader = NULL;
    struct pb_memtrace_cursor *cursor = NULL;
    const struct pb_memtrace_record *record = NULL;
    struct pb_memtrace_launch launch;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0;

    if (pb_memtrace_open(path, &reader, &err) != PB_OK)
        return;
    if (pb_memtrace_read_launch(reader, 0, &launch, &err) == PB_OK) {
        if (pb_memtrace_cursor_open(reader, 0, 0, launch.kernel.record_count, 0, &cursor, &err) ==
            PB_OK)
            while (pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, &err) == PB_OK &&
                   record != NULL)
                ;
        pb_memtrace_cursor_close(cursor);
        pb_memtrace_launch_clear(&launch);
    }
    pb_memtrace_close(reader);
}

/* Neither cut short nor with bytes turned over does a file end the process. */
static void test_memtrace__cut_and_damaged_files_are_survived(void **state)
{
    FILE *file;
    unsigned char *bytes;
    long size;

    (void)state;
    write_file();
    file = fopen(FILE_NAME, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    fclose(file);
    for (int i = 0; i < 60; i++) {
        long cut = i < 20 ? size * i / 20 : size, at = size * (i - 20) / 40;

        if (i >= 20)
            bytes[at] ^= 0x5a;
        file = fopen("damaged.h5", "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, (size_t)cut, file), cut);
        fclose(file);
        if (i >= 20)
            bytes[at] ^= 0x5a;
        read_everything("damaged.h5");
    }
    free(bytes);
    unlink("damaged.h5");
}

static void test_memtrace_open__other_files_are_refused_with_their_name(void **state)
{
    struct pb_memtrace_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;
    hid_t file = H5Fcreate("plain.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    (void)state;
    H5Fclose(file);
    assert_int_equal(pb_memtrace_open("plain.h5", &reader, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "plain.h5: expected"));
    assert_false(pb_memtrace_is_trace("plain.h5"));
    assert_int_equal(pb_memtrace_open("absent.h5", &reader, &err), PB_INVALID);
    assert_false(pb_memtrace_is_trace("absent.h5"));
    unlink("plain.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memtrace__tables_come_back),
        cmocka_unit_test(test_memtrace_cursor__every_address_of_every_lane_comes_back),
        cmocka_unit_test(test_memtrace_cursor__range_outside_is_refused),
        cmocka_unit_test(test_memtrace_create__what_is_no_trace_is_not_overwritten),
        cmocka_unit_test(test_memtrace_abandon__leaves_nothing),
        cmocka_unit_test(test_memtrace_cursor__a_record_of_what_is_not_there_is_refused),
        cmocka_unit_test(test_memtrace_read_launch__an_sm_with_too_many_records_is_refused),
        cmocka_unit_test(test_memtrace__cut_and_damaged_files_are_survived),
        cmocka_unit_test(test_memtrace_open__other_files_are_refused_with_their_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
