/* Matrices over named axes; see grid.h. */
#include "battery/grid.h"

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
