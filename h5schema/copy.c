/* Copying a test between files without decompressing it; see copy.h. */
#include "h5schema/copy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/identity.h"
#include "h5schema/file.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

/* ---- attributes ---- */

/* Attributes that mean something in any file: numbers and texts. */
static bool is_plain(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);

    return class == H5T_INTEGER || class == H5T_FLOAT ||
           (class == H5T_STRING && H5Tis_variable_str(type) == 0);
}

static enum pb_status copy_value(hid_t old, hid_t type, hid_t to, const char *name,
                                 struct pb_error *err)
{
    enum { HEADER_MAX = 1 << 16 }; /* an object's header takes no more */
    hid_t space = H5Aget_space(old);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    char *value = count == 1 && size <= HEADER_MAX ? malloc(size + 1) : NULL;
    hid_t made = H5I_INVALID_HID;
    enum pb_status status = PB_OK;

    if (value == NULL || H5Aread(old, type, value) < 0)
        status = pb_h5_fail(err, PB_CORRUPT, "attribute %s cannot be read", name);
    else if ((made = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT)) < 0 ||
             H5Awrite(made, type, value) < 0)
        status = pb_h5_fail(err, PB_IO, "attribute %s cannot be written", name);
    if (made >= 0)
        H5Aclose(made);
    H5Sclose(space);
    free(value);
    return status;
}

/* HDF5 reads these of its own with trust: they are made anew, by pb_h5_attach_scales(). */
static bool is_of_hdf5(const char *name)
{
    static const char *const names[] = {"CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS",
                                        "REFERENCE_LIST"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

struct attribute_copy {
    hid_t to;
    enum pb_status status;
    struct pb_error *err;
};

static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *context)
{
    struct attribute_copy *copy = context;
    hid_t old = H5Aopen(from, name, H5P_DEFAULT), type;

    (void)info;
    if (old < 0) {
        copy->status = pb_h5_fail(copy->err, PB_CORRUPT, "attribute %s cannot be opened", name);
        return -1;
    }
    type = H5Aget_type(old);
    if (is_plain(type) && !is_of_hdf5(name))
        copy->status = copy_value(old, type, copy->to, name, copy->err);
    H5Tclose(type);
    H5Aclose(old);
    return copy->status == PB_OK ? 0 : -1;
}

/* In HDF5's own order, for the reason of pb_h5_list(). */
static enum pb_status copy_attributes(hid_t from, hid_t to, struct pb_error *err)
{
    struct attribute_copy copy = {to, PB_OK, err};
    herr_t done = H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, copy_attribute, &copy);

    if (done < 0 && copy.status == PB_OK)
        copy.status = pb_h5_fail(err, PB_CORRUPT, "attributes cannot be listed");
    return copy.status;
}

/* ---- datasets ---- */

/* A dataset on its way. */
struct passage {
    const char *name;
    hid_t from, to;
    int rank;
    hsize_t shape[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    size_t chunk_bytes;    /* before compression */
    unsigned checksum_bit; /* of a chunk's filter mask: set where it has no checksum */
};

/* ---- checksums ---- */

uint32_t pb_h5_fletcher32(const void *bytes, size_t size)
{
    enum { SUMS_FIT = 360 }; /* words after which 32 bits might overflow */
    const unsigned char *at = bytes;
    uint32_t low = 0, high = 0;

    for (size_t i = 0; i < size; i += 2) {
        low += (uint32_t)at[i] << 8 | (i + 1 < size ? at[i + 1] : 0);
        high += low;
        if (i / 2 % SUMS_FIT == SUMS_FIT - 1) {
            low = (low & 0xffff) + (low >> 16);
            high = (high & 0xffff) + (high >> 16);
        }
    }
    for (int i = 0; i < 2; i++) {
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    return high << 16 | low;
}

/* A stored chunk ends with the checksum of what is before it, little-endian. */
static enum pb_status check_chunk(const struct passage *passage, const unsigned char *bytes,
                                  size_t size, uint32_t filters, struct pb_error *err)
{
    enum { SUM_BYTES = 4 };
    uint32_t stored = 0, found;

    if (size <= SUM_BYTES || (filters & passage->checksum_bit) != 0)
        return pb_fail(err, PB_CORRUPT, "%s: a chunk has no checksum", passage->name);
    for (int i = 0; i < SUM_BYTES; i++)
        stored |= (uint32_t)bytes[size - SUM_BYTES + i] << (8 * i);
    found = pb_h5_fletcher32(bytes, size - SUM_BYTES);
    if (found != stored)
        return pb_fail(err, PB_CORRUPT, "%s: expected checksum %08x of a chunk, found %08x",
                       passage->name, stored, found);
    return PB_OK;
}

/* Which bit of a chunk's filter mask stands for its checksum, the last filter of all. */
static enum pb_status find_checksum(struct passage *passage, hid_t creation, struct pb_error *err)
{
    int count = H5Pget_nfilters(creation);
    unsigned flags;
    size_t values = 0;

    if (count < 1 || H5Pget_filter2(creation, (unsigned)count - 1, &flags, &values, NULL, 0, NULL,
                                    NULL) != H5Z_FILTER_FLETCHER32)
        return pb_fail(err, PB_CORRUPT, "%s: expected the filter fletcher32, found none",
                       passage->name);
    passage->checksum_bit = 1U << (count - 1);
    return PB_OK;
}

/* ---- chunks ---- */

static enum pb_status copy_chunk(const struct passage *passage, const hsize_t *offset,
                                 struct pb_error *err)
{
    enum { SLACK_BYTES = 4096 }; /* what deflate and checksums may add, with room */
    hsize_t size = 0;
    uint32_t filters = 0;
    void *bytes = NULL;
    enum pb_status status = PB_OK;

    if (H5Dget_chunk_storage_size(passage->from, offset, &size) < 0 || size == 0 ||
        size > 2 * passage->chunk_bytes + SLACK_BYTES)
        return pb_h5_fail(err, PB_CORRUPT, "%s: a chunk is missing", passage->name);
    bytes = malloc(size);
    if (bytes == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %llu bytes",
                         (unsigned long long)size);
    else if (H5Dread_chunk(passage->from, H5P_DEFAULT, offset, &filters, bytes) < 0)
        status = pb_h5_fail(err, PB_CORRUPT, "%s: a chunk cannot be read", passage->name);
    else if (check_chunk(passage, bytes, size, filters, err) != PB_OK)
        status = PB_CORRUPT;
    else if (H5Dwrite_chunk(passage->to, H5P_DEFAULT, filters, offset, size, bytes) < 0)
        status = pb_h5_fail(err, PB_IO, "%s: a chunk cannot be written", passage->name);
    free(bytes);
    return status;
}

/* Moves on to the next chunk, the last dimension first; false: that was the last one. */
static bool advance(const struct passage *passage, hsize_t *offset)
{
    for (int i = passage->rank; i-- > 0;) {
        offset[i] += passage->chunk[i];
        if (offset[i] < passage->shape[i])
            return true;
        offset[i] = 0;
    }
    return false;
}

static enum pb_status copy_chunks(const struct passage *passage, struct pb_error *err)
{
    hsize_t offset[H5S_MAX_RANK] = {0};
    enum pb_status status;

    do
        status = copy_chunk(passage, offset, err);
    while (status == PB_OK && advance(passage, offset));
    return status;
}

/* Its shape, and that of its chunks. */
static enum pb_status measure(struct passage *passage, hid_t type, hid_t space, hid_t creation,
                              size_t *count_out, struct pb_error *err)
{
    passage->rank = H5Sget_simple_extent_dims(space, passage->shape, NULL);
    passage->chunk_bytes = H5Tget_size(type);
    if (passage->rank < 1 || H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Pget_chunk(creation, H5S_MAX_RANK, passage->chunk) != passage->rank)
        return pb_h5_fail(err, PB_CORRUPT, "%s: expected a chunked array", passage->name);
    for (int i = 0; i < passage->rank; i++)
        passage->chunk_bytes *= passage->chunk[i];
    return pb_h5_plausible(passage->from, passage->name, H5Tget_size(type), count_out, err);
}

static enum pb_status fill(struct passage *passage, hid_t to, struct pb_error *err)
{
    hid_t type = H5Dget_type(passage->from), space = H5Dget_space(passage->from);
    hid_t creation = H5Dget_create_plist(passage->from);
    size_t count = 0;
    enum pb_status status = measure(passage, type, space, creation, &count, err);

    if (status == PB_OK)
        status = find_checksum(passage, creation, err);
    if (status == PB_OK) {
        passage->to =
            H5Dcreate2(to, passage->name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        if (passage->to < 0)
            status = pb_h5_fail(err, PB_IO, "%s cannot be created", passage->name);
        else if (count > 0)
            status = copy_chunks(passage, err);
    }
    if (status == PB_OK)
        status = copy_attributes(passage->from, passage->to, err);
    if (passage->to >= 0 && H5Dclose(passage->to) < 0 && status == PB_OK)
        status = pb_h5_fail(err, PB_IO, "%s cannot be written", passage->name);
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

static enum pb_status copy_dataset(hid_t from, const char *name, hid_t to, struct pb_error *err)
{
    struct passage passage = {.name = name, .from = H5I_INVALID_HID, .to = H5I_INVALID_HID};
    enum pb_status status = pb_h5_open_dataset(from, name, &passage.from, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_check_chunks(passage.from, name, err);
    if (status == PB_OK)
        status = fill(&passage, to, err);
    H5Dclose(passage.from);
    return status;
}

/* Is the file of a location of an older version of the schema? */
static bool is_former(hid_t location)
{
    hid_t file = H5Iget_file_id(location), attribute = H5I_INVALID_HID;
    int64_t version = PB_SCHEMA_VERSION;

    if (pb_h5_open_attribute(file, "schema_version", &attribute, NULL) == PB_OK) {
        H5Aread(attribute, H5T_NATIVE_INT64, &version);
        H5Aclose(attribute);
    }
    H5Fclose(file);
    return version < PB_SCHEMA_VERSION;
}

/* Points by the names of this version. */
static enum pb_status rewrite_points(hid_t from, hid_t to, struct pb_error *err)
{
    const struct pb_object *object = pb_schema_find("/devices/<key>/tests/<test>/points");
    void *rows = NULL;
    size_t count = 0;
    enum pb_status status = pb_h5_read_rows(from, "points", object, &rows, &count, err);

    if (status == PB_OK)
        status = pb_h5_write_rows(to, "points", object, rows, count, err);
    free(rows);
    return status;
}

/* The attribute that names the test, likewise. */
static enum pb_status rewrite_name(hid_t from, hid_t to, struct pb_error *err)
{
    struct pb_test_row row;
    enum pb_status status =
        pb_h5_read_attributes(from, pb_schema_find("/devices/<key>/tests/<test>"), &row, err);

    return status == PB_OK ? pb_h5_write_text(to, "name", row.name, err) : status;
}

enum pb_status pb_h5_copy_test(hid_t from, const char *path, hid_t to, const char *name,
                               struct pb_error *err)
{
    hid_t source = H5I_INVALID_HID, copy = H5I_INVALID_HID;
    struct pb_key *names = NULL;
    size_t count = 0;
    enum pb_status status = pb_h5_open_group(from, path, &source, err);
    bool former;

    if (status != PB_OK)
        return status;
    former = is_former(source);
    status = pb_h5_list(source, path, &names, &count, err);
    if (status == PB_OK && (copy = H5Gcreate2(to, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) < 0)
        status = pb_h5_fail(err, PB_IO, "%s cannot be created", name);
    if (status == PB_OK)
        status = copy_attributes(source, copy, err);
    if (status == PB_OK && former)
        status = rewrite_name(source, copy, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = former && strcmp(names[i].text, "points") == 0
                     ? rewrite_points(source, copy, err)
                     : copy_dataset(source, names[i].text, copy, err);
    free(names);
    if (copy >= 0)
        H5Gclose(copy);
    H5Gclose(source);
    return status;
}
