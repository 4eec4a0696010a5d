/*
 * Inferred parameters as metrics: those that repeat, numbers and every number of a short list.
 *
 * The unit tells the kind of number, the memory tells the part. What the inference itself is not
 * sure of is left out: a value that may be another next time would be an outlier by itself.
 * Intervals of rates and sizes become noise; those of latencies do not, since they tell how far the
 * accesses lie apart (the slices of L2, the banks of DRAM) and not how well their middle repeats.
 *
 * One number is added: how much longer DRAM takes than L2, in ns. DRAM has its own clock, so this
 * stays the same when the SM's clock changes, while DRAM's cycles fall and its ns rise (facts 4).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/inference.h"
#include "analysis/verdict/observe_parts.h"

enum { LISTED_MAX = 8 };

static const double least_confidence = 0.6;

static const struct {
    const char *memory;
    enum pb_part part;
} parts[] = {
    {"clock", PB_PART_CLOCK},
    {"l1", PB_PART_L1},
    {"l2", PB_PART_L2},
    {"l2_near", PB_PART_L2},
    {"l2_far", PB_PART_L2},
    {"readonly", PB_PART_L1},
    {"texture", PB_PART_TEXTURE},
    {"constant_l1", PB_PART_CONSTANT},
    {"constant_l15", PB_PART_CONSTANT},
    {"dram", PB_PART_DRAM},
    {"shared", PB_PART_SHARED},
    {"tlb_l1", PB_PART_TLB},
    {"tlb_l2", PB_PART_TLB},
    {"tlb_l3", PB_PART_TLB},
    {"mshr", PB_PART_SM},
    {"host_link", PB_PART_HOST_LINK},
    {"atomic", PB_PART_L2},
    {"bulk_copy", PB_PART_L2},
    {"cluster_shared", PB_PART_SHARED},
};

/* By unit. Structure has steps, so its practical shift is small only against halves and doubles. */
static const struct pb_metric_kind kinds[] = {
    {"cycle", PB_PART_SM, PB_DOMAIN_CYCLES, PB_BETTER_LOWER, 1.0, 0.02},
    {"ns", PB_PART_SM, PB_DOMAIN_NS, PB_BETTER_LOWER, 0.0, 0.02},
    {"byte/s", PB_PART_SM, PB_DOMAIN_RATE, PB_BETTER_HIGHER, 0.0, 0.03},
    {"byte/cycle", PB_PART_SM, PB_DOMAIN_RATE, PB_BETTER_HIGHER, 0.0, 0.03},
    {"1/cycle", PB_PART_SM, PB_DOMAIN_RATE, PB_BETTER_HIGHER, 0.0, 0.05},
    {"share", PB_PART_SM, PB_DOMAIN_FRACTION, PB_BETTER_HIGHER, 0.0, 0.10},
    {"MHz", PB_PART_CLOCK, PB_DOMAIN_RATE, PB_BETTER_HIGHER, 0.0, 0.01},
    {"byte", PB_PART_SM, PB_DOMAIN_SIZE, PB_BETTER_NEITHER, 32.0, 0.04},
    {"bank", PB_PART_SM, PB_DOMAIN_SIZE, PB_BETTER_NEITHER, 1.0, 0.04},
    {"", PB_PART_SM, PB_DOMAIN_SIZE, PB_BETTER_NEITHER, 1.0, 0.04},
};

/*
 * What repeats from run to run on a healthy device, so that a difference means something. Others do
 * not (where on a plateau a peak lies, which half of L2 a page falls in, how MSHRs bend a curve),
 * or differ legitimately (floor-sweeping). A new parameter joins when two runs agree on it.
 */
static const char *const repeatable[] = {
    "size_bytes",
    "carveout_size_bytes",
    "line_bytes",
    "sector_bytes",
    "fetch_bytes",
    "prefetch_bytes",
    "set_count",
    "latency_cycles",
    "latency_ns",
    "miss_latency_cycles",
    "overhead_cycles",
    "sm_mhz",
    "peak_bytes_per_s",
    "read_peak_bytes_per_s",
    "write_peak_bytes_per_s",
    "peak_bytes_per_cycle_per_sm",
    "banks",
    "bank_bytes",
    "conflict_cycles",
    "page_bytes",
    "entry_count",
    "entry_span_bytes",
    "reach_bytes",
    "penalty_cycles",
    "read_bytes_per_cycle_per_sm",
    "loaded_knee_share",
    "address_per_cycle",
    "line_per_cycle",
    "spread_per_cycle",
    "crossing_cycles",
};

/* The last word of an evidence path is its test. */
static const char *test_of(const struct pb_parameter *parameter)
{
    const char *slash = strrchr(parameter->evidence, '/');

    return slash != NULL ? slash + 1 : parameter->evidence;
}

static bool is_by_all_sms(const struct pb_parameter *parameter)
{
    return strcmp(test_of(parameter), "sm_misses") == 0 ||
           strcmp(test_of(parameter), "dram_latency") == 0 ||
           strcmp(test_of(parameter), "cluster_shared") == 0;
}

static bool is_repeatable(const struct pb_parameter *parameter)
{
    if (strcmp(parameter->memory, "tlb_l3") == 0)
        return false; /* beyond what memory reaches */
    if (strcmp(parameter->memory, "tlb_l2") == 0 &&
        strcmp(parameter->name, "penalty_cycles") == 0 && !is_by_all_sms(parameter))
        return false; /* 94 cycles by an SM on one side of L2, 152 by one on the other */
    if (strcmp(test_of(parameter), "l2_whole") == 0 &&
        strcmp(parameter->name, "latency_cycles") == 0)
        return false; /* of one SM's lines, 478 to 527 cycles; see l2.crossing_cycles */
    for (size_t i = 0; i < sizeof(repeatable) / sizeof(repeatable[0]); i++)
        if (strcmp(repeatable[i], parameter->name) == 0)
            return true;
    return false;
}

static bool find_part(const char *memory, enum pb_part *part_out)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(parts[i].memory, memory) == 0) {
            *part_out = parts[i].part;
            return true;
        }
    }
    return false;
}

static const struct pb_metric_kind *find_kind(const char *unit)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].unit, unit) == 0)
            return &kinds[i];
    return NULL;
}

/* What a miss costs speaks of the level behind. */
static enum pb_part part_of_number(const struct pb_parameter *parameter, enum pb_part part)
{
    if (strcmp(parameter->name, "miss_latency_cycles") != 0)
        return part;
    return part == PB_PART_L2 ? PB_PART_DRAM : PB_PART_L2;
}

/* Above a peak lies what no launch shape has reached: a bound, which is the same for like devices
   and no noise of the reading. */
static double highest(const struct pb_parameter *parameter, const struct pb_estimate *estimate)
{
    return strncmp(parameter->name, "peak", strlen("peak")) == 0 ? estimate->value : estimate->high;
}

static struct pb_cell cell_of(const struct pb_observer *observer, const struct pb_metric_kind *kind,
                              const struct pb_parameter *parameter,
                              const struct pb_estimate *estimate)
{
    bool by_chase = kind->domain == PB_DOMAIN_CYCLES || kind->domain == PB_DOMAIN_NS;
    double noise = by_chase ? 0.0 : (highest(parameter, estimate) - estimate->low) / 4.0;

    return (struct pb_cell){estimate->value, isfinite(noise) ? noise : 0.0,
                            by_chase && !is_by_all_sms(parameter) ? observer->chase_sm : -1};
}

static void put_parameter(struct pb_observer *observer, const struct pb_parameter *parameter)
{
    const struct pb_metric_kind *found = find_kind(parameter->unit);
    bool is_number = parameter->kind == PB_VALUE_NUMBER;
    size_t count = is_number ? 1 : parameter->number_count;
    char name[PB_METRIC_NAME_LENGTH];
    struct pb_metric_kind kind;
    enum pb_part part;

    if (found == NULL || !find_part(parameter->memory, &part) || count > LISTED_MAX ||
        (!is_number && parameter->kind != PB_VALUE_LIST) ||
        parameter->confidence < least_confidence || !is_repeatable(parameter))
        return;
    kind = *found;
    kind.part = part_of_number(parameter, part);
    for (size_t i = 0; i < count; i++) {
        if (is_number)
            PB_TEXT_SET(name, parameter->name);
        else
            snprintf(name, sizeof(name), "%s.%zu", parameter->name, i + 1);
        pb_observer_put(observer, &kind, test_of(parameter), parameter->memory, name,
                        cell_of(observer, &kind, parameter, &parameter->numbers[i]));
    }
}

/* The SM clock that NVML told around a test; NaN: not known. */
static double clock_around(const struct pb_witness *witness, const char *test)
{
    double sum = 0.0, count = 0.0;

    for (size_t i = 0; i < witness->state_count; i++) {
        if (strcmp(witness->states[i].test, test) == 0 &&
            isfinite(witness->states[i].sm_clock_mhz)) {
            sum += witness->states[i].sm_clock_mhz;
            count += 1.0;
        }
    }
    return sum / count;
}

/* A number that the inference is sure of; NaN: it is not. */
static double sure_number(const struct pb_parameters *parameters, const char *memory,
                          const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(parameters, memory, name);

    return parameter != NULL && parameter->confidence >= least_confidence
               ? pb_parameters_number(parameters, memory, name)
               : NAN;
}

/* The calibrated clock, changed as NVML saw it change until DRAM was measured. */
static void put_beyond_l2(struct pb_observer *observer, const struct pb_parameters *parameters)
{
    static const struct pb_metric_kind kind = {"ns", PB_PART_DRAM, PB_DOMAIN_NS, PB_BETTER_LOWER,
                                               0.0,  0.03};
    double dram = sure_number(parameters, "dram", "latency_cycles");
    double l2 = sure_number(parameters, "l2", "latency_cycles");
    double mhz = sure_number(parameters, "clock", "sm_mhz");
    double change = clock_around(observer->witness, "dram_latency") /
                    clock_around(observer->witness, "clock_calibration");

    if (isfinite(change) && change > 0.0)
        mhz *= change;
    pb_observer_put(observer, &kind, "dram_latency", "dram", "beyond_l2_ns",
                    (struct pb_cell){1e3 * (dram - l2) / mhz, 0.0, observer->chase_sm});
}

void pb_observe_parameters(struct pb_observer *observer)
{
    const struct pb_witness *witness = observer->witness;
    struct pb_parameters parameters = {NULL, 0, 0};
    char place[PB_MESSAGE_LENGTH];
    size_t analysed;

    if (observer->status != PB_OK)
        return;
    snprintf(place, sizeof(place), "/devices/%s", witness->subject->key);
    observer->status = pb_infer_device(&witness->subject->info, place, witness->recordings,
                                       &parameters, &analysed, observer->err);
    if (observer->status != PB_OK)
        return;
    for (size_t i = 0; i < parameters.count; i++)
        put_parameter(observer, &parameters.items[i]);
    put_beyond_l2(observer, &parameters);
    pb_parameters_clear(&parameters);
}
