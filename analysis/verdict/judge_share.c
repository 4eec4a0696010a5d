/*
 * Groups of which a third or more is anomalous, by whatever causes: one finding that lists all of
 * them and the devices that they were compared with, since no other one does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/judge.h"
#include "core/reserve.h"

/* Below it, it is certain which part of a group is the healthy one. */
#define LISTED_SHARE (1.0 / 3.0)

enum { ANOMALOUS_MIN = 4 };

/* How many devices have a cause, each counted once. */
struct tally {
    const char *cause;
    bool *has; /* per row of the feature table */
    size_t count;
};

struct tallies {
    struct tally *items;
    size_t count, capacity;
};

/* One group at work. */
struct share {
    struct pb_verdict *verdict;
    const struct pb_group *group;
    bool *anomalous,
        *certain; /* per row of the feature table; certain: not by comparison with peers */
    struct tallies tallies;
    enum pb_severity worst;
};

/* Is it about what its members do, rather than how they are set up, where they are or what they
   were compared with? */
static bool is_anomaly(const struct pb_finding *finding)
{
    static const char *const lost[] = {"failed", "hung", "crashed", "off_the_bus"};
    static const char *const others[] = {"configuration", "trend", "reference", "incomplete"};

    if (finding->severity == PB_SEVERITY_OK)
        return false;
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
        if (strcmp(finding->cause, lost[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(finding->cause, others[i]) == 0)
            return false;
    return finding->metric[0] != '\0';
}

static enum pb_status find_tally(struct share *share, const char *cause, struct tally **tally_out)
{
    struct tallies *tallies = &share->tallies;
    enum pb_status status;

    for (size_t i = 0; i < tallies->count; i++)
        if (strcmp(tallies->items[i].cause, cause) == 0) {
            *tally_out = &tallies->items[i];
            return PB_OK;
        }
    status = PB_RESERVE(tallies->items, tallies->count, tallies->capacity, "causes",
                        share->verdict->err);
    if (status != PB_OK)
        return status;
    tallies->items[tallies->count] =
        (struct tally){cause, calloc(share->verdict->features->device_count + 1, sizeof(bool)), 0};
    if (tallies->items[tallies->count].has == NULL)
        return pb_fail(share->verdict->err, PB_NO_MEMORY, "out of memory for %zu devices",
                       share->verdict->features->device_count);
    *tally_out = &tallies->items[tallies->count++];
    return PB_OK;
}

/* Events, and what a device was itself before, need no peers to be judged by. */
static bool is_certain(const struct pb_finding *finding)
{
    return finding->metric[0] == '\0' || finding->peers == 0 || finding->by_event;
}

static enum pb_status count_finding(struct share *share, const struct pb_finding *finding)
{
    const struct pb_verdict *verdict = share->verdict;
    size_t group = (size_t)(share->group - verdict->scores->groups);
    struct tally *tally = NULL;

    for (size_t i = 0; i < finding->members.count; i++) {
        size_t row = finding->members.devices[i];

        if (verdict->scores->group_of[row] != group)
            continue;
        if (tally == NULL) {
            enum pb_status status = find_tally(share, finding->cause, &tally);

            if (status != PB_OK)
                return status;
        }
        tally->count += !tally->has[row];
        tally->has[row] = true;
        share->anomalous[row] = true;
        share->certain[row] |= is_certain(finding);
    }
    if (tally != NULL && pb_severity_rank(finding->severity) > pb_severity_rank(share->worst))
        share->worst = finding->severity;
    return PB_OK;
}

/* Does one finding list both parts already? */
static bool is_listed(const struct share *share, size_t anomalous, size_t others)
{
    const struct pb_verdict *verdict = share->verdict;

    for (size_t i = 0; i < verdict->findings.count; i++) {
        const struct pb_finding *finding = &verdict->findings.items[i];
        size_t held = 0;

        for (size_t k = 0; k < finding->members.count; k++)
            held += share->anomalous[finding->members.devices[k]];
        if (is_anomaly(finding) && held == anomalous && finding->counterparts.count >= others)
            return true;
    }
    return false;
}

/* "hbm 8, slow_clock 7": a device may have several. */
static void list_causes(const struct share *share, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < share->tallies.count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s %zu", i == 0 ? "" : ", ",
                                   share->tallies.items[i].cause, share->tallies.items[i].count);
}

static bool has_cause(const struct share *share, const char *cause)
{
    for (size_t i = 0; i < share->tallies.count; i++)
        if (strcmp(share->tallies.items[i].cause, cause) == 0)
            return true;
    return false;
}

static enum pb_status report(const struct share *share, const struct pb_members *members,
                             const struct pb_members *others)
{
    struct pb_finding finding = pb_finding_blank(share->worst, PB_LEVEL_POPULATION);
    char causes[PB_MESSAGE_LENGTH / 2];
    size_t certain = 0;

    for (size_t i = 0; i < members->count; i++)
        certain += share->certain[members->devices[i]];
    if (2 * certain <= members->count &&
        pb_severity_rank(share->worst) < pb_severity_rank(PB_SEVERITY_UNKNOWN))
        finding.severity = PB_SEVERITY_UNKNOWN;
    PB_TEXT_SET(finding.place, share->group->name);
    PB_TEXT_SET(finding.cause, "many_anomalous");
    PB_TEXT_SET(finding.model,
                share->verdict->features->devices[share->group->members[0]].info.model);
    finding.group = (size_t)(share->group - share->verdict->scores->groups) + 1;
    finding.peers = others->count;
    list_causes(share, causes, sizeof(causes));
    snprintf(
        finding.summary, sizeof(finding.summary),
        "%zu of %zu devices are anomalous%s; they were compared with the other %zu (devices by "
        "cause: %s)",
        members->count, members->count + others->count,
        has_cause(share, "two_populations") ? " or the worse part of two populations" : "",
        others->count, causes);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "the findings of each cause; %zu of the devices are anomalous by errors or by their "
             "own history, which needs no peers",
             certain);
    PB_TEXT_SET(finding.advice,
                certain == members->count
                    ? "look for what the devices have in common"
                    : "make sure which part is healthy before draining so many: compare with an "
                      "earlier run (--baseline) or another fleet");
    return pb_verdict_add(share->verdict, &finding, members, others);
}

static enum pb_status judge_rows(const struct share *share, size_t *rows)
{
    const struct pb_group *group = share->group;
    struct pb_members members = {rows, 0}, others = {NULL, 0};

    for (size_t i = 0; i < group->member_count; i++)
        if (share->anomalous[group->members[i]])
            rows[members.count++] = group->members[i];
    others.devices = rows + members.count;
    for (size_t i = 0; i < group->member_count; i++)
        if (!share->anomalous[group->members[i]])
            others.devices[others.count++] = group->members[i];
    if (members.count < ANOMALOUS_MIN || others.count == 0 ||
        (double)members.count < LISTED_SHARE * (double)group->member_count ||
        is_listed(share, members.count, others.count))
        return PB_OK;
    return report(share, &members, &others);
}

static enum pb_status judge_group(struct pb_verdict *verdict, const struct pb_group *group)
{
    size_t count = verdict->features->device_count, findings = verdict->findings.count;
    struct share share = {.verdict = verdict,
                          .group = group,
                          .anomalous = calloc(count + 1, sizeof(bool)),
                          .certain = calloc(count + 1, sizeof(bool)),
                          .worst = PB_SEVERITY_OK};
    size_t *rows = malloc((count + 1) * sizeof(*rows));
    enum pb_status status = PB_OK;

    if (share.anomalous == NULL || share.certain == NULL || rows == NULL)
        status = pb_fail(verdict->err, PB_NO_MEMORY, "out of memory for %zu devices", count);
    for (size_t i = 0; i < findings && status == PB_OK; i++)
        if (is_anomaly(&verdict->findings.items[i]))
            status = count_finding(&share, &verdict->findings.items[i]);
    if (status == PB_OK)
        status = judge_rows(&share, rows);
    for (size_t i = 0; i < share.tallies.count; i++)
        free(share.tallies.items[i].has);
    free(share.tallies.items);
    free(share.anomalous);
    free(share.certain);
    free(rows);
    return status;
}

enum pb_status pb_judge_share(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_group(verdict, &verdict->scores->groups[g]);
    return status;
}
