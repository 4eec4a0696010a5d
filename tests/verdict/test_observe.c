/*
 * Observation: which numbers a device's recordings and states become. Recordings with known truth
 * and states by hand; then a simulated device, of which nothing may be missing.
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

#include "analysis/recordings.h"
#include "analysis/synthetic.h"
#include "analysis/verdict/observe.h"
#include "verdict/fleetbuild.h"

enum { TESTS_MAX = 16, STATES_MAX = 4 };

/* A device made by hand. */
struct dummy {
    struct pb_feature_row device;
    struct pb_recording recordings[TESTS_MAX];
    char names[TESTS_MAX][PB_KEY_LENGTH];
    size_t count;
    struct pb_state states[STATES_MAX];
    size_t state_count;
    const char *broken; /* a test that cannot be read */
    struct pb_features features;
};

static enum pb_status load(void *context, const char *test, struct pb_recording *recording_out,
                           struct pb_error *err)
{
    const struct dummy *dummy = context;

    if (dummy->broken != NULL && strcmp(dummy->broken, test) == 0)
        return pb_fail(err, PB_CORRUPT, "test %s: bad checksum", test);
    for (size_t i = 0; i < dummy->count; i++)
        if (strcmp(dummy->names[i], test) == 0) {
            *recording_out = dummy->recordings[i];
            return PB_OK;
        }
    return pb_fail(err, PB_NOT_FOUND, "no test %s", test);
}

static struct pb_recording *add_test(struct dummy *dummy, const char *name)
{
    struct pb_recording *recording = &dummy->recordings[dummy->count];

    synthetic_begin(recording, name);
    PB_TEXT_SET(dummy->names[dummy->count++], name);
    return recording;
}

static struct pb_state *add_state(struct dummy *dummy)
{
    struct pb_state *state = &dummy->states[dummy->state_count++];

    pb_state_clear(state);
    return state;
}

static void observe(struct dummy *dummy)
{
    struct pb_recordings source = {dummy, load};
    struct pb_metric_source metric_source = {.device = &dummy->device,
                                             .states = dummy->states,
                                             .state_count = dummy->state_count,
                                             .recordings = &source,
                                             .tests = (const char(*)[PB_KEY_LENGTH])dummy->names,
                                             .test_count = dummy->count};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_observe(&dummy->features, &metric_source, &err), PB_OK);
    for (size_t i = 0; i < dummy->count; i++)
        pb_recording_clear(&dummy->recordings[i]);
}

static struct pb_reading cell_of(const struct pb_features *features, const char *name)
{
    size_t metric = pb_features_find(features, name);

    if (metric == features->metric_count)
        fail_msg("no metric %s", name);
    return pb_features_reading(features, 0, metric);
}

static bool has(const struct pb_features *features, const char *name)
{
    return pb_features_find(features, name) < features->metric_count;
}

static void expect_near(const struct pb_features *features, const char *name, double expected)
{
    double value = cell_of(features, name).value;

    if (!(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-12))
        fail_msg("%s: expected %g, found %g", name, expected, value);
}

/* Traces of loads from DRAM, `slow` of each hundred so many cycles late. */
static void add_dram(struct dummy *dummy, uint32_t cycles, unsigned slow, uint32_t late)
{
    struct synthetic_noise noise = {.overhead_cycles = 14, .state = 1};
    struct pb_recording *recording = add_test(dummy, "dram_latency");

    for (unsigned i = 0; i < 100; i++)
        synthetic_constant(&recording->series, &noise, "global_cg", "near",
                           i < slow ? cycles + late : cycles, 20);
}

static void test_observe__tail_moves_shares_and_no_median(void **state)
{
    struct dummy healthy = {.count = 0}, sick = {.count = 0};

    (void)state;
    add_dram(&healthy, 600, 0, 0);
    add_dram(&sick, 600, 2, 400);
    observe(&healthy);
    observe(&sick);
    expect_near(&healthy.features, "dram_near.tail_fraction_1_125x", 0.0);
    expect_near(&sick.features, "dram_near.tail_fraction_1_125x", 0.02);
    expect_near(&sick.features, "dram_near.tail_fraction_1_5x", 0.02);
    expect_near(&sick.features, "dram_near.tail_fraction_3x", 0.0);
    expect_near(&sick.features, "dram_near.q75", 1.0);
    expect_near(&sick.features, "dram_near.q99", 1000.0 / 600.0);
    /* 40 of 2000, and four more for the normal to hold */
    assert_true(fabs(cell_of(&sick.features, "dram_near.tail_fraction_1_125x").noise -
                     sqrt(44.0) / 2000.0) < 1e-9);
    pb_features_clear(&healthy.features);
    pb_features_clear(&sick.features);
}

/* What is read from it is another metric, and the whole run another battery. */
static void test_observe__test_of_a_later_method_gives_other_metrics(void **state)
{
    struct dummy first = {.count = 0}, later = {.count = 0};
    struct pb_metric metric;

    (void)state;
    for (uint64_t version = 1; version <= 2; version++) {
        struct dummy *dummy = version == 1 ? &first : &later;

        add_dram(dummy, 600, 0, 0);
        dummy->recordings[0].method_version = version;
        observe(dummy);
    }
    metric = first.features.metrics[pb_features_find(&first.features, "dram_near.q75")];
    assert_string_equal(metric.test, "dram_latency");
    assert_int_equal(metric.method_version, 0);
    assert_int_equal(pb_features_match(&later.features, &metric), later.features.metric_count);
    metric.method_version = 2;
    assert_int_equal(pb_features_match(&later.features, &metric),
                     pb_features_find(&later.features, "dram_near.q75"));
    assert_true(first.features.devices[0].tests != later.features.devices[0].tests);
    pb_features_clear(&first.features);
    pb_features_clear(&later.features);
}

static void test_observe__shape_does_not_depend_on_the_latency(void **state)
{
    struct dummy fast = {.count = 0}, slow = {.count = 0};

    (void)state;
    add_dram(&fast, 500, 3, 500);
    add_dram(&slow, 700, 3, 700);
    observe(&fast);
    observe(&slow);
    expect_near(&slow.features, "dram_near.q99", cell_of(&fast.features, "dram_near.q99").value);
    expect_near(&slow.features, "dram_near.tail_fraction_1_5x",
                cell_of(&fast.features, "dram_near.tail_fraction_1_5x").value);
    pb_features_clear(&fast.features);
    pb_features_clear(&slow.features);
}

/* Traces of shared memory, of so many loads with and without bank conflicts; none is late. */
static void add_shared(struct dummy *dummy, size_t hits, size_t conflicts)
{
    struct synthetic_noise noise = {.overhead_cycles = 14, .state = 1};
    struct pb_recording *recording = add_test(dummy, "shared_latency");

    synthetic_constant(&recording->series, &noise, "shared", "reference", 30, hits);
    recording = add_test(dummy, "bank_conflict");
    for (uint32_t ways = 1; ways <= 32; ways *= 2)
        synthetic_constant(&recording->series, &noise, "shared", "word4", 30 * ways, conflicts / 6);
}

/* None of 500 local loads late: at 95% up to 3 of 500 loads from DRAM may be so by the stamps
   alone. With 12,000 more, bank conflicts among them, hardly any. */
static void test_observe__tail_too_rare_for_the_local_loads_is_open(void **state)
{
    struct dummy few = {.count = 0}, many = {.count = 0};
    struct pb_reading by_few, by_many;

    (void)state;
    add_dram(&few, 600, 0, 0);
    add_shared(&few, 500, 0);
    observe(&few);
    add_dram(&many, 600, 0, 0);
    add_shared(&many, 500, 12000);
    observe(&many);
    by_few = cell_of(&few.features, "dram_near.tail_fraction_1_5x");
    by_many = cell_of(&many.features, "dram_near.tail_fraction_1_5x");
    assert_true(by_few.noise > 1.4 / 500.0);
    assert_true(by_many.noise < 1.1 * 2.0 / 2000.0); /* the chance of a count alone */
    pb_features_clear(&few.features);
    pb_features_clear(&many.features);
}

static void add_pass(struct pb_recording *recording, const char *phase, int64_t sm, uint64_t cycles)
{
    struct pb_point *point;

    synthetic_pass(&recording->series, "global_cg", phase, 65536, 128, 1000, cycles);
    point = &recording->series.points[recording->series.point_count - 1];
    point->sm_id = sm;
    point->total_ns = (double)cycles / 2.0;
}

static void test_observe__slowest_sms_are_ranked_and_named(void **state)
{
    struct dummy dummy = {.device = {.info = {.sm_count = 16}}};
    struct pb_recording *recording = add_test(&dummy, "sm_latency");

    (void)state;
    for (int64_t sm = 0; sm < 16; sm++)
        add_pass(recording, "l2", sm, sm == 11 ? 300000 : sm == 4 ? 275000 : 250000);
    observe(&dummy);
    expect_near(&dummy.features, "sm.l2_slowest", 0.2);
    assert_int_equal(cell_of(&dummy.features, "sm.l2_slowest").place, 11);
    expect_near(&dummy.features, "sm.l2_second_slowest", 0.1);
    assert_int_equal(cell_of(&dummy.features, "sm.l2_second_slowest").place, 4);
    expect_near(&dummy.features, "sm.l2_third_slowest", 0.0);
    expect_near(&dummy.features, "sm_median.l2_cycles", 250.0);
    expect_near(&dummy.features, "sm_median.l2_ns", 125.0);
    expect_near(&dummy.features, "sm_map.measured_share", 1.0);
    expect_near(&dummy.features, "sm.clock_slowest", 0.0);
    pb_features_clear(&dummy.features);
}

/* Of a model whose L1 holds no global data both phases are of L2. */
static void test_observe__l1_that_l2_answers_for_is_not_stated(void **state)
{
    (void)state;
    for (uint64_t inner = 30000; inner <= 210000; inner += 180000) {
        struct dummy dummy = {.device = {.info = {.sm_count = 16}}};
        struct pb_recording *recording = add_test(&dummy, "sm_latency");

        for (int64_t sm = 0; sm < 16; sm++) {
            add_pass(recording, "l1", sm, inner);
            add_pass(recording, "l2", sm, 210000);
        }
        observe(&dummy);
        assert_int_equal(has(&dummy.features, "sm_median.l1_cycles"), inner < 210000);
        assert_true(has(&dummy.features, "sm.l1_slowest"));
        expect_near(&dummy.features, "sm_median.l2_cycles", 210.0);
        pb_features_clear(&dummy.features);
    }
}

static void test_observe__clock_that_falls_between_tests_is_seen(void **state)
{
    struct dummy dummy = {.count = 0};
    struct pb_recording *first = add_test(&dummy, "l1_capacity");
    struct pb_recording *second = add_test(&dummy, "l2_capacity");

    (void)state;
    add_pass(first, "coarse", 0, 800000);
    add_pass(second, "coarse", 0, 800000);
    second->series.points[0].total_ns *= 1.25;
    observe(&dummy);
    expect_near(&dummy.features, "clock.lowest_over_highest", 0.8);
    pb_features_clear(&dummy.features);
}

static void test_observe__counters_count_by_their_step(void **state)
{
    struct dummy dummy = {.count = 0};
    struct pb_state *first = add_state(&dummy), *last = add_state(&dummy);

    (void)state;
    first->ecc_corrected = 1000; /* history of other days */
    last->ecc_corrected = 1003;
    first->pcie_replays = 7;
    last->pcie_replays = 2; /* the driver was loaded anew */
    first->violation_thermal_ns = 5000000;
    last->violation_thermal_ns = 905000000;
    last->remap_pending = 1;
    observe(&dummy);
    expect_near(&dummy.features, "nvml.ecc_corrected_delta", 3.0);
    expect_near(&dummy.features, "nvml.pcie_replay_delta", 0.0);
    expect_near(&dummy.features, "nvml.thermal_violation_ms", 900.0);
    expect_near(&dummy.features, "nvml.remap_pending", 1.0);
    assert_false(has(&dummy.features, "nvml.ecc_uncorrected_delta")); /* not known is not 0 */
    pb_features_clear(&dummy.features);
}

static void test_observe__throttle_reasons_are_bits(void **state)
{
    struct dummy dummy = {.count = 0};
    struct pb_state *states[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        states[i] = add_state(&dummy);
    states[0]->throttle_reasons = 0x1;        /* idle: nothing */
    states[1]->throttle_reasons = 0x4 | 0x40; /* two at once */
    states[2]->throttle_reasons = 0x4 | 0x2;
    states[3]->throttle_reasons = -1; /* not known: no look */
    observe(&dummy);
    expect_near(&dummy.features, "throttle.thermal_hardware", 1.0);
    expect_near(&dummy.features, "throttle.power_cap", 2.0 / 3.0);
    expect_near(&dummy.features, "throttle.locked_clocks", 1.0 / 3.0);
    expect_near(&dummy.features, "throttle.slowdown", 0.0);
    pb_features_clear(&dummy.features);
}

static void test_observe__cotenants_are_the_least_of_the_run(void **state)
{
    struct dummy dummy = {.count = 0};
    struct pb_state *first = add_state(&dummy), *last = add_state(&dummy);

    (void)state;
    first->processes = 4; /* neighbours' ranks open contexts here for a moment */
    first->memory_used_bytes = 9000;
    last->processes = 1;
    last->memory_used_bytes = 1000;
    observe(&dummy);
    expect_near(&dummy.features, "nvml.other_processes", 0.0);
    expect_near(&dummy.features, "nvml.memory_used_min", 1000.0);
    pb_features_clear(&dummy.features);
}

/* The driver's mean still holds what the device did before; a run may be too short to know. */
static void test_observe__power_of_an_earlier_load_is_not_the_runs(void **state)
{
    const double seconds[] = {100.0, 100.2, 101.5, 102.0}, power_w[] = {387.0, 390.0, 210.0, 218.0};

    (void)state;
    for (size_t count = 2; count <= 4; count += 2) {
        struct dummy dummy = {.count = 0};

        for (size_t i = 0; i < count; i++) {
            struct pb_state *now = add_state(&dummy);

            now->unix_seconds = seconds[i];
            now->power_w = power_w[i];
        }
        observe(&dummy);
        if (count == 2)
            assert_false(has(&dummy.features, "nvml.power_max"));
        else
            expect_near(&dummy.features, "nvml.power_max", 218.0);
        pb_features_clear(&dummy.features);
    }
}

static void test_observe__link_counts_by_its_best(void **state)
{
    struct dummy dummy = {.count = 0};
    struct pb_state *idle = add_state(&dummy), *busy = add_state(&dummy);

    (void)state;
    idle->pcie_generation = 1;
    busy->pcie_generation = 5;
    idle->pcie_width = busy->pcie_width = 8;
    observe(&dummy);
    expect_near(&dummy.features, "nvml.pcie_generation", 5.0);
    expect_near(&dummy.features, "nvml.pcie_width", 8.0);
    pb_features_clear(&dummy.features);
}

static void test_observe__states_count_what_is_missing_exactly(void **state)
{
    struct dummy dummy = {.count = 0};
    struct pb_state *first = add_state(&dummy), *last = add_state(&dummy);

    (void)state;
    first->pcie_width = last->pcie_width = 8;
    first->pcie_width_max = last->pcie_width_max = 16;
    first->pcie_generation = 1;
    last->pcie_generation = first->pcie_generation_max = last->pcie_generation_max = 5;
    first->nvlinks_up = 18;
    last->nvlinks_up = 17;
    first->ecc_uncorrected = 3;
    last->ecc_uncorrected = 4;
    first->remapped_uncorrected = last->remapped_uncorrected = 2;
    observe(&dummy);
    expect_near(&dummy.features, "nvml.pcie_width_missing", 8.0);
    expect_near(&dummy.features, "nvml.pcie_generation_missing", 0.0);
    expect_near(&dummy.features, "nvml.nvlinks_lost", 1.0);
    expect_near(&dummy.features, "nvml.ecc_uncorrected_before", 3.0);
    expect_near(&dummy.features, "nvml.ecc_uncorrected_delta", 1.0);
    expect_near(&dummy.features, "nvml.remapped_uncorrected_before", 2.0);
    pb_features_clear(&dummy.features);
}

static void test_observe__wrong_words_of_messages_are_counted(void **state)
{
    struct dummy dummy = {.count = 0};

    (void)state;
    PB_TEXT_SET(add_test(&dummy, "global_copy")->message,
                "20 words were copied wrong with 448 CTAs of 1024, ILP 8");
    PB_TEXT_SET(add_test(&dummy, "host_link")->message, "2 of 16 SMs cannot be chosen");
    PB_TEXT_SET(add_test(&dummy, "l2_line")->message,
                "chase over global_cg: address 0x1040: expected 0x1080, found 0x80 (bits 0x1000)");
    dummy.recordings[2].outcome = PB_TEST_FAILED;
    observe(&dummy);
    expect_near(&dummy.features, "integrity.mismatches", 21.0);
    assert_int_equal(cell_of(&dummy.features, "integrity.mismatches").place, 0x1040);
    pb_features_clear(&dummy.features);
}

static void test_observe__unreadable_test_is_named_and_costs_only_itself(void **state)
{
    struct dummy dummy = {.broken = "l2_line"};

    (void)state;
    add_dram(&dummy, 600, 0, 0);
    add_test(&dummy, "l2_line");
    add_test(&dummy, "global_copy")->outcome = PB_TEST_HUNG;
    add_test(&dummy, "l1_line")->outcome = PB_TEST_UNSUPPORTED;
    observe(&dummy);
    assert_string_equal(dummy.features.devices[0].missing,
                        "l2_line cannot be read; global_copy hung");
    expect_near(&dummy.features, "dram_near.q75", 1.0);
    expect_near(&dummy.features, "dram.latency_cycles", 600.0);
    pb_features_clear(&dummy.features);
}

static void test_observe__of_many_tests_those_with_room_are_named(void **state)
{
    struct dummy dummy = {0};

    (void)state;
    for (char name[] = "a_test_by_the_letter_a"; name[21] < 'a' + TESTS_MAX; name[21]++)
        add_test(&dummy, name)->outcome = name[21] == 'p' ? PB_TEST_HUNG : PB_TEST_MISSING;
    observe(&dummy);
    assert_non_null(strstr(dummy.features.devices[0].missing, "_e missing; …"));
    assert_int_equal(dummy.features.devices[0].endings, 1 << PB_TEST_MISSING | 1 << PB_TEST_HUNG);
    pb_features_clear(&dummy.features);
}

static void test_observe__nothing_known_is_a_row_without_numbers(void **state)
{
    struct dummy dummy = {.count = 0};

    (void)state;
    PB_TEXT_SET(dummy.device.status, "absent");
    observe(&dummy);
    assert_int_equal(dummy.features.device_count, 1);
    assert_int_equal(dummy.features.metric_count, 0);
    pb_features_clear(&dummy.features);
}

/* Every kind of number of a simulated device; the profile is the truth. */
static void test_observe__simulated_device_has_all_kinds(void **state)
{
    static const char *const names[] = {
        "clock.sm_mhz",
        "l1.size_bytes",
        "l1.latency_cycles",
        "l1.latency_ns",
        "l2.latency_cycles",
        "dram.latency_ns",
        "dram.beyond_l2_ns",
        "shared.conflict_cycles.5",
        "global_copy.peak",
        "global_copy.latency_bound",
        "host_link.to_device_pinned",
        "host_latency.to_device_pinned",
        "integrity.mismatches",
        "sm.l1_slowest",
        "sm_median.l2_cycles",
        "l2_hits.tail_fraction_1_125x",
        "dram_near.q99",
        "dram_far.tail_fraction_1_5x",
        "clock.lowest_over_highest",
        "nvml.pcie_width",
        "nvml.temperature_max",
        "throttle.slowdown",
        "nvml.sm_clock_most_over_max",
        "device.memory_bytes",
    };
    struct fleetbuild_device device = {
        .profile = "quadro2000", .host = "n01", .slot = 0, .battery = PB_QUICK};
    struct pb_features row = {0};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    if (fleetbuild_measure(&device, &row, &err) != PB_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(isfinite(cell_of(&row, names[i]).value));
    /* The host times it, allocations and the first launch included: no rate of memory. */
    assert_int_equal(pb_features_find(&row, "memory_integrity.rate"), row.metric_count);
    assert_true(row.devices[0].tests != 0);
    expect_near(&row, "l1.size_bytes", 16384.0);
    expect_near(&row, "integrity.mismatches", 0.0);
    assert_true(fabs(cell_of(&row, "clock.sm_mhz").value - 1250.0) < 1.0);
    assert_true(fabs(cell_of(&row, "l2.latency_cycles").value - 351.0) < 4.0);
    assert_true(fabs(cell_of(&row, "dram.beyond_l2_ns").value - 268.0 / 1.25) < 4.0);
    assert_string_equal(row.devices[0].missing, "");
    pb_features_clear(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_observe__tail_moves_shares_and_no_median),
        cmocka_unit_test(test_observe__test_of_a_later_method_gives_other_metrics),
        cmocka_unit_test(test_observe__shape_does_not_depend_on_the_latency),
        cmocka_unit_test(test_observe__tail_too_rare_for_the_local_loads_is_open),
        cmocka_unit_test(test_observe__slowest_sms_are_ranked_and_named),
        cmocka_unit_test(test_observe__l1_that_l2_answers_for_is_not_stated),
        cmocka_unit_test(test_observe__clock_that_falls_between_tests_is_seen),
        cmocka_unit_test(test_observe__counters_count_by_their_step),
        cmocka_unit_test(test_observe__throttle_reasons_are_bits),
        cmocka_unit_test(test_observe__cotenants_are_the_least_of_the_run),
        cmocka_unit_test(test_observe__power_of_an_earlier_load_is_not_the_runs),
        cmocka_unit_test(test_observe__link_counts_by_its_best),
        cmocka_unit_test(test_observe__states_count_what_is_missing_exactly),
        cmocka_unit_test(test_observe__wrong_words_of_messages_are_counted),
        cmocka_unit_test(test_observe__unreadable_test_is_named_and_costs_only_itself),
        cmocka_unit_test(test_observe__of_many_tests_those_with_room_are_named),
        cmocka_unit_test(test_observe__nothing_known_is_a_row_without_numbers),
        cmocka_unit_test(test_observe__simulated_device_has_all_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
