/* Scores of whole feature tables: shifts, minorities, halves, events, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "verdict/scorerig.h"

static void test_score__one_shifted_number_is_critical_and_nothing_else(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 1);
    fleet_shift(&rig->features, 10, DRAM_NS, 10 * 9.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 10, DRAM_NS)->severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(rig_at(rig, 10, DRAM_NS)->sigmas, 10.0, 3.0);
    assert_float_equal(rig_at(rig, 10, DRAM_NS)->shift, 90.0 / 332.0, 0.06);
    assert_true(rig_at(rig, 10, DRAM_NS)->p < 1e-6);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 1);
}

static void test_score__an_affected_quarter_is_found_whole(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 2);
    for (size_t i = 0; i < 16; i++)
        fleet_shift(&rig->features, 4 * i, DRAM_NS, 150.0);
    rig_score(rig);
    assert_false(rig->scores.norms[DRAM_NS].split);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(rig_at(rig, i, DRAM_NS)->severity,
                         i % 4 == 0 ? PB_SEVERITY_CRITICAL : PB_SEVERITY_OK);
}

static void test_score__near_even_halves_are_measured_against_themselves(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 3);
    for (size_t i = 0; i < 26; i++)
        fleet_shift(&rig->features, i, DRAM_NS, 200.0);
    fleet_shift(&rig->features, 50, DRAM_NS, -120.0);
    rig_score(rig);
    assert_true(rig->scores.norms[DRAM_NS].split);
    assert_float_equal(rig->scores.norms[DRAM_NS].center, 332.0, 5.0);
    assert_float_equal(rig->scores.norms[DRAM_NS].split_other, 532.0, 5.0);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(rig_at(rig, i, DRAM_NS)->severity,
                         i == 50 ? PB_SEVERITY_CRITICAL : PB_SEVERITY_OK);
}

/* A share of 50,000 accesses as the observation states it: that of so many late ones. */
static void set_late(struct pb_features *features, size_t device, double late)
{
    static const struct pb_metric metric = {.name = "dram_near.tail_fraction_1_5x",
                                            .unit = "share",
                                            .part = PB_PART_DRAM,
                                            .domain = PB_DOMAIN_FRACTION,
                                            .better = PB_BETTER_LOWER,
                                            .practical = 5e-4};

    assert_int_equal(
        pb_features_set(features, device, &metric,
                        (struct pb_reading){late / 50000.0, sqrt(late + 4.0) / 50000.0, -1}, NULL),
        PB_OK);
}

/* 45 late accesses where healthy devices have 2 to 8: more than any of them, whatever the noise of
   a larger count is. */
static void test_score__a_larger_count_does_not_excuse_itself(void **state)
{
    struct rig *rig = *state;
    size_t metric;

    rig_make(&rig->features, 24, 4);
    for (size_t i = 0; i < 24; i++)
        set_late(&rig->features, i, i == 7 ? 45.0 : 2.0 + (double)(i % 7));
    rig_score(rig);
    metric = pb_features_find(&rig->features, "dram_near.tail_fraction_1_5x");
    assert_int_equal(rig_at(rig, 7, metric)->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 1);
}

static void test_score__events_need_no_peers(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 1, 5);
    rig_set(rig, 0, ERRORS, 1.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 0, ERRORS)->severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(rig_at(rig, 0, ERRORS)->p, 0.0, 0.0);
    assert_float_equal(rig_at(rig, 0, ERRORS)->sigmas, 1.0, 0.0);
    assert_true(isnan(rig_at(rig, 0, DRAM_NS)->sigmas));
}

static void test_score__events_within_the_practical_size_are_none(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 20, 5);
    rig->features.metrics[ERRORS].practical = 5.0;
    rig_set(rig, 3, ERRORS, 5.0);
    rig_set(rig, 4, ERRORS, 6.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 3, ERRORS)->severity, PB_SEVERITY_OK);
    assert_int_equal(rig_at(rig, 4, ERRORS)->severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(rig_at(rig, 3, ERRORS)->p, 1.0, 0.0);
}

/* Errors that devices recover from: healthy ones may have some. */
static void test_score__retries_that_all_have_are_compared(void **state)
{
    struct rig *rig = *state;
    struct fleet_random random = {1};

    rig_make(&rig->features, 64, 6);
    rig->features.metrics[ERRORS].traits = PB_TRAIT(RECOVERED);
    for (size_t i = 0; i < 64; i++)
        rig_set(rig, i, ERRORS, round(100.0 + 3.0 * fleet_normal(&random)));
    rig_set(rig, 8, ERRORS, 130.0); /* three roots of a hundred */
    rig_set(rig, 9, ERRORS, 300.0);
    rig_set(rig, 10, ERRORS, 0.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 8, ERRORS)->severity, PB_SEVERITY_OK);
    assert_int_equal(rig_at(rig, 9, ERRORS)->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(rig_at(rig, 10, ERRORS)->severity, PB_SEVERITY_OK);
}

static void test_score__events_that_all_have_are_still_wrong(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 6);
    for (size_t i = 0; i < 64; i++)
        rig_set(rig, i, ERRORS, 1.0);
    rig_score(rig);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(rig_at(rig, i, ERRORS)->severity, PB_SEVERITY_CRITICAL);
}

static void test_score__what_is_sure_but_small_is_no_finding(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 7);
    fleet_shift(&rig->features, 10, DRAM_NS, 90.0);
    rig->features.metrics[DRAM_NS].practical = 0.5;
    rig_score(rig);
    assert_int_equal(rig_at(rig, 10, DRAM_NS)->severity, PB_SEVERITY_OK);
}

static void test_score__a_step_of_a_whole_number_is_no_outlier(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 256, 8);
    rig->features.metrics[L1_CYCLES].practical = 0.0;
    for (size_t i = 0; i < 256; i++)
        rig_set(rig, i, L1_CYCLES, 33.0);
    rig_set(rig, 77, L1_CYCLES, 34.0);
    rig_set(rig, 78, L1_CYCLES, 38.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 77, L1_CYCLES)->severity, PB_SEVERITY_OK);
    assert_int_equal(rig_at(rig, 78, L1_CYCLES)->severity, PB_SEVERITY_CRITICAL);
}

static void test_score__another_structure_is_an_outlier(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 9);
    rig_set(rig, 5, SIZE, 221184.0 - 16384.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 5, SIZE)->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 1);
}

static void test_score__three_values_are_not_scored(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 10);
    for (size_t i = 3; i < 64; i++)
        rig_set(rig, i, DRAM_NS, NAN);
    rig_score(rig);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 3);
    for (size_t i = 0; i < 64; i++) {
        assert_true(isnan(rig_at(rig, i, DRAM_NS)->sigmas));
        assert_true(isnan(rig_at(rig, i, DRAM_NS)->p));
    }
}

static void test_score__a_metric_that_few_have_is_not_critical(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 10);
    for (size_t i = 15; i < 64; i++)
        rig_set(rig, i, DRAM_NS, NAN);
    fleet_shift(&rig->features, 3, DRAM_NS, 5000.0);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 3, DRAM_NS)->severity, PB_SEVERITY_WARNING);
}

static void test_score__a_reading_that_does_not_repeat_proves_nothing(void **state)
{
    struct rig *rig = *state;
    struct pb_reading cell;

    rig_make(&rig->features, 64, 11);
    cell = pb_features_reading(&rig->features, 10, DRAM_NS);
    cell.value += 90.0;
    cell.noise = 60.0;
    assert_int_equal(
        pb_features_set(&rig->features, 10, &rig->features.metrics[DRAM_NS], cell, NULL), PB_OK);
    rig_score(rig);
    assert_int_equal(rig_at(rig, 10, DRAM_NS)->severity, PB_SEVERITY_OK);
    assert_true(fabs(rig_at(rig, 10, DRAM_NS)->sigmas) < 2.0);
}

static void test_score__tails_and_nodes_of_the_healthy_are_seen(void **state)
{
    struct fleet_plan plan = {
        .devices = 128, .devices_per_node = 4, .metrics = 120, .freedom = 5.0};
    struct rig *rig = *state;

    fleet_make(&plan, 1, &rig->features);
    rig_score(rig);
    assert_true(rig->scores.norms[L2_NS].tail > 0.1);
    assert_true(rig->scores.norms[L2_NS].independent_peers > 115.0);
    pb_features_clear(&rig->features);
    plan.freedom = 0.0;
    plan.node_share = 0.5;
    fleet_make(&plan, 2, &rig->features);
    rig_score(rig);
    assert_true(rig->scores.norms[L2_NS].tail < 0.03);
    assert_float_equal(rig->scores.norms[L2_NS].independent_peers, 128.0 / 2.5, 15.0);
}

static void test_score__a_sick_node_does_not_excuse_itself(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 64, 12);
    for (size_t i = 8; i < 12; i++)
        for (size_t j = 0; j < METRICS; j++)
            if (rig->features.metrics[j].domain == PB_DOMAIN_NS)
                fleet_shift(&rig->features, i, j, 90.0);
    rig_score(rig);
    assert_true(rig->scores.norms[DRAM_NS].independent_peers > 40.0);
    for (size_t i = 8; i < 12; i++)
        assert_int_equal(rig_at(rig, i, DRAM_NS)->severity, PB_SEVERITY_CRITICAL);
}

static void test_sheet__numbers_in_any_order_find_their_metric(void **state)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 1, 2}, {2, 0, 1}, {1, 1, 0}, {2, 2, 2}};
    struct rig *rig = *state;
    struct pb_feature_row device = {.rank = 0};
    struct pb_metric metric = {.domain = PB_DOMAIN_NS};

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        size_t row;

        assert_int_equal(pb_features_add_device(&rig->features, &device, &row, NULL), PB_OK);
        for (size_t j = 0; j < 3; j++) {
            struct pb_reading cell = {(double)(10 * i + orders[i][j]), 0.0, -1};

            snprintf(metric.name, sizeof(metric.name), "metric%zu", orders[i][j]);
            assert_int_equal(pb_features_set(&rig->features, i, &metric, cell, NULL), PB_OK);
        }
        for (size_t j = 0; j < 3; j++)
            assert_float_equal(pb_features_reading(&rig->features, i, orders[i][j]).value,
                               10.0 * (double)i + (double)orders[i][j], 0.0);
    }
    assert_int_equal(rig->features.metric_count, 3);
    metric.domain = PB_DOMAIN_RATE; /* metric2 is there with another domain */
    assert_int_equal(
        pb_features_set(&rig->features, 0, &metric, (struct pb_reading){1.0, 0.0, -1}, NULL),
        PB_INVALID);
}

static void test_score__an_empty_sheet_has_no_scores(void **state)
{
    struct rig *rig = *state;

    rig_score(rig);
    assert_int_equal(rig->scores.group_count, 0);
    assert_int_equal(rig->scores.device_count, 0);
    pb_scores_clear(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG(test_score__one_shifted_number_is_critical_and_nothing_else),
        RIG(test_score__an_affected_quarter_is_found_whole),
        RIG(test_score__near_even_halves_are_measured_against_themselves),
        RIG(test_score__a_larger_count_does_not_excuse_itself),
        RIG(test_score__events_need_no_peers),
        RIG(test_score__events_within_the_practical_size_are_none),
        RIG(test_score__retries_that_all_have_are_compared),
        RIG(test_score__events_that_all_have_are_still_wrong),
        RIG(test_score__what_is_sure_but_small_is_no_finding),
        RIG(test_score__a_step_of_a_whole_number_is_no_outlier),
        RIG(test_score__another_structure_is_an_outlier),
        RIG(test_score__three_values_are_not_scored),
        RIG(test_score__a_metric_that_few_have_is_not_critical),
        RIG(test_score__a_reading_that_does_not_repeat_proves_nothing),
        RIG(test_score__tails_and_nodes_of_the_healthy_are_seen),
        RIG(test_score__a_sick_node_does_not_excuse_itself),
        RIG(test_sheet__numbers_in_any_order_find_their_metric),
        RIG(test_score__an_empty_sheet_has_no_scores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
