/* Scores of whole sheets: shifts, minorities, halves, events, few peers, baselines, drift. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/fleet.h"

/* Metrics of fleet.c by their place. */
enum {
    L1_CYCLES = 0,
    DRAM_CYCLES = 2,
    L2_NS = 4,
    DRAM_NS = 5,
    SIZE = 9,
    ERRORS = 11,
    METRICS = 24
};

struct rig {
    struct pb_sheet sheet, baseline;
    struct pb_scores scores;
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct rig));
    assert_non_null(*state);
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

    pb_scores_clear(&rig->scores);
    pb_sheet_clear(&rig->sheet);
    pb_sheet_clear(&rig->baseline);
    free(rig);
    return 0;
}

static void make(struct pb_sheet *sheet, size_t devices, uint64_t seed)
{
    struct fleet_plan plan = {.devices = devices, .devices_per_node = 4, .metrics = METRICS};

    plan.practical = 0.01;
    fleet_make(&plan, seed, sheet);
}

static void score(struct rig *rig)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_sheet *baseline = rig->baseline.subject_count > 0 ? &rig->baseline : NULL;

    pb_scores_clear(&rig->scores);
    assert_int_equal(pb_score(&rig->sheet, baseline, &options, &rig->scores, NULL), PB_OK);
}

static const struct pb_score *at(const struct rig *rig, size_t subject, size_t metric)
{
    return &rig->scores.cells[subject * rig->scores.metric_count + metric];
}

static void set(struct rig *rig, size_t subject, size_t metric, double value)
{
    struct pb_cell cell = {value, 0.0, -1};

    assert_int_equal(pb_sheet_set(&rig->sheet, subject, &rig->sheet.metrics[metric], cell, NULL),
                     PB_OK);
}

static void test_score__one_shifted_number_is_critical_and_nothing_else(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 1);
    fleet_shift(&rig->sheet, 10, DRAM_NS, 10 * 9.0);
    score(rig);
    assert_int_equal(at(rig, 10, DRAM_NS)->severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(at(rig, 10, DRAM_NS)->sigmas, 10.0, 3.0);
    assert_float_equal(at(rig, 10, DRAM_NS)->shift, 90.0 / 332.0, 0.06);
    assert_true(at(rig, 10, DRAM_NS)->p < 1e-6);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 1);
}

static void test_score__a_planted_quarter_is_found_whole(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 2);
    for (size_t i = 0; i < 16; i++)
        fleet_shift(&rig->sheet, 4 * i, DRAM_NS, -150.0);
    score(rig);
    assert_false(rig->scores.norms[DRAM_NS].split);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(at(rig, i, DRAM_NS)->severity,
                         i % 4 == 0 ? PB_SEVERITY_CRITICAL : PB_SEVERITY_OK);
}

static void test_score__near_even_halves_are_measured_against_themselves(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 3);
    for (size_t i = 0; i < 26; i++)
        fleet_shift(&rig->sheet, i, DRAM_NS, 200.0);
    fleet_shift(&rig->sheet, 50, DRAM_NS, -120.0);
    score(rig);
    assert_true(rig->scores.norms[DRAM_NS].split);
    assert_float_equal(rig->scores.norms[DRAM_NS].split_low, 332.0, 5.0);
    assert_float_equal(rig->scores.norms[DRAM_NS].split_high, 532.0, 5.0);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(at(rig, i, DRAM_NS)->severity,
                         i == 50 ? PB_SEVERITY_CRITICAL : PB_SEVERITY_OK);
}

static void test_score__few_peers_only_warn_and_say_what_they_could_have_seen(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 4, 4);
    fleet_shift(&rig->sheet, 2, DRAM_NS, 3000.0);
    score(rig);
    assert_false(rig->scores.groups[0].sufficient);
    assert_int_equal(at(rig, 2, DRAM_NS)->severity, PB_SEVERITY_WARNING);
    assert_true(rig->scores.norms[DRAM_NS].detectable > 30.0); /* see below */
    assert_true(rig->scores.norms[DRAM_NS].detectable < 3000.0);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_CRITICAL), 0);
}

/* A sick device widens the scale by which it is judged: each shift has a least one of its own. */
static void test_score__few_peers_name_the_least_shift_that_warns(void **state)
{
    struct rig *rig = *state;
    size_t warnings = 0;

    for (uint64_t i = 0; i < 100; i++) {
        const struct pb_norm *norm;
        double share;

        pb_sheet_clear(&rig->sheet);
        make(&rig->sheet, 12, 40 + i / 5);
        set(rig, 3, DRAM_NS, 352.0 + 20.0 * (double)(i % 5));
        score(rig);
        norm = &rig->scores.norms[DRAM_NS];
        share = (352.0 + 20.0 * (double)(i % 5) - norm->center) / norm->detectable;
        if (fabs(share - 1.0) > 0.01) /* else whoever rounds decides */
            assert_int_equal(at(rig, 3, DRAM_NS)->severity,
                             share > 1.0 ? PB_SEVERITY_WARNING : PB_SEVERITY_OK);
        warnings += share > 1.0;
    }
    assert_in_range(warnings, 20, 80);
}

/* Of 24 numbers of four devices one in a hundred lies so far out by chance: nobody is warned. */
static void test_score__few_peers_do_not_warn_of_what_chance_does(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 4, 4);
    fleet_shift(&rig->sheet, 2, DRAM_NS, 30.0);
    score(rig);
    assert_true(fabs(at(rig, 2, DRAM_NS)->shift) >= 4.0 * rig->sheet.metrics[DRAM_NS].practical);
    assert_true(at(rig, 2, DRAM_NS)->p < 0.05);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 0);
}

static void test_score__events_need_no_peers(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 1, 5);
    set(rig, 0, ERRORS, 1.0);
    score(rig);
    assert_int_equal(at(rig, 0, ERRORS)->severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(at(rig, 0, ERRORS)->p, 0.0, 0.0);
    assert_float_equal(at(rig, 0, ERRORS)->sigmas, 1.0, 0.0);
    assert_true(isnan(at(rig, 0, DRAM_NS)->sigmas));
}

static void test_score__events_within_the_practical_size_are_none(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 20, 5);
    rig->sheet.metrics[ERRORS].practical = 5.0;
    set(rig, 3, ERRORS, 5.0);
    set(rig, 4, ERRORS, 6.0);
    score(rig);
    assert_int_equal(at(rig, 3, ERRORS)->severity, PB_SEVERITY_OK);
    assert_int_equal(at(rig, 4, ERRORS)->severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(at(rig, 3, ERRORS)->p, 1.0, 0.0);
}

static void test_score__events_that_all_have_are_compared(void **state)
{
    struct rig *rig = *state;
    struct fleet_random random = {1};

    make(&rig->sheet, 64, 6);
    for (size_t i = 0; i < 64; i++)
        set(rig, i, ERRORS, round(100.0 + 3.0 * fleet_normal(&random)));
    set(rig, 8, ERRORS, 130.0); /* three roots of a hundred */
    set(rig, 9, ERRORS, 300.0);
    set(rig, 10, ERRORS, 0.0);
    score(rig);
    assert_int_equal(at(rig, 8, ERRORS)->severity, PB_SEVERITY_OK);
    assert_int_equal(at(rig, 9, ERRORS)->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(at(rig, 10, ERRORS)->severity, PB_SEVERITY_OK);
}

static void test_score__what_is_sure_but_small_is_no_finding(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 7);
    fleet_shift(&rig->sheet, 10, DRAM_NS, 90.0);
    rig->sheet.metrics[DRAM_NS].practical = 0.5;
    score(rig);
    assert_int_equal(at(rig, 10, DRAM_NS)->severity, PB_SEVERITY_OK);
}

static void test_score__a_step_of_a_whole_number_is_no_outlier(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 256, 8);
    rig->sheet.metrics[L1_CYCLES].practical = 0.0;
    for (size_t i = 0; i < 256; i++)
        set(rig, i, L1_CYCLES, 33.0);
    set(rig, 77, L1_CYCLES, 34.0);
    set(rig, 78, L1_CYCLES, 38.0);
    score(rig);
    assert_int_equal(at(rig, 77, L1_CYCLES)->severity, PB_SEVERITY_OK);
    assert_int_equal(at(rig, 78, L1_CYCLES)->severity, PB_SEVERITY_CRITICAL);
}

static void test_score__another_structure_is_an_outlier(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 9);
    set(rig, 5, SIZE, 221184.0 - 16384.0);
    score(rig);
    assert_int_equal(at(rig, 5, SIZE)->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 1);
}

static void test_score__three_values_are_not_scored(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 10);
    for (size_t i = 3; i < 64; i++)
        set(rig, i, DRAM_NS, NAN);
    score(rig);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 3);
    for (size_t i = 0; i < 64; i++) {
        assert_true(isnan(at(rig, i, DRAM_NS)->sigmas));
        assert_true(isnan(at(rig, i, DRAM_NS)->p));
    }
}

static void test_score__a_metric_that_few_have_is_not_critical(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 10);
    for (size_t i = 15; i < 64; i++)
        set(rig, i, DRAM_NS, NAN);
    fleet_shift(&rig->sheet, 3, DRAM_NS, 5000.0);
    score(rig);
    assert_int_equal(at(rig, 3, DRAM_NS)->severity, PB_SEVERITY_WARNING);
}

static void test_score__a_reading_that_does_not_repeat_proves_nothing(void **state)
{
    struct rig *rig = *state;
    struct pb_cell cell;

    make(&rig->sheet, 64, 11);
    cell = pb_sheet_cell(&rig->sheet, 10, DRAM_NS);
    cell.value += 90.0;
    cell.noise = 60.0;
    assert_int_equal(pb_sheet_set(&rig->sheet, 10, &rig->sheet.metrics[DRAM_NS], cell, NULL),
                     PB_OK);
    score(rig);
    assert_int_equal(at(rig, 10, DRAM_NS)->severity, PB_SEVERITY_OK);
    assert_true(fabs(at(rig, 10, DRAM_NS)->sigmas) < 2.0);
}

static void test_score__tails_and_nodes_of_the_healthy_are_seen(void **state)
{
    struct fleet_plan plan = {
        .devices = 128, .devices_per_node = 4, .metrics = 120, .freedom = 5.0};
    struct rig *rig = *state;

    fleet_make(&plan, 1, &rig->sheet);
    score(rig);
    assert_true(rig->scores.norms[L2_NS].tail > 0.1);
    assert_true(rig->scores.norms[L2_NS].independent_peers > 115.0);
    pb_sheet_clear(&rig->sheet);
    plan.freedom = 0.0;
    plan.node_share = 0.5;
    fleet_make(&plan, 2, &rig->sheet);
    score(rig);
    assert_true(rig->scores.norms[L2_NS].tail < 0.03);
    assert_float_equal(rig->scores.norms[L2_NS].independent_peers, 128.0 / 2.5, 12.0);
}

static void test_score__a_sick_node_does_not_excuse_itself(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 64, 12);
    for (size_t i = 8; i < 12; i++)
        for (size_t j = 0; j < METRICS; j++)
            if (rig->sheet.metrics[j].domain == PB_DOMAIN_NS)
                fleet_shift(&rig->sheet, i, j, 90.0);
    score(rig);
    assert_true(rig->scores.norms[DRAM_NS].independent_peers > 40.0);
    for (size_t i = 8; i < 12; i++)
        assert_int_equal(at(rig, i, DRAM_NS)->severity, PB_SEVERITY_CRITICAL);
}

static void test_score__a_fleet_of_one_has_the_peers_of_a_baseline(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 1, 13);
    make(&rig->baseline, 32, 14);
    fleet_shift(&rig->sheet, 0, DRAM_NS, 200.0);
    score(rig);
    assert_true(rig->scores.groups[0].sufficient);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 33);
    assert_int_equal(at(rig, 0, DRAM_NS)->severity, PB_SEVERITY_CRITICAL);
    assert_true(isnan(at(rig, 0, DRAM_NS)->drift_sigmas)); /* it has no past */
}

static void test_score__a_device_is_not_its_own_peer(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 8, 15);
    make(&rig->baseline, 8, 15);
    score(rig);
    assert_false(rig->scores.groups[0].sufficient);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 8);
}

static void test_score__a_baseline_in_another_unit_is_no_peer(void **state)
{
    struct rig *rig = *state;

    make(&rig->sheet, 4, 16);
    make(&rig->baseline, 32, 17);
    snprintf(rig->baseline.metrics[DRAM_NS].unit, PB_NAME_LENGTH, "us");
    score(rig);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 4);
    assert_int_equal(rig->scores.norms[L2_NS].peers, 36);
}

/* The sheet's devices in new places, each reading a little off. */
static void move_all(struct rig *rig)
{
    struct fleet_random random = {99};

    for (size_t i = 0; i < rig->sheet.subject_count; i++) {
        snprintf(rig->sheet.subjects[i].host, PB_KEY_LENGTH, "m%zu", i);
        for (size_t j = 0; j < METRICS; j++)
            if (rig->sheet.metrics[j].domain == PB_DOMAIN_NS)
                fleet_shift(&rig->sheet, i, j, 0.5 * fleet_normal(&random));
    }
}

static void test_drift__a_device_that_moved_is_compared_with_its_past(void **state)
{
    struct rig *rig = *state;
    const struct pb_norm *norm;

    make(&rig->sheet, 24, 18);
    make(&rig->baseline, 24, 18);
    move_all(rig);
    fleet_shift(&rig->sheet, 5, DRAM_NS, 15.0); /* 1.7 of what peers differ by */
    score(rig);
    norm = &rig->scores.norms[DRAM_NS];
    assert_int_equal(norm->drift_pairs, 24);
    assert_int_equal(at(rig, 5, DRAM_NS)->severity, PB_SEVERITY_OK);
    assert_int_equal(at(rig, 5, DRAM_NS)->drift_severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(at(rig, 5, DRAM_NS)->drift_shift, 15.0 / 332.0, 0.01);
    for (size_t i = 0; i < 24; i++)
        assert_true(i == 5 || at(rig, i, DRAM_NS)->drift_severity == PB_SEVERITY_OK);
}

static void test_drift__a_fleet_of_one_has_only_its_past(void **state)
{
    struct rig *rig = *state;
    struct pb_sheet later = {0};

    make(&rig->sheet, 1, 19);
    make(&rig->baseline, 1, 19);
    make(&later, 1, 19); /* the same device twice in one library */
    assert_int_equal(pb_sheet_add_subject(&rig->baseline, &later.subjects[0], &(size_t){0}, NULL),
                     PB_OK);
    pb_sheet_clear(&later);
    fleet_shift(&rig->sheet, 0, DRAM_NS, 60.0);
    score(rig);
    assert_false(rig->scores.groups[0].sufficient);
    assert_int_equal(at(rig, 0, DRAM_NS)->drift_severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(at(rig, 0, L2_NS)->drift_sigmas, 0.0, 0.0);
}

static void test_sheet__numbers_in_any_order_find_their_metric(void **state)
{
    static const size_t orders[][3] = {{0, 1, 2}, {0, 1, 2}, {2, 0, 1}, {1, 1, 0}, {2, 2, 2}};
    struct rig *rig = *state;
    struct pb_subject subject = {.rank = 0};
    struct pb_metric metric = {.domain = PB_DOMAIN_NS};

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        size_t row;

        assert_int_equal(pb_sheet_add_subject(&rig->sheet, &subject, &row, NULL), PB_OK);
        for (size_t j = 0; j < 3; j++) {
            struct pb_cell cell = {(double)(10 * i + orders[i][j]), 0.0, -1};

            snprintf(metric.name, sizeof(metric.name), "metric%zu", orders[i][j]);
            assert_int_equal(pb_sheet_set(&rig->sheet, i, &metric, cell, NULL), PB_OK);
        }
        for (size_t j = 0; j < 3; j++)
            assert_float_equal(pb_sheet_cell(&rig->sheet, i, orders[i][j]).value,
                               10.0 * (double)i + (double)orders[i][j], 0.0);
    }
    assert_int_equal(rig->sheet.metric_count, 3);
    metric.domain = PB_DOMAIN_RATE; /* metric2 is there with another domain */
    assert_int_equal(pb_sheet_set(&rig->sheet, 0, &metric, (struct pb_cell){1.0, 0.0, -1}, NULL),
                     PB_INVALID);
}

static void test_score__an_empty_sheet_has_no_scores(void **state)
{
    struct rig *rig = *state;

    score(rig);
    assert_int_equal(rig->scores.group_count, 0);
    assert_int_equal(rig->scores.subject_count, 0);
    pb_scores_clear(NULL);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG(test_score__one_shifted_number_is_critical_and_nothing_else),
        RIG(test_score__a_planted_quarter_is_found_whole),
        RIG(test_score__near_even_halves_are_measured_against_themselves),
        RIG(test_score__few_peers_only_warn_and_say_what_they_could_have_seen),
        RIG(test_score__few_peers_name_the_least_shift_that_warns),
        RIG(test_score__few_peers_do_not_warn_of_what_chance_does),
        RIG(test_score__events_need_no_peers),
        RIG(test_score__events_within_the_practical_size_are_none),
        RIG(test_score__events_that_all_have_are_compared),
        RIG(test_score__what_is_sure_but_small_is_no_finding),
        RIG(test_score__a_step_of_a_whole_number_is_no_outlier),
        RIG(test_score__another_structure_is_an_outlier),
        RIG(test_score__three_values_are_not_scored),
        RIG(test_score__a_metric_that_few_have_is_not_critical),
        RIG(test_score__a_reading_that_does_not_repeat_proves_nothing),
        RIG(test_score__tails_and_nodes_of_the_healthy_are_seen),
        RIG(test_score__a_sick_node_does_not_excuse_itself),
        RIG(test_score__a_fleet_of_one_has_the_peers_of_a_baseline),
        RIG(test_score__a_device_is_not_its_own_peer),
        RIG(test_score__a_baseline_in_another_unit_is_no_peer),
        RIG(test_drift__a_device_that_moved_is_compared_with_its_past),
        RIG(test_drift__a_fleet_of_one_has_only_its_past),
        RIG(test_sheet__numbers_in_any_order_find_their_metric),
        RIG(test_score__an_empty_sheet_has_no_scores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
