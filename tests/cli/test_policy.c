/* The site's policy: what its file may say, and what it does to findings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/outliers.h"

/* One device; a finding of a cause about it. */
struct scene {
    struct pb_features features;
    struct pb_feature_row device;
    struct pb_policy policy;
    char file[64];
    size_t member;
};

static int set_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    PB_TEXT_SET(scene->device.key, "n03.gpu2");
    PB_TEXT_SET(scene->device.host, "n03");
    PB_TEXT_SET(scene->device.info.uuid, "GPU-3");
    scene->features.devices = &scene->device;
    scene->features.device_count = 1;
    *state = scene;
    return 0;
}

static int clear_scene(void **state)
{
    struct scene *scene = *state;

    pb_policy_clear(&scene->policy);
    if (scene->file[0] != '\0')
        unlink(scene->file);
    free(scene);
    return 0;
}

static enum pb_status load(struct scene *scene, const char *text, struct pb_error *err)
{
    int handle;

    strcpy(scene->file, "/tmp/plumb-policy-XXXXXX");
    handle = mkstemp(scene->file);
    assert_true(handle >= 0);
    assert_int_equal(write(handle, text, strlen(text)), strlen(text));
    close(handle);
    pb_policy_clear(&scene->policy);
    return pb_policy_load(scene->file, &scene->policy, err);
}

static void expect_loaded(struct scene *scene, const char *text)
{
    struct pb_error err = PB_ERROR_INIT;

    if (load(scene, text, &err) != PB_OK)
        fail_msg("%s", err.message);
}

static void expect_refused(struct scene *scene, const char *text, const char *message)
{
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(load(scene, text, &err), PB_INVALID);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", message, err.message);
    unlink(scene->file);
}

/* A finding that the statistics call CRITICAL, as the policy leaves it. */
static struct pb_finding apply(struct scene *scene, const char *cause, const char *metric,
                               double shift)
{
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_CRITICAL, PB_LEVEL_DEVICE);

    finding.members = (struct pb_members){&scene->member, 1};
    finding.shift = shift;
    PB_TEXT_SET(finding.cause, cause);
    PB_TEXT_SET(finding.metric, metric);
    PB_TEXT_SET(finding.advice, "replace the board");
    pb_policy_apply(scene->policy.file == NULL ? NULL : &scene->policy, &scene->features, 0,
                    &finding);
    return finding;
}

static void test_default__drains_by_harm(void **state)
{
    struct pb_finding finding = apply(*state, "slow_sm", "sm.l1_slowest", 0.02);

    assert_int_equal(finding.severity, PB_SEVERITY_WARNING);
    assert_false(finding.drain);
    assert_string_equal(finding.advice, "replace the board");
    finding = apply(*state, "slow_sm", "sm.l1_slowest", 0.3);
    assert_int_equal(finding.severity, PB_SEVERITY_CRITICAL);
    assert_true(finding.drain);
    assert_string_equal(finding.advice, "drain, then replace the board");
    assert_int_equal(apply(*state, "co_tenant_idle", "nvml.other_processes", 1.0).severity,
                     PB_SEVERITY_WARNING);
}

/* Nothing says that the larger part of a group is the sick one. */
static void test_default__larger_part_of_a_group_is_not_drained(void **state)
{
    struct scene *scene = *state;
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_CRITICAL, PB_LEVEL_POPULATION);

    finding.members = (struct pb_members){&scene->member, 1};
    PB_TEXT_SET(finding.cause, "hbm");
    pb_policy_apply(NULL, &scene->features, 1, &finding);
    assert_false(finding.drain);
    finding.severity = PB_SEVERITY_CRITICAL;
    pb_policy_apply(NULL, &scene->features, 3, &finding);
    assert_true(finding.drain);
}

/* Policies that were written for the names of an earlier version mean the same metrics. */
static void test_file__former_names_of_metrics_are_understood(void **state)
{
    struct scene *scene = *state;

    expect_loaded(scene, "{\"schema\": 1, \"metrics\": {"
                         "\"nvml.pcie_replay_step\": {\"severity\": \"WARNING\"},"
                         "\"*.beyond_*\": {\"severity\": \"WARNING\"}},"
                         "\"muted\": [{\"metric\": \"nvml.slowed_by_heat_ms\","
                         "\"until\": \"9999-01-01\", \"reason\": \"known\"}]}");
    assert_int_equal(apply(scene, "pcie_link", "nvml.pcie_replay_delta", 1.0).severity,
                     PB_SEVERITY_WARNING);
    assert_int_equal(apply(scene, "tail", "dram_near.tail_fraction_1_5x", 1.0).severity,
                     PB_SEVERITY_WARNING);
    assert_int_equal(apply(scene, "thermal", "nvml.thermal_violation_ms", 1.0).severity,
                     PB_SEVERITY_OK);
    assert_int_equal(apply(scene, "pcie_link", "nvml.pcie_width", -0.5).severity,
                     PB_SEVERITY_CRITICAL);
}

/* What the documentation ships is the table of the source, row by row: a site sees every cause. */
static void test_default__is_what_docs_policy_json_says(void **state)
{
    struct scene *scene = *state;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_policy_rule rule;
    size_t count = 0;

    if (pb_policy_load(PLUMB_POLICY, &scene->policy, &err) != PB_OK)
        fail_msg("%s", err.message);
    for (; pb_policy_default(count, &rule); count++) {
        const struct pb_policy_rule *shipped = &scene->policy.causes[count];

        assert_in_range(count, 0, scene->policy.cause_count - 1);
        assert_string_equal(shipped->pattern, rule.pattern);
        assert_int_equal(shipped->severity, rule.severity);
        assert_int_equal(shipped->drain, rule.drain);
        assert_true(shipped->critical_from == rule.critical_from);
    }
    assert_int_equal(scene->policy.cause_count, count);
}

static void test_site__overrides_by_cause_and_by_metric(void **state)
{
    struct scene *scene = *state;

    expect_loaded(scene, "{\"schema\": 1, \"causes\": {\"hbm\": {\"critical_from\": 0.2},"
                         "\"slow_sm\": {\"critical_from\": 0}},"
                         "\"metrics\": {\"host_link.*\": {\"drain\": false},"
                         "\"tail.*\": {\"severity\": \"WARNING\"}}}");
    assert_int_equal(apply(scene, "hbm", "global_copy.peak", -0.1).severity, PB_SEVERITY_WARNING);
    assert_true(apply(scene, "hbm", "global_copy.peak", -0.3).drain);
    assert_true(apply(scene, "slow_sm", "sm.l1_slowest", 0.02).drain);
    assert_int_equal(apply(scene, "pcie_link", "host_link.peak", -0.5).severity,
                     PB_SEVERITY_CRITICAL);
    assert_false(apply(scene, "pcie_link", "host_link.peak", -0.5).drain);
    assert_int_equal(apply(scene, "tail", "tail.x", 0.5).severity, PB_SEVERITY_WARNING);
    assert_true(apply(scene, "thermal", "clock.sm_mhz", -0.1).drain); /* no rule: the default */
}

static void test_site__sets_practical_sizes(void **state)
{
    struct scene *scene = *state;
    struct pb_metric metric = {.name = "l2.latency_cycles", .practical = 0.02};

    scene->features.metrics = &metric;
    scene->features.metric_count = 1;
    expect_loaded(scene, "{\"schema\": 1, \"metrics\": {\"l2.*\": {\"practical\": 0.07}}}");
    pb_policy_set_practical(&scene->policy, &scene->features);
    assert_true(metric.practical == 0.07);
}

static void test_mute__ends_with_its_day(void **state)
{
    struct scene *scene = *state;
    struct pb_finding finding;

    expect_loaded(scene, "{\"schema\": 1, \"muted\": [{\"device\": \"GPU-3\", \"cause\": \"hbm\","
                         "\"until\": \"2027-01-31\", \"reason\": \"board ordered\"}]}");
    PB_TEXT_SET(scene->policy.today, "2027-01-31");
    finding = apply(scene, "hbm", "global_copy.peak", -0.1);
    assert_int_equal(finding.severity, PB_SEVERITY_OK);
    assert_false(finding.drain);
    assert_string_equal(finding.muted_until, "2027-01-31");
    assert_string_equal(finding.mute_reason, "board ordered");
    assert_int_equal(apply(scene, "tail", "x", 0.1).severity, PB_SEVERITY_CRITICAL);
    PB_TEXT_SET(scene->policy.today, "2027-02-01");
    assert_true(apply(scene, "hbm", "global_copy.peak", -0.1).drain);
    PB_TEXT_SET(scene->policy.today, "2027-01-01");
    PB_TEXT_SET(scene->device.key, "n04.gpu0");
    PB_TEXT_SET(scene->device.info.uuid, "GPU-4");
    assert_true(apply(scene, "hbm", "global_copy.peak", -0.1).drain);
}

static void test_file__wrong_keys_are_refused_by_their_path(void **state)
{
    struct scene *scene = *state;

    expect_refused(scene, "{\"schema\": 2}", "$.schema: expected");
    expect_refused(scene, "{}", "$.schema");
    expect_refused(scene, "{\"schema\": 1, \"rules\": {}}", "$.rules");
    expect_refused(scene, "{\"schema\": 1, \"causes\": {\"hbm\": {\"drian\": true}}}",
                   "$.causes.hbm.drian");
    expect_refused(scene, "{\"schema\": 1, \"causes\": {\"hbm\": {\"drain\": 1}}}",
                   "$.causes.hbm.drain: expected true or false");
    expect_refused(scene, "{\"schema\": 1, \"causes\": {\"hbm\": {\"severity\": \"BAD\"}}}",
                   "expected OK, WARNING, UNKNOWN or CRITICAL");
    expect_refused(scene, "{\"schema\": 1, \"metrics\": {\"x\": {\"practical\": -1}}}",
                   "$.metrics.x.practical");
    expect_refused(scene, "{\"schema\": 1, \"muted\": [{\"cause\": \"hbm\", \"reason\": \"x\"}]}",
                   "$.muted[0].until");
    expect_refused(scene,
                   "{\"schema\": 1, \"muted\": [{\"cause\": \"hbm\", \"reason\": \"x\","
                   "\"until\": \"soon\"}]}",
                   "expected a date");
    expect_refused(scene,
                   "{\"schema\": 1, \"muted\": [{\"reason\": \"x\", \"until\": \"2027-01-31\"}]}",
                   "expected one of cause, metric, host and device");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_scene, clear_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_default__drains_by_harm),
        CASE(test_default__larger_part_of_a_group_is_not_drained),
        CASE(test_default__is_what_docs_policy_json_says),
        CASE(test_site__overrides_by_cause_and_by_metric),
        CASE(test_site__sets_practical_sizes),
        CASE(test_mute__ends_with_its_day),
        CASE(test_file__wrong_keys_are_refused_by_their_path),
        CASE(test_file__former_names_of_metrics_are_understood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
