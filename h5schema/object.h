/*
 * Private to h5schema/: one object of the schema written to, or read from, one place of an HDF5
 * file. All functions traverse struct pb_object; none knows a column by name.
 */
#ifndef PB_H5SCHEMA_OBJECT_H
#define PB_H5SCHEMA_OBJECT_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/error.h"
#include "h5schema/hdf5.h"
#include "h5schema/schema.h"

/* The compound type of a table as it lies in memory, or as it is stored. Close it. */
hid_t pb_h5_record_type(const struct pb_object *object);
hid_t pb_h5_field_type(const struct pb_field *field);

/* HDF5 converts between any two numbers, so only text against number must be refused. */
bool pb_h5_same_class(hid_t stored, const struct pb_field *field);

/* What a field is worth in a file that was written before there was such a field. */
void pb_h5_set_unknown(const struct pb_field *field, void *record);

enum pb_status pb_h5_write_text(hid_t location, const char *name, const char *text,
                                struct pb_error *err);

/* Attributes of a group from the C structure `record`; existing ones are replaced. */
enum pb_status pb_h5_write_attributes(hid_t group, const struct pb_object *object,
                                      const void *record, struct pb_error *err);
/* PB_INVALID: an attribute is missing, unless it came later, or has another type. */
enum pb_status pb_h5_read_attributes(hid_t group, const struct pb_object *object, void *record_out,
                                     struct pb_error *err);

/* A one-dimensional dataset `name`: a table or an array. count 0 writes an empty table. */
enum pb_status pb_h5_write_rows(hid_t group, const char *name, const struct pb_object *object,
                                const void *rows, size_t count, struct pb_error *err);
/* Adds rows to the end of a table, made when it is not there. */
enum pb_status pb_h5_append_rows(hid_t group, const char *name, const struct pb_object *object,
                                 const void *rows, size_t count, struct pb_error *err);
/* *rows_out is to be freed; NULL when there are none. PB_INVALID: a column is missing, unless it
 * came later. */
enum pb_status pb_h5_read_rows(hid_t group, const char *name, const struct pb_object *object,
                               void **rows_out, size_t *count_out, struct pb_error *err);

/*
 * The same by ranges, for tables that do not fit in memory. The dataset is to be closed. Open
 * checks columns and extent as pb_h5_read_rows() does; the range of a read must lie within the
 * extent.
 */
enum pb_status pb_h5_create_rows(hid_t group, const char *name, const struct pb_object *object,
                                 size_t chunk_rows, hid_t *dataset_out, struct pb_error *err);
enum pb_status pb_h5_extend_rows(hid_t dataset, const char *name, const struct pb_object *object,
                                 const void *rows, size_t count, struct pb_error *err);
enum pb_status pb_h5_open_rows(hid_t group, const char *name, const struct pb_object *object,
                               hid_t *dataset_out, size_t *count_out, struct pb_error *err);
enum pb_status pb_h5_read_range(hid_t dataset, const char *name, const struct pb_object *object,
                                uint64_t first, size_t count, void *rows, struct pb_error *err);

/*
 * Hands the rows of a table or array on in their order, some at a time, so that their number is no
 * matter. visit: NULL: they are only read. Its error ends the traversal.
 */
enum pb_status pb_h5_visit_rows(hid_t dataset, const char *name, const struct pb_object *object,
                                enum pb_status (*visit)(void *context, const void *rows,
                                                        size_t count, struct pb_error *err),
                                void *context, struct pb_error *err);

/* Refuses a dataset that claims to hold more than its stored bytes could. */
enum pb_status pb_h5_plausible(hid_t dataset, const char *name, size_t element_size,
                               size_t *count_out, struct pb_error *err);

/*
 * What every reading of a dataset begins with: it has `rank` dimensions, and its number of elements
 * is plausible.
 */
enum pb_status pb_h5_check_whole(hid_t dataset, const char *name, int rank, size_t element_size,
                                 size_t *count_out, struct pb_error *err);

#endif
