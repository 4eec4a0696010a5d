/* /analysis/findings: kept beside everything else in the file, and read back as written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "h5schema/file.h"
#include "h5schema/schema.h"

static const struct pb_finding_row finding = {
    .severity = "CRITICAL",
    .level = "device",
    .place = "n03.gpu2",
    .host = "n03",
    .device = "n03.gpu2",
    .model = "NVIDIA H200",
    .cause = "hbm",
    .metric = "dram.peak_bytes_per_s",
    .unit = "byte/s",
    .value = 3.5e12,
    .expected = 3.9e12,
    .shift = -0.1,
    .sigmas = -25,
    .p = 1e-9,
    .metrics = 4,
    .peers = 63,
    .drain = 1,
    .summary = "memory 10% slower than 63 peers",
    .evidence = "copy, read and write alike",
    .evidence_path = "/devices/n03.gpu2/tests/global_copy",
    .advice = "drain the node and run the vendor's memory test",
};

/* A whole file without devices, in a folder of its own; *state is its path. */
static int make_file(void **state)
{
    char *path = strdup("/tmp/plumb-findings-XXXXXX");
    struct pb_run run = {.schema_version = PB_SCHEMA_VERSION, .created = "2026-01-01T00:00:00Z"};
    struct pb_fleet *fleet;
    int descriptor;

    if (path == NULL || (descriptor = mkstemp(path)) < 0)
        return -1;
    close(descriptor);
    unlink(path);
    *state = path;
    if (pb_fleet_create(path, &run, &fleet, NULL) != PB_OK)
        return -1;
    return pb_fleet_commit(fleet, false, NULL) == PB_OK ? 0 : -1;
}

static int remove_file(void **state)
{
    unlink(*state);
    free(*state);
    return 0;
}

static const struct pb_finding_member members[] = {{0, "n03.gpu2"}, {0, "n03.gpu3"}};
static const struct pb_finding_tables one = {&finding, 1, members, 2}, none = {NULL, 0, NULL, 0};

static size_t read_findings(const char *path, struct pb_finding_row **rows_out)
{
    struct pb_reader *reader;
    size_t count = 0;

    assert_int_equal(pb_reader_open(path, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_findings(reader, rows_out, &count, NULL), PB_OK);
    pb_reader_close(reader);
    return count;
}

static void complain(void *context, const char *line)
{
    fprintf(stderr, "%s: %s\n", (const char *)context, line);
}

static void test_findings__come_back_as_written(void **state)
{
    struct pb_finding_row *rows;
    size_t complaints = 1;

    assert_int_equal(pb_file_write_findings(*state, &one, NULL), PB_OK);
    assert_int_equal(read_findings(*state, &rows), 1);
    assert_memory_equal(rows, &finding, sizeof(finding));
    free(rows);
    assert_int_equal(pb_file_validate(*state, complain, *state, &complaints, NULL), PB_OK);
    assert_int_equal(complaints, 0);
}

static void test_findings__members_come_back_as_written(void **state)
{
    struct pb_finding_member *rows = NULL;
    struct pb_reader *reader;
    size_t count = 0;

    assert_int_equal(pb_file_write_findings(*state, &one, NULL), PB_OK);
    assert_int_equal(pb_reader_open(*state, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_finding_members(reader, &rows, &count, NULL), PB_OK);
    assert_int_equal(count, 2);
    assert_memory_equal(rows, members, sizeof(members));
    free(rows);
    pb_reader_close(reader);
}

static void test_findings__none_is_an_empty_table(void **state)
{
    struct pb_finding_row *rows;

    assert_int_equal(pb_file_write_findings(*state, &one, NULL), PB_OK);
    assert_int_equal(pb_file_write_findings(*state, &none, NULL), PB_OK);
    assert_int_equal(read_findings(*state, &rows), 0);
    free(rows);
}

static void test_findings__and_parameters_do_not_replace_each_other(void **state)
{
    const struct pb_parameter_row parameter = {.device = "n03.gpu2", .parameter = "size_bytes"};
    struct pb_finding_row *rows;

    assert_int_equal(pb_file_write_findings(*state, &one, NULL), PB_OK);
    assert_int_equal(pb_file_write_parameters(*state, &parameter, 1, NULL), PB_OK);
    assert_int_equal(read_findings(*state, &rows), 1);
    free(rows);
}

static void test_findings__absent_ones_are_not_found(void **state)
{
    struct pb_finding_row *rows = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_reader *reader;
    size_t count = 7;

    assert_int_equal(pb_reader_open(*state, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_findings(reader, &rows, &count, &err), PB_NOT_FOUND);
    assert_non_null(strstr(err.message, "/analysis/findings"));
    assert_int_equal(count, 7);
    assert_null(rows);
    pb_reader_close(reader);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_findings__come_back_as_written),
        CASE(test_findings__members_come_back_as_written),
        CASE(test_findings__none_is_an_empty_table),
        CASE(test_findings__and_parameters_do_not_replace_each_other),
        CASE(test_findings__absent_ones_are_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
