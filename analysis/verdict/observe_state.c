/*
 * What NVML tells: levels, their steps over the run, and how often each throttle reason was given.
 *
 * Counters of errors are compared by their step over the run and not by their history. Reasons are
 * a bit mask: every bit is a metric of its own. Bits that a healthy device never shows are counts;
 * the power cap and locked clocks, which some owners set on purpose, are shares of the looks that
 * are compared with the peers. The lowest of processes and of used memory over the run counts:
 * other ranks of the node open contexts here for a moment.
 *
 * Source: facts section 4.
 */
#include <math.h>
#include <string.h>

#include "analysis/verdict/observe_parts.h"

/* One column of the state, as numbers; NaN: not known. */
typedef double (*column)(const struct pb_state *state);

#define LEVEL(name)                                                                                \
    static double get_##name(const struct pb_state *state)                                         \
    {                                                                                              \
        return state->name;                                                                        \
    }
#define COUNTER(name)                                                                              \
    static double get_##name(const struct pb_state *state)                                         \
    {                                                                                              \
        return state->name >= 0 ? (double)state->name : NAN;                                       \
    }

LEVEL(sm_clock_mhz)
LEVEL(memory_clock_mhz)
LEVEL(power_w)
LEVEL(temperature_c)
LEVEL(memory_temperature_c)
COUNTER(ecc_corrected)
COUNTER(ecc_uncorrected)
COUNTER(remapped_corrected)
COUNTER(remapped_uncorrected)
COUNTER(remap_pending)
COUNTER(remap_failed)
COUNTER(retired_corrected)
COUNTER(retired_uncorrected)
COUNTER(retirement_pending)
COUNTER(pcie_generation)
COUNTER(pcie_width)
COUNTER(pcie_generation_max)
COUNTER(pcie_width_max)
COUNTER(pcie_replays)
COUNTER(nvlinks_up)
COUNTER(nvlink_errors)
COUNTER(violation_power_ns)
COUNTER(violation_thermal_ns)
COUNTER(memory_used_bytes)
COUNTER(processes)

/* What is made of a column's known values, in time order. */
enum shape {
    SHAPE_LEAST,
    SHAPE_MOST,
    SHAPE_LAST,
    SHAPE_STEP,  /* last less first; never below 0: a driver that was reloaded counts anew */
    SHAPE_RISE,  /* most less first */
    SHAPE_FALL,  /* most less least */
    SHAPE_FIRST, /* what stood there before the run */
};

static const struct row {
    const char *name;
    column get;
    enum shape shape;
    double scale; /* of the value, to the unit */
    struct pb_metric_kind kind;
} rows[] = {
    {"power_most",
     get_power_w,
     SHAPE_MOST,
     1.0,
     {"W", PB_PART_POWER, PB_DOMAIN_STATE, PB_BETTER_NEITHER, 1.0, 150.0}},
    {"temperature_most",
     get_temperature_c,
     SHAPE_MOST,
     1.0,
     {"degC", PB_PART_THERMAL, PB_DOMAIN_STATE, PB_BETTER_LOWER, 1.0, 15.0}},
    {"temperature_rise",
     get_temperature_c,
     SHAPE_RISE,
     1.0,
     {"degC", PB_PART_THERMAL, PB_DOMAIN_STATE, PB_BETTER_LOWER, 1.0, 15.0}},
    {"memory_temperature_most",
     get_memory_temperature_c,
     SHAPE_MOST,
     1.0,
     {"degC", PB_PART_THERMAL, PB_DOMAIN_STATE, PB_BETTER_LOWER, 1.0, 15.0}},
    {"ecc_corrected_step",
     get_ecc_corrected,
     SHAPE_STEP,
     1.0,
     {"error", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 10.0}},
    {"ecc_uncorrected_step",
     get_ecc_uncorrected,
     SHAPE_STEP,
     1.0,
     {"error", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"remapped_step",
     get_remapped_corrected,
     SHAPE_STEP,
     1.0,
     {"row", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"remapped_uncorrected_step",
     get_remapped_uncorrected,
     SHAPE_STEP,
     1.0,
     {"row", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"remap_pending",
     get_remap_pending,
     SHAPE_LAST,
     1.0,
     {"row", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"remap_failed",
     get_remap_failed,
     SHAPE_LAST,
     1.0,
     {"row", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"retired_step",
     get_retired_corrected,
     SHAPE_STEP,
     1.0,
     {"page", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"retired_uncorrected_step",
     get_retired_uncorrected,
     SHAPE_STEP,
     1.0,
     {"page", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"retirement_pending",
     get_retirement_pending,
     SHAPE_LAST,
     1.0,
     {"page", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    /* Counters of the device's whole life: a finding of the past, beside what the run has added. */
    {"ecc_uncorrected_before",
     get_ecc_uncorrected,
     SHAPE_FIRST,
     1.0,
     {"error", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"remapped_before",
     get_remapped_corrected,
     SHAPE_FIRST,
     1.0,
     {"row", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"remapped_uncorrected_before",
     get_remapped_uncorrected,
     SHAPE_FIRST,
     1.0,
     {"row", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"retired_before",
     get_retired_corrected,
     SHAPE_FIRST,
     1.0,
     {"page", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"retired_uncorrected_before",
     get_retired_uncorrected,
     SHAPE_FIRST,
     1.0,
     {"page", PB_PART_ECC, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    /* The best of the run: an idle link rests at a lower generation. */
    {"pcie_generation",
     get_pcie_generation,
     SHAPE_MOST,
     1.0,
     {"generation", PB_PART_HOST_LINK, PB_DOMAIN_SIZE, PB_BETTER_HIGHER, 1.0, 0.05}},
    {"pcie_width",
     get_pcie_width,
     SHAPE_MOST,
     1.0,
     {"lane", PB_PART_HOST_LINK, PB_DOMAIN_SIZE, PB_BETTER_HIGHER, 1.0, 0.05}},
    {"pcie_replay_step",
     get_pcie_replays,
     SHAPE_STEP,
     1.0,
     {"replay", PB_PART_HOST_LINK, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 100.0}},
    {"nvlinks_up",
     get_nvlinks_up,
     SHAPE_LEAST,
     1.0,
     {"link", PB_PART_PEER_LINK, PB_DOMAIN_SIZE, PB_BETTER_HIGHER, 1.0, 0.03}},
    {"nvlinks_lost",
     get_nvlinks_up,
     SHAPE_FALL,
     1.0,
     {"link", PB_PART_PEER_LINK, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"nvlink_error_step",
     get_nvlink_errors,
     SHAPE_STEP,
     1.0,
     {"error", PB_PART_PEER_LINK, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 10.0}},
    {"slowed_by_power_ms",
     get_violation_power_ns,
     SHAPE_STEP,
     1e-6,
     {"ms", PB_PART_POWER, PB_DOMAIN_STATE, PB_BETTER_LOWER, 1.0, 1000.0}},
    {"slowed_by_heat_ms",
     get_violation_thermal_ns,
     SHAPE_STEP,
     1e-6,
     {"ms", PB_PART_THERMAL, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 20.0}},
    {"memory_used_least",
     get_memory_used_bytes,
     SHAPE_LEAST,
     1.0,
     {"byte", PB_PART_COMPANY, PB_DOMAIN_STATE, PB_BETTER_LOWER, 0.0, 4e9}},
};

static const struct reason {
    const char *name;
    int64_t bit;
    struct pb_metric_kind kind;
} reasons[] = {
    {"locked_clocks",
     0x2,
     {"share", PB_PART_CLOCK, PB_DOMAIN_FRACTION, PB_BETTER_NEITHER, 0.0, 0.2}},
    {"power_cap", 0x4, {"share", PB_PART_POWER, PB_DOMAIN_FRACTION, PB_BETTER_LOWER, 0.0, 0.3}},
    {"slowdown", 0x8, {"look", PB_PART_THERMAL, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"thermal_software",
     0x20,
     {"look", PB_PART_THERMAL, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"thermal_hardware",
     0x40,
     {"look", PB_PART_THERMAL, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    {"power_brake", 0x80, {"look", PB_PART_POWER, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
};

/* First, last, least and most of the known values of a column. */
struct range {
    double first, last, least, most;
};

static struct range range_of(const struct pb_witness *witness, column get)
{
    struct range range = {NAN, NAN, NAN, NAN};

    for (size_t i = 0; i < witness->state_count; i++) {
        double value = get(&witness->states[i]);

        if (!isfinite(value))
            continue;
        if (isnan(range.first))
            range.first = range.least = range.most = value;
        range.last = value;
        range.least = fmin(range.least, value);
        range.most = fmax(range.most, value);
    }
    return range;
}

static double shape_of(const struct range *range, enum shape shape)
{
    switch (shape) {
    case SHAPE_LEAST:
        return range->least;
    case SHAPE_MOST:
        return range->most;
    case SHAPE_STEP:
        return isnan(range->last) ? NAN : fmax(range->last - range->first, 0.0);
    case SHAPE_RISE:
        return range->most - range->first;
    case SHAPE_FALL:
        return range->most - range->least;
    case SHAPE_FIRST:
        return range->first;
    default:
        return range->last;
    }
}

static void put_reasons(struct pb_observer *observer)
{
    const struct pb_witness *witness = observer->witness;

    for (size_t k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++) {
        double seen = 0.0, looks = 0.0;

        for (size_t i = 0; i < witness->state_count; i++) {
            int64_t mask = witness->states[i].throttle_reasons;

            looks += mask >= 0;
            seen += mask >= 0 && (mask & reasons[k].bit) != 0;
        }
        if (looks > 0.0)
            pb_observer_put(
                observer, &reasons[k].kind, "", "throttle", reasons[k].name,
                pb_cell_plain(reasons[k].kind.domain == PB_DOMAIN_COUNT ? seen : seen / looks));
    }
}

/* Clocks against what the device could do: under load an idle device's rest does not count. */
static void put_clocks(struct pb_observer *observer)
{
    static const struct pb_metric_kind kind = {"ratio",          PB_PART_CLOCK, PB_DOMAIN_FRACTION,
                                               PB_BETTER_HIGHER, 0.0,           0.02};
    const struct pb_device_info *info = &observer->witness->subject->info;
    struct range sm = range_of(observer->witness, get_sm_clock_mhz);
    struct range memory = range_of(observer->witness, get_memory_clock_mhz);

    if (info->sm_clock_max_mhz > 0.0) {
        pb_observer_put(observer, &kind, "", "nvml", "sm_clock_most_over_max",
                        pb_cell_plain(sm.most / info->sm_clock_max_mhz));
        pb_observer_put(observer, &kind, "", "nvml", "sm_clock_last_over_max",
                        pb_cell_plain(sm.last / info->sm_clock_max_mhz));
    }
    if (info->memory_clock_max_mhz > 0.0)
        pb_observer_put(observer, &kind, "", "nvml", "memory_clock_over_max",
                        pb_cell_plain(memory.most / info->memory_clock_max_mhz));
}

/* Of what the device and its slot could have at most: the best of the run, as a link that idles may
 * rest at less. */
static void put_link_shortfalls(struct pb_observer *observer)
{
    static const struct {
        const char *name;
        column get, get_max;
        struct pb_metric_kind kind;
    } links[] = {
        {"pcie_width_missing",
         get_pcie_width,
         get_pcie_width_max,
         {"lane", PB_PART_HOST_LINK, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
        {"pcie_generation_missing",
         get_pcie_generation,
         get_pcie_generation_max,
         {"generation", PB_PART_HOST_LINK, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0}},
    };

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        struct range now = range_of(observer->witness, links[i].get);
        struct range possible = range_of(observer->witness, links[i].get_max);
        double missing =
            isnan(now.most) || isnan(possible.most) ? NAN : fmax(possible.most - now.most, 0.0);

        pb_observer_put(observer, &links[i].kind, "", "nvml", links[i].name,
                        pb_cell_plain(missing));
    }
}

static void put_company(struct pb_observer *observer)
{
    static const struct pb_metric_kind kind = {
        "process", PB_PART_COMPANY, PB_DOMAIN_COUNT, PB_BETTER_LOWER, 1.0, 0.0};
    struct range range = range_of(observer->witness, get_processes);

    pb_observer_put(observer, &kind, "", "nvml", "other_processes",
                    pb_cell_plain(range.least > 1.0 ? range.least - 1.0 : 0.0 * range.least));
}

static void put_memory(struct pb_observer *observer)
{
    static const struct pb_metric_kind kind = {
        "byte", PB_PART_CONFIGURATION, PB_DOMAIN_SIZE, PB_BETTER_NEITHER, 0.0, 0.01};
    uint64_t bytes = observer->witness->subject->info.memory_bytes;

    if (bytes > 0)
        pb_observer_put(observer, &kind, "", "device", "memory_bytes",
                        pb_cell_plain((double)bytes));
}

void pb_observe_states(struct pb_observer *observer)
{
    put_memory(observer);
    if (observer->witness->state_count == 0)
        return;
    observer->sheet->subjects[observer->subject].measured_seconds =
        observer->witness->states[0].unix_seconds;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct range range = range_of(observer->witness, rows[i].get);

        pb_observer_put(observer, &rows[i].kind, "", "nvml", rows[i].name,
                        pb_cell_plain(rows[i].scale * shape_of(&range, rows[i].shape)));
    }
    put_link_shortfalls(observer);
    put_reasons(observer);
    put_clocks(observer);
    put_company(observer);
}
