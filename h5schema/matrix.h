/* Private to h5schema/: a matrix with its dimension scales, as netCDF-4 and xarray know them. */
#ifndef PB_H5SCHEMA_MATRIX_H
#define PB_H5SCHEMA_MATRIX_H

#include <hdf5.h>

#include "core/error.h"
#include "core/record.h"

/*
 * Writes `value` and one dataset for each axis. The scales are named but not yet attached:
 * attachments are object references, which do not survive a copy between files.
 */
enum pb_status pb_h5_write_matrix(hid_t group, const struct pb_matrix *matrix,
                                  struct pb_error *err);

/* Attaches the axes beside `value` (if there is one) to its dimensions, and labels these. */
enum pb_status pb_h5_attach_scales(hid_t group, struct pb_error *err);

/* rank 0 when there is no `value`. pb_recording_clear() of its owner frees it. */
enum pb_status pb_h5_read_matrix(hid_t group, struct pb_matrix *matrix_out, struct pb_error *err);

/* Name of the axis of dimension i of `value`; empty: none. */
void pb_h5_axis_name(hid_t value, unsigned i, char name_out[PB_NAME_LENGTH]);

/* Is it a dimension scale, by its own word? */
bool pb_h5_is_scale(hid_t dataset);

#endif
