/*
 * Judging: deviations are attributed, their causes named, and what needs no score is added.
 *
 * Every place is asked for its causes until nothing is left unexplained. Nodes and slots come
 * first, and what they explain of their devices is not told again.
 */
#include "analysis/verdict/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/cause.h"
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

/* What was found of a node or a slot, for its devices. */
struct cause_of_many {
    struct pb_diagnosis diagnosis;
    size_t bundle;
};

struct wider {
    struct cause_of_many *items;
    size_t count, capacity;
};

static enum pb_status remember(struct pb_verdict *verdict, struct wider *wider,
                               const struct pb_diagnosis *diagnosis, size_t bundle)
{
    struct cause_of_many *items =
        pb_with_room(wider->items, wider->count, &wider->capacity, sizeof(*items));

    if (items == NULL)
        return pb_fail(verdict->err, PB_NO_MEMORY, "no memory for %zu causes", wider->count + 1);
    wider->items = items;
    wider->items[wider->count++] = (struct cause_of_many){*diagnosis, bundle};
    return PB_OK;
}

/* Does the wider place (a node or a slot) hold this device? */
static bool holds(const struct pb_sheet *sheet, const struct pb_bundle *place,
                  const struct pb_bundle *bundle)
{
    const struct pb_subject *one = &sheet->subjects[place->subject];
    const struct pb_subject *other = &sheet->subjects[bundle->subject];

    if (place->level == PB_LEVEL_NODE)
        return strcmp(one->host, other->host) == 0;
    if (place->level == PB_LEVEL_POPULATION)
        return place->group == bundle->group;
    return place->group == bundle->group && one->slot == other->slot;
}

/* The devices of a bundle's place: of the group, and all of its row, column or group. */
static enum pb_status add_with_members(struct pb_verdict *verdict, const struct pb_bundle *bundle,
                                       const struct pb_finding *finding)
{
    const struct pb_group *group = &verdict->scores->groups[bundle->group];
    struct pb_members members = {malloc((group->member_count + 1) * sizeof(size_t)), 0};
    enum pb_status status;

    if (bundle->level == PB_LEVEL_DEVICE) {
        free(members.subjects);
        return pb_verdict_add_device(verdict, finding, bundle->subject);
    }
    if (members.subjects == NULL)
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory listing %zu devices",
                       group->member_count);
    for (size_t i = 0; i < group->member_count; i++) {
        struct pb_bundle device = {.group = bundle->group, .subject = group->members[i]};

        if (holds(verdict->sheet, bundle, &device))
            members.subjects[members.count++] = group->members[i];
    }
    status = pb_verdict_add(verdict, finding, &members, NULL);
    free(members.subjects);
    return status;
}

static enum pb_status judge_bundle(struct pb_verdict *verdict, struct pb_bundles *bundles,
                                   size_t at, struct wider *wider)
{
    struct pb_bundle *bundle = &bundles->items[at];
    struct pb_diagnosis diagnosis;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < wider->count && bundle->level == PB_LEVEL_DEVICE; i++)
        if (holds(verdict->sheet, &bundles->items[wider->items[i].bundle], bundle))
            pb_cause_absorb(verdict->sheet, &wider->items[i].diagnosis, bundle);
    for (unsigned number = 1;
         status == PB_OK && pb_cause_next(verdict->sheet, bundle, number, &diagnosis); number++) {
        struct pb_finding finding;

        pb_cause_word(verdict->sheet, verdict->scores, bundle, &diagnosis, &finding);
        status = add_with_members(verdict, bundle, &finding);
        if (status == PB_OK && bundle->level != PB_LEVEL_DEVICE)
            status = remember(verdict, wider, &diagnosis, at);
    }
    return status;
}

static enum pb_status judge_moves(struct pb_verdict *verdict)
{
    struct pb_bundles bundles = {0};
    struct wider wider = {0};
    enum pb_status status = pb_attribute(verdict->sheet, verdict->scores, &bundles, verdict->err);

    for (size_t i = 0; i < bundles.count && status == PB_OK; i++)
        status = judge_bundle(verdict, &bundles, i, &wider);
    free(wider.items);
    pb_bundles_clear(&bundles);
    return status;
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
    status = judge_moves(&verdict);
    if (status == PB_OK)
        status = pb_judge_status(&verdict);
    if (status == PB_OK)
        status = pb_judge_gaps(&verdict);
    if (status == PB_OK)
        status = pb_judge_splits(&verdict);
    if (status == PB_OK)
        status = pb_judge_configuration(&verdict);
    if (status == PB_OK)
        status = pb_judge_inventory(&verdict);
    if (status == PB_OK)
        status = pb_judge_trends(&verdict);
    if (status == PB_OK)
        status = pb_judge_references(&verdict);
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
