/*
 * Faults that show only where all SMs are at work, or in the memory of other devices, in a fleet of
 * 32 simulated devices: weak and strong, each is found with its cause, the SM is named where it is
 * one SM's, and nobody else is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/fleetbuild.h"

enum { NODES = 8, SLOTS = 4, SICK_NODE = 2, SICK_SLOT = 1 };

static const char sick_key[] = "n03.gpu1";

static const char *const wanted[] = {
    "clock_overhead",    "clock_calibration", "shared_latency", "loaded_latency",
    "read_peak",         "atomic_rate",       "cluster_shared", "compute_integrity",
    "peer_link",         "peer_chase",        "peer_copy",      "l1_capacity",
    "constant_capacity", "sm_caches",         "l2_read",        NULL};

static struct pb_features healthy[NODES][SLOTS];

static void measure(int node, int slot, const char *fault, struct pb_features *row)
{
    char host[PB_KEY_LENGTH];
    struct fleetbuild_device device = {.profile = "h200",
                                       .host = host,
                                       .slot = slot,
                                       .faults = {fault},
                                       .battery = PB_STANDARD,
                                       .tests = wanted};
    struct pb_error err = PB_ERROR_INIT;

    snprintf(host, sizeof(host), "n%02d", node + 1);
    if (fleetbuild_measure(&device, row, &err) != PB_OK)
        fail_msg("%s", err.message);
}

static int set_up(void **state)
{
    (void)state;
    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            measure(node, slot, NULL, &healthy[node][slot]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            pb_features_clear(&healthy[node][slot]);
    return 0;
}

/* The fleet with one row exchanged; NULL: as it is. */
static void judge(const struct pb_features *sick, struct pb_findings *findings)
{
    struct pb_features fleet = {0};
    struct pb_error err = PB_ERROR_INIT;

    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++) {
            bool is_sick = sick != NULL && node == SICK_NODE && slot == SICK_SLOT;

            assert_int_equal(fleetbuild_add(&fleet, is_sick ? sick : &healthy[node][slot], &err),
                             PB_OK);
        }
    assert_int_equal(fleetbuild_judge(&fleet, findings, &err), PB_OK);
    fleetbuild_expect_policy(findings);
    pb_features_clear(&fleet);
}

static size_t count_bad(const struct pb_findings *findings)
{
    size_t bad = 0;

    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];

        if (finding->severity != PB_SEVERITY_WARNING && finding->severity != PB_SEVERITY_CRITICAL)
            continue;
        print_message("%s %s: %s\n", finding->place, finding->cause, finding->summary);
        bad++;
    }
    return bad;
}

static void test_healthy_fleet__is_not_blamed(void **state)
{
    struct pb_findings findings = {0};

    (void)state;
    judge(NULL, &findings);
    assert_int_equal(count_bad(&findings), 0);
    pb_findings_clear(&findings);
}

/* One finding, of that cause, that names the sick device or an SM of it. */
static void expect(const char *fault, const char *cause, const char *place)
{
    struct pb_features row = {0};
    struct pb_findings findings = {0};

    measure(SICK_NODE, SICK_SLOT, fault, &row);
    judge(&row, &findings);
    if (count_bad(&findings) != 1 || fleetbuild_find(&findings, cause, place) == NULL)
        fail_msg("%s: expected one finding, %s at %s", fault, cause, place);
    pb_findings_clear(&findings);
    pb_features_clear(&row);
}

static void test_load_knee__weak_and_strong(void **state)
{
    (void)state;
    expect("load_knee=0.85", "load_knee", sick_key);
    expect("load_knee=0.5", "load_knee", sick_key);
}

static void test_atomic_rate__weak_and_strong(void **state)
{
    (void)state;
    expect("atomic_rate=0.92", "atomic_rate", sick_key);
    expect("atomic_rate=0.5", "atomic_rate", sick_key);
}

static void test_l2_bandwidth__weak_and_strong(void **state)
{
    (void)state;
    expect("l2_bandwidth=0.92", "l2_bandwidth", sick_key);
    expect("l2_bandwidth=0.5", "l2_bandwidth", sick_key);
}

static void test_dsm_latency__weak_and_strong(void **state)
{
    (void)state;
    expect("dsm_latency=1.05", "dsm_latency", sick_key);
    expect("dsm_latency=1.5", "dsm_latency", sick_key);
}

static void test_peer_latency__weak_and_strong(void **state)
{
    (void)state;
    expect("peer_latency=1.15", "peer_latency", sick_key);
    expect("peer_latency=2", "peer_latency", sick_key);
}

static void test_compute_flip__names_the_sm(void **state)
{
    (void)state;
    expect("compute_flip=17:0.01", "compute_errors", "SM 17 of n03.gpu1");
    expect("compute_flip=17:0.5", "compute_errors", "SM 17 of n03.gpu1");
}

/* One SM of 132 has less of its caches: the map of all SMs shows which. */
static void test_small_l1_of_one_sm__names_the_sm(void **state)
{
    (void)state;
    expect("sm_l1_size=17:0.9", "slow_sm", "SM 17 of n03.gpu1");
    expect("sm_l1_size=17:0.5", "slow_sm", "SM 17 of n03.gpu1");
}

/* Bank conflicts of one SM of 132 take longer, and nothing else does. */
static void test_slow_banks_of_one_sm__name_the_sm(void **state)
{
    (void)state;
    expect("sm_conflict=17:1.1", "slow_sm", "SM 17 of n03.gpu1");
    expect("sm_conflict=17:2", "slow_sm", "SM 17 of n03.gpu1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_fleet__is_not_blamed),
        cmocka_unit_test(test_load_knee__weak_and_strong),
        cmocka_unit_test(test_small_l1_of_one_sm__names_the_sm),
        cmocka_unit_test(test_slow_banks_of_one_sm__name_the_sm),
        cmocka_unit_test(test_atomic_rate__weak_and_strong),
        cmocka_unit_test(test_l2_bandwidth__weak_and_strong),
        cmocka_unit_test(test_dsm_latency__weak_and_strong),
        cmocka_unit_test(test_peer_latency__weak_and_strong),
        cmocka_unit_test(test_compute_flip__names_the_sm),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
