/* Figures of throughput, links and the device's state; see figures.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"

/* CTAs × CTA size × ILP: a row for each number of CTAs, a group of columns for each ILP. */
static void draw_throughput(const struct pb_figure_case *at, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    size_t rows = matrix->axes[0].length, sizes = matrix->axes[1].length;
    size_t depth = matrix->axes[2].length, columns = sizes * depth;
    double *values = pb_page_numbers(at->page, rows * columns);
    const char **names = (const char **)(void *)pb_page_numbers(at->page, columns);
    const char **groups = (const char **)(void *)pb_page_numbers(at->page, depth);
    const char *const *size_names = pb_axis_names(at->page, &matrix->axes[1]);
    struct pb_heat_map map = {
        .title = recording->name,
        .description = "Rows are CTAs, columns threads of a CTA, for each ILP.",
        .y = {.label = strcmp(matrix->axes[0].name, "ctas_per_sm") == 0 ? "CTAs per SM" : "CTAs",
              .unit = "",
              .names = pb_axis_names(at->page, &matrix->axes[0]),
              .name_count = rows},
        .x = {.label = "CTA size (threads)", .unit = "", .names = names, .name_count = columns},
        .values = values,
        .rows = rows,
        .columns = columns,
        .label = "Throughput",
        .unit = recording->unit,
        .groups = groups,
        .group_count = depth,
        .is_wide = true};

    if (at->page->status != PB_OK)
        return;
    for (size_t i = 0; i < depth; i++)
        groups[i] = pb_page_text(at->page, "ILP %g", pb_axis_value(&matrix->axes[2], i));
    for (size_t i = 0; i < columns; i++)
        names[i] = size_names[i % sizes];
    for (size_t i = 0; i < rows * columns; i++) {
        size_t row = i / columns, ilp = i % columns / sizes, size = i % sizes;

        values[i] = matrix->values[(row * sizes + size) * depth + ilp];
    }
    pb_heat_map_write(at->page, &map);
}

const char *pb_figure_throughput(const struct pb_figure_case *at)
{
    for (size_t i = 0; i < PB_FIGURE_TESTS_MAX && at->figure->tests[i] != NULL; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);

        if (recording != NULL && recording->matrix.rank == 3 && recording->matrix.values != NULL)
            draw_throughput(at, recording);
    }
    return NULL;
}

const char *pb_figure_banks(const struct pb_figure_case *at)
{
    static const char *const words[] = {"4", "8", "16"};
    const struct pb_recording *recording = pb_figure_recording(at, 0);

    for (size_t i = 0; i < 3; i++) {
        const char *phases[] = {pb_page_text(at->page, "word%s", words[i]), NULL};
        struct pb_curve curve =
            pb_curve_read(at->page, &recording->series, NULL, phases, true, PB_QUANTITY_MEDIAN);
        struct pb_plot_series series = {
            .mark = PB_MARK_BARS, .count = curve.count, .x = curve.x, .y = curve.y};
        struct pb_plot plot = {
            .title = pb_page_text(at->page, "Words of %s bytes", words[i]),
            .description = "Median latency of a warp's load over the distance of its threads.",
            .x = {.label = "Stride", .unit = "byte"},
            .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
            .series = &series,
            .series_count = 1,
            .reference = NAN};

        pb_plot_write(at->page, &plot);
    }
    return NULL;
}

/* Statistic × traffic × one axis × another: the medians over the last, for some places before it.
 */
static const char *draw_outstanding(const struct pb_figure_case *at, size_t test)
{
    static const struct {
        const char *axis, *over, *word, *label;
    } kinds[] = {{"lanes", "loads", "lanes", "Loads"},
                 {"loads", "warps", "loads", "Warps"},
                 {"warps", "lanes", "warps", "Lanes"}};
    const struct pb_axis_requirement axes[] = {{"statistic", true},
                                               {"traffic", true},
                                               {kinds[test].axis, false},
                                               {kinds[test].over, false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, test)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 4);

    if (reason != NULL)
        return reason;
    for (size_t traffic = 0; traffic < matrix->axes[1].length; traffic++) {
        struct pb_plot_series series[PB_PLOT_SERIES_MAX];
        struct pb_plot plot = {
            .title =
                pb_page_text(at->page, "From %s, over %s",
                             pb_figure_memory(matrix->axes[1].labels[traffic]), kinds[test].over),
            .description =
                pb_page_text(at->page, "Cycles until all data have come, by %s.", kinds[test].word),
            .x = {.label = kinds[test].label, .unit = "", .from_zero = true},
            .y = {.label = "Time", .unit = "cycle", .from_zero = true},
            .series = series,
            .reference = NAN};

        for (size_t i = 0; i < 3; i++) { /* the least, the most, and one between */
            size_t place = i * (matrix->axes[2].length - 1) / 2;
            size_t index[] = {matrix->axes[0].length - 1, traffic, place, 0};
            struct pb_curve curve = pb_curve_matrix(at->page, matrix, 3, index);
            double number = pb_axis_value(&matrix->axes[2], place);

            pb_plot_add(&plot, series,
                        pb_page_text(at->page, "%g %.*s", number,
                                     (int)strlen(kinds[test].word) - (number == 1.0),
                                     kinds[test].word),
                        PB_MARK_LINE, &curve);
        }
        pb_plot_write(at->page, &plot);
    }
    return NULL;
}

const char *pb_figure_mshr(const struct pb_figure_case *at)
{
    const char *reason = NULL;

    for (size_t i = 0; i < 3 && reason == NULL; i++)
        if (pb_figure_recording(at, i) != NULL)
            reason = draw_outstanding(at, i);
    return reason;
}

/* Direction × memory × bytes. */
const char *pb_figure_host_link(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {
        {"direction", true}, {"memory", true}, {"bytes", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 3);
    struct pb_plot_series series[4];
    struct pb_plot plot = {.title = "Throughput over transfer size",
                           .description = "A curve for each direction and kind of host memory.",
                           .x = {.label = "Transfer", .unit = "byte", .logarithmic = true},
                           .y = {.label = "Throughput", .unit = "byte/s", .from_zero = true},
                           .series = series,
                           .reference = NAN,
                           .is_wide = true};

    if (reason != NULL)
        return reason;
    for (size_t i = 0; i < 4; i++) {
        size_t index[] = {i / 2, i % 2, 0};
        struct pb_curve curve;

        if (index[0] >= matrix->axes[0].length || index[1] >= matrix->axes[1].length)
            continue;
        curve = pb_curve_matrix(at->page, matrix, 2, index);
        pb_plot_add(&plot, series,
                    pb_page_text(at->page, "%s, %s", matrix->axes[0].labels[index[0]],
                                 matrix->axes[1].labels[index[1]]),
                    PB_MARK_LINE, &curve);
    }
    pb_plot_write(at->page, &plot);
    return NULL;
}

enum { PEERS_MAX = 32 };

/* A row of the peer matrix: what a device measured to each other one of its node. */
static void fill_peers(const struct pb_figure_case *at, const size_t *devices, size_t count,
                       size_t row, double *values)
{
    struct pb_recording recording = {.name = ""};
    struct pb_error err = PB_ERROR_INIT;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t columns;

    if (at->source->recording(at->source->context, devices[row], "peer_link", &recording, &err) !=
        PB_OK)
        return;
    columns = matrix->rank == 2 ? matrix->axes[1].length : 0;
    for (size_t i = 0; columns > 0 && i < matrix->axes[0].length; i++)
        for (size_t k = 0; matrix->axes[0].labels != NULL && k < count; k++)
            if (strcmp(matrix->axes[0].labels[i],
                       at->report->devices[devices[k]].member->pci_bus_id) == 0)
                values[row * count + k] = matrix->values[i * columns];
    pb_recording_clear(&recording);
}

const char *pb_figure_peers(const struct pb_figure_case *at)
{
    const struct pb_report *report = at->report;
    const char *host = report->devices[at->device].member->host;
    const char *names[PEERS_MAX];
    size_t devices[PEERS_MAX], count = 0;
    double *values;
    struct pb_heat_map map = {
        .title = "Throughput from GPU to GPU",
        .description = "Rows measure, columns are their peers. The numbers in the cells are GB/s.",
        .label = "Throughput",
        .unit = "byte/s",
        .shows_numbers = true};

    for (size_t i = 0; i < report->device_count && count < PEERS_MAX; i++)
        if (report->devices[i].is_recorded && strcmp(report->devices[i].member->host, host) == 0) {
            names[count] =
                pb_page_text(at->page, "gpu%lld", (long long)report->devices[i].member->slot);
            devices[count++] = i;
        }
    values = pb_page_numbers(at->page, count * count);
    if (values == NULL || count < 2)
        return "the file has no other GPU of this node";
    for (size_t i = 0; i < count * count; i++)
        values[i] = NAN;
    for (size_t row = 0; row < count; row++)
        fill_peers(at, devices, count, row, values);
    map.x = (struct pb_plot_axis){.label = "Peer", .unit = "", .names = names, .name_count = count};
    map.y = map.x;
    map.y.label = "GPU";
    map.values = values;
    map.rows = map.columns = count;
    pb_heat_map_write(at->page, &map);
    return NULL;
}

/* ---- over time ---- */

/* Time × quantity: a drawing for each quantity that has a unit worth an axis. */
const char *pb_figure_sustained(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {{"time", false}, {"quantity", true}};
    static const struct {
        const char *label, *title, *unit;
    } quantities[] = {{"throughput", "Throughput", "byte/s"},
                      {"sm_clock", "SM clock", "MHz"},
                      {"power", "Power", "W"},
                      {"temperature", "Temperature", "degC"}};
    const struct pb_recording *recording = pb_figure_recording(at, 0) != NULL
                                               ? pb_figure_recording(at, 0)
                                               : pb_figure_recording(at, 1);
    const struct pb_matrix *matrix = &recording->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);

    if (reason != NULL)
        return reason;
    for (size_t i = 0; i < sizeof(quantities) / sizeof(quantities[0]); i++) {
        size_t index[] = {0, pb_axis_label(&matrix->axes[1], quantities[i].label)};
        struct pb_curve curve;
        struct pb_plot_series series = {.mark = PB_MARK_LINE};
        struct pb_plot plot = {.title = quantities[i].title,
                               .description = "Over the seconds of a lasting copy.",
                               .x = {.label = "Time", .unit = "s"},
                               .y = {quantities[i].title, quantities[i].unit, .from_zero = i == 0},
                               .series = &series,
                               .series_count = 1,
                               .reference = NAN};

        if (index[1] == matrix->axes[1].length)
            continue;
        curve = pb_curve_matrix(at->page, matrix, 0, index);
        series.count = curve.count == 0 ? 0 : pb_curve_thin(curve.x, curve.y, curve.count);
        series.x = curve.x;
        series.y = curve.y;
        pb_plot_write(at->page, &plot);
    }
    return NULL;
}

const char *pb_figure_states(const struct pb_figure_case *at)
{
    static const char *const titles[] = {"SM clock", "Power", "Temperature"};
    static const char *const units[] = {"MHz", "W", "degC"};
    struct pb_state *states = NULL;
    size_t count = 0;
    struct pb_error err = PB_ERROR_INIT;

    if (at->source->states(at->source->context, at->device, &states, &count, &err) != PB_OK)
        return pb_page_text(at->page, "%s", err.message);
    for (size_t i = 0; i < 3 && count > 0; i++) {
        double *x = pb_page_numbers(at->page, count), *y = pb_page_numbers(at->page, count);
        struct pb_plot_series series = {.mark = PB_MARK_STEP, .x = x, .y = y};
        struct pb_plot plot = {.title = titles[i],
                               .description = "Over the seconds since the first reading.",
                               .x = {.label = "Time", .unit = "s"},
                               .y = {titles[i], units[i], .from_zero = i == 1},
                               .series = &series,
                               .series_count = 1,
                               .reference = NAN};

        for (size_t k = 0; x != NULL && y != NULL && k < count; k++) {
            x[k] = states[k].unix_seconds - states[0].unix_seconds;
            y[k] = i == 0   ? states[k].sm_clock_mhz
                   : i == 1 ? states[k].power_w
                            : states[k].temperature_c;
            series.count = k + 1;
        }
        series.count = series.count == 0 ? 0 : pb_curve_thin(x, y, series.count);
        pb_plot_write(at->page, &plot);
    }
    free(states);
    return NULL;
}

const char *pb_figure_agreement(const struct pb_figure_case *at)
{
    enum { SHARES = 3 };
    static const char *const shares[] = {"agreed", "contradicted", "undetermined"};
    struct pb_agreement_row *rows = NULL;
    size_t count = 0;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_heat_map map = {
        .title = "Shares of accesses by test",
        .description = "Rows are tests; of each the shares agreed, contradicted and undetermined.",
        .x = {.label = "", .unit = "", .names = shares, .name_count = SHARES},
        .columns = SHARES,
        .label = "Share",
        .unit = "",
        .high = 1.0,
        .shows_numbers = true,
        .is_wide = true};
    const char **names;
    double *values;

    if (at->source->agreement(at->source->context, at->device, &rows, &count, &err) != PB_OK ||
        count == 0) {
        free(rows);
        return "the file has no /analysis/agreement of this device: plumb-analyze keeps it there";
    }
    names = (const char **)(void *)pb_page_numbers(at->page, count);
    values = pb_page_numbers(at->page, SHARES * count);
    for (size_t i = 0; names != NULL && values != NULL && i < count; i++) {
        double all = (double)rows[i].accesses;

        names[i] = pb_page_text(at->page, "%s", rows[i].test);
        values[SHARES * i] = (double)rows[i].agreed / all;
        values[SHARES * i + 1] = (double)rows[i].contradicted / all;
        values[SHARES * i + 2] = (double)rows[i].undetermined / all;
        map.rows = i + 1;
    }
    free(rows);
    map.values = values;
    map.y =
        (struct pb_plot_axis){.label = "Test", .unit = "", .names = names, .name_count = map.rows};
    if (map.rows > 0)
        pb_heat_map_write(at->page, &map);
    return NULL;
}
