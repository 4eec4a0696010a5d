/* Whose deviation it is: devices, nodes and slots distinguished in hand-made fleets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/attribute.h"
#include "verdict/fleetbuild.h"

enum { SLOTS_MAX = 8 };

/* L2 of 270 cycles, a little different on each device, as a smooth pattern without ties. */
static double healthy_cycles(int node, int slot)
{
    return 270.0 + 0.3 * sin(1.7 * node + 0.9 * slot) + 0.2 * cos(3.1 * slot - 0.4 * node);
}

/* A fleet of one model; factor[node][slot] times the healthy latency. */
static void make_fleet(int nodes, int slots, double factor[][SLOTS_MAX],
                       struct pb_features *features)
{
    static const struct pb_metric metric = {.name = "l2.latency_cycles",
                                            .unit = "cycle",
                                            .test = "l2_capacity",
                                            .part = PB_PART_L2,
                                            .domain = PB_DOMAIN_CYCLES,
                                            .better = PB_BETTER_LOWER,
                                            .practical = 0.02};
    struct pb_error err = PB_ERROR_INIT;

    for (int node = 0; node < nodes; node++) {
        for (int slot = 0; slot < slots; slot++) {
            struct pb_feature_row device = {.slot = slot};
            struct pb_reading cell = {healthy_cycles(node, slot) * factor[node][slot], 0.1, -1};
            size_t at;

            snprintf(device.host, sizeof(device.host), "n%02d", node + 1);
            snprintf(device.key, sizeof(device.key), "n%02d.gpu%d", node + 1, slot);
            PB_TEXT_SET(device.status, "ok");
            PB_TEXT_SET(device.info.model, "Tesla T0");
            snprintf(device.info.uuid, sizeof(device.info.uuid), "GPU-%d-%d", node, slot);
            device.info.memory_bytes = (uint64_t)8 << 30;
            assert_int_equal(pb_features_add_device(features, &device, &at, &err), PB_OK);
            assert_int_equal(pb_features_set(features, at, &metric, cell, &err), PB_OK);
        }
    }
}

static void fill(double factor[][SLOTS_MAX], int nodes)
{
    for (int node = 0; node < nodes; node++)
        for (int slot = 0; slot < SLOTS_MAX; slot++)
            factor[node][slot] = 1.0;
}

static void judge(int nodes, int slots, double factor[][SLOTS_MAX], struct pb_findings *findings)
{
    struct pb_features features = {0};
    struct pb_error err = PB_ERROR_INIT;

    make_fleet(nodes, slots, factor, &features);
    assert_int_equal(fleetbuild_judge(&features, findings, &err), PB_OK);
    pb_features_clear(&features);
}

static void test_attribute__healthy_fleet_has_no_finding(void **state)
{
    double factor[8][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 8);
    judge(8, 4, factor, &findings);
    assert_int_equal(findings.count, 0);
    pb_findings_clear(&findings);
}

static void test_attribute__sick_device_does_not_take_its_node_along(void **state)
{
    double factor[12][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 12);
    factor[3][1] = 1.5; /* of two devices: the node's mean is as far out as half of it */
    judge(12, 2, factor, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].level, PB_LEVEL_DEVICE);
    assert_string_equal(findings.items[0].place, "n04.gpu1");
    assert_string_equal(findings.items[0].cause, "l2_latency");
    pb_findings_clear(&findings);
}

static void test_attribute__node_is_blamed_once_when_all_its_devices_deviate(void **state)
{
    double factor[8][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 8);
    for (int slot = 0; slot < 4; slot++)
        factor[5][slot] = 1.1 + 0.005 * slot;
    judge(8, 4, factor, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].level, PB_LEVEL_NODE);
    assert_string_equal(findings.items[0].place, "n06");
    assert_string_equal(findings.items[0].host, "n06");
    assert_string_equal(findings.items[0].device, "");
    assert_true(findings.items[0].drain);
    pb_findings_clear(&findings);
}

static void test_attribute__two_of_four_devices_are_no_node(void **state)
{
    double factor[8][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 8);
    factor[5][0] = factor[5][2] = 1.1;
    judge(8, 4, factor, &findings);
    assert_int_equal(findings.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(findings.items[i].level, PB_LEVEL_DEVICE);
    assert_non_null(fleetbuild_find(&findings, "l2_latency", "n06.gpu0"));
    assert_non_null(fleetbuild_find(&findings, "l2_latency", "n06.gpu2"));
    pb_findings_clear(&findings);
}

static void test_attribute__worse_device_on_a_sick_node_is_reported_beside_it(void **state)
{
    double factor[8][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 8);
    for (int slot = 0; slot < 4; slot++)
        factor[5][slot] = 0.9; /* the node is fast, one device of it is slow */
    factor[5][3] = 1.3;
    judge(8, 4, factor, &findings);
    assert_non_null(fleetbuild_find(&findings, "l2_latency", "n06.gpu3"));
    assert_int_equal(findings.count, 2);
    pb_findings_clear(&findings);
}

static void test_attribute__slot_is_blamed_when_half_the_nodes_have_it(void **state)
{
    double factor[10][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 10);
    for (int node = 0; node < 6; node++)
        factor[node][2] = 1.1;
    judge(10, 8, factor, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].level, PB_LEVEL_SLOT);
    assert_string_equal(findings.items[0].place, "slot 2");
    assert_int_equal(findings.items[0].slot, 2);
    assert_int_equal(findings.items[0].group, 1);
    assert_string_equal(findings.items[0].host, "");
    assert_int_equal(findings.items[0].members.count, 6);
    assert_true(findings.items[0].drain);
    pb_findings_clear(&findings);
}

static void test_attribute__same_slot_of_two_nodes_is_chance(void **state)
{
    double factor[10][SLOTS_MAX];
    struct pb_findings findings = {0};

    (void)state;
    fill(factor, 10);
    factor[1][2] = factor[7][2] = 1.1;
    judge(10, 4, factor, &findings);
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.items[0].level, PB_LEVEL_DEVICE);
    assert_int_equal(findings.items[1].level, PB_LEVEL_DEVICE);
    pb_findings_clear(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attribute__healthy_fleet_has_no_finding),
        cmocka_unit_test(test_attribute__sick_device_does_not_take_its_node_along),
        cmocka_unit_test(test_attribute__node_is_blamed_once_when_all_its_devices_deviate),
        cmocka_unit_test(test_attribute__two_of_four_devices_are_no_node),
        cmocka_unit_test(test_attribute__worse_device_on_a_sick_node_is_reported_beside_it),
        cmocka_unit_test(test_attribute__slot_is_blamed_when_half_the_nodes_have_it),
        cmocka_unit_test(test_attribute__same_slot_of_two_nodes_is_chance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
