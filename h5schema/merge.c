/* Adding to a fleet file: images as they arrive, and whole other fleet files. */
#include <stdlib.h>
#include <string.h>

#include "h5schema/fleet.h"
#include "h5schema/image.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

/* Adds the rows of `name` in source to the device's state over time. */
static enum pb_status append_states(hid_t device, hid_t source, struct pb_error *err)
{
    const struct pb_object *object = pb_schema_find("/devices/<key>/state");
    void *rows = NULL;
    size_t count = 0;
    enum pb_status status;

    status = pb_h5_read_rows(source, "state", object, &rows, &count, err);
    if (status == PB_NOT_FOUND)
        return PB_OK;
    if (status == PB_OK && count > 0)
        status = pb_h5_append_rows(device, "state", object, rows, count, err);
    free(rows);
    return status;
}

static enum pb_status add_test(struct pb_fleet *fleet, hid_t image,
                               const struct pb_image_label *label, struct pb_error *err)
{
    hid_t device;
    bool taken = false;
    enum pb_status status = pb_fleet_device_group(fleet->file, label->key, &device, err);

    if (status != PB_OK)
        return status;
    status = pb_fleet_copy_test(device, label->name, image, PB_IMAGE_TEST, &taken, err);
    if (status == PB_OK && taken)
        status = append_states(device, image, err);
    H5Gclose(device);
    return status;
}

static enum pb_status add_device(struct pb_fleet *fleet, hid_t image,
                                 const struct pb_image_label *label, struct pb_error *err)
{
    struct pb_device_info info;
    hid_t group = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_group(image, PB_IMAGE_DEVICE, &group, err);

    if (status != PB_OK) {
        pb_error_prefix(err, "image of %s", label->key);
        return status;
    }
    status = pb_h5_read_attributes(group, pb_schema_find("/devices/<key>"), &info, err);
    H5Gclose(group);
    return status != PB_OK ? status : pb_fleet_put_device(fleet, label->key, &info, err);
}

static enum pb_status add_member(struct pb_fleet *fleet, hid_t image, struct pb_error *err)
{
    void *row = NULL;
    size_t count = 0;
    enum pb_status status =
        pb_h5_read_rows(image, PB_IMAGE_MEMBER "/row", pb_schema_find("/fleet"), &row, &count, err);

    if (status == PB_OK && count != 1)
        status = pb_fail(err, PB_CORRUPT, "image of a member: expected 1 row, found %zu", count);
    if (status == PB_OK)
        status = pb_fleet_put_member(fleet, row, err);
    free(row);
    return status;
}

enum pb_status pb_fleet_add(struct pb_fleet *fleet, const void *image, size_t size,
                            struct pb_error *err)
{
    struct pb_image_label label;
    hid_t file;
    enum pb_status status = pb_image_open(image, size, &file, &label, err);

    if (status != PB_OK)
        return status;
    if (strcmp(label.kind, PB_IMAGE_TEST) == 0)
        status = add_test(fleet, file, &label, err);
    else if (strcmp(label.kind, PB_IMAGE_DEVICE) == 0)
        status = add_device(fleet, file, &label, err);
    else if (strcmp(label.kind, PB_IMAGE_MEMBER) == 0)
        status = add_member(fleet, file, err);
    else
        status = pb_fail(err, PB_CORRUPT, "image: expected a device, test or member, found \"%s\"",
                         label.kind);
    H5Fclose(file);
    return status;
}

/* The number after all others, or, where those end, the lowest that is free. */
static int64_t free_rank(const struct pb_fleet *fleet)
{
    int64_t lowest = 0, highest = -1;

    for (size_t i = 0; i < fleet->member_count; i++) { /* they are sorted */
        int64_t rank = fleet->members[i].rank;

        highest = rank > highest ? rank : highest;
        lowest += rank == lowest;
    }
    return highest < INT64_MAX ? highest + 1 : lowest;
}

static bool is_ok(const struct pb_member *member)
{
    return strcmp(member->status, pb_member_status_name(PB_MEMBER_OK)) == 0;
}

/* A UUID is one device for good, but for MIG instances, whose profile may change under it. */
static enum pb_status check_model(const struct pb_fleet *fleet, const struct pb_member *row,
                                  struct pb_error *err)
{
    if (row->uuid[0] == '\0' || row->model[0] == '\0' || pb_uuid_is_instance(row->uuid))
        return PB_OK;
    for (size_t i = 0; i < fleet->member_count; i++) {
        const struct pb_member *old = &fleet->members[i];

        if (strcmp(old->uuid, row->uuid) == 0 && old->model[0] != '\0' &&
            strcmp(old->model, row->model) != 0)
            return pb_fail(err, PB_INVALID,
                           "UUID %s names two models, \"%.96s\" (%.96s) and \"%.96s\" (%.96s): "
                           "such files stay apart",
                           row->uuid, old->model, old->key, row->model, row->key);
    }
    return PB_OK;
}

enum pb_status pb_fleet_join_row(struct pb_fleet *fleet, const struct pb_member *row,
                                 struct pb_error *err)
{
    struct pb_member member = *row;
    enum pb_status status = check_model(fleet, row, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < fleet->member_count; i++) {
        const struct pb_member *old = &fleet->members[i];

        if (row->key[0] != '\0' && strcmp(old->key, row->key) == 0) {
            if (old->tests_ok > row->tests_ok || (old->tests_ok == row->tests_ok && is_ok(old)))
                return PB_OK;
            member.rank = old->rank;
            return pb_fleet_put_member(fleet, &member, err);
        }
    }
    for (size_t i = 0; i < fleet->member_count; i++) {
        if (fleet->members[i].rank == row->rank) {
            member.rank = free_rank(fleet);
            break;
        }
    }
    return pb_fleet_put_member(fleet, &member, err);
}

/* Tells the listener what of a device was damaged and is left out. */
static void report_damage(const struct pb_fleet *fleet, const char *path, const char *key,
                          const struct pb_error *cause)
{
    char line[PB_ERROR_LENGTH + PATH_MAX];

    if (fleet->listener.message == NULL)
        return;
    snprintf(line, sizeof(line), "%s: device %s: damaged and left out: %s", path, key,
             cause->message);
    fleet->listener.message(fleet->listener.context, line);
}

/* Reads a test as a whole: one that cannot be read is no result. */
static enum pb_status verify_test(struct pb_reader *reader, const char *key, const char *test,
                                  struct pb_error *err)
{
    struct pb_recording recording;
    enum pb_status status = pb_reader_recording(reader, key, test, &recording, err);

    if (status != PB_OK)
        return status;
    if (strcmp(recording.name, test) != 0)
        status = pb_fail(err, PB_CORRUPT, "test %s: its name attribute says \"%s\"", test,
                         recording.name);
    else if (recording.outcome == PB_TEST_OK && recording.series.point_count == 0 &&
             recording.matrix.rank == 0)
        status = pb_fail(err, PB_CORRUPT, "test %s: is ok but holds nothing", test);
    pb_recording_clear(&recording);
    return status;
}

/* In place of a damaged test, so that the file says that there was one; any other outranks it. */
static enum pb_status add_missing(struct pb_fleet *fleet, const char *key, const char *test,
                                  const char *message, struct pb_error *err)
{
    struct pb_recording recording = {.outcome = PB_TEST_MISSING, .sm_id = -1};
    struct pb_image image = {NULL, 0};
    enum pb_status status;

    if (strlen(test) >= sizeof(recording.name))
        return PB_OK; /* no test of ours has such a name */
    PB_TEXT_SET(recording.name, test);
    snprintf(recording.message, sizeof(recording.message), "its recording is damaged: %.200s",
             message);
    status = pb_image_of_test(key, &recording, NULL, 0, &image, err);
    if (status == PB_OK)
        status = pb_fleet_add(fleet, image.bytes, image.size, err);
    free(image.bytes);
    return status;
}

/* One test of another file, or a message that it is damaged. */
static enum pb_status join_test(struct pb_fleet *fleet, struct pb_reader *reader, hid_t source,
                                hid_t device, const char *key, const char *test,
                                struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    char path[2 * PB_KEY_LENGTH];
    bool taken;
    bool is_sound = verify_test(reader, key, test, &cause) == PB_OK;
    enum pb_status status = PB_OK;

    pb_h5_test_path(source, "tests", test, path, sizeof(path));
    if (is_sound)
        status = pb_fleet_copy_test(device, test, source, path, &taken, &cause);
    if (is_sound && status == PB_OK)
        return PB_OK;
    if (status != PB_OK && status != PB_CORRUPT) /* of the file being written, or of this host */
        return pb_fail(err, status, "%s", cause.message);
    report_damage(fleet, pb_reader_path(reader), key, &cause);
    return add_missing(fleet, key, test, cause.message, err);
}

static enum pb_status join_tests(struct pb_fleet *fleet, struct pb_reader *reader, hid_t source,
                                 hid_t device, const char *key, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_key *names = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_tests(reader, key, &names, &count, &cause);

    if (status != PB_OK) {
        report_damage(fleet, pb_reader_path(reader), key, &cause);
        return PB_OK;
    }
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = join_test(fleet, reader, source, device, key, names[i].text, err);
    free(names);
    return status;
}

/* The device's state over time; a damaged one is left out. */
static enum pb_status join_states(struct pb_fleet *fleet, struct pb_reader *reader, hid_t source,
                                  hid_t device, const char *key, struct pb_error *err)
{
    const struct pb_object *object = pb_schema_find("/devices/<key>/state");
    struct pb_error cause = PB_ERROR_INIT;
    void *rows = NULL;
    size_t count = 0;
    enum pb_status status = PB_OK;

    if (H5Lexists(source, "state", H5P_DEFAULT) <= 0)
        return PB_OK;
    if (pb_h5_read_rows(source, "state", object, &rows, &count, &cause) != PB_OK)
        report_damage(fleet, pb_reader_path(reader), key, &cause);
    else if (count > 0)
        status = pb_h5_append_rows(device, "state", object, rows, count, err);
    free(rows);
    return status;
}

static enum pb_status join_group(struct pb_fleet *fleet, struct pb_reader *reader, hid_t source,
                                 const char *key, struct pb_error *err)
{
    hid_t device;
    enum pb_status status = pb_fleet_device_group(fleet->file, key, &device, err);

    if (status != PB_OK)
        return status;
    status = join_tests(fleet, reader, source, device, key, err);
    if (status == PB_OK)
        status = join_states(fleet, reader, source, device, key, err);
    H5Gclose(device);
    return status;
}

static enum pb_status join_device(struct pb_fleet *fleet, struct pb_reader *reader, hid_t file,
                                  const char *key, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    char path[2 * PB_KEY_LENGTH];
    struct pb_device_info info;
    hid_t source = H5I_INVALID_HID;
    enum pb_status status = pb_reader_device(reader, key, &info, &cause);

    snprintf(path, sizeof(path), "/devices/%s", key);
    if (status == PB_OK)
        status = pb_h5_open_group(file, path, &source, &cause);
    if (status != PB_OK) {
        report_damage(fleet, pb_reader_path(reader), key, &cause);
        return PB_OK;
    }
    status = pb_fleet_put_device(fleet, key, &info, err);
    if (status == PB_OK)
        status = join_group(fleet, reader, source, key, err);
    H5Gclose(source);
    if (status != PB_OK)
        pb_error_prefix(err, "%s: device %s", pb_reader_path(reader), key);
    return status;
}

static enum pb_status join_members(struct pb_fleet *fleet, struct pb_reader *reader,
                                   struct pb_error *err)
{
    struct pb_member *members = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_members(reader, &members, &count, err);

    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = pb_fleet_join_row(fleet, &members[i], err);
    free(members);
    return status;
}

enum pb_status pb_fleet_add_file(struct pb_fleet *fleet, const char *path, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    struct pb_key *keys = NULL;
    struct pb_run run;
    size_t count = 0;
    hid_t file = H5I_INVALID_HID;
    enum pb_status status = pb_fleet_open_file(path, &file, &run, err);

    if (status == PB_OK)
        status = pb_reader_open(path, &reader, err);
    if (status == PB_OK)
        status = pb_reader_devices(reader, &keys, &count, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = join_device(fleet, reader, file, keys[i].text, err);
    if (status == PB_OK)
        status = join_members(fleet, reader, err);
    free(keys);
    pb_reader_close(reader);
    if (file >= 0)
        H5Fclose(file);
    return status;
}

static enum pb_status read_test_row(hid_t tests, hsize_t index, struct pb_test_row *row,
                                    struct pb_error *err)
{
    char name[PB_NAME_LENGTH + 1];
    hid_t group = H5I_INVALID_HID;
    enum pb_status status;

    if (H5Lget_name_by_idx(tests, ".", H5_INDEX_NAME, H5_ITER_INC, index, name, sizeof(name),
                           H5P_DEFAULT) >= 0)
        group = H5Gopen2(tests, name, H5P_DEFAULT);
    if (group < 0)
        return pb_h5_fail(err, PB_IO, "a test cannot be opened");
    status = pb_h5_read_attributes(group, pb_schema_find("/devices/<key>/tests/<test>"), row, err);
    H5Gclose(group);
    return status;
}

enum pb_status pb_fleet_tests(struct pb_fleet *fleet, const char *key,
                              struct pb_test_row **rows_out, size_t *count_out,
                              struct pb_error *err)
{
    char path[2 * PB_KEY_LENGTH];
    struct pb_test_row *rows = NULL;
    H5G_info_t info = {.nlinks = 0};
    hid_t tests;
    enum pb_status status = PB_OK;

    snprintf(path, sizeof(path), "/devices/%s/tests", key);
    tests = H5Gopen2(fleet->file, path, H5P_DEFAULT);
    if (tests < 0 || H5Gget_info(tests, &info) < 0)
        status = pb_h5_fail(err, PB_NOT_FOUND, "%s: no such device", key);
    else
        rows = calloc((size_t)info.nlinks + 1, sizeof(*rows));
    if (status == PB_OK && rows == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %llu tests", key,
                         (unsigned long long)info.nlinks);
    for (hsize_t i = 0; i < info.nlinks && status == PB_OK; i++)
        status = read_test_row(tests, i, &rows[i], err);
    if (tests >= 0)
        H5Gclose(tests);
    if (status != PB_OK) {
        free(rows);
        return status;
    }
    *rows_out = rows;
    *count_out = (size_t)info.nlinks;
    return PB_OK;
}
