/* Matrices and dimension scales; see matrix.h. */
#include "h5schema/matrix.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5schema/object.h"
#include "h5schema/open.h"

static const struct pb_field label_field = {"label", PB_FIELD_TEXT, 0, PB_NAME_LENGTH, "",
                                            "",      false};
static const struct pb_field number_field = {"number", PB_FIELD_F64, 0,    sizeof(double),
                                             "",       "",           false};

static void read_text(hid_t location, const char *name, char *text_out, size_t size)
{
    const struct pb_field field = {name, PB_FIELD_TEXT, 0, size, "", "", false};
    hid_t type = pb_h5_field_type(&field);
    hid_t attribute;

    memset(text_out, 0, size);
    if (pb_h5_open_attribute(location, name, &attribute, NULL) == PB_OK) {
        hid_t stored = H5Aget_type(attribute);

        H5Tset_cset(type, H5Tget_cset(stored)); /* what HDF5 wrote itself is ASCII */
        if (pb_h5_same_class(stored, &field))
            H5Aread(attribute, type, text_out);
        H5Tclose(stored);
        H5Aclose(attribute);
    }
    H5Tclose(type);
}

/* A whole dataset of the given shape, compressed, with unit and description. */
static enum pb_status write_dataset(hid_t group, const char *name, const struct pb_field *element,
                                    int rank, const hsize_t *shape, const void *values,
                                    const char *unit, const char *description, hid_t *dataset_out,
                                    struct pb_error *err)
{
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t creation = pb_h5_compressed(rank, shape);
    hid_t type = pb_h5_field_type(element);
    hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    enum pb_status status = PB_OK;

    if (dataset < 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = pb_h5_fail(err, PB_IO, "%s cannot be written", name);
    if (status == PB_OK)
        status = pb_h5_write_text(dataset, "unit", unit, err);
    if (status == PB_OK)
        status = pb_h5_write_text(dataset, "units", unit, err); /* as netCDF readers want it */
    if (status == PB_OK)
        status = pb_h5_write_text(dataset, "description", description, err);
    H5Tclose(type);
    H5Pclose(creation);
    H5Sclose(space);
    if (status != PB_OK && dataset >= 0)
        H5Dclose(dataset);
    if (status == PB_OK)
        *dataset_out = dataset;
    return status;
}

static enum pb_status write_axis(hid_t group, const struct pb_axis *axis, struct pb_error *err)
{
    hsize_t length = axis->length;
    const void *values = axis->values != NULL ? (const void *)axis->values : axis->labels;
    hid_t dataset;
    enum pb_status status;

    status = write_dataset(group, axis->name, axis->values != NULL ? &number_field : &label_field,
                           1, &length, values, axis->unit, axis->description, &dataset, err);
    if (status != PB_OK)
        return status;
    if (H5DSset_scale(dataset, axis->name) < 0)
        status = pb_h5_fail(err, PB_IO, "%s cannot become a dimension scale", axis->name);
    H5Dclose(dataset);
    return status;
}

/*
 * The names are kept in an attribute of our own too: H5DSget_label() of HDF5 1.10 frees what it has
 * not allocated when the attribute behind it is damaged.
 */
void pb_h5_axis_name(hid_t value, unsigned i, char name_out[PB_NAME_LENGTH])
{
    char names[PB_MATRIX_RANK_MAX * PB_NAME_LENGTH];
    char *rest = names, *name = NULL;

    read_text(value, "axes", names, sizeof(names));
    for (unsigned at = 0; at <= i; at++)
        name = strsep(&rest, ",");
    pb_text_copy(name_out, PB_NAME_LENGTH, name == NULL ? "" : name);
}

static enum pb_status write_axis_names(hid_t value, const struct pb_matrix *matrix,
                                       struct pb_error *err)
{
    char names[PB_MATRIX_RANK_MAX * PB_NAME_LENGTH];
    size_t used = 0;

    for (size_t i = 0; i < matrix->rank; i++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i == 0 ? "" : ",",
                                 matrix->axes[i].name);
    }
    return pb_h5_write_text(value, "axes", names, err);
}

enum pb_status pb_h5_write_matrix(hid_t group, const struct pb_matrix *matrix, struct pb_error *err)
{
    hsize_t shape[PB_MATRIX_RANK_MAX];
    hid_t value;
    enum pb_status status;

    for (size_t i = 0; i < matrix->rank; i++) {
        shape[i] = matrix->axes[i].length;
        status = write_axis(group, &matrix->axes[i], err);
        if (status != PB_OK)
            return status;
    }
    status = write_dataset(group, "value", &number_field, (int)matrix->rank, shape, matrix->values,
                           matrix->unit, matrix->description, &value, err);
    if (status != PB_OK)
        return status;
    status = write_axis_names(value, matrix, err);
    H5Dclose(value);
    return status;
}

static int rank_of(hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);

    H5Sclose(space);
    return rank;
}

/*
 * H5DSis_scale() of 1.10 reads as many values as there are into room for one, and others read the
 * text into room for this one.
 */
bool pb_h5_is_scale(hid_t dataset)
{
    static const char expected[] = "DIMENSION_SCALE";
    char class[PB_NAME_LENGTH];
    H5A_info_t info;

    read_text(dataset, "CLASS", class, sizeof(class));
    return strcmp(class, expected) == 0 &&
           H5Aget_info_by_name(dataset, ".", "CLASS", &info, H5P_DEFAULT) >= 0 &&
           info.data_size == sizeof(expected);
}

static enum pb_status attach_one(hid_t group, hid_t value, unsigned i, struct pb_error *err)
{
    char name[PB_NAME_LENGTH];
    hid_t axis;
    herr_t done = -1;

    pb_h5_axis_name(value, i, name);
    axis = name[0] == '\0' ? H5I_INVALID_HID : H5Dopen2(group, name, H5P_DEFAULT);
    if (axis >= 0) {
        done = pb_h5_is_scale(axis) ? 0 : H5DSset_scale(axis, name);
        if (done >= 0)
            done = H5DSattach_scale(value, axis, i);
        if (done >= 0)
            done = H5DSset_label(value, i, name);
        H5Dclose(axis);
    }
    return done < 0
               ? pb_h5_fail(err, PB_CORRUPT, "value: axis %u \"%s\" cannot be attached", i, name)
               : PB_OK;
}

enum pb_status pb_h5_attach_scales(hid_t group, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    hid_t value;

    if (H5Lexists(group, "value", H5P_DEFAULT) <= 0)
        return PB_OK;
    value = H5Dopen2(group, "value", H5P_DEFAULT);
    if (value < 0)
        return pb_h5_fail(err, PB_CORRUPT, "value cannot be opened");
    for (int i = 0; i < rank_of(value) && status == PB_OK; i++)
        status = attach_one(group, value, (unsigned)i, err);
    H5Dclose(value);
    return status;
}

/* All elements of a dataset as numbers or labels. */
static enum pb_status read_values(hid_t dataset, const char *name, const struct pb_field *element,
                                  int rank, void **values_out, size_t *count_out,
                                  struct pb_error *err)
{
    hid_t type;
    void *values;
    size_t count = 0;
    herr_t done;
    enum pb_status status = pb_h5_check_whole(dataset, name, rank, element->size, &count, err);

    if (status != PB_OK)
        return status;
    if (count > PB_H5_DATASET_BYTES_MAX / element->size)
        return pb_fail(err, PB_CORRUPT, "%s: expected at most %zu values, found %zu", name,
                       PB_H5_DATASET_BYTES_MAX / element->size, count);
    values = calloc(count == 0 ? 1 : count, element->size);
    if (values == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu values", name, count);
    status = pb_h5_check_chunks(dataset, name, err);
    if (status != PB_OK) {
        free(values);
        return status;
    }
    type = pb_h5_field_type(element);
    done = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Tclose(type);
    if (done < 0) {
        free(values);
        return pb_h5_fail(err, PB_CORRUPT, "%s: its data cannot be read", name);
    }
    *values_out = values;
    *count_out = count;
    return PB_OK;
}

static enum pb_status read_axis(hid_t group, const char *name, struct pb_axis *axis,
                                struct pb_error *err)
{
    hid_t dataset = H5I_INVALID_HID, type;
    void *values = NULL;
    bool labels;
    enum pb_status status = pb_h5_open_dataset(group, name, &dataset, err);

    if (status != PB_OK) {
        pb_error_prefix(err, "axis");
        return PB_CORRUPT;
    }
    type = H5Dget_type(dataset);
    labels = H5Tget_class(type) == H5T_STRING;
    H5Tclose(type);
    status = read_values(dataset, name, labels ? &label_field : &number_field, 1, &values,
                         &axis->length, err);
    if (status == PB_OK) {
        PB_TEXT_SET(axis->name, name);
        read_text(dataset, "unit", axis->unit, sizeof(axis->unit));
        read_text(dataset, "description", axis->description, sizeof(axis->description));
        if (labels)
            axis->labels = values;
        else
            axis->values = values;
    }
    H5Dclose(dataset);
    return status;
}

static enum pb_status read_shape(hid_t group, hid_t value, struct pb_matrix *matrix,
                                 struct pb_error *err)
{
    hsize_t shape[H5S_MAX_RANK] = {0};
    hid_t space = H5Dget_space(value);
    int rank = H5Sget_simple_extent_dims(space, shape, NULL);

    H5Sclose(space);
    if (rank < 1 || rank > PB_MATRIX_RANK_MAX)
        return pb_fail(err, PB_CORRUPT, "value: expected 1 to %d dimensions, found %d",
                       PB_MATRIX_RANK_MAX, rank);
    for (int i = 0; i < rank; i++) {
        char name[PB_NAME_LENGTH];
        enum pb_status status;

        pb_h5_axis_name(value, (unsigned)i, name);
        if (name[0] == '\0' || strchr(name, '/') != NULL)
            return pb_fail(err, PB_CORRUPT, "value: expected the name of axis %d, found \"%s\"", i,
                           name);
        status = read_axis(group, name, &matrix->axes[i], err);
        if (status != PB_OK)
            return status;
        if (matrix->axes[i].length != shape[i])
            return pb_fail(err, PB_CORRUPT, "axis %s: expected %llu values, found %zu", name,
                           (unsigned long long)shape[i], matrix->axes[i].length);
    }
    matrix->rank = (size_t)rank;
    return PB_OK;
}

enum pb_status pb_h5_read_matrix(hid_t group, struct pb_matrix *matrix_out, struct pb_error *err)
{
    hid_t value;
    void *values = NULL;
    size_t count;
    enum pb_status status;

    status = pb_h5_open_dataset(group, "value", &value, err);
    if (status != PB_OK)
        return status == PB_NOT_FOUND ? PB_OK : status;
    status = read_shape(group, value, matrix_out, err);
    if (status == PB_OK)
        status =
            read_values(value, "value", &number_field, (int)matrix_out->rank, &values, &count, err);
    if (status == PB_OK) {
        matrix_out->values = values;
        read_text(value, "unit", matrix_out->unit, sizeof(matrix_out->unit));
        read_text(value, "description", matrix_out->description, sizeof(matrix_out->description));
    }
    H5Dclose(value);
    return status;
}
