/* Figures of SMs, and F13's curves; see figures.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"

const char *pb_figure_sms(const struct pb_figure_case *at)
{
    static const char *const phases[] = {"l1", "l2"};
    static const char *const titles[] = {"L1 hit by SM", "L2 hit by SM"};
    const struct pb_recording *recording = pb_figure_recording(at, 0);

    for (size_t i = 0; i < 2; i++) {
        size_t most = recording->series.point_count, from = 0;
        double *x = pb_page_numbers(at->page, most), *y = pb_page_numbers(at->page, most);
        struct pb_plot_series series = {.mark = PB_MARK_DOTS, .x = x, .y = y};
        struct pb_pick pick = {NULL, NULL, phases[i]};
        struct pb_plot plot = {.title = titles[i],
                               .description = "A dot for each SM.",
                               .x = {.label = "SM", .unit = ""},
                               .y = {.label = "Latency", .unit = "cycle"},
                               .series = &series,
                               .series_count = 1,
                               .reference = NAN};
        const struct pb_point *point;

        while (x != NULL && y != NULL &&
               (point = pb_point_next(&recording->series, &pick, &from)) != NULL) {
            x[series.count] = (double)point->sm_id;
            y[series.count++] = pb_point_mean(&recording->series, point);
        }
        pb_plot_write(at->page, &plot);
    }
    return NULL;
}

/* A line of L2 and what SM 0 sees of it. */
struct line {
    double cycles;
    size_t at;
};

static int compare_lines(const void *a, const void *b)
{
    const struct line *left = a, *right = b;

    return (left->cycles > right->cycles) - (left->cycles < right->cycles);
}

/* Touch × SM × line: atomics, of every so-maniest line, ordered by SM 0. */
const char *pb_figure_slices(const struct pb_figure_case *at)
{
    static const struct pb_axis_wish axes[] = {{"touch", true}, {"sm", false}, {"line", false}};
    enum { COLUMNS = 64 };
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 3);
    size_t atomic = 0;
    struct pb_heat_map map = {.title = "Latency of atomics by SM and line",
                              .x = {.label = "Line, ordered by its latency from SM 0", .unit = ""},
                              .y = {.label = "SM", .unit = ""},
                              .label = "Latency",
                              .unit = "cycle",
                              .is_wide = true};
    struct line lines[COLUMNS];
    double *values;
    const double *of;
    size_t all;

    if (reason != NULL)
        return reason;
    atomic = pb_axis_label(&matrix->axes[0], "atomic");
    if (atomic == matrix->axes[0].length)
        return "no atomics were measured";
    map.rows = matrix->axes[1].length;
    all = matrix->axes[2].length;
    map.columns = all < COLUMNS ? all : COLUMNS;
    values = pb_page_numbers(at->page, map.rows * map.columns);
    of = matrix->values + atomic * map.rows * all;
    for (size_t i = 0; i < map.columns; i++)
        lines[i] = (struct line){of[i * all / map.columns], i * all / map.columns};
    qsort(lines, map.columns, sizeof(*lines), compare_lines);
    for (size_t i = 0; values != NULL && i < map.rows * map.columns; i++)
        values[i] = of[i / map.columns * all + lines[i % map.columns].at];
    map.values = values;
    map.description = pb_page_text(
        at->page, "Rows are SMs, columns %zu of %zu lines, evenly chosen.", map.columns, all);
    if (values != NULL)
        pb_heat_map_write(at->page, &map);
    return NULL;
}

/* Kind × SM × other: constants, each row over its diagonal. */
const char *pb_figure_sm_pairs(const struct pb_figure_case *at)
{
    static const struct pb_axis_wish axes[] = {{"kind", true}, {"sm", false}, {"other", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 3);
    size_t kind = 0;
    struct pb_heat_map map = {.title = "Time beside another SM, relative to alone",
                              .description =
                                  "Rows and columns are SMs. Values are limited to 0.97 to 1.03.",
                              .x = {.label = "Other SM", .unit = ""},
                              .y = {.label = "SM", .unit = ""},
                              .label = "Relative time",
                              .unit = "",
                              .is_wide = true};
    size_t sms;
    double *values;
    const double *of;

    if (reason != NULL)
        return reason;
    kind = pb_axis_label(&matrix->axes[0], "constant");
    if (kind == matrix->axes[0].length || matrix->axes[1].length != matrix->axes[2].length)
        return "no reads of constants were measured";
    sms = matrix->axes[1].length;
    values = pb_page_numbers(at->page, sms * sms);
    of = matrix->values + kind * sms * sms;
    for (size_t i = 0; values != NULL && i < sms * sms; i++)
        values[i] = fmin(1.03, fmax(0.97, of[i] / of[i / sms * (sms + 1)]));
    map.values = values;
    map.rows = map.columns = sms;
    if (values != NULL)
        pb_heat_map_write(at->page, &map);
    return NULL;
}

/* ---- F13 ---- */

/* The small jumps are every second load. */
static double small_jump(const struct pb_series *series, const struct pb_point *point)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    double sum = 0.0;
    size_t count = 0;

    for (size_t i = 1; i < accesses.count; i += 2, count++)
        sum += pb_access_cycles(&accesses, i);
    return count == 0 ? NAN : sum / (double)count;
}

const char *pb_figure_jumps(const struct pb_figure_case *at)
{
    static const char *const names[] = {"global", "texture", "constant", "shared"};
    struct pb_plot_series series[4];
    struct pb_plot plot = {.title = "Small jump after a large one",
                           .description = "Mean latency of the small jump, by memory.",
                           .x = {.label = "Small jump", .unit = "byte", .logarithmic = true},
                           .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
                           .series = series,
                           .reference = NAN,
                           .is_wide = true};

    for (size_t i = 0; i < 4; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);
        size_t count = recording == NULL ? 0 : recording->series.point_count;
        double *x = pb_page_numbers(at->page, count), *y = pb_page_numbers(at->page, count);

        for (size_t k = 0; x != NULL && y != NULL && k < count; k++) {
            x[k] = (double)recording->series.points[k].stride_bytes;
            y[k] = small_jump(&recording->series, &recording->series.points[k]);
        }
        if (count > 0)
            series[plot.series_count++] =
                (struct pb_plot_series){names[i], PB_MARK_LINE, false, count, x, y, NULL, NULL};
    }
    pb_plot_write(at->page, &plot);
    return NULL;
}

/* Curves over the last axis of a matrix, for some places of one before it. */
static void draw_lines(const struct pb_figure_case *at, const struct pb_matrix *matrix,
                       struct pb_plot *plot, size_t *index, size_t axis, const char *what)
{
    struct pb_plot_series series[PB_PLOT_SERIES_MAX];
    size_t length = matrix->axes[axis].length, shown = length < 4 ? length : 4;

    for (size_t i = 0; i < shown; i++) {
        struct pb_curve curve;

        index[axis] = shown == 1 ? 0 : i * (length - 1) / (shown - 1);
        curve = pb_curve_matrix(at->page, matrix, matrix->rank - 1, index);
        series[plot->series_count++] = (struct pb_plot_series){
            .name = pb_page_text(at->page, "%g %s", pb_axis_value(&matrix->axes[axis], index[axis]),
                                 what),
            .mark = PB_MARK_LINE,
            .count = curve.count,
            .x = curve.x,
            .y = curve.y};
    }
    plot->series = series;
    plot->reference = NAN;
    pb_plot_write(at->page, plot);
    plot->series = NULL;
}

const char *pb_figure_sync(const struct pb_figure_case *at)
{
    static const struct pb_axis_wish axes[] = {{"threads", false}, {"barriers", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);
    struct pb_plot plot = {.title = "Time over barriers",
                           .description = "A curve for each of four numbers of threads.",
                           .x = {.label = "Barriers", .unit = "", .logarithmic = true},
                           .y = {.label = "Time", .unit = "cycle", .from_zero = true},
                           .is_wide = true};
    size_t index[] = {0, 0};

    if (reason != NULL)
        return reason;
    draw_lines(at, matrix, &plot, index, 0, "threads");
    return NULL;
}

const char *pb_figure_coalesce(const struct pb_figure_case *at)
{
    static const struct pb_axis_wish axes[] = {
        {"kind", true}, {"threads", false}, {"parameter_bytes", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 3);

    if (reason != NULL)
        return reason;
    for (size_t kind = 0; kind < matrix->axes[0].length; kind++) {
        struct pb_plot plot = {
            .title = pb_page_text(at->page, "Reads: %s", matrix->axes[0].labels[kind]),
            .description = "Cycles of the reads, a curve for each of four numbers of threads.",
            .x = {.label = "Distance", .unit = "byte", .logarithmic = true},
            .y = {.label = "Time", .unit = "cycle", .from_zero = true}};
        size_t index[] = {kind, 0, 0};

        draw_lines(at, matrix, &plot, index, 1, "threads");
    }
    return NULL;
}

const char *pb_figure_spill(const struct pb_figure_case *at)
{
    static const struct pb_axis_wish axes[] = {{"threads", false}, {"variables", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);
    struct pb_plot plot = {.title = "Time over live variables",
                           .description = "A curve for each of four numbers of threads.",
                           .x = {.label = "Live 8-byte variables", .unit = "", .logarithmic = true},
                           .y = {.label = "Time", .unit = "cycle", .from_zero = true},
                           .is_wide = true};
    size_t index[] = {0, 0};

    if (reason != NULL)
        return reason;
    draw_lines(at, matrix, &plot, index, 0, "threads");
    return NULL;
}
