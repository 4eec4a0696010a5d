/* Exact states: one link, one lane, one row is a finding, however many whole numbers round to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/exact_states.h"
#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

static const struct pb_metric links = {.name = "nvml.nvlinks_up",
                                       .unit = "link",
                                       .part = PB_PART_PEER_LINK,
                                       .domain = PB_DOMAIN_SIZE,
                                       .better = PB_BETTER_HIGHER,
                                       .quantum = 1.0,
                                       .practical = 0.03};

static void set_links(struct pb_features *features, size_t device, double count)
{
    assert_int_equal(
        pb_features_set(features, device, &links, (struct pb_reading){count, 0.0, -1}, NULL),
        PB_OK);
}

static double missing_of(const struct pb_features *features, size_t device)
{
    return pb_features_reading(features, device,
                               pb_features_find(features, "nvml.nvlinks_below_peers"))
        .value;
}

static void test_peers__one_link_of_eighteen_is_critical(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};
    const struct pb_finding *finding;

    (void)state;
    make_fleet(NODES, &features);
    for (size_t i = 0; i < features.device_count; i++)
        set_links(&features, i, i == SICK ? 17.0 : 18.0);
    assert_int_equal(pb_exact_states_add(&features, NULL, NULL), PB_OK);
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    finding = fleetbuild_find(&findings, "nvlink", sick_key);
    assert_non_null(finding);
    assert_int_equal(finding->severity, PB_SEVERITY_CRITICAL);
    assert_true(finding->drain);
    pb_findings_clear(&findings);
}

/* Half of the fleet is wired with fewer links: neither half is wrong. */
static void test_peers__two_wirings_have_no_right_value(void **state)
{
    struct pb_features features = {0};

    (void)state;
    make_fleet(NODES, &features);
    for (size_t i = 0; i < features.device_count; i++)
        set_links(&features, i, i % 2 == 0 ? 12.0 : 18.0);
    assert_int_equal(pb_exact_states_add(&features, NULL, NULL), PB_OK);
    assert_true(isnan(missing_of(&features, 0)));
    pb_features_clear(&features);
}

/* A device alone is compared with what it had before. */
static void test_history__counts_where_peers_are_too_few(void **state)
{
    struct pb_features features = {0}, base = {0};

    (void)state;
    make_fleet(1, &features);
    make_fleet(1, &base);
    features.device_count = 1;
    set_links(&features, 0, 17.0);
    set_links(&base, 0, 18.0);
    assert_int_equal(pb_exact_states_add(&features, NULL, NULL), PB_OK);
    assert_true(isnan(missing_of(&features, 0)));
    assert_int_equal(pb_exact_states_add(&features, &base, NULL), PB_OK);
    assert_true(missing_of(&features, 0) == 1.0);
    features.device_count = SLOTS;
    pb_features_clear(&features);
    pb_features_clear(&base);
}

/* So many tenths of the fleet, at places that say nothing. */
static bool is_hit(size_t device, size_t tenths)
{
    return device * 7 % 10 < tenths;
}

static bool is_member(const struct pb_finding *finding, size_t device)
{
    for (size_t i = 0; i < finding->members.count; i++)
        if (finding->members.devices[i] == device)
            return true;
    return false;
}

/* All devices with an event, and no others, are named by the cause, and drained. Where three have
   none, these have too few peers to be judged. */
static void expect_hit(const struct pb_findings *findings, const char *cause, size_t count,
                       size_t tenths)
{
    assert_int_equal(findings->worst, PB_SEVERITY_CRITICAL);
    for (size_t i = 0; i < count; i++) {
        bool is_named = false, is_drained = false;

        for (size_t f = 0; f < findings->count; f++) {
            const struct pb_finding *finding = &findings->items[f];

            if (!is_member(finding, i) || strcmp(finding->cause, "not_judged") == 0)
                continue;
            is_named = true;
            is_drained |= finding->drain;
            if (strcmp(finding->cause, cause) != 0)
                assert_string_equal(finding->cause, "many_anomalous");
        }
        assert_int_equal(is_named, is_hit(i, tenths));
        assert_int_equal(is_drained, is_hit(i, tenths));
    }
}

/* Devices that slow down by heat say so themselves, however many of them there are. */
static void test_events__throttling_is_wrong_whatever_the_share(void **state)
{
    (void)state;
    for (size_t tenths = 1; tenths <= 10; tenths++) {
        struct pb_features features = {0};
        struct pb_findings findings = {0};

        make_fleet(NODES, &features);
        for (size_t i = 0; i < features.device_count; i++) {
            if (!is_hit(i, tenths))
                continue;
            put(&features, i, "throttle.thermal_hardware", 3.0);
            put(&features, i, "clock.sm_mhz", 1584.0);
            put(&features, i, "l1.latency_ns", 20.2);
            put(&features, i, "l2.latency_ns", 170.5);
        }
        judge(&features, &findings);
        expect_hit(&findings, "thermal", NODES * SLOTS, tenths);
        pb_findings_clear(&findings);
    }
}

/* So do those with errors of their memory. */
static void test_events__memory_errors_are_wrong_whatever_the_share(void **state)
{
    static const struct {
        const char *metric, *cause;
    } events[] = {{"nvml.ecc_uncorrected_delta", "hbm"}, {"nvml.retirement_pending", "hbm"}};

    (void)state;
    for (size_t e = 0; e < sizeof(events) / sizeof(events[0]); e++)
        for (size_t tenths = 3; tenths <= 10; tenths++) {
            struct pb_features features = {0};
            struct pb_findings findings = {0};

            make_fleet(NODES, &features);
            for (size_t i = 0; i < features.device_count; i++)
                if (is_hit(i, tenths))
                    put(&features, i, events[e].metric, 1.0);
            judge(&features, &findings);
            expect_hit(&findings, events[e].cause, NODES * SLOTS, tenths);
            pb_findings_clear(&findings);
        }
}

/* Eight of ten throttle: what else is slow is compared with the two that do not. */
static void test_events__throttling_devices_are_nobodys_peers(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};
    const struct pb_finding *finding;

    (void)state;
    make_fleet(4 * NODES, &features);
    for (size_t i = 0; i < features.device_count; i++)
        if (is_hit(i, 8)) {
            put(&features, i, "throttle.thermal_hardware", 3.0);
            put(&features, i, "global_copy.peak", 3.0e12);
        }
    put(&features, 4, "l2.latency_cycles", 300.0); /* does not throttle */
    judge(&features, &findings);
    finding = fleetbuild_find(&findings, "l2_latency", "n02.gpu0");
    assert_non_null(finding);
    assert_int_equal(finding->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(finding->peers, 25);
    pb_findings_clear(&findings);
}

/* An event that all devices have explains nothing of what one of them does beside the others. */
static void test_events__what_all_have_is_no_cause_of_a_difference(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};
    const struct pb_finding *finding;

    (void)state;
    make_fleet(NODES, &features);
    for (size_t i = 0; i < features.device_count; i++)
        put(&features, i, "nvml.other_processes", 1.0);
    put(&features, SICK, "global_copy.peak", 3.0e12);
    judge(&features, &findings);
    finding = fleetbuild_find(&findings, "hbm", sick_key);
    assert_non_null(finding);
    assert_int_equal(finding->severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[1].cause, "co_tenant_idle");
    assert_int_equal(findings.items[1].members.count, NODES * SLOTS);
    pb_findings_clear(&findings);
}

/* What they have in common is said, and excuses nothing. */
static void test_events__a_shared_driver_does_not_excuse_them(void **state)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    (void)state;
    make_fleet(NODES, &features);
    for (size_t i = 0; i < 3 * SLOTS; i++) {
        PB_TEXT_SET(features.devices[i].info.driver_version, "590.2");
        put(&features, i, "throttle.thermal_hardware", 3.0);
        put(&features, i, "l2.latency_ns", 145.0);
    }
    judge(&features, &findings);
    assert_string_equal(findings.items[0].cause, "thermal");
    assert_string_equal(findings.items[0].attribute, "driver");
    assert_int_equal(findings.items[0].severity, PB_SEVERITY_CRITICAL);
    assert_int_equal(findings.items[0].members.count, 3 * SLOTS);
    assert_true(findings.items[0].drain);
    pb_findings_clear(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers__one_link_of_eighteen_is_critical),
        cmocka_unit_test(test_peers__two_wirings_have_no_right_value),
        cmocka_unit_test(test_history__counts_where_peers_are_too_few),
        cmocka_unit_test(test_events__throttling_is_wrong_whatever_the_share),
        cmocka_unit_test(test_events__memory_errors_are_wrong_whatever_the_share),
        cmocka_unit_test(test_events__throttling_devices_are_nobodys_peers),
        cmocka_unit_test(test_events__what_all_have_is_no_cause_of_a_difference),
        cmocka_unit_test(test_events__a_shared_driver_does_not_excuse_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
