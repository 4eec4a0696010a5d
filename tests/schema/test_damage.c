/* Damaged files: refused or reported, never the end of the process that reads them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/sample.h"

static void test_damage__truncated_file_is_refused(void **state)
{
    const char *path = sample_in_folder("short.h5");
    struct pb_error err = PB_ERROR_INIT;
    struct pb_reader *reader;
    struct stat found;

    (void)state;
    sample_write_fleet(path, "n1.gpu2");
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(truncate(path, found.st_size / 2), 0);
    assert_int_equal(pb_reader_open(path, &reader, &err), PB_INVALID);

    assert_non_null(strstr(err.message, "truncated"));
}

/*
 * Changes one byte at a time, `step` bytes apart, all over the file, and has it looked at. Returns
 * the share of changes that were noticed; the file is whole again.
 */
static double noticed_share(const char *path, off_t step, enum pb_status (*look)(const char *path))
{
    struct stat found;
    size_t noticed = 0, tried = 0;
    int file;

    assert_int_equal(stat(path, &found), 0);
    file = open(path, O_RDWR);
    for (off_t at = 0; at < found.st_size; at += step, tried++) {
        unsigned char byte, flipped;

        assert_int_equal(pread(file, &byte, 1, at), 1);
        flipped = byte ^ 0x55;
        assert_int_equal(pwrite(file, &flipped, 1, at), 1);
        noticed += look(path) != PB_OK;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
    return (double)noticed / (double)tried;
}

static enum pb_status validate(const char *path)
{
    size_t count = 0;

    return pb_file_validate(path, NULL, NULL, &count, NULL);
}

static void test_damage__flipped_bytes_never_crash_the_validator(void **state)
{
    const char *path = sample_in_folder("flipped.h5");

    (void)state;
    sample_write_fleet(path, "n1.gpu2");
    assert_true(noticed_share(path, 97, validate) > 0.1);
    assert_int_equal(sample_violations(path), 0);
}

/* Into a new file that is given up: what matters is that the process is there to do so. */
static enum pb_status join(const char *path)
{
    const struct pb_run run = {.run_id = "r"};
    struct pb_fleet *fleet;
    char joined[300];
    enum pb_status status;

    snprintf(joined, sizeof(joined), "%s.joined", path);
    assert_int_equal(pb_fleet_create(joined, &run, &fleet, NULL), PB_OK);
    status = pb_fleet_add_file(fleet, path, NULL);
    pb_fleet_abandon(fleet);
    return status;
}

static void test_damage__flipped_bytes_never_crash_a_merge(void **state)
{
    const char *path = sample_in_folder("merged.h5");

    (void)state;
    sample_write_fleet(path, "n1.gpu2");
    assert_true(noticed_share(path, 23, join) > 0.05);
    assert_int_equal(join(path), PB_OK);
}

/* Joins a damaged file and then a sound one, and commits; PB_OK: the result has its name. */
static enum pb_status join_both(const char *damaged, const char *sound, const char *joined)
{
    const struct pb_run run = {.run_id = "r"};
    struct pb_fleet *fleet;
    enum pb_status status;

    assert_int_equal(pb_fleet_create(joined, &run, &fleet, NULL), PB_OK);
    status = pb_fleet_add_file(fleet, damaged, NULL);
    if (status == PB_OK)
        status = pb_fleet_add_file(fleet, sound, NULL);
    if (status != PB_OK) {
        pb_fleet_abandon(fleet);
        return status;
    }
    return pb_fleet_commit(fleet, false, NULL);
}

/* The sound copy of a test, in a result that is valid or has no name. */
static enum pb_status join_with_sound(const char *path)
{
    struct pb_recording recording;
    struct pb_reader *reader;
    char joined[300], sound[300];
    enum pb_status status;

    snprintf(joined, sizeof(joined), "%s.joined", path);
    snprintf(sound, sizeof(sound), "%s.sound", path);
    status = join_both(path, sound, joined);
    if (status != PB_OK) {
        assert_int_not_equal(access(joined, F_OK), 0);
        return status;
    }
    assert_int_equal(sample_violations(joined), 0);
    assert_int_equal(pb_reader_open(joined, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_recording(reader, "n1.gpu2", "l1_capacity", &recording, NULL),
                     PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_OK);
    pb_recording_clear(&recording);
    pb_reader_close(reader);
    unlink(joined);
    return PB_OK;
}

static void test_damage__sound_copy_of_a_test_wins(void **state)
{
    const char *path = sample_in_folder("rotten.h5");
    char sound[300];

    (void)state;
    sample_write_fleet(path, "n1.gpu2");
    snprintf(sound, sizeof(sound), "%s.sound", path);
    sample_write_fleet(sound, "n1.gpu2");
    noticed_share(path, 41, join_with_sound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage__truncated_file_is_refused),
        cmocka_unit_test(test_damage__flipped_bytes_never_crash_the_validator),
        cmocka_unit_test(test_damage__flipped_bytes_never_crash_a_merge),
        cmocka_unit_test(test_damage__sound_copy_of_a_test_wins),
    };

    return cmocka_run_group_tests(tests, sample_make_folder, sample_remove_folder);
}
