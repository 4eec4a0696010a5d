/*
 * What is injected into a device is found against its own history: into the numbers of real ones,
 * and into simulated ones.
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

#include "verdict/faults.h"
#include "verdict/fleetbuild.h"
#include "verdict/trial.h"

struct drift {
    const char *cause;
    enum pb_severity severity;
    struct injection injections[16];
};

static void inject_all(struct pb_features *features, const struct drift *drift)
{
    for (size_t i = 0; drift->injections[i].name != NULL; i++)
        trial_inject(features, 0, &drift->injections[i]);
}

static const struct drift drifts[] = {
    {"hbm",
     PB_SEVERITY_CRITICAL,
     {SCALED("global_copy.peak", 0.9), SCALED("dram.peak_bytes_per_s", 0.9),
      SCALED("global_read.peak", 0.9), SCALED("dram.read_peak_bytes_per_s", 0.9),
      SCALED("sustained_load.throughput", 0.9)}},
    {"dram_latency",
     PB_SEVERITY_CRITICAL,
     {SCALED("dram.latency_cycles", 1.1), SCALED("dram.latency_ns", 1.1),
      SCALED("l2.miss_latency_cycles", 1.1), SCALED("dram.beyond_l2_ns", 1.17)}},
    {"slow_clock",
     PB_SEVERITY_CRITICAL,
     {SCALED("clock.sm_mhz", 0.97), SCALED("l1.latency_ns", 1.031), SCALED("l2.latency_ns", 1.031),
      SCALED("sm_median.l1_ns", 1.031), SCALED("sm_median.l2_ns", 1.031),
      SCALED("shared.latency_ns", 1.031)}},
    {"l2_latency",
     PB_SEVERITY_CRITICAL,
     {SCALED("l2.latency_cycles", 1.05), SCALED("l2.latency_ns", 1.05),
      SCALED("l2_near.latency_cycles", 1.05), SCALED("l2_far.latency_cycles", 1.05),
      SCALED("sm_median.l2_cycles", 1.05), SCALED("sm_median.l2_ns", 1.05),
      SCALED("l1.miss_latency_cycles", 1.05), SCALED("readonly.miss_latency_cycles", 1.05),
      SCALED("texture.miss_latency_cycles", 1.05)}},
    {"pcie_link",
     PB_SEVERITY_CRITICAL,
     {SCALED("nvml.pcie_width", 0.5), SCALED("host_link.to_device_pinned", 0.5),
      SCALED("host_link.from_device_pinned", 0.5), SCALED("host_link.peak_bytes_per_s", 0.5)}},
    {"l1_defect", PB_SEVERITY_CRITICAL, {SCALED("l1.size_bytes", 0.75)}},
    {"hbm", PB_SEVERITY_CRITICAL, {MORE("nvml.remapped_delta", 1.0)}},
    {"hbm", PB_SEVERITY_CRITICAL, {MORE("nvml.ecc_uncorrected_delta", 1.0)}},
    {"integrity", PB_SEVERITY_CRITICAL, {MORE("integrity.mismatches", 1.0)}},
    {"power_limit", PB_SEVERITY_WARNING, {MORE("throttle.power_brake", 1.0)}},
    {"thermal",
     PB_SEVERITY_CRITICAL,
     {MORE("throttle.thermal_hardware", 2.0), SCALED("clock.sm_mhz", 0.95)}},
    {"tail", PB_SEVERITY_CRITICAL, {MORE("dram_near.tail_fraction_1_125x", 0.04)}},
    {"host_latency", PB_SEVERITY_WARNING, {SCALED("host_latency.to_device_pinned", 3.5)}},
};

/* Just one, and that of the first device. */
static void expect_reported(const struct trial *trial, const struct drift *drift, const char *title)
{
    const struct pb_finding *finding = &trial->findings.items[0];
    bool is_right =
        strcmp(finding->cause, drift->cause) == 0 && finding->severity == drift->severity &&
        strcmp(finding->device, trial->now.devices[0].key) == 0 &&
        (trial->findings.count < 2 || (trial->findings.items[1].severity != PB_SEVERITY_CRITICAL &&
                                       trial->findings.items[1].severity != PB_SEVERITY_WARNING));

    if (!is_right)
        trial_print(title, &trial->findings);
    assert_true(is_right);
}

static void expect_found(const struct repeats *repeats, const char *now, const char *history)
{
    for (size_t i = 0; i < sizeof(drifts) / sizeof(drifts[0]); i++) {
        struct trial trial = {.now = {0}};

        repeats_add(trial_run(repeats, now), NULL, &trial.now);
        repeats_add(trial_run(repeats, history), NULL, &trial.history);
        inject_all(&trial.now, &drifts[i]);
        trial_judge(&trial);
        expect_reported(&trial, &drifts[i], drifts[i].injections[0].name);
        trial_end(&trial);
    }
}

static void test_injected__is_found_against_one_baseline_run(void **state)
{
    struct rig *rig = *state;

    expect_found(&rig->h200, "q5", "q1");
    expect_found(&rig->h200, "q2", "q3");
    expect_found(&rig->h200, "s3", "s1");
    expect_found(&rig->h100, "standard", "standard2");
    expect_found(&rig->h100, "full", "standard");
}

/* The same against all other runs of that battery. */
static void test_injected__is_found_against_many_baseline_runs(void **state)
{
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof(drifts) / sizeof(drifts[0]); i++) {
        struct trial trial = {.now = {0}};

        repeats_add(trial_run(&rig->h200, "q5"), NULL, &trial.now);
        for (size_t k = 0; k < rig->h200.count; k++)
            if (strcmp(rig->h200.runs[k].name, "q5") != 0)
                repeats_add(&rig->h200.runs[k].features, NULL, &trial.history);
        inject_all(&trial.now, &drifts[i]);
        trial_judge(&trial);
        expect_reported(&trial, &drifts[i], drifts[i].injections[0].name);
        trial_end(&trial);
    }
}

/* Across batteries what is the same measurement is judged the same way. */
static void test_injected__bandwidth_is_found_across_batteries(void **state)
{
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};

    repeats_add(trial_run(&rig->h100, "quick"), NULL, &trial.now);
    repeats_add(trial_run(&rig->h100, "full"), NULL, &trial.history);
    inject_all(&trial.now, &drifts[0]);
    trial_judge(&trial);
    expect_reported(&trial, &drifts[0], "across batteries");
    trial_end(&trial);
}

/* A pinned transfer of half as long again: nothing against one baseline run, but these hosts
 * repeat. */
static void test_injected__more_baseline_runs_show_weaker_drifts(void **state)
{
    static const struct injection weak = SCALED("host_latency.from_device_pinned", 1.7);
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};

    repeats_add(trial_run(&rig->h200, "q5"), NULL, &trial.now);
    repeats_add(trial_run(&rig->h200, "q1"), NULL, &trial.history);
    trial_inject(&trial.now, 0, &weak);
    trial_expect_well(&trial, "one baseline run");
    pb_scores_clear(&trial.scores);
    pb_findings_clear(&trial.findings);
    for (size_t k = 0; k < rig->h200.count; k++)
        if (strcmp(rig->h200.runs[k].name, "q5") != 0)
            repeats_add(&rig->h200.runs[k].features, NULL, &trial.history);
    trial_judge(&trial);
    assert_int_equal(trial.findings.worst, PB_SEVERITY_WARNING);
    assert_int_equal(trial_count(&trial.findings, "host_latency"), 1);
    trial_end(&trial);
}

/* ---- simulated devices ---- */

enum { SIMULATED = 10 };

static const char host[] = "n01", key[] = "n01.gpu0";

/* What one healthy run of the same device shows, and how it is reported. */
static const struct {
    const char *spec;
    struct fault_kind kind;
} faults[SIMULATED] = {
    {"clock=0.97", {"clock", {0}, NULL, {"locked_clocks", "slow_clock"}, PB_LEVEL_DEVICE}},
    {"dram_bandwidth=0.9", {"bandwidth", {0}, NULL, {"hbm"}, PB_LEVEL_DEVICE}},
    {"dram_latency=1.1", {"dram", {0}, NULL, {"dram_latency"}, PB_LEVEL_DEVICE}},
    {"l2_latency=1.05", {"l2", {0}, NULL, {"l2_latency"}, PB_LEVEL_DEVICE}},
    {"l1_size=0.75", {"l1", {0}, NULL, {"l1_defect"}, PB_LEVEL_DEVICE}},
    {"sm_slow=3:1.1", {"sm", {0}, NULL, {"slow_sm"}, PB_LEVEL_SM}},
    {"tail=0.05:2000", {"tail", {0}, NULL, {"tail"}, PB_LEVEL_ACCESS}},
    {"throttle=0.9@0.3", {"throttle", {0}, NULL, {"thermal"}, PB_LEVEL_DEVICE}},
    {"pcie_width=8", {"pcie", {0}, NULL, {"pcie_link"}, PB_LEVEL_DEVICE}},
    {"bitflip=1e-6", {"bitflip", {0}, NULL, {"integrity"}, PB_LEVEL_DEVICE}},
};

static void measure(const char *fault, struct pb_features *row)
{
    struct fleetbuild_device device = {
        .profile = "quadro2000", .host = host, .faults = {fault}, .battery = PB_QUICK};
    struct pb_error err = PB_ERROR_INIT;

    if (fleetbuild_measure(&device, row, &err) != PB_OK)
        fail_msg("%s", err.message);
}

static void test_simulated__each_fault_is_reported_against_one_baseline_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIMULATED; i++) {
        struct trial trial = {.now = {0}};

        measure(NULL, &trial.history);
        measure(faults[i].spec, &trial.now);
        trial_judge(&trial);
        if (fault_verdict_of(&trial.findings, &faults[i].kind, key) != FAULT_RIGHT ||
            trial.findings.items[0].severity != PB_SEVERITY_CRITICAL) {
            trial_print(faults[i].spec, &trial.findings);
            fail_msg("%s is not reported as %s", faults[i].spec, faults[i].kind.causes[0]);
        }
        trial_end(&trial);
    }
}

static void test_simulated__unchanged_device_is_well(void **state)
{
    struct trial trial = {.now = {0}};

    (void)state;
    measure(NULL, &trial.history);
    measure(NULL, &trial.now);
    trial_expect_well(&trial, "unchanged");
    trial_end(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_injected__is_found_against_one_baseline_run),
        cmocka_unit_test(test_injected__is_found_against_many_baseline_runs),
        cmocka_unit_test(test_injected__bandwidth_is_found_across_batteries),
        cmocka_unit_test(test_injected__more_baseline_runs_show_weaker_drifts),
        cmocka_unit_test(test_simulated__each_fault_is_reported_against_one_baseline_run),
        cmocka_unit_test(test_simulated__unchanged_device_is_well),
    };

    return cmocka_run_group_tests(tests, trial_set_up, trial_tear_down);
}
