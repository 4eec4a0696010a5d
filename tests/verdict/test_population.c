/* The majority of a sample and second populations: ties, steps, sick shares up to a half. */
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
    struct pb_column column;
    struct pb_metric metric;
    struct pb_fit fit;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    assert_int_equal(pb_column_reserve(&rig->column, VALUES_MAX, NULL), PB_OK);
    rig->metric = (struct pb_metric){.domain = PB_DOMAIN_CYCLES};
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

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
    pb_fit_column(&rig->metric, &rig->column, &rig->fit);
}

static void test_majority__is_mean_and_deviation_of_healthy_values(void **state)
{
    static const size_t sizes[] = {8, 16, 64, 256};
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fleet_random random = {i};
        double variance = 0.0, center = 0.0;

        for (size_t round = 0; round < 400; round++) {
            rig->column.count = 0;
            for (size_t j = 0; j < sizes[i]; j++)
                add(rig, 1e4 + fleet_normal(&random));
            fit(rig);
            center += rig->fit.majority.center / 400.0;
            variance += rig->fit.majority.spread * rig->fit.majority.spread / 400.0;
        }
        assert_float_equal(center, 1e4, 0.1);
        assert_float_equal(variance, 1.0, 0.1);
    }
}

static void test_majority__identical_whole_numbers_have_the_scale_of_their_rounding(void **state)
{
    struct rig *rig = *state;

    rig->metric.quantum = 1.0;
    add_many(rig, 64, 412.0);
    fit(rig);
    assert_float_equal(rig->fit.majority.scale, 0.29, 0.01);
    assert_false(rig->fit.measured);
}

static void test_majority__rounded_values_keep_their_scale(void **state)
{
    static const double spreads[] = {0.2, 0.35, 0.5, 0.7, 1.0, 2.0};
    struct rig *rig = *state;

    rig->metric.quantum = 1.0;
    for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++) {
        struct fleet_random random = {7};
        double expected = sqrt(spreads[i] * spreads[i] + 1.0 / 12.0);

        rig->column.count = 0;
        for (size_t j = 0; j < VALUES_MAX; j++)
            add(rig, round(412.3 + spreads[i] * fleet_normal(&random)));
        fit(rig);
        assert_float_equal(rig->fit.majority.scale / expected, 1.0, 0.2);
    }
}

/* Every share of sick ones up to two fifths, to one side, the nearest of them 16 sigmas away. */
static void test_majority__sick_values_move_neither_center_nor_scale(void **state)
{
    struct rig *rig = *state;

    for (size_t count = 16; count <= 64; count *= 2)
        for (size_t sick = 0; 5 * sick <= 2 * count; sick++) {
            rig->column.count = 0;
            add_normal(rig, count - sick, 1000.0, 2.0);
            for (size_t i = 0; i < sick; i++)
                add(rig, 1032.0 + 1.5 * (double)i);
            fit(rig);
            assert_in_range(rig->fit.majority.count, count - sick - 1, count - sick);
            assert_float_equal(rig->fit.majority.center, 1000.0, 2.5);
            assert_true(rig->fit.majority.scale < 3.5);
        }
}

/* A value must not hide by its own weight in the scale. */
static void test_majority__a_value_does_not_count_for_itself(void **state)
{
    struct rig *rig = *state;

    add_normal(rig, 11, 1000.0, 1.0);
    add(rig, 1005.5);
    fit(rig);
    assert_int_equal(rig->fit.majority.count, 12);
    assert_true(pb_majority_sigmas(&rig->fit.majority, 1005.5, 0.0) >
                1.3 * (1005.5 - rig->fit.majority.center) / rig->fit.majority.scale);
}

static void test_fit_column__a_broken_quarter_moves_neither_center_nor_scale(void **state)
{
    struct rig *rig = *state;

    add_normal(rig, 48, 1000.0, 2.0);
    for (size_t i = 0; i < 16; i++)
        add(rig, 1100.0 + (double)i);
    fit(rig);
    assert_false(rig->fit.split);
    assert_float_equal(rig->fit.majority.center, 1000.0, 2.5);
    assert_true(rig->fit.majority.scale < 5.0);
}

static void test_fit_column__two_populations_are_split(void **state)
{
    struct rig *rig = *state;

    add_normal(rig, 26, 1000.0, 2.0);
    add_normal(rig, 38, 1100.0, 3.0);
    fit(rig);
    assert_true(rig->fit.split);
    assert_false(rig->fit.other_is_high);
    assert_float_equal(rig->fit.other.center, 1000.0, 2.0);
    assert_float_equal(rig->fit.majority.center, 1100.0, 3.0);
    assert_int_equal(rig->fit.other.count, 26);
    assert_int_equal(rig->fit.majority.count, 38);
    assert_ptr_equal(pb_fit_part(&rig->fit, 1005.0), &rig->fit.other);
    assert_ptr_equal(pb_fit_part(&rig->fit, 1090.0), &rig->fit.majority);
}

/* A quarter of faster devices: the others may be the sick ones. A quarter of slower ones is sick.
 */
static void test_fit_column__a_better_quarter_is_a_population(void **state)
{
    struct rig *rig = *state;

    rig->metric.better = PB_BETTER_LOWER;
    add_normal(rig, 18, 1000.0, 2.0);
    add_normal(rig, 46, 1100.0, 3.0);
    fit(rig);
    assert_true(rig->fit.split);
    rig->metric.better = PB_BETTER_HIGHER;
    fit(rig);
    assert_false(rig->fit.split);
    assert_int_equal(rig->fit.majority.count, 46);
}

/* Parts that lie too near to prove two populations, distinguished by other evidence: each has a
   center and a scale of its own. */
static void test_fit_divide__each_part_has_its_own_norm(void **state)
{
    struct rig *rig = *state;

    rig->metric.practical = 0.02;
    add_normal(rig, 23, 608.0, 1.5);
    add_normal(rig, 17, 618.0, 1.5);
    pb_fit_column(&rig->metric, &rig->column, &rig->fit);
    assert_false(rig->fit.split);
    pb_fit_divide(&rig->metric, &rig->column, 613.0, &rig->fit);
    assert_true(rig->fit.split);
    assert_true(rig->fit.other_is_high);
    assert_int_equal(rig->fit.majority.count, 23);
    assert_int_equal(rig->fit.other.count, 17);
    assert_float_equal(rig->fit.majority.center, 608.0, 1.0);
    assert_float_equal(rig->fit.other.center, 618.0, 1.0);
    assert_true(rig->fit.majority.scale < 2.5);
    assert_ptr_equal(pb_fit_part(&rig->fit, 619.0), &rig->fit.other);
    assert_ptr_equal(pb_fit_part(&rig->fit, 609.0), &rig->fit.majority);
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
    assert_true(rig->fit.majority.scale > 0.0 && rig->fit.majority.scale < 0.01);
    rig->metric.practical = 0.02;
    fit(rig);
    assert_float_equal(rig->fit.majority.scale, 2.0, 1e-9);
    for (size_t i = 0; i < 15; i++)
        rig->column.noise[i] = 5.0;
    fit(rig);
    assert_float_equal(rig->fit.majority.scale, 5.0, 1e-9);
    for (size_t i = 5; i < 15; i++)
        rig->column.noise[i] = 0.0; /* known of a quarter only: of no group's devices */
    fit(rig);
    assert_float_equal(rig->fit.majority.scale, 2.0, 1e-9);
}

static void test_fit_column__three_values_are_not_fitted(void **state)
{
    struct rig *rig = *state;

    add_many(rig, 3, 1000.0);
    fit(rig);
    assert_true(isnan(rig->fit.majority.center));
    assert_int_equal(rig->fit.count, 3);
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
        RIG(test_majority__is_mean_and_deviation_of_healthy_values),
        RIG(test_majority__identical_whole_numbers_have_the_scale_of_their_rounding),
        RIG(test_majority__rounded_values_keep_their_scale),
        RIG(test_majority__sick_values_move_neither_center_nor_scale),
        RIG(test_majority__a_value_does_not_count_for_itself),
        RIG(test_fit_column__a_broken_quarter_moves_neither_center_nor_scale),
        RIG(test_fit_column__two_populations_are_split),
        RIG(test_fit_column__a_better_quarter_is_a_population),
        RIG(test_fit_divide__each_part_has_its_own_norm),
        RIG(test_fit_column__halves_within_the_practical_size_are_one_population),
        RIG(test_fit_column__healthy_devices_are_rarely_split),
        RIG(test_fit_column__noise_and_practical_size_are_floors),
        RIG(test_fit_column__three_values_are_not_fitted),
        cmocka_unit_test(test_metric_shift__is_relative_or_absolute_by_domain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
