/* What the scores of one device say; see deviation.h. */
#include "analysis/verdict/deviation.h"
#include "core/reserve.h"

#include <math.h>
#include <stdlib.h>

static bool is_absolute(const struct pb_metric *metric)
{
    return metric->domain == PB_DOMAIN_FRACTION || metric->domain == PB_DOMAIN_COUNT ||
           metric->domain == PB_DOMAIN_STATE;
}

static bool is_significant(enum pb_severity severity)
{
    return severity == PB_SEVERITY_WARNING || severity == PB_SEVERITY_CRITICAL;
}

/* The center of the population that the value was measured against. */
static double center_of(const struct pb_norm *norm, double value)
{
    bool is_high = value > norm->split_boundary, other_is_high = norm->split_other > norm->center;

    return norm->split && is_high == other_is_high ? norm->split_other : norm->center;
}

/* What the shift is counted from: the center of the others. */
static double expected_of(const struct pb_metric *metric, double value, double shift, double center)
{
    if (is_absolute(metric))
        return value - shift;
    return center == 0.0 || value == 0.0 ? center : value / (1.0 + shift);
}

static struct pb_deviation from_peers(const struct pb_features *features,
                                      const struct pb_scores *scores, size_t group, size_t device,
                                      size_t metric)
{
    const struct pb_score *score = &scores->cells[device * scores->metric_count + metric];
    const struct pb_norm *norm = &scores->norms[group * scores->metric_count + metric];
    struct pb_reading cell = pb_features_reading(features, device, metric);
    bool is_event = features->metrics[metric].domain == PB_DOMAIN_COUNT && score->p <= 0.0;

    return (struct pb_deviation){.metric = metric,
                                 .against = PB_AGAINST_PEERS,
                                 .value = cell.value,
                                 .expected = is_event ? 0.0
                                                      : expected_of(&features->metrics[metric],
                                                                    cell.value, score->shift,
                                                                    center_of(norm, cell.value)),
                                 .shift = score->shift,
                                 .sigmas = score->sigmas,
                                 .p = score->p,
                                 .severity = score->severity,
                                 .place = cell.place,
                                 .is_beside_event = norm->peers_wrong && !is_event,
                                 .is_event = is_event,
                                 .peers = norm->peers > 0 ? norm->peers - 1 : 0};
}

static struct pb_deviation from_history(const struct pb_features *features,
                                        const struct pb_scores *scores, size_t group, size_t device,
                                        size_t metric)
{
    const struct pb_score *score = &scores->cells[device * scores->metric_count + metric];
    struct pb_deviation deviation = from_peers(features, scores, group, device, metric);

    deviation.against = PB_AGAINST_HISTORY;
    deviation.severity = score->drift_severity;
    deviation.sigmas = score->drift_sigmas;
    deviation.times = score->drift_times;
    deviation.shift = score->drift_shift;
    deviation.expected = is_absolute(&features->metrics[metric])
                             ? deviation.value - deviation.shift
                             : deviation.value / (1.0 + deviation.shift);
    deviation.is_event = deviation.is_beside_event = false;
    deviation.p = NAN;
    return deviation;
}

static enum pb_status add(struct pb_deviations *deviations, const struct pb_deviation *deviation,
                          struct pb_error *err)
{
    enum pb_status status =
        PB_RESERVE(deviations->items, deviations->count, deviations->capacity, "deviations", err);

    if (status == PB_OK)
        deviations->items[deviations->count++] = *deviation;
    return status;
}

enum pb_status pb_deviations_read(const struct pb_features *features,
                                  const struct pb_scores *scores, size_t group, size_t device,
                                  struct pb_deviations *deviations_out, struct pb_error *err)
{
    struct pb_deviations deviations = {.group = group, .device = device};
    enum pb_status status = PB_OK;

    for (size_t m = 0; m < scores->metric_count && status == PB_OK; m++) {
        const struct pb_score *score = &scores->cells[device * scores->metric_count + m];
        bool by_peers = is_significant(score->severity);
        bool by_history = is_significant(score->drift_severity);
        struct pb_deviation deviation;

        if (!by_peers && !by_history)
            continue;
        if (by_history && (!by_peers || pb_severity_rank(score->drift_severity) >
                                            pb_severity_rank(score->severity)))
            deviation = from_history(features, scores, group, device, m);
        else
            deviation = from_peers(features, scores, group, device, m);
        status = add(&deviations, &deviation, err);
    }
    if (status == PB_OK)
        *deviations_out = deviations;
    else
        pb_deviations_clear(&deviations);
    return status;
}

void pb_deviations_clear(struct pb_deviations *deviations)
{
    if (deviations == NULL)
        return;
    free(deviations->items);
    *deviations = (struct pb_deviations){0};
}
