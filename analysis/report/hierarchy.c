/*
 * The drawn memory hierarchy: a box for each level with what was measured of it, from the SM at the
 * top down to DRAM and the links. One table says which boxes there are and what they state; the
 * heights follow from it.
 */
#include <math.h>
#include <string.h>

#include "analysis/report/figures.h"
#include "analysis/report/frame.h"

enum { ROWS_MAX = 9 };

static const double width = 960.0, margin = 12.0, gap = 10.0, line_height = 15.0;

/* A line of a box: a parameter. */
struct row {
    const char *label, *name;
};

struct box {
    const char *memory, *title;
    double share;   /* of its band's width, relative to the others' */
    size_t columns; /* of its lines */
    struct row rows[ROWS_MAX];
};

#define PATH_ROWS                                                                                  \
    {                                                                                              \
        {"size", "size_bytes"}, {"latency", "latency_cycles"}, {"line", "line_bytes"},             \
            {"sets", "set_count"}, {"ways", "way_counts"}, {"policy", "policy"},                   \
            {"cache of", "same_cache_as"},                                                         \
    }

static const struct box sm_boxes[] = {
    {"shared",
     "Shared memory",
     1.0,
     1,
     {{"latency", "latency_cycles"},
      {"banks", "banks"},
      {"bank width", "bank_bytes"},
      {"throughput", "peak_bytes_per_cycle_per_sm"}}},
    {"l1",
     "L1 data cache",
     1.0,
     1,
     {{"size", "size_bytes"},
      {"latency", "latency_cycles"},
      {"line", "line_bytes"},
      {"sector", "sector_bytes"},
      {"sets", "set_count"},
      {"ways", "way_counts"},
      {"index", "index_kind"},
      {"policy", "policy"}}},
    {"readonly", "Read-only path", 1.0, 1, PATH_ROWS},
    {"texture", "Texture path", 1.0, 1, PATH_ROWS},
    {"constant_l1",
     "Constant L1",
     1.0,
     1,
     {{"size", "size_bytes"},
      {"latency", "latency_cycles"},
      {"line", "line_bytes"},
      {"sets", "set_count"},
      {"ways", "way_counts"},
      {"policy", "policy"}}},
};

#define TLB_ROWS                                                                                   \
    {                                                                                              \
        {"entries", "entry_count"}, {"of an entry", "entry_coverage_bytes"},                       \
            {"reach", "reach_bytes"}, {"sets", "set_count"}, {"ways", "way_counts"},               \
            {"miss adds", "penalty_cycles"},                                                       \
    }

static const struct box tlb_boxes[] = {
    {"tlb_l1", "First-level TLB", 1.0, 1, TLB_ROWS},
    {"tlb_l2", "Second-level TLB", 1.0, 1, TLB_ROWS},
    {"tlb_l3", "Third-level TLB", 1.0, 1, TLB_ROWS},
    {"constant_l15",
     "Constant L1.5",
     1.0,
     1,
     {{"size", "size_bytes"},
      {"latency", "latency_cycles"},
      {"line", "line_bytes"},
      {"sets", "set_count"}}},
    {"mshr",
     "Outstanding misses",
     1.0,
     1,
     {{"per warp", "outstanding_per_warp"}, {"per SM", "outstanding_per_sm"}}},
};

static const struct box l2_boxes[] = {
    {"l2",
     "L2",
     1.7,
     2,
     {{"size", "size_bytes"},
      {"latency", "latency_cycles"},
      {"line", "line_bytes"},
      {"sector", "sector_bytes"},
      {"sets", "set_count"},
      {"ways", "way_counts"},
      {"policy", "policy"},
      {"slices", "slice_count"}}},
    {"l2_near", "Near half", 1.0, 1, {{"size", "size_bytes"}, {"latency", "latency_cycles"}}},
    {"l2_far", "Far half", 1.0, 1, {{"latency", "latency_cycles"}}},
};

static const struct box memory_boxes[] = {
    {"dram",
     "DRAM",
     1.7,
     2,
     {{"latency", "latency_cycles"},
      {"in time", "latency_ns"},
      {"copy", "peak_bytes_per_s"},
      {"read", "read_peak_bytes_per_s"},
      {"write", "write_peak_bytes_per_s"}}},
    {"host_link",
     "Host link",
     1.0,
     1,
     {{"throughput", "peak_bytes_per_s"},
      {"to device", "to_latency_ns"},
      {"from device", "from_latency_ns"}}},
    {"peer_link", "Peer link", 1.0, 1, {{"throughput", "bytes_per_s"}, {"latency", "latency_ns"}}},
};

struct band {
    const char *title; /* NULL: the boxes stand alone */
    const struct box *boxes;
    size_t count;
};

#define BAND(title, boxes)                                                                         \
    {                                                                                              \
        title, boxes, sizeof(boxes) / sizeof((boxes)[0])                                           \
    }

static const struct band bands[] = {
    BAND("SM", sm_boxes),
    BAND(NULL, tlb_boxes),
    BAND("L2", l2_boxes),
    BAND(NULL, memory_boxes),
};
enum { BANDS = sizeof(bands) / sizeof(bands[0]) };

static bool is_point(const struct pb_parameter_row *parameter)
{
    return !isfinite(parameter->number) || !isfinite(parameter->low) ||
           !isfinite(parameter->high) ||
           parameter->high - parameter->low <= 2e-3 * fabs(parameter->number);
}

/* Is there any value in the box? Else it shows one reason instead of its lines. */
static bool has_value(const struct pb_figure_case *at, const struct box *box)
{
    for (const struct row *row = box->rows; row < box->rows + ROWS_MAX && row->label != NULL;
         row++) {
        const struct pb_parameter_row *parameter =
            pb_figure_parameter(at, box->memory, (row)->name);

        if (parameter != NULL && parameter->value[0] != '\0')
            return true;
    }
    return false;
}

static const char *reason_of(const struct pb_figure_case *at, const struct box *box)
{
    for (const struct row *row = box->rows; row < box->rows + ROWS_MAX && row->label != NULL;
         row++) {
        const struct pb_parameter_row *parameter =
            pb_figure_parameter(at, box->memory, (row)->name);

        if (parameter != NULL && parameter->reason[0] != '\0')
            return parameter->reason;
    }
    return "not in this file";
}

/* How far down a parameter's line goes: one with an interval has that below it. */
static double row_height(const struct pb_figure_case *at, const struct box *box,
                         const struct row *row)
{
    const struct pb_parameter_row *parameter = pb_figure_parameter(at, box->memory, (row)->name);

    if (parameter == NULL)
        return 0.0;
    return parameter->value[0] == '\0' || is_point(parameter) ? line_height : line_height + 12.0;
}

/* Rows from the first of which the next column begins. */
static size_t rows_of_column(const struct box *box)
{
    size_t count = 0;

    while (count < ROWS_MAX && box->rows[count].label != NULL)
        count++;
    return (count + box->columns - 1) / box->columns;
}

static double height_of(const struct pb_figure_case *at, const struct box *box)
{
    double height = 0.0, column = 0.0;

    if (!has_value(at, box))
        return 30.0 + 6.0 * line_height;
    for (size_t i = 0; i < ROWS_MAX && box->rows[i].label != NULL; i++) {
        column = i % rows_of_column(box) == 0 ? 0.0 : column;
        column += row_height(at, box, &box->rows[i]);
        height = fmax(height, column);
    }
    return 30.0 + height;
}

/* Of a list with a unit, a number for each peer or side, the range. */
static void format_range(const struct pb_figure_case *at, const struct pb_parameter_row *parameter,
                         char *text, size_t size)
{
    double low = INFINITY, high = -INFINITY, *numbers = NULL;
    size_t count = pb_figure_list(at, parameter->memory, parameter->parameter, &numbers);
    char least[32], largest[32];

    for (size_t i = 0; i < count; i++) {
        low = fmin(low, numbers[i]);
        high = fmax(high, numbers[i]);
    }
    pb_quantity(least, sizeof(least), low, parameter->unit);
    pb_quantity(largest, sizeof(largest), high, parameter->unit);
    if (strcmp(least, largest) == 0)
        snprintf(text, size, "%s", least);
    else
        snprintf(text, size, "%s to %s", least, largest);
}

/* The value as people read it; lists and words are cut to fit. */
static void format_value(const struct pb_figure_case *at, const struct pb_parameter_row *parameter,
                         char *text, size_t size, size_t space)
{
    if (parameter->value[0] == '\0')
        snprintf(text, size, "undetermined");
    else if (isfinite(parameter->number))
        pb_quantity(text, size, parameter->number, parameter->unit);
    else if (parameter->value[0] == '[' &&
             (parameter->unit[0] != '\0' || strchr(parameter->value, ',') == NULL))
        format_range(at, parameter, text, size);
    else
        snprintf(text, size, "%.*s%s", (int)space, parameter->value,
                 strlen(parameter->value) > space ? "…" : "");
}

static void draw_rect(FILE *out, const char *class, double x, double y, double w, double h)
{
    fprintf(out,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/>",
            class, x, y, w, h);
}

/* Words of a reason, folded into the box; at most five lines. */
static void draw_folded(FILE *out, double x, double y, double space, const char *text)
{
    enum { LINES = 5 };
    size_t columns = (size_t)(space / 6.4);
    char line[160];

    for (size_t n = 0; n < LINES && *text != '\0'; n++, y += 13.0) {
        size_t length = strlen(text);
        bool is_last = n + 1 == LINES && length > columns;

        if (length > columns) {
            length = columns;
            while (length > 0 && text[length] != ' ')
                length--;
            length = length == 0 ? columns : length;
        }
        snprintf(line, sizeof(line), "%.*s%s", (int)length, text, is_last ? " …" : "");
        pb_frame_text(out, x, y, "hu", line);
        text += length;
        text += strspn(text, " ");
    }
}

static void draw_row(const struct pb_figure_case *at, const struct box *box, const struct row *row,
                     double x, double *y, double w)
{
    const struct pb_parameter_row *parameter = pb_figure_parameter(at, box->memory, (row)->name);
    FILE *out = at->page->out;
    bool is_latency;
    char text[PB_MESSAGE_LENGTH];

    if (parameter == NULL)
        return;
    is_latency = strncmp(parameter->parameter, "latency", 7) == 0;
    format_value(at, parameter, text, sizeof(text), (size_t)((w - 90.0) / 6.2));
    *y += line_height;
    pb_frame_text(out, x + 10.0, *y, "hl", row->label);
    pb_frame_text(out, x + w - 10.0, *y,
                  parameter->value[0] == '\0' ? "hu e"
                  : is_latency                ? "hv hk e"
                                              : "hv e",
                  text);
    if (parameter->value[0] == '\0' || is_point(parameter))
        return;
    pb_quantity_interval(text, sizeof(text), parameter->low, parameter->high, parameter->unit);
    *y += 12.0;
    pb_frame_text(out, x + w - 10.0, *y, "hi e", text);
}

static void draw_rows(const struct pb_figure_case *at, const struct box *box, double x, double top,
                      double w)
{
    double y = top;

    w /= (double)box->columns;
    for (size_t i = 0; i < ROWS_MAX && box->rows[i].label != NULL; i++) {
        if (i > 0 && i % rows_of_column(box) == 0) {
            x += w;
            y = top;
        }
        draw_row(at, box, &box->rows[i], x, &y, w);
    }
}

static void draw_box(const struct pb_figure_case *at, const struct box *box, double x, double y,
                     double w, double h)
{
    FILE *out = at->page->out;
    bool is_known = has_value(at, box);

    draw_rect(out, is_known ? "hb" : "hb un", x, y, w, h);
    pb_frame_text(out, x + 10.0, y + 18.0, "ht", box->title);
    if (is_known) {
        draw_rows(at, box, x, y + 22.0, w);
        return;
    }
    pb_frame_text(out, x + 10.0, y + 36.0, "hv", "undetermined");
    draw_folded(out, x + 10.0, y + 51.0, w - 20.0, reason_of(at, box));
}

/* ---- the store that L1 and shared memory divide ---- */

/* A bar for each carve-out: what L1 keeps, and what is set aside, on one scale. */
static double draw_carveouts(const struct pb_figure_case *at, double y)
{
    double *set_aside, *kept, largest = 0.0, space = width - 2.0 * margin - 250.0;
    size_t count = pb_figure_list(at, "l1", "carveout_bytes", &set_aside);
    size_t known = pb_figure_list(at, "l1", "carveout_size_bytes", &kept);
    FILE *out = at->page->out;
    char first[32], second[32], text[96];

    count = count < known ? count : known;
    for (size_t i = 0; i < count; i++)
        if (isfinite(kept[i]) && isfinite(set_aside[i]))
            largest = fmax(largest, kept[i] + set_aside[i]);
    if (count < 2 || largest <= 0.0)
        return y;
    pb_frame_text(out, 2.0 * margin, y + 12.0, "ht", "L1 beside the shared-memory carve-out");
    pb_frame_text(out, width - 2.0 * margin, y + 12.0, "hl e", "■ L1   □ set aside");
    y += 20.0;
    for (size_t i = 0; i < count; i++) {
        double scale = space / largest;

        if (!isfinite(kept[i]) || !isfinite(set_aside[i]))
            continue;
        draw_rect(out, "cv", 2.0 * margin, y, fmax(1.0, kept[i] * scale), 9.0);
        draw_rect(out, "cs", 2.0 * margin + kept[i] * scale, y, fmax(1.0, set_aside[i] * scale),
                  9.0);
        pb_quantity(first, sizeof(first), kept[i], "byte");
        pb_quantity(second, sizeof(second), set_aside[i], "byte");
        snprintf(text, sizeof(text), "%s beside %s", first, second);
        pb_frame_text(out, 2.0 * margin + largest * scale + 10.0, y + 8.5, "hi", text);
        y += 13.0;
    }
    return y + 6.0;
}

/* ---- bands, and what leads from one to the next ---- */

static void describe_sm(const struct pb_figure_case *at, char *text, size_t size)
{
    double clock = pb_figure_number(at, "clock", "sm_mhz");
    int length = snprintf(text, size, "SM");

    if (at->info->sm_count > 0)
        length = snprintf(text, size, "One of %u SMs", at->info->sm_count);
    if (isfinite(clock) && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " · measured clock %.0f MHz", clock);
}

static void add_quantity(const struct pb_figure_case *at, char *text, size_t size,
                         const char *words, const char *memory, const char *name)
{
    const struct pb_parameter_row *parameter = pb_figure_parameter(at, memory, name);
    size_t length = strlen(text);
    char value[64];

    if (parameter == NULL || !isfinite(parameter->number) || length >= size)
        return;
    pb_quantity(value, sizeof(value), parameter->number, parameter->unit);
    snprintf(text + length, size - length, "%s%s %s", length == 0 ? "" : " · ", words, value);
}

/* What a load takes that goes on from this band. */
static void describe_way(const struct pb_figure_case *at, size_t band, char *text, size_t size)
{
    text[0] = '\0';
    if (band == 0) {
        add_quantity(at, text, size, "L1 miss, answered by L2", "l1", "miss_latency_cycles");
        add_quantity(at, text, size, "constant L1 miss", "constant_l1", "miss_latency_cycles");
    } else if (band == 1) {
        add_quantity(at, text, size, "first-level TLB miss adds", "tlb_l1", "penalty_cycles");
        add_quantity(at, text, size, "second-level", "tlb_l2", "penalty_cycles");
    } else {
        add_quantity(at, text, size, "L2 miss, answered by DRAM", "dram", "latency_cycles");
        add_quantity(at, text, size, "DRAM read", "dram", "read_peak_bytes_per_s");
        add_quantity(at, text, size, "write", "dram", "write_peak_bytes_per_s");
    }
}

static double draw_way(const struct pb_figure_case *at, size_t band, double y)
{
    FILE *out = at->page->out;
    char text[256];

    describe_way(at, band, text, sizeof(text));
    fprintf(out, "<path class=\"hw\" d=\"M%.0f %.0fv20m-5 -6l5 6l5 -6\"/>", 4.0 * margin, y + 3.0);
    pb_frame_text(out, 4.0 * margin + 14.0, y + 17.0, "hl", text);
    return y + 28.0;
}

static double draw_band(const struct pb_figure_case *at, const struct band *band, double y)
{
    double inner = band->title != NULL ? margin : 0.0, height = 0.0, sum = 0.0;
    double space = width - 2.0 * margin - 2.0 * inner - gap * (double)(band->count - 1);
    double x = margin + inner;

    for (size_t i = 0; i < band->count; i++) {
        height = fmax(height, height_of(at, &band->boxes[i]));
        sum += band->boxes[i].share;
    }
    for (size_t i = 0; i < band->count; i++) {
        double w = space * band->boxes[i].share / sum;

        draw_box(at, &band->boxes[i], x, y, w, height);
        x += w + gap;
    }
    return y + height;
}

static const char *band_title(const struct pb_figure_case *at, const struct band *band)
{
    const struct pb_parameter_row *sides = pb_figure_parameter(at, "l2", "partition_sm_counts");
    char text[128];

    if (strcmp(band->title, "SM") == 0) {
        describe_sm(at, text, sizeof(text));
        return pb_page_text(at->page, "%s", text);
    }
    if (sides == NULL || sides->value[0] == '\0')
        return "L2 cache";
    return pb_page_text(at->page, "L2 cache · SMs on its sides: %.60s", sides->value);
}

/* Top to bottom; a container is an outline around its boxes. Returns the height. */
static double draw_all(const struct pb_figure_case *at)
{
    double y = margin;

    for (size_t i = 0; i < BANDS; i++) {
        double top = y;

        if (bands[i].title != NULL)
            y += 26.0;
        y = draw_band(at, &bands[i], y);
        if (i == 0)
            y = draw_carveouts(at, y + 8.0);
        if (bands[i].title != NULL) {
            y += margin;
            draw_rect(at->page->out, "hc", margin, top, width - 2.0 * margin, y - top);
            pb_frame_text(at->page->out, 2.0 * margin, top + 17.0, "ht", band_title(at, &bands[i]));
        }
        if (i + 1 < BANDS)
            y = draw_way(at, i, y);
    }
    return y + margin;
}

/* ---- all parameters as a table ---- */

static void write_table(const struct pb_figure_case *at)
{
    const struct pb_report_device *device = &at->report->devices[at->device];
    FILE *table = at->page->table;

    pb_table_begin(table, "All parameters");
    fputs("<th scope=col>Memory<th scope=col>Parameter<th scope=col>Value<th scope=col>Unit<th "
          "scope=col>Low<th scope=col>High<th scope=col>Confidence<th scope=col>Why undetermined",
          table);
    for (size_t i = 0; i < device->parameter_count; i++) {
        const struct pb_parameter_row *parameter = &device->parameters[i];

        fputs("\n<tr><td>", table);
        pb_markup_text(table, parameter->memory);
        fputs("<td>", table);
        pb_markup_text(table, parameter->parameter);
        fputs("<td>", table);
        pb_markup_text(table, parameter->value[0] == '\0' ? "undetermined" : parameter->value);
        fputs("<td>", table);
        pb_markup_text(table, parameter->unit);
        if (parameter->value[0] == '\0') {
            fputs("<td><td><td><td>", table);
            pb_markup_text(table, parameter->reason);
            continue;
        }
        pb_table_number(table, parameter->low);
        pb_table_number(table, parameter->high);
        fprintf(table, "<td>%.3f<td>", parameter->confidence);
    }
    fputs("</table>\n", table);
}

const char *pb_figure_hierarchy(const struct pb_figure_case *at)
{
    struct pb_page *page = at->page;
    FILE *out = page->out;
    struct pb_buffer drawing;
    double height;

    if (at->report->devices[at->device].parameter_count == 0)
        return "the file has no parameters of this device";
    if (!pb_buffer_open(page, &drawing))
        return "out of memory";
    page->out = drawing.file;
    height = draw_all(at);
    page->out = out;
    pb_frame_begin(page, "Memory hierarchy as measured",
                   "From the top: the caches of an SM, the TLBs, L2 and its halves, DRAM and the "
                   "links, each with measured values and intervals. The table has them all.",
                   width, height, 0.0, 0.0);
    pb_buffer_close(page, &drawing, out);
    fputs("</svg>\n", out);
    write_table(at);
    return NULL;
}
