/*
 * Populations: a group that falls in two parts of which either may be the healthy one, and groups
 * of one kind that their configuration sets apart. Each is one finding, whatever number of metrics
 * shows it, with the devices of both sides.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/judge.h"
#include "analysis/verdict/partition.h"
#include "analysis/verdict/population.h"

/* Of the devices of one part: so many are named by findings whose causes explain the partition. */
#define EXPLAINED_SHARE 0.8

enum { COMPARED_MIN = 8 };

void pb_finding_configuration(const struct pb_device_info *info, enum pb_attribute attribute,
                              struct pb_finding *finding)
{
    char value[PB_TEXT_LENGTH], evidence[PB_MESSAGE_LENGTH];

    pb_attribute_text(info, attribute, value);
    PB_TEXT_SET(finding->attribute, pb_attribute_name(attribute));
    PB_TEXT_SET(finding->attribute_value, value);
    if (finding->severity == PB_SEVERITY_UNKNOWN)
        finding->severity = PB_SEVERITY_WARNING;
    finding->level = PB_LEVEL_POPULATION;
    snprintf(evidence, sizeof(evidence), "%s %.64s goes with it: %.300s",
             pb_attribute_name(attribute), value, finding->evidence);
    PB_TEXT_SET(finding->evidence, evidence);
    if ((!pb_attribute_is_setting(attribute) || finding->by_event) && finding->cause[0] != '\0')
        return;
    PB_TEXT_SET(finding->cause, "configuration");
    snprintf(
        finding->advice, sizeof(finding->advice),
        pb_attribute_is_setting(attribute)
            ? "give all devices of the model the same %s, or find out what this one costs"
            : "compare a device of this %s with one of another by the full battery, then consult "
              "the vendor",
        pb_attribute_name(attribute));
}

void pb_finding_undetermined(size_t members, size_t others, struct pb_finding *finding)
{
    char summary[PB_MESSAGE_LENGTH];

    finding->severity = PB_SEVERITY_UNKNOWN;
    finding->level = PB_LEVEL_POPULATION;
    PB_TEXT_SET(finding->cause, "two_populations");
    snprintf(summary, sizeof(summary),
             "two populations, %zu and %zu of %zu devices; which is right cannot be determined: "
             "%.300s",
             members, others, members + others, finding->summary);
    PB_TEXT_SET(finding->summary, summary);
    PB_TEXT_SET(finding->advice, "compare with an earlier run (--baseline), or a device of either "
                                 "side with another fleet");
}

/* ---- one group in two parts ---- */

static const struct pb_norm *norm_of(const struct pb_verdict *verdict, size_t group, size_t metric)
{
    return &verdict->scores->norms[group * verdict->scores->metric_count + metric];
}

static void word_parts(const struct pb_metric *metric, const struct pb_norm *norm, bool is_other,
                       struct pb_finding *finding)
{
    PB_TEXT_SET(finding->metric, metric->name);
    PB_TEXT_SET(finding->unit, metric->unit);
    finding->value = is_other ? norm->split_other : norm->center;
    finding->expected = is_other ? norm->center : norm->split_other;
    finding->shift = pb_metric_shift(metric, finding->value, finding->expected);
    finding->sigmas =
        copysign(fabs(norm->split_other - norm->center) / norm->scale, finding->shift);
    finding->peers = norm->peers;
    snprintf(finding->summary, sizeof(finding->summary), "%s is about %.4g or about %.4g %s",
             metric->name, finding->value, finding->expected, metric->unit);
    PB_TEXT_SET(finding->evidence_path, "/devices");
}

/* Rows of the feature table of one part, in the order of the group. */
static size_t list_part(const struct pb_group *group, const signed char *parts, int part,
                        size_t *rows)
{
    size_t count = 0;

    for (size_t i = 0; i < group->member_count; i++)
        if (parts[i] == part)
            rows[count++] = group->members[i];
    return count;
}

/* Is the part that the finding is about the one which is not the majority? */
static bool is_about_other(const struct pb_verdict *verdict, size_t group_index,
                           const struct pb_partition *partition)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    const struct pb_norm *norm = norm_of(verdict, group_index, partition->lead);
    bool other_is_high = norm->split_other > norm->center;
    size_t known = 0, others = 0;

    for (size_t i = 0; i < group->member_count; i++) {
        double value =
            pb_features_reading(verdict->features, group->members[i], partition->lead).value;

        if (partition->parts[i] != PB_PART_WORSE || isnan(value))
            continue;
        known++;
        others += (value > norm->split_boundary) == other_is_high;
    }
    return 2 * others > known;
}

static bool is_member(const struct pb_members *members, size_t row)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->devices[i] == row)
            return true;
    return false;
}

/*
 * Do findings name nearly all of one part already, by values of theirs? Then it follows from their
 * causes. That a device lacks a number explains none of its others.
 */
static bool is_explained(const struct pb_verdict *verdict, const struct pb_members *part)
{
    size_t explained = 0;

    for (size_t i = 0; i < part->count; i++) {
        bool is_named = false;

        for (size_t f = 0; f < verdict->findings.count && !is_named; f++) {
            const struct pb_finding *finding = &verdict->findings.items[f];

            is_named = finding->severity != PB_SEVERITY_UNKNOWN && !isnan(finding->value) &&
                       (finding->attribute[0] == '\0' || finding->by_event) &&
                       is_member(&finding->members, part->devices[i]);
        }
        explained += is_named;
    }
    return (double)explained >= EXPLAINED_SHARE * (double)part->count;
}

/* Does a finding list these two parts already, by a cause that near half of the group has? */
static bool is_reported(const struct pb_verdict *verdict, const struct pb_members *one,
                        const struct pb_members *other)
{
    size_t count = one->count + other->count;

    for (size_t f = 0; f < verdict->findings.count; f++) {
        const struct pb_finding *finding = &verdict->findings.items[f];
        size_t alike = 0, held = 0;

        if (finding->counterparts.count == 0)
            continue;
        for (size_t i = 0; i < one->count; i++)
            alike += is_member(&finding->members, one->devices[i]);
        for (size_t i = 0; i < other->count; i++)
            held += is_member(&finding->members, other->devices[i]);
        if (alike + held == 0)
            continue;
        alike += other->count - held;
        if ((double)(2 * alike > count ? alike : count - alike) >= PB_SAME_SHARE * (double)count)
            return true;
    }
    return false;
}

static enum pb_status report_partition(struct pb_verdict *verdict, size_t group_index,
                                       const struct pb_layout *layout,
                                       const struct pb_partition *partition)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_UNKNOWN, PB_LEVEL_POPULATION);
    size_t *rows = malloc(2 * (group->member_count + 1) * sizeof(*rows)), first = 0;
    struct pb_members members = {rows, 0}, counterparts;
    enum pb_attribute attribute;
    enum pb_status status;

    if (rows == NULL)
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory listing %zu devices",
                       group->member_count);
    members.count = list_part(group, partition->parts, PB_PART_WORSE, rows);
    counterparts = (struct pb_members){rows + members.count, 0};
    counterparts.count = list_part(group, partition->parts, PB_PART_REST, counterparts.devices);
    word_parts(&verdict->features->metrics[partition->lead],
               norm_of(verdict, group_index, partition->lead),
               is_about_other(verdict, group_index, partition), &finding);
    PB_TEXT_SET(finding.place, group->name);
    finding.group = group_index + 1;
    finding.metrics = partition->metrics;
    attribute = pb_attribute_separating(layout, partition->parts, &first);
    snprintf(finding.evidence, sizeof(finding.evidence), "%zu numbers fall in the same two parts%s",
             partition->metrics,
             attribute == PB_ATTRIBUTE_COUNT
                 ? "; no attribute that the driver reports separates them"
                 : "");
    if (attribute != PB_ATTRIBUTE_COUNT)
        pb_finding_configuration(&verdict->features->devices[group->members[first]].info, attribute,
                                 &finding);
    if (!pb_attribute_is_setting(attribute))
        pb_finding_undetermined(members.count, counterparts.count, &finding);
    status = is_explained(verdict, &members) || is_explained(verdict, &counterparts) ||
                     is_reported(verdict, &members, &counterparts)
                 ? PB_OK
                 : pb_verdict_add(verdict, &finding, &members, &counterparts);
    free(rows);
    return status;
}

static enum pb_status judge_group(struct pb_verdict *verdict, size_t group)
{
    struct pb_partitions partitions;
    struct pb_layout layout = {0};
    enum pb_status status =
        pb_partitions_read(verdict->features, verdict->scores, group, &partitions, verdict->err);

    if (status == PB_OK && partitions.count > 0)
        status = pb_layout_make(verdict->features, &verdict->scores->groups[group], &layout,
                                verdict->err);
    for (size_t i = 0; i < partitions.count && status == PB_OK; i++)
        status = report_partition(verdict, group, &layout, &partitions.items[i]);
    pb_partitions_clear(&partitions);
    pb_layout_clear(&layout);
    return status;
}

/* ---- groups of one kind ---- */

/* Two groups, and where they differ. */
struct comparison {
    size_t reference, group;
    enum pb_attribute attribute; /* in which they differ */
    size_t lead, metrics;        /* lead: farthest apart in practical sizes */
    double farthest;
};

/* What is measured of a healthy device whatever it is used for. */
static bool is_performance(const struct pb_metric *metric)
{
    return metric->domain <= PB_DOMAIN_SIZE && metric->practical > 0.0;
}

/* By how many practical sizes the groups' majorities lie apart; 0 where chance may have done it. */
static double difference(const struct pb_verdict *verdict, const struct comparison *comparison,
                         size_t metric, double p)
{
    const struct pb_norm *a = norm_of(verdict, comparison->reference, metric);
    const struct pb_norm *b = norm_of(verdict, comparison->group, metric);
    double shift, error;
    struct pb_null null;

    if (a->majority < COMPARED_MIN || b->majority < COMPARED_MIN)
        return 0.0;
    shift = pb_metric_shift(&verdict->features->metrics[metric], b->center, a->center);
    error = hypot(a->scale / sqrt(fmax(1.0, a->independent_peers)),
                  b->scale / sqrt(fmax(1.0, b->independent_peers)));
    pb_null_set(&null, fmin(a->independent_peers, b->independent_peers), 0.0);
    return fabs(b->center - a->center) >= pb_null_sigmas(&null, p) * error
               ? shift / verdict->features->metrics[metric].practical
               : 0.0;
}

static void compare(const struct pb_verdict *verdict, double p, struct comparison *comparison)
{
    for (size_t m = 0; m < verdict->scores->metric_count; m++) {
        double sizes;

        if (!is_performance(&verdict->features->metrics[m]))
            continue;
        sizes = difference(verdict, comparison, m, p);
        if (fabs(sizes) < 1.0)
            continue;
        comparison->metrics++;
        if (fabs(sizes) > fabs(comparison->farthest)) {
            comparison->farthest = sizes;
            comparison->lead = m;
        }
    }
}

/* The attribute in which two groups differ. A number of SMs is no configuration. */
static enum pb_attribute differing(const struct pb_verdict *verdict, size_t a, size_t b)
{
    struct pb_usual one, other;

    pb_group_usual(verdict->features, &verdict->scores->groups[a], &one);
    pb_group_usual(verdict->features, &verdict->scores->groups[b], &other);
    if (strcmp(one.text[PB_ATTRIBUTE_SM_COUNT], other.text[PB_ATTRIBUTE_SM_COUNT]) != 0)
        return PB_ATTRIBUTE_COUNT;
    for (int attribute = 0; attribute < PB_ATTRIBUTE_COUNT; attribute++)
        if (strcmp(one.text[attribute], other.text[attribute]) != 0)
            return (enum pb_attribute)attribute;
    return PB_ATTRIBUTE_COUNT;
}

static enum pb_status report_comparison(struct pb_verdict *verdict,
                                        const struct comparison *comparison)
{
    const struct pb_metric *metric = &verdict->features->metrics[comparison->lead];
    bool is_worse = metric->better == PB_BETTER_NEITHER ||
                    (metric->better == PB_BETTER_LOWER) == (comparison->farthest > 0.0);
    size_t meant = is_worse ? comparison->group : comparison->reference;
    size_t other = is_worse ? comparison->reference : comparison->group;
    const struct pb_group *group = &verdict->scores->groups[meant];
    const struct pb_group *others = &verdict->scores->groups[other];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_POPULATION);
    struct pb_members members = {group->members, group->member_count};
    struct pb_members counterparts = {others->members, others->member_count};

    PB_TEXT_SET(finding.place, group->name);
    PB_TEXT_SET(finding.metric, metric->name);
    PB_TEXT_SET(finding.unit, metric->unit);
    finding.group = meant + 1;
    finding.metrics = comparison->metrics;
    finding.value = norm_of(verdict, meant, comparison->lead)->center;
    finding.expected = norm_of(verdict, other, comparison->lead)->center;
    finding.shift = pb_metric_shift(metric, finding.value, finding.expected);
    finding.peers = counterparts.count;
    snprintf(finding.summary, sizeof(finding.summary),
             "%zu devices against %zu of %.200s: %s %.4g %s, expected %.4g (%+.1f%%)",
             members.count, counterparts.count, others->name, metric->name, finding.value,
             metric->unit, finding.expected, 100.0 * finding.shift);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%zu numbers of the two groups' majorities differ by their practical size",
             comparison->metrics);
    pb_finding_configuration(&verdict->features->devices[group->members[0]].info,
                             comparison->attribute, &finding);
    return pb_verdict_add(verdict, &finding, &members, &counterparts);
}

/* The largest group of the kind, with which the others are compared. */
static size_t reference_of(const struct pb_scores *scores, size_t group)
{
    size_t best = group;

    for (size_t g = 0; g < scores->group_count; g++)
        if (strcmp(scores->groups[g].kind, scores->groups[group].kind) == 0 &&
            (scores->groups[g].member_count > scores->groups[best].member_count ||
             (g < best && scores->groups[g].member_count == scores->groups[best].member_count)))
            best = g;
    return best;
}

static enum pb_status compare_groups(struct pb_verdict *verdict)
{
    const struct pb_scores *scores = verdict->scores;
    double tests = (double)scores->group_count * (double)scores->metric_count;
    double p = PB_SCORE_OPTIONS_DEFAULT.critical_rate / fmax(1.0, tests);
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < scores->group_count && status == PB_OK; g++) {
        struct comparison comparison = {.reference = reference_of(scores, g), .group = g};

        if (comparison.reference == g || scores->groups[g].member_count == 0)
            continue;
        comparison.attribute = differing(verdict, comparison.reference, g);
        if (comparison.attribute == PB_ATTRIBUTE_COUNT)
            continue;
        compare(verdict, p, &comparison);
        if (comparison.metrics > 0)
            status = report_comparison(verdict, &comparison);
    }
    return status;
}

enum pb_status pb_judge_populations(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_group(verdict, g);
    return status == PB_OK ? compare_groups(verdict) : status;
}
