/* Devices set up unlike their peers: one finding for all that share the odd value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/group.h"
#include "analysis/verdict/judge.h"

static void word_odd(const struct pb_feature_row *device, enum pb_attribute attribute,
                     const char *text, const char *usual, struct pb_finding *finding)
{
    bool is_ecc_off = attribute == PB_ATTRIBUTE_ECC && strcmp(text, "off") == 0;

    PB_TEXT_SET(finding->cause, is_ecc_off ? "ecc_off" : "configuration");
    PB_TEXT_SET(finding->attribute, pb_attribute_name(attribute));
    PB_TEXT_SET(finding->attribute_value, text);
    snprintf(finding->summary, sizeof(finding->summary), "%s is %s, but %s with %llu of its peers",
             pb_attribute_name(attribute), text, usual, (unsigned long long)finding->peers);
    PB_TEXT_SET(finding->evidence, "as the driver reports it");
    snprintf(finding->evidence_path, sizeof(finding->evidence_path), "/devices/%s", device->key);
    PB_TEXT_SET(finding->advice, is_ecc_off ? "switch ECC on (nvidia-smi -e 1) and reset the device"
                                            : "give it the configuration of its peers");
}

/* Is it the value of all these devices? */
static bool have_all(const struct pb_verdict *verdict, const struct pb_members *members,
                     enum pb_attribute attribute, const char *text)
{
    char other[PB_TEXT_LENGTH];

    for (size_t i = 0; i < members->count; i++) {
        pb_attribute_text(&verdict->features->devices[members->devices[i]].info, attribute, other);
        if (strcmp(other, text) != 0)
            return false;
    }
    return members->count > 0;
}

/* Has a finding named this value already, as what deviating devices have in common, or those that
   they were compared with? */
static bool is_reported(const struct pb_verdict *verdict, enum pb_attribute attribute,
                        const char *text)
{
    for (size_t i = 0; i < verdict->findings.count; i++) {
        const struct pb_finding *finding = &verdict->findings.items[i];

        if (strcmp(finding->attribute, pb_attribute_name(attribute)) == 0 &&
            (strcmp(finding->attribute_value, text) == 0 ||
             have_all(verdict, &finding->counterparts, attribute, text)))
            return true;
    }
    return false;
}

/* Members whose value is this one, as rows of the feature table. */
static size_t collect(const struct pb_verdict *verdict, const struct pb_group *group,
                      enum pb_attribute attribute, const char *text, size_t *rows)
{
    char other[PB_TEXT_LENGTH];
    size_t count = 0;

    for (size_t i = 0; i < group->member_count; i++) {
        pb_attribute_text(&verdict->features->devices[group->members[i]].info, attribute, other);
        if (strcmp(other, text) == 0)
            rows[count++] = group->members[i];
    }
    return count;
}

static enum pb_status judge_odd(struct pb_verdict *verdict, const struct pb_group *group,
                                enum pb_attribute attribute, const struct pb_usual *usual,
                                size_t *rows)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < group->member_count && status == PB_OK; i++) {
        const struct pb_feature_row *device = &verdict->features->devices[group->members[i]];
        struct pb_finding finding = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE);
        struct pb_members members = {rows, 0};
        char text[PB_TEXT_LENGTH];

        pb_attribute_text(&device->info, attribute, text);
        if (text[0] == '\0' || strcmp(text, usual->text[attribute]) == 0 ||
            is_reported(verdict, attribute, text))
            continue;
        members.count = collect(verdict, group, attribute, text, rows);
        finding.peers = usual->count[attribute];
        pb_finding_place(device, &finding);
        if (members.count > 1) {
            finding.level = PB_LEVEL_POPULATION;
            finding.device[0] = finding.host[0] = '\0';
            PB_TEXT_SET(finding.place, group->name);
        }
        word_odd(device, attribute, text, usual->text[attribute], &finding);
        status = pb_verdict_add(verdict, &finding, &members, NULL);
    }
    return status;
}

enum pb_status pb_judge_configuration(struct pb_verdict *verdict)
{
    size_t *rows = malloc((verdict->features->device_count + 1) * sizeof(*rows));
    enum pb_status status = PB_OK;

    if (rows == NULL)
        return pb_fail(verdict->err, PB_NO_MEMORY, "out of memory listing %zu devices",
                       verdict->features->device_count);
    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++) {
        const struct pb_group *group = &verdict->scores->groups[g];
        struct pb_usual usual;

        pb_group_usual(verdict->features, group, &usual);
        for (int a = 0; a < PB_ATTRIBUTE_COUNT && status == PB_OK; a++)
            if (pb_attribute_is_setting((enum pb_attribute)a) && usual.text[a][0] != '\0')
                status = judge_odd(verdict, group, (enum pb_attribute)a, &usual, rows);
    }
    free(rows);
    return status;
}
