/* Matrices over named axes; see grid.h. */
#include "battery/grid.h"

#include <stdio.h>

const double pb_grid_powers[11] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

enum pb_status pb_grid_open(struct pb_matrix *matrix, const struct pb_grid_axis *axes, size_t rank,
                            const char *unit, const char *description, struct pb_error *err)
{
    for (size_t i = 0; i < rank; i++) {
        const struct pb_grid_axis *axis = &axes[i];
        enum pb_status status;

        if (axis->values != NULL)
            status = pb_axis_set_values(&matrix->axes[i], axis->name, axis->unit, axis->description,
                                        axis->values, axis->length, err);
        else if (axis->labels == NULL)
            status = pb_axis_set_counted(&matrix->axes[i], axis->name, axis->description,
                                         axis->length, err);
        else
            status = pb_axis_set_labels(&matrix->axes[i], axis->name, axis->description,
                                        axis->labels, axis->length, err);
        if (status != PB_OK)
            return status;
    }
    return pb_matrix_allocate(matrix, unit, description, err);
}

void pb_grid_place(const struct pb_matrix *matrix, size_t i, size_t place_out[PB_MATRIX_RANK_MAX])
{
    for (size_t axis = matrix->rank; axis-- > 0;) {
        place_out[axis] = i % matrix->axes[axis].length;
        i /= matrix->axes[axis].length;
    }
}

enum pb_status pb_grid_forgive(enum pb_status status)
{
    return status == PB_UNSUPPORTED ? PB_OK : status;
}

enum pb_status pb_grid_forgive_shortage(struct pb_grid_shortage *shortage, enum pb_status status,
                                        const struct pb_error *cause, struct pb_error *err)
{
    if (status == PB_OK)
        return PB_OK;
    if (status != PB_NO_MEMORY)
        return pb_fail(err, status, "%s", cause->message);
    if (shortage->count++ == 0)
        shortage->first = *cause;
    return PB_OK;
}

enum pb_status pb_grid_report_shortage(const struct pb_grid_shortage *shortage, size_t count,
                                       struct pb_recording *recording, struct pb_error *err)
{
    if (shortage->count == 0)
        return PB_OK;
    if (shortage->count == count)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %s", shortage->first.message);
    if (recording->message[0] == '\0') /* unless there is worse to report */
        snprintf(recording->message, sizeof(recording->message),
                 "too little free memory for %zu of %zu points: %s", shortage->count, count,
                 shortage->first.message);
    return PB_OK;
}
