/* Curves, dots, bars and intervals over two axes; see plot.h. */
#include "analysis/report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/frame.h"

enum { COLOURS = 6 };

/* What of a series is drawn: a finite place on both axes, above zero where the axis requests it. */
static bool is_drawn(const struct pb_plot *plot, const struct pb_plot_series *series, size_t i)
{
    double x = series->x[i], y = series->y[i];

    return isfinite(x) && isfinite(y) && !(plot->x.logarithmic && x <= 0.0) &&
           !(plot->y.logarithmic && y <= 0.0);
}

/* Is the interval along x? It is along the axis that has numbers, else along y. */
static bool is_across(const struct pb_plot *plot)
{
    return plot->y.names != NULL;
}

static void extend(struct pb_range *range, double value, bool logarithmic)
{
    if (!isfinite(value) || (logarithmic && value <= 0.0))
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

/* What the series span on both axes; false: there is nothing to draw. */
static bool measure(const struct pb_plot *plot, struct pb_range *x_out, struct pb_range *y_out)
{
    struct pb_range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};

    for (size_t s = 0; s < plot->series_count; s++) {
        const struct pb_plot_series *series = &plot->series[s];
        struct pb_range *along = is_across(plot) ? &x : &y;
        bool logarithmic = is_across(plot) ? plot->x.logarithmic : plot->y.logarithmic;

        for (size_t i = 0; i < series->count; i++) {
            if (!is_drawn(plot, series, i))
                continue;
            extend(&x, series->x[i], plot->x.logarithmic);
            extend(&y, series->y[i], plot->y.logarithmic);
            if (series->low != NULL && series->high != NULL) {
                extend(along, series->low[i], logarithmic);
                extend(along, series->high[i], logarithmic);
            }
        }
    }
    if (plot->reference_label != NULL && plot->reference_is_y)
        extend(&y, plot->reference, plot->y.logarithmic);
    else if (plot->reference_label != NULL)
        extend(&x, plot->reference, plot->x.logarithmic);
    *x_out = x;
    *y_out = y;
    return x.low <= x.high && y.low <= y.high;
}

/* ---- marks ---- */

struct drawing {
    struct pb_page *page;
    const struct pb_plot *plot;
    struct pb_plot_frame frame;
};

static void move_to(FILE *out, char verb, double x, double y)
{
    fputc(verb, out);
    pb_markup_coordinate(out, x);
    fputc(' ', out);
    pb_markup_coordinate(out, y);
}

static double at_x(const struct drawing *at, double x)
{
    return pb_frame_place(&at->frame.x, x);
}

static double at_y(const struct drawing *at, double y)
{
    return pb_frame_place(&at->frame.y, y);
}

/*
 * A path of relative moves, in tenths: half the bytes of one by places. It cannot drift, since each
 * move begins at the rounded place where the last one ended.
 */
struct pen {
    FILE *out;
    long x, y; /* tenths */
    char last; /* command; those of 'm' and 'l' need not be repeated */
};

/* ".4", "-12", "3.5"; `is_second`: a sign separates it from the number before. */
static void write_tenths(FILE *out, long tenths, bool is_second)
{
    long whole = labs(tenths) / 10, part = labs(tenths) % 10;

    if (tenths < 0)
        fputc('-', out);
    else if (is_second)
        fputc(' ', out);
    if (whole != 0 || part == 0)
        fprintf(out, "%ld", whole);
    if (part != 0)
        fprintf(out, ".%ld", part);
}

static void pen_to(struct pen *pen, char command, double x, double y)
{
    long to_x = isfinite(x) ? lround(x * 10.0) : 0, to_y = isfinite(y) ? lround(y * 10.0) : 0;

    if (command != pen->last)
        fputc(command, pen->out);
    write_tenths(pen->out, to_x - pen->x, command == pen->last);
    write_tenths(pen->out, to_y - pen->y, true);
    *pen = (struct pen){pen->out, to_x, to_y, command};
}

static void pen_along(struct pen *pen, char command, long *from, double to)
{
    long tenths = isfinite(to) ? lround(to * 10.0) : 0;

    fputc(command, pen->out);
    write_tenths(pen->out, tenths - *from, false);
    *from = tenths;
    pen->last = command;
}

static void draw_line(const struct drawing *at, const struct pb_plot_series *series,
                      const char *class)
{
    struct pen pen = {.out = at->page->out};
    bool is_open = false;

    fprintf(pen.out, "<path class=\"ln %s\" d=\"", class);
    for (size_t i = 0; i < series->count; i++) {
        double x, y;

        if (!is_drawn(at->plot, series, i)) {
            is_open = false;
            continue;
        }
        x = at_x(at, series->x[i]);
        y = at_y(at, series->y[i]);
        if (!is_open) {
            pen.last = '\0'; /* a second pair behind 'm' would be a line */
            pen_to(&pen, 'm', x, y);
        } else if (series->mark == PB_MARK_STEP) {
            pen_along(&pen, 'h', &pen.x, x);
            pen_along(&pen, 'v', &pen.y, y);
        } else {
            pen_to(&pen, 'l', x, y);
        }
        is_open = true;
    }
    fputs("\"/>", pen.out);
}

/* Round caps make a dot of a line without length. */
static void draw_dots(const struct drawing *at, const struct pb_plot_series *series,
                      const char *class)
{
    struct pen pen = {.out = at->page->out};

    fprintf(pen.out, "<path class=\"dt %s\" d=\"", class);
    for (size_t i = 0; i < series->count; i++) {
        if (!is_drawn(at->plot, series, i))
            continue;
        pen_to(&pen, 'm', at_x(at, series->x[i]), at_y(at, series->y[i]));
        fputs("h0", pen.out);
        pen.last = 'h';
    }
    fputs("\"/>", pen.out);
}

/* Half the least distance of two neighbours, in the drawing's units. */
static double half_width(const struct drawing *at, const struct pb_plot_series *series)
{
    double least = 48.0;

    for (size_t i = 1; i < series->count; i++)
        if (series->x[i] != series->x[i - 1])
            least = fmin(least, fabs(at_x(at, series->x[i]) - at_x(at, series->x[i - 1])));
    return fmax(0.5, 0.36 * least);
}

static void draw_bars(const struct drawing *at, const struct pb_plot_series *series,
                      const char *class)
{
    FILE *out = at->page->out;
    double half = half_width(at, series);

    fprintf(out, "<path class=\"br %s\" d=\"", class);
    for (size_t i = 0; i < series->count; i++) {
        double x = at_x(at, series->x[i]);

        if (!is_drawn(at->plot, series, i))
            continue;
        move_to(out, 'M', x - half, at->frame.y.from);
        fputc('V', out);
        pb_markup_coordinate(out, at_y(at, series->y[i]));
        fputc('H', out);
        pb_markup_coordinate(out, x + half);
        fputc('V', out);
        pb_markup_coordinate(out, at->frame.y.from);
        fputc('z', out);
    }
    fputs("\"/>", out);
}

static void draw_intervals(const struct drawing *at, const struct pb_plot_series *series,
                           const char *class)
{
    FILE *out = at->page->out;

    fprintf(out, "<path class=\"iv %s\" d=\"", class);
    for (size_t i = 0; i < series->count; i++) {
        if (!is_drawn(at->plot, series, i) || !isfinite(series->low[i]) ||
            !isfinite(series->high[i]))
            continue;
        if (is_across(at->plot)) {
            move_to(out, 'M', at_x(at, series->low[i]), at_y(at, series->y[i]));
            fputc('H', out);
            pb_markup_coordinate(out, at_x(at, series->high[i]));
        } else {
            move_to(out, 'M', at_x(at, series->x[i]), at_y(at, series->low[i]));
            fputc('V', out);
            pb_markup_coordinate(out, at_y(at, series->high[i]));
        }
    }
    fputs("\"/>", out);
}

static void draw_series(const struct drawing *at, const struct pb_plot_series *series,
                        const char *class)
{
    if (series->low != NULL && series->high != NULL)
        draw_intervals(at, series, class);
    switch (series->mark) {
    case PB_MARK_LINE:
    case PB_MARK_STEP:
        draw_line(at, series, class);
        break;
    case PB_MARK_DOTS:
        draw_dots(at, series, class);
        break;
    case PB_MARK_BARS:
        draw_bars(at, series, class);
        break;
    }
}

static void draw_reference(const struct drawing *at)
{
    const struct pb_plot *plot = at->plot;
    const struct pb_plot_frame *frame = &at->frame;
    FILE *out = at->page->out;
    double x, y;

    if (!isfinite(plot->reference) || plot->reference_label == NULL)
        return;
    x = plot->reference_is_y ? frame->x.from : at_x(at, plot->reference);
    y = plot->reference_is_y ? at_y(at, plot->reference) : frame->y.to;
    fputs("<path class=\"rf\" d=\"", out);
    move_to(out, 'M', x, y);
    fputc(plot->reference_is_y ? 'H' : 'V', out);
    pb_markup_coordinate(out, plot->reference_is_y ? frame->x.to : frame->y.from);
    fputs("\"/>", out);
    if (plot->reference_is_y)
        pb_frame_text(out, x + 4.0, y - 4.0, "rt", plot->reference_label);
    else if (x > (frame->x.from + frame->x.to) / 2.0)
        pb_frame_text(out, x - 4.0, y + 10.0, "rt e", plot->reference_label);
    else
        pb_frame_text(out, x + 4.0, y + 10.0, "rt", plot->reference_label);
}

/* ---- labels at the ends of curves ---- */

struct end_label {
    const char *text;
    double y;
    size_t colour;
};

/* Moves labels apart that would lie on each other: they stay in their order. */
static void spread(struct end_label *labels, size_t count, double least, double most)
{
    const double step = 12.0;

    for (size_t i = 1; i < count; i++) /* by height; there are few */
        for (size_t k = i; k > 0 && labels[k].y < labels[k - 1].y; k--) {
            struct end_label other = labels[k];

            labels[k] = labels[k - 1];
            labels[k - 1] = other;
        }
    for (size_t i = 0; i < count; i++)
        labels[i].y = fmax(labels[i].y, i == 0 ? least : labels[i - 1].y + step);
    for (size_t i = count; i-- > 0;)
        labels[i].y = fmin(labels[i].y, i + 1 == count ? most : labels[i + 1].y - step);
}

/* Where all curves end at one height: each name at another height, where its curve passes. */
static void draw_labels_along(const struct drawing *at)
{
    char class[16];

    for (size_t s = 0; s < at->plot->series_count; s++) {
        const struct pb_plot_series *series = &at->plot->series[s];
        size_t i = (size_t)((0.85 - 0.14 * (double)(s % 6)) * (double)series->count);
        bool is_left; /* no room on the right */
        double x;

        if (series->name == NULL || i >= series->count || !is_drawn(at->plot, series, i))
            continue;
        x = at_x(at, series->x[i]);
        is_left = x + 6.0 + pb_frame_text_width(series->name) > at->frame.width;
        snprintf(class, sizeof(class), "lb t%zu%s", s % COLOURS, is_left ? " e" : "");
        pb_frame_text(at->page->out, is_left ? x - 6.0 : x + 6.0, at_y(at, series->y[i]) + 3.5,
                      class, series->name);
    }
}

/* A bar that is not there says so. */
static void draw_gaps(const struct drawing *at)
{
    for (size_t s = 0; s < at->plot->series_count; s++) {
        const struct pb_plot_series *series = &at->plot->series[s];

        for (size_t i = 0; series->mark == PB_MARK_BARS && i < series->count; i++)
            if (isnan(series->y[i]))
                fprintf(at->page->out,
                        "<text class=\"hu\" transform=\"translate(%.1f %.1f) rotate(-90)\">"
                        "undetermined</text>",
                        at_x(at, series->x[i]) + 3.5, at->frame.y.from - 4.0);
    }
}

static void draw_end_labels(const struct drawing *at)
{
    const struct pb_plot *plot = at->plot;
    struct end_label labels[PB_PLOT_SERIES_MAX];
    size_t count = 0;
    char class[16];

    for (size_t s = 0; s < plot->series_count; s++) {
        const struct pb_plot_series *series = &plot->series[s];
        size_t last = series->count;

        while (last > 0 && !is_drawn(plot, series, last - 1))
            last--;
        if (last > 0 && series->name != NULL)
            labels[count++] = (struct end_label){series->name, at_y(at, series->y[last - 1]) + 3.5,
                                                 series->is_background ? COLOURS : s % COLOURS};
    }
    if (is_across(plot)) /* rows are named; their series stand below each other, beside them */
        for (size_t i = 0; i < count; i++)
            labels[i].y = at->frame.y.to + 8.0;
    spread(labels, count, at->frame.y.to + 6.0, at->frame.y.from);
    for (size_t i = 0; i < count; i++) {
        snprintf(class, sizeof(class), "lb t%zu", labels[i].colour);
        pb_frame_text(at->page->out, at->frame.x.to + 6.0, labels[i].y, class, labels[i].text);
    }
}

/* ---- the data as a table ---- */

static void write_place(FILE *table, const struct pb_plot_axis *axis, double value)
{
    size_t place = value >= 0.0 ? (size_t)value : 0;

    if (axis->names == NULL || place >= axis->name_count) {
        pb_table_number(table, value);
        return;
    }
    fputs("<td>", table);
    pb_markup_text(table, axis->names[place]);
}

/* Do all series have the same places on the x axis, so that each can be a column? */
static bool have_one_x(const struct pb_plot *plot)
{
    const struct pb_plot_series *first = plot->series;

    for (size_t s = 0; s < plot->series_count; s++) {
        const struct pb_plot_series *series = &plot->series[s];

        if (series->name == NULL || series->low != NULL || series->count != first->count ||
            (series->x != first->x &&
             memcmp(series->x, first->x, first->count * sizeof(*first->x)) != 0))
            return false;
    }
    return plot->series_count > 1 && plot->y.names == NULL;
}

/* A row for each place, a column for each series. */
static void write_columns(FILE *table, const struct pb_plot *plot)
{
    pb_table_begin(table, plot->title);
    pb_table_head(table, plot->x.label, plot->x.unit);
    for (size_t s = 0; s < plot->series_count; s++)
        pb_table_head(table, plot->series[s].name, plot->y.unit);
    for (size_t i = 0; i < plot->series[0].count; i++) {
        fputs("\n<tr>", table);
        write_place(table, &plot->x, plot->series[0].x[i]);
        for (size_t s = 0; s < plot->series_count; s++)
            pb_table_number(table, plot->series[s].y[i]);
    }
    fputs("</table>\n", table);
}

static void write_table(const struct pb_page *page, const struct pb_plot *plot)
{
    FILE *table = page->table;
    bool is_named = plot->series_count > 1, has_interval = false;

    if (have_one_x(plot)) {
        write_columns(table, plot);
        return;
    }
    for (size_t s = 0; s < plot->series_count; s++)
        has_interval = has_interval || plot->series[s].low != NULL;
    pb_table_begin(table, plot->title);
    pb_table_head(table, plot->x.label, plot->x.unit);
    pb_table_head(table, plot->y.label, plot->y.unit);
    if (has_interval)
        fputs("<th scope=col>low<th scope=col>high", table);
    for (size_t s = 0; s < plot->series_count; s++) {
        const struct pb_plot_series *series = &plot->series[s];

        if (is_named) {
            fprintf(table, "\n<tr><th scope=rowgroup colspan=%d>", has_interval ? 4 : 2);
            pb_markup_text(table, series->name == NULL ? "peer" : series->name);
        }
        for (size_t i = 0; i < series->count; i++) {
            fputs("\n<tr>", table);
            write_place(table, &plot->x, series->x[i]);
            write_place(table, &plot->y, series->y[i]);
            if (has_interval) {
                pb_table_number(table, series->low == NULL ? NAN : series->low[i]);
                pb_table_number(table, series->high == NULL ? NAN : series->high[i]);
            }
        }
    }
    fputs("</table>\n", table);
}

/* Pixels beside the axes for the longest name of a row or of a series. */
static double longest(const char *const *names, size_t count)
{
    double width = 0.0;

    for (size_t i = 0; i < count; i++)
        width = fmax(width, pb_frame_text_width(names[i]));
    return width;
}

static double label_width(const struct pb_plot *plot)
{
    const char *names[PB_PLOT_SERIES_MAX];
    size_t count = 0;

    for (size_t s = 0; s < plot->series_count; s++)
        if (plot->series[s].name != NULL)
            names[count++] = plot->series[s].name;
    return longest(names, count);
}

void pb_plot_write(struct pb_page *page, const struct pb_plot *plot)
{
    struct drawing at = {.page = page, .plot = plot};
    struct pb_range x, y;
    double left = 58.0, right = plot->labels_along ? 0.0 : label_width(plot),
           rows = (double)plot->y.name_count;
    double height = plot->y.names != NULL ? 92.0 + 20.0 * rows : 236.0;
    char class[8];

    if (page->status != PB_OK || !measure(plot, &x, &y))
        return;
    if (plot->y.names != NULL) {
        left = 12.0 + longest(plot->y.names, plot->y.name_count);
        y = (struct pb_range){rows - 0.5, -0.5}; /* the first row on top */
    }
    at.frame = pb_frame_begin(page, plot->title, plot->description, plot->is_wide ? 960.0 : 360.0,
                              height, left, right == 0.0 ? 14.0 : right + 10.0);
    at.frame.x.log = plot->x.logarithmic;
    at.frame.y.log = plot->y.logarithmic;
    pb_frame_axes(page, &at.frame, &plot->x, x, &plot->y, y);
    draw_reference(&at);
    for (int background = 1; background >= 0; background--)
        for (size_t s = 0; s < plot->series_count; s++) {
            bool is_background = plot->series[s].is_background;

            snprintf(class, sizeof(class), "c%zu", is_background ? COLOURS : s % COLOURS);
            if (is_background == (background == 1))
                draw_series(&at, &plot->series[s], class);
        }
    draw_gaps(&at);
    if (plot->labels_along)
        draw_labels_along(&at);
    else
        draw_end_labels(&at);
    fputs("</svg>\n", page->out);
    write_table(page, plot);
}

size_t pb_curve_thin(double *x, double *y, size_t count)
{
    size_t runs = PB_CURVE_POINTS / 2 - 1, kept = 0, end = 1;

    if (count <= PB_CURVE_POINTS)
        return count;
    kept = 1; /* the first stays where it is */
    for (size_t run = 0; run < runs; run++) {
        size_t first = end, least = first, most = first;

        end = 1 + (run + 1) * (count - 2) / runs;
        for (size_t i = first; i < end; i++) {
            least = y[i] < y[least] ? i : least;
            most = y[i] > y[most] ? i : most;
        }
        for (int second = 0; second < (least == most ? 1 : 2); second++) {
            size_t from = (second == 0) == (least < most) ? least : most;

            x[kept] = x[from];
            y[kept++] = y[from];
        }
    }
    x[kept] = x[count - 1];
    y[kept++] = y[count - 1];
    return kept;
}
