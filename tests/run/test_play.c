/*
 * A node's GPUs at their battery, on a virtual clock: what the rules of arbiter.c and schedule.c
 * come to together. The seconds are those of a recorded H200.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/times.h"
#include "run/unit.h"

enum { MEMBERS_MAX = 8, TIMEOUT_SECONDS = 60 };

static const double begin_seconds = 0.005;

static int read_times(void **state)
{
    *state = malloc(sizeof(struct times));
    return times_read(PLUMB_TEST_DATA "/h200-standard.h5", *state, NULL) != PB_OK;
}

static int free_times(void **state)
{
    free(*state);
    return 0;
}

static struct times times_for(void **state, size_t member_count)
{
    struct times times = *(const struct times *)*state;

    times.member_count = member_count;
    return times;
}

static struct play_request request_of(struct times *times)
{
    return (struct play_request){.member_count = times->member_count,
                                 .tests = times->tests,
                                 .seconds = times_of,
                                 .context = times,
                                 .begin_seconds = begin_seconds,
                                 .opening_factor = 1,
                                 .timeout_seconds = TIMEOUT_SECONDS};
}

static void play_times(struct times *times, struct play *play)
{
    const struct play_request request = request_of(times);

    assert_int_equal(play_node(&request, play, NULL), PB_OK);
}

static bool is_alone(const struct play_span *span)
{
    return !span->waits && pb_test_link_use(span->test) == PB_LINKS_EXCLUSIVE;
}

static bool overlap(const struct play_span *a, const struct play_span *b)
{
    return a->member != b->member && a->begin_seconds < b->end_seconds &&
           b->begin_seconds < a->end_seconds;
}

/* Who has the links has them for itself; who measures a peer has the whole node to itself. */
static void assert_exclusive(const struct play *play)
{
    for (size_t i = 0; i < play->count; i++) {
        const struct play_span *span = &play->spans[i];

        assert_true(!is_alone(span) || span->in_exclusive_step);
        for (size_t k = 0; k < play->count && span->in_exclusive_step; k++) {
            const struct play_span *other = &play->spans[k];

            if (other->waits || !overlap(span, other))
                continue;
            assert_false(other->in_exclusive_step || other->others > 0);
            assert_string_not_equal(span->test->name, "peer_link");
        }
    }
}

/* Seconds that a member spent on a test; waiting apart. */
static double seconds_in(const struct play *play, size_t member, const struct pb_test *test)
{
    double seconds = 0;

    for (size_t i = 0; i < play->count; i++)
        if (play->spans[i].member == member && play->spans[i].test == test && !play->spans[i].waits)
            seconds += play->spans[i].end_seconds - play->spans[i].begin_seconds;
    return seconds;
}

static void test_play__exclusive_steps_do_not_overlap(void **state)
{
    for (size_t count = 1; count <= MEMBERS_MAX; count++) {
        struct times times = times_for(state, count);
        struct play play;

        play_times(&times, &play);
        assert_exclusive(&play);
        free(play.spans);
    }
}

/* As long as it takes: so neither twice nor in part. */
static void test_play__everybody_runs_each_test_once(void **state)
{
    for (size_t count = 1; count <= MEMBERS_MAX; count++) {
        struct times times = times_for(state, count);
        struct play play;

        play_times(&times, &play);
        for (size_t member = 0; member < count; member++)
            for (size_t i = 0; times.tests[i] != NULL; i++)
                assert_true(fabs(seconds_in(&play, member, times.tests[i]) -
                                 times_of(&times, member, times.tests[i])) < 1e-6);
        free(play.spans);
    }
}

static double begin_of(const struct play *play, size_t member, const char *test)
{
    for (size_t i = 0; i < play->count; i++)
        if (play->spans[i].member == member && !play->spans[i].waits &&
            strcmp(play->spans[i].test->name, test) == 0)
            return play->spans[i].begin_seconds;
    return INFINITY;
}

static double longest_test(struct times *times)
{
    double longest = 0;

    for (size_t i = 0; times->tests[i] != NULL; i++)
        longest = fmax(longest, times_of(times, 0, times->tests[i]));
    return longest;
}

/* From GPU to GPU; each is through with the test at hand before it takes it. */
static void test_play__the_host_link_goes_from_one_to_the_next(void **state)
{
    struct times times = times_for(state, 4);
    struct play play;

    play_times(&times, &play);
    for (size_t member = 1; member < 4; member++) {
        double before = begin_of(&play, member - 1, "host_latency"),
               begin = begin_of(&play, member, "host_link");

        assert_true(begin > before);
        assert_true(begin < before + 1 + longest_test(&times));
        assert_true(begin < begin_of(&play, 0, "peer_link"));
    }
    free(play.spans);
}

static double wall_seconds(void **state, size_t count)
{
    struct times times = times_for(state, count);
    struct play play;
    double seconds;

    times_drop_concurrent(&times);
    play_times(&times, &play);
    seconds = play.wall_seconds;
    free(play.spans);
    return seconds;
}

/* Against one that has the same peers to read from, and the node to itself. */
static void test_play__exclusive_steps_overlap_with_other_tests(void **state)
{
    struct times times = times_for(state, 4);
    double alone = 0;

    times_drop_concurrent(&times);
    for (size_t i = 0; times.tests[i] != NULL; i++)
        alone += times_of(&times, 0, times.tests[i]);
    assert_true(alone > wall_seconds(state, 1));
    assert_true(wall_seconds(state, 4) <= 1.05 * alone);
    assert_true(wall_seconds(state, 4) <= 1.10 * wall_seconds(state, 1));
}

/* ---- members that fail ---- */

/* A member that takes its time, or dies (seconds < 0), in one test. */
struct failing {
    struct times times;
    size_t member;
    const char *test;
    double seconds;
};

static double failing_seconds(void *context, size_t member, const struct pb_test *test)
{
    struct failing *failing = context;

    if (member == failing->member && strcmp(test->name, failing->test) == 0)
        return failing->seconds;
    return times_of(&failing->times, member, test);
}

static void play_failing(struct failing *failing, struct play *play)
{
    struct play_request request = request_of(&failing->times);

    request.seconds = failing_seconds;
    request.context = failing;
    assert_int_equal(play_node(&request, play, NULL), PB_OK);
}

static double end_of(const struct play *play, size_t member)
{
    double seconds = 0;

    for (size_t i = 0; i < play->count; i++)
        if (play->spans[i].member == member)
            seconds = fmax(seconds, play->spans[i].end_seconds);
    return seconds;
}

static void test_play__a_dead_probe_keeps_no_member_waiting(void **state)
{
    static const char *const tests[] = {"clock_overhead", "host_link", "host_latency",
                                        "tlb_reach",      "peer_link", "host_link_concurrent"};

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        struct failing failing = {
            .times = times_for(state, 4), .member = 1, .test = tests[i], .seconds = -1};
        struct play play;

        play_failing(&failing, &play);
        assert_exclusive(&play);
        assert_true(end_of(&play, 0) < 25);
        for (size_t k = 0; failing.times.tests[k] != NULL; k++)
            assert_true(seconds_in(&play, 3, failing.times.tests[k]) > 0);
        free(play.spans);
    }
}

/* It has the link, and its rank never reports that it hangs. */
static void test_play__who_does_not_report_with_the_links_loses_them(void **state)
{
    struct failing failing = {
        .times = times_for(state, 4), .member = 0, .test = "host_link", .seconds = 600};
    struct play play;

    play_failing(&failing, &play);
    for (size_t i = 0; i < play.count; i++)
        if (play.spans[i].member != 0 && play.spans[i].in_exclusive_step)
            assert_true(play.spans[i].begin_seconds >= TIMEOUT_SECONDS);
    for (size_t member = 1; member < 4; member++)
        assert_true(end_of(&play, member) < 30 + TIMEOUT_SECONDS);
    free(play.spans);
}

static void test_play__who_does_not_report_is_waited_for_only_so_long(void **state)
{
    struct failing failing = {
        .times = times_for(state, 4), .member = 2, .test = "sustained_load", .seconds = 600};
    struct play play;

    play_failing(&failing, &play);
    for (size_t member = 0; member < 4; member++)
        if (member != 2)
            assert_true(end_of(&play, member) < 25 + TIMEOUT_SECONDS);
    free(play.spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_play__exclusive_steps_do_not_overlap),
        cmocka_unit_test(test_play__everybody_runs_each_test_once),
        cmocka_unit_test(test_play__the_host_link_goes_from_one_to_the_next),
        cmocka_unit_test(test_play__exclusive_steps_overlap_with_other_tests),
        cmocka_unit_test(test_play__a_dead_probe_keeps_no_member_waiting),
        cmocka_unit_test(test_play__who_does_not_report_with_the_links_loses_them),
        cmocka_unit_test(test_play__who_does_not_report_is_waited_for_only_so_long),
    };

    return cmocka_run_group_tests(tests, read_times, free_times);
}
