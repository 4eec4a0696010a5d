/* The supervisor against probes that hang, die and talk nonsense: each costs what it must. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "run/supervisor.h"
#include "run/unit.h"

enum { STEPS_MAX = 4000 }; /* of 10 ms: far more than any of this takes */

/* Everything a supervisor said, as text: "DEVICE STARTa a=ok …". */
struct event_log {
    char text[2000];
    int ok_count;
    struct pb_failure failure;
    char message[PB_MESSAGE_LENGTH]; /* of the last test that is not ok */
};

static void append(struct event_log *event_log, const char *word)
{
    size_t used = strlen(event_log->text);

    snprintf(event_log->text + used, sizeof(event_log->text) - used, "%s%s", used == 0 ? "" : " ",
             word);
}

static void append_frame(struct event_log *event_log, const struct pb_event *event)
{
    char word[160];

    assert_non_null(event->frame_bytes);
    assert_true(event->frame_size >= PB_FRAME_HEADER_SIZE);
    if (event->frame.type == PB_FRAME_TEST)
        snprintf(word, sizeof(word), "%s=%s", event->report.test, event->report.outcome);
    else
        snprintf(word, sizeof(word), "%s%s", pb_frame_type_name(event->frame.type),
                 event->report.test);
    append(event_log, word);
    event_log->ok_count +=
        event->frame.type == PB_FRAME_TEST && strcmp(event->report.outcome, "ok") == 0;
    if (event->frame.type == PB_FRAME_TEST && strcmp(event->report.outcome, "ok") != 0)
        PB_TEXT_SET(event_log->message, event->report.message);
}

/* What the probe waits for begins at once: the host link, or a step. */
static void answer(struct pb_supervisor *supervisor, struct event_log *event_log)
{
    const struct pb_ready *ready = pb_supervisor_waits_for(supervisor);
    char word[80];

    if (ready == NULL)
        return;
    snprintf(word, sizeof(word), "wait%s", ready->test);
    append(event_log, word);
    if (strcmp(ready->test, "c") == 0)
        pb_supervisor_give_links(supervisor);
    else
        pb_supervisor_go(supervisor, 1);
    assert_null(pb_supervisor_waits_for(supervisor));
}

static enum pb_supervisor_event_kind act(struct pb_supervisor *supervisor,
                                         const struct pb_event *event, struct event_log *event_log)
{
    switch (event->kind) {
    case PB_EVENT_HELLO:
        pb_supervisor_open(supervisor, "0", 0);
        break;
    case PB_EVENT_OPENED:
        assert_int_equal(
            pb_supervisor_run(supervisor, "h.gpu0", &pb_supervisor_hello(supervisor)->tests, NULL),
            PB_OK);
        break;
    case PB_EVENT_FRAME:
        append_frame(event_log, event);
        break;
    case PB_EVENT_REFUSED:
        append(event_log, "REFUSED");
        break;
    default:
        answer(supervisor, event_log);
    }
    return event->kind;
}

/* Runs a fake probe with these arguments to its end. */
static struct event_log run(const char *first, const char *second, double deadline_seconds)
{
    const char *const argv[] = {FAKE_PROBE, first, second, NULL};
    struct event_log event_log = {.text = ""};
    struct pb_supervisor *supervisor;
    enum pb_supervisor_event_kind kind = PB_EVENT_NONE;

    assert_int_equal(pb_supervisor_create(argv, deadline_seconds, &supervisor, NULL), PB_OK);
    for (int i = 0; i < STEPS_MAX && kind != PB_EVENT_OVER && kind != PB_EVENT_REFUSED; i++) {
        struct pb_event event;

        assert_int_equal(pb_supervisor_step(supervisor, 0.01, &event, NULL), PB_OK);
        kind = act(supervisor, &event, &event_log);
    }
    assert_true(kind == PB_EVENT_OVER || kind == PB_EVENT_REFUSED);
    event_log.failure = *pb_supervisor_failure(supervisor);
    pb_supervisor_close(supervisor);
    return event_log;
}

static void test_supervisor__sound_probe_runs_all(void **state)
{
    struct event_log event_log = run("sound", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=ok STARTc c=ok");
    assert_int_equal(event_log.ok_count, 3);
}

static void test_supervisor__hang_costs_the_test_only(void **state)
{
    struct event_log event_log = run("hang@b", NULL, 1);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=hung STARTc c=ok");
    assert_string_equal(event_log.message, "passed its deadline of 1 s; the probe was killed");
}

static void test_supervisor__death_costs_the_test_only(void **state)
{
    struct event_log event_log = run("die@b", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=crashed STARTc c=ok");
    assert_string_equal(event_log.message, "the probe died of signal 9 (Killed)");
}

/* Whether the job ends is for the probe's parent to say, which gets the signal too. */
static void test_supervisor__signal_to_the_whole_job_is_no_crash(void **state)
{
    struct event_log event_log = run("terminated@b", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=ok STARTc c=ok");
}

static void test_supervisor__exit_says_its_status(void **state)
{
    struct event_log event_log = run("exit@c", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=ok STARTc c=crashed");
    assert_string_equal(event_log.message, "the probe ended with exit status 3");
}

static void test_supervisor__garbage_costs_the_test_only(void **state)
{
    struct event_log event_log = run("garbage@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=crashed STARTb b=ok STARTc c=ok");
    assert_non_null(strstr(event_log.message, "garbage"));
}

/* What cannot be read costs its test, and never the file of all devices. */
static void test_supervisor__unreadable_result_costs_the_test_only(void **state)
{
    struct event_log event_log = run("unreadable@b", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=crashed STARTc c=ok");
    assert_non_null(strstr(event_log.message, "results that cannot be read"));
}

static void test_supervisor__torn_frame_says_how_the_probe_ended(void **state)
{
    struct event_log event_log = run("torn@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=crashed STARTb b=ok STARTc c=ok");
    assert_true(strstr(event_log.message, "exit status 4") != NULL ||
                strstr(event_log.message, "inside a frame") != NULL);
}

static void test_supervisor__closed_pipe_of_a_living_probe(void **state)
{
    struct event_log event_log = run("mute@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=crashed STARTb b=ok STARTc c=ok");
    assert_non_null(strstr(event_log.message, "signal 9"));
}

static void test_supervisor__result_of_another_test_is_not_believed(void **state)
{
    struct event_log event_log = run("wrong@b", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=crashed STARTc c=ok");
    assert_non_null(strstr(event_log.message, "\"z\", which was not running"));
}

static void test_supervisor__several_deaths_each_cost_one_test(void **state)
{
    struct event_log event_log = run("die@a", "hang@c", 1);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=crashed STARTb b=ok STARTc c=hung");
}

static void test_supervisor__lost_device_is_not_tried_again(void **state)
{
    struct event_log event_log = run("lost@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=lost b=missing c=missing");
    assert_string_equal(event_log.message, "the device was lost in a");
}

static void test_supervisor__probe_that_surrenders_is_replaced(void **state)
{
    struct event_log event_log = run("surrender@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=failed STARTb b=ok STARTc c=ok");
}

static void test_supervisor__other_device_after_a_restart_ends_it(void **state)
{
    struct event_log event_log = run("other", "die@a", 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=crashed b=lost c=lost");
    assert_non_null(strstr(event_log.message, "in the place of"));
}

static void test_supervisor__restarts_without_progress_are_bounded(void **state)
{
    struct event_log event_log = run("die-unasked", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE a=missing b=missing c=missing");
    assert_non_null(strstr(event_log.message, "given up"));
}

static void test_supervisor__test_that_was_passed_over_is_missing(void **state)
{
    struct event_log event_log = run("skip@b", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTc c=ok b=missing");
}

static void test_supervisor__measured_and_packed_is_a_test(void **state)
{
    struct event_log event_log = run("measures", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=ok STARTc c=ok");
}

/* Without a deadline: it may take as long as the other devices need. */
static void test_supervisor__a_wait_ends_with_an_order(void **state)
{
    struct event_log event_log = run("measures", "wait@a", 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE waita STARTa a=ok STARTb b=ok STARTc c=ok");
}

/* The host link is the device's: the next probe has it from its start. */
static void test_supervisor__the_host_link_outlasts_a_probe(void **state)
{
    const char *const argv[] = {FAKE_PROBE, "wait@c", "die@a", NULL};
    enum pb_supervisor_event_kind kind = PB_EVENT_NONE;
    struct event_log event_log = {.text = ""};
    struct pb_supervisor *supervisor;

    (void)state;
    assert_int_equal(pb_supervisor_create(argv, 60, &supervisor, NULL), PB_OK);
    pb_supervisor_give_links(supervisor);
    for (int i = 0; i < STEPS_MAX && kind != PB_EVENT_OVER; i++) {
        struct pb_event event;

        assert_int_equal(pb_supervisor_step(supervisor, 0.01, &event, NULL), PB_OK);
        assert_null(pb_supervisor_waits_for(supervisor));
        kind = act(supervisor, &event, &event_log);
    }
    assert_string_equal(event_log.text, "DEVICE STARTa a=crashed STARTb b=ok STARTc c=ok");
    assert_false(pb_supervisor_is_left(supervisor, "c"));
    pb_supervisor_close(supervisor);
}

/* The next test hangs before this one's result is there: it is waited for. */
static void test_supervisor__hang_does_not_cost_the_test_before(void **state)
{
    struct event_log event_log = run("late@a", NULL, 1);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa STARTb a=ok b=hung STARTc c=ok");
    assert_string_equal(event_log.message, "passed its deadline of 1 s; the probe was killed");
}

static void test_supervisor__death_with_a_result_measures_it_again(void **state)
{
    struct event_log event_log = run("dropped-once@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa STARTb b=crashed STARTa a=ok STARTc c=ok");
    assert_int_equal(event_log.ok_count, 2);
}

static void test_supervisor__death_with_a_result_is_not_repeated_for_ever(void **state)
{
    struct event_log event_log = run("dropped@a", NULL, 60);

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa STARTb b=crashed STARTa STARTc a=crashed "
                                        "c=crashed");
}

static void assert_refused(const char *what, enum pb_member_status member_status,
                           enum pb_status status, const char *message)
{
    struct event_log event_log = run(what, NULL, 60);

    assert_string_equal(event_log.text, "REFUSED");
    assert_int_equal(event_log.failure.member_status, member_status);
    assert_int_equal(event_log.failure.status, status);
    assert_non_null(strstr(event_log.failure.message, message));
}

static void test_supervisor__refusal_keeps_status_and_words(void **state)
{
    (void)state;
    assert_refused("hello=refuse", PB_MEMBER_FAILED, PB_INVALID, "battery \"x\"");
    assert_refused("open=refuse", PB_MEMBER_ABSENT, PB_NOT_FOUND, "no device 0");
}

static void test_supervisor__death_before_the_device_is_open(void **state)
{
    (void)state;
    assert_refused("hello=die", PB_MEMBER_CRASHED, PB_DEVICE, "signal 9");
    assert_refused("open=die", PB_MEMBER_CRASHED, PB_DEVICE, "signal 9");
    assert_refused("hello=garbage", PB_MEMBER_CRASHED, PB_DEVICE, "garbage");
}

static void test_supervisor__missing_program_is_invalid(void **state)
{
    const char *const argv[] = {"/nonexistent/probe", NULL};
    struct pb_supervisor *supervisor = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_supervisor_create(argv, 60, &supervisor, &err), PB_INVALID);
    assert_null(supervisor);
    assert_non_null(strstr(err.message, "/nonexistent/probe"));
}

/* Stops where b begins. */
static struct event_log run_until_b(const char *what)
{
    const char *const argv[] = {FAKE_PROBE, what, NULL};
    struct event_log event_log = {.text = ""};
    struct pb_supervisor *supervisor;
    enum pb_supervisor_event_kind kind = PB_EVENT_NONE;

    assert_int_equal(pb_supervisor_create(argv, 60, &supervisor, NULL), PB_OK);
    for (int i = 0; i < STEPS_MAX && kind != PB_EVENT_OVER; i++) {
        struct pb_event event;

        assert_int_equal(pb_supervisor_step(supervisor, 0.01, &event, NULL), PB_OK);
        kind = act(supervisor, &event, &event_log);
        if (kind == PB_EVENT_FRAME && event.frame.type == PB_FRAME_START &&
            strcmp(event.report.test, "b") == 0)
            pb_supervisor_stop(supervisor, "the run was stopped");
    }
    pb_supervisor_close(supervisor);
    return event_log;
}

/* Stopping in the middle of a test abandons it and the rest at once. */
static void test_supervisor__stop_accounts_for_every_test(void **state)
{
    struct event_log event_log = run_until_b("hang@b");

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa a=ok STARTb b=missing c=missing");
    assert_string_equal(event_log.message, "the run was stopped");
}

static void test_supervisor__stop_waits_for_what_is_measured(void **state)
{
    struct event_log event_log = run_until_b("late@a");

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa STARTb a=ok b=missing c=missing");
    assert_string_equal(event_log.message, "the run was stopped");
}

/* The packer hangs, too: the wait has an end. */
static void test_supervisor__stop_does_not_wait_for_ever(void **state)
{
    struct event_log event_log = run_until_b("late-for-ever@a");

    (void)state;
    assert_string_equal(event_log.text, "DEVICE STARTa STARTb a=missing b=missing c=missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supervisor__sound_probe_runs_all),
        cmocka_unit_test(test_supervisor__hang_costs_the_test_only),
        cmocka_unit_test(test_supervisor__death_costs_the_test_only),
        cmocka_unit_test(test_supervisor__signal_to_the_whole_job_is_no_crash),
        cmocka_unit_test(test_supervisor__exit_says_its_status),
        cmocka_unit_test(test_supervisor__garbage_costs_the_test_only),
        cmocka_unit_test(test_supervisor__unreadable_result_costs_the_test_only),
        cmocka_unit_test(test_supervisor__torn_frame_says_how_the_probe_ended),
        cmocka_unit_test(test_supervisor__closed_pipe_of_a_living_probe),
        cmocka_unit_test(test_supervisor__result_of_another_test_is_not_believed),
        cmocka_unit_test(test_supervisor__several_deaths_each_cost_one_test),
        cmocka_unit_test(test_supervisor__lost_device_is_not_tried_again),
        cmocka_unit_test(test_supervisor__probe_that_surrenders_is_replaced),
        cmocka_unit_test(test_supervisor__other_device_after_a_restart_ends_it),
        cmocka_unit_test(test_supervisor__restarts_without_progress_are_bounded),
        cmocka_unit_test(test_supervisor__test_that_was_passed_over_is_missing),
        cmocka_unit_test(test_supervisor__refusal_keeps_status_and_words),
        cmocka_unit_test(test_supervisor__death_before_the_device_is_open),
        cmocka_unit_test(test_supervisor__missing_program_is_invalid),
        cmocka_unit_test(test_supervisor__measured_and_packed_is_a_test),
        cmocka_unit_test(test_supervisor__a_wait_ends_with_an_order),
        cmocka_unit_test(test_supervisor__the_host_link_outlasts_a_probe),
        cmocka_unit_test(test_supervisor__hang_does_not_cost_the_test_before),
        cmocka_unit_test(test_supervisor__death_with_a_result_measures_it_again),
        cmocka_unit_test(test_supervisor__death_with_a_result_is_not_repeated_for_ever),
        cmocka_unit_test(test_supervisor__stop_accounts_for_every_test),
        cmocka_unit_test(test_supervisor__stop_waits_for_what_is_measured),
        cmocka_unit_test(test_supervisor__stop_does_not_wait_for_ever),
    };

    signal(SIGPIPE, SIG_IGN); /* as plumb-run does: a dead probe shows at its other pipe */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
