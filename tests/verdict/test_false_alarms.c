/*
 * The rates that the scores promise, over simulated fleets: few enough for every build. The whole
 * acceptance (1,000 fleets of each size) is bench_verdict's; docs/verdicts.md has its figures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "verdict/fleet.h"

enum { METRICS = 48, SHIFTED = 4, NAIVE_METRICS = 30, NAIVE_DEVICES = 8 };

#define SHIFTED_SPREAD 2.6 /* ns: one standard deviation of the shifted metric */

/* Scores one fleet, with one number shifted by so many standard deviations. */
static enum pb_severity worst_of(const struct fleet_plan *plan, uint64_t seed, double shift,
                                 enum pb_severity *shifted_out)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_features features = {0};
    struct pb_scores scores;
    enum pb_severity worst = PB_SEVERITY_OK;

    fleet_make(plan, seed, &features);
    fleet_shift(&features, plan->devices / 2, SHIFTED, shift * SHIFTED_SPREAD);
    assert_int_equal(pb_score(&features, NULL, &options, &scores, NULL), PB_OK);
    for (size_t i = 0; i < plan->devices * plan->metrics; i++)
        worst = scores.cells[i].severity > worst ? scores.cells[i].severity : worst;
    *shifted_out = scores.cells[plan->devices / 2 * plan->metrics + SHIFTED].severity;
    pb_scores_clear(&scores);
    pb_features_clear(&features);
    return worst;
}

/* Healthy fleets with a CRITICAL score. */
static unsigned alarms(const struct fleet_plan *plan, unsigned fleets)
{
    enum pb_severity shifted;
    unsigned count = 0;

    for (unsigned i = 0; i < fleets; i++)
        count += worst_of(plan, 1000 + i, 0.0, &shifted) == PB_SEVERITY_CRITICAL ? 1 : 0;
    return count;
}

/* Of `fleets` at a rate of 1%, at most so many but for one time in a thousand. */
static void check(struct fleet_plan plan, unsigned fleets, unsigned most)
{
    plan.metrics = METRICS;
    assert_in_range(alarms(&plan, fleets), 0, most);
}

static void test_alarms__independent_devices(void **state)
{
    (void)state;
    check((struct fleet_plan){.devices = 8, .devices_per_node = 4}, 100, 0);
    check((struct fleet_plan){.devices = 16, .devices_per_node = 4}, 200, 8);
    check((struct fleet_plan){.devices = 64, .devices_per_node = 4}, 100, 5);
    check((struct fleet_plan){.devices = 256, .devices_per_node = 4}, 20, 2);
}

static void test_alarms__metrics_that_move_together(void **state)
{
    (void)state;
    check((struct fleet_plan){.devices = 16, .devices_per_node = 4, .device_share = 0.6}, 200, 8);
    check((struct fleet_plan){.devices = 64, .devices_per_node = 4, .device_share = 0.6}, 100, 5);
}

static void test_alarms__devices_of_a_node_that_resemble_each_other(void **state)
{
    struct fleet_plan plan = {
        .devices = 16, .devices_per_node = 4, .node_share = 0.4, .device_share = 0.3};

    (void)state;
    check(plan, 200, 8);
    plan.devices = 64;
    check(plan, 100, 5);
}

static void test_alarms__heavy_tails(void **state)
{
    struct fleet_plan plan = {.devices = 16, .devices_per_node = 4, .freedom = 8.0};

    (void)state;
    check(plan, 200, 8);
    plan.devices = 64;
    check(plan, 100, 5);
}

/* The hardest: what a number is made of has heavy tails, its node's part too. */
static void test_alarms__heavy_tails_of_nodes_and_devices(void **state)
{
    struct fleet_plan plan = {.devices = 64,
                              .devices_per_node = 4,
                              .node_share = 0.3,
                              .device_share = 0.2,
                              .freedom = 8.0};

    (void)state;
    check(plan, 100, 5);
    plan.devices = 256;
    check(plan, 20, 2);
}

/* Four devices of 32 that deviate alike: their node's, not heavy tails. */
static void test_power__a_whole_node_is_no_heavy_tail(void **state)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct fleet_plan plan = {.devices = 32, .devices_per_node = 4, .metrics = METRICS};
    struct pb_features features = {0};
    struct pb_scores scores;
    size_t found = 0;

    (void)state;
    fleet_make(&plan, 77, &features);
    for (size_t device = 12; device < 16; device++)
        for (size_t metric = SHIFTED; metric < METRICS; metric += 24)
            fleet_shift(&features, device, metric, 9.0 * SHIFTED_SPREAD);
    assert_int_equal(pb_score(&features, NULL, &options, &scores, NULL), PB_OK);
    for (size_t device = 12; device < 16; device++)
        for (size_t metric = SHIFTED; metric < METRICS; metric += 24)
            found += scores.cells[device * METRICS + metric].severity >= PB_SEVERITY_WARNING;
    assert_int_equal(found, 8);
    pb_scores_clear(&scores);
    pb_features_clear(&features);
}

static void test_power__eight_sigmas_are_found_among_64(void **state)
{
    struct fleet_plan plan = {.devices = 64, .devices_per_node = 4, .metrics = METRICS};
    unsigned found = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        enum pb_severity shifted;

        worst_of(&plan, 5000 + i, 8.0, &shifted);
        found += shifted >= PB_SEVERITY_WARNING ? 1 : 0;
    }
    assert_in_range(found, 93, 100);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Does a device of eight fall below -2 modified z-scores (0.6745 (x - median) / MAD)? */
static bool naive_rule_fires(struct fleet_random *random)
{
    double values[NAIVE_DEVICES], sorted[NAIVE_DEVICES], distances[NAIVE_DEVICES], median, mad;

    for (size_t i = 0; i < NAIVE_DEVICES; i++)
        sorted[i] = values[i] = fleet_normal(random);
    qsort(sorted, NAIVE_DEVICES, sizeof(sorted[0]), compare);
    median = (sorted[NAIVE_DEVICES / 2 - 1] + sorted[NAIVE_DEVICES / 2]) / 2.0;
    for (size_t i = 0; i < NAIVE_DEVICES; i++)
        distances[i] = fabs(values[i] - median);
    qsort(distances, NAIVE_DEVICES, sizeof(distances[0]), compare);
    mad = (distances[NAIVE_DEVICES / 2 - 1] + distances[NAIVE_DEVICES / 2]) / 2.0;
    return 0.6745 * (values[0] - median) / mad < -2.0;
}

/* A usual rule where the scores keep quiet: it flags 76% of all healthy devices. */
static void test_naive__a_modified_z_score_flags_most_healthy_devices(void **state)
{
    struct fleet_random random = {1};
    unsigned flagged = 0;

    (void)state;
    for (unsigned device = 0; device < 2000; device++) {
        bool fires = false;

        for (unsigned metric = 0; metric < NAIVE_METRICS; metric++)
            fires = naive_rule_fires(&random) || fires;
        flagged += fires ? 1 : 0;
    }
    assert_in_range(flagged, 2000 * 73 / 100, 2000 * 79 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alarms__independent_devices),
        cmocka_unit_test(test_alarms__metrics_that_move_together),
        cmocka_unit_test(test_alarms__devices_of_a_node_that_resemble_each_other),
        cmocka_unit_test(test_alarms__heavy_tails),
        cmocka_unit_test(test_alarms__heavy_tails_of_nodes_and_devices),
        cmocka_unit_test(test_power__a_whole_node_is_no_heavy_tail),
        cmocka_unit_test(test_power__eight_sigmas_are_found_among_64),
        cmocka_unit_test(test_naive__a_modified_z_score_flags_most_healthy_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
