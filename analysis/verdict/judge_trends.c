/* Trends as findings: one for each device or group that creeps, by the number that is surest. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/judge.h"
#include "analysis/verdict/trend.h"

/* Trends of one device, or of one group as a whole, from `first` on; returns the surest. */
static size_t surest(const struct pb_trends *trends, size_t first, size_t *count_out)
{
    const struct pb_trend *items = trends->items;
    size_t best = first;

    *count_out = 0;
    for (size_t i = first; i < trends->count; i++) {
        if (items[i].group != items[first].group || items[i].device != items[first].device)
            continue;
        ++*count_out;
        if (items[i].p < items[best].p)
            best = i;
    }
    return best;
}

static bool is_first(const struct pb_trends *trends, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (trends->items[i].group == trends->items[at].group &&
            trends->items[i].device == trends->items[at].device)
            return false;
    return true;
}

static void word_trend(const struct pb_verdict *verdict, const struct pb_trend *trend,
                       struct pb_finding *finding)
{
    const struct pb_metric *metric = &verdict->features->metrics[trend->metric];
    bool by_day = trend->span_days >= 1.0;
    double steps = by_day ? trend->span_days : (double)trend->runs - 1.0;

    PB_TEXT_SET(finding->cause, "trend");
    PB_TEXT_SET(finding->metric, metric->name);
    PB_TEXT_SET(finding->unit, metric->unit);
    finding->value = trend->now;
    finding->expected = trend->start;
    finding->shift = trend->slope_per_day * trend->span_days;
    finding->p = trend->p;
    snprintf(finding->summary, sizeof(finding->summary),
             "%s changes by %+.2f%% a %s: %+.1f%% over %zu runs in %.1f days, from %.4g to %.4g %s",
             metric->name, 100.0 * finding->shift / steps, by_day ? "day" : "run",
             100.0 * finding->shift, trend->runs, trend->span_days, trend->start, trend->now,
             metric->unit);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "Theil-Sen slope over %zu runs, %zu number%s with one; p %.1e before multiplicity",
             trend->runs, (size_t)finding->metrics, finding->metrics == 1 ? "" : "s", trend->p);
    PB_TEXT_SET(finding->advice, trend->device == SIZE_MAX
                                     ? "look for what changes on all nodes: inlet temperature, "
                                       "clocks, driver settings"
                                     : "plan a check of this device before it costs more");
}

enum pb_status pb_judge_trends(struct pb_verdict *verdict)
{
    const struct pb_trends *trends = verdict->options.trends;
    enum pb_status status = PB_OK;

    for (size_t i = 0; trends != NULL && i < trends->count && status == PB_OK; i++) {
        bool is_group = trends->items[i].device == SIZE_MAX;
        const struct pb_group *group = &verdict->scores->groups[trends->items[i].group];
        struct pb_finding finding =
            pb_finding_blank(PB_SEVERITY_WARNING, is_group ? PB_LEVEL_POPULATION : PB_LEVEL_DEVICE);
        const struct pb_members members = {group->members, group->member_count};
        size_t count, best;

        if (!is_first(trends, i))
            continue;
        best = surest(trends, i, &count);
        finding.metrics = count;
        finding.group = trends->items[i].group + 1;
        PB_TEXT_SET(finding.place, group->name);
        if (!is_group)
            pb_finding_place(&verdict->features->devices[trends->items[i].device], &finding);
        word_trend(verdict, &trends->items[best], &finding);
        status = is_group ? pb_verdict_add(verdict, &finding, &members, NULL)
                          : pb_verdict_add_device(verdict, &finding, trends->items[i].device);
    }
    return status;
}
