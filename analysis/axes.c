/* Matrices by the names of their axes. */
#include "analysis/axes.h"

#include <math.h>
#include <string.h>

static bool is_rising(const struct pb_axis *axis)
{
    for (size_t i = 0; i < axis->length; i++)
        if (!isfinite(axis->values[i]) || (i > 0 && !(axis->values[i] > axis->values[i - 1])))
            return false;
    return true;
}

static bool is_met(const struct pb_axis *axis, const struct pb_axis_requirement *required)
{
    if (strncmp(axis->name, required->name, PB_NAME_LENGTH) != 0 || axis->length == 0)
        return false;
    return required->labelled ? axis->labels != NULL : axis->values != NULL && is_rising(axis);
}

enum pb_status pb_axes_check(const struct pb_matrix *matrix,
                             const struct pb_axis_requirement *requirements, size_t count,
                             struct pb_error *err)
{
    if (matrix->rank != count || matrix->values == NULL)
        return pb_fail(err, PB_NOT_FOUND, "expected a matrix of %zu axes, found one of %zu", count,
                       matrix->values == NULL ? 0 : matrix->rank);
    for (size_t i = 0; i < count; i++)
        if (!is_met(&matrix->axes[i], &requirements[i]))
            return pb_fail(err, PB_NOT_FOUND, "axis %zu is not %s by %s", i, requirements[i].name,
                           requirements[i].labelled ? "labels" : "rising numbers");
    return PB_OK;
}

size_t pb_axis_label(const struct pb_axis *axis, const char *label)
{
    size_t place = 0;

    while (place < axis->length && strncmp(axis->labels[place], label, PB_NAME_LENGTH) != 0)
        place++;
    return place;
}

size_t pb_axis_number(const struct pb_axis *axis, double number)
{
    size_t place = 0;

    while (place < axis->length && axis->values[place] != number)
        place++;
    return place;
}

size_t pb_axes_step(const struct pb_matrix *matrix, size_t axis)
{
    size_t step = 1;

    for (size_t i = axis + 1; i < matrix->rank; i++)
        step *= matrix->axes[i].length;
    return step;
}

size_t pb_axes_row(const struct pb_matrix *matrix, size_t axis, size_t first, double *x_out,
                   double *y_out)
{
    size_t step = pb_axes_step(matrix, axis), count = 0;

    for (size_t i = 0; i < matrix->axes[axis].length; i++) {
        double value = matrix->values[first + i * step];

        if (!isfinite(value) || value <= 0.0)
            continue;
        x_out[count] = matrix->axes[axis].values[i];
        y_out[count++] = value;
    }
    return count;
}
