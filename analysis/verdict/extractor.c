/* What the parts of the observation share; see observe_parts.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/observe_parts.h"

struct pb_reading pb_reading_plain(double value)
{
    return (struct pb_reading){value, 0.0, -1};
}

/* Of the method by which a test was recorded; 0: the first, or no test. */
static uint64_t version_of(const struct pb_extractor *extractor, const char *test)
{
    const struct pb_metric_source *metric_source = extractor->metric_source;

    for (size_t i = 0; i < metric_source->test_count; i++)
        if (strcmp(metric_source->tests[i], test) == 0)
            return extractor->method_versions[i];
    return 0;
}

void pb_extractor_put_coarse(struct pb_extractor *extractor, const char *test, const char *prefix,
                             const char *name, double quantum, struct pb_reading cell)
{
    char full_name[PB_METRIC_NAME_LENGTH];
    struct pb_metric metric;

    if (extractor->status != PB_OK || !isfinite(cell.value))
        return;
    snprintf(full_name, sizeof(full_name), "%s.%s", prefix, name);
    extractor->status = pb_metric_make(full_name, test, quantum, &metric, extractor->err);
    if (!isfinite(cell.noise))
        cell.noise = 0.0;
    if (extractor->status != PB_OK)
        return;
    metric.method_version = version_of(extractor, test);
    if ((metric.traits & PB_TRAIT(PER_SM)) != 0) {
        double sms = extractor->metric_source->device->info.sm_count;

        if (!(sms > 0.0))
            return;
        cell.value /= sms;
        cell.noise /= sms;
    }
    extractor->status =
        pb_features_set(extractor->features, extractor->device, &metric, cell, extractor->err);
}

void pb_extractor_put(struct pb_extractor *extractor, const char *test, const char *prefix,
                      const char *name, struct pb_reading cell)
{
    pb_extractor_put_coarse(extractor, test, prefix, name, 0.0, cell);
}

double pb_extractor_median(struct pb_extractor *extractor, const struct pb_sample *sample,
                           double *noise_out)
{
    struct pb_sample sorted = {NULL, 0, 0};
    double low, high, median = NAN;

    *noise_out = 0.0;
    if (extractor->status == PB_OK)
        extractor->status = pb_sample_sorted(sample, &sorted, extractor->err);
    if (extractor->status == PB_OK && sorted.count > 0) {
        median = pb_quantile(sorted.values, sorted.count, 0.5);
        pb_median_interval(sorted.values, sorted.count, 0.68, &low, &high);
        *noise_out = (high - low) / 2.0;
    }
    pb_sample_clear(&sorted);
    return median;
}
