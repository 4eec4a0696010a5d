/*
 * Validating a fleet file: every object must be in the schema, stored as the schema says, and every
 * byte must be readable. One complaint a line; the walk goes on after each.
 */
#include <hdf5_hl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "h5schema/fleet.h"
#include "h5schema/object.h"

struct walk {
    hid_t file;
    struct pb_reader *reader;
    void (*complain)(void *context, const char *line);
    void *context;
    size_t complaints;
};

static void complain(struct walk *walk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void complain(struct walk *walk, const char *format, ...)
{
    char words[2 * PB_ERROR_LENGTH], line[2 * PB_ERROR_LENGTH];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    PB_TEXT_ESCAPE(line, words);
    walk->complaints++;
    if (walk->complain != NULL)
        walk->complain(walk->context, line);
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

static bool has_filter(hid_t creation, H5Z_filter_t filter)
{
    unsigned flags;
    size_t values = 0;

    return H5Pget_filter_by_id2(creation, filter, &flags, &values, NULL, 0, NULL, NULL) >= 0;
}

static void check_storage(struct walk *walk, hid_t dataset, const char *path)
{
    hid_t creation = H5Dget_create_plist(dataset);

    if (H5Pget_layout(creation) != H5D_CHUNKED)
        complain(walk, "%s: expected chunked storage", path);
    if (!has_filter(creation, H5Z_FILTER_SHUFFLE) || !has_filter(creation, H5Z_FILTER_DEFLATE) ||
        !has_filter(creation, H5Z_FILTER_FLETCHER32))
        complain(walk, "%s: expected the filters shuffle, deflate and fletcher32", path);
    if (H5Aexists(dataset, "unit") <= 0 || H5Aexists(dataset, "description") <= 0)
        complain(walk, "%s: expected the attributes unit and description", path);
    H5Pclose(creation);
}

static void check_dataset(struct walk *walk, hid_t dataset, const char *path)
{
    const struct pb_object *object = schema_of(path);
    struct pb_error err = PB_ERROR_INIT;
    void *rows = NULL;
    size_t count;

    check_storage(walk, dataset, path);
    if (object == NULL) {
        bool in_test = fits(path, "/devices/<key>/tests/<test>/<axis>");

        if (!in_test || H5DSis_scale(dataset) <= 0)
            complain(walk, "%s: is not in the schema", path);
        return;
    }
    if (object->kind == PB_OBJECT_GROUP) {
        complain(walk, "%s: expected a group, found a dataset", path);
        return;
    }
    if (object->kind == PB_OBJECT_MATRIX)
        return; /* read with its test */
    if (pb_h5_read_rows(walk->file, path, object, &rows, &count, &err) != PB_OK)
        complain(walk, "%s", err.message);
    free(rows);
}

static void check_group(struct walk *walk, hid_t group, const char *path)
{
    const struct pb_object *object = schema_of(path);
    struct pb_error err = PB_ERROR_INIT;
    void *record;

    if (is_folder(path))
        return;
    if (object == NULL || object->kind != PB_OBJECT_GROUP) {
        complain(walk, "%s: is not in the schema", path);
        return;
    }
    record = calloc(1, object->record_size);
    if (record == NULL || pb_h5_read_attributes(group, object, record, &err) != PB_OK)
        complain(walk, "%s: %s", path, record == NULL ? "no memory" : err.message);
    free(record);
}

static herr_t visit(hid_t root, const char *name, const H5O_info_t *info, void *context)
{
    struct walk *walk = context;
    char path[PATH_MAX];
    hid_t object;

    snprintf(path, sizeof(path), "/%s", strcmp(name, ".") == 0 ? "" : name);
    object = H5Oopen(root, name, H5P_DEFAULT);
    if (object < 0) {
        complain(walk, "%s: cannot be opened", path);
        return 0;
    }
    if (info->type == H5O_TYPE_GROUP)
        check_group(walk, object, path);
    else if (info->type == H5O_TYPE_DATASET)
        check_dataset(walk, object, path);
    else
        complain(walk, "%s: is not in the schema", path);
    H5Oclose(object);
    return 0;
}

/* Reads one test whole: ranges of points, checksums of chunks, axes of the matrix. */
static void check_test(struct walk *walk, const char *key, const char *test)
{
    struct pb_recording recording = {.outcome = PB_TEST_MISSING};
    struct pb_error err = PB_ERROR_INIT;

    if (pb_reader_recording(walk->reader, key, test, &recording, &err) != PB_OK) {
        complain(walk, "%s", err.message);
        return;
    }
    if (strcmp(recording.name, test) != 0)
        complain(walk, "/devices/%s/tests/%s: its name attribute says \"%s\"", key, test,
                 recording.name);
    if (recording.outcome == PB_TEST_OK && recording.series.point_count == 0 &&
        recording.matrix.rank == 0)
        complain(walk, "/devices/%s/tests/%s: is ok but holds nothing", key, test);
    pb_recording_clear(&recording);
}

static void check_devices(struct walk *walk)
{
    struct pb_key *keys = NULL, *tests = NULL;
    size_t key_count = 0, test_count;

    if (pb_reader_devices(walk->reader, &keys, &key_count, NULL) != PB_OK)
        complain(walk, "/devices: cannot be listed");
    for (size_t i = 0; i < key_count; i++) {
        if (pb_reader_tests(walk->reader, keys[i].text, &tests, &test_count, NULL) != PB_OK) {
            complain(walk, "/devices/%s/tests: cannot be listed", keys[i].text);
            continue;
        }
        for (size_t j = 0; j < test_count; j++)
            check_test(walk, keys[i].text, tests[j].text);
        free(tests);
        tests = NULL;
    }
    free(keys);
}

static bool is_member_status(const char *status)
{
    for (int i = PB_MEMBER_OK; i <= PB_MEMBER_DUPLICATE; i++)
        if (strcmp(status, pb_member_status_name((enum pb_member_status)i)) == 0)
            return true;
    return false;
}

static void check_member(struct walk *walk, const struct pb_member *member)
{
    struct pb_device_info info;
    bool measured = member->tests_ok + member->tests_failed > 0;

    if (!is_member_status(member->status))
        complain(walk, "/fleet: rank %lld: unknown status \"%s\"", (long long)member->rank,
                 member->status);
    if (measured && pb_reader_device(walk->reader, member->key, &info, NULL) != PB_OK)
        complain(walk, "/fleet: rank %lld: its device \"%s\" is not in /devices",
                 (long long)member->rank, member->key);
}

static void check_members(struct walk *walk)
{
    struct pb_member *members = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_run run;
    size_t count = 0, ok = 0;

    if (pb_reader_members(walk->reader, &members, &count, &err) != PB_OK) {
        complain(walk, "%s", err.message);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        check_member(walk, &members[i]);
        ok += strcmp(members[i].status, pb_member_status_name(PB_MEMBER_OK)) == 0;
    }
    pb_reader_run(walk->reader, &run, NULL);
    if ((run.complete != 0) != (ok == count && count > 0))
        complain(walk, "/: complete is %lld, but %zu of %zu rows of /fleet are ok",
                 (long long)run.complete, ok, count);
    free(members);
}

enum pb_status pb_file_validate(const char *path,
                                void (*complain_to)(void *context, const char *line), void *context,
                                size_t *complaints_out, struct pb_error *err)
{
    struct walk walk = {.complain = complain_to, .context = context};
    struct pb_run run;
    enum pb_status status = pb_fleet_open_file(path, &walk.file, &run, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_open(path, &walk.reader, err);
    if (status == PB_OK) {
        if (H5Ovisit(walk.file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk) < 0)
            complain(&walk, "%s: its objects cannot be walked", path);
        check_devices(&walk);
        check_members(&walk);
        pb_reader_close(walk.reader);
        *complaints_out = walk.complaints;
        if (walk.complaints > 0)
            status =
                pb_fail(err, PB_INVALID, "%s: %zu violations of the schema", path, walk.complaints);
    }
    H5Fclose(walk.file);
    return status;
}
