/* Causes: what is said of deviations that are known, and what needs no score at all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/cause.h"
#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

static void test_cause__slow_clock_is_no_cache_fault(void **state)
{
    (void)state;
    EXPECT_ONLY("slow_clock", PB_SEVERITY_CRITICAL, {"clock.sm_mhz", 1782.0},
                {"l1.latency_ns", 17.96}, {"l2.latency_ns", 151.5});
}

static void test_cause__heat_explains_the_clock(void **state)
{
    (void)state;
    EXPECT_ONLY("thermal", PB_SEVERITY_CRITICAL, {"throttle.thermal_hardware", 7.0},
                {"clock.sm_mhz", 1782.0}, {"l1.latency_ns", 17.96}, {"l2.latency_ns", 151.5},
                {"nvml.temperature_max", 88.0});
}

static void test_cause__heat_alone_only_warns(void **state)
{
    (void)state;
    EXPECT_ONLY("temperature", PB_SEVERITY_WARNING, {"nvml.temperature_max", 88.0});
}

static void test_cause__power_cap_needs_something_slow(void **state)
{
    (void)state;
    EXPECT_ONLY("power_cap", PB_SEVERITY_CRITICAL, {"throttle.power_cap", 1.0},
                {"global_copy.peak", 3.2e12});
    EXPECT_ONLY("power_limit", PB_SEVERITY_WARNING, {"throttle.power_cap", 1.0});
}

static void test_cause__l2_in_cycles_and_ns_is_one_finding(void **state)
{
    (void)state;
    EXPECT_ONLY("l2_latency", PB_SEVERITY_CRITICAL, {"l2.latency_cycles", 297.0},
                {"l2.latency_ns", 150.0});
}

/* Where noise hides the latency itself, rates that wait for it still distinguish it from bandwidth.
 */
static void test_cause__rate_bound_by_latency_alone_is_latency(void **state)
{
    (void)state;
    EXPECT_ONLY("dram_latency", PB_SEVERITY_CRITICAL, {"global_copy.latency_bound", 2.4e8});
    EXPECT_ONLY("hbm", PB_SEVERITY_CRITICAL, {"global_copy.latency_bound", 2.3e8},
                {"global_copy.peak", 3.4e12});
}

static void test_cause__bandwidth_alone_is_memory(void **state)
{
    (void)state;
    EXPECT_ONLY("hbm", PB_SEVERITY_CRITICAL, {"global_copy.peak", 3.4e12});
}

static void test_cause__memory_errors_are_memory(void **state)
{
    (void)state;
    EXPECT_ONLY("hbm", PB_SEVERITY_CRITICAL, {"nvml.ecc_uncorrected_delta", 2.0},
                {"global_copy.peak", 3.4e12});
}

static void test_cause__wrong_runs_of_two_tests_are_one_finding(void **state)
{
    static const char *const names[] = {"compute.wrong_runs", "compute.sustained_wrong_runs"};
    const struct pb_reading wrong = {3.0, 0.0, 17}; /* on SM 17 */
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    for (size_t m = 0; m < features.metric_count; m++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (strcmp(features.metrics[m].name, names[i]) == 0)
                assert_int_equal(pb_features_set(&features, 5, &features.metrics[m], wrong, NULL),
                                 PB_OK);
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "compute_errors");
    pb_findings_clear(&findings);
}

static void test_cause__retired_pages_are_memory(void **state)
{
    (void)state;
    EXPECT_ONLY("hbm", PB_SEVERITY_CRITICAL, {"nvml.retired_uncorrected_delta", 1.0});
    EXPECT_ONLY("hbm", PB_SEVERITY_CRITICAL, {"nvml.retirement_pending", 1.0});
    EXPECT_ONLY("earlier_memory_errors", PB_SEVERITY_WARNING,
                {"nvml.retired_uncorrected_before", 4.0});
}

static void test_cause__cotenants_explain_what_is_slow(void **state)
{
    (void)state;
    EXPECT_ONLY("co_tenant", PB_SEVERITY_CRITICAL, {"nvml.other_processes", 1.0},
                {"global_copy.peak", 2.0e12}, {"l2.latency_cycles", 500.0},
                {"l2.latency_ns", 252.0});
}

static void test_cause__cotenants_that_slow_nothing_only_warn(void **state)
{
    (void)state;
    EXPECT_ONLY("co_tenant_idle", PB_SEVERITY_WARNING, {"nvml.other_processes", 1.0});
    EXPECT_ONLY("co_tenant_memory", PB_SEVERITY_WARNING, {"nvml.other_processes", 1.0},
                {"nvml.memory_used_min", 18e9});
    /* Its memory moves the battery's pages, and with them the share of far L2 hits. */
    EXPECT_ONLY("co_tenant_idle", PB_SEVERITY_WARNING, {"nvml.other_processes", 1.0},
                {"l2_hits.tail_fraction_1_125x", 0.056});
}

static void test_cause__narrow_link(void **state)
{
    (void)state;
    EXPECT_ONLY("pcie_link", PB_SEVERITY_CRITICAL, {"nvml.pcie_width", 8.0});
}

static void test_cause__peer_link(void **state)
{
    (void)state;
    EXPECT_ONLY("nvlink", PB_SEVERITY_CRITICAL, {"peer_link.median_peer", 1.8e11});
}

static void test_cause__better_than_the_peers_only_warns(void **state)
{
    (void)state;
    EXPECT_ONLY("unexplained", PB_SEVERITY_WARNING, {"global_copy.peak", 4.5e12});
    EXPECT_ONLY("fast_l2", PB_SEVERITY_WARNING, {"l2.latency_cycles", 240.0});
    EXPECT_ONLY("fast_l2", PB_SEVERITY_WARNING, {"l2.latency_ns", 121.2},
                {"dram.beyond_l2_ns", 229.2});
    EXPECT_ONLY("fast_clock", PB_SEVERITY_WARNING, {"clock.sm_mhz", 2178.0},
                {"l1.latency_ns", 14.69});
}

static void test_cause__what_a_clock_does_not_explain_is_reported_beside_it(void **state)
{
    static const struct injected injected[] = {
        {"clock.sm_mhz", 1782.0}, {"l1.latency_ns", 17.96}, {"l2.latency_cycles", 324.0},
        {"l2.latency_ns", 181.8}, {"nvml.pcie_width", 4.0},
    };
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    inject(&features, injected, sizeof(injected) / sizeof(injected[0]));
    judge(&features, &findings);
    assert_int_equal(findings.count, 3);
    assert_non_null(fleetbuild_find(&findings, "slow_clock", sick_key));
    assert_non_null(fleetbuild_find(&findings, "l2_latency", sick_key));
    assert_non_null(fleetbuild_find(&findings, "pcie_link", sick_key));
    pb_findings_clear(&findings);
}

static void test_cause__evidence_has_numbers_and_path(void **state)
{
    static const struct injected injected[] = {{"global_copy.peak", 3.4e12}};
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    inject(&features, injected, 1);
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].summary, "global_copy.peak 3400 GB/s, expected "));
    assert_non_null(strstr(findings.items[0].summary, "31 peers"));
    assert_string_equal(findings.items[0].evidence_path, "/devices/n03.gpu1/tests/global_copy");
    assert_true(findings.items[0].shift < -0.12 && findings.items[0].shift > -0.14);
    assert_true(findings.items[0].sigmas < -5.0);
    assert_true(findings.items[0].p < 0.01);
    assert_true(findings.items[0].advice[0] != '\0');
    pb_findings_clear(&findings);
}

/* A row of /fleet with that status; without a key it is a rank that found no device. */
static void expect_status(const char *status, const char *cause, enum pb_severity severity)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    make_fleet(NODES, &features);
    PB_TEXT_SET(features.devices[SICK].status, status);
    PB_TEXT_SET(features.devices[SICK].message, "as the supervisor saw it");
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, cause);
    assert_string_equal(findings.items[0].place, sick_key);
    assert_int_equal(findings.items[0].severity, severity);
    assert_non_null(strstr(findings.items[0].summary, "as the supervisor saw it"));
    pb_findings_clear(&findings);
}

static void test_status__each_is_a_finding(void **state)
{
    (void)state;
    expect_status("failed", "failed", PB_SEVERITY_CRITICAL);
    expect_status("hung", "hung", PB_SEVERITY_CRITICAL);
    expect_status("crashed", "crashed", PB_SEVERITY_CRITICAL);
    expect_status("lost", "off_the_bus", PB_SEVERITY_CRITICAL);
    expect_status("absent", "absent", PB_SEVERITY_CRITICAL);
    expect_status("duplicate", "duplicate", PB_SEVERITY_WARNING);
    expect_status("partial", "incomplete", PB_SEVERITY_WARNING);
}

static void test_status__other_ends_of_tests_are_reported_too(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    PB_TEXT_SET(features.devices[SICK].status, "lost");
    features.devices[SICK].endings = 1u << PB_TEST_LOST | 1u << PB_TEST_HUNG | 1u << PB_TEST_FAILED;
    judge(&features, &findings);
    assert_int_equal(findings.count, 2);
    assert_non_null(fleetbuild_find(&findings, "off_the_bus", sick_key));
    assert_non_null(fleetbuild_find(&findings, "hung", sick_key));
    pb_findings_clear(&findings);
}

static void test_status__absence_without_a_key_names_slot_or_rank(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};
    struct pb_feature_row gone = {.rank = 40, .slot = -1};
    struct pb_error err = PB_ERROR_INIT;
    size_t at;

    (void)state;
    make_fleet(NODES, &features);
    PB_TEXT_SET(gone.host, "n11");
    PB_TEXT_SET(gone.status, "absent");
    assert_int_equal(pb_features_add_device(&features, &gone, &at, &err), PB_OK);
    gone.slot = 3;
    assert_int_equal(pb_features_add_device(&features, &gone, &at, &err), PB_OK);
    judge(&features, &findings);
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.skipped, 2);
    assert_non_null(fleetbuild_find(&findings, "absent", "rank 40 on n11"));
    assert_non_null(fleetbuild_find(&findings, "absent", "n11.gpu3"));
    assert_true(findings.items[0].drain);
    pb_findings_clear(&findings);
}

static void test_status__unjudged_device_is_not_ok(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};
    struct pb_feature_row lone = {.rank = 40, .slot = 0};
    struct pb_error err = PB_ERROR_INIT;
    size_t at;

    (void)state;
    make_fleet(NODES, &features);
    PB_TEXT_SET(lone.host, "n11");
    PB_TEXT_SET(lone.key, "n11.gpu0");
    PB_TEXT_SET(lone.status, "ok");
    PB_TEXT_SET(lone.info.uuid, "GPU-lone");
    PB_TEXT_SET(lone.info.model, "Tesla T0");
    lone.info.memory_bytes = (uint64_t)8 << 30;
    assert_int_equal(pb_features_add_device(&features, &lone, &at, &err), PB_OK);
    judge(&features, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_UNKNOWN);
    assert_non_null(fleetbuild_find(&findings, "not_judged", "n11.gpu0"));
    pb_findings_clear(&findings);
}

/* One finding says it all: the model is too few, and which devices those are. */
static void test_status__lone_model_is_one_finding(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    PB_TEXT_SET(features.devices[SICK].info.model, "Tesla T1");
    judge(&features, &findings);
    assert_int_equal(findings.worst, PB_SEVERITY_UNKNOWN);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "insufficient_peers");
    assert_string_equal(findings.items[0].device, sick_key);
    assert_non_null(strstr(findings.items[0].summary, ": not compared"));
    assert_non_null(strstr(findings.items[0].advice, "16 or more"));
    pb_findings_clear(&findings);
}

static void put_state(struct pb_features *features, size_t device, const char *name, double value)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_metric metric;

    assert_int_equal(pb_metric_make(name, "", 0.0, &metric, &err), PB_OK);
    assert_int_equal(
        pb_features_set(features, device, &metric, (struct pb_reading){value, 0.0, -1}, &err),
        PB_OK);
}

/* Without peers the driver's own reason indicates a low clock; a clock at its maximum is none. */
static void test_status__clock_lowered_by_the_driver_needs_no_peers(void **state)
{
    (void)state;
    for (double clock = 0.7; clock < 1.1; clock += 0.3) {
        struct pb_features features = {0};
        struct pb_findings findings = {0};

        make_fleet(NODES, &features);
        PB_TEXT_SET(features.devices[SICK].info.model, "Tesla T1");
        for (size_t i = 0; i < features.device_count; i++) {
            put_state(&features, i, "nvml.sm_clock_most_over_max", i == SICK ? clock : 1.0);
            put_state(&features, i, "throttle.locked_clocks", i == SICK ? 1.0 : 0.0);
        }
        judge(&features, &findings);
        assert_int_equal(findings.count, clock < 1.0 ? 2 : 1);
        assert_string_equal(findings.items[0].cause, "insufficient_peers");
        if (clock < 1.0) {
            assert_string_equal(findings.items[1].cause, "locked_clocks");
            assert_string_equal(findings.items[1].device, sick_key);
            assert_int_equal(findings.items[1].severity, PB_SEVERITY_WARNING);
            assert_non_null(strstr(findings.items[1].summary, "above 70%"));
        }
        pb_findings_clear(&findings);
    }
}

static void test_status__test_without_numbers_is_a_gap(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    put(&features, SICK, "global_copy.latency_bound", NAN);
    put(&features, SICK, "global_copy.peak", NAN); /* as when a test was unsupported only here */
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, "incomplete");
    assert_string_equal(findings.items[0].device, sick_key);
    assert_non_null(strstr(findings.items[0].summary, "global_copy"));
    pb_findings_clear(&findings);
}

static void test_fleet__few_peers_are_unknown_and_say_what_could_be_seen(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(2, &features);
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.worst, PB_SEVERITY_UNKNOWN);
    assert_string_equal(findings.items[0].cause, "insufficient_peers");
    assert_int_equal(findings.items[0].level, PB_LEVEL_FLEET);
    assert_non_null(strstr(findings.items[0].evidence, "clock.sm_mhz"));
    assert_non_null(strstr(findings.items[0].evidence, "%"));
    pb_findings_clear(&findings);
}

static void test_fleet__two_populations_name_what_separates_them(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};
    size_t populations = 0;

    (void)state;
    make_fleet(NODES, &features);
    for (size_t i = 0; i < features.device_count; i++) {
        bool is_other = i % 5 < 2; /* 13 of 32: too few for a group of their own */

        if (is_other) {
            PB_TEXT_SET(features.devices[i].info.driver_version, "570.9");
            put(&features, i, "l2.latency_cycles", 300.0 + 0.4 * sin((double)i));
        }
    }
    judge(&features, &findings);
    for (size_t i = 0; i < findings.count; i++) {
        if (findings.items[i].level != PB_LEVEL_POPULATION)
            continue;
        populations++;
        assert_string_equal(findings.items[i].cause, "configuration");
        assert_non_null(strstr(findings.items[i].evidence, "driver"));
    }
    assert_int_equal(populations, 1);
    assert_null(fleetbuild_find(&findings, "l2_latency", "n01.gpu0"));
    pb_findings_clear(&findings);
}

static void test_fleet__odd_configuration_is_a_finding(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    PB_TEXT_SET(features.devices[SICK].info.vbios, "95.02");
    features.devices[3].info.ecc_enabled = 0;
    judge(&features, &findings);
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.worst, PB_SEVERITY_WARNING);
    assert_non_null(fleetbuild_find(&findings, "configuration", sick_key));
    assert_non_null(fleetbuild_find(&findings, "ecc_off", "n01.gpu3"));
    pb_findings_clear(&findings);
}

static void test_table__last_row_takes_whatever_moves(void **state)
{
    const struct pb_cause *last = pb_causes;

    (void)state;
    for (const struct pb_cause *row = pb_causes; row->word != NULL; row++) {
        assert_true(row->meaning[0] != '\0' && row->advice[0] != '\0');
        assert_int_not_equal(row->needs[0].parts, 0);
        assert_int_not_equal(row->worst, PB_SEVERITY_OK); /* it was left out */
        for (const struct pb_cause *other = pb_causes; other != row; other++)
            if (strcmp(other->word, row->word) == 0)
                assert_true(other->worst == row->worst && other->drain == row->drain &&
                            other->critical_from == row->critical_from);
        last = row;
    }
    assert_string_equal(last->word, "unexplained");
    assert_int_equal(last->needs[0].parts, PB_PARTS_ALL);
    assert_int_equal(last->needs[0].direction, PB_ANY_WAY);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 17);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 17) - 1, file) > 0);
    fclose(file);
    return text;
}

static void test_table__every_word_is_documented(void **state)
{
    char *text = read_file(PLUMB_TEST_DATA "/../../docs/verdicts.md");

    (void)state;
    for (const struct pb_cause *row = pb_causes; row->word != NULL; row++) {
        char quoted[PB_NAME_LENGTH + 2];

        snprintf(quoted, sizeof(quoted), "`%s`", row->word);
        if (strstr(text, quoted) == NULL)
            fail_msg("docs/verdicts.md does not explain %s", row->word);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cause__slow_clock_is_no_cache_fault),
        cmocka_unit_test(test_cause__heat_explains_the_clock),
        cmocka_unit_test(test_cause__heat_alone_only_warns),
        cmocka_unit_test(test_cause__power_cap_needs_something_slow),
        cmocka_unit_test(test_cause__l2_in_cycles_and_ns_is_one_finding),
        cmocka_unit_test(test_cause__rate_bound_by_latency_alone_is_latency),
        cmocka_unit_test(test_cause__bandwidth_alone_is_memory),
        cmocka_unit_test(test_cause__memory_errors_are_memory),
        cmocka_unit_test(test_cause__wrong_runs_of_two_tests_are_one_finding),
        cmocka_unit_test(test_cause__retired_pages_are_memory),
        cmocka_unit_test(test_cause__cotenants_explain_what_is_slow),
        cmocka_unit_test(test_cause__cotenants_that_slow_nothing_only_warn),
        cmocka_unit_test(test_cause__narrow_link),
        cmocka_unit_test(test_cause__peer_link),
        cmocka_unit_test(test_cause__better_than_the_peers_only_warns),
        cmocka_unit_test(test_cause__what_a_clock_does_not_explain_is_reported_beside_it),
        cmocka_unit_test(test_cause__evidence_has_numbers_and_path),
        cmocka_unit_test(test_status__each_is_a_finding),
        cmocka_unit_test(test_status__other_ends_of_tests_are_reported_too),
        cmocka_unit_test(test_status__absence_without_a_key_names_slot_or_rank),
        cmocka_unit_test(test_status__unjudged_device_is_not_ok),
        cmocka_unit_test(test_status__lone_model_is_one_finding),
        cmocka_unit_test(test_status__clock_lowered_by_the_driver_needs_no_peers),
        cmocka_unit_test(test_status__test_without_numbers_is_a_gap),
        cmocka_unit_test(test_fleet__few_peers_are_unknown_and_say_what_could_be_seen),
        cmocka_unit_test(test_fleet__two_populations_name_what_separates_them),
        cmocka_unit_test(test_fleet__odd_configuration_is_a_finding),
        cmocka_unit_test(test_table__last_row_takes_whatever_moves),
        cmocka_unit_test(test_table__every_word_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
