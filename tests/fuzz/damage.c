/*
 * Recordings made small, and made odd: what a sick device, a broken battery or a stranger's file
 * may hold. Whatever comes out keeps the ownership rules of record.h, and nothing else.
 */
#include "fuzz/damage.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *from, size_t size)
{
    void *to = malloc(size > 0 ? size : 1);

    if (to == NULL)
        exit(2);
    if (size > 0)
        memcpy(to, from, size);
    return to;
}

static void copy_points(const struct pb_series *from, const struct fuzz_part *part,
                        struct pb_series *to)
{
    for (size_t i = part->first; i < from->point_count && to->point_count < part->points;
         i += part->step) {
        struct pb_point point = from->points[i];
        const uint32_t *latency =
            from->access_count > 0 ? from->latency_cycles + point.first : NULL;
        const uint64_t *index = from->access_count > 0 ? from->index_bytes + point.first : NULL;

        if (point.count > part->accesses)
            point.count = part->accesses;
        if (pb_series_append(to, &point, latency, index, NULL) != PB_OK)
            exit(2);
    }
}

static void copy_axis(const struct pb_axis *from, size_t length, struct pb_axis *to)
{
    *to = *from;
    to->length = length;
    if (from->values != NULL)
        to->values = copy_of(from->values, length * sizeof(*from->values));
    if (from->labels != NULL)
        to->labels = copy_of(from->labels, length * sizeof(*from->labels));
}

/* The corner of a matrix, cell by cell. */
static void copy_matrix(const struct pb_matrix *from, size_t most, struct pb_matrix *to)
{
    if (from->rank == 0)
        return;
    for (size_t i = 0; i < from->rank; i++)
        copy_axis(&from->axes[i], from->axes[i].length < most ? from->axes[i].length : most,
                  &to->axes[i]);
    if (pb_matrix_allocate(to, from->unit, from->description, NULL) != PB_OK)
        exit(2);
    for (size_t cell = 0; cell < pb_matrix_size(to); cell++) {
        size_t rest = cell, step = 1, source = 0;

        for (size_t axis = to->rank; axis-- > 0;) {
            source += rest % to->axes[axis].length * step;
            rest /= to->axes[axis].length;
            step *= from->axes[axis].length;
        }
        to->values[cell] = from->values[source];
    }
}

void fuzz_copy_part(const struct pb_recording *from, const struct fuzz_part *part,
                    struct pb_recording *to_out)
{
    struct pb_recording to = *from;

    memset(&to.series, 0, sizeof(to.series));
    memset(&to.matrix, 0, sizeof(to.matrix));
    copy_points(&from->series, part, &to.series);
    copy_matrix(&from->matrix, part->length, &to.matrix);
    *to_out = to;
}

static double odd_real(struct fuzz_bytes *bytes)
{
    static const double reals[] = {0.0, -0.0, 1.0, -1.0, NAN, INFINITY, -INFINITY, 1e308, 5e-324};
    size_t i = fuzz_choose(bytes, sizeof(reals) / sizeof(reals[0]) + 1);

    return i < sizeof(reals) / sizeof(reals[0]) ? reals[i] : (double)fuzz_odd_number(bytes);
}

static void damage_word(char *field, struct fuzz_bytes *bytes)
{
    static const char *const words[] = {
        "",      "none",    "global_ca", "global_cg", "shared",   "traced",
        "timed", "random",  "reference", "miss",      "coarse",   "bisect",
        "fine",  "cold",    "conflict",  "victim",    "overflow", "stride",
        "jump",  "strided", "wong",      "stride2",   "stride4",  "stride999999999999",
        "l1",    "l2",      "members",   "p1",        "p6_p5"};

    if (fuzz_choose(bytes, 8) == 0)
        memset(field, 'x', PB_NAME_LENGTH); /* without an end */
    else
        pb_text_copy(field, PB_NAME_LENGTH,
                     words[fuzz_choose(bytes, sizeof(words) / sizeof(words[0]))]);
}

static void damage_point(struct pb_point *point, struct fuzz_bytes *bytes)
{
    uint64_t *const numbers[] = {
        &point->footprint_bytes, &point->stride_bytes, &point->first,
        &point->count,           &point->warm,         &point->window,
        &point->timed,           &point->total_cycles, &point->seed,
        &point->carveout_bytes,  &point->base_address, &point->repeat,
        &point->slots,           &point->is_cold,      &point->is_flushed,
        &point->is_prefilled,    &point->own_warm,     &point->alias_bytes};
    char *const words[] = {point->path, point->order, point->mode, point->phase, point->warm_path};

    switch (fuzz_choose(bytes, 6)) {
    case 0:
        damage_word(words[fuzz_choose(bytes, sizeof(words) / sizeof(words[0]))], bytes);
        break;
    case 1:
        point->overhead_cycles = odd_real(bytes);
        break;
    case 2:
        point->total_ns = odd_real(bytes);
        point->sm_id = (int64_t)fuzz_odd_number(bytes);
        break;
    default:
        *numbers[fuzz_choose(bytes, sizeof(numbers) / sizeof(numbers[0]))] = fuzz_odd_number(bytes);
    }
}

/* A run of accesses all the same, wild, or swapped for what lies elsewhere. */
static void damage_accesses(struct pb_series *series, struct fuzz_bytes *bytes)
{
    size_t first = fuzz_choose(bytes, series->access_count);
    size_t count = fuzz_choose(bytes, series->access_count - first) + 1;
    uint64_t latency = fuzz_odd_number(bytes), index = fuzz_odd_number(bytes);
    size_t how = fuzz_choose(bytes, 4);

    for (size_t i = first; i < first + count; i++) {
        if (how == 0)
            series->latency_cycles[i] = (uint32_t)latency;
        else if (how == 1)
            series->index_bytes[i] = index;
        else if (how == 2)
            series->latency_cycles[i] = series->latency_cycles[i - first];
        else
            series->latency_cycles[i] *= (uint32_t)latency | 1U;
    }
}

static void duplicate_points(struct pb_series *series, struct fuzz_bytes *bytes)
{
    struct pb_point point = series->points[fuzz_choose(bytes, series->point_count)];
    uint64_t first = point.first;

    point.count = 0;
    for (size_t i = fuzz_choose(bytes, 40); i > 0; i--) {
        if (pb_series_append(series, &point, NULL, NULL, NULL) != PB_OK)
            exit(2);
        series->points[series->point_count - 1].first = first;
    }
}

static void damage_series(struct pb_series *series, struct fuzz_bytes *bytes)
{
    size_t how = fuzz_choose(bytes, 12);

    if (how == 0)
        series->point_count = fuzz_choose(bytes, series->point_count + 1);
    else if (how == 1)
        series->access_count = fuzz_choose(bytes, series->access_count + 1);
    else if (how == 2)
        duplicate_points(series, bytes);
    else if (how < 6 && series->access_count > 0)
        damage_accesses(series, bytes);
    else
        damage_point(&series->points[fuzz_choose(bytes, series->point_count)], bytes);
}

static void damage_axis(struct pb_matrix *matrix, struct fuzz_bytes *bytes)
{
    struct pb_axis *axis = &matrix->axes[fuzz_choose(bytes, matrix->rank)];
    struct pb_axis *other = &matrix->axes[fuzz_choose(bytes, matrix->rank)], kept = *axis;
    size_t at = axis->length > 0 ? fuzz_choose(bytes, axis->length) : 0;

    switch (fuzz_choose(bytes, 5)) {
    case 0: /* axes in another order */
        *axis = *other;
        *other = kept;
        break;
    case 1:
        damage_word(axis->name, bytes);
        break;
    case 2: /* shorter; what lies behind it is out of sight */
        axis->length = axis->length > 0 ? fuzz_choose(bytes, axis->length + 1) : 0;
        break;
    default:
        if (axis->length == 0)
            break;
        if (axis->values != NULL)
            axis->values[at] = odd_real(bytes);
        if (axis->labels != NULL)
            damage_word(axis->labels[at], bytes);
    }
}

static void damage_cells(struct pb_matrix *matrix, struct fuzz_bytes *bytes)
{
    size_t size = pb_matrix_size(matrix), first = fuzz_choose(bytes, size);
    size_t count = fuzz_choose(bytes, size - first) + 1;
    double value = odd_real(bytes);
    bool scale = fuzz_choose(bytes, 2) == 0;

    for (size_t i = first; i < first + count; i++)
        matrix->values[i] = scale ? matrix->values[i] * value : value;
}

static void damage_matrix(struct pb_matrix *matrix, struct fuzz_bytes *bytes)
{
    size_t how = fuzz_choose(bytes, 8);

    if (how == 0 && matrix->rank > 1) { /* the file may hold fewer axes than a test records */
        struct pb_axis *last = &matrix->axes[--matrix->rank];

        free(last->values);
        free(last->labels);
        memset(last, 0, sizeof(*last));
    } else if (how < 4) {
        damage_axis(matrix, bytes);
    } else if (pb_matrix_size(matrix) > 0) {
        damage_cells(matrix, bytes);
    }
}

void fuzz_damage(struct pb_recording *recording, struct fuzz_bytes *bytes)
{
    bool has_matrix = recording->matrix.rank > 0, has_points = recording->series.point_count > 0;

    if (fuzz_choose(bytes, 16) == 0)
        recording->outcome = (enum pb_outcome)fuzz_choose(bytes, PB_TEST_MISSING + 1);
    else if (fuzz_choose(bytes, 16) == 0)
        recording->overhead_cycles = odd_real(bytes);
    else if (has_matrix && (!has_points || fuzz_choose(bytes, 2) == 0))
        damage_matrix(&recording->matrix, bytes);
    else if (has_points)
        damage_series(&recording->series, bytes);
}
