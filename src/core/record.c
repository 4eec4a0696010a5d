/* Recordings: growing, naming and freeing them. */
#include "core/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcome_names[] = {
    [PB_TEST_OK] = "ok",           [PB_TEST_FAILED] = "failed",
    [PB_TEST_HUNG] = "hung",       [PB_TEST_CRASHED] = "crashed",
    [PB_TEST_LOST] = "lost",       [PB_TEST_UNSUPPORTED] = "unsupported",
    [PB_TEST_MISSING] = "missing",
};

const char *pb_outcome_name(enum pb_outcome outcome)
{
    return outcome_names[outcome];
}

enum pb_outcome pb_outcome_parse(const char *name)
{
    for (int i = 0; i < PB_TEST_MISSING; i++)
        if (strcmp(name, outcome_names[i]) == 0)
            return (enum pb_outcome)i;
    return PB_TEST_MISSING;
}

/* How much an outcome says of the device. */
static int weight(enum pb_outcome outcome)
{
    if (outcome == PB_TEST_OK)
        return 2;
    return outcome == PB_TEST_MISSING ? 0 : 1;
}

bool pb_test_end_replaces(struct pb_test_end later, struct pb_test_end earlier)
{
    bool is_unknown = earlier.concurrent_devices == 0 && earlier.outcome != PB_TEST_MISSING;
    int64_t devices = is_unknown ? 2 : earlier.concurrent_devices;

    if (later.outcome == PB_TEST_OK && earlier.outcome == PB_TEST_MISSING)
        return true;
    if (later.concurrent_devices > 0 && later.concurrent_devices < devices)
        return false;
    return weight(later.outcome) >= weight(earlier.outcome);
}

void pb_recording_clear(struct pb_recording *recording)
{
    if (recording == NULL)
        return;
    free(recording->series.points);
    free(recording->series.latency_cycles);
    free(recording->series.index_bytes);
    for (size_t i = 0; i < PB_MATRIX_RANK_MAX; i++) {
        free(recording->matrix.axes[i].values);
        free(recording->matrix.axes[i].labels);
    }
    free(recording->matrix.values);
    memset(recording, 0, sizeof(*recording));
}

/* Makes room for `need` elements by doubling; *capacity changes only on success. */
static enum pb_status grow(void **array, size_t size, size_t capacity, size_t need,
                           struct pb_error *err)
{
    void *larger;

    if (need <= capacity)
        return PB_OK;
    larger = realloc(*array, need * size);
    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu records of %zu bytes", need,
                       size);
    *array = larger;
    return PB_OK;
}

static size_t next_capacity(size_t capacity, size_t need)
{
    size_t doubled = capacity == 0 ? 64 : 2 * capacity;

    return need <= capacity ? capacity : (need > doubled ? need : doubled);
}

static enum pb_status reserve_accesses(struct pb_series *series, size_t need, struct pb_error *err)
{
    size_t capacity = next_capacity(series->access_capacity, need);
    enum pb_status status;

    status = grow((void **)&series->latency_cycles, sizeof(*series->latency_cycles),
                  series->access_capacity, capacity, err);
    if (status == PB_OK)
        status = grow((void **)&series->index_bytes, sizeof(*series->index_bytes),
                      series->access_capacity, capacity, err);
    if (status == PB_OK)
        series->access_capacity = capacity;
    return status;
}

enum pb_status pb_series_append(struct pb_series *series, const struct pb_point *point,
                                const uint32_t *latency_cycles, const uint64_t *index_bytes,
                                struct pb_error *err)
{
    size_t capacity = next_capacity(series->point_capacity, series->point_count + 1);
    size_t count = (size_t)point->count;
    enum pb_status status;

    status = grow((void **)&series->points, sizeof(*series->points), series->point_capacity,
                  capacity, err);
    if (status != PB_OK)
        return status;
    series->point_capacity = capacity;
    status = reserve_accesses(series, series->access_count + count, err);
    if (status != PB_OK)
        return status;

    if (count > 0) {
        memcpy(series->latency_cycles + series->access_count, latency_cycles,
               count * sizeof(*latency_cycles));
        memcpy(series->index_bytes + series->access_count, index_bytes,
               count * sizeof(*index_bytes));
    }
    series->points[series->point_count] = *point;
    series->points[series->point_count].first = series->access_count;
    series->point_count++;
    series->access_count += count;
    return PB_OK;
}

static void name_axis(struct pb_axis *axis, const char *name, const char *unit,
                      const char *description, size_t length)
{
    PB_TEXT_SET(axis->name, name);
    PB_TEXT_SET(axis->unit, unit);
    PB_TEXT_SET(axis->description, description);
    axis->length = length;
}

enum pb_status pb_axis_set_values(struct pb_axis *axis, const char *name, const char *unit,
                                  const char *description, const double *values, size_t length,
                                  struct pb_error *err)
{
    axis->values = malloc(length * sizeof(*values));
    if (axis->values == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating axis %s of %zu", name, length);
    memcpy(axis->values, values, length * sizeof(*values));
    name_axis(axis, name, unit, description, length);
    return PB_OK;
}

enum pb_status pb_axis_set_counted(struct pb_axis *axis, const char *name, const char *description,
                                   size_t length, struct pb_error *err)
{
    axis->values = malloc(length * sizeof(*axis->values));
    if (axis->values == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating axis %s of %zu", name, length);
    for (size_t i = 0; i < length; i++)
        axis->values[i] = (double)i;
    name_axis(axis, name, "", description, length);
    return PB_OK;
}

enum pb_status pb_axis_set_labels(struct pb_axis *axis, const char *name, const char *description,
                                  const char *const *labels, size_t length, struct pb_error *err)
{
    axis->labels = calloc(length, sizeof(*axis->labels));
    if (axis->labels == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating axis %s of %zu", name, length);
    for (size_t i = 0; i < length; i++)
        PB_TEXT_SET(axis->labels[i], labels[i]);
    name_axis(axis, name, "", description, length);
    return PB_OK;
}

size_t pb_matrix_size(const struct pb_matrix *matrix)
{
    size_t size = matrix->rank == 0 ? 0 : 1;

    for (size_t i = 0; i < matrix->rank; i++)
        size *= matrix->axes[i].length;
    return size;
}

enum pb_status pb_matrix_allocate(struct pb_matrix *matrix, const char *unit,
                                  const char *description, struct pb_error *err)
{
    size_t size;

    matrix->rank = 0;
    while (matrix->rank < PB_MATRIX_RANK_MAX && matrix->axes[matrix->rank].length > 0)
        matrix->rank++;
    size = pb_matrix_size(matrix);
    matrix->values = malloc(size * sizeof(*matrix->values));
    if (matrix->values == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a matrix of %zu", size);
    for (size_t i = 0; i < size; i++)
        matrix->values[i] = NAN;
    PB_TEXT_SET(matrix->unit, unit);
    PB_TEXT_SET(matrix->description, description);
    return PB_OK;
}

void pb_text_copy(char *field, size_t field_size, const char *text)
{
    size_t length = strnlen(text, field_size - 1);

    memcpy(field, text, length);
    memset(field + length, 0, field_size - length);
}
