/* Figures of latencies, caches and TLBs; see figures.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"

static const struct pb_plot_axis latency_axis = {.label = "Latency", .unit = "cycle"};

/* ---- latency of each level ---- */

const char *pb_figure_ladder(const struct pb_figure_case *at)
{
    static const struct {
        const char *memory, *name;
    } levels[] = {{"shared", "Shared memory"},
                  {"constant_l1", "Constant L1"},
                  {"l1", "L1"},
                  {"readonly", "Read-only path"},
                  {"texture", "Texture path"},
                  {"constant_l15", "Constant L1.5"},
                  {"l2", "L2"},
                  {"l2_near", "L2, near half"},
                  {"l2_far", "L2, far half"},
                  {"dram", "DRAM"}};
    enum { COUNT = sizeof(levels) / sizeof(levels[0]) };
    const char *names[COUNT];
    double x[COUNT], y[COUNT], low[COUNT], high[COUNT];
    struct pb_plot_series series = {NULL, PB_MARK_DOTS, false, 0, x, y, low, high};
    struct pb_plot plot = {
        .title = "Latency of each level",
        .description = "A row for each level, in cycles on a logarithmic axis, with intervals.",
        .x = {.label = "Latency", .unit = "cycle", .logarithmic = true},
        .y = {.label = "Level", .unit = "", .names = names},
        .series = &series,
        .series_count = 1,
        .reference = NAN,
        .is_wide = true};

    for (size_t i = 0; i < COUNT; i++) {
        const struct pb_parameter_row *latency =
            pb_figure_parameter(at, levels[i].memory, "latency_cycles");

        if (latency == NULL || latency->value[0] == '\0')
            continue;
        names[series.count] = levels[i].name;
        x[series.count] = latency->number;
        y[series.count] = (double)series.count;
        low[series.count] = latency->low;
        high[series.count++] = latency->high;
    }
    plot.y.name_count = series.count;
    if (series.count == 0)
        return "no latency is determined";
    pb_plot_write(at->page, &plot);
    return NULL;
}

/* ---- caches ---- */

/* "l1_capacity" is of the memory "l1", "constant_line" of "constant_l1". */
static const char *memory_of(struct pb_page *page, const char *test)
{
    const char *last = strrchr(test, '_');
    int length = (int)(last - test);

    if (strncmp(test, "constant", (size_t)length) == 0)
        return "constant_l1";
    return pb_page_text(page, "%.*s", length, test);
}

static const char *thinned(const struct pb_curve *curve)
{
    return curve->is_thinned
               ? " Of runs of neighbouring points the least and the largest are shown."
               : "";
}

const char *pb_figure_footprint(const struct pb_figure_case *at)
{
    static const char *const phases[] = {"coarse", "bisect", "confirm", "fine", NULL};
    struct pb_page *page = at->page;

    for (size_t i = 0; i < PB_FIGURE_TESTS_MAX && at->figure->tests[i] != NULL; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);
        const char *memory = memory_of(page, at->figure->tests[i]);
        struct pb_curve curve;
        struct pb_plot_series series = {.mark = PB_MARK_LINE};
        struct pb_plot plot = {.x = {.label = "Footprint", .unit = "byte", .logarithmic = true},
                               .y = latency_axis,
                               .series = &series,
                               .series_count = 1,
                               .reference_label = "capacity"};

        if (recording == NULL)
            continue;
        curve = pb_curve_read(page, &recording->series, NULL, phases, false, PB_QUANTITY_MEAN);
        series.x = curve.x;
        series.y = curve.y;
        series.count = curve.count;
        plot.title = pb_page_text(page, "%s: latency over footprint", memory);
        plot.description = pb_page_text(page, "Mean cycles per load over the size of the array.%s",
                                        thinned(&curve));
        if (strcmp(memory, "l2") == 0) /* all SMs read: of two halves, one's part is what fits */
            plot.reference = pb_figure_number(at, "l2_near", "size_bytes");
        if (strcmp(memory, "l2") != 0 || isnan(plot.reference))
            plot.reference = pb_figure_number(at, memory, "size_bytes");
        if (isnan(plot.reference))
            plot.reference_label = NULL;
        plot.y.from_zero = true;
        pb_plot_write(page, &plot);
    }
    return NULL;
}

const char *pb_figure_carveout(const struct pb_figure_case *at)
{
    double *carveouts, *sizes;
    size_t count = pb_figure_list(at, "l1", "carveout_bytes", &carveouts);
    size_t known = pb_figure_list(at, "l1", "carveout_size_bytes", &sizes);
    struct pb_plot_series series = {.mark = PB_MARK_LINE, .x = carveouts, .y = sizes};
    struct pb_plot plot = {
        .title = "L1 over the carve-out",
        .description = "Bytes that L1 keeps over the bytes of shared memory that are set aside.",
        .x = {.label = "Shared memory set aside", .unit = "byte", .from_zero = true},
        .y = {.label = "L1", .unit = "byte", .from_zero = true},
        .series = &series,
        .series_count = 1,
        .reference = NAN};

    series.count = count < known ? count : known;
    if (series.count < 2)
        return "L1 beside several carve-outs is not determined";
    pb_plot_write(at->page, &plot);
    series.mark = PB_MARK_DOTS;
    return NULL;
}

/* The loads of the first cold chase, up to so many bytes. */
const char *pb_figure_words(const struct pb_figure_case *at)
{
    enum { WORDS = 48 };
    struct pb_page *page = at->page;

    for (size_t i = 0; i < PB_FIGURE_TESTS_MAX && at->figure->tests[i] != NULL; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);
        struct pb_pick pick = {NULL, NULL, "cold"};
        size_t from = 0;
        const struct pb_point *point =
            recording == NULL ? NULL : pb_point_next(&recording->series, &pick, &from);
        double *x = pb_page_numbers(page, WORDS), *y = pb_page_numbers(page, WORDS);
        struct pb_plot_series series = {.mark = PB_MARK_STEP, .x = x, .y = y};
        struct pb_plot plot = {.x = {.label = "Offset", .unit = "byte"},
                               .y = latency_axis,
                               .series = &series,
                               .series_count = 1,
                               .reference = NAN};
        struct pb_accesses accesses;

        if (point == NULL || x == NULL || y == NULL)
            continue;
        accesses = pb_point_accesses(&recording->series, point);
        for (; series.count < WORDS && series.count < accesses.count; series.count++) {
            x[series.count] = (double)accesses.index_bytes[series.count];
            y[series.count] = pb_access_cycles(&accesses, series.count);
        }
        plot.title = pb_page_text(page, "%s: cold pass", memory_of(page, at->figure->tests[i]));
        plot.description = "Latency of each of the first loads over its offset in the array.";
        plot.y.from_zero = true;
        pb_plot_write(page, &plot);
    }
    return NULL;
}

/* Halfway between what surely hits and what surely misses; NaN: the recording does not show it. */
static double miss_threshold(struct pb_page *page, const struct pb_series *series)
{
    double hit = INFINITY, miss = NAN;

    for (size_t i = 0; i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];
        bool is_reference = strcmp(point->phase, "reference") == 0;

        if (point->count == 0 || (!is_reference && strcmp(point->phase, "miss") != 0))
            continue;
        if (is_reference)
            hit = fmin(hit, pb_point_median(page, series, point));
        else
            miss = pb_point_median(page, series, point);
    }
    return (hit + miss) / 2.0;
}

enum { SET_DOTS = 120 };

/* The lines that missed beside each added one; every so-maniest dot where they are too many. */
static void collect_conflicts(const struct pb_series *series, double threshold, size_t every,
                              struct pb_plot_series *dots, double *x, double *y, size_t *seen_out)
{
    size_t seen = 0;

    dots->count = 0;
    for (size_t i = 0; i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];
        struct pb_accesses accesses = pb_point_accesses(series, point);
        uint64_t array = point->stride_bytes * (point->count == 0 ? 0 : point->count - 1);

        if (strcmp(point->phase, "conflict") != 0 || point->footprint_bytes > 2 * array)
            continue; /* the added line lies far behind: it shows one address bit */
        for (size_t k = 0; k < accesses.count; k++)
            if (pb_access_cycles(&accesses, k) > threshold &&
                accesses.index_bytes[k] + point->stride_bytes <= array && seen++ % every == 0 &&
                dots->count < SET_DOTS) {
                x[dots->count] = (double)(point->footprint_bytes - point->stride_bytes);
                y[dots->count++] = (double)accesses.index_bytes[k];
            }
    }
    *seen_out = seen;
}

const char *pb_figure_sets(const struct pb_figure_case *at)
{
    struct pb_page *page = at->page;

    for (size_t i = 0; i < PB_FIGURE_TESTS_MAX && at->figure->tests[i] != NULL; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);
        double *x = pb_page_numbers(page, SET_DOTS), *y = pb_page_numbers(page, SET_DOTS);
        struct pb_plot_series dots = {.mark = PB_MARK_DOTS, .x = x, .y = y};
        struct pb_plot plot = {.x = {.label = "Offset of the added line", .unit = "byte"},
                               .y = {.label = "Offset of the line that missed", .unit = "byte"},
                               .series = &dots,
                               .series_count = 1,
                               .reference = NAN};
        size_t seen, ignored;
        double threshold;

        if (recording == NULL || x == NULL || y == NULL)
            continue;
        threshold = miss_threshold(page, &recording->series);
        collect_conflicts(&recording->series, threshold, 1, &dots, x, y, &seen);
        if (seen > SET_DOTS)
            collect_conflicts(&recording->series, threshold, seen / SET_DOTS + 1, &dots, x, y,
                              &ignored);
        plot.title =
            pb_page_text(page, "%s: lines that share a set", memory_of(page, at->figure->tests[i]));
        plot.description = pb_page_text(page, "%zu of %zu misses beside an added line are shown.",
                                        dots.count, seen);
        pb_plot_write(page, &plot);
    }
    return NULL;
}

/* Chases over the lines of one set: a row each, a column for each load. */
static void draw_victims(const struct pb_figure_case *at, const struct pb_recording *recording,
                         const char *memory)
{
    enum { CHASES = 8, LOADS = 64 };
    struct pb_page *page = at->page;
    double *values = pb_page_numbers(page, CHASES * LOADS);
    struct pb_pick pick = {NULL, NULL, "victim"};
    struct pb_heat_map map = {.x = {.label = "Load", .unit = ""},
                              .y = {.label = "Chase", .unit = ""},
                              .values = values,
                              .columns = LOADS,
                              .label = "Latency",
                              .unit = "cycle"};
    const struct pb_point *point;
    size_t from = 0;

    while (values != NULL && map.rows < CHASES &&
           (point = pb_point_next(&recording->series, &pick, &from)) != NULL) {
        struct pb_accesses accesses = pb_point_accesses(&recording->series, point);

        for (size_t i = 0; i < LOADS; i++)
            values[map.rows * LOADS + i] =
                i < accesses.count ? pb_access_cycles(&accesses, i) : NAN;
        map.rows++;
    }
    map.title = pb_page_text(page, "%s: hits and misses in one set", memory);
    map.description = "Latency of the first 64 loads of each chase over the lines of one set.";
    if (map.rows > 0)
        pb_heat_map_write(page, &map);
}

/* How often each way was evicted, where chance decides. */
static void draw_probabilities(const struct pb_figure_case *at, const char *memory)
{
    struct pb_plot_series bars = {.mark = PB_MARK_BARS};
    struct pb_plot plot = {.x = {.label = "Way, in the order of filling", .unit = ""},
                           .y = {.label = "Share of evictions", .unit = "", .from_zero = true},
                           .series = &bars,
                           .series_count = 1,
                           .reference = NAN};
    double *shares = NULL, *ways;

    bars.count = pb_figure_list(at, memory, "way_eviction_probabilities", &shares);
    ways = pb_page_numbers(at->page, bars.count);
    for (size_t i = 0; ways != NULL && i < bars.count; i++)
        ways[i] = (double)(i + 1);
    bars.x = ways;
    bars.y = shares;
    plot.title = pb_page_text(at->page, "%s: evictions by way", memory);
    plot.description = "How often each way of a full set was the one that was evicted.";
    if (bars.count > 1 && ways != NULL)
        pb_plot_write(at->page, &plot);
}

const char *pb_figure_victims(const struct pb_figure_case *at)
{
    for (size_t i = 0; i < PB_FIGURE_TESTS_MAX && at->figure->tests[i] != NULL; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);
        const char *memory = memory_of(at->page, at->figure->tests[i]);

        if (recording == NULL)
            continue;
        draw_victims(at, recording, memory);
        draw_probabilities(at, memory);
    }
    return NULL;
}

/* Warmed by one path (the phase), looked up by another (the path). */
const char *pb_figure_sharing(const struct pb_figure_case *at)
{
    static const char *const warmed[] = {"global_ca", "readonly", "texture", "none"};
    static const char *const looked[] = {"global_ca", "readonly", "texture"};
    enum { ROWS = 4, COLUMNS = 3 };
    const struct pb_recording *recording = pb_figure_recording(at, 0);
    double values[ROWS * COLUMNS];
    struct pb_heat_map map = {.title = "Latency by path",
                              .description = "Median latency; the last row is without a load.",
                              .x = {"Looked up by", "", .names = looked, .name_count = COLUMNS},
                              .y = {"Loaded by", "", .names = warmed, .name_count = ROWS},
                              .values = values,
                              .columns = COLUMNS,
                              .rows = ROWS,
                              .label = "Latency",
                              .unit = "cycle",
                              .shows_numbers = true};

    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        struct pb_pick pick = {looked[i % COLUMNS], NULL, warmed[i / COLUMNS]};
        const struct pb_point *point;
        size_t from = 0;

        values[i] = NAN;
        while ((point = pb_point_next(&recording->series, &pick, &from)) != NULL)
            if (point->count > 0)
                values[i] = pb_point_median(at->page, &recording->series, point);
    }
    pb_heat_map_write(at->page, &map);
    return NULL;
}

/* ---- TLBs ---- */

const char *pb_figure_tlb(const struct pb_figure_case *at)
{
    static const char *const strides[] = {"2", "4", "8", "16", "32", "64"};
    enum { COUNT = sizeof(strides) / sizeof(strides[0]) };
    struct pb_page *page = at->page;

    for (size_t i = 0; i < PB_FIGURE_TESTS_MAX && at->figure->tests[i] != NULL; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, i);
        struct pb_plot_series series[COUNT];
        struct pb_plot plot = {
            .title = pb_page_text(page, "%s: median latency over the span of the pages",
                                  at->figure->tests[i]),
            .description = "A curve for each stride in MiB. Of runs of neighbouring points the "
                           "least and the largest are shown.",
            .x = {.label = "Span of the pages", .unit = "byte", .logarithmic = true},
            .y = latency_axis,
            .series = series,
            .reference = NAN,
            .is_wide = true};

        for (size_t k = 0; recording != NULL && k < COUNT; k++) {
            const char *phases[] = {pb_page_text(page, "stride%s", strides[k]), NULL};
            struct pb_curve curve =
                pb_curve_read(page, &recording->series, NULL, phases, false, PB_QUANTITY_MEDIAN);

            if (curve.count > 0)
                pb_plot_add(&plot, series, pb_page_text(page, "%s MiB", strides[k]), PB_MARK_LINE,
                            &curve);
        }
        if (plot.series_count > 0)
            pb_plot_write(page, &plot);
    }
    return NULL;
}

/* How a parameter was found, and of its parts why some were not. */
static void write_method(const struct pb_figure_case *at, const char *memory, const char *name)
{
    const struct pb_parameter_row *parameter = pb_figure_parameter(at, memory, name);

    if (parameter == NULL || parameter->method[0] == '\0')
        return;
    fputs("<p class=note>", at->page->out);
    pb_markup_format(at->page->out, "%s.%s: %s", memory, name, parameter->method);
    fputs("</p>", at->page->out);
}

const char *pb_figure_patterns(const struct pb_figure_case *at)
{
    static const char *const names[] = {"P1", "P2", "P3", "P4", "P5", "P6"};
    static const char *const memories[] = {"l2", "l1"};
    static const char *const titles[] = {"Past L1", "Through L1"};
    enum { PATTERNS = 6 };
    double x[PATTERNS];
    bool drawn = false;

    for (size_t m = 0; m < 2; m++) {
        double *cycles;
        size_t count = pb_figure_list(at, memories[m], "pattern_cycles", &cycles);
        struct pb_plot_series bars = {.mark = PB_MARK_BARS, .count = PATTERNS, .x = x, .y = cycles};
        struct pb_plot plot = {.title = titles[m],
                               .description = "Latency of each pattern; a pattern without a bar is "
                                              "undetermined.",
                               .x = {"Pattern", "", .names = names, .name_count = PATTERNS},
                               .y = {"Latency", "cycle", .from_zero = true},
                               .series = &bars,
                               .series_count = 1,
                               .reference = NAN};

        for (size_t i = 0; i < PATTERNS; i++)
            x[i] = (double)i;
        if (count != PATTERNS)
            continue;
        pb_plot_write(at->page, &plot);
        drawn = true;
    }
    write_method(at, "l2", "pattern_cycles");
    return drawn ? NULL : "no pattern is determined";
}

/* ---- single accesses, prefetching, classic methods ---- */

const char *pb_figure_accesses(const struct pb_figure_case *at)
{
    static const struct {
        const char *name, *path, *phase;
        size_t test;
    } classes[] = {{"shared", "shared", "reference", 0},
                   {"L1", "global_ca", "reference", 1},
                   {"L2", "global_cg", "reference", 2},
                   {"DRAM near", NULL, "near", 3},
                   {"DRAM far", NULL, "far", 3}};
    enum { CLASSES = sizeof(classes) / sizeof(classes[0]), QUANTILES = 32 };
    struct pb_page *page = at->page;
    struct pb_plot_series series[CLASSES];
    struct pb_plot plot = {.title = "ECDF of accesses by level",
                           .description =
                               "Each curve has 33 quantiles of all accesses of its kind.",
                           .x = {.label = "Latency", .unit = "cycle", .logarithmic = true},
                           .y = {.label = "Share of accesses", .unit = "", .from_zero = true},
                           .series = series,
                           .reference = NAN,
                           .labels_along = true,
                           .is_wide = true};

    for (size_t i = 0; i < CLASSES; i++) {
        const struct pb_recording *recording = pb_figure_recording(at, classes[i].test);
        double *x = pb_page_numbers(page, QUANTILES + 1), *y = pb_page_numbers(page, QUANTILES + 1);
        struct pb_curve all = {NULL, NULL, 0, false};

        if (recording != NULL)
            all = pb_curve_accesses(page, &recording->series, classes[i].path, classes[i].phase);
        if (all.count == 0 || x == NULL || y == NULL)
            continue;
        for (size_t q = 0; q <= QUANTILES; q++) {
            x[q] = all.x[q * (all.count - 1) / QUANTILES];
            y[q] = (double)q / QUANTILES;
        }
        series[plot.series_count++] = (struct pb_plot_series){
            .name = classes[i].name, .mark = PB_MARK_STEP, .count = QUANTILES + 1, .x = x, .y = y};
    }
    if (plot.series_count == 0)
        return "no accesses of a single level";
    pb_plot_write(page, &plot);
    return NULL;
}

const char *pb_figure_prefetch(const struct pb_figure_case *at)
{
    static const char *const paths[] = {"global_cg", "global_ca"};
    static const char *const titles[] = {"From DRAM to L2", "From L2 to L1"};
    static const char *const orders[] = {"strided", "random"};
    const struct pb_recording *recording = pb_figure_recording(at, 0);

    for (size_t p = 0; p < 2; p++) {
        struct pb_plot_series series[2];
        struct pb_plot plot = {.title = titles[p],
                               .description = "Mean latency of cold loads over their stride.",
                               .x = {.label = "Stride", .unit = "byte", .logarithmic = true},
                               .y = latency_axis,
                               .series = series,
                               .reference = NAN};

        plot.y.from_zero = true;
        for (size_t o = 0; o < 2; o++) {
            const char *phases[] = {orders[o], NULL};
            struct pb_curve curve = pb_curve_read(at->page, &recording->series, paths[p], phases,
                                                  true, PB_QUANTITY_MEAN);

            pb_plot_add(&plot, series, orders[o], PB_MARK_LINE, &curve);
        }
        pb_plot_write(at->page, &plot);
    }
    return NULL;
}

const char *pb_figure_saavedra(const struct pb_figure_case *at)
{
    static const struct pb_axis_requirement axes[] = {{"array_bytes", false},
                                                      {"stride_bytes", false}};
    const struct pb_matrix *matrix = &pb_figure_recording(at, 0)->matrix;
    const char *reason = pb_figure_check(at, matrix, axes, 2);
    struct pb_heat_map map = {.title = "Average latency over array and stride",
                              .description = "Rows are array sizes, columns strides.",
                              .values = matrix->values,
                              .label = "Latency",
                              .unit = "cycle"};

    if (reason != NULL)
        return reason;
    map.rows = matrix->axes[0].length;
    map.columns = matrix->axes[1].length;
    map.y = (struct pb_plot_axis){.label = "Array",
                                  .unit = "",
                                  .name_count = map.rows,
                                  .names = pb_axis_names(at->page, &matrix->axes[0])};
    map.x = (struct pb_plot_axis){.label = "Stride",
                                  .unit = "",
                                  .name_count = map.columns,
                                  .names = pb_axis_names(at->page, &matrix->axes[1])};
    pb_heat_map_write(at->page, &map);
    return NULL;
}

const char *pb_figure_wong(const struct pb_figure_case *at)
{
    static const char *const phases[] = {"wong", NULL};
    const struct pb_recording *recording = pb_figure_recording(at, 0);
    struct pb_curve curve =
        pb_curve_read(at->page, &recording->series, NULL, phases, false, PB_QUANTITY_MEAN);
    struct pb_plot_series series = {
        .mark = PB_MARK_STEP, .count = curve.count, .x = curve.x, .y = curve.y};
    struct pb_plot plot = {.title = "Average latency over array size",
                           .description = "Mean cycles per load at a stride of one line.",
                           .x = {.label = "Array", .unit = "byte"},
                           .y = latency_axis,
                           .series = &series,
                           .series_count = 1,
                           .reference = NAN};

    pb_plot_write(at->page, &plot);
    return NULL;
}
