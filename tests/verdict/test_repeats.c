/*
 * Healthy GPUs against their own history, as recorded: two H200s of a node (q1 s1 q2 q3 s2 q4 s3 q5
 * in the order of time, q quick, s standard) and an H100. None of them may be found.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/trial.h"

/* The sizes stand so much farther out than anything that was seen. */
static const double margin = 1.45;

/* Every run against every other one alone. */
static void expect_all_pairs_well(const struct repeats *repeats, size_t runs)
{
    struct trial trial = {.now = {0}};

    assert_int_equal(repeats->count, runs);
    for (size_t i = 0; i < runs; i++) {
        for (size_t k = 0; k < runs; k++) {
            const struct pb_features *now = &repeats->runs[i].features,
                                     *history = &repeats->runs[k].features;
            bool alike = now->devices[0].tests == history->devices[0].tests;
            char title[128];

            if (i == k)
                continue;
            snprintf(title, sizeof(title), "%s against %s", repeats->runs[i].name,
                     repeats->runs[k].name);
            repeats_add(now, NULL, &trial.now);
            repeats_add(history, NULL, &trial.history);
            trial_expect_well(&trial, title);
            assert_int_equal(trial_count(&trial.findings, "battery_mismatch"), alike ? 0 : 1);
            trial_end(&trial);
        }
    }
}

static void test_healthy__h200s_are_as_they_were(void **state)
{
    expect_all_pairs_well(&((struct rig *)*state)->h200, 8);
    expect_all_pairs_well(&((struct rig *)*state)->node, 6);
}

static void test_healthy__h100_is_as_it_was(void **state)
{
    expect_all_pairs_well(&((struct rig *)*state)->h100, 4);
}

/* The same with all other runs as baseline runs. */
static void expect_well_against_others(const struct repeats *repeats)
{
    struct trial trial = {.now = {0}};

    for (size_t i = 0; i < repeats->count; i++) {
        repeats_add(&repeats->runs[i].features, NULL, &trial.now);
        for (size_t k = 0; k < repeats->count; k++)
            if (k != i)
                repeats_add(&repeats->runs[k].features, NULL, &trial.history);
        trial_expect_well(&trial, repeats->runs[i].name);
        trial_end(&trial);
    }
}

static void test_healthy__several_baseline_runs_name_no_device(void **state)
{
    expect_well_against_others(&((struct rig *)*state)->h200);
    expect_well_against_others(&((struct rig *)*state)->node);
    expect_well_against_others(&((struct rig *)*state)->h100);
}

/* The largest drift of any number of any pair of runs, in sizes that are granted. */
static double farthest(const struct repeats *repeats, char name_out[PB_METRIC_NAME_LENGTH])
{
    struct trial trial = {.now = {0}};
    double most = 0.0;

    for (size_t pair = 0; pair < repeats->count * repeats->count; pair++) {
        repeats_add(&repeats->runs[pair / repeats->count].features, NULL, &trial.now);
        repeats_add(&repeats->runs[pair % repeats->count].features, NULL, &trial.history);
        trial_judge(&trial);
        for (size_t i = 0; i < trial.now.device_count * trial.now.metric_count; i++) {
            if (trial.now.metrics[i % trial.now.metric_count].domain == PB_DOMAIN_COUNT ||
                !(fabs(trial.scores.cells[i].drift_times) > most))
                continue;
            most = fabs(trial.scores.cells[i].drift_times);
            snprintf(name_out, PB_METRIC_NAME_LENGTH, "%s",
                     trial.now.metrics[i % trial.now.metric_count].name);
        }
        trial_end(&trial);
    }
    return most;
}

static void test_sizes__stand_well_beyond_what_was_seen(void **state)
{
    struct rig *rig = *state;
    char name[PB_METRIC_NAME_LENGTH] = "";
    double times = farthest(&rig->h200, name);

    print_message("H200: at most %.2f of what is granted, by %s\n", times, name);
    assert_true(times < 1.0 / margin);
    times = farthest(&rig->node, name);
    print_message("Four H200s: at most %.2f of what is granted, by %s\n", times, name);
    assert_true(times < 1.0 / margin);
    times = farthest(&rig->h100, name);
    print_message("H100: at most %.2f of what is granted, by %s\n", times, name);
    assert_true(times < 1.0 / margin);
}

/* The chosen runs (a bit each) as if each were of other devices: that many peers, all healthy. */
static void expect_peers_well(const struct repeats *repeats, unsigned chosen)
{
    struct trial trial = {.now = {0}};
    size_t anomalies = 0;

    for (size_t i = 0; i < repeats->count; i++)
        if ((chosen >> i & 1) != 0)
            repeats_add(&repeats->runs[i].features, repeats->runs[i].name, &trial.now);
    trial_judge(&trial);
    for (size_t i = 0; i < trial.findings.count; i++)
        anomalies += trial.findings.items[i].severity != PB_SEVERITY_OK;
    if (anomalies != 1)
        trial_print("peers", &trial.findings);
    assert_int_equal(anomalies, 1); /* what is inferred for some only is listed as OK */
    assert_string_equal(trial.findings.items[0].cause, "insufficient_peers");
    trial_end(&trial);
}

static void test_peers__two_unlike_chips_are_both_well(void **state)
{
    const struct repeats *h200 = &((struct rig *)*state)->h200;

    assert_string_equal(h200->runs[5].name, "s1");
    for (unsigned quick = 1; quick < 1u << 5; quick++) /* two to ten devices */
        expect_peers_well(h200, quick);
    for (unsigned standard = 1; standard < 1u << 3; standard++)
        expect_peers_well(h200, standard << 5);
}

/* What most devices never do, one does when it is given other pages. */
static void test_healthy__others_that_repeat_better_name_no_device(void **state)
{
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};
    size_t metric;

    for (int i = 0; i < 16; i++) {
        char alias[16];

        snprintf(alias, sizeof(alias), "n%02d", i);
        repeats_add(trial_run(&rig->h200, "q1"), alias, &trial.now);
        repeats_add(trial_run(&rig->h200, "q1"), alias, &trial.history);
    }
    repeats_add(trial_run(&rig->h200, "q5"), NULL, &trial.now);
    repeats_add(trial_run(&rig->h200, "q2"), NULL, &trial.history);
    trial_judge(&trial);
    metric = pb_features_find(&trial.now, "l2_hits.tail_fraction_1_125x");
    for (size_t i = 0; i < trial.now.device_count; i++)
        assert_int_equal(trial.scores.cells[i * trial.now.metric_count + metric].drift_severity,
                         PB_SEVERITY_OK);
    trial_end(&trial);
}

/* Where a device's baseline runs themselves lie apart, a change of that size is no finding. */
static void test_healthy__baseline_runs_that_differ_widen_the_tolerance(void **state)
{
    static const struct injection up = SCALED("global_copy.peak", 1.03),
                                  down = SCALED("global_copy.peak", 0.92),
                                  now = SCALED("global_copy.peak", 0.935);
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};

    repeats_add(trial_run(&rig->h100, "standard"), NULL, &trial.now);
    repeats_add(trial_run(&rig->h100, "standard2"), NULL, &trial.history);
    trial_inject(&trial.now, 0, &now);
    trial_judge(&trial);
    assert_int_equal(trial_count(&trial.findings, "hbm"), 1);
    trial_end(&trial);
    repeats_add(trial_run(&rig->h100, "standard"), NULL, &trial.now);
    for (int i = 0; i < 6; i++) {
        struct injection wobble = i % 2 == 0 ? up : down;

        wobble.factor += 0.002 * i;
        repeats_add(trial_run(&rig->h100, "standard2"), NULL, &trial.history);
        trial_inject(&trial.history, (size_t)i, &wobble);
    }
    trial_inject(&trial.now, 0, &now);
    trial_judge(&trial);
    assert_int_equal(trial_count(&trial.findings, "hbm"), 0);
    trial_end(&trial);
}

/* Devices of a baseline that ran other tests are peers in all but what sums up a run. */
static void test_peers__other_tests_sum_up_to_something_else(void **state)
{
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};
    const struct pb_norm *norms;

    for (size_t i = 0; i < rig->h200.count; i++) {
        const struct repeats_run *run = &rig->h200.runs[i];

        repeats_add(&run->features, run->name, run->name[0] == 'q' ? &trial.now : &trial.history);
    }
    trial_judge(&trial);
    norms = trial.scores.norms;
    assert_int_equal(norms[pb_features_find(&trial.now, "l2.latency_cycles")].peers, 16);
    assert_int_equal(norms[pb_features_find(&trial.now, "nvml.power_max")].peers, 10);
    assert_int_equal(norms[pb_features_find(&trial.now, "l2_hits.q75")].peers, 10);
    trial_end(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy__h200s_are_as_they_were),
        cmocka_unit_test(test_healthy__h100_is_as_it_was),
        cmocka_unit_test(test_healthy__several_baseline_runs_name_no_device),
        cmocka_unit_test(test_healthy__others_that_repeat_better_name_no_device),
        cmocka_unit_test(test_healthy__baseline_runs_that_differ_widen_the_tolerance),
        cmocka_unit_test(test_sizes__stand_well_beyond_what_was_seen),
        cmocka_unit_test(test_peers__two_unlike_chips_are_both_well),
        cmocka_unit_test(test_peers__other_tests_sum_up_to_something_else),
    };

    return cmocka_run_group_tests(tests, trial_set_up, trial_tear_down);
}
