/* Figures of SMs, and F13's curves; see figures.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"
#include "analysis/statistics/sort.h"

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

/* ---- what each SM has of its own ---- */

/* The loads of a point from one of every two on; their median, in the page's scratch. */
static double median_of_half(struct pb_page *page, const struct pb_series *series,
                             const struct pb_point *point, size_t first)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    double *cycles = pb_page_numbers(page, accesses.count);
    size_t count = 0;

    for (size_t i = first; cycles != NULL && i < accesses.count; i += 2)
        cycles[count++] = pb_access_cycles(&accesses, i);
    return cycles == NULL ? NAN : pb_median(cycles, count);
}

enum sm_quantity { SM_LEAST_PASS, SM_MEDIAN, SM_FIRST_OF_TWO };

/* One value for each SM: of several passes the least, of a trace the median, or by how much longer
 * the first of each two loads takes. */
static struct pb_plot_series read_sms(const struct pb_figure_case *at, const char *phase,
                                      enum sm_quantity quantity)
{
    enum { SMS_MAX = 4096 };
    const struct pb_series *series = &pb_figure_recording(at, 0)->series;
    struct pb_pick pick = {NULL, NULL, phase};
    double *x = pb_page_numbers(at->page, series->point_count);
    double *y = pb_page_numbers(at->page, series->point_count);
    struct pb_plot_series dots = {.mark = PB_MARK_DOTS, .x = x, .y = y};
    size_t places[SMS_MAX], from = 0;
    const struct pb_point *point;

    for (size_t i = 0; i < SMS_MAX; i++)
        places[i] = SIZE_MAX;
    while (x != NULL && y != NULL && (point = pb_point_next(series, &pick, &from)) != NULL) {
        double value = quantity == SM_LEAST_PASS ? pb_point_mean(series, point)
                       : quantity == SM_MEDIAN   ? pb_point_median(at->page, series, point)
                                                 : median_of_half(at->page, series, point, 0) -
                                                     median_of_half(at->page, series, point, 1);

        if (point->sm_id < 0 || point->sm_id >= SMS_MAX)
            continue;
        if (places[point->sm_id] == SIZE_MAX) {
            places[point->sm_id] = dots.count;
            x[dots.count] = (double)point->sm_id;
            y[dots.count++] = value;
        } else {
            y[places[point->sm_id]] = fmin(y[places[point->sm_id]], value);
        }
    }
    return dots;
}

struct sm_series {
    const char *phase, *name;
    enum sm_quantity quantity;
};

static void draw_sms(const struct pb_figure_case *at, const char *title, const char *description,
                     const struct sm_series *kinds, size_t count)
{
    struct pb_plot_series series[PB_PLOT_SERIES_MAX];
    struct pb_plot plot = {.title = title,
                           .description = description,
                           .x = {.label = "SM", .unit = ""},
                           .y = {.label = "Latency", .unit = "cycle"},
                           .series = series,
                           .reference = NAN,
                           .is_wide = true};

    for (size_t i = 0; i < count; i++) {
        series[plot.series_count] = read_sms(at, kinds[i].phase, kinds[i].quantity);
        series[plot.series_count].name = kinds[i].name;
        plot.series_count += series[plot.series_count].count > 0;
    }
    pb_plot_write(at->page, &plot);
}

const char *pb_figure_sm_caches(const struct pb_figure_case *at)
{
    static const struct sm_series kinds[] = {{"l1_fits", "L1", SM_LEAST_PASS},
                                             {"shared", "shared", SM_LEAST_PASS},
                                             {"conflict", "bank conflicts", SM_LEAST_PASS},
                                             {"constant", "constant", SM_LEAST_PASS}};

    draw_sms(at, "Hits by SM", "A dot for each SM and memory: the least mean of three passes.",
             kinds, 4);
    return NULL;
}

const char *pb_figure_sm_misses(const struct pb_figure_case *at)
{
    static const struct sm_series misses[] = {{"l1", "L1", SM_MEDIAN},
                                              {"readonly", "read-only", SM_MEDIAN},
                                              {"texture", "texture", SM_MEDIAN},
                                              {"constant_l1", "constant L1", SM_MEDIAN},
                                              {"constant_l15", "constant L1.5", SM_MEDIAN}};
    static const struct sm_series penalties[] = {{"tlb_l1", "TLB L1", SM_FIRST_OF_TWO},
                                                 {"tlb_l2", "TLB L2", SM_FIRST_OF_TWO}};

    draw_sms(at, "Misses by SM", "A dot for each SM and cache: the median of its misses.", misses,
             5);
    draw_sms(at, "TLB misses by SM",
             "A dot for each SM and TLB level: by how much longer the first load in a page takes "
             "than the second, as medians.",
             penalties, 2);
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
    static const struct pb_axis_requirement axes[] = {
        {"touch", true}, {"sm", false}, {"line", false}};
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
    static const struct pb_axis_requirement axes[] = {
        {"kind", true}, {"sm", false}, {"other", false}};
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
        pb_plot_add(
            plot, series,
            pb_page_text(at->page, "%g %s", pb_axis_value(&matrix->axes[axis], index[axis]), what),
            PB_MARK_LINE, &curve);
    }
    plot->series = series;
    plot->reference = NAN;
    pb_plot_write(at->page, plot);
    plot->series = NULL;
}

/* Cycles over another axis, a curve for each of four numbers of threads. */
static const char *draw_study(const struct pb_figure_case *at, const char *axis, const char *title,
                              const char *label)
{
    const struct pb_axis_requirement axes[] = {{"threads", false}, {axis, false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);
    struct pb_plot plot = {.title = title,
                           .description = "A curve for each of four numbers of threads.",
                           .x = {.label = label, .unit = "", .logarithmic = true},
                           .y = {.label = "Time", .unit = "cycle", .from_zero = true},
                           .is_wide = true};
    size_t index[] = {0, 0};

    if (reason == NULL)
        draw_lines(at, matrix, &plot, index, 0, "threads");
    return reason;
}

const char *pb_figure_sync(const struct pb_figure_case *at)
{
    return draw_study(at, "barriers", "Time over barriers", "Barriers");
}

const char *pb_figure_spill(const struct pb_figure_case *at)
{
    return draw_study(at, "variables", "Time over live variables", "Live 8-byte variables");
}

const char *pb_figure_coalesce(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {
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
