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

void pb_finding_place(const struct pb_feature_row *device, struct pb_finding *finding)
{
    PB_TEXT_SET(finding->place, device->key);
    PB_TEXT_SET(finding->host, device->host);
    PB_TEXT_SET(finding->device, device->key);
    PB_TEXT_SET(finding->model, device->info.model);
}

static bool is_member(const struct pb_scores *scores, size_t group, size_t device)
{
    for (size_t i = 0; group < scores->group_count && i < scores->groups[group].member_count; i++)
        if (scores->groups[group].members[i] == device)
            return true;
    return false;
}

bool pb_finding_concerns(const struct pb_finding *finding, const struct pb_features *features,
                         const struct pb_scores *scores, size_t device)
{
    const struct pb_feature_row *row = &features->devices[device];

    for (size_t i = 0; i < finding->members.count; i++)
        if (finding->members.devices[i] == device)
            return true;
    if (finding->members.count > 0)
        return false;
    if (finding->device[0] != '\0')
        return strcmp(finding->device, row->key) == 0;
    if (finding->level == PB_LEVEL_NODE)
        return strcmp(finding->host, row->host) == 0;
    if (finding->level == PB_LEVEL_SLOT && finding->slot != row->slot)
        return false;
    return finding->group > 0 && is_member(scores, finding->group - 1, device);
}

void pb_findings_clear(struct pb_findings *findings)
{
    if (findings == NULL)
        return;
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].members.devices);
        free(findings->items[i].counterparts.devices);
    }
    free(findings->items);
    *findings = (struct pb_findings){0};
}
