/*
 * Validating a fleet file: every object must be in the schema, stored as the schema says, and every
 * byte must be readable. One complaint a line; the validation goes on after each. Of a file whose
 * tests were read whole as images, it may leave their data out.
 *
 * It goes down the schema, not down the file: what the schema does not have is named and
 * never opened, so that time grows with what is there and memory with the largest test and the
 * names of the devices.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/former.h"
#include "core/text.h"
#include "h5schema/fleet.h"
#include "h5schema/matrix.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

struct validation {
    hid_t file;
    struct pb_reader *reader;
    void (*complain)(void *context, const char *line);
    void *context;
    size_t complaints;
    bool skips_data; /* of tests */
};

static void complain(struct validation *validation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void complain(struct validation *validation, const char *format, ...)
{
    char words[2 * PB_ERROR_LENGTH], line[2 * PB_ERROR_LENGTH];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    PB_TEXT_ESCAPE(line, words);
    validation->complaints++;
    if (validation->complain != NULL)
        validation->complain(validation->context, line);
}

/* Does "/devices/n1.gpu0/state" fit "/devices/<key>/state"? */
static bool fits(const char *path, const char *pattern)
{
    while (*path != '\0' && *pattern != '\0') {
        if (*pattern == '<') {
            path += strcspn(path, "/");
            pattern += strcspn(pattern, "/");
        } else if (*path++ != *pattern++) {
            return false;
        }
    }
    return *path == *pattern;
}

static const struct pb_object *schema_of(const char *path)
{
    for (size_t i = 0; i < pb_schema_count; i++)
        if (fits(path, pb_schema[i].path))
            return &pb_schema[i];
    return NULL;
}

/* Groups that only hold others: they have no row of their own in the schema. */
static bool is_folder(const char *path)
{
    static const char *const folders[] = {"/devices", "/devices/<key>/tests", "/analysis"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (fits(path, folders[i]))
            return true;
    return false;
}

/* Reads a table or array to its end, in parts. */
static void check_rows(struct validation *validation, hid_t dataset, const char *path,
                       const struct pb_object *object)
{
    struct pb_error err = PB_ERROR_INIT;

    if (pb_h5_visit_rows(dataset, path, object, NULL, NULL, &err) != PB_OK)
        complain(validation, "%s", err.message);
}

static bool is_in_test(const char *path)
{
    return fits(path, "/devices/<key>/tests/<test>/<dataset>");
}

static void check_dataset(struct validation *validation, hid_t group, const char *name,
                          const char *path, const struct pb_object *object)
{
    struct pb_error err = PB_ERROR_INIT;
    hid_t dataset;

    if (pb_h5_open_dataset(group, name, &dataset, &err) != PB_OK) {
        complain(validation, "%.*s%s", (int)(strlen(path) - strlen(name)), path, err.message);
        return;
    }
    if (object == NULL && !pb_h5_is_scale(dataset))
        complain(validation, "%s: is not in the schema", path);
    if (!is_in_test(path) && strcmp(path, "/fleet") != 0) /* these are read as a whole */
        check_rows(validation, dataset, path, object);
    H5Dclose(dataset);
}

static void check_attributes(struct validation *validation, hid_t group, const char *path,
                             const struct pb_object *object)
{
    struct pb_error err = PB_ERROR_INIT;
    void *record = calloc(1, object->record_size);

    if (record == NULL || pb_h5_read_attributes(group, object, record, &err) != PB_OK)
        complain(validation, "%s: %s", path, record == NULL ? "out of memory" : err.message);
    free(record);
}

enum pb_status pb_h5_check_test(hid_t group, const char *name, struct pb_error *err)
{
    struct pb_recording recording = {.outcome = PB_TEST_MISSING};
    enum pb_status status = pb_h5_read_test(group, &recording, err);

    if (status != PB_OK)
        return status;
    if (strcmp(recording.name, pb_name_now(PB_NAME_OF_TEST, name)) != 0)
        status = pb_fail(err, PB_INVALID, "its name attribute says \"%s\"", recording.name);
    else if (recording.outcome == PB_TEST_OK && recording.series.point_count == 0 &&
             recording.matrix.rank == 0)
        status = pb_fail(err, PB_INVALID, "is ok but holds nothing");
    pb_recording_clear(&recording);
    return status;
}

static void check_test(struct validation *validation, hid_t group, const char *path)
{
    struct pb_error err = PB_ERROR_INIT;

    if (validation->skips_data)
        check_attributes(validation, group, path, schema_of(path));
    else if (pb_h5_check_test(group, strrchr(path, '/') + 1, &err) != PB_OK)
        complain(validation, "%s: %s", path, err.message);
}

static void check_objects(struct validation *validation, hid_t group, const char *path);

static void check_group(struct validation *validation, hid_t parent, const char *name,
                        const char *path, const struct pb_object *object)
{
    struct pb_error err = PB_ERROR_INIT;
    hid_t group;

    if (pb_h5_open_group(parent, name, &group, &err) != PB_OK) {
        complain(validation, "%.*s%s", (int)(strlen(path) - strlen(name)), path, err.message);
        return;
    }
    if (fits(path, "/devices/<key>/tests/<test>"))
        check_test(validation, group, path);
    else if (object != NULL)
        check_attributes(validation, group, path, object);
    check_objects(validation, group, path);
    H5Gclose(group);
}

/* An object of a group, by what the schema has at its path. */
static void check_object(struct validation *validation, hid_t parent, const char *name,
                         const char *path)
{
    const struct pb_object *object = schema_of(path);

    if (is_folder(path) || (object != NULL && object->kind == PB_OBJECT_GROUP))
        check_group(validation, parent, name, path, object);
    else if (object != NULL || is_in_test(path))
        check_dataset(validation, parent, name, path, object);
    else
        complain(validation, "%s: is not in the schema", path);
}

/* path: "" for the root. The schema is five deep, and so are the calls. */
static void check_objects(struct validation *validation, hid_t group, const char *path)
{
    enum { DEPTH_MAX = 6 };
    char child[DEPTH_MAX * PB_KEY_LENGTH];
    struct pb_key *names = NULL;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;

    if (pb_h5_list(group, path, &names, &count, &err) != PB_OK)
        complain(validation, "%s", err.message);
    for (size_t i = 0; i < count; i++) {
        snprintf(child, sizeof(child), "%s/%s", path, names[i].text);
        check_object(validation, group, names[i].text, child);
    }
    free(names);
}

/* ---- /fleet ---- */

struct members {
    struct validation *validation;
    struct pb_key *keys; /* of the devices, sorted */
    size_t key_count, count, ok_count;
};

static bool is_member_status(const char *status)
{
    for (int i = PB_MEMBER_OK; i <= PB_MEMBER_DUPLICATE; i++)
        if (strcmp(status, pb_member_status_name((enum pb_member_status)i)) == 0)
            return true;
    return false;
}

static void check_member(struct members *members, const struct pb_member *member)
{
    struct validation *validation = members->validation;
    bool measured = member->tests_ok > 0 || member->tests_failed > 0;

    if (!is_member_status(member->status))
        complain(validation, "/fleet: rank %lld: unknown status \"%s\"", (long long)member->rank,
                 member->status);
    if (member->host[0] != '\0' && !pb_text_is_host(member->host))
        complain(validation, "/fleet: rank %lld: expected a host's name, found \"%s\"",
                 (long long)member->rank, member->host);
    if (measured &&
        (members->key_count == 0 || bsearch(member->key, members->keys, members->key_count,
                                            sizeof(*members->keys), pb_key_compare) == NULL))
        complain(validation, "/fleet: rank %lld: its device \"%s\" is not in /devices",
                 (long long)member->rank, member->key);
    members->count++;
    members->ok_count += strcmp(member->status, pb_member_status_name(PB_MEMBER_OK)) == 0;
}

static enum pb_status check_some_members(void *context, const void *rows, size_t count,
                                         struct pb_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        check_member(context, (const struct pb_member *)rows + i);
    return PB_OK;
}

static void check_members(struct validation *validation)
{
    struct members members = {.validation = validation};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_run run;
    hid_t dataset = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_dataset(validation->file, "/fleet", &dataset, &err);

    pb_reader_run(validation->reader, &run, NULL);
    /* What the devices are that cannot be listed was complained of. */
    pb_reader_devices(validation->reader, &members.keys, &members.key_count, NULL);
    if (status == PB_OK) {
        status = pb_h5_visit_rows(dataset, "/fleet", pb_schema_find("/fleet"), check_some_members,
                                  &members, &err);
        H5Dclose(dataset);
    }
    free(members.keys);
    if (status != PB_OK)
        complain(validation, "%s", err.message);
    else if ((run.complete != 0) != (members.ok_count == members.count && members.count > 0))
        complain(validation, "/: complete is %lld, but %zu of %zu rows of /fleet are ok",
                 (long long)run.complete, members.ok_count, members.count);
}

static enum pb_status validate(const char *path, struct validation validation,
                               size_t *complaints_out, struct pb_error *err)
{
    enum pb_status status = pb_reader_open(path, &validation.reader, err);

    if (status != PB_OK)
        return status;
    validation.file = pb_reader_file(validation.reader);
    check_objects(&validation, validation.file, "");
    check_members(&validation);
    pb_reader_close(validation.reader);
    *complaints_out = validation.complaints;
    return validation.complaints == 0 ? PB_OK
                                      : pb_fail(err, PB_INVALID, "%s: %zu violations of the schema",
                                                path, validation.complaints);
}

enum pb_status pb_file_validate(const char *path,
                                void (*complain_to)(void *context, const char *line), void *context,
                                size_t *complaints_out, struct pb_error *err)
{
    return validate(path, (struct validation){.complain = complain_to, .context = context},
                    complaints_out, err);
}

enum pb_status pb_file_validate_structure(const char *path,
                                          void (*complain_to)(void *context, const char *line),
                                          void *context, size_t *complaints_out,
                                          struct pb_error *err)
{
    return validate(
        path, (struct validation){.complain = complain_to, .context = context, .skips_data = true},
        complaints_out, err);
}
