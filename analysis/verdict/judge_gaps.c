/*
 * Gaps: tests that nearly all peers have numbers of and a device has none, whatever its status
 * says. A test that was skipped or could say nothing is no test that went well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/judge.h"

enum { TESTS_MAX = 64, LEAST_MEMBERS = 4 };

/* A test is expected where this share of the group has numbers of it. */
static const double expected_share = 0.9;

/* Tests that metrics come from, as bits of a mask. */
struct tests {
    const char *names[TESTS_MAX];
    size_t count;
};

/* The test's bit; TESTS_MAX: the metric comes from none, or there are too many. */
static size_t bit_of(struct tests *tests, const char *name)
{
    size_t i = 0;

    if (name[0] == '\0')
        return TESTS_MAX;
    while (i < tests->count && strcmp(tests->names[i], name) != 0)
        i++;
    if (i == tests->count && i < TESTS_MAX)
        tests->names[tests->count++] = name;
    return i;
}

/*
 * Read off the recording itself (a matrix under its test's name, a share of accesses), and not
 * inferred: the inference may be unsure of a healthy device now and then.
 */
static bool is_direct(const struct pb_metric *metric)
{
    return metric->domain == PB_DOMAIN_FRACTION ||
           strncmp(metric->name, metric->test, strlen(metric->test)) == 0;
}

/* masks[member_count]: of which tests each member has at least one number. */
static void read_masks(const struct pb_features *features, const struct pb_group *group,
                       struct tests *tests, uint64_t *masks)
{
    for (size_t m = 0; m < features->metric_count; m++) {
        size_t bit =
            is_direct(&features->metrics[m]) ? bit_of(tests, features->metrics[m].test) : TESTS_MAX;

        for (size_t i = 0; i < group->member_count && bit < TESTS_MAX; i++)
            if (!isnan(pb_features_reading(features, group->members[i], m).value))
                masks[i] |= UINT64_C(1) << bit;
    }
}

static uint64_t expected_mask(const struct pb_group *group, const struct tests *tests,
                              const uint64_t *masks)
{
    uint64_t expected = 0;

    for (size_t bit = 0; bit < tests->count; bit++) {
        size_t have = 0;

        for (size_t i = 0; i < group->member_count; i++)
            have += masks[i] >> bit & 1;
        if ((double)have >= expected_share * (double)group->member_count)
            expected |= UINT64_C(1) << bit;
    }
    return expected;
}

/* Whatever else was found of a device may have cost it a test. */
static bool has_finding(const struct pb_verdict *verdict, const struct pb_feature_row *device)
{
    for (size_t i = 0; i < verdict->findings.count; i++)
        if (strcmp(verdict->findings.items[i].device, device->key) == 0)
            return true;
    return false;
}

static enum pb_status add_gap(struct pb_verdict *verdict, const struct pb_feature_row *device,
                              const struct tests *tests, uint64_t gaps, size_t peers)
{
    struct pb_finding finding = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE);
    size_t length;

    pb_finding_place(device, &finding);
    finding.peers = peers;
    PB_TEXT_SET(finding.cause, "incomplete");
    PB_TEXT_SET(finding.summary, "tests that its peers have numbers of say nothing here:");
    for (size_t bit = 0; bit < tests->count; bit++) {
        length = strlen(finding.summary);
        if ((gaps >> bit & 1) != 0)
            snprintf(finding.summary + length, sizeof(finding.summary) - length, " %s",
                     tests->names[bit]);
    }
    PB_TEXT_SET(finding.evidence, "the device's tests, beside those of its peers");
    snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/tests",
             device->key);
    PB_TEXT_SET(finding.advice, "read the messages of these tests, repeat the run");
    return pb_verdict_add_device(verdict, &finding, (size_t)(device - verdict->features->devices));
}

static enum pb_status judge_group(struct pb_verdict *verdict, const struct pb_group *group)
{
    uint64_t *masks = calloc(group->member_count + 1, sizeof(*masks)), expected;
    struct tests tests = {.count = 0};
    enum pb_status status = PB_OK;

    if (masks == NULL)
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory allocating %zu devices",
                       group->member_count);
    read_masks(verdict->features, group, &tests, masks);
    expected = expected_mask(group, &tests, masks);
    for (size_t i = 0; i < group->member_count && status == PB_OK; i++) {
        const struct pb_feature_row *device = &verdict->features->devices[group->members[i]];
        uint64_t gaps = expected & ~masks[i];

        if (gaps != 0 && masks[i] != 0 && !has_finding(verdict, device))
            status = add_gap(verdict, device, &tests, gaps, group->member_count - 1);
    }
    free(masks);
    return status;
}

/* ---- numbers that much of a group lacks ---- */

/* Members of a group without a number of a metric; members_out may be NULL. */
static size_t count_lacking(const struct pb_features *features, const struct pb_group *group,
                            size_t metric, size_t *members_out)
{
    size_t count = 0;

    for (size_t i = 0; i < group->member_count; i++) {
        if (pb_features_is_measured(features, group->members[i], metric))
            continue;
        if (members_out != NULL)
            members_out[count] = group->members[i];
        count++;
    }
    return count;
}

/*
 * Does a third of the group lack what it could have? A test's own number is missing where one
 * device has it. What is inferred may be undetermined for many healthy devices: that is listed
 * where half have it, and is no anomaly.
 */
static bool is_lacking(const struct pb_metric *metric, const struct pb_group *group, size_t lacking)
{
    size_t have = group->member_count - lacking;

    return metric->test[0] != '\0' && 3 * lacking >= group->member_count &&
           (is_direct(metric) ? have > 0 : 2 * have >= group->member_count);
}

/* One finding for all numbers of tests, or for all that are inferred. */
static enum pb_status judge_lacking(struct pb_verdict *verdict, size_t group_index, bool direct)
{
    const struct pb_features *features = verdict->features;
    const struct pb_group *group = &verdict->scores->groups[group_index];
    struct pb_finding finding =
        pb_finding_blank(direct ? PB_SEVERITY_WARNING : PB_SEVERITY_OK, PB_LEVEL_POPULATION);
    struct pb_members members = {calloc(group->member_count + 1, sizeof(size_t)), 0};
    size_t most = features->metric_count;
    enum pb_status status = PB_OK;

    if (members.devices == NULL)
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory for %zu devices",
                       group->member_count);
    for (size_t m = 0; m < features->metric_count; m++) {
        size_t lacking = count_lacking(features, group, m, NULL);

        if (is_direct(&features->metrics[m]) != direct ||
            !is_lacking(&features->metrics[m], group, lacking))
            continue;
        finding.metrics++;
        if (lacking > members.count) {
            members.count = lacking;
            most = m;
        }
    }
    if (finding.metrics > 0) {
        count_lacking(features, group, most, members.devices);
        PB_TEXT_SET(finding.place, group->name);
        finding.group = group_index + 1;
        PB_TEXT_SET(finding.cause, direct ? "incomplete" : "undetermined");
        PB_TEXT_SET(finding.metric, features->metrics[most].name);
        PB_TEXT_SET(finding.unit, features->metrics[most].unit);
        snprintf(
            finding.summary, sizeof(finding.summary),
            "%zu numbers are missing on a third of the group or more; %s on %zu of %zu devices",
            (size_t)finding.metrics, features->metrics[most].name, members.count,
            group->member_count);
        PB_TEXT_SET(finding.evidence, "the tests of these devices, beside those of their peers");
        PB_TEXT_SET(finding.advice, "read the messages of the test, repeat the run");
        status = pb_verdict_add(verdict, &finding, &members, NULL);
    }
    free(members.devices);
    return status;
}

enum pb_status pb_judge_gaps(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        if (verdict->scores->groups[g].member_count >= LEAST_MEMBERS)
            status = judge_group(verdict, &verdict->scores->groups[g]);
    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        if (verdict->scores->groups[g].member_count >= LEAST_MEMBERS)
            for (int direct = 0; direct <= 1 && status == PB_OK; direct++)
                status = judge_lacking(verdict, g, direct == 1);
    return status;
}
