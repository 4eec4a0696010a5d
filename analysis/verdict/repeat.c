/* How well numbers repeat, by name; see repeat.h. */
#include "analysis/verdict/repeat.h"

#include <fnmatch.h>
#include <math.h>
#include <stddef.h>

/* CRITICAL stands so many times as far out as WARNING. */
static const double critical_factor = 2.0;

/* What is not here repeats within its practical size. The first row that fits is taken. */
static const struct row {
    const char *name;
    double warning; /* 0: the practical size */
    bool only_warns, same_tests;
} rows[] = {
    /*
     * Timed by the host, and its business: 1 is half or double. From pageable memory one of four
     * H200s, all at work, moved 6.7 GB/s in one run and 15.1 in another.
     */
    {"host_latency.*", 1.0, true, false},
    {"host_link.*_pageable", 5.0, true, false},
    {"clock.sm_mhz", 0.0125, false, false}, /* a step of 15 MHz is a healthy device's own choice */
    {"*.miss_latency_cycles", 0.03, false, false},
    {"*.latency_bound", 0.05, false, false},
    {"tlb_l1.penalty_cycles", 0.2, false, false}, /* a difference of two latencies */
    {"sm.l2_*slowest", 0.03, false, false},
    /* Which pages a run is given decides which slices and banks answer. */
    {"l2_hits.slowest_over_fastest_test", 0.15, false, true},
    {"l2_hits.tail_fraction_1_125x", 0.05, false, true},
    {"l2_hits.*", 0.0, false, true},
    {"dram_*.tail_fraction_1_125x", 0.015, false, true},
    {"dram_*.tail_fraction_1_5x", 0.01, false, true},
    {"dram_*.tail_fraction_3x", 0.001, false, true},
    {"dram_near.*", 0.0, false, true},
    {"dram_far.*", 0.0, false, true},
    {"l1_hits.*", 0.0, false, true},
    {"shared_hits.*", 0.0, false, true},
    /* What the load decides. */
    {"clock.lowest_over_highest", 0.0, false, true},
    {"nvml.sm_clock_*", 0.0, false, true},
    {"nvml.power_max", 0.0, false, true},
    {"nvml.*temperature_*", 0.0, false, true},
    {"nvml.*_violation_ms", 0.0, false, true},
    {"throttle.*", 0.0, false, true},
};

struct pb_repeat pb_repeat_of(const struct pb_metric *metric)
{
    struct row row = {NULL, 0.0, false, false};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && row.name == NULL; i++)
        if (fnmatch(rows[i].name, metric->name, 0) == 0)
            row = rows[i];
    row.warning = fmax(row.warning, metric->practical);
    return (struct pb_repeat){
        row.warning, row.only_warns ? INFINITY : critical_factor * row.warning, row.same_tests};
}

bool pb_repeat_compares(const struct pb_repeat *repeat, const struct pb_subject *a,
                        const struct pb_subject *b)
{
    return !repeat->same_tests || a->tests == b->tests;
}

double pb_repeat_size(const struct pb_metric *metric, double size, double past, bool upwards)
{
    if (metric->domain == PB_DOMAIN_FRACTION || metric->domain == PB_DOMAIN_COUNT ||
        metric->domain == PB_DOMAIN_STATE || isinf(size))
        return size;
    return fabs(past) * (upwards ? size : size / (1.0 + size));
}
