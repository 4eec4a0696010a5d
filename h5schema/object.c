/* Errors, properties, types and attributes; see object.h. Tables are in table.c. */
#include "h5schema/object.h"
#include "h5schema/open.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEFLATE_LEVEL = 4 };

void pb_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t keep_innermost(unsigned depth, const H5E_error2_t *entry, void *text)
{
    (void)depth;
    if (entry->desc != NULL && *(const char **)text == NULL)
        *(const char **)text = entry->desc;
    return 0;
}

/* "file write failed: No space left on device": without descriptors, addresses and line breaks. */
static void shorten(const char *cause, char *text, size_t size)
{
    static const char mark[] = "error message = '";
    const char *reason = strstr(cause, mark);

    if (reason == NULL) {
        snprintf(text, size, "%.*s", (int)strcspn(cause, "\n"), cause);
        return;
    }
    reason += strlen(mark);
    snprintf(text, size, "%.*s: %.*s", (int)strcspn(cause, ":"), cause, (int)strcspn(reason, "'"),
             reason);
}

enum pb_status pb_h5_fail(struct pb_error *err, enum pb_status status, const char *format, ...)
{
    char text[PB_ERROR_LENGTH], reason[PB_ERROR_LENGTH];
    const char *cause = NULL;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &cause);
    if (cause == NULL)
        return pb_fail(err, status, "%s", text);
    shorten(cause, reason, sizeof(reason));
    return pb_fail(err, status, "%s (HDF5: %s)", text, reason);
}

/*
 * Memory must not grow with the number of devices: the cache of metadata keeps its size. It counts
 * bytes on disk, and headers with many attributes take some 20 times that in memory, so 1 MiB would
 * only be full after hundreds of devices (measured: 33 MB for 64 of them, 15 MB with 64 KiB).
 */
static void bound_metadata_cache(hid_t access)
{
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    H5Pget_mdc_config(access, &cache);
    cache.set_initial_size = true;
    cache.initial_size = (size_t)1 << 16;
    cache.min_size = (size_t)1 << 16;
    cache.max_size = (size_t)1 << 16;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
    H5Pset_mdc_config(access, &cache);
}

hid_t pb_h5_access(bool core)
{
    hid_t access;

    /* Files are closed where they are opened. One that a full disk kept from closing would be tried
     * again at exit, and end the process by a signal. */
    H5dont_atexit();
    access = H5Pcreate(H5P_FILE_ACCESS);
    pb_h5_quiet();
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (core)
        H5Pset_fapl_core(access, (size_t)64 << 10, false);
    else
        bound_metadata_cache(access);
    return access;
}

hid_t pb_h5_creation(void)
{
    enum { HALF_CHUNKS_PER_NODE = 4 };
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);

    H5Pset_istore_k(creation, HALF_CHUNKS_PER_NODE);
    return creation;
}

hid_t pb_h5_compressed(int rank, const hsize_t *chunk)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_chunk(creation, rank, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, DEFLATE_LEVEL);
    H5Pset_fletcher32(creation);
    H5Pset_attr_phase_change(creation, 32, 16);
    return creation;
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

hid_t pb_h5_field_type(const struct pb_field *field)
{
    switch (field->type) {
    case PB_FIELD_TEXT:
        return text_type(field->size);
    case PB_FIELD_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case PB_FIELD_U64:
        return H5Tcopy(H5T_NATIVE_UINT64);
    case PB_FIELD_U32:
        return H5Tcopy(H5T_NATIVE_UINT32);
    case PB_FIELD_I32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case PB_FIELD_F64:
        break;
    }
    return H5Tcopy(H5T_NATIVE_DOUBLE);
}

hid_t pb_h5_record_type(const struct pb_object *object)
{
    hid_t type;

    if (object->kind != PB_OBJECT_TABLE)
        return pb_h5_field_type(&object->fields[0]);
    type = H5Tcreate(H5T_COMPOUND, object->record_size);
    for (size_t i = 0; i < object->field_count; i++) {
        hid_t member = pb_h5_field_type(&object->fields[i]);

        H5Tinsert(type, object->fields[i].name, object->fields[i].offset, member);
        H5Tclose(member);
    }
    return type;
}

/* Makes (or makes anew) a scalar attribute and writes one value. */
static enum pb_status write_attribute(hid_t location, const char *name, hid_t type,
                                      const void *value, struct pb_error *err)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute;
    herr_t done = -1;

    if (H5Aexists(location, name) > 0)
        H5Adelete(location, name);
    attribute = H5Acreate2(location, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        done = H5Awrite(attribute, type, value);
        H5Aclose(attribute);
    }
    H5Sclose(space);
    return done < 0 ? pb_h5_fail(err, PB_IO, "attribute %s cannot be written", name) : PB_OK;
}

enum pb_status pb_h5_write_text(hid_t location, const char *name, const char *text,
                                struct pb_error *err)
{
    hid_t type = text_type(strlen(text) + 1);
    enum pb_status status = write_attribute(location, name, type, text, err);

    H5Tclose(type);
    return status;
}

enum pb_status pb_h5_write_attributes(hid_t group, const struct pb_object *object,
                                      const void *record, struct pb_error *err)
{
    for (size_t i = 0; i < object->field_count; i++) {
        const struct pb_field *field = &object->fields[i];
        const char *value = (const char *)record + field->offset;
        enum pb_status status;

        if (field->type == PB_FIELD_TEXT) {
            status = pb_h5_write_text(group, field->name, value, err);
        } else {
            hid_t type = pb_h5_field_type(field);

            status = write_attribute(group, field->name, type, value, err);
            H5Tclose(type);
        }
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

bool pb_h5_same_class(hid_t stored, const struct pb_field *field)
{
    H5T_class_t class = H5Tget_class(stored);

    if (field->type == PB_FIELD_TEXT)
        return class == H5T_STRING && H5Tis_variable_str(stored) == 0;
    return class == (field->type == PB_FIELD_F64 ? H5T_FLOAT : H5T_INTEGER);
}

void pb_h5_set_unknown(const struct pb_field *field, void *record)
{
    char *value = (char *)record + field->offset;

    if (field->type == PB_FIELD_F64)
        memcpy(value, &(double){NAN}, sizeof(double));
    else if (field->type == PB_FIELD_I64 || field->type == PB_FIELD_I32)
        memset(value, 0xff, field->size); /* -1 */
    else
        memset(value, 0, field->size);
}

static enum pb_status read_attribute(hid_t group, const struct pb_field *field, void *value_out,
                                     struct pb_error *err)
{
    hid_t attribute = H5I_INVALID_HID, stored, type;
    enum pb_status status = pb_h5_open_attribute(group, field->name, &attribute, err);
    bool fits;

    if (status != PB_OK)
        return status == PB_NOT_FOUND ? PB_INVALID : status;
    stored = H5Aget_type(attribute);
    type = pb_h5_field_type(field);
    fits = pb_h5_same_class(stored, field) && H5Aread(attribute, type, value_out) >= 0;
    H5Tclose(type);
    H5Tclose(stored);
    H5Aclose(attribute);
    return fits ? PB_OK : pb_fail(err, PB_INVALID, "attribute %s has another type", field->name);
}

enum pb_status pb_h5_read_attributes(hid_t group, const struct pb_object *object, void *record_out,
                                     struct pb_error *err)
{
    memset(record_out, 0, object->record_size);
    for (size_t i = 0; i < object->field_count; i++) {
        const struct pb_field *field = &object->fields[i];
        enum pb_status status;

        if (field->is_later && H5Aexists(group, field->name) == 0) {
            pb_h5_set_unknown(field, record_out);
            continue;
        }
        status = read_attribute(group, field, (char *)record_out + field->offset, err);
        if (status != PB_OK)
            return status;
    }
    pb_schema_update(object, record_out, 1);
    return PB_OK;
}
