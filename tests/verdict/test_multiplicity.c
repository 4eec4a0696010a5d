/* Holm and Benjamini-Hochberg against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/verdict/multiplicity.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_holm__steps_down_until_the_first_that_holds(void **state)
{
    /* 0.05/4 = 0.0125, 0.05/3 = 0.0167, 0.05/2 = 0.025: 0.03 holds, so does 0.04 after it. */
    static const double p[] = {0.01, 0.016, 0.03, 0.04};

    (void)state;
    assert_float_equal(pb_holm_cutoff(p, COUNT(p), 0.05), 0.016, 0.0);
}

static void test_holm__does_not_look_behind_a_value_that_holds(void **state)
{
    static const double p[] = {0.02, 0.02, 0.02, 0.02};

    (void)state;
    assert_float_equal(pb_holm_cutoff(p, COUNT(p), 0.05), -1.0, 0.0);
}

static void test_benjamini_hochberg__steps_up_to_the_last_below_its_line(void **state)
{
    /* The example of the paper, section 3.2: the first four of fifteen are rejected at 0.05. */
    static const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                               0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};

    (void)state;
    assert_float_equal(pb_benjamini_hochberg_cutoff(p, COUNT(p), 0.05), 0.0095, 0.0);
    assert_float_equal(pb_holm_cutoff(p, COUNT(p), 0.05), 0.0019, 0.0);
}

static void test_benjamini_hochberg__looks_behind_a_value_above_its_line(void **state)
{
    static const double p[] = {0.02, 0.02, 0.02, 0.02};

    (void)state;
    assert_float_equal(pb_benjamini_hochberg_cutoff(p, COUNT(p), 0.05), 0.02, 0.0);
}

static void test_multiplicity__nothing_is_rejected_among_none(void **state)
{
    (void)state;
    assert_float_equal(pb_holm_cutoff(NULL, 0, 0.05), -1.0, 0.0);
    assert_float_equal(pb_benjamini_hochberg_cutoff(NULL, 0, 0.05), -1.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holm__steps_down_until_the_first_that_holds),
        cmocka_unit_test(test_holm__does_not_look_behind_a_value_that_holds),
        cmocka_unit_test(test_benjamini_hochberg__steps_up_to_the_last_below_its_line),
        cmocka_unit_test(test_benjamini_hochberg__looks_behind_a_value_above_its_line),
        cmocka_unit_test(test_multiplicity__nothing_is_rejected_among_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
