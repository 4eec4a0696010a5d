/* The shared steps of a node: exclusive steps, barriers, and no member that waits for ever. */
#include "run/arbiter.h"

#include <stdio.h>
#include <string.h>

#include "battery/battery.h"
#include "run/unit.h"

enum { MEMBERS = 4, TIMEOUT_SECONDS = 20 };

/* Steps of the concurrent tests with index 0 and 1. */
enum {
    FIRST = PB_NODE_STEPS,
    FIRST_TURN = FIRST + PB_STEP_EXCLUSIVE,
    SECOND = 2 * PB_NODE_STEPS,
    SECOND_TURN = SECOND + PB_STEP_EXCLUSIVE,
};

static int open_arbiter(void **state)
{
    return pb_arbiter_create(MEMBERS, TIMEOUT_SECONDS, (struct pb_arbiter **)state, NULL) != PB_OK;
}

static int close_arbiter(void **state)
{
    pb_arbiter_free(*state);
    return 0;
}

static void waits_at(struct pb_arbiter *arbiter, size_t member, int64_t position, double seconds)
{
    pb_arbiter_place(arbiter, member, &(struct pb_node_place){position, 1}, seconds);
}

static void is_before(struct pb_arbiter *arbiter, size_t member, int64_t position, double seconds)
{
    pb_arbiter_place(arbiter, member, &(struct pb_node_place){position, 0}, seconds);
}

/* All BEGINs of now, as "MEMBER:COUNT MEMBER:COUNT"; each for where the member stands. */
static void assert_begins(struct pb_arbiter *arbiter, double seconds, const char *expected)
{
    char found[100] = "";
    struct pb_node_begin begin;
    size_t member;

    while (pb_arbiter_next_begin(arbiter, seconds, &member, &begin)) {
        size_t used = strlen(found);

        snprintf(found + used, sizeof(found) - used, "%s%zu:%lld", used == 0 ? "" : " ", member,
                 (long long)begin.count);
    }
    assert_string_equal(found, expected);
}

/* No exclusive tests are left: all are before that step. */
static void all_before(struct pb_arbiter *arbiter, int64_t position, double seconds)
{
    for (size_t i = 0; i < MEMBERS; i++)
        is_before(arbiter, i, position, seconds);
}

/* ---- the host link, member by member ---- */

static void test_arbiter__the_host_link_goes_from_member_to_member(void **state)
{
    assert_begins(*state, 0, "0:1");
    assert_begins(*state, 1, "");
    is_before(*state, 0, FIRST, 2);
    assert_begins(*state, 2, "1:1");
    is_before(*state, 1, FIRST, 3);
    assert_begins(*state, 3, "2:1");
}

static void test_arbiter__who_has_no_exclusive_tests_is_passed_over(void **state)
{
    is_before(*state, 0, FIRST, 0);
    is_before(*state, 1, PB_NODE_IDLE, 0);
    is_before(*state, 2, PB_NODE_END, 0);
    assert_begins(*state, 0, "3:1");
}

/* Whether it waits for it or measures something else meanwhile. */
static void test_arbiter__the_host_link_goes_to_one_member_after_the_other(void **state)
{
    assert_begins(*state, 0, "0:1");
    waits_at(*state, 2, 0, 1);
    assert_begins(*state, 1, "");
    is_before(*state, 0, FIRST, 2);
    assert_begins(*state, 2, "1:1");
}

static void test_arbiter__who_does_not_report_loses_the_host_link(void **state)
{
    assert_begins(*state, 0, "0:1");
    waits_at(*state, 1, 0, 5);
    assert_begins(*state, 5 + TIMEOUT_SECONDS, "");
    assert_begins(*state, 6 + TIMEOUT_SECONDS, "1:1");
    is_before(*state, 0, 0, 7 + TIMEOUT_SECONDS); /* it is back, and has to wait */
    assert_begins(*state, 7 + TIMEOUT_SECONDS, "");
    is_before(*state, 1, FIRST, 8 + TIMEOUT_SECONDS);
    assert_begins(*state, 8 + TIMEOUT_SECONDS, "0:1");
}

/* ---- barriers ---- */

static void test_arbiter__a_barrier_waits_for_all(void **state)
{
    all_before(*state, FIRST, 0);
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST, 1);
    assert_begins(*state, 2, "");
    waits_at(*state, 3, FIRST, 3);
    assert_begins(*state, 3, "0:4 1:4 2:4 3:4");
}

static void test_arbiter__a_barrier_waits_for_exclusive_tests(void **state)
{
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST, 0);
    assert_begins(*state, 0, "3:1");
    waits_at(*state, 3, FIRST, 5);
    assert_begins(*state, 5, "0:4 1:4 2:4 3:4");
}

static void test_arbiter__a_barrier_does_not_wait_for_those_behind_it(void **state)
{
    is_before(*state, 0, SECOND, 0); /* that test failed there, or was done before */
    is_before(*state, 1, PB_NODE_END, 0);
    waits_at(*state, 2, FIRST, 1);
    waits_at(*state, 3, FIRST, 1);
    assert_begins(*state, 1, "2:2 3:2");
}

/* Its probe died at the barrier: the others begin once its rank has the outcome of the test. */
static void test_arbiter__who_dies_at_a_barrier_is_not_counted(void **state)
{
    all_before(*state, FIRST, 0);
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST, 0);
    is_before(*state, 2, FIRST, 1);
    waits_at(*state, 3, FIRST, 2);
    assert_begins(*state, 2, "");
    is_before(*state, 2, SECOND, 3);
    assert_begins(*state, 3, "0:3 1:3 3:3");
}

static void test_arbiter__the_next_barrier_waits_for_those_who_measure(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++)
        waits_at(*state, i, FIRST, 0);
    assert_begins(*state, 0, "0:4 1:4 2:4 3:4");
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST + 1, 1);
    assert_begins(*state, 1, "");
    waits_at(*state, 3, FIRST + 1, 2);
    assert_begins(*state, 2, "0:4 1:4 2:4 3:4");
}

/* One does not report: the others wait once, not again at the next barriers. */
static void test_arbiter__who_is_late_is_not_awaited_again(void **state)
{
    all_before(*state, FIRST, 0);
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST, 1);
    assert_begins(*state, 1 + TIMEOUT_SECONDS, "");
    assert_begins(*state, 2 + TIMEOUT_SECONDS, "0:3 1:3 2:3");
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST + 1, 3 + TIMEOUT_SECONDS);
    assert_begins(*state, 3 + TIMEOUT_SECONDS, "0:3 1:3 2:3");
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, SECOND, 4 + TIMEOUT_SECONDS);
    assert_begins(*state, 4 + TIMEOUT_SECONDS, "0:3 1:3 2:3");
}

/* It is back: alone it would measure something else, but it takes part in what is to come. */
static void test_arbiter__who_is_late_has_missed_the_barrier(void **state)
{
    all_before(*state, FIRST, 0);
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST, 1);
    assert_begins(*state, 2 + TIMEOUT_SECONDS, "0:3 1:3 2:3");
    waits_at(*state, 3, FIRST, 3 + TIMEOUT_SECONDS);
    assert_begins(*state, 3 + TIMEOUT_SECONDS, "3:0");
    for (size_t i = 0; i < MEMBERS; i++)
        waits_at(*state, i, SECOND, 4 + TIMEOUT_SECONDS);
    assert_begins(*state, 4 + TIMEOUT_SECONDS, "0:4 1:4 2:4 3:4");
}

/* ---- exclusive steps in a test ---- */

static void test_arbiter__exclusive_steps_begin_when_all_others_wait(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++)
        waits_at(*state, i, FIRST, 0);
    assert_begins(*state, 0, "0:4 1:4 2:4 3:4");
    for (size_t i = 1; i < MEMBERS; i++)
        waits_at(*state, i, FIRST_TURN, 1);
    assert_begins(*state, 1, "");
    waits_at(*state, 0, FIRST_TURN, 2);
    assert_begins(*state, 2, "0:1");
    is_before(*state, 0, SECOND, 3);
    assert_begins(*state, 3, "1:1");
    waits_at(*state, 0, SECOND,
             4); /* the next test's barrier: not before all exclusive steps are over */
    assert_begins(*state, 4, "");
}

/* The timeout counts from the begin of each exclusive step. */
static void test_arbiter__long_exclusive_steps_of_others_time_no_member_out(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++)
        waits_at(*state, i, FIRST_TURN, 0);
    for (size_t i = 0; i < MEMBERS; i++) {
        double seconds = (TIMEOUT_SECONDS - 1.0) * (double)i;
        char expected[8];

        snprintf(expected, sizeof(expected), "%zu:1", i);
        assert_begins(*state, seconds, expected);
        assert_begins(*state, seconds + TIMEOUT_SECONDS - 2, "");
        waits_at(*state, i, SECOND, seconds + TIMEOUT_SECONDS - 1);
    }
    assert_begins(*state, (TIMEOUT_SECONDS - 1) * MEMBERS, "0:4 1:4 2:4 3:4");
}

/* A test that was measured and lost with its probe is measured again, behind the others. */
static void test_arbiter__the_host_link_comes_back_for_a_repeated_test(void **state)
{
    all_before(*state, FIRST, 0);
    for (size_t i = 0; i < 3; i++)
        waits_at(*state, i, FIRST, 0);
    is_before(*state, 3, 0, 1);
    assert_begins(*state, 1, "3:1");
    assert_begins(*state, 2, "");
    waits_at(*state, 3, FIRST, 3);
    assert_begins(*state, 3, "0:4 1:4 2:4 3:4");
}

static void test_arbiter__is_over_when_all_are_at_the_end(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_false(pb_arbiter_is_over(*state));
        is_before(*state, i, PB_NODE_END, 0);
    }
    assert_true(pb_arbiter_is_over(*state));
}

/* ---- where a member stands ---- */

static void test_arbiter__a_place_follows_from_the_tests_that_are_left(void **state)
{
    static struct pb_test_spec specs[] = {{"plain", "", "", 0, PB_LINKS_UNUSED},
                                          {"exclusive", "", "", 0, PB_LINKS_EXCLUSIVE},
                                          {"concurrent", "", "", 0, PB_LINKS_CONCURRENT},
                                          {"last", "", "", 0, PB_LINKS_CONCURRENT}};
    const struct pb_test_list tests = {specs, 4};
    const struct pb_ready link = {"exclusive", PB_STEP_EXCLUSIVE}, barrier = {"concurrent", 2};
    bool is_left[] = {true, true, true, true};
    struct pb_node_place place = pb_node_place_of(&tests, is_left, NULL);

    (void)state;
    assert_true(place.position == 0 && place.waits == 0);
    place = pb_node_place_of(&tests, is_left, &link);
    assert_true(place.position == 0 && place.waits == 1);
    is_left[1] = false;
    place = pb_node_place_of(&tests, is_left, NULL);
    assert_true(place.position == 3 * PB_NODE_STEPS && place.waits == 0);
    place = pb_node_place_of(&tests, is_left, &barrier);
    assert_true(place.position == 3 * PB_NODE_STEPS + 2 && place.waits == 1);
    is_left[2] = false;
    place = pb_node_place_of(&tests, is_left, NULL);
    assert_true(place.position == 4 * PB_NODE_STEPS);
    is_left[3] = false;
    place = pb_node_place_of(&tests, is_left, NULL);
    assert_true(place.position == PB_NODE_IDLE);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, open_arbiter, close_arbiter)
    const struct CMUnitTest cases[] = {
        CASE(test_arbiter__the_host_link_goes_from_member_to_member),
        CASE(test_arbiter__who_has_no_exclusive_tests_is_passed_over),
        CASE(test_arbiter__the_host_link_goes_to_one_member_after_the_other),
        CASE(test_arbiter__who_does_not_report_loses_the_host_link),
        CASE(test_arbiter__a_barrier_waits_for_all),
        CASE(test_arbiter__a_barrier_waits_for_exclusive_tests),
        CASE(test_arbiter__a_barrier_does_not_wait_for_those_behind_it),
        CASE(test_arbiter__who_dies_at_a_barrier_is_not_counted),
        CASE(test_arbiter__the_next_barrier_waits_for_those_who_measure),
        CASE(test_arbiter__who_is_late_is_not_awaited_again),
        CASE(test_arbiter__who_is_late_has_missed_the_barrier),
        CASE(test_arbiter__exclusive_steps_begin_when_all_others_wait),
        CASE(test_arbiter__long_exclusive_steps_of_others_time_no_member_out),
        CASE(test_arbiter__the_host_link_comes_back_for_a_repeated_test),
        CASE(test_arbiter__is_over_when_all_are_at_the_end),
        CASE(test_arbiter__a_place_follows_from_the_tests_that_are_left),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
