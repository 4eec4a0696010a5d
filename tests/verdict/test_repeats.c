/*
 * Healthy GPUs against their own past, as recorded: two H200s of a node (q1 s1 q2 q3 s2 q4 s3 q5 in
 * the order of time, q quick, s standard) and an H100. None of them may be found, whatever is
 * planted into them must be.
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

#include "analysis/verdict/finding.h"
#include "verdict/repeats.h"

/* The sizes stand so much farther out than anything that was seen. */
static const double margin = 1.45;

struct rig {
    struct repeats h200, h100;
};

static int set_up(void **state)
{
    static struct rig rig;

    repeats_read(PLUMB_TEST_DATA "/h200-repeats.tsv", &rig.h200);
    repeats_read(PLUMB_TEST_DATA "/h100-repeats.tsv", &rig.h100);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

    repeats_clear(&rig->h200);
    repeats_clear(&rig->h100);
    return 0;
}

/* A sheet to judge, one of what was before, and what came of it. */
struct trial {
    struct pb_sheet now, past;
    struct pb_scores scores;
    struct pb_findings findings;
};

static void judge(struct trial *trial)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_score(&trial->now, trial->past.subject_count > 0 ? &trial->past : NULL,
                              &options, &trial->scores, &err),
                     PB_OK);
    assert_int_equal(pb_judge(&trial->now, &trial->scores, &trial->findings, &err), PB_OK);
}

static void end(struct trial *trial)
{
    pb_findings_clear(&trial->findings);
    pb_scores_clear(&trial->scores);
    pb_sheet_clear(&trial->now);
    pb_sheet_clear(&trial->past);
    *trial = (struct trial){.now = {0}};
}

static void print(const char *title, const struct pb_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        print_message("%s: %s %s %s: %s\n", title, pb_severity_name(findings->items[i].severity),
                      findings->items[i].place, findings->items[i].cause,
                      findings->items[i].summary);
}

static size_t count_cause(const struct pb_findings *findings, const char *cause)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++)
        count += strcmp(findings->items[i].cause, cause) == 0;
    return count;
}

static const struct pb_sheet *run_of(const struct repeats *repeats, const char *name)
{
    for (size_t i = 0; i < repeats->count; i++)
        if (strcmp(repeats->runs[i].name, name) == 0)
            return &repeats->runs[i].sheet;
    fail_msg("no run %s", name);
    return NULL;
}

static void expect_well(struct trial *trial, const char *title)
{
    judge(trial);
    if (trial->findings.worst != PB_SEVERITY_OK)
        print(title, &trial->findings);
    assert_int_equal(trial->findings.worst, PB_SEVERITY_OK);
    assert_int_equal(count_cause(&trial->findings, "own_past"), 1);
}

/* Every run against every other one alone. */
static void expect_all_pairs_well(const struct repeats *repeats, size_t runs)
{
    struct trial trial = {.now = {0}};

    assert_int_equal(repeats->count, runs);
    for (size_t i = 0; i < runs; i++) {
        for (size_t k = 0; k < runs; k++) {
            const struct pb_sheet *now = &repeats->runs[i].sheet, *past = &repeats->runs[k].sheet;
            bool alike = now->subjects[0].tests == past->subjects[0].tests;
            char title[128];

            if (i == k)
                continue;
            snprintf(title, sizeof(title), "%s against %s", repeats->runs[i].name,
                     repeats->runs[k].name);
            repeats_add(now, NULL, &trial.now);
            repeats_add(past, NULL, &trial.past);
            expect_well(&trial, title);
            assert_int_equal(count_cause(&trial.findings, "other_tests"), alike ? 0 : 1);
            end(&trial);
        }
    }
}

static void test_healthy__h200s_are_as_they_were(void **state)
{
    expect_all_pairs_well(&((struct rig *)*state)->h200, 8);
}

static void test_healthy__h100_is_as_it_was(void **state)
{
    expect_all_pairs_well(&((struct rig *)*state)->h100, 4);
}

/* The same with all other runs as pasts. */
static void expect_well_against_others(const struct repeats *repeats)
{
    struct trial trial = {.now = {0}};

    for (size_t i = 0; i < repeats->count; i++) {
        repeats_add(&repeats->runs[i].sheet, NULL, &trial.now);
        for (size_t k = 0; k < repeats->count; k++)
            if (k != i)
                repeats_add(&repeats->runs[k].sheet, NULL, &trial.past);
        expect_well(&trial, repeats->runs[i].name);
        end(&trial);
    }
}

static void test_healthy__several_pasts_accuse_nobody(void **state)
{
    expect_well_against_others(&((struct rig *)*state)->h200);
    expect_well_against_others(&((struct rig *)*state)->h100);
}

/* The largest drift of any number of any pair of runs, in sizes that are granted. */
static double farthest(const struct repeats *repeats, char name_out[PB_METRIC_NAME_LENGTH])
{
    struct trial trial = {.now = {0}};
    double most = 0.0;

    for (size_t pair = 0; pair < repeats->count * repeats->count; pair++) {
        repeats_add(&repeats->runs[pair / repeats->count].sheet, NULL, &trial.now);
        repeats_add(&repeats->runs[pair % repeats->count].sheet, NULL, &trial.past);
        judge(&trial);
        for (size_t i = 0; i < trial.now.subject_count * trial.now.metric_count; i++) {
            if (trial.now.metrics[i % trial.now.metric_count].domain == PB_DOMAIN_COUNT ||
                !(fabs(trial.scores.cells[i].drift_times) > most))
                continue;
            most = fabs(trial.scores.cells[i].drift_times);
            snprintf(name_out, PB_METRIC_NAME_LENGTH, "%s",
                     trial.now.metrics[i % trial.now.metric_count].name);
        }
        end(&trial);
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
    times = farthest(&rig->h100, name);
    print_message("H100: at most %.2f of what is granted, by %s\n", times, name);
    assert_true(times < 1.0 / margin);
}

/* Runs as if each were another device: as many peers as there are, all healthy. */
static void expect_peers_well(const struct repeats *repeats, const char *first_letter)
{
    struct trial trial = {.now = {0}};

    for (size_t i = 0; i < repeats->count; i++)
        if (strncmp(repeats->runs[i].name, first_letter, 1) == 0)
            repeats_add(&repeats->runs[i].sheet, repeats->runs[i].name, &trial.now);
    judge(&trial);
    if (trial.findings.count != 1)
        print(first_letter, &trial.findings);
    assert_int_equal(trial.findings.count, 1);
    assert_string_equal(trial.findings.items[0].cause, "insufficient_peers");
    end(&trial);
}

static void test_peers__two_unlike_chips_are_both_well(void **state)
{
    expect_peers_well(&((struct rig *)*state)->h200, "q"); /* ten */
    expect_peers_well(&((struct rig *)*state)->h200, "s"); /* six */
}

/* ---- what is planted ---- */

struct plant {
    const char *name;
    double factor, add;
};

struct drift {
    const char *cause;
    enum pb_severity severity;
    struct plant plants[16];
};

static void plant(struct pb_sheet *sheet, size_t subject, const struct plant *plant)
{
    size_t metric = pb_sheet_find(sheet, plant->name);
    struct pb_cell cell = pb_sheet_cell(sheet, subject, metric);
    struct pb_error err = PB_ERROR_INIT;

    if (!isfinite(cell.value))
        return; /* not in this battery */
    cell.value = cell.value * plant->factor + plant->add;
    assert_int_equal(pb_sheet_set(sheet, subject, &sheet->metrics[metric], cell, &err), PB_OK);
}

static void plant_all(struct pb_sheet *sheet, const struct drift *drift)
{
    for (size_t i = 0; drift->plants[i].name != NULL; i++)
        plant(sheet, 0, &drift->plants[i]);
}

#define SCALED(name, factor)                                                                       \
    {                                                                                              \
        name, factor, 0.0                                                                          \
    }
#define MORE(name, add)                                                                            \
    {                                                                                              \
        name, 1.0, add                                                                             \
    }

static const struct drift drifts[] = {
    {"hbm",
     PB_SEVERITY_CRITICAL,
     {SCALED("global_copy.peak", 0.9), SCALED("dram.peak_bytes_per_s", 0.9),
      SCALED("global_read.peak", 0.9), SCALED("dram.read_peak_bytes_per_s", 0.9),
      SCALED("sustain.throughput", 0.9)}},
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
    {"hbm", PB_SEVERITY_CRITICAL, {MORE("nvml.remapped_step", 1.0)}},
    {"hbm", PB_SEVERITY_CRITICAL, {MORE("nvml.ecc_uncorrected_step", 1.0)}},
    {"integrity", PB_SEVERITY_CRITICAL, {MORE("integrity.mismatches", 1.0)}},
    {"power_cap", PB_SEVERITY_WARNING, {MORE("throttle.power_brake", 1.0)}},
    {"thermal",
     PB_SEVERITY_CRITICAL,
     {MORE("throttle.thermal_hardware", 2.0), SCALED("clock.sm_mhz", 0.95)}},
    {"tail", PB_SEVERITY_CRITICAL, {MORE("dram_near.beyond_112", 0.04)}},
    {"host_latency", PB_SEVERITY_WARNING, {SCALED("host_latency.to_device_pinned", 3.5)}},
};

/* Just one, and that of the first device. */
static void expect_told(const struct trial *trial, const struct drift *drift, const char *title)
{
    const struct pb_finding *finding = &trial->findings.items[0];
    bool is_right =
        strcmp(finding->cause, drift->cause) == 0 && finding->severity == drift->severity &&
        strcmp(finding->device, trial->now.subjects[0].key) == 0 &&
        (trial->findings.count < 2 || (trial->findings.items[1].severity != PB_SEVERITY_CRITICAL &&
                                       trial->findings.items[1].severity != PB_SEVERITY_WARNING));

    if (!is_right)
        print(title, &trial->findings);
    assert_true(is_right);
}

static void expect_found(const struct repeats *repeats, const char *now, const char *past)
{
    for (size_t i = 0; i < sizeof(drifts) / sizeof(drifts[0]); i++) {
        struct trial trial = {.now = {0}};

        repeats_add(run_of(repeats, now), NULL, &trial.now);
        repeats_add(run_of(repeats, past), NULL, &trial.past);
        plant_all(&trial.now, &drifts[i]);
        judge(&trial);
        expect_told(&trial, &drifts[i], drifts[i].plants[0].name);
        end(&trial);
    }
}

static void test_planted__is_found_against_one_past(void **state)
{
    struct rig *rig = *state;

    expect_found(&rig->h200, "q5", "q1");
    expect_found(&rig->h200, "q2", "q3");
    expect_found(&rig->h200, "s3", "s1");
    expect_found(&rig->h100, "standard", "standard2");
    expect_found(&rig->h100, "full", "standard");
}

/* The same against all other runs of that battery. */
static void test_planted__is_found_against_many_pasts(void **state)
{
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof(drifts) / sizeof(drifts[0]); i++) {
        struct trial trial = {.now = {0}};

        repeats_add(run_of(&rig->h200, "q5"), NULL, &trial.now);
        for (size_t k = 0; k < rig->h200.count; k++)
            if (strcmp(rig->h200.runs[k].name, "q5") != 0)
                repeats_add(&rig->h200.runs[k].sheet, NULL, &trial.past);
        plant_all(&trial.now, &drifts[i]);
        judge(&trial);
        expect_told(&trial, &drifts[i], drifts[i].plants[0].name);
        end(&trial);
    }
}

/* Across batteries what is the same measurement is judged the same way. */
static void test_planted__bandwidth_is_found_across_batteries(void **state)
{
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};

    repeats_add(run_of(&rig->h100, "quick"), NULL, &trial.now);
    repeats_add(run_of(&rig->h100, "full"), NULL, &trial.past);
    plant_all(&trial.now, &drifts[0]);
    judge(&trial);
    expect_told(&trial, &drifts[0], "across batteries");
    end(&trial);
}

/* A pinned transfer of half as long again: nothing against one past, but these hosts repeat. */
static void test_planted__more_pasts_see_weaker_drifts(void **state)
{
    static const struct plant weak = SCALED("host_latency.from_device_pinned", 1.7);
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};

    repeats_add(run_of(&rig->h200, "q5"), NULL, &trial.now);
    repeats_add(run_of(&rig->h200, "q1"), NULL, &trial.past);
    plant(&trial.now, 0, &weak);
    expect_well(&trial, "one past");
    pb_scores_clear(&trial.scores);
    pb_findings_clear(&trial.findings);
    for (size_t k = 0; k < rig->h200.count; k++)
        if (strcmp(rig->h200.runs[k].name, "q5") != 0)
            repeats_add(&rig->h200.runs[k].sheet, NULL, &trial.past);
    judge(&trial);
    assert_int_equal(trial.findings.worst, PB_SEVERITY_WARNING);
    assert_int_equal(count_cause(&trial.findings, "host_latency"), 1);
    end(&trial);
}

/* Where a device's pasts themselves lie apart, a change of that size is no finding. */
static void test_healthy__pasts_that_differ_excuse(void **state)
{
    static const struct plant up = SCALED("global_copy.peak", 1.03),
                              down = SCALED("global_copy.peak", 0.92),
                              now = SCALED("global_copy.peak", 0.935);
    struct rig *rig = *state;
    struct trial trial = {.now = {0}};

    repeats_add(run_of(&rig->h100, "standard"), NULL, &trial.now);
    repeats_add(run_of(&rig->h100, "standard2"), NULL, &trial.past);
    plant(&trial.now, 0, &now);
    judge(&trial);
    assert_int_equal(count_cause(&trial.findings, "hbm"), 1);
    end(&trial);
    repeats_add(run_of(&rig->h100, "standard"), NULL, &trial.now);
    for (int i = 0; i < 6; i++) {
        struct plant wobble = i % 2 == 0 ? up : down;

        wobble.factor += 0.002 * i;
        repeats_add(run_of(&rig->h100, "standard2"), NULL, &trial.past);
        plant(&trial.past, (size_t)i, &wobble);
    }
    plant(&trial.now, 0, &now);
    judge(&trial);
    assert_int_equal(count_cause(&trial.findings, "hbm"), 0);
    end(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy__h200s_are_as_they_were),
        cmocka_unit_test(test_healthy__h100_is_as_it_was),
        cmocka_unit_test(test_healthy__several_pasts_accuse_nobody),
        cmocka_unit_test(test_healthy__pasts_that_differ_excuse),
        cmocka_unit_test(test_sizes__stand_well_beyond_what_was_seen),
        cmocka_unit_test(test_peers__two_unlike_chips_are_both_well),
        cmocka_unit_test(test_planted__is_found_against_one_past),
        cmocka_unit_test(test_planted__is_found_against_many_pasts),
        cmocka_unit_test(test_planted__bandwidth_is_found_across_batteries),
        cmocka_unit_test(test_planted__more_pasts_see_weaker_drifts),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
