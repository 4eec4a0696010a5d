/* Reading what is drawn; see curve.h. */
#include "analysis/report/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/sort.h"

double pb_point_mean(const struct pb_series *series, const struct pb_point *point)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    double sum = 0.0;

    if (point->timed > 0)
        return pb_point_average(point);
    for (size_t i = 0; i < accesses.count; i++)
        sum += pb_access_cycles(&accesses, i);
    return accesses.count == 0 ? NAN : sum / (double)accesses.count;
}

double pb_point_median(struct pb_page *page, const struct pb_series *series,
                       const struct pb_point *point)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    double *cycles, median;

    if (accesses.count == 0)
        return pb_point_mean(series, point);
    cycles = malloc(accesses.count * sizeof(*cycles));
    if (cycles == NULL) {
        pb_page_fail(page);
        return NAN;
    }
    for (size_t i = 0; i < accesses.count; i++)
        cycles[i] = pb_access_cycles(&accesses, i);
    pb_sort(cycles, accesses.count);
    median = cycles[accesses.count / 2];
    free(cycles);
    return median;
}

static bool is_one_of(const char *phase, const char *const *phases)
{
    for (size_t i = 0; phases[i] != NULL; i++)
        if (strcmp(phase, phases[i]) == 0)
            return true;
    return false;
}

struct pair {
    double x, y;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;

    return (left->x > right->x) - (left->x < right->x);
}

/* Pairs of equal x become their mean. */
static void merge_pairs(struct pair *pairs, size_t count, struct pb_curve *curve)
{
    qsort(pairs, count, sizeof(*pairs), compare_pairs);
    for (size_t i = 0; i < count;) {
        size_t first = i;
        double sum = 0.0;

        for (; i < count && pairs[i].x == pairs[first].x; i++)
            sum += pairs[i].y;
        curve->x[curve->count] = pairs[first].x;
        curve->y[curve->count++] = sum / (double)(i - first);
    }
}

struct pb_curve pb_curve_read(struct pb_page *page, const struct pb_series *series,
                              const char *path, const char *const *phases, bool over_stride,
                              enum pb_point_quantity quantity)
{
    struct pb_curve curve = {pb_page_numbers(page, series->point_count),
                             pb_page_numbers(page, series->point_count), 0, false};
    struct pair *pairs = calloc(series->point_count + 1, sizeof(*pairs));
    size_t count = 0, merged;

    if (pairs == NULL)
        pb_page_fail(page);
    for (size_t i = 0; page->status == PB_OK && pairs != NULL && i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];
        double y;

        if (!is_one_of(point->phase, phases) || (path != NULL && strcmp(point->path, path) != 0))
            continue;
        y = quantity == PB_QUANTITY_MEAN ? pb_point_mean(series, point)
                                         : pb_point_median(page, series, point);
        if (isfinite(y))
            pairs[count++] = (struct pair){
                (double)(over_stride ? point->stride_bytes : point->footprint_bytes), y};
    }
    if (page->status == PB_OK && pairs != NULL)
        merge_pairs(pairs, count, &curve);
    free(pairs);
    merged = curve.count;
    curve.count = merged == 0 ? 0 : pb_curve_thin(curve.x, curve.y, merged);
    curve.is_thinned = curve.count < merged;
    return curve;
}

void pb_plot_add(struct pb_plot *plot, struct pb_plot_series *series, const char *name,
                 enum pb_plot_mark mark, const struct pb_curve *curve)
{
    series[plot->series_count++] = (struct pb_plot_series){
        .name = name, .mark = mark, .count = curve->count, .x = curve->x, .y = curve->y};
}

struct pb_curve pb_curve_accesses(struct pb_page *page, const struct pb_series *series,
                                  const char *path, const char *phase)
{
    struct pb_curve curve = {pb_page_numbers(page, series->access_count), NULL, 0, false};
    struct pb_pick pick = {path, NULL, phase};
    const struct pb_point *point;
    size_t at = 0;

    while (curve.x != NULL && (point = pb_point_next(series, &pick, &at)) != NULL) {
        struct pb_accesses accesses = pb_point_accesses(series, point);

        for (size_t i = 0; i < accesses.count && curve.count < series->access_count; i++)
            curve.x[curve.count++] = pb_access_cycles(&accesses, i);
    }
    pb_sort(curve.x, curve.count);
    return curve;
}

struct pb_curve pb_curve_matrix(struct pb_page *page, const struct pb_matrix *matrix, size_t axis,
                                const size_t *index)
{
    size_t length = matrix->axes[axis].length;
    struct pb_curve curve = {pb_page_numbers(page, length), pb_page_numbers(page, length), 0,
                             false};

    for (size_t i = 0; curve.x != NULL && curve.y != NULL && i < length; i++) {
        size_t at = 0;

        for (size_t k = 0; k < matrix->rank; k++)
            at = at * matrix->axes[k].length + (k == axis ? i : index[k]);
        curve.x[i] = pb_axis_value(&matrix->axes[axis], i);
        curve.y[i] = matrix->values[at];
        curve.count = i + 1;
    }
    return curve;
}

const char *pb_figure_check(const struct pb_figure_case *at, const struct pb_matrix *matrix,
                            const struct pb_axis_requirement *axes, size_t count)
{
    struct pb_error err = PB_ERROR_INIT;

    if (pb_axes_check(matrix, axes, count, &err) == PB_OK)
        return NULL;
    return pb_page_text(at->page, "the matrix of %s: %s", at->figure->tests[0], err.message);
}

double pb_axis_value(const struct pb_axis *axis, size_t place)
{
    return axis->values == NULL ? (double)place : axis->values[place];
}

const char *const *pb_axis_names(struct pb_page *page, const struct pb_axis *axis)
{
    char text[48];
    /* a pointer takes no more than a number */
    const char **names = (const char **)(void *)pb_page_numbers(page, axis->length);

    for (size_t i = 0; names != NULL && i < axis->length; i++) {
        if (axis->labels != NULL) {
            names[i] = axis->labels[i];
            continue;
        }
        pb_quantity(text, sizeof(text), pb_axis_value(axis, i), axis->unit);
        names[i] = pb_page_text(page, "%s", text);
    }
    return names;
}
