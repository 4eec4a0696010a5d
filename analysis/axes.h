/* Matrices by the names of their axes: what a study expects, checked before it is read. */
#ifndef PB_ANALYSIS_AXES_H
#define PB_ANALYSIS_AXES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

/* An axis that a test records. */
struct pb_axis_requirement {
    const char *name;
    bool labelled; /* labels, else rising numbers */
};

/*
 * Whether the matrix has exactly these axes, in this order.
 *
 * PB_NOT_FOUND  it has not; err says what is missing
 */
enum pb_status pb_axes_check(const struct pb_matrix *matrix,
                             const struct pb_axis_requirement *required, size_t count,
                             struct pb_error *err);

/* Place of a label, or of a number, on an axis; its length when it is not there. */
size_t pb_axis_label(const struct pb_axis *axis, const char *label);
size_t pb_axis_number(const struct pb_axis *axis, double number);

/* Distance of two neighbouring cells along an axis. */
size_t pb_axes_step(const struct pb_matrix *matrix, size_t axis);

/*
 * The measured cells along `axis`, from the cell `first` on where that axis is at its start.
 * x_out, y_out: room for the axis' length each. Returns how many: those that are positive numbers.
 */
size_t pb_axes_row(const struct pb_matrix *matrix, size_t axis, size_t first, double *x_out,
                   double *y_out);

#endif
