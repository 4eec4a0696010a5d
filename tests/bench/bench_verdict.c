/*
 * What the scores promise, and what they cost.
 *
 *   bench_verdict alarms [FLEETS [ROW]]  healthy fleets with any CRITICAL score, by size and kind
 *   bench_verdict power [FLEETS [ROW]]   how often one shifted number is found, by size and shift
 *   bench_verdict cost                   seconds to score 10,000 devices of 200 metrics
 *
 * FLEETS is the number of fleets of each cell (1,000), ROW the only one wanted, from 1. The tables
 * of docs/verdict-statistics.md are made by it. No metric has a practical size here, so that the
 * statistics alone must keep the rate.
 *
 * Shifts are in standard deviations of the healthy devices, put on one continuous metric of one
 * device, with nothing else wrong.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "verdict/fleet.h"

enum { METRICS = 60, SIZES = 5, SHIFTED_METRIC = 4 /* of kind l2.latency_ns */ };

#define SHIFTED_SPREAD 2.6 /* ns: its standard deviation */

struct kind {
    const char *name;
    size_t devices_per_node;
    double node_share, device_share, freedom;
};

static const struct kind kinds[] = {
    {"independent", 4, 0.0, 0.0, 0.0},        {"correlated metrics", 4, 0.0, 0.6, 0.0},
    {"two factors a node", 4, 0.4, 0.3, 0.0}, {"eight a node", 8, 0.5, 0.2, 0.0},
    {"heavy tails (t, 8)", 4, 0.0, 0.0, 8.0}, {"nodes and tails (t, 8)", 4, 0.3, 0.2, 8.0},
};

static const size_t sizes[] = {4, 8, 16, 64, 256};

static struct fleet_plan plan_of(const struct kind *kind, size_t devices)
{
    struct fleet_plan plan = {.devices = devices,
                              .devices_per_node = kind->devices_per_node,
                              .metrics = METRICS,
                              .node_share = kind->node_share,
                              .device_share = kind->device_share,
                              .freedom = kind->freedom};

    return plan;
}

/* The worst severity of a fleet with one number shifted (by 0: none). */
static enum pb_severity score_fleet(const struct fleet_plan *plan, unsigned long seed, double shift,
                                    enum pb_severity *shifted_out)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_features features = {0};
    struct pb_scores scores;
    enum pb_severity worst;

    fleet_make(plan, seed, &features);
    if (shift != 0.0)
        fleet_shift(&features, plan->devices / 2, SHIFTED_METRIC, shift * SHIFTED_SPREAD);
    if (pb_score(&features, NULL, &options, &scores, NULL) != PB_OK) {
        fprintf(stderr, "bench_verdict: no memory\n");
        exit(EXIT_FAILURE);
    }
    worst = fleet_count(&scores, PB_SEVERITY_CRITICAL) > 0  ? PB_SEVERITY_CRITICAL
            : fleet_count(&scores, PB_SEVERITY_WARNING) > 0 ? PB_SEVERITY_WARNING
                                                            : PB_SEVERITY_OK;
    *shifted_out = scores.cells[plan->devices / 2 * METRICS + SHIFTED_METRIC].severity;
    pb_scores_clear(&scores);
    pb_features_clear(&features);
    return worst;
}

static bool is_wanted(unsigned long wanted, size_t row)
{
    return wanted == 0 || wanted == row + 1;
}

static void alarms(unsigned long fleets, unsigned long row)
{
    printf("%-24s", "CRITICAL (any), %");
    for (size_t i = 0; i < SIZES; i++)
        printf("   N = %-8zu", sizes[i]);
    printf("\n");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!is_wanted(row, i))
            continue;
        printf("%-24s", kinds[i].name);
        for (size_t j = 0; j < SIZES; j++) {
            struct fleet_plan plan = plan_of(&kinds[i], sizes[j]);
            unsigned long critical = 0, any = 0;

            for (unsigned long seed = 1; seed <= fleets; seed++) {
                enum pb_severity shifted, worst = score_fleet(&plan, seed, 0.0, &shifted);

                critical += worst == PB_SEVERITY_CRITICAL ? 1 : 0;
                any += worst >= PB_SEVERITY_WARNING ? 1 : 0;
            }
            printf("   %.1f (%-4.1f) ", 100.0 * (double)critical / (double)fleets,
                   100.0 * (double)any / (double)fleets);
            fflush(stdout);
        }
        printf("\n");
    }
}

static void power(unsigned long fleets, unsigned long row)
{
    static const double shifts[] = {4, 6, 8, 12, 24};

    printf("%-10s", "found, %");
    for (size_t j = 0; j < sizeof(shifts) / sizeof(shifts[0]); j++)
        printf("  %4.0f sd    ", shifts[j]);
    printf("\n");
    for (size_t i = 0; i < SIZES; i++) {
        if (!is_wanted(row, i))
            continue;
        printf("N = %-6zu", sizes[i]);
        for (size_t j = 0; j < sizeof(shifts) / sizeof(shifts[0]); j++) {
            struct fleet_plan plan = plan_of(&kinds[1], sizes[i]);
            unsigned long critical = 0, found = 0;

            for (unsigned long seed = 1; seed <= fleets; seed++) {
                enum pb_severity shifted;

                score_fleet(&plan, seed, shifts[j], &shifted);
                critical += shifted == PB_SEVERITY_CRITICAL ? 1 : 0;
                found += shifted >= PB_SEVERITY_WARNING ? 1 : 0;
            }
            printf("  %3.0f (%3.0f) ", 100.0 * (double)critical / (double)fleets,
                   100.0 * (double)found / (double)fleets);
            fflush(stdout);
        }
        printf("\n");
    }
}

static void cost(void)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct fleet_plan plan = plan_of(&kinds[1], 10000);
    struct pb_features features = {0};
    struct pb_scores scores;
    double start = pb_time_monotonic_seconds(), made;

    plan.metrics = 200;
    fleet_make(&plan, 1, &features);
    made = pb_time_monotonic_seconds();
    printf("%zu devices, %zu metrics: %.2f s to fill the sheet\n", plan.devices, plan.metrics,
           made - start);
    if (pb_score(&features, NULL, &options, &scores, NULL) == PB_OK)
        printf("%.2f s to score it\n", pb_time_monotonic_seconds() - made);
    pb_scores_clear(&scores);
    pb_features_clear(&features);
}

int main(int argc, char **argv)
{
    unsigned long fleets = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    unsigned long row = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

    if (argc > 1 && strcmp(argv[1], "alarms") == 0)
        alarms(fleets, row);
    else if (argc > 1 && strcmp(argv[1], "power") == 0)
        power(fleets, row);
    else if (argc > 1 && strcmp(argv[1], "cost") == 0)
        cost();
    else {
        fprintf(stderr,
                "usage: bench_verdict alarms [FLEETS [ROW]] | power [FLEETS [ROW]] | cost\n");
        return 2;
    }
    return EXIT_SUCCESS;
}
