/* Devices with too few peers against the recorded reference of their model; see reference.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/judge.h"
#include "analysis/verdict/reference.h"

/* Of one device, over all of its numbers. */
static const double false_alarm_rate = 0.01;

/* How the numbers of a device lie within the reference. */
struct comparison {
    size_t compared, outside;
    size_t worst;  /* metric */
    double excess; /* of the worst: distance over what is granted */
};

static size_t count_numbers(const struct pb_features *features,
                            const struct pb_reference *reference)
{
    size_t count = 0;

    for (size_t m = 0; m < features->metric_count; m++)
        count += pb_reference_number_of(reference, &features->metrics[m]) != NULL;
    return count;
}

static void compare(const struct pb_features *features, const struct pb_reference *reference,
                    size_t device, double p, struct comparison *out)
{
    *out = (struct comparison){.worst = features->metric_count};
    for (size_t m = 0; m < features->metric_count; m++) {
        const struct pb_metric *metric = &features->metrics[m];
        const struct pb_reference_number *number = pb_reference_number_of(reference, metric);
        double value = pb_features_reading(features, device, m).value, worse, excess;

        if (number == NULL || !isfinite(value))
            continue;
        out->compared++;
        worse =
            metric->better == PB_BETTER_HIGHER ? number->center - value : value - number->center;
        if (metric->better == PB_BETTER_NEITHER)
            worse = fabs(worse);
        excess = worse / pb_reference_range(number, metric, p);
        out->outside += excess > 1.0;
        if (out->worst == features->metric_count || excess > out->excess) {
            out->worst = m;
            out->excess = excess;
        }
    }
}

static void word_source(const struct pb_reference *reference, struct pb_finding *finding)
{
    snprintf(finding->evidence, sizeof(finding->evidence),
             "reference: %zu recorded device%s (driver %.24s, %.24s) of this model; by so "
             "few nothing is CRITICAL",
             reference->devices, reference->devices == 1 ? "" : "s", reference->driver,
             reference->measured);
}

static enum pb_status add_outside(struct pb_verdict *verdict, const struct pb_reference *reference,
                                  size_t device, const struct comparison *comparison)
{
    const struct pb_metric *metric = &verdict->features->metrics[comparison->worst];
    const struct pb_reference_number *number = pb_reference_number_of(reference, metric);
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE);

    pb_finding_place(&verdict->features->devices[device], &finding);
    PB_TEXT_SET(finding.cause, "reference");
    PB_TEXT_SET(finding.metric, metric->name);
    PB_TEXT_SET(finding.unit, metric->unit);
    finding.value = pb_features_reading(verdict->features, device, comparison->worst).value;
    finding.expected = number->center;
    finding.shift = finding.value / number->center - 1.0;
    finding.metrics = comparison->outside;
    finding.peers = number->devices;
    snprintf(
        finding.summary, sizeof(finding.summary),
        "%s %.4g %s is not normal for this model: expected %.4g (%+.1f%%, %.1fx what is granted)",
        metric->name, finding.value, metric->unit, number->center, 100.0 * finding.shift,
        comparison->excess);
    word_source(reference, &finding);
    PB_TEXT_SET(finding.advice, "repeat the run, then compare with devices of this cluster");
    return pb_verdict_add_device(verdict, &finding, device);
}

static enum pb_status add_normal(struct pb_verdict *verdict, const struct pb_reference *reference,
                                 size_t group_index, size_t devices, size_t compared)
{
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_OK, PB_LEVEL_FLEET);

    PB_TEXT_SET(finding.place, verdict->scores->groups[group_index].name);
    PB_TEXT_SET(finding.model, reference->model);
    PB_TEXT_SET(finding.cause, "reference");
    finding.peers = reference->devices;
    snprintf(finding.summary, sizeof(finding.summary),
             "%zu device%s, %s%zu metric%s%s: every value is normal for this model", devices,
             devices == 1 ? "" : "s", devices == 1 ? "" : "up to ", compared,
             compared == 1 ? "" : "s", devices == 1 ? "" : " each");
    word_source(reference, &finding);
    return pb_verdict_add(verdict, &finding, NULL, NULL);
}

static enum pb_status judge_group(struct pb_verdict *verdict, size_t group_index)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    const struct pb_features *features = verdict->features;
    const struct pb_feature_row *first = &features->devices[group->members[0]];
    const struct pb_reference *reference =
        pb_reference_find(verdict->options.references, first->info.model);
    size_t numbers, normal = 0, most = 0;
    enum pb_status status = PB_OK;

    if (reference == NULL || strcmp(first->info.backend, "sim") == 0)
        return PB_OK;
    numbers = count_numbers(features, reference);
    for (size_t i = 0; i < group->member_count && status == PB_OK && numbers > 0; i++) {
        struct comparison comparison;

        compare(features, reference, group->members[i], false_alarm_rate / (double)numbers,
                &comparison);
        if (comparison.outside > 0)
            status = add_outside(verdict, reference, group->members[i], &comparison);
        normal += comparison.outside == 0 && comparison.compared > 0;
        most = comparison.compared > most ? comparison.compared : most;
    }
    if (status == PB_OK && normal > 0)
        status = add_normal(verdict, reference, group_index, normal, most);
    return status;
}

enum pb_status pb_judge_references(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        if (!verdict->scores->groups[g].sufficient && verdict->scores->groups[g].member_count > 0)
            status = judge_group(verdict, g);
    return status;
}
