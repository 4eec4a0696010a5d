/* Groups of profiles that are alike, and components of members that were joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/statistics/grouping.h"
#include "analysis/statistics/union_find.h"
#include "analysis/synthetic.h"

enum { PROFILES = 40, LENGTH = 64 };

/*
 * 40 profiles around 4 centres `apart` cycles from each other, with jitter, and one spike; those of
 * a group are every fourth.
 */
static void make_profiles(float *profiles, double apart)
{
    struct synthetic_noise noise = {0, 2, 0, 0, 5};

    for (size_t i = 0; i < PROFILES; i++)
        for (size_t j = 0; j < LENGTH; j++) {
            double centre = (j + i % 4) % 4 < 2 ? apart : 0.0;

            profiles[i * LENGTH + j] = (float)(synthetic_latency(&noise, 0) + centre);
        }
    profiles[5 * LENGTH] += 300;
}

static void test_grouping__finds_what_is_apart(void **state)
{
    float profiles[PROFILES * LENGTH];
    size_t groups[PROFILES];
    struct pb_grouping grouping;

    (void)state;
    make_profiles(profiles, 20);
    assert_int_equal(pb_grouping_find(profiles, PROFILES, LENGTH, 1.5, groups, &grouping, NULL),
                     PB_OK);
    assert_int_equal(grouping.count, 4);
    assert_true(grouping.gap_inside < 1.5);
    for (size_t i = 0; i < PROFILES; i++)
        assert_int_equal(groups[i] == PROFILES ? 1 : groups[i], i % 4);
}

static void test_grouping__noise_alone_is_one_group(void **state)
{
    float profiles[PROFILES * LENGTH];
    size_t groups[PROFILES];
    struct pb_grouping grouping;

    (void)state;
    make_profiles(profiles, 0);
    assert_int_equal(pb_grouping_find(profiles, PROFILES, LENGTH, 1.5, groups, &grouping, NULL),
                     PB_OK);
    assert_int_equal(grouping.count, 1);
    assert_int_equal(pb_grouping_find(profiles, 2, LENGTH, 1.5, groups, &grouping, NULL),
                     PB_NOT_FOUND);
}

/* Two groups far apart, each of two that are a little apart: the finest clear gap counts. */
static void test_grouping__finer_groups_are_reported(void **state)
{
    float profiles[PROFILES];
    size_t groups[PROFILES];
    struct pb_grouping grouping;

    (void)state;
    for (size_t i = 0; i < PROFILES; i++)
        profiles[i] = (float)(i % 2 * 1000 + i / 2 % 2 * 26 + i / 4 * 2);
    assert_int_equal(pb_grouping_find(profiles, PROFILES, 1, 5, groups, &grouping, NULL), PB_OK);
    assert_int_equal(grouping.count, 2);
    assert_true(grouping.gap_inside > 3.0);
    assert_int_equal(pb_grouping_find(profiles, PROFILES, 1, 2, groups, &grouping, NULL), PB_OK);
    assert_int_equal(grouping.count, 4);
}

static void test_circles__count_from_the_least_member(void **state)
{
    struct pb_union_find components;

    (void)state;
    assert_int_equal(pb_union_find_open(6, &components, NULL), PB_OK);
    pb_union_find_join(&components, 5, 1);
    pb_union_find_join(&components, 3, 5);
    pb_union_find_count(&components);
    assert_int_equal(components.count, 4);
    assert_int_equal(components.sizes[0], 1);
    assert_int_equal(components.sizes[1], 3);
    pb_union_find_close(&components);
    pb_union_find_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouping__finds_what_is_apart),
        cmocka_unit_test(test_grouping__noise_alone_is_one_group),
        cmocka_unit_test(test_grouping__finer_groups_are_reported),
        cmocka_unit_test(test_circles__count_from_the_least_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
