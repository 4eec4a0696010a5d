/* Merging spools: cut ones, several runs, the same device twice, and what is no spool at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/ledger.h"
#include "run/merge.h"
#include "run/spool.h"
#include "run/synthesize.h"
#include "run/unit.h"

struct place {
    char dir[64], out[96];
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    snprintf(place->dir, sizeof(place->dir), "/tmp/plumb-merge-XXXXXX");
    if (mkdtemp(place->dir) == NULL)
        return -1;
    snprintf(place->out, sizeof(place->out), "%s/out.h5", place->dir);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    unlink(place->out);
    for (int rank = 0; rank < 4; rank++)
        for (uint32_t epoch = 1; epoch < 3; epoch++)
            pb_spool_remove(place->dir, rank, epoch);
    rmdir(place->dir);
    free(place);
    return 0;
}

static void append(struct pb_spool *spool, void *bytes, size_t size)
{
    assert_int_equal(pb_spool_append(spool, bytes, size, false, NULL), PB_OK);
    free(bytes);
}

static void append_outcome(struct pb_spool *spool, const char *key, const char *uuid,
                           const struct pb_test_spec *spec, enum pb_outcome outcome)
{
    void *bytes;
    size_t size;

    assert_int_equal(
        pb_synthesize_outcome(key, uuid, spec, outcome, 1, "because", &bytes, &size, NULL), PB_OK);
    append(spool, bytes, size);
}

static void overwrite(const char *path, long at, const char *text)
{
    FILE *file = fopen(path, "r+");

    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    int byte;

    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x10, file);
    assert_int_equal(fclose(file), 0);
}

enum { TEST_A = 1, TEST_B = 2, TESTS_BOTH = 3 };

/*
 * Writes the spool of a rank whose device has the tests a and b: `tests` names those that are in
 * it, and has_end whether it has an end.
 */
static void write_spool(const char *dir, int64_t rank, const char *key, const char *uuid, int tests,
                        bool has_end)
{
    struct pb_test_spec specs[] = {{"a", "cycle", "m", 0, 0}, {"b", "cycle", "m", 0, 0}};
    struct pb_plan plan = {.rank_count = 2, .tests = {specs, 2}};
    struct pb_opened opened = {.slot = 0};
    struct pb_spool *spool;
    void *bytes;
    size_t size;

    plan.member.rank = rank;
    PB_TEXT_SET(plan.run.run_id, "run-1");
    PB_TEXT_SET(plan.member.key, key);
    PB_TEXT_SET(plan.member.uuid, uuid);
    PB_TEXT_SET(opened.uuid, uuid);
    assert_int_equal(pb_spool_open(dir, rank, 1, &spool, NULL), PB_OK);
    assert_int_equal(pb_synthesize_plan(&plan, &bytes, &size, NULL), PB_OK);
    append(spool, bytes, size);
    assert_int_equal(pb_synthesize_device(key, "sim", &opened, 2, &bytes, &size, NULL), PB_OK);
    append(spool, bytes, size);
    for (int i = 0; i < 2; i++) {
        if ((tests >> i & 1) == 0)
            continue;
        assert_int_equal(pb_synthesize_outcome(key, uuid, &specs[i], PB_TEST_UNSUPPORTED, 1,
                                               "cannot", &bytes, &size, NULL),
                         PB_OK);
        append(spool, bytes, size);
    }
    pb_member_set(&plan.member, PB_MEMBER_OK, "");
    assert_int_equal(pb_synthesize_member(&plan.member, &bytes, &size, NULL), PB_OK);
    if (has_end)
        append(spool, bytes, size);
    else
        free(bytes);
    pb_spool_close(spool);
}

static void count_notice(void *context, const char *line)
{
    (void)line;
    ++*(int *)context;
}

static enum pb_status merge(const struct place *place, const char *input, int *notices_out,
                            struct pb_error *err)
{
    const struct pb_run run = {.run_id = "merged"};
    struct pb_summary summary;

    *notices_out = 0;
    return pb_merge(&input, 1, place->out, &run, count_notice, notices_out, &summary, err);
}

/* The rows of the result, to be freed. */
static struct pb_member *read_rows(const struct place *place, size_t *count_out)
{
    struct pb_reader *reader;
    struct pb_member *rows;

    assert_int_equal(pb_reader_open(place->out, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_members(reader, &rows, count_out, NULL), PB_OK);
    pb_reader_close(reader);
    return rows;
}

static void assert_valid(const struct place *place)
{
    size_t complaints = 0;

    assert_int_equal(pb_file_validate(place->out, NULL, NULL, &complaints, NULL), PB_OK);
    assert_int_equal(complaints, 0);
}

static void test_merge__whole_spools_make_a_complete_file(void **state)
{
    struct place *place = *state;
    struct pb_member *rows;
    size_t count;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    rows = read_rows(place, &count);
    assert_int_equal(notices, 0);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].status, "ok");
    assert_string_equal(rows[1].key, "n.gpu1");
    free(rows);
    assert_valid(place);
}

static void test_merge__cut_spool_says_what_is_missing(void **state)
{
    struct place *place = *state;
    struct pb_recording recording;
    struct pb_reader *reader;
    struct pb_member *rows;
    size_t count;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TEST_A, false);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    rows = read_rows(place, &count);
    assert_int_equal(notices, 1);
    assert_string_equal(rows[0].status, "ok");
    assert_int_equal(rows[1].tests_failed, 1);
    assert_non_null(strstr(rows[1].message, "b missing: the run was cut short"));
    free(rows);
    assert_int_equal(pb_reader_open(place->out, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_recording(reader, "n.gpu1", "b", &recording, NULL), PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_MISSING);
    pb_recording_clear(&recording);
    pb_reader_close(reader);
    assert_valid(place);
}

static void test_merge__rank_without_a_spool_gets_a_row(void **state)
{
    struct place *place = *state;
    struct pb_member *rows;
    size_t count;
    int notices;

    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    rows = read_rows(place, &count);
    assert_int_equal(notices, 1);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].status, "failed");
    assert_string_equal(rows[0].message, "no spool of this rank was found");
    free(rows);
    assert_valid(place);
}

static void test_merge__spool_torn_anywhere_makes_a_valid_file(void **state)
{
    struct place *place = *state;
    char path[128];
    int notices;
    long size;
    FILE *file;

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(pb_spool_path(place->dir, 1, 1, path, sizeof(path), NULL), PB_OK);
    file = fopen(path, "r");
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    fclose(file);
    for (long at = size - 1; at > 0; at -= at > 1100 ? 977 : 23) {
        assert_int_equal(truncate(path, at), 0);
        assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
        assert_in_range(notices, 1, 2);
        assert_valid(place);
    }
}

/* Whatever is left of one spool, the others count. */
static void test_merge__spool_without_a_sound_frame_costs_its_rank_only(void **state)
{
    static const long sizes[] = {1000, 40, 10, 2, 0};
    struct place *place = *state;
    char path[128];

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(pb_spool_path(place->dir, 1, 1, path, sizeof(path), NULL), PB_OK);
    overwrite(path, 3, "torn");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pb_member *rows;
        size_t count;
        int notices;

        assert_int_equal(truncate(path, sizes[i]), 0);
        if (sizes[i] == 1000)
            overwrite(path, 330, "torn too"); /* the plan is one frame of some 350 bytes */
        assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
        assert_true(notices >= 1);
        rows = read_rows(place, &count);
        assert_int_equal(count, 2);
        assert_string_equal(rows[0].status, "ok");
        assert_string_not_equal(rows[1].status, "ok");
        free(rows);
        assert_valid(place);
    }
}

/* One flipped bit anywhere: the frames that it does not hit are all there. */
static void test_merge__flipped_byte_costs_one_frame_at_most(void **state)
{
    struct place *place = *state;
    char path[128];
    struct stat about;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(pb_spool_path(place->dir, 1, 1, path, sizeof(path), NULL), PB_OK);
    assert_int_equal(stat(path, &about), 0);
    for (long at = 0; at < about.st_size; at += at < 64 ? 1 : 331) {
        struct pb_member *rows;
        size_t count;

        flip(path, at);
        assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
        assert_int_equal(notices > 0, true);
        rows = read_rows(place, &count);
        assert_int_equal(count, 2);
        assert_string_equal(rows[1].key, "n.gpu1"); /* who it is survives, too */
        free(rows);
        assert_valid(place);
        flip(path, at);
    }
}

/* A later epoch has sealed the file at what was there; its old writer goes on writing. */
static void test_merge__what_is_written_after_a_takeover_is_refused(void **state)
{
    struct place *place = *state;
    struct pb_spool_files files = {NULL, 0};
    struct pb_test_spec specs[] = {{"a", "cycle", "m", 0, 0}, {"b", "cycle", "m", 0, 0}};
    struct pb_plan plan = {.rank_count = 1, .tests = {specs, 2}};
    struct pb_recording recording;
    struct pb_reader *reader;
    struct pb_spool *old, *spool;
    void *bytes;
    size_t size;
    int notices;

    PB_TEXT_SET(plan.run.run_id, "run-1");
    PB_TEXT_SET(plan.member.key, "n.gpu0");
    PB_TEXT_SET(plan.member.uuid, "A");
    assert_int_equal(pb_spool_open(place->dir, 0, 1, &old, NULL), PB_OK);
    assert_int_equal(pb_synthesize_plan(&plan, &bytes, &size, NULL), PB_OK);
    append(old, bytes, size);

    assert_int_equal(pb_spool_list(place->dir, &files, NULL), PB_OK);
    pb_spool_limit(&files);
    assert_int_equal(pb_spool_open(place->dir, 0, 2, &spool, NULL), PB_OK);
    assert_int_equal(pb_synthesize_plan(&plan, &bytes, &size, NULL), PB_OK);
    append(spool, bytes, size);
    assert_int_equal(pb_spool_seal(&files, &bytes, &size, NULL), PB_OK);
    append(spool, bytes, size);
    pb_spool_files_clear(&files);

    append_outcome(spool, "n.gpu0", "A", &specs[0], PB_TEST_UNSUPPORTED);
    append_outcome(old, "n.gpu0", "A", &specs[0], PB_TEST_CRASHED);
    append_outcome(old, "n.gpu0", "A", &specs[1], PB_TEST_CRASHED);
    pb_spool_close(old);
    pb_spool_close(spool);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    assert_int_equal(pb_reader_open(place->out, &reader, NULL), PB_OK);
    assert_int_equal(pb_reader_recording(reader, "n.gpu0", "a", &recording, NULL), PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    pb_recording_clear(&recording);
    assert_int_equal(pb_reader_recording(reader, "n.gpu0", "b", &recording, NULL), PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_MISSING);
    pb_recording_clear(&recording);
    pb_reader_close(reader);
    assert_valid(place);
}

/* A test that crashed with the whole node, then found unsupported on the device alone. */
static void test_merge__worse_outcome_is_not_replaced_by_a_weaker_test(void **state)
{
    struct place *place = *state;
    const struct pb_test_spec of_node = {"a_together", "cycle", "m", 2, 0},
                              alone = {"a_together", "cycle", "m", 1, 0};
    struct pb_member *rows;
    struct pb_spool *spool;
    size_t count;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", 0, false);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(pb_spool_open(place->dir, 2, 1, &spool, NULL), PB_OK);
    append_outcome(spool, "n.gpu0", "A", &of_node, PB_TEST_CRASHED);
    append_outcome(spool, "n.gpu0", "A", &alone, PB_TEST_UNSUPPORTED);
    pb_spool_close(spool);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    rows = read_rows(place, &count);
    assert_string_equal(rows[0].status, "crashed");
    free(rows);
    assert_valid(place);
}

static void test_merge__rank_after_the_largest_number_is_a_free_one(void **state)
{
    struct place *place = *state;
    const struct pb_run run = {.run_id = "r"};
    struct pb_member row = {.rank = INT64_MAX, .slot = -1, .status = "failed"};
    struct pb_member *rows;
    struct pb_fleet *fleet;
    size_t count;

    assert_int_equal(pb_fleet_create(place->out, &run, &fleet, NULL), PB_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pb_fleet_join_row(fleet, &row, NULL), PB_OK);
    assert_int_equal(pb_fleet_members(fleet, &rows, &count, NULL), PB_OK);
    assert_int_equal(count, 3);
    assert_int_equal(rows[0].rank, 0);
    assert_int_equal(rows[1].rank, 1);
    assert_int_equal(rows[2].rank, INT64_MAX);
    free(rows);
    pb_fleet_abandon(fleet);
}

static void test_merge__two_devices_of_one_key_are_refused(void **state)
{
    struct place *place = *state;
    struct pb_error err = PB_ERROR_INIT;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu0", "B", TESTS_BOTH, true);
    assert_int_equal(merge(place, place->dir, &notices, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "n.gpu0"));
    assert_int_not_equal(access(place->out, F_OK), 0);
}

static void test_merge__taken_ranks_get_the_next_numbers(void **state)
{
    struct place *place = *state;
    const struct pb_run run = {.run_id = "merged"};
    struct pb_summary summary;
    struct pb_member *rows;
    const char *inputs[2];
    char first[96];
    size_t count;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    snprintf(first, sizeof(first), "%s/first.h5", place->dir);
    assert_int_equal(rename(place->out, first), 0);
    pb_spool_remove(place->dir, 0, 1);
    pb_spool_remove(place->dir, 1, 1);
    write_spool(place->dir, 0, "m.gpu0", "C", TESTS_BOTH, true);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true); /* the same device again */
    inputs[0] = first;
    inputs[1] = place->dir;
    assert_int_equal(pb_merge(inputs, 2, place->out, &run, count_notice, &notices, &summary, NULL),
                     PB_OK);
    rows = read_rows(place, &count);
    assert_int_equal(count, 3);
    assert_string_equal(rows[1].key, "n.gpu1");
    assert_string_equal(rows[2].key, "m.gpu0");
    assert_int_equal(rows[2].rank, 2);
    free(rows);
    unlink(first);
    assert_valid(place);
}

/* One run got as far as a, another one as far as b: together they are whole. */
static void test_merge__halves_of_one_device_make_a_whole(void **state)
{
    struct place *place = *state;
    const struct pb_run run = {.run_id = "merged"};
    struct pb_summary summary;
    char first[96];
    const char *inputs[] = {first, place->dir};
    struct pb_member *rows;
    size_t count;
    int notices;

    write_spool(place->dir, 0, "n.gpu0", "A", TEST_A, false);
    write_spool(place->dir, 1, "n.gpu1", "B", TESTS_BOTH, true);
    assert_int_equal(merge(place, place->dir, &notices, NULL), PB_OK);
    snprintf(first, sizeof(first), "%s/first.h5", place->dir);
    assert_int_equal(rename(place->out, first), 0);
    pb_spool_remove(place->dir, 0, 1);
    write_spool(place->dir, 0, "n.gpu0", "A", TEST_B, false);
    assert_int_equal(pb_merge(inputs, 2, place->out, &run, count_notice, &notices, &summary, NULL),
                     PB_OK);
    rows = read_rows(place, &count);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].status, "ok");
    assert_int_equal(rows[0].tests_failed, 0);
    free(rows);
    unlink(first);
    assert_valid(place);
}

static void test_merge__what_is_neither_is_refused(void **state)
{
    struct place *place = *state;
    struct pb_error err = PB_ERROR_INIT;
    int notices;

    assert_int_equal(merge(place, place->dir, &notices, &err), PB_INVALID); /* an empty folder */
    assert_non_null(strstr(err.message, "no spool in it"));
    assert_int_equal(merge(place, "/nonexistent", &notices, &err), PB_INVALID);
    assert_int_equal(merge(place, "/etc/passwd", &notices, &err), PB_INVALID);
    assert_int_not_equal(access(place->out, F_OK), 0);
}

int main(void)
{
#define MERGE_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        MERGE_TEST(test_merge__whole_spools_make_a_complete_file),
        MERGE_TEST(test_merge__cut_spool_says_what_is_missing),
        MERGE_TEST(test_merge__rank_without_a_spool_gets_a_row),
        MERGE_TEST(test_merge__spool_torn_anywhere_makes_a_valid_file),
        MERGE_TEST(test_merge__spool_without_a_sound_frame_costs_its_rank_only),
        MERGE_TEST(test_merge__flipped_byte_costs_one_frame_at_most),
        MERGE_TEST(test_merge__what_is_written_after_a_takeover_is_refused),
        MERGE_TEST(test_merge__worse_outcome_is_not_replaced_by_a_weaker_test),
        MERGE_TEST(test_merge__rank_after_the_largest_number_is_a_free_one),
        MERGE_TEST(test_merge__two_devices_of_one_key_are_refused),
        MERGE_TEST(test_merge__taken_ranks_get_the_next_numbers),
        MERGE_TEST(test_merge__halves_of_one_device_make_a_whole),
        MERGE_TEST(test_merge__what_is_neither_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
