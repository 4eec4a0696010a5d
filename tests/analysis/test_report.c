/* The report's building blocks: escaping, quantities, curves that are thinned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/report/plot.h"
#include "analysis/report/report.h"

static void test_markup__has_no_character_that_means_anything(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    pb_markup_text(file, "a<b>&\"'\x1b\xff\n\xe2\x80\xae");
    fclose(file);
    assert_string_equal(text, "a&lt;b&gt;&amp;&quot;&#39;\\x1b\\xff\\x0a\\xe2\\x80\\xae");
    free(text);
}

static void expect_quantity(double value, const char *unit, const char *expected)
{
    char text[64];

    pb_quantity(text, sizeof(text), value, unit);
    assert_string_equal(text, expected);
}

static void test_quantity__four_digits_and_the_unit_that_suits(void **state)
{
    (void)state;
    expect_quantity(246784.0, "byte", "241 KiB");
    expect_quantity(3.9017e12, "byte/s", "3.902 TB/s");
    expect_quantity(282.2013, "cycle", "282.2 cycles");
    expect_quantity(1.0, "cycle", "1 cycle");
    expect_quantity(6503.5, "ns", "6504 ns");
    expect_quantity(NAN, "cycle", "–");
}

static void test_curve__keeps_its_ends_and_its_only_spike(void **state)
{
    enum { COUNT = 5000, SPIKE = 3217 };
    static double x[COUNT], y[COUNT];
    double largest = 0.0;
    size_t count;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = (double)i;
        y[i] = i == SPIKE ? 900.0 : 30.0 + (double)(i % 3);
    }
    count = pb_curve_thin(x, y, COUNT);
    assert_true(count <= PB_CURVE_POINTS);
    assert_true(x[0] == 0.0 && x[count - 1] == COUNT - 1);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || x[i] > x[i - 1]);
        largest = fmax(largest, y[i]);
    }
    assert_true(largest == 900.0);
}

static void test_judgement__a_device_has_its_worst_finding(void **state)
{
    const size_t first = 0, both[] = {0, 1};
    const struct pb_report_device devices[3] = {{.member = NULL}};
    const struct pb_report_finding findings[] = {
        {.severity = PB_SEVERITY_CRITICAL, .members = &first, .member_count = 1},
        {.severity = PB_SEVERITY_WARNING, .members = both, .member_count = 2}};
    const struct pb_report report = {.devices = devices,
                                     .device_count = 3,
                                     .findings = findings,
                                     .finding_count = 2,
                                     .is_judged = true};
    enum pb_severity worst[3];

    (void)state;
    assert_int_equal(pb_report_judge(&report, worst), PB_SEVERITY_CRITICAL);
    assert_int_equal(worst[0], PB_SEVERITY_CRITICAL);
    assert_int_equal(worst[1], PB_SEVERITY_WARNING);
    assert_int_equal(worst[2], PB_SEVERITY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markup__has_no_character_that_means_anything),
        cmocka_unit_test(test_quantity__four_digits_and_the_unit_that_suits),
        cmocka_unit_test(test_curve__keeps_its_ends_and_its_only_spike),
        cmocka_unit_test(test_judgement__a_device_has_its_worst_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
