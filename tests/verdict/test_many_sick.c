/*
 * Fleets with many sick devices: all of them are named and drained, whatever level is blamed, and
 * what cannot be decided is UNKNOWN. Each device is measured once in the simulator.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/fleet.h"
#include "verdict/fleetbuild.h"

enum { DEVICES_MAX = 64, HEALTHY = 64, SICK = 36, KINDS = 4 };
enum kind { LATENCY, BANDWIDTH, CLOCK, SMALL_L1 };

static const char *const specs[KINDS] = {"dram_latency=1.06", "dram_bandwidth=0.95", "clock=0.96",
                                         "l1_size=0.75"};

/* Rows by host, so that no device is another's copy. */
struct bed {
    struct pb_features healthy[HEALTHY], sick[KINDS][SICK];
    struct pb_findings findings;
    struct pb_features fleet;
    size_t nodes, slots;
    int kinds[DEVICES_MAX]; /* enum kind; -1: healthy */
    const char *drivers[DEVICES_MAX];
    const char *lots[DEVICES_MAX]; /* first digits of the serial number */
    const char *withheld;          /* a number that the sick lack; NULL: none */
};

static void measure(size_t row, const char *fault, struct pb_features *row_out)
{
    struct pb_error err = PB_ERROR_INIT;
    char host[PB_KEY_LENGTH];
    struct fleetbuild_device device = {
        .profile = "quadro2000", .host = host, .faults = {fault}, .battery = PB_QUICK};

    snprintf(host, sizeof(host), "p%03zu", row);
    if (fleetbuild_measure(&device, row_out, &err) != PB_OK)
        fail_msg("%s", err.message);
}

/* The row of a device that has a kind of fault, or none; each is measured where it is needed first.
 */
static const struct pb_features *row_of(struct bed *bed, int kind, size_t i)
{
    struct pb_features *row = kind < 0 ? &bed->healthy[i % HEALTHY] : &bed->sick[kind][i % SICK];

    if (row->device_count == 0)
        measure(i % (kind < 0 ? HEALTHY : SICK), kind < 0 ? NULL : specs[kind], row);
    return row;
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct bed));
    assert_non_null(*state);
    return 0;
}

static int tear_down(void **state)
{
    struct bed *bed = *state;

    for (size_t i = 0; i < HEALTHY; i++)
        pb_features_clear(&bed->healthy[i]);
    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; i < SICK; i++)
            pb_features_clear(&bed->sick[k][i]);
    free(bed);
    return 0;
}

static void begin(struct bed *bed, size_t nodes, size_t slots)
{
    bed->nodes = nodes;
    bed->slots = slots;
    bed->withheld = NULL;
    for (size_t i = 0; i < nodes * slots; i++) {
        bed->kinds[i] = -1;
        bed->drivers[i] = "580.1";
        bed->lots[i] = "16529230";
    }
}

static void make_sick(struct bed *bed, size_t node, size_t slot, enum kind kind)
{
    bed->kinds[node * bed->slots + slot] = (int)kind;
}

/* So many at random places. */
static void scatter(struct bed *bed, size_t count, enum kind kind, uint64_t seed)
{
    struct fleet_random random = {seed};

    while (count > 0) {
        size_t at = (size_t)(fleet_uniform(&random) * (double)(bed->nodes * bed->slots));

        count -= bed->kinds[at] < 0;
        bed->kinds[at] = (int)kind;
    }
}

/* What is inferred may be undetermined for the sick alone. */
static void withhold(struct bed *bed)
{
    size_t column = pb_features_find(&bed->fleet, bed->withheld);

    assert_true(column < bed->fleet.metric_count);
    for (size_t i = 0; i < bed->nodes * bed->slots; i++)
        if (bed->kinds[i] >= 0)
            bed->fleet.devices[i].cells[column].value = NAN;
}

static void judge(struct bed *bed)
{
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < bed->nodes * bed->slots; i++) {
        struct pb_feature_row *device;

        assert_int_equal(fleetbuild_add(&bed->fleet, row_of(bed, bed->kinds[i], i), &err), PB_OK);
        device = &bed->fleet.devices[i];
        snprintf(device->host, sizeof(device->host), "n%02zu", i / bed->slots + 1);
        device->slot = (int64_t)(i % bed->slots);
        snprintf(device->key, sizeof(device->key), "n%02zu.gpu%zu", i / bed->slots + 1,
                 i % bed->slots);
        snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-%zu", i);
        PB_TEXT_SET(device->info.driver_version, bed->drivers[i]);
        snprintf(device->info.serial, sizeof(device->info.serial), "%s%05zu", bed->lots[i], i);
    }
    if (bed->withheld != NULL)
        withhold(bed);
    assert_int_equal(fleetbuild_judge(&bed->fleet, &bed->findings, &err), PB_OK);
}

static void end(struct bed *bed)
{
    pb_findings_clear(&bed->findings);
    pb_features_clear(&bed->fleet);
}

static bool holds(const struct pb_members *members, size_t device)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->devices[i] == device)
            return true;
    return false;
}

/* Every sick device is a member of a finding, no healthy one is, and their nodes are drained. */
static void expect_named_and_drained(const struct bed *bed)
{
    bool named[DEVICES_MAX] = {false}, drained[DEVICES_MAX] = {false};
    bool wanted[DEVICES_MAX] = {false};

    for (size_t i = 0; i < bed->nodes * bed->slots; i++) {
        for (size_t f = 0; f < bed->findings.count; f++) {
            const struct pb_finding *finding = &bed->findings.items[f];

            named[i] |= holds(&finding->members, i);
            drained[i / bed->slots] |= finding->drain && holds(&finding->members, i);
        }
        wanted[i / bed->slots] |= bed->kinds[i] >= 0;
        if (named[i] != (bed->kinds[i] >= 0))
            fail_msg("%s is %s", bed->fleet.devices[i].key,
                     named[i] ? "named, though healthy" : "sick and not named");
    }
    for (size_t node = 0; node < bed->nodes; node++)
        assert_int_equal(drained[node], wanted[node]);
}

/* The finding of that cause; any other that names a device fails the test. */
static const struct pb_finding *expect_only(const struct bed *bed, const char *cause)
{
    const struct pb_finding *found = NULL;

    for (size_t i = 0; i < bed->findings.count; i++) {
        const struct pb_finding *finding = &bed->findings.items[i];

        if (finding->members.count == 0)
            continue;
        if (found != NULL || strcmp(finding->cause, cause) != 0)
            fail_msg("%s: %s", finding->cause, finding->summary);
        found = finding;
    }
    assert_non_null(found);
    return found;
}

static size_t count_level(const struct bed *bed, enum pb_level level)
{
    size_t count = 0;

    for (size_t i = 0; i < bed->findings.count; i++)
        count += bed->findings.items[i].level == level;
    return count;
}

static void test_many_sick__two_in_one_slot_of_six_nodes_are_two_devices(void **state)
{
    struct bed *bed = *state;

    for (size_t other = 1; other < 6; other++) {
        begin(bed, 6, 4);
        make_sick(bed, 0, 2, BANDWIDTH);
        make_sick(bed, other, 2, BANDWIDTH);
        judge(bed);
        assert_int_equal(bed->findings.count, 2);
        assert_int_equal(count_level(bed, PB_LEVEL_DEVICE), 2);
        expect_named_and_drained(bed);
        end(bed);
    }
}

static void test_many_sick__five_of_24_are_no_slot(void **state)
{
    struct bed *bed = *state;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        begin(bed, 6, 4);
        scatter(bed, 5, LATENCY, seed);
        judge(bed);
        assert_int_equal(count_level(bed, PB_LEVEL_SLOT), 0);
        expect_named_and_drained(bed);
        end(bed);
    }
}

static void test_many_sick__four_to_twelve_of_48_are_named_at_random_places(void **state)
{
    struct bed *bed = *state;

    for (uint64_t seed = 1; seed <= 9; seed++) {
        begin(bed, 6, 8);
        scatter(bed, 3 + seed, seed % 2 == 0 ? LATENCY : BANDWIDTH, 100 + seed);
        judge(bed);
        assert_int_equal(count_level(bed, PB_LEVEL_SLOT), 0);
        assert_int_equal(bed->findings.worst, PB_SEVERITY_CRITICAL);
        expect_named_and_drained(bed);
        end(bed);
    }
}

static void test_many_sick__three_of_eight_on_a_node_are_not_the_node(void **state)
{
    struct bed *bed = *state;

    begin(bed, 6, 8);
    for (size_t i = 0; i < 3; i++) {
        make_sick(bed, 2, 2 * i, LATENCY);
        make_sick(bed, 3 + i, i, LATENCY);
    }
    judge(bed);
    assert_int_equal(count_level(bed, PB_LEVEL_NODE), 0);
    expect_named_and_drained(bed);
    end(bed);
}

static void test_many_sick__a_quarter_is_one_population_with_its_members(void **state)
{
    static const size_t slots[] = {4, 8}, sick[] = {7, 12};
    struct bed *bed = *state;

    for (size_t i = 0; i < 2; i++) {
        begin(bed, 6, slots[i]);
        scatter(bed, sick[i], BANDWIDTH, 7 + i);
        judge(bed);
        assert_int_equal(bed->findings.worst, PB_SEVERITY_CRITICAL);
        assert_int_equal(bed->findings.items[0].level, PB_LEVEL_POPULATION);
        assert_string_equal(bed->findings.items[0].cause, "hbm");
        assert_int_equal(bed->findings.items[0].members.count, sick[i]);
        assert_int_equal(bed->findings.count, 1);
        expect_named_and_drained(bed);
        end(bed);
    }
}

/* Half of the fleet, or more: nobody knows which are right, and both sides are listed. */
static void test_many_sick__half_and_more_cannot_be_determined(void **state)
{
    static const size_t sick[] = {20, 24, 28};
    struct bed *bed = *state;

    for (size_t i = 0; i < 3; i++) {
        const struct pb_finding *finding = bed->findings.items;

        begin(bed, 6, 8);
        scatter(bed, sick[i], BANDWIDTH, 70 + i);
        judge(bed);
        finding = &bed->findings.items[0];
        assert_int_equal(bed->findings.worst, PB_SEVERITY_UNKNOWN);
        assert_string_equal(finding->cause, "two_populations");
        assert_int_equal(finding->members.count, sick[i]);
        assert_int_equal(finding->counterparts.count, 48 - sick[i]);
        for (size_t k = 0; k < 48; k++)
            assert_int_equal(holds(&finding->members, k), bed->kinds[k] >= 0);
        for (size_t k = 0; k < bed->findings.count; k++)
            assert_false(bed->findings.items[k].drain);
        end(bed);
    }
}

/*
 * A fleet in which more than half of the clocks are low: which part is right cannot be decided, so
 * nobody of either is named beside the one finding that lists both, though DRAM's cycles and ns
 * move opposite ways and by less than its clock does.
 */
static void test_many_sick__no_device_is_named_beside_two_populations(void **state)
{
    static const size_t nodes[] = {5, 3, 7}, sick[] = {23, 14, 33};
    struct bed *bed = *state;

    for (size_t i = 0; i < 3; i++) {
        const struct pb_finding *finding;

        begin(bed, nodes[i], 8);
        scatter(bed, sick[i], CLOCK, 90 + i);
        judge(bed);
        finding = expect_only(bed, "two_populations");
        assert_int_equal(finding->severity, PB_SEVERITY_UNKNOWN);
        assert_int_equal(finding->members.count, sick[i]);
        assert_int_equal(finding->counterparts.count, 8 * nodes[i] - sick[i]);
        for (size_t k = 0; k < 8 * nodes[i]; k++)
            assert_int_equal(holds(&finding->members, k), bed->kinds[k] >= 0);
        end(bed);
    }
}

/* More than half have an L1 that is too small: the whole ones are no anomaly. */
static void test_many_sick__whole_caches_are_not_anomalous(void **state)
{
    struct bed *bed = *state;
    const struct pb_finding *finding;

    begin(bed, 2, 8);
    scatter(bed, 10, SMALL_L1, 93);
    judge(bed);
    finding = expect_only(bed, "two_populations");
    assert_int_equal(finding->members.count, 10);
    assert_int_equal(finding->counterparts.count, 6);
    end(bed);
}

/* Two populations and another fault: one finding lists all that are sick by either. */
static void test_many_sick__two_populations_and_a_fault_are_summed_up(void **state)
{
    struct bed *bed = *state;
    const struct pb_finding *sum = NULL;

    begin(bed, 6, 8);
    scatter(bed, 21, CLOCK, 94);
    scatter(bed, 4, LATENCY, 95);
    judge(bed);
    for (size_t i = 0; i < bed->findings.count; i++)
        if (strcmp(bed->findings.items[i].cause, "many_anomalous") == 0)
            sum = &bed->findings.items[i];
    assert_non_null(sum);
    assert_int_equal(sum->members.count, 25);
    assert_int_equal(sum->counterparts.count, 23);
    for (size_t i = 0; i < 48; i++)
        assert_int_equal(holds(&sum->members, i), bed->kinds[i] >= 0);
    end(bed);
}

/* Numbers that only the sick lack are listed, and excuse none of what was measured of them. */
static void test_many_sick__missing_numbers_explain_no_population(void **state)
{
    struct bed *bed = *state;

    begin(bed, 6, 6);
    scatter(bed, 17, LATENCY, 73);
    bed->withheld = "l2.size_bytes";
    judge(bed);
    assert_int_equal(bed->findings.worst, PB_SEVERITY_UNKNOWN);
    assert_string_equal(bed->findings.items[0].cause, "two_populations");
    assert_int_equal(bed->findings.items[0].members.count, 17);
    end(bed);
}

static void test_many_sick__a_node_names_its_members(void **state)
{
    struct bed *bed = *state;

    begin(bed, 6, 4);
    for (size_t slot = 0; slot < 4; slot++)
        make_sick(bed, 3, slot, LATENCY);
    judge(bed);
    assert_int_equal(bed->findings.count, 1);
    assert_int_equal(bed->findings.items[0].level, PB_LEVEL_NODE);
    expect_named_and_drained(bed);
    end(bed);
}

static void set_driver(struct bed *bed, size_t nodes, enum kind kind)
{
    for (size_t i = 0; i < nodes * bed->slots; i++) {
        bed->drivers[i] = "590.2";
        bed->kinds[i] = (int)kind;
    }
}

/* Half of a large fleet: two groups. Two thirds, or half, of a small one: a part of one group. */
static void test_many_sick__a_slower_driver_is_one_finding_with_that_cause(void **state)
{
    static const size_t nodes[] = {8, 6, 6}, slower[] = {4, 4, 3}, slots[] = {8, 4, 4};
    struct bed *bed = *state;

    for (size_t i = 0; i < 3; i++) {
        const struct pb_finding *finding;

        begin(bed, nodes[i], slots[i]);
        set_driver(bed, slower[i], BANDWIDTH);
        judge(bed);
        finding = &bed->findings.items[0];
        assert_int_equal(bed->findings.count, 1);
        assert_int_equal(finding->severity, PB_SEVERITY_WARNING);
        assert_int_equal(finding->level, PB_LEVEL_POPULATION);
        assert_string_equal(finding->cause, "configuration");
        assert_string_equal(finding->attribute, "driver");
        assert_non_null(strstr(finding->metric, "peak"));
        assert_false(finding->drain);
        end(bed);
    }
}

/* 40 devices of one model and 3 of another: the three are too few, the 40 are judged. */
static void test_many_sick__a_few_of_another_model_do_not_hide_a_sick_device(void **state)
{
    struct bed *bed = *state;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_findings findings;

    begin(bed, 10, 4);
    make_sick(bed, 5, 1, BANDWIDTH);
    judge(bed);
    for (size_t i = 0; i < 3; i++) {
        struct pb_feature_row *device;

        assert_int_equal(fleetbuild_add(&bed->fleet, row_of(bed, -1, 50 + i), &err), PB_OK);
        device = &bed->fleet.devices[40 + i];
        PB_TEXT_SET(device->info.model, "Another GPU");
        snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-other-%zu", i);
    }
    assert_int_equal(fleetbuild_judge(&bed->fleet, &findings, &err), PB_OK);
    assert_int_equal(findings.worst, PB_SEVERITY_CRITICAL);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[0].device, "n06.gpu1");
    assert_string_equal(findings.items[1].cause, "insufficient_peers");
    pb_findings_clear(&findings);
    end(bed);
}

/* Copies that differ by a fifth from device to device: a tenth less would not be found. */
static void test_many_sick__what_could_not_be_found_is_unknown(void **state)
{
    struct bed *bed = *state;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_findings findings;
    size_t metric;

    begin(bed, 6, 4);
    judge(bed);
    assert_int_equal(bed->findings.worst, PB_SEVERITY_OK);
    metric = pb_features_find(&bed->fleet, "global_copy.peak");
    for (size_t i = 0; i < 24; i++) {
        struct pb_metric copy = bed->fleet.metrics[metric];
        struct pb_reading cell = pb_features_reading(&bed->fleet, i, metric);

        cell.value *= 1.0 + 0.2 * ((double)(i * 7 % 24) / 23.0 - 0.5);
        assert_int_equal(pb_features_set(&bed->fleet, i, &copy, cell, &err), PB_OK);
    }
    assert_int_equal(fleetbuild_judge(&bed->fleet, &findings, &err), PB_OK);
    assert_int_equal(findings.worst, PB_SEVERITY_UNKNOWN);
    assert_string_equal(findings.items[0].cause, "insufficient_sensitivity");
    assert_non_null(strstr(findings.items[0].summary, "dram"));
    pb_findings_clear(&findings);
    end(bed);
}

/* Two kinds of faults, a quarter of the fleet each: no kind is a population of its own, so one
   finding sums them up, beside those that name and drain them. */
static void test_many_sick__half_by_two_faults_is_summed_up(void **state)
{
    struct bed *bed = *state;
    const struct pb_finding *sum;

    begin(bed, 6, 8);
    scatter(bed, 12, BANDWIDTH, 5);
    for (size_t i = 0, count = 12; count > 0; i++) {
        if (bed->kinds[(7 * i) % 48] < 0) {
            bed->kinds[(7 * i) % 48] = LATENCY;
            count--;
        }
    }
    judge(bed);
    sum = &bed->findings.items[0];
    assert_string_equal(sum->cause, "many_anomalous");
    assert_int_equal(sum->severity, PB_SEVERITY_CRITICAL);
    assert_false(sum->drain);
    assert_int_equal(sum->members.count, 24);
    assert_int_equal(sum->counterparts.count, 24);
    for (size_t i = 0; i < 48; i++)
        assert_int_equal(holds(&sum->members, i), bed->kinds[i] >= 0);
    assert_non_null(strstr(sum->summary, "24 of 48 devices are anomalous"));
    expect_named_and_drained(bed);
    end(bed);
}

/* Boards of one lot are sick: that they are one lot is reported, and they are drained all the same.
 */
static void test_many_sick__boards_of_one_lot_are_one_finding(void **state)
{
    struct bed *bed = *state;

    begin(bed, 6, 8);
    scatter(bed, 9, BANDWIDTH, 77);
    for (size_t i = 0; i < 48; i++)
        if (bed->kinds[i] >= 0)
            bed->lots[i] = "16529231";
    judge(bed);
    assert_int_equal(bed->findings.count, 1);
    assert_int_equal(bed->findings.items[0].level, PB_LEVEL_POPULATION);
    assert_string_equal(bed->findings.items[0].attribute, "serial range");
    assert_string_equal(bed->findings.items[0].attribute_value, "16529231*****");
    assert_string_not_equal(bed->findings.items[0].cause, "configuration");
    expect_named_and_drained(bed);
    end(bed);
}

/* Which lot a healthy device belongs to is no finding, and sets no group apart. */
static void test_many_sick__lots_of_healthy_boards_are_no_finding(void **state)
{
    struct bed *bed = *state;

    begin(bed, 6, 8);
    for (size_t i = 0; i < 20; i++)
        bed->lots[i] = "16529231";
    bed->lots[40] = "16529232";
    judge(bed);
    assert_int_equal(bed->findings.count, 0);
    end(bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_sick__two_in_one_slot_of_six_nodes_are_two_devices),
        cmocka_unit_test(test_many_sick__five_of_24_are_no_slot),
        cmocka_unit_test(test_many_sick__four_to_twelve_of_48_are_named_at_random_places),
        cmocka_unit_test(test_many_sick__half_by_two_faults_is_summed_up),
        cmocka_unit_test(test_many_sick__boards_of_one_lot_are_one_finding),
        cmocka_unit_test(test_many_sick__lots_of_healthy_boards_are_no_finding),
        cmocka_unit_test(test_many_sick__three_of_eight_on_a_node_are_not_the_node),
        cmocka_unit_test(test_many_sick__a_quarter_is_one_population_with_its_members),
        cmocka_unit_test(test_many_sick__half_and_more_cannot_be_determined),
        cmocka_unit_test(test_many_sick__no_device_is_named_beside_two_populations),
        cmocka_unit_test(test_many_sick__whole_caches_are_not_anomalous),
        cmocka_unit_test(test_many_sick__two_populations_and_a_fault_are_summed_up),
        cmocka_unit_test(test_many_sick__missing_numbers_explain_no_population),
        cmocka_unit_test(test_many_sick__a_node_names_its_members),
        cmocka_unit_test(test_many_sick__a_slower_driver_is_one_finding_with_that_cause),
        cmocka_unit_test(test_many_sick__what_could_not_be_found_is_unknown),
        cmocka_unit_test(test_many_sick__a_few_of_another_model_do_not_hide_a_sick_device),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
