/* A deep copy of a recording. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/recordings.h"

static void *copy_of(const void *from, size_t size)
{
    void *to = from != NULL && size > 0 ? malloc(size) : NULL;

    if (to != NULL)
        memcpy(to, from, size);
    return to;
}

static bool copy_series(const struct pb_series *from, struct pb_series *to)
{
    to->points = copy_of(from->points, from->point_count * sizeof(*from->points));
    to->latency_cycles =
        copy_of(from->latency_cycles, from->access_count * sizeof(*from->latency_cycles));
    to->index_bytes = copy_of(from->index_bytes, from->access_count * sizeof(*from->index_bytes));
    to->point_capacity = from->point_count;
    to->access_capacity = from->access_count;
    return (to->points != NULL || from->point_count == 0) &&
           ((to->latency_cycles != NULL && to->index_bytes != NULL) || from->access_count == 0);
}

static bool copy_matrix(const struct pb_matrix *from, struct pb_matrix *to)
{
    bool copied = true;

    for (size_t i = 0; i < from->rank; i++) {
        const struct pb_axis *axis = &from->axes[i];

        to->axes[i].values = copy_of(axis->values, axis->length * sizeof(*axis->values));
        to->axes[i].labels = copy_of(axis->labels, axis->length * sizeof(*axis->labels));
        copied &= to->axes[i].values != NULL || axis->values == NULL || axis->length == 0;
        copied &= to->axes[i].labels != NULL || axis->labels == NULL || axis->length == 0;
    }
    to->values = copy_of(from->values, pb_matrix_size(from) * sizeof(*from->values));
    return copied && (to->values != NULL || from->values == NULL || pb_matrix_size(from) == 0);
}

enum pb_status recording_copy(const struct pb_recording *from, struct pb_recording *to_out,
                              struct pb_error *err)
{
    bool series, matrix;

    *to_out = *from;
    series = copy_series(&from->series, &to_out->series);
    matrix = copy_matrix(&from->matrix, &to_out->matrix);
    if (series && matrix)
        return PB_OK;
    pb_recording_clear(to_out);
    return pb_fail(err, PB_NO_MEMORY, "no memory for a copy of %s", from->name);
}
