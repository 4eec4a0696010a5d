/* Which values of two devices plumb-diff compares. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/diff.h"
#include "core/text.h"

static struct pb_diff_value rate(char *text, double number, uint64_t method_version)
{
    return (struct pb_diff_value){.memory = "atomic",
                                  .parameter = "spread_per_cycle",
                                  .unit = "1/cycle",
                                  .text = text,
                                  .number = number,
                                  .low = number,
                                  .high = number,
                                  .confidence = 0.9,
                                  .test = "atomic_rate",
                                  .method_version = method_version};
}

static void compare(uint64_t version_a, uint64_t version_b, struct pb_differences *differences)
{
    char text_a[] = "211", text_b[] = "293";
    struct pb_diff_value a = rate(text_a, 211.0, version_a), b = rate(text_b, 293.0, version_b);
    const struct pb_diff_device left = {.values = &a, .count = 1},
                                right = {.values = &b, .count = 1};

    assert_int_equal(pb_diff_compare(&left, &right, NAN, differences, NULL), PB_OK);
    pb_differences_clear(&(struct pb_differences){.items = differences->items});
}

static void test_diff__values_of_one_method_are_compared(void **state)
{
    struct pb_differences differences;

    (void)state;
    compare(2, 2, &differences);
    assert_int_equal(differences.compared, 1);
    assert_int_equal(differences.beyond, 1);
    assert_int_equal(differences.other_method, 0);
}

static void test_diff__values_of_two_methods_are_counted_alone(void **state)
{
    struct pb_differences differences;

    (void)state;
    compare(0, 2, &differences);
    assert_int_equal(differences.compared, 0);
    assert_int_equal(differences.count, 0);
    assert_int_equal(differences.other_method, 1);
}

/* How many differences two lists have beyond tolerance: none or one. */
static size_t compare_lists(char *first, char *second)
{
    struct pb_differences differences;
    struct pb_diff_value a = rate(first, NAN, 1), b = rate(second, NAN, 1);
    const struct pb_diff_device left = {.values = &a, .count = 1},
                                right = {.values = &b, .count = 1};

    PB_TEXT_SET(a.unit, "cycle");
    PB_TEXT_SET(b.unit, "cycle");
    assert_int_equal(pb_diff_compare(&left, &right, NAN, &differences, NULL), PB_OK);
    pb_differences_clear(&(struct pb_differences){.items = differences.items});
    return differences.beyond;
}

static void test_diff__lists_of_which_a_number_was_not_seen(void **state)
{
    char list[] = "[280.5, null, 384.25]", near[] = "[280.25, null, 384.5]",
         far[] = "[280.5, null, 480.5]", more[] = "[280.5, 290.5, 384.25]",
         shorter[] = "[280.5, null]";

    (void)state;
    assert_int_equal(compare_lists(list, near), 0);
    assert_int_equal(compare_lists(list, far), 1);
    assert_int_equal(compare_lists(list, more), 1);
    assert_int_equal(compare_lists(list, shorter), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__values_of_one_method_are_compared),
        cmocka_unit_test(test_diff__values_of_two_methods_are_counted_alone),
        cmocka_unit_test(test_diff__lists_of_which_a_number_was_not_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
