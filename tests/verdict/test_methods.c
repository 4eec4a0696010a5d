/* Tests that came to measure in another way: what they give is another number, and is said to be.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/reference.h"
#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

enum { FLEET = NODES * SLOTS };

static const char name[] = "l2.latency_cycles";

/* Devices from `first` on have the number by the second version of its test, and 30% higher. */
static void change_method(struct pb_features *features, size_t first)
{
    struct pb_metric changed = features->metrics[pb_features_find(features, name)];
    size_t metric = pb_features_find(features, name);
    struct pb_error err = PB_ERROR_INIT;

    changed.method_version = 2;
    for (size_t i = first; i < features->device_count; i++) {
        struct pb_reading cell = pb_features_reading(features, i, metric);

        cell.value *= 1.3;
        assert_int_equal(pb_features_set(features, i, &changed, cell, &err), PB_OK);
        features->devices[i].cells[metric].value = NAN;
    }
}

/* The feature tables are gone afterwards; no baseline: NULL. */
static void judge_with(struct pb_features *features, struct pb_features *baseline,
                       struct pb_findings *findings)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_judge_options options = {.baseline = baseline};
    struct pb_scores scores;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_score(features, baseline, &rates, &scores, &err), PB_OK);
    assert_int_equal(pb_judge(features, &scores, &options, findings, &err), PB_OK);
    fleetbuild_expect_policy(findings);
    pb_scores_clear(&scores);
    pb_features_clear(features);
    pb_features_clear(baseline);
}

/* The one finding says what was not compared, and of which test. */
static void expect_line(struct pb_findings *findings, const char *words)
{
    assert_int_equal(findings->count, 1);
    assert_string_equal(findings->items[0].cause, "battery_mismatch");
    assert_int_equal(findings->items[0].severity, PB_SEVERITY_OK);
    assert_int_equal(findings->items[0].metrics, 1);
    assert_non_null(strstr(findings->items[0].summary, words));
    assert_non_null(strstr(findings->items[0].summary, "method: l2_capacity"));
    pb_findings_clear(findings);
}

static void test_methods__number_of_another_one_is_no_history(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    make_fleet(NODES, &baseline);
    change_method(&features, 0);
    judge_with(&features, &baseline, &findings);
    expect_line(&findings, "1 metrics were not compared with the baseline");
}

static void test_methods__same_one_is_compared_with_its_history(void **state)
{
    struct pb_features features = {0}, baseline = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    make_fleet(NODES, &baseline);
    change_method(&features, 0);
    for (size_t i = 0; i < FLEET; i++)
        baseline.devices[i].cells[pb_features_find(&baseline, name)].value /= 1.3;
    change_method(&baseline, 0);
    judge_with(&features, &baseline, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_not_equal(findings.items[0].cause, "battery_mismatch");
    assert_string_equal(findings.items[0].metric, name);
    pb_findings_clear(&findings);
}

static void test_methods__two_of_one_run_are_no_populations_and_no_gaps(void **state)
{
    struct pb_features features = {0}, none = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    change_method(&features, FLEET / 2);
    judge_with(&features, &none, &findings);
    expect_line(&findings, "1 metrics were compared only among devices");
}

static void test_methods__sick_device_is_seen_among_those_of_its_own(void **state)
{
    struct pb_features features = {0}, none = {0};
    struct pb_findings findings = {0};
    size_t found = 0;

    (void)state;
    make_fleet(NODES, &features);
    put(&features, SICK, name,
        1.2 * pb_features_reading(&features, 0, pb_features_find(&features, name)).value);
    change_method(&features, FLEET / 2);
    judge_with(&features, &none, &findings);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].severity == PB_SEVERITY_CRITICAL) {
            assert_string_equal(findings.items[i].device, sick_key);
            assert_string_equal(findings.items[i].metric, name);
            found++;
        }
    assert_int_equal(found, 1);
    pb_findings_clear(&findings);
}

static void test_methods__reference_of_another_one_is_none(void **state)
{
    struct pb_reference_number number = {.name = "l2.latency_cycles", .unit = "cycle", .test = "t"};
    const struct pb_reference reference = {.numbers = &number, .count = 1};
    struct pb_metric metric = {.name = "l2.latency_cycles", .unit = "cycle", .test = "t"};

    (void)state;
    assert_ptr_equal(pb_reference_number_of(&reference, &metric), &number);
    metric.method_version = 2;
    assert_null(pb_reference_number_of(&reference, &metric));
    number.method_version = 2;
    assert_ptr_equal(pb_reference_number_of(&reference, &metric), &number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods__number_of_another_one_is_no_history),
        cmocka_unit_test(test_methods__same_one_is_compared_with_its_history),
        cmocka_unit_test(test_methods__two_of_one_run_are_no_populations_and_no_gaps),
        cmocka_unit_test(test_methods__sick_device_is_seen_among_those_of_its_own),
        cmocka_unit_test(test_methods__reference_of_another_one_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
