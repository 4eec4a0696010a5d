/* Figures of the memory of a node's other GPUs: loads and copies; see figures.h. */
#include <math.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"
#include "analysis/statistics/sort.h"

/* The peers of a recording: gpuN where the file has them, else by PCI bus id. */
static struct pb_plot_axis peer_axis(const struct pb_figure_case *at,
                                     const struct pb_matrix *matrix)
{
    const struct pb_report *report = at->report;
    const char *host = report->devices[at->device].member->host;
    const struct pb_axis *axis = &matrix->axes[0];
    /* a pointer takes no more than a number */
    const char **names = (const char **)(void *)pb_page_numbers(at->page, axis->length);

    for (size_t i = 0; names != NULL && i < axis->length; i++) {
        names[i] = axis->labels[i];
        for (size_t k = 0; k < report->device_count; k++)
            if (strcmp(report->devices[k].member->host, host) == 0 &&
                strcmp(report->devices[k].member->pci_bus_id, axis->labels[i]) == 0)
                names[i] =
                    pb_page_text(at->page, "gpu%lld", (long long)report->devices[k].member->slot);
    }
    return (struct pb_plot_axis){.label = "Peer",
                                 .unit = "",
                                 .names = names,
                                 .name_count = names == NULL ? 0 : axis->length};
}

/* A number for each peer, of cells that lie `step` apart; the median of `width` that follow. */
static struct pb_curve read_peers(struct pb_page *page, const struct pb_matrix *matrix,
                                  size_t offset, size_t width)
{
    size_t peers = matrix->axes[0].length, step = pb_axes_step(matrix, 0);
    struct pb_curve curve = {pb_page_numbers(page, peers), pb_page_numbers(page, peers), 0, false};
    double *sorted = pb_page_numbers(page, width);

    for (size_t i = 0; page->status == PB_OK && i < peers; i++) {
        size_t count = 0;

        for (size_t k = 0; k < width; k++) {
            double value = matrix->values[i * step + offset + k];

            if (isfinite(value))
                sorted[count++] = value;
        }
        curve.x[i] = (double)i;
        curve.y[i] = count == 0 ? NAN : pb_median(sorted, count);
        curve.count = i + 1;
    }
    return curve;
}

/* Peer × path × state × line: the median of the lines, less the overhead of the stamps. */
const char *pb_figure_peer_chase(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {
        {"peer", true}, {"path", true}, {"state", true}, {"line", false}};
    static const struct {
        const char *path, *state, *name;
    } rows[] = {{"global_cg", "cold", "lines in no cache"},
                {"global_cg", "warm", "in the peer's L2"},
                {"global_ca", "warm", "in the peer's L2, plain loads"},
                {"global_ca", "again", "loaded here before, plain loads"}};
    const struct pb_recording *recording = pb_figure_recording(at, 0);
    const struct pb_matrix *matrix = &recording->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 4);
    struct pb_plot_series series[sizeof(rows) / sizeof(rows[0])];
    struct pb_plot plot = {.title = "Loads from the memory of each peer",
                           .description = "A dot for each peer: the median of its lines.",
                           .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
                           .series = series,
                           .reference = NAN,
                           .is_wide = true};

    if (reason != NULL)
        return reason;
    plot.x = peer_axis(at, matrix);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t path = pb_axis_label(&matrix->axes[1], rows[i].path);
        size_t state = pb_axis_label(&matrix->axes[2], rows[i].state);
        struct pb_curve curve;

        if (path == matrix->axes[1].length || state == matrix->axes[2].length)
            continue;
        curve = read_peers(at->page, matrix,
                           path * pb_axes_step(matrix, 1) + state * pb_axes_step(matrix, 2),
                           matrix->axes[3].length);
        for (size_t k = 0; k < curve.count; k++)
            curve.y[k] -= recording->overhead_cycles;
        pb_plot_add(&plot, series, rows[i].name, PB_MARK_DOTS, &curve);
    }
    pb_plot_write(at->page, &plot);
    return NULL;
}

/* Peer × way × engine: a plot for each way. */
const char *pb_figure_peer_copy(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {
        {"peer", true}, {"way", true}, {"engine", true}};
    static const struct {
        const char *label, *title;
    } ways[] = {{"from_peer", "Copies from each peer"},
                {"to_peer", "Copies to each peer"},
                {"both", "Both ways at once, both counted"}};
    static const struct {
        const char *label, *name;
    } engines[] = {
        {"copy_engine", "a copy engine"}, {"copy_engines", "several"}, {"sms", "all SMs"}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 3);

    for (size_t way = 0; reason == NULL && way < 3; way++) {
        size_t row = pb_axis_label(&matrix->axes[1], ways[way].label);
        struct pb_plot_series series[3];
        struct pb_plot plot = {.title = ways[way].title,
                               .description = "A dot for each peer and what copies.",
                               .x = peer_axis(at, matrix),
                               .y = {.label = "Throughput", .unit = "byte/s", .from_zero = true},
                               .series = series,
                               .reference = NAN};

        for (size_t i = 0; row < matrix->axes[1].length && i < 3; i++) {
            size_t engine = pb_axis_label(&matrix->axes[2], engines[i].label);
            struct pb_curve curve;

            if (engine == matrix->axes[2].length)
                continue;
            curve = read_peers(at->page, matrix, row * pb_axes_step(matrix, 1) + engine, 1);
            pb_plot_add(&plot, series, engines[i].name, PB_MARK_DOTS, &curve);
        }
        pb_plot_write(at->page, &plot);
    }
    return reason;
}
