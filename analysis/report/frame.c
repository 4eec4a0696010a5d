/* Axes, ticks and texts; see frame.h. */
#include "analysis/report/frame.h"

#include <math.h>
#include <string.h>

enum { TICKS_MAX = 14 };

struct pb_plot_frame pb_frame_begin(struct pb_page *page, const char *title,
                                    const char *description, double width, double height,
                                    double left, double right)
{
    struct pb_plot_frame frame = {.width = width, .height = height};
    unsigned id = ++page->drawings;
    FILE *out = page->out;

    frame.x = (struct pb_frame_scale){.from = left, .to = width - right};
    frame.y = (struct pb_frame_scale){.from = height - 38.0, .to = 42.0};
    fprintf(out,
            "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"t%u\" "
            "aria-describedby=\"d%u\"><title id=\"t%u\">",
            width > 400.0 ? "wide" : "plot", width, height, id, id, id);
    pb_markup_text(out, title);
    fprintf(out, "</title><desc id=\"d%u\">", id);
    pb_markup_text(out, description);
    fputs("</desc>", out);
    if (right > 0.0)
        pb_frame_text(out, 4.0, 14.0, "pt", title);
    return frame;
}

double pb_frame_place(const struct pb_frame_scale *scale, double value)
{
    double low = scale->low, high = scale->high;

    if (scale->log) {
        value = log(fmax(value, 1e-300));
        low = log(low);
        high = log(high);
    }
    return scale->from + (value - low) / (high - low) * (scale->to - scale->from);
}

void pb_frame_text(FILE *out, double x, double y, const char *classes, const char *text)
{
    if (classes != NULL)
        fprintf(out, "<text class=\"%s\" x=\"", classes);
    else
        fputs("<text x=\"", out);
    pb_markup_coordinate(out, x);
    fputs("\" y=\"", out);
    pb_markup_coordinate(out, y);
    fputs("\">", out);
    pb_markup_text(out, text);
    fputs("</text>", out);
}

double pb_frame_text_width(const char *text)
{
    double width = 0.0;

    for (const char *at = text; at != NULL && *at != '\0'; at++)
        width += ((unsigned char)*at & 0xc0) != 0x80 ? 7.0 : 0.0;
    return width;
}

/* ---- ticks ---- */

struct ticks {
    double at[TICKS_MAX];
    size_t count;
};

static void add_tick(struct ticks *ticks, double value)
{
    if (ticks->count < TICKS_MAX)
        ticks->at[ticks->count++] = value;
}

/* The power of 1,024 that suits a range of bytes; of other units 1. */
static double unit_of(struct pb_range range, const char *unit)
{
    if (strcmp(unit, "byte") != 0 || range.high <= 2.0)
        return 1.0;
    return pow(1024.0, floor(log2(range.high / 2.0) / 10.0));
}

/* Multiples of 1, 2 or 5 times a power of ten units: about `wanted` of them. */
static void tick_evenly(struct ticks *ticks, struct pb_range range, double unit, double wanted)
{
    double step = (range.high - range.low) / unit / wanted;
    double ten = pow(10.0, floor(log10(step)));
    double factor = step / ten < 1.5 ? 1.0 : step / ten < 3.5 ? 2.0 : step / ten < 7.5 ? 5.0 : 10.0;

    step = factor * ten * unit;
    for (double n = ceil(range.low / step - 1e-9); n * step <= range.high * (1.0 + 1e-12) + 1e-300;
         n += 1.0) {
        add_tick(ticks, n * step);
        if (ticks->count == TICKS_MAX)
            break;
    }
}

/* Powers of a base, every so-manieth that at most six are left; of few decades also their 2 and 5.
 */
static void tick_powers(struct ticks *ticks, struct pb_range range, double base, double wanted)
{
    double first = ceil(log(range.low) / log(base) - 1e-9);
    double last = floor(log(range.high) / log(base) + 1e-9);
    double every = fmax(1.0, ceil((last - first + 1.0) / wanted));

    if (base == 2.0 && every > 1.0 && every < 10.0)
        every = every <= 2.0 ? 2.0 : every <= 5.0 ? 5.0 : 10.0;
    first = ceil(first / every);
    for (int i = 0; (first + i) * every <= last; i++)
        add_tick(ticks, pow(base, (first + i) * every));
}

static void tick_log(struct ticks *ticks, struct pb_range range, const char *unit, double wanted)
{
    bool is_binary = strcmp(unit, "byte") == 0 || strcmp(unit, "pages") == 0;
    double decades = log10(range.high / range.low);

    if (decades < 0.6 && !is_binary) {
        tick_evenly(ticks, range, 1.0, wanted);
    } else if (decades < 1.6 && !is_binary) {
        static const double steps[] = {1.0, 2.0, 5.0};

        for (int ten = (int)floor(log10(range.low)); ten <= log10(range.high); ten++)
            for (size_t i = 0; i < 3; i++)
                if (steps[i] * pow(10.0, ten) >= range.low &&
                    steps[i] * pow(10.0, ten) <= range.high)
                    add_tick(ticks, steps[i] * pow(10.0, ten));
    } else {
        tick_powers(ticks, range, is_binary ? 2.0 : 10.0, wanted);
    }
}

/* Ticks of these units carry them; other axes say theirs once. */
static bool is_in_ticks(const char *unit)
{
    return strcmp(unit, "byte") == 0 || strcmp(unit, "byte/s") == 0 || strcmp(unit, "ns") == 0;
}

static void format_tick(char *text, size_t size, double value, const struct pb_plot_axis *axis)
{
    if (value == 0.0)
        snprintf(text, size, "0");
    else if (is_in_ticks(axis->unit))
        pb_quantity(text, size, value, axis->unit);
    else if (fabs(value) >= 1e5)
        snprintf(text, size, "%.3g", value);
    else
        snprintf(text, size, "%.4g", value);
}

/* Room on both sides, so that no mark lies on the frame. */
static struct pb_range widen(struct pb_range range, const struct pb_plot_axis *axis)
{
    double space;

    if (axis->is_tight || range.low > range.high)
        return range;
    if (axis->names != NULL)
        return (struct pb_range){-0.5, (double)axis->name_count - 0.5};
    if (axis->logarithmic) {
        double factor = range.high > range.low ? pow(range.high / range.low, 0.03) : 1.5;

        return (struct pb_range){range.low / factor, range.high * factor};
    }
    if (axis->from_zero)
        range.low = fmin(range.low, 0.0);
    space = range.high > range.low ? 0.04 * (range.high - range.low)
                                   : fmax(0.05 * fabs(range.high), 0.5);
    return (struct pb_range){axis->from_zero && range.low == 0.0 ? 0.0 : range.low - space,
                             range.high + space};
}

static void tick_axis(struct ticks *ticks, const struct pb_plot_axis *axis, struct pb_range range,
                      double wanted)
{
    if (axis->names != NULL)
        return;
    if (range.low > range.high)
        range = (struct pb_range){range.high, range.low};
    if (axis->logarithmic)
        tick_log(ticks, range, axis->unit, wanted);
    else
        tick_evenly(ticks, range, unit_of(range, axis->unit), wanted);
}

/* The grid as one path, the texts as one group. */
static void draw_x_ticks(FILE *out, const struct pb_plot_frame *frame,
                         const struct pb_plot_axis *axis, const struct ticks *ticks)
{
    char text[48];

    if (ticks->count == 0)
        return;
    fputs("<path class=\"gr\" d=\"", out);
    for (size_t i = 0; i < ticks->count && !axis->is_tight; i++) {
        fputc('M', out);
        pb_markup_coordinate(out, pb_frame_place(&frame->x, ticks->at[i]));
        fprintf(out, " %.0fV%.0f", frame->y.from, frame->y.to);
    }
    fputs("\"/><g class=\"tk m\">", out);
    for (size_t i = 0; i < ticks->count; i++) {
        format_tick(text, sizeof(text), ticks->at[i], axis);
        pb_frame_text(out, pb_frame_place(&frame->x, ticks->at[i]), frame->y.from + 13.0, NULL,
                      text);
    }
    fputs("</g>", out);
}

static void draw_y_ticks(FILE *out, const struct pb_plot_frame *frame,
                         const struct pb_plot_axis *axis, const struct ticks *ticks)
{
    char text[48];

    if (ticks->count == 0)
        return;
    fputs("<path class=\"gr\" d=\"", out);
    for (size_t i = 0; i < ticks->count && !axis->is_tight; i++) {
        fprintf(out, "M%.0f ", frame->x.from);
        pb_markup_coordinate(out, pb_frame_place(&frame->y, ticks->at[i]));
        fputc('H', out);
        pb_markup_coordinate(out, frame->x.to);
    }
    fputs("\"/><g class=\"tk e\">", out);
    for (size_t i = 0; i < ticks->count; i++) {
        format_tick(text, sizeof(text), ticks->at[i], axis);
        pb_frame_text(out, frame->x.from - 5.0, pb_frame_place(&frame->y, ticks->at[i]) + 3.5, NULL,
                      text);
    }
    fputs("</g>", out);
}

/* Names in place of ticks; where they would touch, only every so-maniest. */
static void draw_x_names(FILE *out, const struct pb_plot_frame *frame,
                         const struct pb_plot_axis *axis)
{
    double space = fabs(frame->x.to - frame->x.from) / (double)axis->name_count, widest = 0.0;
    size_t every = 1;

    for (size_t i = 0; i < axis->name_count; i++)
        widest = fmax(widest, pb_frame_text_width(axis->names[i]) + 4.0);
    while (space * (double)every < widest)
        every++;
    fputs("<g class=\"tk m\">", out);
    for (size_t i = 0; i < axis->name_count; i += every)
        pb_frame_text(out, pb_frame_place(&frame->x, (double)i), frame->y.from + 13.0, NULL,
                      axis->names[i]);
    fputs("</g>", out);
}

static void draw_y_names(FILE *out, const struct pb_plot_frame *frame,
                         const struct pb_plot_axis *axis)
{
    double space = fabs(frame->y.to - frame->y.from) / (double)axis->name_count;
    size_t every = 1;

    while (space * (double)every < 11.0)
        every++;
    fputs("<g class=\"tk e\">", out);
    for (size_t i = 0; i < axis->name_count; i += every)
        pb_frame_text(out, frame->x.from - 6.0, pb_frame_place(&frame->y, (double)i) + 3.5, NULL,
                      axis->names[i]);
    fputs("</g>", out);
}

/* "Latency (cycles)"; a unit that the ticks carry is not said again. */
static void draw_label(FILE *out, double x, double y, const char *classes,
                       const struct pb_plot_axis *axis)
{
    char text[160];

    if (axis->unit[0] == '\0' || is_in_ticks(axis->unit))
        snprintf(text, sizeof(text), "%s", axis->label);
    else
        snprintf(text, sizeof(text), "%s (%s%s)", axis->label, axis->unit,
                 strcmp(axis->unit, "cycle") == 0 ? "s" : "");
    pb_frame_text(out, x, y, classes, text);
}

void pb_frame_axes(struct pb_page *page, struct pb_plot_frame *frame, const struct pb_plot_axis *x,
                   struct pb_range x_range, const struct pb_plot_axis *y, struct pb_range y_range)
{
    struct ticks ticks = {.count = 0};
    FILE *out = page->out;
    struct pb_range range = widen(x_range, x);

    frame->x.low = range.low;
    frame->x.high = range.high;
    tick_axis(&ticks, x, range, (frame->x.to - frame->x.from) / 84.0);
    range = widen(y_range, y);
    frame->y.low = range.low;
    frame->y.high = range.high;
    draw_x_ticks(out, frame, x, &ticks);
    ticks.count = 0;
    tick_axis(&ticks, y, range, 5.0);
    draw_y_ticks(out, frame, y, &ticks);
    fprintf(out, "<path class=\"ax\" d=\"M%.0f %.0fV%.0fH", frame->x.from, frame->y.to,
            frame->y.from);
    pb_markup_coordinate(out, frame->x.to);
    fputs("\"/>", out);
    if (x->names != NULL)
        draw_x_names(out, frame, x);
    if (y->names != NULL)
        draw_y_names(out, frame, y);
    draw_label(out, frame->x.to, frame->height - 8.0, "al e", x);
    draw_label(out, 4.0, 32.0, "al", y);
}

/* ---- tables ---- */

void pb_table_begin(FILE *table, const char *caption)
{
    fputs("<table><caption>", table);
    pb_markup_text(table, caption);
    fputs("</caption>\n<tr>", table);
}

void pb_table_number(FILE *table, double value)
{
    char text[32];

    pb_quantity_plain(text, sizeof(text), value);
    fprintf(table, "<td>%s", text);
}

void pb_table_head(FILE *table, const char *label, const char *unit)
{
    fputs("<th scope=col>", table);
    pb_markup_text(table, label);
    if (unit[0] != '\0') {
        fputs(" (", table);
        pb_markup_text(table, unit);
        fputc(')', table);
    }
}
