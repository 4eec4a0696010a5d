/* The worst minimum detectable shift by component; see sensitivity.h. */
#include "analysis/verdict/sensitivity.h"

#include <math.h>

#include "analysis/verdict/population.h"

static double in_practicals(const struct pb_sensitivity *sensitivity)
{
    return sensitivity->shift / sensitivity->practical;
}

/* What a job feels; structure and tails, where devices differ by more than their steps and counts.
 */
static bool counts(const struct pb_metric *metric, const struct pb_norm *norm)
{
    return metric->domain == PB_DOMAIN_NS || metric->domain == PB_DOMAIN_RATE ||
           ((metric->domain == PB_DOMAIN_SIZE || pb_metric_is_tail(metric)) && norm->measured);
}

/* Tails repeat worse than their practical size from one run to the next. */
static struct pb_sensitivity sensitivity_of(const struct pb_features *features,
                                            const struct pb_norm *norm, size_t m)
{
    const struct pb_metric *metric = &features->metrics[m];
    bool is_tail = pb_metric_is_tail(metric);

    return (struct pb_sensitivity){
        m, is_tail ? norm->detectable : norm->detectable / fabs(norm->center),
        is_tail ? pb_repeat_of(metric).warning : metric->practical};
}

bool pb_sensitivity_worst(const struct pb_features *features, const struct pb_scores *scores,
                          size_t group, enum pb_part part, struct pb_sensitivity *worst_out)
{
    struct pb_sensitivity worst = {.shift = NAN};

    for (size_t m = 0; m < scores->metric_count && scores->groups[group].sufficient; m++) {
        const struct pb_metric *metric = &features->metrics[m];
        const struct pb_norm *norm = &scores->norms[group * scores->metric_count + m];
        struct pb_sensitivity one = sensitivity_of(features, norm, m);

        if (metric->part != part || metric->practical <= 0.0 || !isfinite(one.shift) ||
            !counts(metric, norm))
            continue;
        if (isnan(worst.shift) || in_practicals(&one) > in_practicals(&worst))
            worst = one;
    }
    if (isnan(worst.shift))
        return false;
    *worst_out = worst;
    return true;
}

bool pb_sensitivity_of_fleet(const struct pb_features *features, const struct pb_scores *scores,
                             enum pb_part part, struct pb_sensitivity *worst_out)
{
    bool found = false;

    for (size_t g = 0; g < scores->group_count; g++) {
        struct pb_sensitivity one;

        if (!pb_sensitivity_worst(features, scores, g, part, &one))
            continue;
        if (!found || in_practicals(&one) > in_practicals(worst_out))
            *worst_out = one;
        found = true;
    }
    return found;
}
