/* Parts that are wrong by events; see event.h. */
#include "analysis/verdict/event.h"

bool pb_metric_is_event(const struct pb_metric *metric)
{
    return metric->domain == PB_DOMAIN_COUNT && (metric->traits & PB_TRAIT(RECOVERED)) == 0;
}

static uint32_t parts_of(enum pb_part part)
{
    bool is_all = part == PB_PART_THERMAL || part == PB_PART_POWER || part == PB_PART_CO_TENANTS;

    return is_all ? UINT32_MAX : (uint32_t)1 << part;
}

uint32_t pb_event_parts(const struct pb_features *features, size_t device)
{
    uint32_t parts = 0;

    for (size_t m = 0; m < features->metric_count; m++) {
        const struct pb_metric *metric = &features->metrics[m];

        if (pb_metric_is_event(metric) &&
            pb_features_reading(features, device, m).value > metric->practical)
            parts |= parts_of(metric->part);
    }
    return parts;
}
