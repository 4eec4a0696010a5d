/* Judging: deviations have causes and units, and what needs no score is added. */
#include "analysis/verdict/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/policy.h"
#include "analysis/verdict/room.h"

static bool copy_members(const struct pb_members *members, struct pb_members *copy_out)
{
    *copy_out = (struct pb_members){0};
    if (members == NULL || members->count == 0)
        return true;
    copy_out->subjects = malloc(members->count * sizeof(*copy_out->subjects));
    if (copy_out->subjects == NULL)
        return false;
    memcpy(copy_out->subjects, members->subjects, members->count * sizeof(*copy_out->subjects));
    copy_out->count = members->count;
    return true;
}

enum pb_status pb_verdict_add(struct pb_verdict *verdict, const struct pb_finding *finding,
                              const struct pb_members *members,
                              const struct pb_members *counterparts)
{
    struct pb_findings *findings = &verdict->findings;
    struct pb_finding *items =
        pb_with_room(findings->items, findings->count, &findings->capacity, sizeof(*items));
    struct pb_finding added = *finding;
    size_t group_size = finding->group > 0 && finding->group <= verdict->scores->group_count
                            ? verdict->scores->groups[finding->group - 1].member_count
                            : 0;

    if (items != NULL)
        findings->items = items;
    added.counterparts = (struct pb_members){0};
    if (items == NULL || !copy_members(members, &added.members) ||
        !copy_members(counterparts, &added.counterparts)) {
        free(items == NULL ? NULL : added.members.subjects);
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory adding finding %zu",
                       findings->count + 1);
    }
    pb_policy_apply(verdict->options.policy, verdict->sheet, group_size, &added);
    findings->items[findings->count++] = added;
    return PB_OK;
}

enum pb_status pb_verdict_add_device(struct pb_verdict *verdict, const struct pb_finding *finding,
                                     size_t subject)
{
    struct pb_members member = {&subject, 1};

    return pb_verdict_add(verdict, finding, &member, NULL);
}

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

bool pb_verdict_has_past(const struct pb_verdict *verdict, size_t subject)
{
    const struct pb_scores *scores = verdict->scores;

    for (size_t m = 0; m < scores->metric_count; m++)
        if (verdict->sheet->metrics[m].domain != PB_DOMAIN_COUNT &&
            !isnan(scores->cells[subject * scores->metric_count + m].drift_sigmas))
            return true;
    return false;
}

bool pb_verdict_has_scored(const struct pb_verdict *verdict, size_t subject)
{
    const struct pb_scores *scores = verdict->scores;

    for (size_t m = 0; m < scores->metric_count; m++)
        if (verdict->sheet->metrics[m].domain != PB_DOMAIN_COUNT &&
            !isnan(scores->cells[subject * scores->metric_count + m].sigmas))
            return true;
    return pb_verdict_has_past(verdict, subject);
}

static void summarise(struct pb_verdict *verdict)
{
    struct pb_findings *findings = &verdict->findings;

    for (size_t i = 0; i < verdict->sheet->subject_count; i++) {
        bool judged = pb_verdict_has_scored(verdict, i);

        findings->judged += judged;
        findings->skipped += !judged;
    }
    if (findings->count > 1)
        qsort(findings->items, findings->count, sizeof(*findings->items), worst_first);
    findings->worst = findings->count > 0 ? findings->items[0].severity : PB_SEVERITY_OK;
}

enum pb_status pb_judge(const struct pb_sheet *sheet, const struct pb_scores *scores,
                        const struct pb_judge_options *options, struct pb_findings *findings_out,
                        struct pb_error *err)
{
    struct pb_verdict verdict = {.sheet = sheet, .scores = scores, .err = err};
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
