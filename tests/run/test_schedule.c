/* The schedule: every test once, and none put off past a concurrent test or the end. */
#include "run/schedule.h"

#include <stdio.h>
#include <string.h>

#include "run/unit.h"

enum { NAMES_MAX = 12 };

/*
 * All that the schedule says, as "TEST … wait(TEST) …". The host link comes after so many tests, or
 * where it is waited for.
 */
static void assert_order(const char *const *names, int links_after, const char *expected)
{
    struct pb_schedule_step step = {.kind = PB_SCHEDULE_RUN};
    const struct pb_test *tests[NAMES_MAX + 1] = {NULL};
    struct pb_schedule *schedule;
    char found[1000] = "";
    bool has_links = false;
    int run = 0;

    for (size_t i = 0; names[i] != NULL; i++) {
        assert_true(i < NAMES_MAX);
        tests[i] = pb_test_find(names[i]);
        assert_non_null(tests[i]);
    }
    assert_int_equal(pb_schedule_create(tests, &schedule, NULL), PB_OK);
    while (step.kind != PB_SCHEDULE_END) {
        size_t used = strlen(found);

        has_links |= run >= links_after;
        step = pb_schedule_next(schedule, has_links);
        if (step.kind == PB_SCHEDULE_RUN)
            snprintf(found + used, sizeof(found) - used, "%s ", step.test->name);
        else if (step.kind == PB_SCHEDULE_AWAIT_LINKS)
            snprintf(found + used, sizeof(found) - used, "wait(%s) ", step.test->name);
        has_links |= step.kind == PB_SCHEDULE_AWAIT_LINKS;
        run += step.kind == PB_SCHEDULE_RUN;
    }
    assert_string_equal(found, expected);
    pb_schedule_free(schedule);
}

static const char *const battery[] = {"clock_overhead", "host_link",        "host_latency",
                                      "l1_capacity",    "l1_line",          "sustained_load",
                                      "peer_link",      "memory_integrity", NULL};

static void test_schedule__with_the_link_tests_run_in_the_order_of_the_list(void **state)
{
    (void)state;
    assert_order(battery, 0,
                 "clock_overhead host_link host_latency l1_capacity l1_line sustained_load "
                 "peer_link memory_integrity ");
}

static void test_schedule__exclusive_tests_run_once_the_link_is_there(void **state)
{
    (void)state;
    assert_order(battery, 3,
                 "clock_overhead l1_capacity l1_line host_link host_latency sustained_load "
                 "peer_link memory_integrity ");
}

static void test_schedule__none_is_put_off_past_a_concurrent_test(void **state)
{
    (void)state;
    assert_order(battery, 99,
                 "clock_overhead l1_capacity l1_line sustained_load wait(host_link) host_link "
                 "host_latency peer_link memory_integrity ");
}

static void test_schedule__none_is_put_off_past_the_end(void **state)
{
    static const char *const names[] = {"host_latency", "l1_capacity", NULL};
    static const char *const last[] = {"l1_capacity", "host_link", NULL};

    (void)state;
    assert_order(names, 99, "l1_capacity wait(host_latency) host_latency ");
    assert_order(last, 0, "l1_capacity host_link ");
}

/* The arbiter lets nobody pass a barrier while a device has exclusive tests left. */
static void test_schedule__an_exclusive_test_listed_last_comes_before_a_concurrent_one(void **state)
{
    static const char *const names[] = {"l1_capacity", "peer_link", "host_latency", NULL};

    (void)state;
    assert_order(names, 99, "l1_capacity wait(host_latency) host_latency peer_link ");
}

static void test_schedule__exclusive_tests_apart_in_the_list_run_when_their_place_comes(
    void **state)
{
    static const char *const names[] = {"host_link", "l1_capacity", "host_latency", "l1_line",
                                        NULL};

    (void)state;
    assert_order(names, 0, "host_link l1_capacity host_latency l1_line ");
    assert_order(names, 1, "l1_capacity host_link host_latency l1_line ");
}

static void test_schedule__of_no_tests_is_over(void **state)
{
    static const char *const names[] = {NULL};

    (void)state;
    assert_order(names, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule__with_the_link_tests_run_in_the_order_of_the_list),
        cmocka_unit_test(test_schedule__exclusive_tests_run_once_the_link_is_there),
        cmocka_unit_test(test_schedule__none_is_put_off_past_a_concurrent_test),
        cmocka_unit_test(test_schedule__none_is_put_off_past_the_end),
        cmocka_unit_test(
            test_schedule__an_exclusive_test_listed_last_comes_before_a_concurrent_one),
        cmocka_unit_test(
            test_schedule__exclusive_tests_apart_in_the_list_run_when_their_place_comes),
        cmocka_unit_test(test_schedule__of_no_tests_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
