/*
 * What NVML reports: levels, their steps over the run, and how often each throttle reason was
 * given.
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

/* What is made of a column's known values, in time order. */
enum shape {
    SHAPE_MIN,
    SHAPE_MAX,
    SHAPE_MAX_MEAN, /* the same of what the driver averages; not known of a shorter run */
    SHAPE_LAST,
    SHAPE_STEP,         /* last less first; never below 0: a driver that was reloaded counts anew */
    SHAPE_RISE,         /* max less first */
    SHAPE_FALL,         /* max less min */
    SHAPE_FIRST,        /* what stood there before the run */
    SHAPE_MIN_LESS_ONE, /* those besides this one */
};

/* One metric of a field, or one reason of the field that is a bit mask of them. */
struct state_metric {
    const char *name;
    enum shape shape;
    double scale;  /* of the value, to the unit */
    int64_t bit;   /* a reason: how often it was set; 0: the shape of the field */
    bool is_count; /* of samples with the reason; else their share */
};

enum { METRICS_PER_FIELD_MAX = 6 };

/* NVML's power is a mean of so long, by its documentation: until then it holds an earlier load. */
static const double DRIVER_MEAN_SECONDS = 1.0;

static const struct state_metric metrics[PB_STATE_FIELD_COUNT][METRICS_PER_FIELD_MAX] = {
#define METRIC(name, shape, scale, unit, part, domain, better, quantum, practical, traits)         \
    {                                                                                              \
        name, SHAPE_##shape, scale, 0, false                                                       \
    }
#define REASON(name, bit, unit, part, domain, better, quantum, practical, traits)                  \
    {                                                                                              \
        name, SHAPE_LAST, 1.0, bit, PB_DOMAIN_##domain == PB_DOMAIN_COUNT                          \
    }
#define NO_METRIC                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define PB_STATE_FIELD(type, member, column, unit, since, description, nvml, simulated, ...)       \
    [PB_STATE_##member] = {__VA_ARGS__},
#include "core/state_fields.h"
};

/*
 * First, last, smallest and largest of the known values of a column; max_mean: the largest of those
 * that are DRIVER_MEAN_SECONDS and more behind the first state.
 */
struct range {
    double first, last, min, max, max_mean;
};

static struct range range_of(const struct pb_metric_source *metric_source,
                             enum pb_state_field field)
{
    struct range range = {NAN, NAN, NAN, NAN, NAN};
    double begin = metric_source->state_count > 0 ? metric_source->states[0].unix_seconds : 0.0;

    for (size_t i = 0; i < metric_source->state_count; i++) {
        double value = pb_state_get(&metric_source->states[i], field);

        if (!isfinite(value))
            continue;
        if (isnan(range.first))
            range.first = range.min = range.max = value;
        range.last = value;
        range.min = fmin(range.min, value);
        range.max = fmax(range.max, value);
        if (metric_source->states[i].unix_seconds >= begin + DRIVER_MEAN_SECONDS)
            range.max_mean = fmax(range.max_mean, value);
    }
    return range;
}

static double shape_of(const struct range *range, enum shape shape)
{
    switch (shape) {
    case SHAPE_MIN:
        return range->min;
    case SHAPE_MAX:
        return range->max;
    case SHAPE_MAX_MEAN:
        return range->max_mean;
    case SHAPE_STEP:
        return isnan(range->last) ? NAN : fmax(range->last - range->first, 0.0);
    case SHAPE_RISE:
        return range->max - range->first;
    case SHAPE_FALL:
        return range->max - range->min;
    case SHAPE_FIRST:
        return range->first;
    case SHAPE_MIN_LESS_ONE:
        return isnan(range->min) ? NAN : fmax(range->min - 1.0, 0.0);
    default:
        return range->last;
    }
}

/* How often a bit was set: a count, or its share of the samples. */
static double reason_of(const struct pb_metric_source *metric_source, enum pb_state_field field,
                        const struct state_metric *metric)
{
    double set = 0.0, samples = 0.0;

    for (size_t i = 0; i < metric_source->state_count; i++) {
        double mask = pb_state_get(&metric_source->states[i], field);

        samples += !isnan(mask);
        set += !isnan(mask) && ((int64_t)mask & metric->bit) != 0;
    }
    if (samples <= 0.0)
        return NAN;
    return metric->is_count ? set : set / samples;
}

static void put_fields(struct pb_extractor *extractor)
{
    for (int field = 0; field < PB_STATE_FIELD_COUNT; field++) {
        struct range range = range_of(extractor->metric_source, (enum pb_state_field)field);

        for (int i = 0; i < METRICS_PER_FIELD_MAX && metrics[field][i].name != NULL; i++) {
            const struct state_metric *metric = &metrics[field][i];
            bool is_reason = metric->bit != 0;
            double value = is_reason ? reason_of(extractor->metric_source, field, metric)
                                     : metric->scale * shape_of(&range, metric->shape);

            pb_extractor_put(extractor, "", is_reason ? "throttle" : "nvml", metric->name,
                             pb_reading_plain(value));
        }
    }
}

/* Clocks against what the device could do: under load an idle device's rest does not count. */
static void put_clocks(struct pb_extractor *extractor)
{
    const struct pb_device_info *info = &extractor->metric_source->device->info;
    struct range sm = range_of(extractor->metric_source, PB_STATE_sm_clock_mhz);
    struct range memory = range_of(extractor->metric_source, PB_STATE_memory_clock_mhz);

    if (info->sm_clock_max_mhz > 0.0) {
        pb_extractor_put(extractor, "", "nvml", "sm_clock_most_over_max",
                         pb_reading_plain(sm.max / info->sm_clock_max_mhz));
        pb_extractor_put(extractor, "", "nvml", "sm_clock_last_over_max",
                         pb_reading_plain(sm.last / info->sm_clock_max_mhz));
    }
    if (info->memory_clock_max_mhz > 0.0)
        pb_extractor_put(extractor, "", "nvml", "memory_clock_over_max",
                         pb_reading_plain(memory.max / info->memory_clock_max_mhz));
}

/* Of what the device and its slot could have at most: the best of the run, as a link that idles may
 * rest at less. */
static void put_link_shortfalls(struct pb_extractor *extractor)
{
    static const struct {
        const char *name;
        enum pb_state_field field, field_max;
    } links[] = {
        {"pcie_width_missing", PB_STATE_pcie_width, PB_STATE_pcie_width_max},
        {"pcie_generation_missing", PB_STATE_pcie_generation, PB_STATE_pcie_generation_max},
    };

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        struct range now = range_of(extractor->metric_source, links[i].field);
        struct range possible = range_of(extractor->metric_source, links[i].field_max);
        double missing =
            isnan(now.max) || isnan(possible.max) ? NAN : fmax(possible.max - now.max, 0.0);

        pb_extractor_put(extractor, "", "nvml", links[i].name, pb_reading_plain(missing));
    }
}

static void put_memory(struct pb_extractor *extractor)
{
    uint64_t bytes = extractor->metric_source->device->info.memory_bytes;

    if (bytes > 0)
        pb_extractor_put(extractor, "", "device", "memory_bytes", pb_reading_plain((double)bytes));
}

void pb_observe_states(struct pb_extractor *extractor)
{
    put_memory(extractor);
    if (extractor->metric_source->state_count == 0)
        return;
    extractor->features->devices[extractor->device].measured_seconds =
        extractor->metric_source->states[0].unix_seconds;
    put_fields(extractor);
    put_link_shortfalls(extractor);
    put_clocks(extractor);
}
