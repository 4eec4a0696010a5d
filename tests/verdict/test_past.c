/* Fleets against their own past: one device, a few, all of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

static void judge_against(struct pb_sheet *sheet, struct pb_sheet *baseline,
                          struct pb_findings *findings)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_scores scores;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_score(sheet, baseline, &options, &scores, &err), PB_OK);
    assert_int_equal(pb_judge(sheet, &scores, findings, &err), PB_OK);
    pb_scores_clear(&scores);
    pb_sheet_clear(sheet);
    pb_sheet_clear(baseline);
}

/* L2 that differs by a tenth from device to device, as some healthy fleets do. */
static void spread_l2(struct pb_sheet *sheet, double change)
{
    for (size_t i = 0; i < sheet->subject_count; i++)
        put(sheet, i, "l2.latency_cycles",
            270.0 * (1.0 + 0.1 * sin(2.3 * (double)i) + change * sin(5.1 * (double)i)));
}

static void test_past__device_that_has_moved_among_unlike_peers_is_seen(void **state)
{
    struct pb_sheet sheet = {0}, baseline = {0};
    struct pb_findings findings = {0};
    double before;

    (void)state;
    make_fleet(NODES, &sheet);
    make_fleet(NODES, &baseline);
    spread_l2(&baseline, 0.0);
    spread_l2(&sheet, 0.002);
    before = pb_sheet_cell(&baseline, SICK, pb_sheet_find(&baseline, "l2.latency_cycles")).value;
    put(&sheet, SICK, "l2.latency_cycles", 1.1 * before);
    judge_against(&sheet, &baseline, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "l2_latency");
    assert_string_equal(findings.items[0].device, sick_key);
    assert_non_null(strstr(findings.items[0].summary, "its own past"));
    assert_true(fabs(findings.items[0].expected - before) < 1e-6 * before);
    assert_true(isnan(findings.items[0].p));
    assert_non_null(strstr(findings.items[0].summary, "times what repeats"));
    pb_findings_clear(&findings);
}

/* With changes of all devices so far apart, that of one is nothing special. */
static void test_past__changes_that_all_make_are_usual(void **state)
{
    struct pb_sheet sheet = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &sheet);
    make_fleet(NODES, &baseline);
    spread_l2(&baseline, 0.0);
    spread_l2(&sheet, 0.05);
    judge_against(&sheet, &baseline, &findings);
    assert_int_equal(findings.count, 0);
    pb_findings_clear(&findings);
}

static void test_past__group_that_has_moved_is_one_finding(void **state)
{
    struct pb_sheet sheet = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &sheet);
    make_fleet(NODES, &baseline);
    for (size_t i = 0; i < sheet.subject_count; i++)
        put(&sheet, i, "clock.sm_mhz", 1780.0 + 0.2 * sin(2.3 * (double)i));
    judge_against(&sheet, &baseline, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].level, PB_LEVEL_POPULATION);
    assert_string_equal(findings.items[0].cause, "slow_clock");
    assert_false(findings.items[0].drain);
    pb_findings_clear(&findings);
}

static void test_past__fleet_of_one_is_judged_by_a_baseline(void **state)
{
    struct pb_sheet sheet = {0}, fleet = {0}, baseline = {0};
    struct pb_findings findings = {0};
    struct pb_error err = PB_ERROR_INIT;
    size_t at;

    (void)state;
    make_fleet(NODES, &fleet);
    make_fleet(NODES, &baseline);
    assert_int_equal(pb_sheet_add_subject(&sheet, &fleet.subjects[SICK], &at, &err), PB_OK);
    for (size_t m = 0; m < fleet.metric_count; m++)
        put(&sheet, at, fleet.metrics[m].name, pb_sheet_cell(&fleet, SICK, m).value);
    put(&sheet, at, "global_copy.peak", 3.2e12);
    judge_against(&sheet, &baseline, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_CRITICAL);
    assert_non_null(fleetbuild_find(&findings, "hbm", sick_key));
    pb_findings_clear(&findings);
    pb_sheet_clear(&fleet);
}

static void test_past__few_that_have_not_changed_are_well(void **state)
{
    struct pb_sheet sheet = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(1, &sheet);
    make_fleet(1, &baseline);
    judge_against(&sheet, &baseline, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_OK);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "own_past");
    assert_non_null(strstr(findings.items[0].summary, "compared with their own past"));
    pb_findings_clear(&findings);
}

/* One that was not there then keeps the others from vouching for it. */
static void test_past__few_with_a_newcomer_are_not_well(void **state)
{
    struct pb_sheet sheet = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(1, &sheet);
    make_fleet(1, &baseline);
    PB_TEXT_SET(sheet.subjects[0].info.uuid, "GPU-new");
    judge_against(&sheet, &baseline, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_UNKNOWN);
    assert_non_null(strstr(findings.items[0].cause, "insufficient_peers"));
    pb_findings_clear(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_past__device_that_has_moved_among_unlike_peers_is_seen),
        cmocka_unit_test(test_past__changes_that_all_make_are_usual),
        cmocka_unit_test(test_past__group_that_has_moved_is_one_finding),
        cmocka_unit_test(test_past__fleet_of_one_is_judged_by_a_baseline),
        cmocka_unit_test(test_past__few_that_have_not_changed_are_well),
        cmocka_unit_test(test_past__few_with_a_newcomer_are_not_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
