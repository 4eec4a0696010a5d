/*
 * Inferred parameters as metrics: those of the catalogue, numbers and every number of a short list.
 *
 * What the inference itself is not
 * sure of is left out: a value that may be another next time would be an outlier by itself.
 * Intervals of rates and sizes become noise; those of latencies do not, since they show how far the
 * accesses lie apart (the slices of L2, the banks of DRAM) and not how well their middle repeats.
 * The noise of a latency is that of the stamps it is measured with.
 *
 * One number is added: how much longer DRAM takes than L2, in ns. DRAM has its own clock, so this
 * stays the same when the SM's clock changes, while DRAM's cycles fall and its ns rise (facts 4).
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/inference.h"
#include "analysis/verdict/observe_parts.h"

enum { LISTED_MAX = 8 };

/* What a metric needs is that the next piece of evidence would agree: the share of the votes. */
static const double least_votes = 0.6;

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

/* Above a peak lies what no launch shape has reached: a bound, which is the same for like devices
   and no noise of the reading. */
static double highest(const struct pb_parameter *parameter, const struct pb_estimate *estimate)
{
    return strncmp(parameter->name, "peak", strlen("peak")) == 0 ? estimate->value : estimate->high;
}

static struct pb_reading cell_of(const struct pb_extractor *extractor,
                                 const struct pb_metric *metric,
                                 const struct pb_parameter *parameter,
                                 const struct pb_estimate *estimate, double mhz)
{
    bool by_chase = metric->domain == PB_DOMAIN_CYCLES || metric->domain == PB_DOMAIN_NS;
    double noise = (highest(parameter, estimate) - estimate->low) / 4.0;

    if (by_chase)
        noise = pb_extractor_stamp_noise(extractor) *
                (metric->domain == PB_DOMAIN_NS ? 1e3 / mhz : 1.0);

    return (struct pb_reading){estimate->value, isfinite(noise) ? noise : 0.0,
                               by_chase && !is_by_all_sms(parameter) ? extractor->chase_sm : -1};
}

/* The catalogue's row of a parameter, where its value repeats; NULL: it is not compared. */
static const struct pb_metric_row *row_of(const struct pb_parameter *parameter)
{
    char name[PB_METRIC_NAME_LENGTH];
    const struct pb_metric_row *row;

    snprintf(name, sizeof(name), "%s.%s", parameter->memory, parameter->name);
    row = pb_metric_row_find(name);
    return row != NULL && strcmp(row->metric.unit, parameter->unit) == 0 &&
                   fnmatch(row->varies, test_of(parameter), 0) != 0
               ? row
               : NULL;
}

static void put_parameter(struct pb_extractor *extractor, const struct pb_parameter *parameter,
                          double mhz)
{
    const struct pb_metric_row *row = row_of(parameter);
    bool is_number = parameter->kind == PB_VALUE_NUMBER;
    size_t count = is_number ? 1 : parameter->number_count;
    char name[PB_METRIC_NAME_LENGTH];

    if (row == NULL || count > LISTED_MAX || (!is_number && parameter->kind != PB_VALUE_LIST) ||
        parameter->votes < least_votes)
        return;
    for (size_t i = 0; i < count; i++) {
        if (is_number)
            PB_TEXT_SET(name, parameter->name);
        else
            snprintf(name, sizeof(name), "%s.%zu", parameter->name, i + 1);
        pb_extractor_put(extractor, test_of(parameter), parameter->memory, name,
                         cell_of(extractor, &row->metric, parameter, &parameter->numbers[i], mhz));
    }
}

/* The SM clock that NVML reported around a test; NaN: not known. */
static double clock_around(const struct pb_metric_source *metric_source, const char *test)
{
    double sum = 0.0, count = 0.0;

    for (size_t i = 0; i < metric_source->state_count; i++) {
        if (strcmp(metric_source->states[i].test, test) == 0 &&
            isfinite(metric_source->states[i].sm_clock_mhz)) {
            sum += metric_source->states[i].sm_clock_mhz;
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

    return parameter != NULL && parameter->votes >= least_votes
               ? pb_parameters_number(parameters, memory, name)
               : NAN;
}

/* The calibrated clock, changed as NVML saw it change until DRAM was measured. */
static void put_beyond_l2(struct pb_extractor *extractor, const struct pb_parameters *parameters)
{
    double dram = sure_number(parameters, "dram", "latency_cycles");
    double l2 = sure_number(parameters, "l2", "latency_cycles");
    double mhz = sure_number(parameters, "clock", "sm_mhz");
    double change = clock_around(extractor->metric_source, "dram_latency") /
                    clock_around(extractor->metric_source, "clock_calibration");

    if (isfinite(change) && change > 0.0)
        mhz *= change;
    pb_extractor_put(extractor, "dram_latency", "dram", "beyond_l2_ns",
                     (struct pb_reading){1e3 * (dram - l2) / mhz, 0.0, extractor->chase_sm});
}

static void put_all(struct pb_extractor *extractor, const struct pb_parameters *parameters)
{
    double mhz = sure_number(parameters, "clock", "sm_mhz");

    for (size_t i = 0; i < parameters->count; i++)
        put_parameter(extractor, &parameters->items[i], mhz);
    put_beyond_l2(extractor, parameters);
}

void pb_observe_parameters(struct pb_extractor *extractor)
{
    const struct pb_metric_source *metric_source = extractor->metric_source;
    struct pb_parameters parameters = {0};
    char place[PB_MESSAGE_LENGTH];
    size_t analysed;

    if (extractor->status != PB_OK)
        return;
    if (metric_source->parameters != NULL) {
        put_all(extractor, metric_source->parameters);
        return;
    }
    snprintf(place, sizeof(place), "/devices/%s", metric_source->device->key);
    extractor->status =
        pb_infer_device(&metric_source->device->info, place, metric_source->recordings, &parameters,
                        &analysed, extractor->err);
    if (extractor->status != PB_OK)
        return;
    put_all(extractor, &parameters);
    pb_parameters_clear(&parameters);
}
