/* References as weak peers, and the evenness of a fleet. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/evenness.h"
#include "analysis/verdict/reference.h"
#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

/* Six recorded devices of the test fleet's model, and what they say of its memory. */
static struct pb_reference_number copy = {.name = "global_copy.peak",
                                          .unit = "byte/s",
                                          .devices = 6,
                                          .readings = 30,
                                          .center = 3.9e12,
                                          .device_sd = 1e10,
                                          .run_sd = 5e9};
static struct pb_reference reference = {.model = "Tesla T0",
                                        .driver = "580",
                                        .measured = "2026-11-22",
                                        .devices = 6,
                                        .numbers = &copy,
                                        .count = 1};
static const struct pb_references references = {&reference, 1};

/* One device alone, whose copy rate is this share of the reference. */
static void judge_alone(double share, const char *backend, struct pb_findings *findings_out)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_judge_options options = {.references = &references};
    struct pb_features features = {0};
    struct pb_scores scores = {0};
    size_t metric;

    make_fleet(1, &features);
    metric = pb_features_find(&features, "global_copy.peak");
    PB_TEXT_SET(copy.test, features.metrics[metric].test);
    PB_TEXT_SET(copy.unit, features.metrics[metric].unit);
    features.devices[0].cells[metric].value = share * copy.center;
    PB_TEXT_SET(features.devices[0].info.backend, backend);
    features.device_count = 1;
    assert_int_equal(pb_score(&features, NULL, &rates, &scores, NULL), PB_OK);
    assert_int_equal(pb_judge(&features, &scores, &options, findings_out, NULL), PB_OK);
    fleetbuild_expect_policy(findings_out);
    pb_scores_clear(&scores);
    features.device_count = SLOTS;
    pb_features_clear(&features);
}

static const struct pb_finding *find(const struct pb_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].cause, "reference") == 0)
            return &findings->items[i];
    return NULL;
}

static void test_alone__normal_value_is_reported_as_normal(void **state)
{
    struct pb_findings findings = {0};

    (void)state;
    judge_alone(0.99, "cuda", &findings);
    assert_non_null(find(&findings));
    assert_int_equal(find(&findings)->severity, PB_SEVERITY_OK);
    assert_non_null(
        strstr(find(&findings)->evidence, "6 recorded devices (driver 580, 2026-11-22)"));
    assert_string_equal(find(&findings)->summary,
                        "1 device, 1 metric: every value is normal for this model");
    pb_findings_clear(&findings);
}

/* However far off, recorded devices of another place are no reason to drain a node. */
static void test_alone__odd_value_only_warns(void **state)
{
    struct pb_findings findings = {0};

    (void)state;
    judge_alone(0.3, "cuda", &findings);
    assert_non_null(find(&findings));
    assert_int_equal(find(&findings)->severity, PB_SEVERITY_WARNING);
    assert_false(find(&findings)->drain);
    assert_string_equal(find(&findings)->metric, "global_copy.peak");
    pb_findings_clear(&findings);
    judge_alone(1.5, "cuda", &findings); /* better than recorded */
    assert_int_equal(find(&findings)->severity, PB_SEVERITY_OK);
    pb_findings_clear(&findings);
}

static void test_alone__simulated_device_has_no_reference(void **state)
{
    struct pb_findings findings = {0};

    (void)state;
    judge_alone(0.3, "sim", &findings);
    assert_null(find(&findings));
    pb_findings_clear(&findings);
}

/* Student's t with 5 degrees of freedom: 4.032 at 1%. One device grants four practical sizes. */
static void test_range__widens_as_devices_are_few(void **state)
{
    const struct pb_metric metric = {.practical = 0.0001};
    struct pb_reference_number number = copy;
    double six, spread = sqrt(1e20 * (1.0 + 1.0 / 6.0) + 25e18);

    (void)state;
    six = pb_reference_range(&number, &metric, 0.01);
    assert_true(fabs(six - 4.0321 * spread) < 1e-3 * six);
    number.devices = 1;
    number.device_sd = NAN;
    number.run_sd = NAN;
    assert_true(fabs(pb_reference_range(&number, &metric, 0.01) - 0.0004 * 3.9e12) < 1.0);
}

/* A copy at 90% of its peers': a job that waits for all runs at 90%. */
static void test_evenness__is_that_of_the_slowest_component(void **state)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_features features = {0};
    struct pb_scores scores = {0};
    struct pb_evenness evenness;
    size_t metric;

    (void)state;
    make_fleet(NODES, &features);
    metric = pb_features_find(&features, "global_copy.peak");
    assert_int_equal(pb_score(&features, NULL, &rates, &scores, NULL), PB_OK);
    evenness = pb_evenness_of(&features, &scores);
    assert_true(evenness.value > 0.95 && evenness.value <= 1.0);
    features.devices[SICK].cells[metric].value =
        0.9 * scores.norms[scores.group_of[SICK] * scores.metric_count + metric].center;
    evenness = pb_evenness_of(&features, &scores);
    assert_true(fabs(evenness.value - 0.9) < 1e-6);
    assert_int_equal(evenness.device, SICK);
    assert_int_equal(evenness.metric, metric);
    pb_scores_clear(&scores);
    pb_features_clear(&features);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone__normal_value_is_reported_as_normal),
        cmocka_unit_test(test_alone__odd_value_only_warns),
        cmocka_unit_test(test_alone__simulated_device_has_no_reference),
        cmocka_unit_test(test_range__widens_as_devices_are_few),
        cmocka_unit_test(test_evenness__is_that_of_the_slowest_component),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
