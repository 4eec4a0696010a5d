/* The schedule: every test once, links asked for in time, nothing put off past a meeting. */
#include "run/schedule.h"

#include <stdio.h>
#include <string.h>

#include "run/unit.h"

enum { NAMES_MAX = 12 };

/* An schedule of the tests with these names. */
struct scene {
    const struct pb_test *tests[NAMES_MAX + 1];
    struct pb_schedule *schedule;
};

static void open_scene(const char *const *names, struct scene *scene)
{
    size_t count = 0;

    memset(scene, 0, sizeof(*scene));
    for (; names[count] != NULL; count++) {
        assert_true(count < NAMES_MAX);
        scene->tests[count] = pb_test_find(names[count]);
        assert_non_null(scene->tests[count]);
    }
    assert_int_equal(pb_schedule_create(scene->tests, &scene->schedule, NULL), PB_OK);
}

/*
 * All that the schedule says, as "TEST … try:COUNT … turn:COUNT …"; a try is refused until so many
 * have been.
 */
static void assert_story(const char *const *names, int refusals, const char *expected)
{
    struct pb_schedule_step step = {.kind = PB_SCHEDULE_RUN};
    struct scene scene;
    char story[1000] = "";

    open_scene(names, &scene);
    while (step.kind != PB_SCHEDULE_END) {
        size_t used = strlen(story);

        step = pb_schedule_next(scene.schedule);
        if (step.kind == PB_SCHEDULE_RUN)
            snprintf(story + used, sizeof(story) - used, "%s ", step.test->name);
        else if (step.kind != PB_SCHEDULE_END)
            snprintf(story + used, sizeof(story) - used, "%s:%lld(%s) ",
                     step.kind == PB_SCHEDULE_TRY_LINKS ? "try" : "turn", (long long)step.count,
                     step.test->name);
        if (step.kind == PB_SCHEDULE_TRY_LINKS)
            pb_schedule_answer(scene.schedule, refusals-- <= 0);
        else if (step.kind == PB_SCHEDULE_AWAIT_LINKS)
            pb_schedule_answer(scene.schedule, true);
    }
    assert_string_equal(story, expected);
    pb_schedule_free(scene.schedule);
}

static const char *const battery[] = {"clock_overhead", "host_link",        "host_latency",
                                      "l1_capacity",    "l1_line",          "sustained_load",
                                      "peer_link",      "memory_integrity", NULL};

static void test_schedule__one_turn_covers_the_tests_in_a_row(void **state)
{
    (void)state;
    assert_story(battery, 0,
                 "clock_overhead try:2(host_link) host_link host_latency l1_capacity l1_line "
                 "sustained_load peer_link memory_integrity ");
}

static void test_schedule__what_is_put_off_is_asked_for_before_every_test(void **state)
{
    (void)state;
    assert_story(
        battery, 2,
        "clock_overhead try:2(host_link) l1_capacity try:2(host_link) l1_line "
        "try:2(host_link) host_link host_latency sustained_load peer_link memory_integrity ");
}

static void test_schedule__nothing_is_put_off_past_a_meeting(void **state)
{
    (void)state;
    assert_story(
        battery, 9,
        "clock_overhead try:2(host_link) l1_capacity try:2(host_link) l1_line "
        "try:2(host_link) sustained_load turn:2(host_link) host_link host_latency peer_link "
        "memory_integrity ");
}

static void test_schedule__nothing_is_put_off_past_the_end(void **state)
{
    static const char *const names[] = {"host_latency", "l1_capacity", NULL};
    static const char *const last[] = {"l1_capacity", "host_link", NULL};

    (void)state;
    assert_story(names, 9, "try:1(host_latency) l1_capacity turn:1(host_latency) host_latency ");
    assert_story(last, 0, "l1_capacity turn:1(host_link) host_link ");
}

/* Apart in the list: what was put off and what comes next share the turn. */
static void test_schedule__a_turn_takes_what_was_put_off_along(void **state)
{
    static const char *const names[] = {"host_link", "l1_capacity", "host_latency", "l1_line",
                                        NULL};

    (void)state;
    assert_story(names, 1,
                 "try:1(host_link) l1_capacity try:2(host_link) host_link host_latency l1_line ");
}

static void test_schedule__of_no_tests_is_over(void **state)
{
    static const char *const names[] = {NULL};

    (void)state;
    assert_story(names, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule__one_turn_covers_the_tests_in_a_row),
        cmocka_unit_test(test_schedule__what_is_put_off_is_asked_for_before_every_test),
        cmocka_unit_test(test_schedule__nothing_is_put_off_past_a_meeting),
        cmocka_unit_test(test_schedule__nothing_is_put_off_past_the_end),
        cmocka_unit_test(test_schedule__a_turn_takes_what_was_put_off_along),
        cmocka_unit_test(test_schedule__of_no_tests_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
