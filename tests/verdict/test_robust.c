/* Median, Qn and populations: ties, steps, broken quarters, halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/population.h"
#include "verdict/fleet.h"

enum { VALUES_MAX = 1024 };

struct rig {
    struct pb_robust robust;
    struct pb_column column;
    struct pb_metric metric;
    struct pb_fit fit;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    assert_int_equal(pb_robust_reserve(&rig->robust, VALUES_MAX, NULL), PB_OK);
    assert_int_equal(pb_column_reserve(&rig->column, VALUES_MAX, NULL), PB_OK);
    rig->metric = (struct pb_metric){.domain = PB_DOMAIN_CYCLES};
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

    pb_robust_clear(&rig->robust);
    pb_column_clear(&rig->column);
    free(rig);
    return 0;
}

static void add(struct rig *rig, double value)
{
    rig->column.noise[rig->column.count] = 0.0;
    rig->column.values[rig->column.count++] = value;
}

static void add_many(struct rig *rig, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        add(rig, value);
}

static void add_normal(struct rig *rig, size_t count, double center, double spread)
{
    struct fleet_random random = {count};

    for (size_t i = 0; i < count; i++)
        add(rig, center + spread * fleet_normal(&random));
}

static void fit(struct rig *rig)
{
    pb_fit_column(&rig->robust, &rig->metric, &rig->column, &rig->fit);
}

/* By the definition: 2.2191 times the k-th of all distances, k = h (h - 1) / 2, h = 6, and d = n /
 * (n + 3.8). */
static void test_robust_scale__is_the_published_qn(void **state)
{
    static const double sorted[] = {1, 2, 4, 7, 11, 16, 22, 29, 37, 46};
    struct rig *rig = *state;
    double distances[45];
    size_t count = 0;

    for (size_t i = 0; i < 10; i++)
        for (size_t j = i + 1; j < 10; j++)
            distances[count++] = sorted[j] - sorted[i];
    for (size_t i = 1; i < count; i++) /* insertion sort */
        for (size_t j = i; j > 0 && distances[j - 1] > distances[j]; j--) {
            double swapped = distances[j];

            distances[j] = distances[j - 1];
            distances[j - 1] = swapped;
        }
    assert_float_equal(pb_robust_scale(&rig->robust, sorted, 10, 0.0),
                       2.2191 * distances[14] * 10.0 / 13.8, 0.01 * distances[14] * 2.2191);
}

static void test_robust_scale__is_unbiased_for_normal_values(void **state)
{
    static const size_t sizes[] = {8, 16, 64, 256};
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fleet_random random = {i};
        double sum = 0.0, values[256];

        for (size_t round = 0; round < 400; round++) {
            rig->column.count = 0;
            for (size_t j = 0; j < sizes[i]; j++)
                add(rig, 1e4 + fleet_normal(&random));
            fit(rig);
            memcpy(values, rig->column.sorted, sizes[i] * sizeof(values[0]));
            sum += pb_robust_scale(&rig->robust, values, sizes[i], 0.0) / 400.0;
        }
        assert_float_equal(sum, 1.0, 0.06);
    }
}

static void test_robust_scale__identical_whole_numbers_have_the_scale_of_their_rounding(
    void **state)
{
    struct rig *rig = *state;
    double same[64];

    for (size_t i = 0; i < 64; i++)
        same[i] = 412.0;
    assert_float_equal(pb_robust_scale(&rig->robust, same, 64, 1.0), 0.29, 0.02);
    assert_float_equal(pb_robust_scale(&rig->robust, same, 64, 0.0), 0.0, 0.0);
}

/* Where plain Qn is 0 or a whole step, the spread values still tell how wide the healthy lie. */
static void test_robust_scale__rounded_values_keep_their_scale(void **state)
{
    static const double spreads[] = {0.2, 0.35, 0.5, 0.7, 1.0, 2.0};
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++) {
        struct fleet_random random = {7};
        double expected = sqrt(spreads[i] * spreads[i] + 1.0 / 12.0);

        rig->column.count = 0;
        for (size_t j = 0; j < VALUES_MAX; j++)
            add(rig, round(412.3 + spreads[i] * fleet_normal(&random)));
        fit(rig);
        assert_float_equal(pb_robust_scale(&rig->robust, rig->column.sorted, VALUES_MAX, 1.0) /
                               expected,
                           1.0, 0.2);
    }
}

static void test_fit_column__a_broken_quarter_moves_neither_center_nor_scale(void **state)
{
    struct rig *rig = *state;

    add_normal(rig, 48, 1000.0, 2.0);
    for (size_t i = 0; i < 16; i++)
        add(rig, 1100.0 + (double)i);
    fit(rig);
    assert_false(rig->fit.split);
    assert_float_equal(rig->fit.whole.center, 1000.0, 2.5);
    assert_true(rig->fit.whole.scale < 5.0);
}

static void test_fit_column__two_populations_are_split(void **state)
{
    struct rig *rig = *state;

    add_normal(rig, 26, 1000.0, 2.0);
    add_normal(rig, 38, 1100.0, 3.0);
    fit(rig);
    assert_true(rig->fit.split);
    assert_float_equal(rig->fit.low.center, 1000.0, 2.0);
    assert_float_equal(rig->fit.high.center, 1100.0, 3.0);
    assert_int_equal(rig->fit.low.count, 26);
    assert_int_equal(rig->fit.high.count, 38);
    assert_ptr_equal(pb_fit_part(&rig->fit, 1005.0), &rig->fit.low);
    assert_ptr_equal(pb_fit_part(&rig->fit, 1090.0), &rig->fit.high);
}

static void test_fit_column__halves_within_the_practical_size_are_one_population(void **state)
{
    struct rig *rig = *state;

    rig->metric.practical = 0.2;
    add_normal(rig, 26, 1000.0, 2.0);
    add_normal(rig, 38, 1100.0, 3.0);
    fit(rig);
    assert_false(rig->fit.split);
}

static void test_fit_column__healthy_devices_are_rarely_split(void **state)
{
    struct rig *rig = *state;
    struct fleet_random random = {3};
    size_t split = 0;

    for (size_t round = 0; round < 20000; round++) {
        rig->column.count = 0;
        for (size_t i = 0; i < 16; i++)
            add(rig, 1e4 + fleet_normal(&random));
        fit(rig);
        split += rig->fit.split ? 1 : 0;
    }
    assert_true(split <= 2);
}

static void test_fit_column__noise_and_practical_size_are_floors(void **state)
{
    struct rig *rig = *state;

    add_many(rig, 20, 1000.0);
    fit(rig);
    assert_true(rig->fit.whole.scale > 0.0 && rig->fit.whole.scale < 0.01);
    rig->metric.practical = 0.02;
    fit(rig);
    assert_float_equal(rig->fit.whole.scale, 2.0, 1e-9);
    for (size_t i = 0; i < 15; i++)
        rig->column.noise[i] = 5.0;
    fit(rig);
    assert_float_equal(rig->fit.whole.scale, 5.0, 1e-9);
    for (size_t i = 5; i < 15; i++)
        rig->column.noise[i] = 0.0; /* known of a quarter only: of no group's devices */
    fit(rig);
    assert_float_equal(rig->fit.whole.scale, 2.0, 1e-9);
}

static void test_fit_column__three_values_are_not_fitted(void **state)
{
    struct rig *rig = *state;

    add_many(rig, 3, 1000.0);
    fit(rig);
    assert_true(isnan(rig->fit.whole.center));
    assert_int_equal(rig->fit.whole.count, 3);
}

static void test_metric_shift__is_relative_or_absolute_by_domain(void **state)
{
    struct pb_metric metric = {.domain = PB_DOMAIN_NS, .practical = 0.05};

    (void)state;
    assert_float_equal(pb_metric_shift(&metric, 110.0, 100.0), 0.1, 1e-12);
    assert_float_equal(pb_metric_practical(&metric, 200.0), 10.0, 1e-12);
    assert_float_equal(pb_metric_shift(&metric, 1.0, 0.0), 1.0, 0.0);
    metric.domain = PB_DOMAIN_FRACTION;
    assert_float_equal(pb_metric_shift(&metric, 0.03, 0.01), 0.02, 1e-12);
    assert_float_equal(pb_metric_practical(&metric, 200.0), 0.05, 1e-12);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG(test_robust_scale__is_the_published_qn),
        RIG(test_robust_scale__is_unbiased_for_normal_values),
        RIG(test_robust_scale__identical_whole_numbers_have_the_scale_of_their_rounding),
        RIG(test_robust_scale__rounded_values_keep_their_scale),
        RIG(test_fit_column__a_broken_quarter_moves_neither_center_nor_scale),
        RIG(test_fit_column__two_populations_are_split),
        RIG(test_fit_column__halves_within_the_practical_size_are_one_population),
        RIG(test_fit_column__healthy_devices_are_rarely_split),
        RIG(test_fit_column__noise_and_practical_size_are_floors),
        RIG(test_fit_column__three_values_are_not_fitted),
        cmocka_unit_test(test_metric_shift__is_relative_or_absolute_by_domain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
