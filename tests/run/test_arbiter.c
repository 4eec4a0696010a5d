/* Turns and meetings of a node: one alone, all together, and nobody waits for ever. */
#include "run/arbiter.h"

#include <stdio.h>
#include <string.h>

#include "run/unit.h"

enum { MEMBERS = 4, LINKS_SECONDS = 10, BARRIER_SECONDS = 20 };

static struct pb_test_spec specs[] = {
    {"other", "", "", 0}, {"together", "", "", 0}, {"third", "", "", 0}};
static const struct pb_test_list tests = {specs, 3};

static int open_arbiter(void **state)
{
    const struct pb_arbiter_rules rules = {MEMBERS, &tests, LINKS_SECONDS, BARRIER_SECONDS};

    return pb_arbiter_create(&rules, (struct pb_arbiter **)state, NULL) != PB_OK;
}

static int close_arbiter(void **state)
{
    pb_arbiter_free(*state);
    return 0;
}

static void send_of(struct pb_arbiter *arbiter, size_t member, enum pb_node_message_kind kind,
                    const char *test, int64_t number, double seconds)
{
    struct pb_node_message message = {.kind = kind, .serial = 7};

    if (kind == PB_NODE_PASS)
        PB_TEXT_SET(message.payload.passed_test, test);
    if (kind == PB_NODE_BARRIER) {
        PB_TEXT_SET(message.payload.barrier.test, test);
        message.payload.barrier.number = number;
    }
    pb_arbiter_handle(arbiter, member, &message, seconds);
}

static void send(struct pb_arbiter *arbiter, size_t member, enum pb_node_message_kind kind,
                 int64_t number, double seconds)
{
    send_of(arbiter, member, kind, "together", number, seconds);
}

/* All answers of now, as "MEMBER:COUNT MEMBER:COUNT". */
static void assert_answers(struct pb_arbiter *arbiter, double seconds, const char *expected)
{
    char found[100] = "";
    struct pb_node_message message;
    size_t member;

    while (pb_arbiter_next_grant(arbiter, seconds, &member, &message)) {
        size_t used = strlen(found);

        assert_int_equal(message.kind, PB_NODE_GRANT);
        assert_int_equal(message.serial, 7);
        snprintf(found + used, sizeof(found) - used, "%s%zu:%lld", used == 0 ? "" : " ", member,
                 (long long)message.payload.granted);
    }
    assert_string_equal(found, expected);
}

static void test_arbiter__turns_come_one_after_the_other(void **state)
{
    send(*state, 2, PB_NODE_AWAIT_LINKS, 0, 0);
    send(*state, 0, PB_NODE_AWAIT_LINKS, 0, 1);
    assert_answers(*state, 1, "2:1");
    assert_answers(*state, 2, "");
    send(*state, 2, PB_NODE_RELEASE, 0, 3);
    assert_answers(*state, 3, "0:1");
}

static void test_arbiter__a_try_does_not_wait(void **state)
{
    send(*state, 1, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "1:1");
    send(*state, 0, PB_NODE_TRY_LINKS, 0, 1);
    assert_answers(*state, 1, "0:0");
    send(*state, 1, PB_NODE_RELEASE, 0, 2);
    assert_answers(*state, 2, "");
    send(*state, 0, PB_NODE_TRY_LINKS, 0, 3);
    assert_answers(*state, 3, "0:1");
}

static void test_arbiter__a_hung_turn_is_forfeited(void **state)
{
    send(*state, 0, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_NODE_AWAIT_LINKS, 0, 1);
    assert_answers(*state, LINKS_SECONDS, "");
    assert_answers(*state, LINKS_SECONDS + 1, "1:1");
    send(*state, 0, PB_NODE_RELEASE, 0, LINKS_SECONDS + 2); /* takes nothing from another */
    send(*state, 2, PB_NODE_TRY_LINKS, 0, LINKS_SECONDS + 2);
    assert_answers(*state, LINKS_SECONDS + 2, "2:0");
}

static void test_arbiter__who_is_gone_frees_its_turn(void **state)
{
    send(*state, 0, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_NODE_AWAIT_LINKS, 0, 1);
    send(*state, 0, PB_NODE_LEAVE, 0, 2);
    assert_answers(*state, 2, "1:1");
}

static void test_arbiter__who_left_the_line_gets_no_turn(void **state)
{
    send(*state, 0, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_NODE_AWAIT_LINKS, 0, 1);
    send(*state, 1, PB_NODE_RELEASE, 0, 2);
    send(*state, 0, PB_NODE_RELEASE, 0, 3);
    assert_answers(*state, 3, "");
}

static void test_arbiter__a_meeting_waits_for_all(void **state)
{
    send(*state, 3, PB_NODE_BARRIER, 0, 0);
    send(*state, 0, PB_NODE_BARRIER, 0, 1);
    send(*state, 1, PB_NODE_BARRIER, 0, 1);
    assert_answers(*state, 2, "");
    send(*state, 2, PB_NODE_BARRIER, 0, 3);
    assert_answers(*state, 3, "0:4 1:4 2:4 3:4");
}

static void test_arbiter__a_meeting_does_not_wait_for_those_who_pass(void **state)
{
    send(*state, 0, PB_NODE_PASS, 0, 0);
    send(*state, 1, PB_NODE_LEAVE, 0, 0);
    send(*state, 2, PB_NODE_BARRIER, 0, 1);
    send(*state, 3, PB_NODE_BARRIER, 0, 1);
    assert_answers(*state, 1, "2:2 3:2");
}

/* One hangs before the meeting: the others wait once, not again at the next number. */
static void test_arbiter__who_is_late_is_not_awaited_again(void **state)
{
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, BARRIER_SECONDS, "");
    assert_answers(*state, BARRIER_SECONDS + 1, "0:3 1:3 2:3");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 1, BARRIER_SECONDS + 2);
    assert_answers(*state, BARRIER_SECONDS + 2, "0:3 1:3 2:3");
}

/* Nor at the meetings of another test, unless it is heard of. */
static void test_arbiter__who_is_late_is_not_awaited_elsewhere(void **state)
{
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, BARRIER_SECONDS + 1, "0:3 1:3 2:3");
    for (size_t i = 0; i < 3; i++)
        send_of(*state, i, PB_NODE_BARRIER, "other", 0, BARRIER_SECONDS + 2);
    assert_answers(*state, BARRIER_SECONDS + 2, "0:3 1:3 2:3");
    send(*state, 3, PB_NODE_RELEASE, 0, BARRIER_SECONDS + 3);
    for (size_t i = 0; i < 3; i++)
        send_of(*state, i, PB_NODE_BARRIER, "third", 0, BARRIER_SECONDS + 3);
    assert_answers(*state, BARRIER_SECONDS + 3, "");
    send_of(*state, 3, PB_NODE_BARRIER, "third", 0, BARRIER_SECONDS + 4);
    assert_answers(*state, BARRIER_SECONDS + 4, "0:4 1:4 2:4 3:4");
}

/* Who keeps the links for too long does not come to a meeting either. */
static void test_arbiter__who_forfeits_its_turn_is_not_awaited(void **state)
{
    send(*state, 0, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_NODE_AWAIT_LINKS, 0, 1);
    assert_answers(*state, LINKS_SECONDS + 1, "1:1");
    for (size_t i = 1; i < 4; i++)
        send(*state, i, PB_NODE_BARRIER, 0, LINKS_SECONDS + 2);
    assert_answers(*state, LINKS_SECONDS + 2, "1:3 2:3 3:3");
}

/*
 * It is back: those who are past that meeting do not come to it again, and alone it would measure
 * something else, with those who are just as late, too.
 */
static void test_arbiter__who_is_late_may_not_begin(void **state)
{
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, BARRIER_SECONDS + 1, "0:3 1:3 2:3");
    send(*state, 3, PB_NODE_BARRIER, 0, BARRIER_SECONDS + 2);
    assert_answers(*state, BARRIER_SECONDS + 2, "3:0");
}

static void test_arbiter__two_who_are_late_may_not_begin(void **state)
{
    for (size_t i = 0; i < 2; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, BARRIER_SECONDS + 1, "0:2 1:2");
    for (size_t i = 2; i < 4; i++)
        send(*state, i, PB_NODE_BARRIER, 0, BARRIER_SECONDS + 2);
    assert_answers(*state, BARRIER_SECONDS + 2, "2:0 3:0");
}

/* Late at a later barrier of the test: the others have gone on there, too. */
static void test_arbiter__who_is_late_at_a_later_barrier_may_not_go_on(void **state)
{
    for (size_t i = 0; i < 4; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, 0, "0:4 1:4 2:4 3:4");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 1, 1);
    assert_answers(*state, BARRIER_SECONDS + 2, "0:3 1:3 2:3");
    send(*state, 3, PB_NODE_BARRIER, 1, BARRIER_SECONDS + 3);
    assert_answers(*state, BARRIER_SECONDS + 3, "3:0");
}

/* Three hold their turns as long as they may: who was first waits for them. */
static void test_arbiter__a_meeting_waits_for_those_in_line(void **state)
{
    send(*state, 0, PB_NODE_BARRIER, 0, 0);
    for (size_t i = 1; i < 4; i++)
        send(*state, i, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "1:1");
    for (size_t i = 1; i < 4; i++) {
        double seconds = LINKS_SECONDS * (double)i;

        assert_answers(*state, seconds - 1, "");
        send(*state, i, PB_NODE_RELEASE, 0, seconds);
        send(*state, i, PB_NODE_BARRIER, 0, seconds);
        assert_answers(*state, seconds, i == 1 ? "2:1" : i == 2 ? "3:1" : "0:4 1:4 2:4 3:4");
    }
}

static void test_arbiter__no_turn_in_the_middle_of_a_meeting(void **state)
{
    send(*state, 3, PB_NODE_PASS, 0, 0);
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, 0, "0:3 1:3 2:3");
    send(*state, 3, PB_NODE_AWAIT_LINKS, 0, 1);
    assert_answers(*state, 1, "");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_RELEASE, 0, 2);
    assert_answers(*state, 2, "3:1");
}

/* After a meeting all ask for a turn: who gets it knows that the others do nothing but wait. */
static void test_arbiter__turns_after_a_meeting_begin_when_all_are_at_rest(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 0);
    assert_answers(*state, 0, "0:4 1:4 2:4 3:4");
    send(*state, 1, PB_NODE_AWAIT_LINKS, 0, 1);
    send(*state, 0, PB_NODE_AWAIT_LINKS, 0, 2);
    send(*state, 3, PB_NODE_AWAIT_LINKS, 0, 2);
    assert_answers(*state, 3, "");
    send(*state, 2, PB_NODE_RELEASE, 0, 4);
    assert_answers(*state, 4, "1:1");
    send(*state, 1, PB_NODE_RELEASE, 0, 5);
    assert_answers(*state, 5, "0:1");
}

/* The last one does not come to this meeting, but it has the links. */
static void test_arbiter__no_meeting_in_the_middle_of_a_turn(void **state)
{
    send(*state, 3, PB_NODE_PASS, 0, 0);
    send(*state, 3, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "3:1");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 1);
    assert_answers(*state, LINKS_SECONDS, "");
    send(*state, 3, PB_NODE_RELEASE, 0, LINKS_SECONDS);
    assert_answers(*state, LINKS_SECONDS, "0:3 1:3 2:3");
}

static void test_arbiter__a_meeting_does_not_wait_for_a_forfeited_turn(void **state)
{
    send(*state, 3, PB_NODE_PASS, 0, 0);
    send(*state, 3, PB_NODE_AWAIT_LINKS, 0, 0);
    assert_answers(*state, 0, "3:1");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_NODE_BARRIER, 0, 1);
    assert_answers(*state, LINKS_SECONDS + 1, "0:3 1:3 2:3");
}

static void test_arbiter__is_over_when_all_are_gone(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_false(pb_arbiter_is_over(*state));
        send(*state, i, PB_NODE_LEAVE, 0, 0);
    }
    assert_true(pb_arbiter_is_over(*state));
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, open_arbiter, close_arbiter)
    const struct CMUnitTest cases[] = {
        CASE(test_arbiter__turns_come_one_after_the_other),
        CASE(test_arbiter__a_try_does_not_wait),
        CASE(test_arbiter__a_hung_turn_is_forfeited),
        CASE(test_arbiter__who_is_gone_frees_its_turn),
        CASE(test_arbiter__who_left_the_line_gets_no_turn),
        CASE(test_arbiter__a_meeting_waits_for_all),
        CASE(test_arbiter__a_meeting_does_not_wait_for_those_who_pass),
        CASE(test_arbiter__who_is_late_is_not_awaited_again),
        CASE(test_arbiter__who_is_late_is_not_awaited_elsewhere),
        CASE(test_arbiter__who_forfeits_its_turn_is_not_awaited),
        CASE(test_arbiter__who_is_late_may_not_begin),
        CASE(test_arbiter__two_who_are_late_may_not_begin),
        CASE(test_arbiter__who_is_late_at_a_later_barrier_may_not_go_on),
        CASE(test_arbiter__a_meeting_waits_for_those_in_line),
        CASE(test_arbiter__no_turn_in_the_middle_of_a_meeting),
        CASE(test_arbiter__turns_after_a_meeting_begin_when_all_are_at_rest),
        CASE(test_arbiter__no_meeting_in_the_middle_of_a_turn),
        CASE(test_arbiter__a_meeting_does_not_wait_for_a_forfeited_turn),
        CASE(test_arbiter__is_over_when_all_are_gone),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
