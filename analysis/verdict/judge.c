/* Judging: deviations have causes and units, and what needs no score is added. */
#include "analysis/verdict/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int worst_first(const void *a, const void *b)
{
    const struct pb_finding *left = a, *right = b;
    double far_left = isnan(left->sigmas) ? 0.0 : fabs(left->sigmas);
    double far_right = isnan(right->sigmas) ? 0.0 : fabs(right->sigmas);

    if (left->severity != right->severity)
        return pb_severity_rank(right->severity) - pb_severity_rank(left->severity);
    if (left->level != right->level)
        return (int)right->level - (int)left->level;
    if (left->level == PB_LEVEL_POPULATION && left->members.count != right->members.count)
        return left->members.count < right->members.count ? 1 : -1;
    if (far_left != far_right)
        return far_left < far_right ? 1 : -1;
    return strcmp(left->place, right->place);
}

static void summarise(struct pb_verdict *verdict)
{
    struct pb_findings *findings = &verdict->findings;

    for (size_t i = 0; i < verdict->features->device_count; i++) {
        bool judged = pb_verdict_has_scored(verdict, i);

        findings->judged += judged;
        findings->skipped += !judged;
    }
    if (findings->count > 1)
        qsort(findings->items, findings->count, sizeof(*findings->items), worst_first);
    findings->worst = findings->count > 0 ? findings->items[0].severity : PB_SEVERITY_OK;
}

enum pb_status pb_judge(const struct pb_features *features, const struct pb_scores *scores,
                        const struct pb_judge_options *options, struct pb_findings *findings_out,
                        struct pb_error *err)
{
    struct pb_verdict verdict = {.features = features, .scores = scores, .err = err};
    enum pb_status status;

    if (options != NULL)
        verdict.options = *options;
    status = pb_judge_causes(&verdict);
    if (status == PB_OK)
        status = pb_judge_status(&verdict);
    if (status == PB_OK)
        status = pb_judge_gaps(&verdict);
    if (status == PB_OK)
        status = pb_judge_populations(&verdict);
    if (status == PB_OK)
        status = pb_judge_configuration(&verdict);
    if (status == PB_OK)
        status = pb_judge_inventory(&verdict);
    if (status == PB_OK)
        status = pb_judge_trends(&verdict);
    if (status == PB_OK)
        status = pb_judge_references(&verdict);
    if (status == PB_OK)
        status = pb_judge_share(&verdict);
    if (status == PB_OK)
        status = pb_judge_coverage(&verdict);
    if (status != PB_OK) {
        pb_findings_clear(&verdict.findings);
        return status;
    }
    summarise(&verdict);
    *findings_out = verdict.findings;
    return PB_OK;
}
