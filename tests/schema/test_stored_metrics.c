/*
 * Metrics kept with a fleet file: read back as written, by a copy too; refused by another version
 * of the analysis, after any change of the file's own content, and after a change of themselves.
 */
#include <fcntl.h>
#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "h5schema/file.h"
#include "schema/sample.h"

enum { DEVICES = 2, METRICS = 2, VALUES = 3 };

static const char version[] = "1.0+abc";
static char path[4096];

static struct pb_analysed_device devices[DEVICES] = {
    {.device = "n1.gpu0", .battery = 7, .outcomes = 1, .measured_seconds = 1.5e9},
    {.device = "n1.gpu1", .missing = "l1_line failed"}};
static struct pb_stored_metric metrics[METRICS] = {
    {.name = "l2.latency_cycles", .test = "l2_capacity", .unit = "cycle"},
    {.name = "nvml.power_max", .unit = "W"}};
static struct pb_metric_value values[VALUES] = {
    {0, 0, 270.5, 0.0, 0.0, 3}, {0, 1, 700.0, 1.0, 0.5, -1}, {1, 0, 271.0, 0.0, 0.0, 4}};

static enum pb_status no_rows(void *context, struct pb_parameter_row *rows, size_t room,
                              size_t *count_out, struct pb_error *err)
{
    (void)context, (void)rows, (void)room, (void)err;
    *count_out = 0;
    return PB_OK;
}

static void analyse(const char *file)
{
    const struct pb_stored_metrics stored = {devices, metrics, values, DEVICES, METRICS, VALUES};
    const struct pb_parameter_source source = {NULL, no_rows, NULL, &stored, version};

    assert_int_equal(pb_file_write_parameters_from(file, &source, NULL), PB_OK);
}

static enum pb_status read_back(const char *file, const char *wanted,
                                struct pb_stored_metrics *stored_out)
{
    struct pb_reader *reader = NULL;
    struct pb_stored_metrics stored = {0};
    enum pb_status status = pb_reader_open(file, &reader, NULL);

    assert_int_equal(status, PB_OK);
    status = pb_reader_metrics(reader, wanted, &stored, NULL);
    pb_reader_close(reader);
    if (stored_out != NULL)
        *stored_out = stored;
    else
        pb_stored_metrics_clear(&stored);
    return status;
}

/* An analysed file with one device and one test. */
static int make_file(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s", sample_in_folder("analysed.h5"));
    unlink(path);
    sample_write_fleet(path, "n1.gpu0");
    analyse(path);
    return 0;
}

static void test_metrics__are_read_back(void **state)
{
    struct pb_stored_metrics stored;

    (void)state;
    assert_int_equal(read_back(path, version, &stored), PB_OK);
    assert_int_equal(stored.device_count, DEVICES);
    assert_memory_equal(stored.devices, devices, sizeof(devices));
    assert_memory_equal(stored.metrics, metrics, sizeof(metrics));
    assert_memory_equal(stored.values, values, sizeof(values));
    pb_stored_metrics_clear(&stored);
}

static void test_metrics__hold_after_findings_and_another_analysis(void **state)
{
    const struct pb_finding_row finding = {.severity = "OK"};
    const struct pb_finding_tables tables = {&finding, 1, NULL, 0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pb_file_write_findings(path, &tables, NULL), PB_OK);
        assert_int_equal(read_back(path, version, NULL), PB_OK);
    }
    analyse(path);
    assert_int_equal(read_back(path, version, NULL), PB_OK);
}

static void test_metrics__of_another_version_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_back(path, "1.0+abd", NULL), PB_NOT_FOUND);
}

/* Where the first chunk of a dataset lies. */
static off_t find_chunk(const char *name)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    hsize_t offset[4], size = 0;
    unsigned mask;
    haddr_t address = 0;

    assert_true(H5Dget_chunk_info(dataset, space, 0, offset, &mask, &address, &size) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    return (off_t)address + (off_t)size / 2;
}

static void change_byte(off_t at)
{
    int file = open(path, O_RDWR);
    char byte = 0;

    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

static void test_metrics__of_a_changed_trace_are_refused(void **state)
{
    (void)state;
    change_byte(find_chunk("/devices/n1.gpu0/tests/l1_capacity/latency"));
    assert_int_equal(read_back(path, version, NULL), PB_INVALID);
}

static void test_metrics__with_a_changed_byte_are_refused(void **state)
{
    (void)state;
    change_byte(find_chunk("/analysis/metric_values"));
    assert_int_equal(read_back(path, version, NULL), PB_CORRUPT);
}

static hid_t open_to_write(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file;

    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    file = H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    assert_true(file >= 0);
    return file;
}

/* A latency or a value changed by way of HDF5, checksums and all. */
static void change_number(const char *name, hid_t type, const void *number)
{
    hid_t file = open_to_write();
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset), memory;
    hsize_t one = 1, first = 0;

    memory = H5Screate_simple(1, &one, NULL);
    assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &one, NULL) >= 0);
    assert_true(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, number) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
}

static void test_metrics__of_a_latency_written_by_hdf5_are_refused(void **state)
{
    const uint32_t latency = 12345;

    (void)state;
    change_number("/devices/n1.gpu0/tests/l1_capacity/latency", H5T_NATIVE_UINT32, &latency);
    assert_int_equal(read_back(path, version, NULL), PB_INVALID);
}

static void test_metrics__written_by_hdf5_are_refused(void **state)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(double));
    const double value = 1.0;

    (void)state;
    H5Tinsert(type, "value", 0, H5T_NATIVE_DOUBLE);
    change_number("/analysis/metric_values", type, &value);
    H5Tclose(type);
    assert_int_equal(read_back(path, version, NULL), PB_INVALID);
}

static void test_metrics__of_a_file_without_a_test_are_refused(void **state)
{
    hid_t file = open_to_write();

    (void)state;
    assert_true(H5Ldelete(file, "/devices/n1.gpu0/tests/l1_capacity", H5P_DEFAULT) >= 0);
    H5Fclose(file);
    assert_int_equal(read_back(path, version, NULL), PB_INVALID);
}

static void test_metrics__go_with_parameters_of_another_writer(void **state)
{
    const struct pb_parameter_row row = {.device = "n1.gpu0", .memory = "l2"};

    (void)state;
    assert_int_equal(pb_file_write_parameters(path, &row, 1, NULL), PB_OK);
    assert_int_equal(read_back(path, version, NULL), PB_NOT_FOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, make_file)
    const struct CMUnitTest tests[] = {
        TEST(test_metrics__are_read_back),
        TEST(test_metrics__hold_after_findings_and_another_analysis),
        TEST(test_metrics__of_another_version_are_refused),
        TEST(test_metrics__of_a_changed_trace_are_refused),
        TEST(test_metrics__with_a_changed_byte_are_refused),
        TEST(test_metrics__of_a_latency_written_by_hdf5_are_refused),
        TEST(test_metrics__written_by_hdf5_are_refused),
        TEST(test_metrics__of_a_file_without_a_test_are_refused),
        TEST(test_metrics__go_with_parameters_of_another_writer),
    };

    return cmocka_run_group_tests(tests, sample_make_folder, sample_remove_folder);
}
