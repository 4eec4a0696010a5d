/* Fleets against their own history: one device, a few, all of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

static void judge_against(struct pb_features *features, struct pb_features *baseline,
                          struct pb_findings *findings)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_scores scores;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_score(features, baseline, &options, &scores, &err), PB_OK);
    assert_int_equal(pb_judge(features, &scores, NULL, findings, &err), PB_OK);
    fleetbuild_expect_policy(findings);
    pb_scores_clear(&scores);
    pb_features_clear(features);
    pb_features_clear(baseline);
}

/* L2 that differs by a tenth from device to device, as some healthy fleets do. */
static void spread_l2(struct pb_features *features, double change)
{
    for (size_t i = 0; i < features->device_count; i++)
        put(features, i, "l2.latency_cycles",
            270.0 * (1.0 + 0.1 * sin(2.3 * (double)i) + change * sin(5.1 * (double)i)));
}

static void test_history__device_that_has_moved_among_unlike_peers_is_seen(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};
    double before;

    (void)state;
    make_fleet(NODES, &features);
    make_fleet(NODES, &baseline);
    spread_l2(&baseline, 0.0);
    spread_l2(&features, 0.002);
    before = pb_features_reading(&baseline, SICK, pb_features_find(&baseline, "l2.latency_cycles"))
                 .value;
    put(&features, SICK, "l2.latency_cycles", 1.1 * before);
    judge_against(&features, &baseline, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "l2_latency");
    assert_string_equal(findings.items[0].device, sick_key);
    assert_non_null(strstr(findings.items[0].summary, "of its own earlier runs"));
    assert_true(fabs(findings.items[0].expected - before) < 1e-6 * before);
    assert_true(isnan(findings.items[0].p));
    assert_non_null(strstr(findings.items[0].summary, "x the run-to-run tolerance"));
    pb_findings_clear(&findings);
}

/* With changes of all devices so far apart, that of one is nothing special. */
/* Few peers only warn; that the device has changed since its own last run is as bad as ever. */
static void test_history__a_fall_among_few_peers_is_as_bad_as_by_its_history(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(2, &features);
    make_fleet(2, &baseline);
    put(&features, 5, "clock.sm_mhz", 1400.0);
    judge_against(&features, &baseline, &findings);
    assert_true(findings.count > 0);
    assert_string_equal(findings.items[0].cause, "slow_clock");
    assert_int_equal(findings.items[0].severity, PB_SEVERITY_CRITICAL);
    assert_non_null(strstr(findings.items[0].summary, "of its own earlier runs"));
    pb_findings_clear(&findings);
}

static void test_history__changes_that_all_make_are_usual(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    make_fleet(NODES, &baseline);
    spread_l2(&baseline, 0.0);
    spread_l2(&features, 0.05);
    judge_against(&features, &baseline, &findings);
    assert_int_equal(findings.count, 0);
    pb_findings_clear(&findings);
}

static void test_history__group_that_has_moved_is_one_finding(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    make_fleet(NODES, &baseline);
    for (size_t i = 0; i < features.device_count; i++)
        put(&features, i, "clock.sm_mhz", 1780.0 + 0.2 * sin(2.3 * (double)i));
    judge_against(&features, &baseline, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].level, PB_LEVEL_POPULATION);
    assert_string_equal(findings.items[0].cause, "slow_clock");
    assert_false(findings.items[0].drain);
    pb_findings_clear(&findings);
}

static void test_history__fleet_of_one_is_judged_by_a_baseline(void **state)
{
    struct pb_features features = {0}, fleet = {0}, baseline = {0};
    struct pb_findings findings = {0};
    struct pb_error err = PB_ERROR_INIT;
    size_t at;

    (void)state;
    make_fleet(NODES, &fleet);
    make_fleet(NODES, &baseline);
    assert_int_equal(pb_features_add_device(&features, &fleet.devices[SICK], &at, &err), PB_OK);
    for (size_t m = 0; m < fleet.metric_count; m++)
        put(&features, at, fleet.metrics[m].name, pb_features_reading(&fleet, SICK, m).value);
    put(&features, at, "global_copy.peak", 3.2e12);
    judge_against(&features, &baseline, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_CRITICAL);
    assert_non_null(fleetbuild_find(&findings, "hbm", sick_key));
    pb_findings_clear(&findings);
    pb_features_clear(&fleet);
}

static void test_history__few_that_have_not_changed_are_well(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(1, &features);
    make_fleet(1, &baseline);
    judge_against(&features, &baseline, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_OK);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "self_history");
    assert_non_null(strstr(findings.items[0].summary, "compared with their own earlier runs"));
    pb_findings_clear(&findings);
}

/* One that was not there then keeps the others from vouching for it. */
static void test_history__few_with_a_newcomer_are_not_well(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(1, &features);
    make_fleet(1, &baseline);
    PB_TEXT_SET(features.devices[0].info.uuid, "GPU-new");
    judge_against(&features, &baseline, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_UNKNOWN);
    assert_non_null(strstr(findings.items[0].cause, "insufficient_peers"));
    pb_findings_clear(&findings);
}

/* One device, once more at the end of a feature table: a further run of it. */
static size_t add_one(struct pb_features *features)
{
    struct pb_features fleet = {0};
    struct pb_error err = PB_ERROR_INIT;
    size_t at;

    make_fleet(NODES, &fleet);
    assert_int_equal(pb_features_add_device(features, &fleet.devices[SICK], &at, &err), PB_OK);
    for (size_t m = 0; m < fleet.metric_count; m++)
        assert_int_equal(pb_features_set(features, at, &fleet.metrics[m],
                                         pb_features_reading(&fleet, SICK, m), &err),
                         PB_OK);
    pb_features_clear(&fleet);
    return at;
}

/* What is said of a device whose number is `now` and was each of `history`. */
static enum pb_severity judge_one(const char *name, double now, const double *runs, size_t count)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};
    enum pb_severity worst;

    put(&features, add_one(&features), name, now);
    for (size_t i = 0; i < count; i++)
        put(&baseline, add_one(&baseline), name, runs[i]);
    judge_against(&features, &baseline, &findings);
    worst = findings.worst;
    pb_findings_clear(&findings);
    return worst;
}

static void test_history__runs_that_lie_apart_grant_as_much(void **state)
{
    static const double quiet[] = {270.0, 270.2, 269.9, 270.1, 270.0};
    static const double loud[] = {260.0, 265.0, 270.0, 275.0, 280.0};

    (void)state;
    assert_int_equal(judge_one("l2.latency_cycles", 287.0, quiet, 5), PB_SEVERITY_CRITICAL);
    assert_int_equal(judge_one("l2.latency_cycles", 287.0, loud, 5), PB_SEVERITY_OK);
}

static void test_history__one_step_of_rounding_is_no_drift(void **state)
{
    static const double history = 32.0;

    (void)state;
    assert_int_equal(judge_one("l1.latency_cycles", 33.0, &history, 1), PB_SEVERITY_OK);
    assert_int_equal(judge_one("l1.latency_cycles", 34.0, &history, 1), PB_SEVERITY_WARNING);
    assert_int_equal(judge_one("l1.latency_cycles", 35.0, &history, 1), PB_SEVERITY_CRITICAL);
}

/* What is reported of one device whose only number was `before` and is `now`. */
static enum pb_severity judge_number(const struct pb_metric *metric, struct pb_reading now,
                                     const struct pb_metric *history, struct pb_reading before)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_severity worst;

    add_one(&features);
    add_one(&baseline);
    assert_int_equal(pb_features_set(&features, 0, metric, now, &err), PB_OK);
    assert_int_equal(pb_features_set(&baseline, 0, history, before, &err), PB_OK);
    judge_against(&features, &baseline, &findings);
    worst = findings.worst;
    pb_findings_clear(&findings);
    return worst;
}

/* A share of a hundred thousand accesses, and of a few hundred. */
static void test_history__few_accesses_prove_no_tail(void **state)
{
    static const struct {
        double noise;
        enum pb_severity severity;
    } cases[] = {{1e-5, PB_SEVERITY_CRITICAL}, {2e-3, PB_SEVERITY_OK}};
    static const struct pb_metric metric = {.name = "dram_near.tail_fraction_3x",
                                            .unit = "share",
                                            .part = PB_PART_DRAM,
                                            .domain = PB_DOMAIN_FRACTION,
                                            .better = PB_BETTER_LOWER,
                                            .practical = 5e-4};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pb_reading before = {0.0, cases[i].noise, -1}, now = {0.004, cases[i].noise, -1};

        assert_int_equal(judge_number(&metric, now, &metric, before), cases[i].severity);
    }
}

/* Penalties by one SM, and by all of them: neither is the other one's history. */
static void test_history__another_test_is_another_measurement(void **state)
{
    static const struct {
        const char *test;
        enum pb_severity severity;
    } runs[] = {{"sm_misses", PB_SEVERITY_CRITICAL}, {"tlb_reach", PB_SEVERITY_OK}};
    static const struct pb_metric metric = {.name = "tlb_l2.penalty_cycles",
                                            .unit = "cycle",
                                            .test = "sm_misses",
                                            .part = PB_PART_TLB,
                                            .domain = PB_DOMAIN_CYCLES,
                                            .better = PB_BETTER_LOWER,
                                            .practical = 0.02};

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct pb_reading before = {94.0, 0.0, -1}, now = {123.0, 0.0, -1};
        struct pb_metric history = metric;

        PB_TEXT_SET(history.test, runs[i].test);
        assert_int_equal(judge_number(&metric, now, &history, before), runs[i].severity);
    }
}

/* UUIDs of MIG instances are made from names: a GPU divided anew gives an old one away again. */
static void test_history__instance_of_another_profile_is_another_device(void **state)
{
    static const struct {
        const char *model;
        enum pb_severity severity;
    } runs[] = {{"A MIG 2g.20gb", PB_SEVERITY_CRITICAL}, {"A MIG 1g.10gb", PB_SEVERITY_UNKNOWN}};

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct pb_features features = {0}, baseline = {0};
        struct pb_findings findings = {0};

        put(&features, add_one(&features), "l2.latency_cycles", 300.0);
        put(&baseline, add_one(&baseline), "l2.latency_cycles", 250.0);
        PB_TEXT_SET(features.devices[0].info.model, "A MIG 2g.20gb");
        PB_TEXT_SET(baseline.devices[0].info.model, runs[i].model);
        judge_against(&features, &baseline, &findings);
        assert_int_equal(findings.worst, runs[i].severity);
        pb_findings_clear(&findings);
    }
}

static void test_repeat__sizes_are_ratios(void **state)
{
    const struct pb_metric rate = pb_metric_row_find("host_link.to_device_pageable")->metric;
    const struct pb_metric share = pb_metric_row_find("throttle.power_cap")->metric;

    (void)state;
    assert_float_equal(pb_repeat_of(&rate).warning, 5.0, 0.0);
    assert_true(isinf(pb_repeat_of(&rate).critical));
    assert_float_equal(pb_repeat_size(&rate, 1.0, 10.0, true), 10.0, 1e-9);
    assert_float_equal(pb_repeat_size(&rate, 1.0, 10.0, false), 5.0, 1e-9);
    assert_float_equal(pb_repeat_of(&share).critical, 0.6, 1e-9);
    assert_true(pb_repeat_of(&share).same_tests);
    assert_float_equal(pb_repeat_size(&share, 0.3, 10.0, false), 0.3, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history__device_that_has_moved_among_unlike_peers_is_seen),
        cmocka_unit_test(test_history__a_fall_among_few_peers_is_as_bad_as_by_its_history),
        cmocka_unit_test(test_history__changes_that_all_make_are_usual),
        cmocka_unit_test(test_history__group_that_has_moved_is_one_finding),
        cmocka_unit_test(test_history__fleet_of_one_is_judged_by_a_baseline),
        cmocka_unit_test(test_history__few_that_have_not_changed_are_well),
        cmocka_unit_test(test_history__few_with_a_newcomer_are_not_well),
        cmocka_unit_test(test_history__runs_that_lie_apart_grant_as_much),
        cmocka_unit_test(test_history__one_step_of_rounding_is_no_drift),
        cmocka_unit_test(test_history__few_accesses_prove_no_tail),
        cmocka_unit_test(test_history__another_test_is_another_measurement),
        cmocka_unit_test(test_history__instance_of_another_profile_is_another_device),
        cmocka_unit_test(test_repeat__sizes_are_ratios),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
