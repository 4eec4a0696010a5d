/* The list of findings that the parts of pb_judge() add to, and what they all use of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/judge.h"
#include "analysis/verdict/policy.h"
#include "core/reserve.h"

static int compare_rows(const void *a, const void *b)
{
    size_t left = *(const size_t *)a, right = *(const size_t *)b;

    return (left > right) - (left < right);
}

/* In ascending order; a group's members may be in another. */
static bool copy_members(const struct pb_members *members, struct pb_members *copy_out)
{
    *copy_out = (struct pb_members){0};
    if (members == NULL || members->count == 0)
        return true;
    copy_out->devices = malloc(members->count * sizeof(*copy_out->devices));
    if (copy_out->devices == NULL)
        return false;
    memcpy(copy_out->devices, members->devices, members->count * sizeof(*copy_out->devices));
    copy_out->count = members->count;
    qsort(copy_out->devices, copy_out->count, sizeof(*copy_out->devices), compare_rows);
    return true;
}

enum pb_status pb_verdict_add(struct pb_verdict *verdict, const struct pb_finding *finding,
                              const struct pb_members *members,
                              const struct pb_members *counterparts)
{
    struct pb_findings *findings = &verdict->findings;
    enum pb_status status =
        PB_RESERVE(findings->items, findings->count, findings->capacity, "findings", verdict->err);
    struct pb_finding added = *finding;
    size_t group_size = finding->group > 0 && finding->group <= verdict->scores->group_count
                            ? verdict->scores->groups[finding->group - 1].member_count
                            : 0;

    if (status != PB_OK)
        return status;
    added.counterparts = (struct pb_members){0};
    if (!copy_members(members, &added.members) ||
        !copy_members(counterparts, &added.counterparts)) {
        free(added.members.devices);
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory adding finding %zu",
                       findings->count + 1);
    }
    pb_policy_apply(verdict->options.policy, verdict->features, group_size, &added);
    findings->items[findings->count++] = added;
    return PB_OK;
}

enum pb_status pb_verdict_add_device(struct pb_verdict *verdict, const struct pb_finding *finding,
                                     size_t device)
{
    struct pb_members member = {&device, 1};

    return pb_verdict_add(verdict, finding, &member, NULL);
}

bool pb_verdict_has_history(const struct pb_verdict *verdict, size_t device)
{
    const struct pb_scores *scores = verdict->scores;

    for (size_t m = 0; m < scores->metric_count; m++)
        if (verdict->features->metrics[m].domain != PB_DOMAIN_COUNT &&
            !isnan(scores->cells[device * scores->metric_count + m].drift_sigmas))
            return true;
    return false;
}

bool pb_verdict_has_scored(const struct pb_verdict *verdict, size_t device)
{
    const struct pb_scores *scores = verdict->scores;

    for (size_t m = 0; m < scores->metric_count; m++)
        if (verdict->features->metrics[m].domain != PB_DOMAIN_COUNT &&
            !isnan(scores->cells[device * scores->metric_count + m].sigmas))
            return true;
    return pb_verdict_has_history(verdict, device);
}
