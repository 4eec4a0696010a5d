/* Links used by all of a node at once: what is recorded of whom one meets, or does not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

/* Others that come to every meeting but the one of number `missed`. */
struct others {
    int64_t count, missed;
    int64_t meetings; /* held so far */
};

static enum pb_status meet(void *context, const char *test, int64_t number, int64_t *count_out,
                           struct pb_error *err)
{
    struct others *others = context;

    (void)err;
    assert_string_equal(test, "host_link_concurrent");
    assert_int_equal(number, others->meetings++);
    *count_out = number == others->missed ? 1 : others->count;
    return PB_OK;
}

static void run_with(struct others *others, struct pb_recording *recording_out)
{
    struct pb_session session;

    rig_open("gtx780", NULL, &session);
    session.links = (struct pb_node_links){meet, NULL, others};
    rig_run(&session, "host_link_concurrent", recording_out);
    pb_session_close(&session);
}

static void test_host_link_concurrent__every_cell_says_with_how_many(void **state)
{
    struct others others = {.count = 4, .missed = -1};
    struct pb_recording recording;

    (void)state;
    run_with(&others, &recording);
    assert_int_equal(others.meetings, 4);
    assert_string_equal(recording.message, "4 devices at once");
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i += 2) {
        assert_true(recording.matrix.values[i] > 1e8);
        assert_true(recording.matrix.values[i + 1] == 4);
    }
    pb_recording_clear(&recording);
}

static void test_host_link_concurrent__who_stays_away_shows(void **state)
{
    struct others others = {.count = 3, .missed = 2};
    struct pb_recording recording;

    (void)state;
    run_with(&others, &recording);
    assert_string_equal(recording.message, "1 to 3 devices at once");
    assert_true(recording.matrix.values[1] == 3);
    assert_true(recording.matrix.values[5] == 1);
    pb_recording_clear(&recording);
}

/* The others do not wait for ever: at this barrier they were, and have gone on. */
static enum pb_status miss(void *context, const char *test, int64_t number, int64_t *count_out,
                           struct pb_error *err)
{
    const int64_t *missed = context;

    (void)test, (void)err;
    *count_out = number == *missed ? 0 : 4;
    return PB_OK;
}

/* Neither ok with fewer devices nor unsupported: it is to be repeated by the whole node. */
static void test_host_link_concurrent__who_is_late_fails(void **state)
{
    struct pb_recording recording;
    struct pb_state states[2];
    struct pb_session session;

    (void)state;
    for (int64_t missed = 0; missed < 4; missed++) {
        rig_open("gtx780", NULL, &session);
        session.links = (struct pb_node_links){miss, NULL, &missed};
        assert_int_equal(pb_session_run(&session, pb_test_find("host_link_concurrent"), &recording,
                                        states, NULL),
                         PB_OK);
        assert_int_equal(recording.outcome, PB_TEST_FAILED);
        assert_non_null(strstr(recording.message, "measured without this one"));
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* Transfers of this device do not slow down in the simulator: what is alike must look alike. */
static void test_host_link_concurrent__agrees_with_the_link_alone(void **state)
{
    struct others others = {.count = 2, .missed = -1};
    struct pb_recording together, alone;
    size_t pinned[] = {0, 1, 0}, large[] = {0, 1, 0};

    (void)state;
    run_with(&others, &together);
    rig_record("gtx780", "host_link", &alone);
    large[2] = rig_at(&alone.matrix.axes[2], 64 << 20);
    assert_true(fabs(rig_value(&together.matrix, pinned) / rig_value(&alone.matrix, large) - 1) <
                0.02);
    pb_recording_clear(&together);
    pb_recording_clear(&alone);
}

static void assert_nobody(const char *test)
{
    struct pb_recording recording;
    struct pb_state states[2];
    struct pb_session session;

    rig_open("gtx780", NULL, &session);
    assert_int_equal(pb_session_run(&session, pb_test_find(test), &recording, states, NULL), PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "no other device of this node"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_concurrent__without_other_devices_is_unsupported(void **state)
{
    (void)state;
    assert_nobody("host_link_concurrent");
    assert_nobody("peer_link_concurrent");
}

/* What peer_link requests of the others, as "barrier0 links1 ". */
struct requests {
    char text[100];
};

static void record(void *context, const char *what, int64_t number)
{
    struct requests *requests = context;
    size_t used = strlen(requests->text);

    snprintf(requests->text + used, sizeof(requests->text) - used, "%s%lld ", what,
             (long long)number);
}

static enum pb_status record_barrier(void *context, const char *test, int64_t number,
                                     int64_t *count_out, struct pb_error *err)
{
    (void)err;
    assert_string_equal(test, "peer_link");
    record(context, "barrier", number);
    *count_out = 4;
    return PB_OK;
}

static enum pb_status record_links(void *context, const char *test, struct pb_error *err)
{
    (void)err;
    assert_string_equal(test, "peer_link");
    record(context, "links", 1);
    return PB_OK;
}

/* Others are at rest while it measures, and all the while before. */
static void test_peer_link__passes_the_barrier_and_then_has_the_links(void **state)
{
    struct pb_recording recording;
    struct pb_session session;
    struct requests requests = {""};

    (void)state;
    rig_open("h200", NULL, &session);
    session.links = (struct pb_node_links){record_barrier, record_links, &requests};
    rig_run(&session, "peer_link", &recording);
    assert_string_equal(requests.text, "barrier0 links1 ");
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static enum pb_status refuse_links(void *context, const char *test, struct pb_error *err)
{
    (void)context;
    return pb_fail(err, PB_IO, "%s: the orders end", test);
}

static void test_peer_link__without_an_answer_measures_nothing(void **state)
{
    struct pb_recording recording;
    struct pb_state states[2];
    struct pb_session session;
    struct requests requests = {""};

    (void)state;
    rig_open("h200", NULL, &session);
    session.links = (struct pb_node_links){record_barrier, refuse_links, &requests};
    assert_int_equal(pb_session_run(&session, pb_test_find("peer_link"), &recording, states, NULL),
                     PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_FAILED);
    assert_int_equal(pb_matrix_size(&recording.matrix), 0);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_link_use__of_each_test_is_as_in_the_table(void **state)
{
    (void)state;
    assert_int_equal(pb_test_link_use(pb_test_find("l1_capacity")), PB_LINKS_UNUSED);
    assert_int_equal(pb_test_link_use(pb_test_find("host_link")), PB_LINKS_EXCLUSIVE);
    assert_int_equal(pb_test_link_use(pb_test_find("peer_link")), PB_LINKS_CONCURRENT);
    assert_int_equal(pb_test_link_use(pb_test_find("peer_link_concurrent")), PB_LINKS_CONCURRENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_link_concurrent__every_cell_says_with_how_many),
        cmocka_unit_test(test_host_link_concurrent__who_stays_away_shows),
        cmocka_unit_test(test_host_link_concurrent__who_is_late_fails),
        cmocka_unit_test(test_host_link_concurrent__agrees_with_the_link_alone),
        cmocka_unit_test(test_concurrent__without_other_devices_is_unsupported),
        cmocka_unit_test(test_peer_link__passes_the_barrier_and_then_has_the_links),
        cmocka_unit_test(test_peer_link__without_an_answer_measures_nothing),
        cmocka_unit_test(test_link_use__of_each_test_is_as_in_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
