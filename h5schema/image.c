/*
 * Images: small HDF5 files in memory, each holding one finished thing. Compression happens here,
 * where the data is made; every later step copies the bytes.
 */
#include "h5schema/image.h"

#include <stdlib.h>
#include <string.h>

#include "core/former.h"
#include "h5schema/file.h"
#include "h5schema/fleet.h"
#include "h5schema/matrix.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

#define LABEL_FIELD(type, member, name)                                                            \
    {                                                                                              \
        name, PB_FIELD_##type, offsetof(struct pb_image_label, member),                            \
            sizeof(((struct pb_image_label *)0)->member), "", "", false                            \
    }

static const struct pb_field label_fields[] = {
    LABEL_FIELD(I64, schema_version, "schema_version"),
    LABEL_FIELD(TEXT, kind, "kind"),
    LABEL_FIELD(TEXT, key, "key"),
    LABEL_FIELD(TEXT, name, "name"),
};
static const struct pb_object label_object = {
    "/", PB_OBJECT_GROUP, true, label_fields, 4, sizeof(struct pb_image_label), "image"};

/* An empty image with its label and its content group. */
static enum pb_status begin(const char *kind, const char *key, const char *name, hid_t *file_out,
                            hid_t *group_out, struct pb_error *err)
{
    struct pb_image_label label = {.schema_version = PB_SCHEMA_VERSION};
    hid_t access = pb_h5_access(true);
    hid_t creation = pb_h5_creation();
    hid_t file = H5Fcreate("image", H5F_ACC_TRUNC, creation, access);
    hid_t group;
    enum pb_status status;

    H5Pclose(creation);
    H5Pclose(access);
    if (file < 0)
        return pb_h5_fail(err, PB_NO_MEMORY, "an image cannot be created");
    PB_TEXT_SET(label.kind, kind);
    PB_TEXT_SET(label.key, key);
    PB_TEXT_SET(label.name, name);
    status = pb_h5_write_attributes(file, &label_object, &label, err);
    group = H5Gcreate2(file, kind, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (status == PB_OK && group < 0)
        status = pb_h5_fail(err, PB_NO_MEMORY, "an image cannot be created");
    if (status != PB_OK) {
        H5Fclose(file);
        return status;
    }
    *file_out = file;
    *group_out = group;
    return PB_OK;
}

/*
 * The bytes of a file in memory. H5Fget_file_image() would do, but in HDF5 1.10 it spoils the
 * checksum of the superblock of this layout; so they come from the driver itself.
 */
static enum pb_status take_bytes(hid_t file, struct pb_image *image_out, struct pb_error *err)
{
    void **handle = NULL, *bytes;
    ssize_t size;

    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || (size = H5Fget_file_image(file, NULL, 0)) <= 0 ||
        H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&handle) < 0 || handle == NULL)
        return pb_h5_fail(err, PB_IO, "an image cannot be finished");
    bytes = malloc((size_t)size);
    if (bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating an image of %zd bytes", size);
    memcpy(bytes, *handle, (size_t)size);
    image_out->bytes = bytes;
    image_out->size = (size_t)size;
    return PB_OK;
}

/* Closes the image; its bytes come out unless `status` is already bad. */
static enum pb_status end(hid_t file, hid_t group, enum pb_status status,
                          struct pb_image *image_out, struct pb_error *err)
{
    H5Gclose(group);
    if (status == PB_OK)
        status = take_bytes(file, image_out, err);
    H5Fclose(file);
    return status;
}

enum pb_status pb_image_of_device(const char *key, const struct pb_device_info *info,
                                  struct pb_image *image_out, struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID, group = H5I_INVALID_HID;
    enum pb_status status = begin(PB_IMAGE_DEVICE, key, "", &file, &group, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_write_attributes(group, pb_schema_find("/devices/<key>"), info, err);
    return end(file, group, status, image_out, err);
}

enum pb_status pb_image_of_member(const struct pb_member *member, struct pb_image *image_out,
                                  struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID, group = H5I_INVALID_HID;
    enum pb_status status = begin(PB_IMAGE_MEMBER, member->key, "", &file, &group, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_write_rows(group, "row", pb_schema_find("/fleet"), member, 1, err);
    return end(file, group, status, image_out, err);
}

static enum pb_status write_test_attributes(hid_t group, const struct pb_recording *recording,
                                            struct pb_error *err)
{
    struct pb_test_row row = {.seconds = recording->seconds,
                              .overhead_cycles = recording->overhead_cycles,
                              .sm_id = recording->sm_id,
                              .concurrent_devices = recording->concurrent_devices,
                              .method_version = recording->method_version};

    PB_TEXT_SET(row.name, recording->name);
    PB_TEXT_SET(row.status, pb_outcome_name(recording->outcome));
    PB_TEXT_SET(row.unit, recording->unit);
    PB_TEXT_SET(row.method, recording->method);
    PB_TEXT_SET(row.message, recording->message);
    return pb_h5_write_attributes(group, pb_schema_find("/devices/<key>/tests/<test>"), &row, err);
}

static enum pb_status write_series(hid_t group, const struct pb_series *series,
                                   struct pb_error *err)
{
    enum pb_status status;

    if (series->point_count == 0)
        return PB_OK;
    status = pb_h5_write_rows(group, "points", pb_schema_find("/devices/<key>/tests/<test>/points"),
                              series->points, series->point_count, err);
    if (status != PB_OK || series->access_count == 0)
        return status;
    status =
        pb_h5_write_rows(group, "latency", pb_schema_find("/devices/<key>/tests/<test>/latency"),
                         series->latency_cycles, series->access_count, err);
    if (status != PB_OK)
        return status;
    return pb_h5_write_rows(group, "index", pb_schema_find("/devices/<key>/tests/<test>/index"),
                            series->index_bytes, series->access_count, err);
}

enum pb_status pb_image_of_test(const char *key, const struct pb_recording *recording,
                                const struct pb_state *states, size_t state_count,
                                struct pb_image *image_out, struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID, group = H5I_INVALID_HID;
    enum pb_status status = begin(PB_IMAGE_TEST, key, recording->name, &file, &group, err);

    if (status != PB_OK)
        return status;
    status = write_test_attributes(group, recording, err);
    if (status == PB_OK)
        status = write_series(group, &recording->series, err);
    if (status == PB_OK && recording->matrix.rank > 0)
        status = pb_h5_write_matrix(group, &recording->matrix, err);
    if (status == PB_OK && state_count > 0)
        status = pb_h5_write_rows(file, "state", pb_schema_find("/devices/<key>/state"), states,
                                  state_count, err);
    return end(file, group, status, image_out, err);
}

enum pb_status pb_image_open(const void *bytes, size_t size, hid_t *file_out,
                             struct pb_image_label *label_out, struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_image(bytes, size, &file, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_read_attributes(file, &label_object, label_out, err);
    if (status == PB_OK && !pb_schema_is_read(label_out->schema_version))
        status = pb_fail(err, PB_INVALID, "image: expected schema version %d to %d, found %lld",
                         PB_SCHEMA_VERSION_FIRST, PB_SCHEMA_VERSION,
                         (long long)label_out->schema_version);
    if (status != PB_OK) {
        H5Fclose(file);
        return status;
    }
    pb_name_update(PB_NAME_OF_TEST, label_out->name, sizeof(label_out->name));
    *file_out = file;
    return PB_OK;
}

enum pb_status pb_image_check(const void *bytes, size_t size, struct pb_error *err)
{
    struct pb_image_label label;
    hid_t file, group;
    enum pb_status status = pb_image_open(bytes, size, &file, &label, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_open_group(file, PB_IMAGE_TEST, &group, err);
    if (status == PB_OK) {
        status = pb_h5_check_test(group, label.name, err);
        H5Gclose(group);
    }
    H5Fclose(file);
    return status;
}
