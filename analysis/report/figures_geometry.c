/* Figures of where lines lie in a cache: bits of the set index, textures; see figures.h. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/figures.h"

/* ---- bits of the set index (N14 5.1) ---- */

enum { BITS = 64, LOADS_LOG_MAX = 8, STRIDES = 12 };

/* The masks of a cache's set index, a bit each. */
struct index_bits {
    uint64_t masks[BITS];
    size_t count;
    unsigned low, high; /* the address bits that any mask has */
};

static bool read_index(const struct pb_figure_case *at, const char *memory,
                       struct index_bits *index_out)
{
    double *numbers = NULL;
    size_t count = pb_figure_list(at, memory, "index_masks", &numbers);
    uint64_t all = 0;

    *index_out = (struct index_bits){.low = BITS - 1};
    for (size_t i = 0; i < count && i < BITS; i++) {
        if (!(numbers[i] >= 1.0 && numbers[i] < 0x1p63))
            return false;
        index_out->masks[index_out->count++] = (uint64_t)numbers[i];
        all |= (uint64_t)numbers[i];
    }
    for (unsigned bit = 0; bit < BITS; bit++)
        if ((all >> bit & 1) != 0) {
            index_out->low = bit < index_out->low ? bit : index_out->low;
            index_out->high = bit;
        }
    return index_out->count > 0;
}

/* A row for each bit of the index: the address bits whose parity it is. */
static void draw_bits(const struct pb_figure_case *at, const char *memory,
                      const struct index_bits *index)
{
    size_t columns = index->high - index->low + 1;
    double *values = pb_page_numbers(at->page, columns * index->count);
    /* a pointer takes no more than a number */
    const char **bits = (const char **)(void *)pb_page_numbers(at->page, columns);
    const char **rows = (const char **)(void *)pb_page_numbers(at->page, index->count);
    struct pb_heat_map map = {
        .title = pb_page_text(at->page, "%s: address bits of the set index", memory),
        .description = "A row for each bit of the set index; 1: the address bit belongs to it.",
        .x = {.label = "Address bit", .unit = "", .names = bits, .name_count = columns},
        .y = {.label = "Index bit", .unit = "", .names = rows, .name_count = index->count},
        .values = values,
        .columns = columns,
        .rows = index->count,
        .label = "Belongs to the index bit",
        .unit = "",
        .shows_numbers = true};

    if (values == NULL || bits == NULL || rows == NULL)
        return;
    for (size_t i = 0; i < columns; i++)
        bits[i] = pb_page_text(at->page, "%zu", index->low + i);
    for (size_t row = 0; row < index->count; row++) {
        rows[row] = pb_page_text(at->page, "%zu", row);
        for (size_t i = 0; i < columns; i++)
            values[row * columns + i] =
                (double)(index->masks[row] >> (index->low + (unsigned)i) & 1);
    }
    pb_heat_map_write(at->page, &map);
}

/* How many index bits vary among addresses that differ in these bits: a rank over GF(2). */
static unsigned varied_bits(const struct index_bits *index, uint64_t bits)
{
    uint64_t rows[BITS];
    unsigned rank = 0;

    for (size_t i = 0; i < index->count; i++)
        rows[i] = index->masks[i] & bits;
    for (size_t i = 0; i < index->count; i++) {
        uint64_t lowest = rows[i] & (~rows[i] + 1);

        if (lowest == 0)
            continue;
        rank++;
        for (size_t k = i + 1; k < index->count; k++)
            if ((rows[k] & lowest) != 0)
                rows[k] ^= rows[i];
    }
    return rank;
}

/* Two identical loops: the second one hits where each set has the ways for its lines. */
static void draw_strides(const struct pb_figure_case *at, const char *memory,
                         const struct index_bits *index, double ways)
{
    double *values = pb_page_numbers(at->page, (LOADS_LOG_MAX - 1) * STRIDES);
    const char *strides[STRIDES], *loads[LOADS_LOG_MAX - 1];
    struct pb_heat_map map = {
        .title = pb_page_text(at->page, "%s: two strided loops, predicted", memory),
        .description =
            "Miss rate of both; 50%: the second one hits; 100%: a set gets more lines than it "
            "has ways.",
        .x = {.label = "Stride", .unit = "", .names = strides, .name_count = STRIDES},
        .y = {.label = "Loads", .unit = "", .names = loads, .name_count = LOADS_LOG_MAX - 1},
        .values = values,
        .columns = STRIDES,
        .rows = LOADS_LOG_MAX - 1,
        .label = "Miss rate",
        .unit = "%",
        .low = 0.0,
        .high = 100.0,
        .shows_numbers = true};

    for (unsigned row = 0; values != NULL && row + 1 < LOADS_LOG_MAX; row++) {
        unsigned log = row + 2; /* 4, 8, … loads */

        loads[row] = pb_page_text(at->page, "%u", 1u << log);
        for (unsigned i = 0; i < STRIDES; i++) {
            uint64_t bits = (((uint64_t)1 << log) - 1) << (index->low + i);
            double capacity = ways * (double)((uint64_t)1 << varied_bits(index, bits));

            strides[i] = pb_page_text(at->page, "2^%u", index->low + i);
            values[row * STRIDES + i] = (double)(1u << log) <= capacity ? 50.0 : 100.0;
        }
    }
    if (values != NULL)
        pb_heat_map_write(at->page, &map);
}

const char *pb_figure_index(const struct pb_figure_case *at)
{
    static const char *const memories[] = {"l1", "readonly", "texture", "constant_l1", "l2"};
    bool any = false;

    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        double ways = pb_figure_number(at, memories[i], "way_counts");
        struct index_bits index;

        if (!read_index(at, memories[i], &index) || index.high >= BITS - LOADS_LOG_MAX - STRIDES)
            continue;
        any = true;
        draw_bits(at, memories[i], &index);
        if (isfinite(ways))
            draw_strides(at, memories[i], &index, ways);
    }
    return any ? NULL : "no set index is determined";
}

/* ---- textures of two dimensions (F13 3.4.1) ---- */

/* The first loads of a phase, in their order. */
static struct pb_plot_series read_loads(struct pb_page *page, const struct pb_series *series,
                                        const char *phase, const char *name)
{
    enum { LOADS = 64 };
    struct pb_pick pick = {NULL, NULL, phase};
    double *x = pb_page_numbers(page, LOADS), *y = pb_page_numbers(page, LOADS);
    struct pb_plot_series loads = {.name = name, .mark = PB_MARK_STEP, .x = x, .y = y};
    size_t from = 0;
    const struct pb_point *point = pb_point_next(series, &pick, &from);
    struct pb_accesses accesses;

    if (point == NULL || x == NULL || y == NULL)
        return loads;
    accesses = pb_point_accesses(series, point);
    for (; loads.count < LOADS && loads.count < accesses.count; loads.count++) {
        x[loads.count] = (double)loads.count;
        y[loads.count] = pb_access_cycles(&accesses, loads.count);
    }
    return loads;
}

const char *pb_figure_texture_2d(const struct pb_figure_case *at)
{
    static const struct {
        const char *title, *description, *phases[2], *names[2];
    } drawings[] = {{"Cold passes",
                     "Latency of each load of a first pass along rows of 8-byte words, and of one "
                     "down the columns of 32 rows.",
                     {"rows", "columns"},
                     {"along rows", "down columns"}},
                    {"8 KiB in two shapes",
                     "Latency of each load of repeated passes over 8 KiB as whole rows, and as a "
                     "strip of 32 bytes of many rows.",
                     {"wide", "tall"},
                     {"whole rows", "a strip"}}};
    const struct pb_series *series = &pb_figure_recording(at, 0)->series;

    for (size_t i = 0; i < 2; i++) {
        struct pb_plot_series loads[2];
        struct pb_plot plot = {.title = drawings[i].title,
                               .description = drawings[i].description,
                               .x = {.label = "Load", .unit = ""},
                               .y = {.label = "Latency", .unit = "cycle", .from_zero = true},
                               .series = loads,
                               .series_count = 2,
                               .reference = NAN};

        for (size_t k = 0; k < 2; k++)
            loads[k] = read_loads(at->page, series, drawings[i].phases[k], drawings[i].names[k]);
        pb_plot_write(at->page, &plot);
    }
    return NULL;
}
