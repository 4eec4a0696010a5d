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
static uint64_t version_of(const struct pb_observer *observer, const char *test)
{
    const struct pb_witness *witness = observer->witness;

    for (size_t i = 0; i < witness->test_count; i++)
        if (strcmp(witness->tests[i], test) == 0)
            return observer->method_versions[i];
    return 0;
}

void pb_observer_put_coarse(struct pb_observer *observer, const char *test, const char *prefix,
                            const char *name, double quantum, struct pb_reading cell)
{
    char full_name[PB_METRIC_NAME_LENGTH];
    struct pb_metric metric;

    if (observer->status != PB_OK || !isfinite(cell.value))
        return;
    snprintf(full_name, sizeof(full_name), "%s.%s", prefix, name);
    observer->status = pb_metric_make(full_name, test, quantum, &metric, observer->err);
    if (!isfinite(cell.noise))
        cell.noise = 0.0;
    if (observer->status != PB_OK)
        return;
    metric.method_version = version_of(observer, test);
    if ((metric.traits & PB_TRAIT(PER_SM)) != 0) {
        double sms = observer->witness->subject->info.sm_count;

        if (!(sms > 0.0))
            return;
        cell.value /= sms;
        cell.noise /= sms;
    }
    observer->status =
        pb_sheet_set(observer->sheet, observer->subject, &metric, cell, observer->err);
}

void pb_observer_put(struct pb_observer *observer, const char *test, const char *prefix,
                     const char *name, struct pb_reading cell)
{
    pb_observer_put_coarse(observer, test, prefix, name, 0.0, cell);
}

double pb_observer_median(struct pb_observer *observer, const struct pb_sample *sample,
                          double *noise_out)
{
    struct pb_sample sorted = {NULL, 0, 0};
    double low, high, median = NAN;

    *noise_out = 0.0;
    if (observer->status == PB_OK)
        observer->status = pb_sample_sorted(sample, &sorted, observer->err);
    if (observer->status == PB_OK && sorted.count > 0) {
        median = pb_quantile(sorted.values, sorted.count, 0.5);
        pb_median_interval(sorted.values, sorted.count, 0.68, &low, &high);
        *noise_out = (high - low) / 2.0;
    }
    pb_sample_clear(&sorted);
    return median;
}
