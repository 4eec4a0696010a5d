/* Which values of two devices plumb-diff compares. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/diff.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__values_of_one_method_are_compared),
        cmocka_unit_test(test_diff__values_of_two_methods_are_counted_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
