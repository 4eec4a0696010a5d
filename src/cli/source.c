/* Devices of a fleet file, and recordings of one; see source.h. */
#include "cli/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: there is none. */
static const struct pb_key *find_key(const struct pb_fleet_list *list, const char *key)
{
    struct pb_key wanted = {""};

    PB_TEXT_SET(wanted.text, key);
    return bsearch(&wanted, list->keys, list->key_count, sizeof(wanted), pb_key_compare);
}

bool pb_fleet_list_has(const struct pb_fleet_list *list, const char *key)
{
    return find_key(list, key) != NULL;
}

/* The row that /fleet should have for a device: its run did not end as it should. */
static void write_unlisted(const char *key, struct pb_member *row_out)
{
    const char *dot = strrchr(key, '.');

    *row_out = (struct pb_member){.rank = -1, .slot = -1, .message = "no row of /fleet has it"};
    PB_TEXT_SET(row_out->key, key);
    PB_TEXT_SET(row_out->status, pb_member_status_name(PB_MEMBER_PARTIAL));
    snprintf(row_out->host, sizeof(row_out->host), "%.*s",
             dot == NULL ? (int)strlen(key) : (int)(dot - key), key);
}

static enum pb_status add_unlisted(struct pb_fleet_list *list, struct pb_error *err)
{
    size_t count = list->member_count;
    bool *is_listed = calloc(list->key_count + 1, sizeof(*is_listed));
    struct pb_member *members =
        realloc(list->members, (count + list->key_count + 1) * sizeof(*members));

    if (members != NULL)
        list->members = members;
    if (is_listed == NULL || members == NULL) {
        free(is_listed);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices", list->key_count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct pb_key *key = find_key(list, members[i].key);

        if (key != NULL)
            is_listed[key - list->keys] = true;
    }
    for (size_t i = 0; i < list->key_count; i++)
        if (!is_listed[i])
            write_unlisted(list->keys[i].text, &members[list->member_count++]);
    free(is_listed);
    return PB_OK;
}

enum pb_status pb_fleet_list_read(struct pb_reader *reader, const char *path,
                                  struct pb_fleet_list *list_out, struct pb_error *err)
{
    struct pb_fleet_list *list = list_out;
    enum pb_status status = pb_reader_members(reader, &list->members, &list->member_count, err);

    if (status == PB_OK)
        status = pb_reader_devices(reader, &list->keys, &list->key_count, err);
    if (status == PB_OK)
        status = add_unlisted(list, err);
    if (status == PB_OK && list->member_count == 0)
        status = pb_fail(err, PB_INVALID, "%s: expected devices, found an empty fleet", path);
    return status;
}

void pb_fleet_list_clear(struct pb_fleet_list *list)
{
    free(list->keys);
    free(list->members);
    *list = (struct pb_fleet_list){0};
}

static void report(struct pb_device_source *device, const char *test, const char *message)
{
    for (size_t i = 0; i < device->unreadable_count; i++)
        if (strncmp(device->unreadable[i], test, PB_NAME_LENGTH - 1) == 0)
            return;
    if (device->unreadable_count == PB_UNREADABLE_MAX)
        return;
    PB_TEXT_SET(device->unreadable[device->unreadable_count], test);
    device->unreadable_count++;
    fprintf(stderr, "unreadable test: %s\n", message);
}

static enum pb_status read_test(struct pb_device_source *device, const char *test,
                                struct pb_error *err)
{
    struct pb_source_test *larger =
        realloc(device->tests, (device->test_count + 1) * sizeof(*larger));
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status;

    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests",
                       device->test_count + 1);
    device->tests = larger;
    PB_TEXT_SET(larger[device->test_count].name, test);
    status = pb_reader_recording(device->reader, device->key, test,
                                 &larger[device->test_count].recording, &cause);
    device->test_count += status == PB_OK;
    if (status != PB_OK && status != PB_NOT_FOUND && status != PB_NO_MEMORY)
        report(device, test, cause.message);
    return status == PB_OK ? PB_OK : pb_fail(err, status, "%s", cause.message);
}

enum pb_status pb_device_source_load(void *source, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    struct pb_device_source *device = source;
    enum pb_status status = PB_OK;
    size_t at = 0;

    while (at < device->test_count && strcmp(device->tests[at].name, test) != 0)
        at++;
    if (at == device->test_count)
        status = read_test(device, test, err);
    if (status == PB_OK)
        *recording_out = device->tests[at].recording;
    return status;
}

void pb_device_source_clear(struct pb_device_source *source)
{
    for (size_t i = 0; i < source->test_count; i++)
        pb_recording_clear(&source->tests[i].recording);
    free(source->tests);
    source->tests = NULL;
    source->test_count = 0;
}
