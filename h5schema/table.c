/* Tables and arrays of the schema, written and read; see object.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5schema/object.h"
#include "h5schema/open.h"

enum { ROWS_PER_CHUNK = 256, ELEMENTS_PER_CHUNK = 65536 };

/* "footprint: byte, stride: byte, …" for the columns that have a unit. */
static void column_units(const struct pb_object *object, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < object->field_count && used < size; i++) {
        if (object->fields[i].unit[0] == '\0')
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s", used == 0 ? "" : ", ",
                                 object->fields[i].name, object->fields[i].unit);
    }
}

static enum pb_status describe_rows(hid_t dataset, const struct pb_object *object,
                                    struct pb_error *err)
{
    char units[PB_ERROR_LENGTH];
    const char *unit = object->fields[0].unit;
    const char *description = object->fields[0].description;
    enum pb_status status;

    if (object->kind == PB_OBJECT_TABLE) {
        column_units(object, units, sizeof(units));
        unit = units;
        description = object->description;
    }
    status = pb_h5_write_text(dataset, "unit", unit, err);
    return status != PB_OK ? status : pb_h5_write_text(dataset, "description", description, err);
}

/* An empty dataset that can grow, by chunks of so many rows. */
static hid_t create_rows(hid_t group, const char *name, const struct pb_object *object,
                         hsize_t chunk)
{
    hsize_t size = 0, limit = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(1, &size, &limit);
    hid_t creation = pb_h5_compressed(1, &chunk);
    hid_t memory = pb_h5_record_type(object);
    hid_t type = H5Tcopy(memory);
    hid_t dataset;

    if (object->kind == PB_OBJECT_TABLE)
        H5Tpack(type);
    dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Tclose(type);
    H5Tclose(memory);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

enum pb_status pb_h5_create_rows(hid_t group, const char *name, const struct pb_object *object,
                                 size_t chunk_rows, hid_t *dataset_out, struct pb_error *err)
{
    hid_t dataset = create_rows(group, name, object, chunk_rows);
    enum pb_status status;

    if (dataset < 0)
        return pb_h5_fail(err, PB_IO, "%s cannot be created", name);
    status = describe_rows(dataset, object, err);
    if (status != PB_OK)
        H5Dclose(dataset);
    else
        *dataset_out = dataset;
    return status;
}

enum pb_status pb_h5_extend_rows(hid_t dataset, const char *name, const struct pb_object *object,
                                 const void *rows, size_t count, struct pb_error *err)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t first = (hsize_t)H5Sget_simple_extent_npoints(space);
    hsize_t added = count, size = first + added;
    hid_t memory_space, type;
    herr_t done;

    H5Sclose(space);
    if (count == 0)
        return PB_OK;
    done = H5Dset_extent(dataset, &size);
    space = H5Dget_space(dataset);
    memory_space = H5Screate_simple(1, &added, NULL);
    type = pb_h5_record_type(object);
    if (done >= 0)
        done = H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &added, NULL);
    if (done >= 0)
        done = H5Dwrite(dataset, type, memory_space, space, H5P_DEFAULT, rows);
    H5Tclose(type);
    H5Sclose(memory_space);
    H5Sclose(space);
    return done < 0 ? pb_h5_fail(err, PB_IO, "%s: %zu rows cannot be written", name, count) : PB_OK;
}

static enum pb_status put_rows(hid_t group, const char *name, const struct pb_object *object,
                               const void *rows, size_t count, hsize_t expected,
                               struct pb_error *err)
{
    hsize_t most = object->kind == PB_OBJECT_TABLE ? ROWS_PER_CHUNK : ELEMENTS_PER_CHUNK;
    hsize_t chunk = expected < 1 ? 1 : (expected < most ? expected : most);
    bool made = H5Lexists(group, name, H5P_DEFAULT) <= 0;
    hid_t dataset =
        made ? create_rows(group, name, object, chunk) : H5Dopen2(group, name, H5P_DEFAULT);
    enum pb_status status = PB_OK;

    if (dataset < 0)
        return pb_h5_fail(err, PB_IO, "%s cannot be created", name);
    if (made)
        status = describe_rows(dataset, object, err);
    if (status == PB_OK)
        status = pb_h5_extend_rows(dataset, name, object, rows, count, err);
    H5Dclose(dataset);
    return status;
}

enum pb_status pb_h5_write_rows(hid_t group, const char *name, const struct pb_object *object,
                                const void *rows, size_t count, struct pb_error *err)
{
    if (H5Lexists(group, name, H5P_DEFAULT) > 0)
        H5Ldelete(group, name, H5P_DEFAULT);
    return put_rows(group, name, object, rows, count, count, err);
}

enum pb_status pb_h5_append_rows(hid_t group, const char *name, const struct pb_object *object,
                                 const void *rows, size_t count, struct pb_error *err)
{
    return put_rows(group, name, object, rows, count, ROWS_PER_CHUNK, err);
}

enum pb_status pb_h5_plausible(hid_t dataset, const char *name, size_t element_size,
                               size_t *count_out, struct pb_error *err)
{
    /* Deflate cannot exceed about 1,030:1; shuffle does not change the size. */
    enum { MOST_COMPRESSION = 1100 };
    hid_t space = H5Dget_space(dataset);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    hsize_t stored = H5Dget_storage_size(dataset);

    H5Sclose(space);
    if (count < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: its extent cannot be read", name);
    if ((double)count * (double)element_size > ((double)stored + 64.0) * MOST_COMPRESSION)
        return pb_fail(err, PB_CORRUPT, "%s: expected data for %lld elements, found %llu bytes",
                       name, (long long)count, (unsigned long long)stored);
    *count_out = (size_t)count;
    return PB_OK;
}

enum pb_status pb_h5_check_whole(hid_t dataset, const char *name, int rank, size_t element_size,
                                 size_t *count_out, struct pb_error *err)
{
    hid_t space = H5Dget_space(dataset);
    int found = H5Sget_simple_extent_ndims(space);
    size_t count = 0;
    enum pb_status status = PB_OK;

    H5Sclose(space);
    if (found != rank)
        return pb_fail(err, PB_CORRUPT, "%s: expected %d dimension%s, found %d", name, rank,
                       rank == 1 ? "" : "s", found);
    status = pb_h5_plausible(dataset, name, element_size, &count, err);
    if (status == PB_OK)
        *count_out = count;
    return status;
}

static enum pb_status check_columns(hid_t stored, const char *name, const struct pb_object *object,
                                    struct pb_error *err)
{
    if (object->kind != PB_OBJECT_TABLE) {
        if (!pb_h5_same_class(stored, &object->fields[0]))
            return pb_fail(err, PB_INVALID, "%s: expected numbers, found another type", name);
        return PB_OK;
    }
    if (H5Tget_class(stored) != H5T_COMPOUND)
        return pb_fail(err, PB_INVALID, "%s: expected a table, found another type", name);
    for (size_t i = 0; i < object->field_count; i++) {
        int at = H5Tget_member_index(stored, object->fields[i].name);
        hid_t member = at < 0 ? H5I_INVALID_HID : H5Tget_member_type(stored, (unsigned)at);
        bool fits = at < 0 ? object->fields[i].is_later
                           : member >= 0 && pb_h5_same_class(member, &object->fields[i]);

        if (member >= 0)
            H5Tclose(member);
        if (!fits)
            return pb_fail(err, PB_INVALID, "%s: column %s is %s", name, object->fields[i].name,
                           at < 0 ? "missing" : "of another type");
    }
    return PB_OK;
}

/* What the file lacks keeps what the rows held before: HDF5 converts the columns it finds. */
static void *new_rows(const struct pb_object *object, size_t count)
{
    char *rows = calloc(count, object->record_size);

    if (rows == NULL || object->kind != PB_OBJECT_TABLE)
        return rows;
    for (size_t i = 0; i < object->field_count; i++)
        for (size_t k = 0; object->fields[i].is_later && k < count; k++)
            pb_h5_set_unknown(&object->fields[i], rows + k * object->record_size);
    return rows;
}

/* The type of a dataset's elements is what the schema says, and the rows are all there. */
static enum pb_status check_rows(hid_t dataset, const char *name, const struct pb_object *object,
                                 size_t *count_out, struct pb_error *err)
{
    hid_t stored = H5Dget_type(dataset);
    enum pb_status status = check_columns(stored, name, object, err);

    H5Tclose(stored);
    return status != PB_OK
               ? status
               : pb_h5_check_whole(dataset, name, 1, object->record_size, count_out, err);
}

enum pb_status pb_h5_visit_rows(hid_t dataset, const char *name, const struct pb_object *object,
                                enum pb_status (*visit)(void *context, const void *rows,
                                                        size_t count, struct pb_error *err),
                                void *context, struct pb_error *err)
{
    size_t most = object->kind == PB_OBJECT_TABLE ? ROWS_PER_CHUNK : ELEMENTS_PER_CHUNK, count = 0;
    void *rows = new_rows(object, most);
    enum pb_status status = rows == NULL ? pb_fail(err, PB_NO_MEMORY, "%s: out of memory", name)
                                         : check_rows(dataset, name, object, &count, err);

    if (status == PB_OK)
        status = pb_h5_check_chunks(dataset, name, err);
    for (size_t first = 0; first < count && status == PB_OK; first += most) {
        size_t part = count - first < most ? count - first : most;

        status = pb_h5_read_range(dataset, name, object, first, part, rows, err);
        if (status == PB_OK && visit != NULL)
            status = visit(context, rows, part, err);
    }
    free(rows);
    return status;
}

enum pb_status pb_h5_read_rows(hid_t group, const char *name, const struct pb_object *object,
                               void **rows_out, size_t *count_out, struct pb_error *err)
{
    hid_t dataset = H5I_INVALID_HID;
    size_t count = 0;
    void *rows = NULL;
    enum pb_status status = pb_h5_open_rows(group, name, object, &dataset, &count, err);

    if (status != PB_OK)
        return status;
    if (count > PB_H5_DATASET_BYTES_MAX / object->record_size)
        status = pb_fail(err, PB_CORRUPT, "%s: expected at most %zu rows, found %zu", name,
                         PB_H5_DATASET_BYTES_MAX / object->record_size, count);
    if (status == PB_OK)
        status = pb_h5_check_chunks(dataset, name, err);
    if (status == PB_OK && count > 0 && (rows = new_rows(object, count)) == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu rows", name, count);
    if (status == PB_OK && count > 0)
        status = pb_h5_read_range(dataset, name, object, 0, count, rows, err);
    H5Dclose(dataset);
    if (status != PB_OK) {
        free(rows);
        return status;
    }
    *rows_out = rows;
    *count_out = count;
    return PB_OK;
}

enum pb_status pb_h5_open_rows(hid_t group, const char *name, const struct pb_object *object,
                               hid_t *dataset_out, size_t *count_out, struct pb_error *err)
{
    hid_t dataset = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_dataset(group, name, &dataset, err);

    if (status != PB_OK)
        return status;
    status = check_rows(dataset, name, object, count_out, err);
    if (status != PB_OK)
        H5Dclose(dataset);
    else
        *dataset_out = dataset;
    return status;
}

enum pb_status pb_h5_read_range(hid_t dataset, const char *name, const struct pb_object *object,
                                uint64_t first, size_t count, void *rows, struct pb_error *err)
{
    hsize_t start = first, size = count;
    hid_t space = H5Dget_space(dataset);
    hid_t memory_space = H5Screate_simple(1, &size, NULL);
    hid_t type = pb_h5_record_type(object);
    enum pb_status status = PB_OK;

    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &size, NULL) < 0 ||
        H5Dread(dataset, type, memory_space, space, H5P_DEFAULT, rows) < 0)
        status = pb_h5_fail(err, PB_CORRUPT, "%s: rows %llu to %llu cannot be read", name,
                            (unsigned long long)first, (unsigned long long)(first + count));
    H5Tclose(type);
    H5Sclose(memory_space);
    H5Sclose(space);
    if (status == PB_OK)
        pb_schema_update(object, rows, count);
    return status;
}
