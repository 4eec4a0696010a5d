/* Scores by whom a device is compared with: too few peers, those of a baseline, its own history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "verdict/scorerig.h"

static void test_score__few_peers_only_warn_and_say_what_they_could_have_seen(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 4, 4);
    fleet_shift(&rig->features, 2, DRAM_NS, 3000.0);
    rig_score(rig);
    assert_false(rig->scores.groups[0].sufficient);
    assert_int_equal(rig_at(rig, 2, DRAM_NS)->severity, PB_SEVERITY_WARNING);
    assert_true(rig->scores.norms[DRAM_NS].detectable > 30.0); /* see below */
    assert_true(rig->scores.norms[L2_NS].detectable < 0.5 * rig->scores.norms[L2_NS].center);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_CRITICAL), 0);
}

/* Whatever lies beyond the stated shift is found, and nothing far within it. */
static void test_score__few_peers_name_the_least_shift_that_warns(void **state)
{
    struct rig *rig = *state;
    size_t warnings = 0;

    for (uint64_t i = 0; i < 100; i++) {
        const struct pb_norm *norm;
        double share;

        pb_features_clear(&rig->features);
        rig_make(&rig->features, 12, 40 + i / 5);
        rig_set(rig, 3, DRAM_NS, 352.0 + 20.0 * (double)(i % 5));
        rig_score(rig);
        norm = &rig->scores.norms[DRAM_NS];
        share = (352.0 + 20.0 * (double)(i % 5) - norm->center) / norm->detectable;
        if (share > 1.01 || share < 0.4)
            assert_int_equal(rig_at(rig, 3, DRAM_NS)->severity,
                             share > 1.0 ? PB_SEVERITY_WARNING : PB_SEVERITY_OK);
        warnings += share > 1.0;
    }
    assert_in_range(warnings, 20, 80);
}

/* Of 24 numbers of four devices one in a hundred lies so far out by chance: nobody is warned. */
static void test_score__few_peers_do_not_warn_of_what_chance_does(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 4, 4);
    fleet_shift(&rig->features, 2, DRAM_NS, 30.0);
    rig_score(rig);
    assert_true(fabs(rig_at(rig, 2, DRAM_NS)->shift) >=
                4.0 * rig->features.metrics[DRAM_NS].practical);
    assert_true(rig_at(rig, 2, DRAM_NS)->p < 0.05);
    assert_int_equal(fleet_count(&rig->scores, PB_SEVERITY_WARNING), 0);
}

/*
 * One of eight devices on two nodes all of whose rates are far too low, each of them reported by
 * several metrics: what they add to the scale must not pass for a likeness of nodes.
 */
static void test_score__one_sick_of_eight_does_not_hide_itself(void **state)
{
    const struct fleet_plan plan = {
        .devices = 8, .devices_per_node = 4, .metrics = 72, .practical = 0.03};
    struct rig *rig = *state;
    size_t found = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        size_t warned = 0;

        pb_features_clear(&rig->features);
        fleet_make(&plan, seed, &rig->features);
        for (size_t m = 6; m < plan.metrics; m += 12) {     /* 30 standard deviations */
            fleet_shift(&rig->features, 3, m, -4.8e11);     /* copy.peak_bytes_per_s */
            fleet_shift(&rig->features, 3, m + 1, -2.4e10); /* link.peak_bytes_per_s */
        }
        rig_score(rig);
        for (size_t m = 6; m < plan.metrics; m += 12)
            warned += rig_at(rig, 3, m)->severity == PB_SEVERITY_WARNING;
        found += warned >= 3;
    }
    assert_int_equal(found, 20);
}

static void test_score__a_fleet_of_one_has_the_peers_of_a_baseline(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 1, 13);
    rig_make(&rig->baseline, 32, 14);
    fleet_shift(&rig->features, 0, DRAM_NS, 200.0);
    rig_score(rig);
    assert_true(rig->scores.groups[0].sufficient);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 33);
    assert_int_equal(rig_at(rig, 0, DRAM_NS)->severity, PB_SEVERITY_CRITICAL);
    assert_true(isnan(rig_at(rig, 0, DRAM_NS)->drift_sigmas)); /* it has no history */
}

static void test_score__a_device_is_not_its_own_peer(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 8, 15);
    rig_make(&rig->baseline, 8, 15);
    rig_score(rig);
    assert_false(rig->scores.groups[0].sufficient);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 8);
}

static void test_score__a_baseline_in_another_unit_is_no_peer(void **state)
{
    struct rig *rig = *state;

    rig_make(&rig->features, 4, 16);
    rig_make(&rig->baseline, 32, 17);
    snprintf(rig->baseline.metrics[DRAM_NS].unit, PB_NAME_LENGTH, "us");
    rig_score(rig);
    assert_int_equal(rig->scores.norms[DRAM_NS].peers, 4);
    assert_int_equal(rig->scores.norms[L2_NS].peers, 36);
}

/* The feature table's devices in new places, each reading a little off. */
static void move_all(struct rig *rig)
{
    struct fleet_random random = {99};

    for (size_t i = 0; i < rig->features.device_count; i++) {
        snprintf(rig->features.devices[i].host, PB_KEY_LENGTH, "m%zu", i);
        for (size_t j = 0; j < METRICS; j++)
            if (rig->features.metrics[j].domain == PB_DOMAIN_NS)
                fleet_shift(&rig->features, i, j, 0.5 * fleet_normal(&random));
    }
}

static void test_drift__a_device_that_moved_is_compared_with_its_history(void **state)
{
    struct rig *rig = *state;
    const struct pb_norm *norm;

    rig_make(&rig->features, 24, 18);
    rig_make(&rig->baseline, 24, 18);
    move_all(rig);
    fleet_shift(&rig->features, 5, DRAM_NS, 15.0); /* 1.7 of what peers differ by */
    rig_score(rig);
    norm = &rig->scores.norms[DRAM_NS];
    assert_int_equal(norm->drift_pairs, 24);
    assert_int_equal(rig_at(rig, 5, DRAM_NS)->severity, PB_SEVERITY_OK);
    assert_int_equal(rig_at(rig, 5, DRAM_NS)->drift_severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(rig_at(rig, 5, DRAM_NS)->drift_shift, 15.0 / 332.0, 0.01);
    for (size_t i = 0; i < 24; i++)
        assert_true(i == 5 || rig_at(rig, i, DRAM_NS)->drift_severity == PB_SEVERITY_OK);
}

static void test_drift__a_fleet_of_one_has_only_its_history(void **state)
{
    struct rig *rig = *state;
    struct pb_features later = {0};

    rig_make(&rig->features, 1, 19);
    rig_make(&rig->baseline, 1, 19);
    rig_make(&later, 1, 19); /* the same device twice in one library */
    assert_int_equal(pb_features_add_device(&rig->baseline, &later.devices[0], &(size_t){0}, NULL),
                     PB_OK);
    pb_features_clear(&later);
    fleet_shift(&rig->features, 0, DRAM_NS, 60.0);
    rig_score(rig);
    assert_false(rig->scores.groups[0].sufficient);
    assert_int_equal(rig_at(rig, 0, DRAM_NS)->drift_severity, PB_SEVERITY_CRITICAL);
    assert_float_equal(rig_at(rig, 0, L2_NS)->drift_sigmas, 0.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG(test_score__few_peers_only_warn_and_say_what_they_could_have_seen),
        RIG(test_score__few_peers_name_the_least_shift_that_warns),
        RIG(test_score__few_peers_do_not_warn_of_what_chance_does),
        RIG(test_score__one_sick_of_eight_does_not_hide_itself),
        RIG(test_score__a_fleet_of_one_has_the_peers_of_a_baseline),
        RIG(test_score__a_device_is_not_its_own_peer),
        RIG(test_score__a_baseline_in_another_unit_is_no_peer),
        RIG(test_drift__a_device_that_moved_is_compared_with_its_history),
        RIG(test_drift__a_fleet_of_one_has_only_its_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
