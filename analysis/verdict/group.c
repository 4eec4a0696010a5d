/* Devices that ought to be alike; see group.h. */
#include "analysis/verdict/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/baseline.h"

enum { SERIAL_WITHIN_RANGE = 5 }; /* the last digits of a serial number */

/* A device on its way into a group: groups are entries of equal names. */
struct entry {
    const struct pb_device_info *info;
    size_t device;
    bool is_baseline;
    char name[PB_MESSAGE_LENGTH];
    char text[PB_TEXT_LENGTH]; /* of the attribute in question */
};

const char *pb_attribute_name(enum pb_attribute attribute)
{
    static const char *const names[PB_ATTRIBUTE_COUNT] = {
        "SM count", "ECC", "power limit", "driver", "VBIOS", "board part", "serial range"};

    return (unsigned)attribute < PB_ATTRIBUTE_COUNT ? names[attribute] : "unknown";
}

bool pb_attribute_is_setting(enum pb_attribute attribute)
{
    return attribute == PB_ATTRIBUTE_ECC || attribute == PB_ATTRIBUTE_POWER_LIMIT ||
           attribute == PB_ATTRIBUTE_DRIVER || attribute == PB_ATTRIBUTE_VBIOS;
}

/* "16529230*****" of 1652923012345: boards that were made one after the other. */
static void write_serial_range(const char *serial, char text_out[PB_TEXT_LENGTH])
{
    size_t length = strlen(serial);

    if (length > SERIAL_WITHIN_RANGE)
        snprintf(text_out, PB_TEXT_LENGTH, "%.*s*****", (int)(length - SERIAL_WITHIN_RANGE),
                 serial);
}

void pb_attribute_text(const struct pb_device_info *info, enum pb_attribute attribute,
                       char text_out[PB_TEXT_LENGTH])
{
    text_out[0] = '\0';
    switch (attribute) {
    case PB_ATTRIBUTE_SM_COUNT:
        if (info->sm_count > 0)
            snprintf(text_out, PB_TEXT_LENGTH, "%u", info->sm_count);
        break;
    case PB_ATTRIBUTE_ECC:
        if (info->ecc_enabled >= 0)
            snprintf(text_out, PB_TEXT_LENGTH, "%s", info->ecc_enabled > 0 ? "on" : "off");
        break;
    case PB_ATTRIBUTE_POWER_LIMIT:
        if (info->power_limit_w > 0.0)
            snprintf(text_out, PB_TEXT_LENGTH, "%.0f W", info->power_limit_w);
        break;
    case PB_ATTRIBUTE_DRIVER:
        snprintf(text_out, PB_TEXT_LENGTH, "%s", info->driver_version);
        break;
    case PB_ATTRIBUTE_VBIOS:
        snprintf(text_out, PB_TEXT_LENGTH, "%s", info->vbios);
        break;
    case PB_ATTRIBUTE_BOARD_PART:
        snprintf(text_out, PB_TEXT_LENGTH, "%s", info->board_part);
        break;
    case PB_ATTRIBUTE_SERIAL_RANGE:
        write_serial_range(info->serial, text_out);
        break;
    case PB_ATTRIBUTE_COUNT:
        break;
    }
}

/* The one value that more than half of the known ones can have (Boyer and Moore), then counted. */
static void find_usual(const struct pb_features *features, const struct pb_group *group,
                       enum pb_attribute attribute, struct pb_usual *usual)
{
    char text[PB_TEXT_LENGTH], *usual_text = usual->text[attribute];
    size_t lead = 0;

    for (size_t i = 0; i < group->member_count; i++) {
        pb_attribute_text(&features->devices[group->members[i]].info, attribute, text);
        if (text[0] == '\0')
            continue;
        usual->known[attribute]++;
        if (lead == 0)
            memcpy(usual_text, text, PB_TEXT_LENGTH);
        lead = lead == 0 || strcmp(text, usual_text) == 0 ? lead + 1 : lead - 1;
    }
    for (size_t i = 0; i < group->member_count; i++) {
        pb_attribute_text(&features->devices[group->members[i]].info, attribute, text);
        if (text[0] != '\0' && strcmp(text, usual_text) == 0)
            usual->count[attribute]++;
    }
    if (2 * usual->count[attribute] <= usual->known[attribute]) {
        usual_text[0] = '\0';
        usual->count[attribute] = 0;
    }
}

void pb_group_usual(const struct pb_features *features, const struct pb_group *group,
                    struct pb_usual *usual_out)
{
    memset(usual_out, 0, sizeof(*usual_out));
    for (int i = 0; i < PB_ATTRIBUTE_COUNT; i++)
        find_usual(features, group, (enum pb_attribute)i, usual_out);
}

/* By name, then attribute, then the feature table's own first, in the order of their rows. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    if (order == 0)
        order = strcmp(left->text, right->text);
    if (order == 0)
        order = (int)left->is_baseline - (int)right->is_baseline;
    if (order == 0)
        order = (left->device > right->device) - (left->device < right->device);
    return order;
}

static bool same_text(const struct entry *a, const struct entry *b)
{
    return strcmp(a->text, b->text) == 0;
}

static size_t run_end(const struct entry *entries, size_t first, size_t end)
{
    size_t at = first + 1;

    while (at < end && same_text(&entries[at], &entries[first]))
        at++;
    return at;
}

/* Names the parts of one group, entries[first … end) sorted by text, if two of them are large. */
static void name_parts(struct entry *entries, size_t first, size_t end, const char *attribute)
{
    size_t large = 0, largest = 0;
    char usual[PB_TEXT_LENGTH] = "";

    for (size_t at = first, next; at < end; at = next) {
        next = run_end(entries, at, end);
        if (entries[at].text[0] == '\0' || next - at < PB_GROUP_MIN_PEERS)
            continue;
        large++;
        if (next - at > largest) {
            largest = next - at;
            memcpy(usual, entries[at].text, sizeof(usual));
        }
    }
    if (large < 2)
        return;
    for (size_t at = first, next; at < end; at = next) {
        bool is_part;

        next = run_end(entries, at, end);
        is_part = entries[at].text[0] != '\0' && next - at >= PB_GROUP_MIN_PEERS;
        for (size_t i = at; i < next; i++) {
            size_t length = strlen(entries[i].name);

            snprintf(&entries[i].name[length], sizeof(entries[i].name) - length, ", %s %s",
                     attribute, is_part ? entries[i].text : usual);
        }
    }
}

static void split_by(struct entry *entries, size_t count, enum pb_attribute attribute)
{
    for (size_t i = 0; i < count; i++)
        pb_attribute_text(entries[i].info, attribute, entries[i].text);
    qsort(entries, count, sizeof(*entries), compare_entries);
    for (size_t first = 0, end; first < count; first = end) {
        char name[PB_MESSAGE_LENGTH];

        memcpy(name, entries[first].name, sizeof(name));
        for (end = first + 1; end < count && strcmp(entries[end].name, name) == 0;)
            end++;
        name_parts(entries, first, end, pb_attribute_name(attribute));
    }
    for (size_t i = 0; i < count; i++)
        entries[i].text[0] = '\0';
}

/*
 * What peers have in common. The model of a MIG instance ends in its profile ("… MIG 1g.10gb"),
 * which shows the memory: that may be 9.5 GiB, more or less, and must not be rounded both ways.
 */
static void write_group_name(const struct pb_device_info *info, char name_out[PB_MESSAGE_LENGTH])
{
    if (strstr(info->model, " MIG ") != NULL)
        snprintf(name_out, PB_MESSAGE_LENGTH, "%s", info->model);
    else
        snprintf(name_out, PB_MESSAGE_LENGTH, "%s, %.0f GiB%s", info->model,
                 (double)info->memory_bytes / 0x1p30, info->mig_enabled > 0 ? ", MIG" : "");
}

static void set_entry(struct entry *entry, const struct pb_features *features, size_t device,
                      bool is_baseline)
{
    const struct pb_device_info *info = &features->devices[device].info;

    entry->info = info;
    entry->device = device;
    entry->is_baseline = is_baseline;
    entry->text[0] = '\0';
    write_group_name(info, entry->name);
}

/* Devices of the feature table, then those of the baseline that are not in it. Returns their
 * number. */
static size_t collect(const struct pb_features *features, const struct pb_features *baseline,
                      const struct pb_uuids *own, const struct pb_uuids *history,
                      struct entry *entries)
{
    size_t count = 0;

    for (size_t i = 0; i < features->device_count; i++) {
        const struct pb_device_info *info = &features->devices[i].info;

        if (info->model[0] != '\0' && pb_uuids_first(own, info->uuid, i) == i)
            set_entry(&entries[count++], features, i, false);
    }
    for (size_t i = 0; baseline != NULL && i < baseline->device_count; i++) {
        const struct pb_device_info *info = &baseline->devices[i].info;

        if (info->model[0] != '\0' && pb_uuids_last(history, info->uuid, i) == i &&
            !pb_uuids_have(own, info->uuid))
            set_entry(&entries[count++], baseline, i, true);
    }
    return count;
}

/* One group of entries[count], its own devices first. */
static enum pb_status make_group(const struct entry *entries, size_t count, struct pb_group *group,
                                 struct pb_error *err)
{
    memcpy(group->name, entries[0].name, sizeof(group->name));
    write_group_name(entries[0].info, group->kind);
    group->members = malloc(count * sizeof(*group->members));
    group->baseline = malloc(count * sizeof(*group->baseline));
    if (group->members == NULL || group->baseline == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a group of %zu devices", count);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].is_baseline)
            group->baseline[group->baseline_count++] = entries[i].device;
        else
            group->members[group->member_count++] = entries[i].device;
    }
    group->sufficient = count >= PB_GROUP_MIN_PEERS;
    return PB_OK;
}

static enum pb_status make_groups(const struct entry *entries, size_t count,
                                  struct pb_group *groups, size_t *count_out, size_t *group_of,
                                  struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t first = 0, end; first < count && status == PB_OK; first = end) {
        struct pb_group *group = &groups[*count_out];

        for (end = first + 1; end < count && strcmp(entries[end].name, entries[first].name) == 0;)
            end++;
        if (entries[first].is_baseline)
            continue; /* sorted: there is none of the feature table */
        ++*count_out;
        status = make_group(&entries[first], end - first, group, err);
        for (size_t i = first; i < end && !entries[i].is_baseline; i++)
            group_of[entries[i].device] = *count_out - 1;
    }
    return status;
}

enum pb_status pb_groups_make(const struct pb_features *features,
                              const struct pb_features *baseline, struct pb_group **groups_out,
                              size_t *count_out, size_t *group_of_out, struct pb_error *err)
{
    size_t capacity = features->device_count + (baseline != NULL ? baseline->device_count : 0);
    size_t entry_count, count = 0;
    struct entry *entries = calloc(capacity + 1, sizeof(*entries));
    struct pb_group *groups = calloc(features->device_count + 1, sizeof(*groups));
    struct pb_uuids own = {0}, history = {0};
    enum pb_status status = PB_OK;

    if (entries == NULL || groups == NULL)
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating groups of %zu devices", capacity);
    if (status == PB_OK)
        status = pb_uuids_make(features, &own, err);
    if (status == PB_OK && baseline != NULL)
        status = pb_uuids_make(baseline, &history, err);
    if (status != PB_OK)
        goto out;
    for (size_t i = 0; i < features->device_count; i++)
        group_of_out[i] = SIZE_MAX;
    entry_count = collect(features, baseline, &own, &history, entries);
    for (int i = 0; i < PB_ATTRIBUTE_SERIAL_RANGE; i++)
        split_by(entries, entry_count, (enum pb_attribute)i);
    qsort(entries, entry_count, sizeof(*entries), compare_entries);
    status = make_groups(entries, entry_count, groups, &count, group_of_out, err);
    for (size_t i = 0; i < features->device_count; i++)
        if (group_of_out[i] == SIZE_MAX)
            group_of_out[i] = count;
    if (status == PB_OK) {
        *groups_out = groups;
        *count_out = count;
        groups = NULL;
    }
out:
    pb_groups_clear(groups, count);
    pb_uuids_clear(&history);
    pb_uuids_clear(&own);
    free(entries);
    return status;
}

void pb_groups_clear(struct pb_group *groups, size_t count)
{
    if (groups == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        free(groups[i].members);
        free(groups[i].baseline);
    }
    free(groups);
}
