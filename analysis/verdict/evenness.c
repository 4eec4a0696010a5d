/* The slowest component of the slowest device; see evenness.h. */
#include "analysis/verdict/evenness.h"

#include <math.h>

#include "analysis/verdict/population.h"

/* Components by their metric; the first of each pair that was measured counts. */
static const char *const components[][2] = {
    {"clock.sm_mhz", "clock.sm_mhz"},
    {"l2.latency_ns", "sm_median.l2_ns"},
    {"dram.latency_ns", "dram.latency_ns"},
    {"global_copy.peak", "global_copy.peak"},
    {"host_link.peak_bytes_per_s", "host_link.to_device_pinned"},
};

static void try_metric(const struct pb_features *features, const struct pb_scores *scores,
                       size_t group, size_t metric, struct pb_evenness *evenness)
{
    const struct pb_norm *norm = &scores->norms[group * scores->metric_count + metric];
    const struct pb_group *members = &scores->groups[group];

    if (!isfinite(norm->center) || norm->center <= 0.0)
        return;
    for (size_t i = 0; i < members->member_count; i++) {
        double value = pb_features_reading(features, members->members[i], metric).value;
        double speed = features->metrics[metric].better == PB_BETTER_LOWER ? norm->center / value
                                                                           : value / norm->center;

        if (!isfinite(speed) || (isfinite(evenness->value) && speed >= evenness->value))
            continue;
        *evenness = (struct pb_evenness){speed, members->members[i], metric};
    }
}

struct pb_evenness pb_evenness_of(const struct pb_features *features,
                                  const struct pb_scores *scores)
{
    struct pb_evenness evenness = {NAN, 0, 0};

    for (size_t c = 0; c < sizeof(components) / sizeof(components[0]); c++) {
        size_t metric = pb_features_find(features, components[c][0]);

        if (metric == features->metric_count)
            metric = pb_features_find(features, components[c][1]);
        for (size_t g = 0; g < scores->group_count && metric < features->metric_count; g++)
            if (scores->groups[g].member_count >= PB_POPULATION_MIN)
                try_metric(features, scores, g, metric, &evenness);
    }
    if (isfinite(evenness.value))
        evenness.value = fmin(evenness.value, 1.0);
    return evenness;
}
