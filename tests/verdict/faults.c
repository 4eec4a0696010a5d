/* Injected faults and what is to be said of them; see faults.h. */
#include "verdict/faults.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const struct fault_kind fault_kinds[FAULT_KINDS] = {
    {"clock",
     {"clock=0.96", "clock=0.8"},
     "clock=0.985",
     {"locked_clocks", "slow_clock"},
     PB_LEVEL_DEVICE},
    {"dram_bandwidth",
     {"dram_bandwidth=0.95", "dram_bandwidth=0.8"},
     "dram_bandwidth=0.965",
     {"hbm"},
     PB_LEVEL_DEVICE},
    {"dram_latency",
     {"dram_latency=1.05", "dram_latency=1.4"},
     "dram_latency=1.025",
     {"dram_latency"},
     PB_LEVEL_DEVICE},
    {"l2_latency",
     {"l2_latency=1.04", "l2_latency=1.3"},
     "l2_latency=1.025",
     {"l2_latency"},
     PB_LEVEL_DEVICE},
    {"l1_size", {"l1_size=0.9", "l1_size=0.5"}, "l1_size=0.95", {"l1_defect"}, PB_LEVEL_DEVICE},
    {"sm_slow", {"sm_slow=3:1.04", "sm_slow=0:1.5"}, "sm_slow=3:1.025", {"slow_sm"}, PB_LEVEL_SM},
    {"tail", {"tail=0.003:400", "tail=0.02:2000"}, "tail=0.001:300", {"tail"}, PB_LEVEL_ACCESS},
    {"throttle",
     {"throttle=0.9@0.3", "throttle=0.6@0.3"},
     "throttle=0.98@0.5",
     {"thermal"},
     PB_LEVEL_DEVICE},
    {"pcie_width",
     {"pcie_width=8", "pcie_width=4"},
     "pcie_width=8",
     {"pcie_link"},
     PB_LEVEL_DEVICE},
    {"bitflip", {"bitflip=1e-8", "bitflip=1e-6"}, "bitflip=1e-9", {"integrity"}, PB_LEVEL_DEVICE},
    {"hang",
     {"hang@shared_latency", "hang@dram_latency"},
     "hang@clock_overhead",
     {"hung"},
     PB_LEVEL_DEVICE},
    {"crash",
     {"crash@bank_conflict", "crash@l2_line"},
     "crash@clock_overhead",
     {"crashed"},
     PB_LEVEL_DEVICE},
    {"lost",
     {"lost@memory_integrity", "lost@memory_integrity"},
     "lost@clock_overhead",
     {"off_the_bus"},
     PB_LEVEL_DEVICE},
    {"absent", {"absent", "absent"}, "absent", {"absent"}, PB_LEVEL_DEVICE},
};

/* What the fleet could not have shown accuses nobody. */
static bool accuses(const struct pb_finding *finding)
{
    return strcmp(finding->cause, "insufficient_sensitivity") != 0;
}

static bool names(const struct pb_finding *finding, const char *key)
{
    return strcmp(finding->device, key) == 0 || strcmp(finding->place, key) == 0;
}

enum fault_verdict fault_verdict_at(const struct pb_findings *findings,
                                    const struct fault_kind *kind, enum pb_level level,
                                    const char *place)
{
    enum fault_verdict best = FAULT_MISSED;

    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];

        if (!names(finding, place))
            continue;
        if (best == FAULT_MISSED)
            best = FAULT_FOUND;
        for (size_t c = 0; c < FAULT_CAUSES && kind->causes[c] != NULL; c++)
            if (strcmp(finding->cause, kind->causes[c]) == 0 && finding->level == level)
                best = FAULT_RIGHT;
    }
    return best;
}

enum fault_verdict fault_verdict_of(const struct pb_findings *findings,
                                    const struct fault_kind *kind, const char *key)
{
    return fault_verdict_at(findings, kind, kind->level, key);
}

size_t fault_blamed(const struct pb_findings *findings, const char *const *sick, size_t count)
{
    size_t blamed = 0;

    for (size_t i = 0; i < findings->count; i++) {
        bool is_sick = false;

        for (size_t k = 0; k < count; k++)
            is_sick |= names(&findings->items[i], sick[k]);
        blamed += !is_sick && accuses(&findings->items[i]);
    }
    return blamed;
}

void fault_print(const char *title, const struct pb_findings *findings)
{
    printf("  %s\n", title);
    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];

        printf("    %-8s %-10s %-18s %-16s %3zu  %s: %s\n", pb_severity_name(finding->severity),
               pb_level_name(finding->level), finding->place, finding->cause,
               (size_t)finding->metrics, finding->summary, finding->evidence);
    }
}
