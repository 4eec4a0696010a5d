/* Types and attributes; see object.h. Tables are in table.c. */
#include "h5schema/object.h"
#include "h5schema/open.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
