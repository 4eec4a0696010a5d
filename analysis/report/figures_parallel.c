/* Figures of one SM beside the others: traffic, whole caches, atomics, clusters; see figures.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"
#include "analysis/statistics/sort.h"

/* ---- latency under load ---- */

/* The share of the most traffic at which the latency has risen, as traffic. */
static void mark_knee(const struct pb_figure_case *at, const char *memory,
                      const struct pb_curve *traffic, struct pb_plot *plot)
{
    double most = 0.0;

    for (size_t i = 0; i < traffic->count; i++)
        most = fmax(most, traffic->y[i]);
    plot->reference = most * pb_figure_number(at, memory, "loaded_knee_share");
    plot->reference_label = isnan(plot->reference) ? NULL : "knee";
}

/* Memory × share × quantity: the median and the 95% quantile over the traffic that was read. */
const char *pb_figure_loaded(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {
        {"memory", true}, {"share", false}, {"quantity", true}};
    static const char *const quantities[] = {"median", "q95"};
    static const char *const names[] = {"median", "95%"};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 3);

    if (reason != NULL)
        return reason;
    for (size_t memory = 0; memory < matrix->axes[0].length; memory++) {
        const char *label = matrix->axes[0].labels[memory];
        struct pb_plot_series series[2];
        struct pb_plot plot = {
            .title = pb_page_text(at->page, "%s beside traffic", pb_figure_memory(label)),
            .description = "Latency of one SM's loads over what the other SMs read meanwhile.",
            .x = {.label = "Traffic", .unit = "byte/s", .from_zero = true},
            .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
            .series = series};
        size_t index[] = {memory, 0, pb_axis_label(&matrix->axes[2], "background")};
        struct pb_curve traffic;

        if (index[2] == matrix->axes[2].length)
            return "the traffic was not measured";
        traffic = pb_curve_matrix(at->page, matrix, 1, index);
        for (size_t i = 0; i < 2; i++) {
            struct pb_curve curve;

            index[2] = pb_axis_label(&matrix->axes[2], quantities[i]);
            if (index[2] == matrix->axes[2].length)
                continue;
            curve = pb_curve_matrix(at->page, matrix, 1, index);
            curve.x = traffic.y;
            pb_plot_add(&plot, series, names[i], PB_MARK_LINE, &curve);
        }
        mark_knee(at, label, &traffic, &plot);
        pb_plot_write(at->page, &plot);
    }
    return NULL;
}

/* ---- all of L2 ---- */

/* Quantiles of a row's finite values, but the largest, which would be the range of the axis. */
static struct pb_curve read_quantiles(struct pb_page *page, const double *row, size_t length,
                                      size_t quantiles)
{
    struct pb_curve curve = {pb_page_numbers(page, quantiles), pb_page_numbers(page, quantiles), 0,
                             false};
    double *sorted = pb_page_numbers(page, length);
    size_t count = 0;

    if (page->status != PB_OK)
        return curve;
    for (size_t i = 0; i < length; i++)
        if (isfinite(row[i]))
            sorted[count++] = row[i];
    pb_sort(sorted, count);
    for (size_t q = 0; count > 0 && q < quantiles; q++) {
        curve.x[q] = (double)q / (double)quantiles;
        curve.y[q] = sorted[q * (count - 1) / quantiles];
        curve.count = q + 1;
    }
    return curve;
}

/* The lines of an array by their latency: plateaus are the halves of L2, and DRAM. */
static void draw_plateaus(const struct pb_figure_case *at, const struct pb_matrix *matrix)
{
    enum { CURVES = 5, QUANTILES = 40 };
    size_t footprints = matrix->axes[0].length, lines = matrix->axes[1].length;
    size_t shown = footprints < CURVES ? footprints : CURVES;
    struct pb_plot_series series[CURVES];
    struct pb_plot plot = {
        .title = "Lines by their latency",
        .description = "A curve for each array, of 41 quantiles: so large a "
                       "share of its lines takes at most so long.",
        .x = {.label = "Share of the array's lines", .unit = "", .from_zero = true},
        .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
        .series = series,
        .reference = NAN,
        .is_wide = true};

    for (size_t i = 0; i < shown; i++) {
        size_t row = shown == 1 ? 0 : i * (footprints - 1) / (shown - 1);
        struct pb_curve curve =
            read_quantiles(at->page, matrix->values + row * lines, lines, QUANTILES);
        char name[48];

        pb_quantity(name, sizeof(name), pb_axis_value(&matrix->axes[0], row), "byte");
        pb_plot_add(&plot, series, pb_page_text(at->page, "%s", name), PB_MARK_LINE, &curve);
    }
    pb_plot_write(at->page, &plot);
}

/* Of each array the shares of its lines in the near half, in the far half and in DRAM. */
static void draw_shares(const struct pb_figure_case *at, const struct pb_matrix *matrix)
{
    enum { LEVELS = 3 };
    static const char *const names[LEVELS] = {"near half", "far half", "DRAM"};
    const double latencies[LEVELS] = {pb_figure_number(at, "l2_near", "latency_cycles"),
                                      pb_figure_number(at, "l2_far", "latency_cycles"),
                                      pb_figure_number(at, "dram", "latency_cycles")};
    size_t footprints = matrix->axes[0].length, lines = matrix->axes[1].length;
    double *x = pb_page_numbers(at->page, footprints);
    double *y = pb_page_numbers(at->page, LEVELS * footprints);
    struct pb_plot_series series[LEVELS];
    struct pb_plot plot = {.title = "What answers, over the size of the array",
                           .description = "Lines are separated halfway between the latencies of "
                                          "the levels.",
                           .x = {.label = "Array", .unit = "byte", .from_zero = true},
                           .y = {.label = "Share of lines", .unit = "", .from_zero = true},
                           .series = series,
                           .reference = pb_figure_number(at, "l2", "size_bytes"),
                           .reference_label = "size of L2",
                           .is_wide = true};

    if (x == NULL || y == NULL || isnan(latencies[0] + latencies[1] + latencies[2]))
        return;
    for (size_t row = 0; row < footprints; row++) {
        double counts[LEVELS] = {0.0, 0.0, 0.0}, all = 0.0;

        for (size_t k = 0; k < lines; k++) {
            double cycles = matrix->values[row * lines + k];
            bool is_beyond_near = 2.0 * cycles > latencies[0] + latencies[1];
            bool is_beyond_far = 2.0 * cycles > latencies[1] + latencies[2];

            if (!isfinite(cycles))
                continue;
            counts[is_beyond_far ? 2 : is_beyond_near] += 1.0;
            all += 1.0;
        }
        x[row] = pb_axis_value(&matrix->axes[0], row);
        for (size_t level = 0; level < LEVELS; level++)
            y[level * footprints + row] = all == 0.0 ? NAN : counts[level] / all;
    }
    for (size_t level = 0; level < LEVELS; level++) {
        struct pb_curve curve = {x, y + level * footprints, footprints, false};

        pb_plot_add(&plot, series, names[level], PB_MARK_LINE, &curve);
    }
    if (isnan(plot.reference))
        plot.reference_label = NULL;
    pb_plot_write(at->page, &plot);
}

/* Footprint × line. */
const char *pb_figure_whole_l2(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {{"footprint", false}, {"line", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);

    if (reason != NULL)
        return reason;
    draw_plateaus(at, matrix);
    draw_shares(at, matrix);
    return NULL;
}

/* Access × line: what of an array is still in L2, by how it was read before. */
const char *pb_figure_persistence(const struct pb_figure_case *at)
{
    enum { ACCESSES = 3, QUANTILES = 60 };
    static const struct pb_axis_requirement axes[] = {{"access", true}, {"line", false}};
    static const struct {
        const char *label, *name;
    } accesses[ACCESSES] = {{"alone", "nothing else written"},
                            {"persisting", "to be kept"},
                            {"normal", "by plain reads"}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);
    struct pb_plot_series series[ACCESSES];
    struct pb_plot plot = {
        .title = "Lines by their latency, behind twice the size of L2 of other data",
        .description = "A curve for each way to read the array before: so large a share of its "
                       "lines takes at most so long.",
        .x = {.label = "Share of the array's lines", .unit = "", .from_zero = true},
        .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
        .series = series,
        .reference = NAN,
        .is_wide = true};

    if (reason != NULL)
        return reason;
    for (size_t i = 0; i < ACCESSES; i++) {
        size_t row = pb_axis_label(&matrix->axes[0], accesses[i].label);
        size_t lines = matrix->axes[1].length;
        struct pb_curve curve;

        if (row == matrix->axes[0].length)
            continue;
        curve = read_quantiles(at->page, matrix->values + row * lines, lines, QUANTILES);
        pb_plot_add(&plot, series, accesses[i].name, PB_MARK_LINE, &curve);
    }
    pb_plot_write(at->page, &plot);
    return NULL;
}

/* ---- rates of every SM ---- */

/* The size of the word by which an SM in the middle reads most. */
static size_t best_word(struct pb_page *page, const struct pb_matrix *matrix, size_t memory)
{
    double most = -INFINITY;
    size_t best = 0;

    for (size_t word = 0; word < matrix->axes[1].length; word++) {
        size_t index[] = {memory, word, 0};
        struct pb_curve curve = pb_curve_matrix(page, matrix, 2, index);
        double median;

        if (curve.count == 0)
            continue;
        median = pb_median(curve.y, curve.count);
        if (median > most) {
            most = median;
            best = word;
        }
    }
    return best;
}

/* Home × quantity × SM: what each SM reads of lines at home on the other side of L2, alone. */
static struct pb_curve far_rates(struct pb_page *page, const struct pb_matrix *matrix)
{
    size_t latency = pb_axis_label(&matrix->axes[1], "latency");
    size_t alone = pb_axis_label(&matrix->axes[1], "alone");
    size_t near[] = {0, latency, 0}, far[] = {1, latency, 0};
    struct pb_curve near_cycles, far_cycles, rates, others;

    if (matrix->axes[0].length != 2 || latency == matrix->axes[1].length ||
        alone == matrix->axes[1].length)
        return (struct pb_curve){0};
    near_cycles = pb_curve_matrix(page, matrix, 2, near);
    far_cycles = pb_curve_matrix(page, matrix, 2, far);
    near[1] = far[1] = alone;
    rates = pb_curve_matrix(page, matrix, 2, far);
    others = pb_curve_matrix(page, matrix, 2, near);
    if (near_cycles.count != rates.count || far_cycles.count != rates.count ||
        others.count != rates.count)
        return (struct pb_curve){0};
    for (size_t i = 0; i < rates.count; i++)
        if (far_cycles.y[i] < near_cycles.y[i])
            rates.y[i] = others.y[i];
    return rates;
}

/* Memory × word × SM: of each memory the best word. Company × SM: an SM that reads L2 alone. */
const char *pb_figure_sm_rates(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement by_word[] = {
        {"memory", true}, {"word", false}, {"sm", false}};
    static const struct pb_axis_requirement by_company[] = {{"company", true}, {"sm", false}};
    const struct pb_recording *peak = pb_figure_recording(at, 0);
    static const struct pb_axis_requirement by_home[] = {
        {"home", true}, {"quantity", true}, {"sm", false}};
    const struct pb_recording *company = pb_figure_recording(at, 1);
    const struct pb_recording *sides = pb_figure_recording(at, 2);
    const char *reason = NULL;
    struct pb_plot_series series[PB_PLOT_SERIES_MAX];
    struct pb_plot plot = {.title = "Read throughput by SM",
                           .description = "A dot for each SM and memory, by the best word.",
                           .x = {.label = "SM", .unit = ""},
                           .y = {.label = "Read", .unit = "byte/cycle", .from_zero = true},
                           .series = series,
                           .reference = NAN,
                           .is_wide = true};

    if (peak != NULL)
        reason = pb_figure_check(at, &peak->matrix, by_word, 3);
    for (size_t i = 0; peak != NULL && reason == NULL && i < peak->matrix.axes[0].length &&
                       plot.series_count + 1 < PB_PLOT_SERIES_MAX;
         i++) {
        size_t index[] = {i, best_word(at->page, &peak->matrix, i), 0};
        struct pb_curve curve = pb_curve_matrix(at->page, &peak->matrix, 2, index);

        pb_plot_add(&plot, series,
                    pb_page_text(at->page, "%s, %g bytes",
                                 pb_figure_memory(peak->matrix.axes[0].labels[i]),
                                 pb_axis_value(&peak->matrix.axes[1], index[1])),
                    PB_MARK_DOTS, &curve);
    }
    if (company != NULL && pb_figure_check(at, &company->matrix, by_company, 2) == NULL) {
        size_t index[] = {pb_axis_label(&company->matrix.axes[0], "alone"), 0};

        if (index[0] < company->matrix.axes[0].length) {
            struct pb_curve curve = pb_curve_matrix(at->page, &company->matrix, 1, index);

            pb_plot_add(&plot, series, "L2, alone", PB_MARK_DOTS, &curve);
        }
    }
    if (sides != NULL && plot.series_count < PB_PLOT_SERIES_MAX &&
        pb_figure_check(at, &sides->matrix, by_home, 3) == NULL) {
        struct pb_curve curve = far_rates(at->page, &sides->matrix);

        if (curve.count > 0)
            pb_plot_add(&plot, series, "L2, far side, alone", PB_MARK_DOTS, &curve);
    }
    pb_plot_write(at->page, &plot);
    return reason;
}

/* ---- atomics, bulk copies ---- */

/* Pattern × line. */
const char *pb_figure_atomics(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {{"pattern", true}, {"line", false}};
    static const char *const labels[] = {"one_address", "one_line", "spread"};
    static const char *const names[] = {"one address", "one line", "one address each"};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);
    struct pb_plot_series series[3];
    struct pb_plot plot = {.title = "Additions of all SMs",
                           .description = "Additions per cycle of the device, by the line that "
                                          "they begin at.",
                           .x = {.label = "Line", .unit = "byte"},
                           .y = {.label = "Additions", .unit = "1/cycle", .logarithmic = true},
                           .series = series,
                           .reference = NAN,
                           .is_wide = true};

    if (reason != NULL)
        return reason;
    for (size_t i = 0; i < 3; i++) {
        size_t index[] = {pb_axis_label(&matrix->axes[0], labels[i]), 0};
        struct pb_curve curve;

        if (index[0] == matrix->axes[0].length)
            continue;
        curve = pb_curve_matrix(at->page, matrix, 1, index);
        pb_plot_add(&plot, series, names[i], PB_MARK_DOTS, &curve);
    }
    pb_plot_write(at->page, &plot);
    return NULL;
}

/* A column of a matrix of something × quantity, and the plot of it. */
struct quantity {
    const char *label, *title, *y, *unit;
};

/* One plot for each quantity that the matrix has. */
static void draw_quantities(const struct pb_figure_case *at, const struct pb_matrix *matrix,
                            const struct quantity *quantities, size_t count,
                            const struct pb_plot *common, enum pb_plot_mark mark)
{
    for (size_t i = 0; i < count; i++) {
        size_t index[] = {0, pb_axis_label(&matrix->axes[1], quantities[i].label)};
        struct pb_plot_series series[1];
        struct pb_plot plot = *common;
        struct pb_curve curve;

        if (index[1] == matrix->axes[1].length)
            continue;
        plot.title = quantities[i].title;
        plot.y = (struct pb_plot_axis){
            .label = quantities[i].y, .unit = quantities[i].unit, .from_zero = true};
        plot.series = series;
        plot.reference = NAN;
        curve = pb_curve_matrix(at->page, matrix, 0, index);
        pb_plot_add(&plot, series, NULL, mark, &curve);
        pb_plot_write(at->page, &plot);
    }
}

/* Line × quantity. */
const char *pb_figure_atomic_sides(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {{"line", false}, {"quantity", true}};
    static const struct quantity quantities[] = {
        {"latency", "An addition that waits for the one before", "Latency", "cycle"},
        {"rate", "Additions of all threads of the SM", "Additions", "1/cycle"}};
    static const struct pb_plot plot = {.description = "A dot for each line.",
                                        .x = {.label = "Line", .unit = "byte"}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);

    if (reason == NULL)
        draw_quantities(at, matrix, quantities, 2, &plot, PB_MARK_DOTS);
    return reason;
}

/* Size × quantity. */
const char *pb_figure_bulk(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {{"size", false}, {"quantity", true}};
    static const struct quantity quantities[] = {
        {"latency", "One copy, until it is there", "Latency", "cycle"},
        {"throughput", "Eight copies at a time, on all SMs", "Throughput of an SM", "byte/cycle"}};
    static const struct pb_plot plot = {
        .description = "Over the bytes of one copy.",
        .x = {.label = "Copy", .unit = "byte", .logarithmic = true}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);

    if (reason == NULL)
        draw_quantities(at, matrix, quantities, 2, &plot, PB_MARK_LINE);
    return reason;
}

/* ---- clusters ---- */

/* Clusters of 1, 2, 4, …: bars at their rank. */
static void draw_cluster_rates(const struct pb_figure_case *at, const struct pb_matrix *matrix)
{
    size_t index[] = {0};
    struct pb_curve curve = pb_curve_matrix(at->page, matrix, 0, index);
    const char *const *names = pb_axis_names(at->page, &matrix->axes[0]);
    struct pb_plot_series series[1];
    struct pb_plot plot = {.title = "Throughput from the next SM of the cluster",
                           .description =
                               "Of each SM, by the size of the cluster; 1 is an SM's own.",
                           .x = {.label = "SMs of the cluster",
                                 .unit = "",
                                 .names = names,
                                 .name_count = matrix->axes[0].length},
                           .y = {.label = "Throughput", .unit = "byte/cycle", .from_zero = true},
                           .series = series,
                           .reference = NAN};

    for (size_t i = 0; curve.x != NULL && i < curve.count; i++)
        curve.x[i] = (double)i;
    pb_plot_add(&plot, series, NULL, PB_MARK_BARS, &curve);
    pb_plot_write(at->page, &plot);
}

/* SM × other, NaN where two never met; an SM's own would hide the differences of the others. */
const char *pb_figure_clusters(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement by_pair[] = {{"sm", false}, {"other", false}};
    static const struct pb_axis_requirement by_size[] = {{"size", false}};
    const struct pb_recording *pairs = pb_figure_recording(at, 0);
    const struct pb_recording *rates = pb_figure_recording(at, 1);
    const char *reason = NULL;

    if (pairs != NULL && (reason = pb_figure_check(at, &pairs->matrix, by_pair, 2)) == NULL) {
        size_t rows = pairs->matrix.axes[0].length, columns = pairs->matrix.axes[1].length;
        double *values = pb_page_numbers(at->page, rows * columns);
        struct pb_heat_map map = {.title = "Latency from SM to SM",
                                  .description = "Rows are SMs that load, columns those whose "
                                                 "shared memory they load from. Pairs that never "
                                                 "met in a cluster are empty, and so is an SM's "
                                                 "own.",
                                  .x = {.label = "Other SM", .unit = ""},
                                  .y = {.label = "SM", .unit = ""},
                                  .values = values,
                                  .rows = rows,
                                  .columns = columns,
                                  .label = "Latency",
                                  .unit = "cycle",
                                  .is_wide = true};

        for (size_t i = 0; values != NULL && i < rows * columns; i++)
            values[i] = i / columns == i % columns ? NAN : pairs->matrix.values[i];
        if (values != NULL)
            pb_heat_map_write(at->page, &map);
    }
    if (rates != NULL && pb_figure_check(at, &rates->matrix, by_size, 1) == NULL)
        draw_cluster_rates(at, &rates->matrix);
    return reason;
}
