/* Frames of a rank that become a file, and what the file must have to be put in place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/claim.h"
#include "run/collect.h"
#include "run/ledger.h"
#include "run/synthesize.h"
#include "run/unit.h"

struct place {
    char dir[64], out[96];
    struct pb_claim *claim;
    struct pb_collect *collect;
};

static void ignore(void *context, const struct pb_run_event *news)
{
    (void)context, (void)news;
}

static int open_collect(void **state)
{
    static const struct pb_run_listener observer = {.notify = ignore};
    static const struct pb_run run = {.run_id = "r", .created = "2026-01-01T00:00:00Z"};
    struct place *place = calloc(1, sizeof(*place));

    *state = place;
    snprintf(place->dir, sizeof(place->dir), "/tmp/plumb-collect-XXXXXX");
    if (mkdtemp(place->dir) == NULL)
        return -1;
    snprintf(place->out, sizeof(place->out), "%s/out.h5", place->dir);
    if (pb_claim_take(place->out, "test", &place->claim, NULL) != PB_OK)
        return -1;
    return pb_collect_open(place->out, &run, place->claim, 1, &observer, &place->collect, NULL) ==
                   PB_OK
               ? 0
               : -1;
}

static int close_collect(void **state)
{
    struct place *place = *state;

    pb_collect_abandon(place->collect);
    pb_claim_release(place->claim);
    unlink(place->out);
    rmdir(place->dir);
    free(place);
    return 0;
}

/* Takes a packed frame, which is freed. */
static void take(struct place *place, void *bytes, size_t size)
{
    struct pb_frame frame;

    assert_int_equal(pb_frame_unpack(bytes, size, &frame, NULL), PB_OK);
    assert_int_equal(pb_collect_take(place->collect, 0, &frame, NULL), PB_OK);
    free(bytes);
}

/* A finished test: two numbers of cycles. */
static void take_test(struct place *place)
{
    const double values[2] = {0, 1};
    struct pb_recording recording = {
        .name = "l1_capacity", .unit = "cycle", .method = "m", .sm_id = -1};
    struct pb_test_report report = {
        .key = "n.gpu0", .uuid = "A", .test = "l1_capacity", .outcome = "ok"};
    struct pb_matrix *matrix = &recording.matrix;
    struct pb_image image;
    struct pb_frame frame = {.type = PB_FRAME_TEST, .message = pb_message_test(&report)};

    matrix->rank = 1;
    assert_int_equal(pb_axis_set_values(&matrix->axes[0], "sm", "", "which", values, 2, NULL),
                     PB_OK);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "as stamped", NULL), PB_OK);
    assert_int_equal(pb_image_of_test("n.gpu0", &recording, NULL, 0, &image, NULL), PB_OK);
    pb_recording_clear(&recording);
    frame.body = image.bytes;
    frame.body_size = image.size;
    assert_int_equal(pb_collect_take(place->collect, 0, &frame, NULL), PB_OK);
    free(image.bytes);
    free((char *)(uintptr_t)frame.message);
}

/* One test that is ok, and a row that says so of tests_ok tests. */
static void take_rank(struct place *place, uint64_t tests_ok)
{
    const struct pb_opened opened = {.uuid = "A", .model = "a GPU"};
    struct pb_member member = {
        .key = "n.gpu0", .host = "n", .uuid = "A", .model = "a GPU", .tests_ok = tests_ok};
    void *bytes;
    size_t size;

    pb_member_set(&member, PB_MEMBER_OK, "");
    assert_int_equal(pb_synthesize_device("n.gpu0", "sim", &opened, 1, &bytes, &size, NULL), PB_OK);
    take(place, bytes, size);
    take_test(place);
    assert_int_equal(pb_synthesize_member(&member, &bytes, &size, NULL), PB_OK);
    take(place, bytes, size);
}

static enum pb_status commit(struct place *place, struct pb_error *err)
{
    struct pb_summary summary;
    enum pb_status status = pb_collect_commit(place->collect, &summary, err);

    place->collect = NULL;
    return status;
}

static void test_commit__file_with_all_that_is_finished_is_put_in_place(void **state)
{
    struct place *place = *state;

    take_rank(place, 1);
    assert_int_equal(commit(place, NULL), PB_OK);
    assert_int_equal(access(place->out, F_OK), 0);
}

/* As after a spool that could be read once, when its tests were counted, and not again. */
static void test_commit__file_that_lacks_a_finished_test_is_not_put_in_place(void **state)
{
    struct place *place = *state;
    struct pb_error err = PB_ERROR_INIT;

    take_rank(place, 2);
    assert_int_equal(commit(place, &err), PB_IO);
    assert_non_null(strstr(err.message, "expected 2 finished tests, found 1"));
    assert_int_not_equal(access(place->out, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commit__file_with_all_that_is_finished_is_put_in_place,
                                        open_collect, close_collect),
        cmocka_unit_test_setup_teardown(
            test_commit__file_that_lacks_a_finished_test_is_not_put_in_place, open_collect,
            close_collect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
