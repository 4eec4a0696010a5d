/*
 * What could not be judged, and why: groups with too few peers, and devices without a number that
 * was compared with anything. Of those the driver's reason for a low clock is all that is known.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/judge.h"
#include "analysis/verdict/population.h"
#include "analysis/verdict/sensitivity.h"

/* "l2.latency_cycles 9%, clock.sm_mhz 4%": what would have been found at the least. */
static void write_detectable(const struct pb_verdict *verdict, size_t group, bool against_history,
                             char *text, size_t size)
{
    static const char *const telling[] = {"dram.peak_bytes_per_s", "l2.latency_cycles",
                                          "clock.sm_mhz", "host_link.peak_bytes_per_s"};

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
        size_t metric = pb_features_find(verdict->features, telling[i]), length = strlen(text);
        const struct pb_norm *norm;
        double smallest;

        if (metric == verdict->features->metric_count)
            continue;
        norm = &verdict->scores->norms[group * verdict->scores->metric_count + metric];
        smallest = against_history ? norm->drift_detectable / norm->drift_center
                                   : norm->detectable / norm->center;
        if (isfinite(smallest))
            snprintf(text + length, size - length, "%s%s %.1f%%", length == 0 ? "" : ", ",
                     telling[i], 100.0 * fabs(smallest));
    }
    if (text[0] == '\0')
        snprintf(text, size, "none");
}

/* Numbers of a group that were compared with their own history. */
static size_t count_drifts(const struct pb_scores *scores, size_t group)
{
    size_t count = 0;

    for (size_t m = 0; m < scores->metric_count; m++)
        count += scores->norms[group * scores->metric_count + m].drift_pairs > 0 ? 1 : 0;
    return count;
}

/* Numbers that sum up all tests of a run, where the history had others. */
static enum pb_status judge_unlike(struct pb_verdict *verdict, size_t group_index)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_OK, PB_LEVEL_FLEET);
    size_t metrics = 0, devices = 0;

    for (size_t m = 0; m < verdict->scores->metric_count; m++) {
        size_t unlike =
            verdict->scores->norms[group_index * verdict->scores->metric_count + m].drift_unlike;

        metrics += unlike > 0;
        devices = unlike > devices ? unlike : devices;
    }
    if (metrics == 0)
        return PB_OK;
    PB_TEXT_SET(finding.place, group->name);
    PB_TEXT_SET(finding.cause, "battery_mismatch");
    finding.group = group_index + 1;
    finding.metrics = metrics;
    snprintf(
        finding.summary, sizeof(finding.summary),
        "%zu metrics of %zu devices were not compared with their earlier runs, which had other "
        "tests: power, heat, tails and what else sums up a whole run",
        metrics, devices);
    return pb_verdict_add(verdict, &finding, NULL, NULL);
}

/* Has any device of the group's model in this feature table a number of the metric by another
 * version of its test's method? Within one feature table each pair of metrics counts once. */
static bool is_by_other_method(const struct pb_verdict *verdict, const struct pb_group *group,
                               size_t metric, const struct pb_features *others)
{
    const struct pb_metric *wanted = &verdict->features->metrics[metric];
    const char *model = verdict->features->devices[group->members[0]].info.model;
    size_t end = others == verdict->features ? metric : others->metric_count;

    for (size_t m = 0; m < end; m++)
        for (size_t i = 0;
             i < others->device_count && pb_metric_is_other_method(&others->metrics[m], wanted);
             i++)
            if (strcmp(others->devices[i].info.model, model) == 0 &&
                !isnan(pb_features_reading(others, i, m).value))
                return true;
    return false;
}

/* Adds a test's name to a list unless it is there; at the end of the room, "…". */
static void list_test(const char *test, char *text, size_t size)
{
    static const char more[] = ", …";
    const char *found = strstr(text, test);
    size_t length = strlen(text);

    if (found != NULL && (found[strlen(test)] == ',' || found[strlen(test)] == '\0'))
        return;
    if (length + strlen(test) + 2 * sizeof(more) < size)
        snprintf(text + length, size - length, "%s%s", length == 0 ? "" : ", ", test);
    else if (length >= strlen(more) && strcmp(text + length - strlen(more), more) != 0)
        snprintf(text + length, size - length, "%s", more);
}

static size_t count_having(const struct pb_features *features, const struct pb_group *group,
                           size_t metric)
{
    size_t count = 0;

    for (size_t i = 0; i < group->member_count; i++)
        count += !isnan(pb_features_reading(features, group->members[i], metric).value);
    return count;
}

/* Numbers of tests whose method was another one in the baseline, or on other devices of the run. */
static enum pb_status judge_methods(struct pb_verdict *verdict, size_t group_index,
                                    const struct pb_features *others)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_OK, PB_LEVEL_FLEET);
    char tests[PB_MESSAGE_LENGTH / 2] = "";

    for (size_t m = 0; m < verdict->features->metric_count && group->member_count > 0; m++)
        if (is_by_other_method(verdict, group, m, others) &&
            count_having(verdict->features, group, m) > 0) {
            list_test(verdict->features->metrics[m].test, tests, sizeof(tests));
            finding.metrics++;
        }
    if (finding.metrics == 0)
        return PB_OK;
    PB_TEXT_SET(finding.place, group->name);
    PB_TEXT_SET(finding.cause, "battery_mismatch");
    finding.group = group_index + 1;
    snprintf(finding.summary, sizeof(finding.summary),
             others == verdict->features
                 ? "%zu metrics were compared only among devices whose tests used the same version "
                   "of their method: %s"
                 : "%zu metrics were not compared with the baseline, whose tests used another "
                   "version of their method: %s",
             (size_t)finding.metrics, tests);
    PB_TEXT_SET(finding.advice, others == verdict->features
                                    ? "measure all devices with the same version of the program"
                                    : "measure the baseline anew");
    return pb_verdict_add(verdict, &finding, NULL, NULL);
}

/* Too few for each other, but each was compared with what it was itself: that is a verdict. */
static enum pb_status judge_own_history(struct pb_verdict *verdict, size_t group_index,
                                        struct pb_finding *finding)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    char detectable[PB_MESSAGE_LENGTH];

    finding->severity = PB_SEVERITY_OK;
    PB_TEXT_SET(finding->cause, "self_history");
    snprintf(finding->summary, sizeof(finding->summary),
             "%zu of %zu devices compared with their own earlier runs; too few peers to compare "
             "with each "
             "other",
             group->member_count, group->member_count);
    write_detectable(verdict, group_index, true, detectable, sizeof(detectable));
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%zu metrics have earlier values; a drift is a finding of its device. A fall would "
             "have been "
             "CRITICAL from %.200s on",
             count_drifts(verdict->scores, group_index), detectable);
    return pb_verdict_add(verdict, finding, NULL, NULL);
}

/* Members for which the answer is yes. */
static size_t count_members(const struct pb_verdict *verdict, const struct pb_group *group,
                            bool (*is_so)(const struct pb_verdict *verdict, size_t device))
{
    size_t count = 0;

    for (size_t i = 0; i < group->member_count; i++)
        count += is_so(verdict, group->members[i]) ? 1 : 0;
    return count;
}

/* So few devices that none was compared with anything: they are named together. */
static bool is_too_small(const struct pb_verdict *verdict, const struct pb_group *group)
{
    return group->member_count + group->baseline_count < PB_POPULATION_MIN &&
           count_members(verdict, group, pb_verdict_has_scored) == 0;
}

static void word_too_small(const struct pb_verdict *verdict, const struct pb_group *group,
                           struct pb_finding *finding)
{
    char *text = finding->summary;

    text[0] = '\0';
    for (size_t i = 0; i < group->member_count; i++) {
        size_t length = strlen(text);

        snprintf(text + length, sizeof(finding->summary) - length, "%s%s", i == 0 ? "" : ", ",
                 verdict->features->devices[group->members[i]].key);
    }
    snprintf(text + strlen(text), sizeof(finding->summary) - strlen(text),
             ": not compared; that takes %d devices of one model, and %d before a shift can be "
             "CRITICAL",
             PB_POPULATION_MIN, PB_GROUP_MIN_PEERS);
    PB_TEXT_SET(finding->evidence,
                "only what needs no peers was judged: errors, throttling, devices that failed");
    if (group->member_count == 1)
        pb_finding_place(&verdict->features->devices[group->members[0]], finding);
}

static void word_few(const struct pb_verdict *verdict, size_t group_index,
                     struct pb_finding *finding)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    char detectable[PB_MESSAGE_LENGTH], baseline[64] = "";

    if (group->baseline_count > 0)
        snprintf(baseline, sizeof(baseline), " and %zu of a baseline", group->baseline_count);
    snprintf(finding->summary, sizeof(finding->summary),
             "%zu devices%s: with fewer than %d peers a shift is at most a WARNING",
             group->member_count, baseline, PB_GROUP_MIN_PEERS);
    write_detectable(verdict, group_index, false, detectable, sizeof(detectable));
    snprintf(finding->evidence, sizeof(finding->evidence), "minimum detectable shifts: %.200s",
             detectable);
}

static enum pb_status judge_peers(struct pb_verdict *verdict, size_t group_index)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_UNKNOWN, PB_LEVEL_FLEET);

    if (group->sufficient)
        return PB_OK;
    PB_TEXT_SET(finding.place, group->name);
    finding.group = group_index + 1;
    if (group->member_count > 0)
        PB_TEXT_SET(finding.model, verdict->features->devices[group->members[0]].info.model);
    if (group->member_count > 0 &&
        count_members(verdict, group, pb_verdict_has_history) == group->member_count)
        return judge_own_history(verdict, group_index, &finding);
    PB_TEXT_SET(finding.cause, "insufficient_peers");
    finding.peers = group->member_count + group->baseline_count;
    if (is_too_small(verdict, group))
        word_too_small(verdict, group, &finding);
    else
        word_few(verdict, group_index, &finding);
    snprintf(finding.advice, sizeof(finding.advice),
             "measure %d or more of this model in one run, or compare with a baseline (--baseline)",
             PB_GROUP_MIN_PEERS);
    return pb_verdict_add(verdict, &finding, NULL, NULL);
}

/* Components of a group whose smallest visible shift is larger than anybody would accept. */
static enum pb_status judge_sensitivity(struct pb_verdict *verdict, size_t group_index)
{
    const struct pb_group *group = &verdict->scores->groups[group_index];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_UNKNOWN, PB_LEVEL_FLEET);
    struct pb_sensitivity worst;

    for (int part = 0; part < PB_PART_COUNT; part++) {
        size_t length = strlen(finding.summary);

        if (!pb_sensitivity_worst(verdict->features, verdict->scores, group_index,
                                  (enum pb_part)part, &worst) ||
            worst.shift <= PB_SENSITIVITY_PRACTICALS * worst.practical)
            continue;
        finding.metrics++;
        snprintf(finding.summary + length, sizeof(finding.summary) - length,
                 "%s%s %.2g%% (%s, practical size %.2g%%)", length == 0 ? "" : ", ",
                 pb_part_name((enum pb_part)part), 100.0 * worst.shift,
                 verdict->features->metrics[worst.metric].name, 100.0 * worst.practical);
    }
    if (finding.metrics == 0)
        return PB_OK;
    PB_TEXT_SET(finding.place, group->name);
    PB_TEXT_SET(finding.cause, "insufficient_sensitivity");
    finding.group = group_index + 1;
    finding.peers = group->member_count + group->baseline_count;
    snprintf(finding.evidence, sizeof(finding.evidence),
             "these minimum detectable shifts exceed %.0f practical sizes: a smaller one of these "
             "components would not have been found",
             PB_SENSITIVITY_PRACTICALS);
    PB_TEXT_SET(finding.advice, "measure more devices of the model, compare with a baseline "
                                "(--baseline), or find out why healthy devices differ so much");
    return pb_verdict_add(verdict, &finding, NULL, NULL);
}

/* The group's finding states already that this one was not compared. */
static bool group_has_finding(const struct pb_verdict *verdict, size_t device)
{
    for (size_t g = 0; g < verdict->scores->group_count; g++) {
        const struct pb_group *group = &verdict->scores->groups[g];

        for (size_t i = 0; i < group->member_count; i++)
            if (group->members[i] == device)
                return is_too_small(verdict, group);
    }
    return false;
}

/* Devices with a status that says all is well, but without a number that was scored. */
static enum pb_status judge_unscored(struct pb_verdict *verdict, size_t device_index)
{
    const struct pb_feature_row *device = &verdict->features->devices[device_index];
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_UNKNOWN, PB_LEVEL_DEVICE);

    if (strcmp(device->status, "ok") != 0 && strcmp(device->status, "partial") != 0)
        return PB_OK; /* found already */
    if (pb_verdict_has_scored(verdict, device_index) || group_has_finding(verdict, device_index))
        return PB_OK;
    pb_finding_place(device, &finding);
    PB_TEXT_SET(finding.cause, "not_judged");
    PB_TEXT_SET(finding.summary, "nothing that was measured here could be compared with peers");
    PB_TEXT_SET(finding.advice, "measure it with the same battery as its peers, or a baseline");
    return pb_verdict_add_device(verdict, &finding, device_index);
}

static double value_of(const struct pb_verdict *verdict, size_t device, const char *name,
                       double *practical_out)
{
    size_t metric = pb_features_find(verdict->features, name);

    if (metric == verdict->features->metric_count)
        return NAN;
    *practical_out = verdict->features->metrics[metric].practical;
    return pb_features_reading(verdict->features, device, metric).value;
}

/* A clock that nothing was compared with, below the device's own maximum in all of the run, and the
   driver's reason for it. */
static enum pb_status judge_lowered_clock(struct pb_verdict *verdict, size_t device)
{
    static const struct {
        const char *metric, *cause, *reason, *advice;
    } reasons[] = {
        {"throttle.locked_clocks", "locked_clocks", "application clocks",
         "unless they are meant, reset the clocks (nvidia-smi --reset-gpu-clocks)"},
        {"throttle.power_cap", "power_cap", "a power limit",
         "compare the enforced power limit with the default (nvidia-smi -q -d POWER)"},
    };
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE);
    double practical = 0.0;
    double clock = value_of(verdict, device, "nvml.sm_clock_most_over_max", &practical);

    if (pb_verdict_has_scored(verdict, device) || !(clock < 1.0 - practical))
        return PB_OK;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        double share = value_of(verdict, device, reasons[i].metric, &practical);

        if (!(share > practical))
            continue;
        pb_finding_place(&verdict->features->devices[device], &finding);
        PB_TEXT_SET(finding.cause, reasons[i].cause);
        PB_TEXT_SET(finding.metric, "nvml.sm_clock_most_over_max");
        PB_TEXT_SET(finding.advice, reasons[i].advice);
        finding.value = clock;
        finding.expected = 1.0;
        finding.shift = clock - 1.0;
        finding.metrics = 2;
        snprintf(finding.summary, sizeof(finding.summary),
                 "the SM clock was never above %.0f%% of the device's maximum", 100.0 * clock);
        snprintf(finding.evidence, sizeof(finding.evidence),
                 "the driver gave %s as the reason in %.0f%% of the samples", reasons[i].reason,
                 100.0 * share);
        return pb_verdict_add_device(verdict, &finding, device);
    }
    return PB_OK;
}

enum pb_status pb_judge_coverage(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_peers(verdict, g);
    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_unlike(verdict, g);
    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++) {
        if (verdict->options.baseline != NULL)
            status = judge_methods(verdict, g, verdict->options.baseline);
        if (status == PB_OK && verdict->features->is_mixed)
            status = judge_methods(verdict, g, verdict->features);
    }
    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_sensitivity(verdict, g);
    for (size_t i = 0; i < verdict->features->device_count && status == PB_OK; i++)
        status = judge_unscored(verdict, i);
    for (size_t i = 0; i < verdict->features->device_count && status == PB_OK; i++)
        status = judge_lowered_clock(verdict, i);
    return status;
}
