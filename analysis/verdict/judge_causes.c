/*
 * Causes and units: every device's deviations are diagnosed by themselves; devices of one group
 * with the same diagnosis are then attributed to the units that explain them best.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/cause.h"
#include "analysis/verdict/judge.h"
#include "analysis/verdict/population.h"
#include "core/reserve.h"

enum { EVEN_DEVICES_MIN = 4 };

/* A device with one of its diagnoses. */
struct diagnosed {
    size_t member;
    struct pb_diagnosis diagnosis;
    bool is_attributed;
};

/* One group at work. */
struct work {
    struct pb_verdict *verdict;
    const struct pb_group *group;
    struct pb_layout layout;
    struct pb_deviations *deviations; /* per member */
    struct diagnosed *diagnosed;
    size_t count, capacity;
    bool *affected; /* per member: by the diagnosis at work */
    size_t *which;  /* per member: with it */
};

static void free_work(struct work *work)
{
    for (size_t i = 0; work->deviations != NULL && i < work->group->member_count; i++)
        pb_deviations_clear(&work->deviations[i]);
    free(work->deviations);
    free(work->diagnosed);
    free(work->affected);
    free(work->which);
    pb_layout_clear(&work->layout);
}

static const struct pb_deviation *lead_of(const struct work *work, const struct diagnosed *which)
{
    return &work->deviations[which->member].items[which->diagnosis.lead];
}

static const struct pb_metric *lead_metric(const struct work *work, const struct diagnosed *which)
{
    return &work->verdict->features->metrics[lead_of(work, which)->metric];
}

static enum pb_status diagnose(struct work *work, size_t member)
{
    const struct pb_verdict *verdict = work->verdict;
    struct pb_deviations *deviations = &work->deviations[member];
    struct diagnosed which = {.member = member};
    enum pb_status status = pb_deviations_read(
        verdict->features, verdict->scores, (size_t)(work->group - verdict->scores->groups),
        work->group->members[member], deviations, verdict->err);

    for (unsigned number = 1;
         status == PB_OK && pb_cause_next(verdict->features, deviations, number, &which.diagnosis);
         number++) {
        status =
            PB_RESERVE(work->diagnosed, work->count, work->capacity, "diagnoses", verdict->err);
        if (status == PB_OK)
            work->diagnosed[work->count++] = which;
    }
    return status;
}

/* Does this belong to one place of the device (an SM), which no other device shares? */
static bool is_local(const struct work *work, const struct diagnosed *which)
{
    return which->diagnosis.cause->level == PB_LEVEL_SM && lead_of(work, which)->place >= 0;
}

/* Is it the same that two devices have? Unknown causes differ by what deviates. */
static bool is_alike(const struct work *work, const struct diagnosed *a, const struct diagnosed *b)
{
    const struct pb_metric *one = lead_metric(work, a), *other = lead_metric(work, b);
    bool is_unexplained = a->diagnosis.cause[1].word == NULL;

    return a->diagnosis.cause == b->diagnosis.cause &&
           pb_deviation_is_worse(one, lead_of(work, a)) ==
               pb_deviation_is_worse(other, lead_of(work, b)) &&
           (!is_unexplained || (one->part == other->part && one->domain == other->domain));
}

/* The member with the middle deviation stands for its unit. */
static const struct diagnosed *typical_of(const struct work *work, const struct pb_unit *unit)
{
    const struct diagnosed *typical = &work->diagnosed[work->which[unit->members[0]]];

    for (size_t i = 0; i < unit->count; i++) {
        const struct diagnosed *which = &work->diagnosed[work->which[unit->members[i]]];
        double shift = fabs(lead_of(work, which)->shift);
        size_t below = 0, above = 0;

        for (size_t k = 0; k < unit->count; k++) {
            double other =
                fabs(lead_of(work, &work->diagnosed[work->which[unit->members[k]]])->shift);

            below += other < shift;
            above += other > shift;
        }
        if (2 * below <= unit->count && 2 * above <= unit->count)
            return which;
    }
    return typical;
}

static enum pb_severity worst_of(const struct work *work, const struct pb_unit *unit)
{
    enum pb_severity worst = PB_SEVERITY_OK;

    for (size_t i = 0; i < unit->count; i++) {
        enum pb_severity severity =
            work->diagnosed[work->which[unit->members[i]]].diagnosis.severity;

        if (pb_severity_rank(severity) > pb_severity_rank(worst))
            worst = severity;
    }
    return worst;
}

static enum pb_status add_finding(const struct work *work, const struct pb_unit *unit,
                                  const struct pb_finding *finding, bool is_undetermined)
{
    const struct pb_group *group = work->group;
    size_t *rows = malloc((group->member_count + 1) * sizeof(*rows)), others = 0;
    struct pb_members members = {rows, unit->count}, counterparts = {NULL, 0};
    enum pb_status status;

    if (rows == NULL)
        return pb_fail(work->verdict->err, PB_NO_MEMORY, "out of memory listing %zu devices",
                       group->member_count);
    for (size_t i = 0; i < unit->count; i++)
        rows[i] = group->members[unit->members[i]];
    for (size_t i = 0; i < group->member_count && is_undetermined; i++)
        if (!work->affected[i])
            rows[unit->count + others++] = group->members[i];
    counterparts = (struct pb_members){rows + unit->count, others};
    status = pb_verdict_add(work->verdict, finding, &members, &counterparts);
    free(rows);
    return status;
}

static enum pb_status report_unit(const struct work *work, const struct pb_unit *unit,
                                  bool is_undetermined)
{
    const struct diagnosed *typical = typical_of(work, unit);
    struct pb_diagnosis diagnosis = typical->diagnosis;
    struct pb_finding finding;

    diagnosis.severity = worst_of(work, unit);
    pb_cause_word(work->verdict->features, work->verdict->scores,
                  &work->deviations[typical->member], &diagnosis, unit, &finding);
    if (unit->attribute < PB_ATTRIBUTE_COUNT)
        pb_finding_configuration(
            &work->verdict->features->devices[work->group->members[unit->first]].info,
            unit->attribute, &finding);
    if (is_undetermined)
        pb_finding_undetermined(unit->count, work->group->member_count - unit->count, &finding);
    return add_finding(work, unit, &finding, is_undetermined);
}

/* How many of the devices at work are known to be wrong: by events, or by what they were before. */
static size_t count_certain(const struct work *work)
{
    size_t count = 0;

    for (size_t i = 0; i < work->group->member_count; i++) {
        const struct diagnosed *which = &work->diagnosed[work->which[i]];

        if (work->affected[i])
            count +=
                lead_of(work, which)->against == PB_AGAINST_HISTORY || which->diagnosis.by_event;
    }
    return count;
}

/* Near half of the group deviates alike from the rest, and no history says which are right. */
static bool is_even(const struct work *work, size_t affected)
{
    return affected >= EVEN_DEVICES_MIN &&
           (double)affected >= PB_EVEN_SHARE * (double)work->group->member_count &&
           2 * count_certain(work) <= affected;
}

/* All of them as one of two populations; a configuration that distinguishes them is the cause. */
static enum pb_status report_even(const struct work *work, size_t affected)
{
    size_t count = work->group->member_count;
    struct pb_unit unit = {.level = PB_LEVEL_POPULATION,
                           .attribute = PB_ATTRIBUTE_COUNT,
                           .held = count,
                           .members = malloc((affected + 1) * sizeof(*unit.members))};
    signed char *inside = malloc(count + 1);
    enum pb_status status = PB_OK;

    if (unit.members == NULL || inside == NULL)
        status = pb_fail(work->verdict->err, PB_NO_MEMORY, "out of memory for two populations");
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        inside[i] = work->affected[i];
        if (work->affected[i])
            unit.members[unit.count++] = i;
    }
    if (status == PB_OK) {
        unit.attribute = pb_attribute_separating(&work->layout, inside, &unit.first);
        status = report_unit(work, &unit, !pb_attribute_is_setting(unit.attribute));
    }
    free(unit.members);
    free(inside);
    return status;
}

static enum pb_status attribute_set(struct work *work, size_t affected, bool loose)
{
    struct pb_units units;
    enum pb_status status;

    if (is_even(work, affected))
        return report_even(work, affected);
    status = pb_attribute(&work->layout, work->affected, 2 * count_certain(work) > affected, loose,
                          &units, work->verdict->err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < units.count && status == PB_OK; i++)
        status = report_unit(work, &units.items[i], false);
    pb_units_clear(&units);
    return status;
}

/* All devices that have what this one has. */
static enum pb_status attribute_like(struct work *work, size_t first)
{
    bool is_alone = is_local(work, &work->diagnosed[first]);
    size_t affected = 0;

    memset(work->affected, 0, work->group->member_count * sizeof(*work->affected));
    for (size_t i = first; i < work->count; i++) {
        struct diagnosed *which = &work->diagnosed[i];

        if (which->is_attributed || (i != first && is_alone) || work->affected[which->member] ||
            is_local(work, which) != is_alone || !is_alike(work, &work->diagnosed[first], which))
            continue;
        which->is_attributed = true;
        work->affected[which->member] = true;
        work->which[which->member] = i;
        affected++;
    }
    return attribute_set(work, affected, !is_alone);
}

static enum pb_status judge_group(struct pb_verdict *verdict, const struct pb_group *group)
{
    size_t count = group->member_count;
    struct work work = {.verdict = verdict,
                        .group = group,
                        .deviations = calloc(count + 1, sizeof(*work.deviations)),
                        .affected = calloc(count + 1, sizeof(*work.affected)),
                        .which = calloc(count + 1, sizeof(*work.which))};
    enum pb_status status = PB_OK;

    if (work.deviations == NULL || work.affected == NULL || work.which == NULL)
        status = pb_fail(verdict->err, PB_NO_MEMORY, "out of memory judging %zu devices", count);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = diagnose(&work, i);
    if (status == PB_OK && work.count > 0)
        status = pb_layout_make(verdict->features, group, &work.layout, verdict->err);
    for (size_t i = 0; i < work.count && status == PB_OK; i++)
        if (!work.diagnosed[i].is_attributed)
            status = attribute_like(&work, i);
    free_work(&work);
    return status;
}

enum pb_status pb_judge_causes(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_group(verdict, &verdict->scores->groups[g]);
    return status;
}
