/* Findings: what they are about, names of levels, freeing the list; see finding.h. */
#include "analysis/verdict/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *pb_level_name(enum pb_level level)
{
    static const char *const names[] = {"access", "sm",         "device", "slot",
                                        "node",   "population", "fleet"};

    return (unsigned)level < sizeof(names) / sizeof(names[0]) ? names[level] : "unknown";
}

struct pb_finding pb_finding_blank(enum pb_severity severity, enum pb_level level)
{
    return (struct pb_finding){.severity = severity,
                               .level = level,
                               .value = NAN,
                               .expected = NAN,
                               .shift = NAN,
                               .sigmas = NAN,
                               .p = NAN};
}

void pb_finding_place(const struct pb_subject *subject, struct pb_finding *finding)
{
    PB_TEXT_SET(finding->place, subject->key);
    PB_TEXT_SET(finding->host, subject->host);
    PB_TEXT_SET(finding->device, subject->key);
    PB_TEXT_SET(finding->model, subject->info.model);
}

static bool is_member(const struct pb_scores *scores, size_t group, size_t subject)
{
    for (size_t i = 0; group < scores->group_count && i < scores->groups[group].member_count; i++)
        if (scores->groups[group].members[i] == subject)
            return true;
    return false;
}

bool pb_finding_concerns(const struct pb_finding *finding, const struct pb_features *features,
                         const struct pb_scores *scores, size_t subject)
{
    const struct pb_subject *device = &features->subjects[subject];

    for (size_t i = 0; i < finding->members.count; i++)
        if (finding->members.subjects[i] == subject)
            return true;
    if (finding->members.count > 0)
        return false;
    if (finding->device[0] != '\0')
        return strcmp(finding->device, device->key) == 0;
    if (finding->level == PB_LEVEL_NODE)
        return strcmp(finding->host, device->host) == 0;
    if (finding->level == PB_LEVEL_SLOT && finding->slot != device->slot)
        return false;
    return finding->group > 0 && is_member(scores, finding->group - 1, subject);
}

void pb_findings_clear(struct pb_findings *findings)
{
    if (findings == NULL)
        return;
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].members.subjects);
        free(findings->items[i].counterparts.subjects);
    }
    free(findings->items);
    *findings = (struct pb_findings){0};
}
