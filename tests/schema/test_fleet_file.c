/* The fleet file: what goes in comes out, what is broken is refused, what is better wins. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/sample.h"

static void test_fleet_file__round_trip_keeps_accesses_matrix_and_state(void **state)
{
    const char *path = sample_in_folder("round.h5");
    struct pb_reader *reader;
    struct pb_recording recording;
    struct pb_device_info info;
    struct pb_state *states;
    size_t count;

    (void)state;
    sample_write_fleet(path, "n1.gpu2");
    assert_int_equal(sample_violations(path), 0);
    assert_int_equal(pb_reader_open(path, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_recording(reader, "n1.gpu2", "l1_capacity", &recording, NULL),
                     PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_OK);
    assert_int_equal(recording.method_version, 3);
    assert_int_equal(recording.series.point_count, 2);
    assert_int_equal(recording.series.points[1].first, 3);
    assert_string_equal(recording.series.points[1].path, "global_ca");
    assert_int_equal(recording.series.latency_cycles[4], 301);
    assert_int_equal(recording.series.index_bytes[4], 128);
    assert_int_equal(recording.matrix.rank, 2);
    assert_string_equal(recording.matrix.axes[0].labels[1], "write");
    assert_float_equal(recording.matrix.axes[1].values[2], 128, 0);
    assert_float_equal(recording.matrix.values[4], 4, 0);
    assert_true(isnan(recording.matrix.values[5]));
    pb_recording_clear(&recording);

    assert_int_equal(pb_reader_device(reader, "n1.gpu2", &info, NULL), PB_OK);
    assert_string_equal(info.model, "Test GPU");
    assert_true(isnan(info.power_limit_w));
    assert_int_equal(pb_reader_states(reader, "n1.gpu2", &states, &count, NULL), PB_OK);
    assert_int_equal(count, 2);
    assert_int_equal(states[1].throttle_reasons, 0x40);
    free(states);
    pb_reader_close(reader);
}

/* Each within what there is, but more than that together: any time could be spent on them. */
static void test_fleet_file__points_that_share_accesses_are_refused(void **state)
{
    const char *path = sample_in_folder("shared.h5");
    struct pb_run run = {.run_id = "r"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_recording recording;
    struct pb_fleet *fleet;

    (void)state;
    sample_fill_recording(&recording, "l1_capacity");
    recording.series.points[1].first = 1;
    recording.series.points[1].count = 4;
    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    sample_add_device(fleet, "n1.gpu2");
    sample_add_test(fleet, "n1.gpu2", &recording);
    pb_recording_clear(&recording);
    assert_int_equal(pb_fleet_commit(fleet, true, &err), PB_IO);
    assert_non_null(strstr(err.message, "left 2 of 5"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_fleet_file__stored_bytes_are_fewer_than_repeated_data(void **state)
{
    const char *path = sample_in_folder("stored.h5");
    struct pb_run run = {.run_id = "r"};
    struct pb_recording recording;
    struct pb_point point = {.count = 100000};
    uint32_t *latency = calloc(100000, sizeof(*latency));
    uint64_t *index = calloc(100000, sizeof(*index));
    struct pb_reader *reader;
    struct pb_fleet *fleet;
    uint64_t bytes = 0;

    (void)state;
    sample_fill_recording(&recording, "l1_capacity");
    assert_int_equal(pb_series_append(&recording.series, &point, latency, index, NULL), PB_OK);
    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    sample_add_device(fleet, "n1.gpu2");
    sample_add_test(fleet, "n1.gpu2", &recording);
    assert_int_equal(pb_fleet_commit(fleet, false, NULL), PB_OK);
    assert_int_equal(pb_reader_open(path, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_stored_bytes(reader, "n1.gpu2", "l1_capacity", &bytes, NULL), PB_OK);
    assert_in_range(bytes, 100, 100000);
    assert_int_equal(pb_reader_stored_bytes(reader, "n1.gpu2", "none", &bytes, NULL), PB_NOT_FOUND);
    pb_reader_close(reader);
    pb_recording_clear(&recording);
    free(latency);
    free(index);
}

static void test_fleet_file__output_appears_only_when_whole(void **state)
{
    struct pb_run run = {.run_id = "r"};
    struct pb_fleet *fleet;
    const char *path = sample_in_folder("whole.h5");

    (void)state;
    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    pb_fleet_abandon(fleet);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_fleet_file__foreign_output_is_refused_and_untouched(void **state)
{
    struct pb_run run = {.run_id = "r"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_fleet *fleet;
    const char *path = sample_in_folder("foreign.h5");
    FILE *file = fopen(path, "w");
    char text[16] = "";

    (void)state;
    fputs("not ours", file);
    fclose(file);
    assert_int_equal(pb_fleet_create(path, &run, &fleet, &err), PB_EXISTS);
    assert_non_null(strstr(err.message, "foreign.h5"));
    file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "not ours");
}

static void test_fleet_file__missing_folder_is_refused(void **state)
{
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_fleet_may_create(sample_in_folder("none/x.h5"), &err), PB_INVALID);
    assert_non_null(strstr(err.message, "No such file"));
}

static void test_fleet_file__better_test_wins_over_failed_one(void **state)
{
    const char *path = sample_in_folder("better.h5");
    struct pb_run run = {.run_id = "r"};
    struct pb_recording good, bad = {.outcome = PB_TEST_HUNG}, got;
    struct pb_reader *reader;
    struct pb_fleet *fleet;

    (void)state;
    PB_TEXT_SET(bad.name, "l1_capacity");
    sample_fill_recording(&good, "l1_capacity");
    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    sample_add_device(fleet, "n1.gpu2");
    sample_add_test(fleet, "n1.gpu2", &bad);
    sample_add_test(fleet, "n1.gpu2", &good);
    sample_add_test(fleet, "n1.gpu2", &bad);
    sample_add_member(fleet, 0, "n1.gpu2", "ok");
    assert_int_equal(pb_fleet_commit(fleet, true, NULL), PB_OK);
    pb_recording_clear(&good);

    assert_int_equal(pb_reader_open(path, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_recording(reader, "n1.gpu2", "l1_capacity", &got, NULL), PB_OK);
    assert_int_equal(got.outcome, PB_TEST_OK);
    assert_int_equal(got.matrix.rank, 2);
    pb_recording_clear(&got);
    pb_reader_close(reader);
    assert_int_equal(sample_violations(path), 0);
}

static void test_fleet_file__damaged_images_are_refused(void **state)
{
    struct pb_run run = {.run_id = "r"};
    struct pb_recording recording;
    struct pb_fleet *fleet;
    struct pb_image image;

    (void)state;
    sample_fill_recording(&recording, "l1_capacity");
    assert_int_equal(pb_image_of_test("n1.gpu2", &recording, NULL, 0, &image, NULL), PB_OK);
    pb_recording_clear(&recording);
    assert_int_equal(pb_fleet_create(sample_in_folder("damaged.h5"), &run, &fleet, NULL), PB_OK);
    assert_int_not_equal(pb_fleet_add(fleet, image.bytes, image.size / 2, NULL), PB_OK);
    assert_int_not_equal(pb_fleet_add(fleet, "garbage", 7, NULL), PB_OK);
    memset(image.bytes, 0, 8);
    assert_int_not_equal(pb_fleet_add(fleet, image.bytes, image.size, NULL), PB_OK);
    free(image.bytes);
    pb_fleet_abandon(fleet);
}

static void test_fleet_file__two_devices_under_one_key_are_refused(void **state)
{
    struct pb_run run = {.run_id = "r"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_device_info other = sample_device_info();
    struct pb_fleet *fleet;
    struct pb_image image;

    (void)state;
    PB_TEXT_SET(other.uuid, "GPU-2");
    assert_int_equal(pb_fleet_create(sample_in_folder("two.h5"), &run, &fleet, NULL), PB_OK);
    sample_add_device(fleet, "n1.gpu2");
    assert_int_equal(pb_image_of_device("n1.gpu2", &other, &image, NULL), PB_OK);
    assert_int_equal(pb_fleet_add(fleet, image.bytes, image.size, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "GPU-2"));
    free(image.bytes);
    pb_fleet_abandon(fleet);
}

static void test_fleet_file__joining_files_renumbers_taken_ranks(void **state)
{
    char first[256], second[256];
    const char *path;
    struct pb_run run = {.run_id = "r"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_member *members;
    struct pb_fleet *fleet;
    size_t count;

    (void)state;
    snprintf(first, sizeof(first), "%s", sample_in_folder("first.h5"));
    snprintf(second, sizeof(second), "%s", sample_in_folder("second.h5"));
    sample_write_fleet(first, "n1.gpu2");
    sample_write_fleet(second, "n2.gpu2");
    path = sample_in_folder("joined.h5");
    assert_int_equal(pb_fleet_create(path, &run, &fleet, &err), PB_OK);
    assert_int_equal(pb_fleet_add_file(fleet, first, &err), PB_OK);
    assert_int_equal(pb_fleet_add_file(fleet, second, &err), PB_OK);
    assert_int_equal(pb_fleet_add_file(fleet, second, &err), PB_OK); /* twice is once */
    assert_int_equal(pb_fleet_members(fleet, &members, &count, &err), PB_OK);
    assert_int_equal(count, 2);
    assert_int_equal(members[1].rank, 1);
    free(members);
    assert_int_equal(pb_fleet_commit(fleet, true, &err), PB_OK);
    assert_int_equal(sample_violations(path), 0);
}

static void test_fleet_file__wrong_claims_do_not_get_a_name(void **state)
{
    const char *path = sample_in_folder("claims.h5");
    struct pb_run run = {.run_id = "r"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_fleet *fleet;

    (void)state;
    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    sample_add_member(fleet, 0, "n9.gpu9", "splendid"); /* no such status, no such device */
    assert_int_equal(pb_fleet_commit(fleet, true, &err), PB_IO);
    assert_non_null(strstr(err.message, "splendid"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_fleet_file__parameters_are_replaced_and_data_is_kept(void **state)
{
    const char *path = sample_in_folder("parameters.h5");
    struct pb_parameter_row row = {.number = 16384, .confidence = 1};
    struct pb_reader *reader;
    struct pb_recording recording;

    (void)state;
    PB_TEXT_SET(row.device, "n1.gpu2");
    sample_write_fleet(path, "n1.gpu2");
    assert_int_equal(pb_file_write_parameters(path, &row, 1, NULL), PB_OK);
    assert_int_equal(pb_file_write_parameters(path, &row, 1, NULL), PB_OK);
    assert_int_equal(sample_violations(path), 0);
    assert_int_equal(pb_reader_open(path, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_recording(reader, "n1.gpu2", "l1_capacity", &recording, NULL),
                     PB_OK);
    pb_recording_clear(&recording);
    pb_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fleet_file__round_trip_keeps_accesses_matrix_and_state),
        cmocka_unit_test(test_fleet_file__points_that_share_accesses_are_refused),
        cmocka_unit_test(test_fleet_file__stored_bytes_are_fewer_than_repeated_data),
        cmocka_unit_test(test_fleet_file__output_appears_only_when_whole),
        cmocka_unit_test(test_fleet_file__foreign_output_is_refused_and_untouched),
        cmocka_unit_test(test_fleet_file__missing_folder_is_refused),
        cmocka_unit_test(test_fleet_file__better_test_wins_over_failed_one),
        cmocka_unit_test(test_fleet_file__damaged_images_are_refused),
        cmocka_unit_test(test_fleet_file__two_devices_under_one_key_are_refused),
        cmocka_unit_test(test_fleet_file__joining_files_renumbers_taken_ranks),
        cmocka_unit_test(test_fleet_file__wrong_claims_do_not_get_a_name),
        cmocka_unit_test(test_fleet_file__parameters_are_replaced_and_data_is_kept),
    };

    return cmocka_run_group_tests(tests, sample_make_folder, sample_remove_folder);
}
