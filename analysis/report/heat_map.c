/*
 * Heat maps: values as the pixels of a small indexed PNG inside the SVG, so that a map of 132 SMs
 * and as many lines takes kilobytes; see plot.h. The ramp goes from light to dark, so that it reads
 * without hue, too.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analysis/report/frame.h"
#include "analysis/statistics/sort.h"

enum {
    LEVELS = 15,          /* colours; 0 is "not measured", which is transparent */
    TABLE_CELLS_MAX = 640 /* values in the table; of a larger map each row's quartiles */
};

struct colour {
    unsigned char red, green, blue;
};

static struct colour colour_of(size_t level)
{
    static const struct colour stops[] = {{0xf6, 0xf2, 0xd7},
                                          {0xb5, 0xdc, 0xb9},
                                          {0x54, 0xae, 0xb5},
                                          {0x2a, 0x6c, 0xa3},
                                          {0x23, 0x2a, 0x5c}};
    double at = (double)(level - 1) / (LEVELS - 1) * 4.0;
    size_t stop = at >= 4.0 ? 3 : (size_t)at;
    double part = at - (double)stop;
    const struct colour *a = &stops[stop], *b = &stops[stop + 1];

    return (struct colour){(unsigned char)(a->red + part * (b->red - a->red)),
                           (unsigned char)(a->green + part * (b->green - a->green)),
                           (unsigned char)(a->blue + part * (b->blue - a->blue))};
}

static struct pb_range range_of(const struct pb_heat_map *map)
{
    struct pb_range range = {INFINITY, -INFINITY};

    if (map->low < map->high)
        return (struct pb_range){map->low, map->high};
    for (size_t i = 0; i < map->rows * map->columns; i++)
        if (isfinite(map->values[i])) {
            range.low = fmin(range.low, map->values[i]);
            range.high = fmax(range.high, map->values[i]);
        }
    return range;
}

static size_t level_of(struct pb_range range, double value)
{
    double share;

    if (!isfinite(value))
        return 0;
    if (range.high <= range.low)
        return 1 + LEVELS / 2;
    share = fmax(0.0, (value - range.low) / (range.high - range.low));
    return 1 + (size_t)fmin(floor(share * LEVELS), LEVELS - 1);
}

/* ---- PNG (ISO/IEC 15948), as base64 ---- */

static void put_32(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

static size_t put_chunk(unsigned char *to, const char *type, const unsigned char *data, size_t size)
{
    put_32(to, (uint32_t)size);
    memcpy(to + 4, type, 4);
    if (size > 0)
        memcpy(to + 8, data, size);
    put_32(to + 8 + size, (uint32_t)crc32(crc32(0L, Z_NULL, 0), to + 4, (uInt)(size + 4)));
    return size + 12;
}

static void write_base64(FILE *out, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;

        three |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= i + 2 < size ? bytes[i + 2] : 0;
        fputc(digits[three >> 18], out);
        fputc(digits[three >> 12 & 63], out);
        fputc(i + 1 < size ? digits[three >> 6 & 63] : '=', out);
        fputc(i + 2 < size ? digits[three & 63] : '=', out);
    }
}

static size_t put_header(unsigned char *to, const struct pb_heat_map *map)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char transparent[1] = {0};
    unsigned char header[13] = {0}, palette[3 * (LEVELS + 1)] = {0};
    size_t size = sizeof(signature);

    memcpy(to, signature, sizeof(signature));
    put_32(header, (uint32_t)map->columns);
    put_32(header + 4, (uint32_t)map->rows);
    header[8] = 8; /* bits of an index */
    header[9] = 3; /* indexed */
    for (size_t level = 1; level <= LEVELS; level++) {
        struct colour colour = colour_of(level);

        palette[3 * level] = colour.red;
        palette[3 * level + 1] = colour.green;
        palette[3 * level + 2] = colour.blue;
    }
    size += put_chunk(to + size, "IHDR", header, sizeof(header));
    size += put_chunk(to + size, "PLTE", palette, sizeof(palette));
    size += put_chunk(to + size, "tRNS", transparent, sizeof(transparent));
    return size;
}

static void write_png(struct pb_page *page, const struct pb_heat_map *map, struct pb_range range)
{
    enum { HEADER_MAX = 512 };
    size_t raw_size = map->rows * (map->columns + 1), size;
    uLongf packed_size = compressBound((uLong)raw_size);
    unsigned char *raw = calloc(raw_size + 1, 1), *packed = malloc(packed_size);
    unsigned char *png = malloc(packed_size + HEADER_MAX);

    if (raw == NULL || packed == NULL || png == NULL) {
        pb_page_fail(page);
    } else {
        for (size_t i = 0; i < map->rows * map->columns; i++) /* each row begins with filter 0 */
            raw[i + i / map->columns + 1] = (unsigned char)level_of(range, map->values[i]);
        compress2(packed, &packed_size, raw, (uLong)raw_size, 9);
        size = put_header(png, map);
        size += put_chunk(png + size, "IDAT", packed, packed_size);
        size += put_chunk(png + size, "IEND", NULL, 0);
        write_base64(page->out, png, size);
    }
    free(png);
    free(packed);
    free(raw);
}

/* ---- the drawing ---- */

static void draw_cells(struct pb_page *page, const struct pb_heat_map *map,
                       const struct pb_plot_frame *frame, struct pb_range range)
{
    FILE *out = page->out;

    fprintf(out, "<rect class=\"hm\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
            frame->x.from, frame->y.to, frame->x.to - frame->x.from, frame->y.from - frame->y.to);
    fprintf(out,
            "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "preserveAspectRatio=\"none\" href=\"data:image/png;base64,",
            frame->x.from, frame->y.to, frame->x.to - frame->x.from, frame->y.from - frame->y.to);
    write_png(page, map, range);
    fputs("\"/>", out);
}

/* The number of each cell, without the unit, where there is room. */
static void draw_numbers(struct pb_page *page, const struct pb_heat_map *map,
                         const struct pb_plot_frame *frame, struct pb_range range)
{
    double width = (frame->x.to - frame->x.from) / (double)map->columns;
    double factor = strcmp(map->unit, "byte/s") == 0 ? 1e9 : 1.0;
    char text[24];

    if (!map->shows_numbers || width < 30.0)
        return;
    for (size_t i = 0; i < map->rows * map->columns; i++) {
        size_t level = level_of(range, map->values[i]);

        if (level == 0)
            continue;
        snprintf(text, sizeof(text), map->values[i] / factor >= 1000.0 ? "%.0f" : "%.3g",
                 map->values[i] / factor);
        pb_frame_text(page->out, pb_frame_place(&frame->x, (double)(i % map->columns)),
                      pb_frame_place(&frame->y, (double)(i / map->columns)) + 3.5,
                      level > LEVELS / 2 ? "hn m lo" : "hn m hi", text);
    }
}

/* Names above equal parts of the columns, and lines between these. */
static void draw_groups(FILE *out, const struct pb_heat_map *map, const struct pb_plot_frame *frame)
{
    double width = (frame->x.to - frame->x.from) / (double)map->group_count;

    for (size_t i = 0; i < map->group_count; i++) {
        double x = frame->x.from + (double)i * width;

        pb_frame_text(out, x + width / 2.0, frame->y.to - 5.0, "tk m", map->groups[i]);
        if (i > 0)
            fprintf(out, "<path class=\"sp\" d=\"M%.1f %.1fV%.1f\"/>", x, frame->y.to - 14.0,
                    frame->y.from + 16.0);
    }
}

/* The ramp with its ends. */
static void draw_ramp(FILE *out, const struct pb_heat_map *map, const struct pb_plot_frame *frame,
                      struct pb_range range)
{
    enum { STEPS = 8 };
    double x = frame->x.to + 10.0, height = (frame->y.from - frame->y.to) / STEPS;
    char text[48];

    for (size_t i = 0; i < STEPS; i++) {
        struct colour colour = colour_of(1 + i * (LEVELS - 1) / (STEPS - 1));

        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"%.1f\" fill=\"#%02x%02x%02x\"/>",
                x, frame->y.from - (double)(i + 1) * height, height + 0.3, colour.red, colour.green,
                colour.blue);
    }
    pb_quantity(text, sizeof(text), range.high, map->unit);
    pb_frame_text(out, x + 13.0, frame->y.to + 9.0, "tk", text);
    pb_quantity(text, sizeof(text), range.low, map->unit);
    pb_frame_text(out, x + 13.0, frame->y.from, "tk", text);
}

/* Of a large map the table has each row's least, median and largest value. */
static void write_summary(struct pb_page *page, const struct pb_heat_map *map)
{
    double *row = pb_page_numbers(page, map->columns);
    char text[32];

    pb_table_begin(page->table, map->title);
    pb_table_head(page->table, map->y.label, map->y.unit);
    fputs("<th scope=col>least<th scope=col>median<th scope=col>largest", page->table);
    for (size_t y = 0; row != NULL && y < map->rows; y++) {
        size_t count = 0;

        for (size_t x = 0; x < map->columns; x++)
            if (isfinite(map->values[y * map->columns + x]))
                row[count++] = map->values[y * map->columns + x];
        pb_sort(row, count);
        fputs("\n<tr><td>", page->table);
        pb_markup_format(page->table, "%s", map->y.names == NULL ? "" : map->y.names[y]);
        if (map->y.names == NULL)
            fprintf(page->table, "%zu", y);
        for (size_t i = 0; i < 3; i++) {
            pb_quantity_plain(text, sizeof(text), count == 0 ? NAN : row[i * (count - 1) / 2]);
            fprintf(page->table, "<td>%s", text);
        }
    }
    fputs("</table>\n", page->table);
}

static void write_values(const struct pb_page *page, const struct pb_heat_map *map)
{
    FILE *table = page->table;
    char text[32];

    pb_table_begin(table, map->title);
    fputs("<th scope=col>", table);
    pb_markup_format(table, "%s \\ %s", map->y.label, map->x.label);
    for (size_t x = 0; x < map->columns; x++) {
        fputs("<th scope=col>", table);
        if (map->group_count > 0)
            pb_markup_format(table, "%s: ", map->groups[x * map->group_count / map->columns]);
        pb_markup_text(table, map->x.names[x]);
    }
    for (size_t y = 0; y < map->rows; y++) {
        fputs("\n<tr><th scope=row>", table);
        pb_markup_text(table, map->y.names[y]);
        for (size_t x = 0; x < map->columns; x++) {
            pb_quantity_plain(text, sizeof(text), map->values[y * map->columns + x]);
            fprintf(table, "<td>%s", text);
        }
    }
    fputs("</table>\n", table);
}

static double height_of(const struct pb_heat_map *map)
{
    if (map->rows > 64)
        return map->is_wide ? 480.0 : 300.0;
    return 80.0 + fmax(100.0, 17.0 * (double)map->rows);
}

void pb_heat_map_write(struct pb_page *page, const struct pb_heat_map *map)
{
    struct pb_range range = range_of(map);
    struct pb_plot_axis x = map->x, y = map->y;
    struct pb_plot_frame frame;
    double left = 44.0, width = map->is_wide ? 960.0 : 360.0;

    if (page->status != PB_OK || !(range.low <= range.high))
        return;
    for (size_t i = 0; map->y.names != NULL && i < map->rows; i++)
        left = fmax(left, pb_frame_text_width(map->y.names[i]) + 12.0);
    frame = pb_frame_begin(page, map->title, map->description, width, height_of(map), left, 98.0);
    draw_cells(page, map, &frame, range);
    x.is_tight = y.is_tight = true;
    pb_frame_axes(page, &frame, &x, (struct pb_range){-0.5, (double)map->columns - 0.5}, &y,
                  (struct pb_range){(double)map->rows - 0.5, -0.5});
    draw_numbers(page, map, &frame, range);
    draw_groups(page->out, map, &frame);
    draw_ramp(page->out, map, &frame, range);
    fputs("</svg>\n", page->out);
    if (map->rows * map->columns > TABLE_CELLS_MAX || map->x.names == NULL || map->y.names == NULL)
        write_summary(page, map);
    else
        write_values(page, map);
}
