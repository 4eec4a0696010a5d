/*
 * Files of version 1, as recorded: read, copied and merged by the names of this version, with the
 * same data; see core/former.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/former.h"
#include "h5schema/file.h"
#include "h5schema/schema.h"

static const char recorded[] = PLUMB_TEST_DATA "/h200-parallel.h5";
static const char analysed[] = PLUMB_TEST_DATA "/h200-standard.h5";
static const char merged[] = "former-merged.h5";

static struct pb_reader *open_reader(const char *path)
{
    struct pb_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_reader_open(path, &reader, &err) != PB_OK)
        fail_msg("%s", err.message);
    return reader;
}

static struct pb_recording read_test(struct pb_reader *reader, const char *test)
{
    struct pb_recording recording;
    struct pb_key *keys = NULL;
    struct pb_error err = PB_ERROR_INIT;
    size_t count;

    assert_int_equal(pb_reader_devices(reader, &keys, &count, &err), PB_OK);
    assert_int_equal(count, 1);
    if (pb_reader_recording(reader, keys[0].text, test, &recording, &err) != PB_OK)
        fail_msg("%s", err.message);
    free(keys);
    return recording;
}

static bool is_listed(const struct pb_key *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].text, name) == 0)
            return true;
    return false;
}

/* Every test has its present name and none its former one; those of points likewise. */
static void check_names(const char *path, int64_t version)
{
    struct pb_reader *reader = open_reader(path);
    struct pb_recording recording = read_test(reader, "l1_capacity");
    struct pb_key *keys = NULL, *names = NULL;
    struct pb_run run;
    size_t key_count, count, traced = 0;

    assert_int_equal(pb_reader_run(reader, &run, NULL), PB_OK);
    assert_int_equal(run.schema_version, version);
    assert_int_equal(pb_reader_devices(reader, &keys, &key_count, NULL), PB_OK);
    assert_int_equal(pb_reader_tests(reader, keys[0].text, &names, &count, NULL), PB_OK);
    for (size_t i = 0; i < pb_former_name_count; i++)
        if (pb_former_names[i].kind == PB_NAME_OF_TEST) {
            assert_true(is_listed(names, count, pb_former_names[i].now));
            assert_false(is_listed(names, count, pb_former_names[i].before));
        }
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(names[i - 1].text, names[i].text) < 0);
    for (size_t i = 0; i < recording.series.point_count; i++) {
        bool is_traced = strcmp(recording.series.points[i].mode, "traced") == 0;

        assert_true(is_traced || strcmp(recording.series.points[i].mode, "timed") == 0);
        traced += is_traced;
    }
    assert_in_range(traced, 1, recording.series.point_count - 1);
    pb_recording_clear(&recording);
    free(keys);
    free(names);
    pb_reader_close(reader);
}

static void test_former__recording_is_read_by_present_names(void **state)
{
    (void)state;
    check_names(recorded, 1);
}

static void test_former__merged_file_is_of_this_version_with_the_same_data(void **state)
{
    struct pb_run run = {.created = "2026-01-01T00:00:00Z", .run_id = "former"};
    struct pb_fleet *fleet = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_reader *before, *after;
    struct pb_recording old, new;

    (void)state;
    unlink(merged);
    assert_int_equal(pb_fleet_create(merged, &run, &fleet, &err), PB_OK);
    if (pb_fleet_add_file(fleet, recorded, &err) != PB_OK ||
        pb_fleet_commit(fleet, true, &err) != PB_OK) /* which validates it */
        fail_msg("%s", err.message);
    check_names(merged, PB_SCHEMA_VERSION);
    before = open_reader(recorded);
    after = open_reader(merged);
    old = read_test(before, "tlb_remap");
    new = read_test(after, "tlb_remap");
    assert_string_equal(new.name, "tlb_remap");
    assert_int_equal(new.series.access_count, old.series.access_count);
    assert_int_equal(new.series.point_count, old.series.point_count);
    assert_memory_equal(new.series.latency_cycles, old.series.latency_cycles,
                        old.series.access_count * sizeof(*old.series.latency_cycles));
    assert_memory_equal(new.series.points, old.series.points,
                        old.series.point_count * sizeof(*old.series.points));
    pb_recording_clear(&old);
    pb_recording_clear(&new);
    pb_reader_close(before);
    pb_reader_close(after);
    unlink(merged);
}

static enum pb_status check_row(void *context, const struct pb_parameter_row *row,
                                struct pb_error *err)
{
    (void)err;
    assert_ptr_equal(pb_name_now(PB_NAME_OF_PARAMETER, row->parameter), row->parameter);
    *(bool *)context = *(bool *)context || strcmp(row->parameter, "same_cache_as") == 0;
    return PB_OK;
}

static void test_former__parameters_are_read_by_present_names(void **state)
{
    struct pb_reader *reader = open_reader(analysed);
    bool found = false;

    (void)state;
    assert_int_equal(pb_reader_parameters(reader, check_row, &found, NULL), PB_OK);
    assert_true(found);
    pb_reader_close(reader);
}

static void test_former__text_is_replaced_whole_behind_a_dot_and_never_beyond_its_end(void **state)
{
    char plain[16] = "per_sm", dotted[32] = "mshr.per_sm", other[16] = "per_smile", open[4];

    (void)state;
    pb_name_update(PB_NAME_OF_PARAMETER, plain, sizeof(plain));
    assert_string_equal(plain, "outstanding_per"); /* as much as there is room for */
    pb_name_update(PB_NAME_OF_PARAMETER, dotted, sizeof(dotted));
    assert_string_equal(dotted, "mshr.outstanding_per_sm");
    pb_name_update(PB_NAME_OF_PARAMETER, other, sizeof(other));
    assert_string_equal(other, "per_smile");
    memset(open, 'x', sizeof(open));
    pb_name_update(PB_NAME_OF_MODE, open, sizeof(open));
    assert_memory_equal(open, "xxxx", sizeof(open));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_former__recording_is_read_by_present_names),
        cmocka_unit_test(test_former__merged_file_is_of_this_version_with_the_same_data),
        cmocka_unit_test(test_former__parameters_are_read_by_present_names),
        cmocka_unit_test(test_former__text_is_replaced_whole_behind_a_dot_and_never_beyond_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
