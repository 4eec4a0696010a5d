/*
 * Private to the report: drawings. One layer for all of them: axes with ticks and units, lines,
 * steps, dots, bars, intervals and heat maps, as inline SVG in the colours of the page's style
 * feature table; and of each drawing the same data as a table.
 */
#ifndef PB_ANALYSIS_REPORT_PLOT_H
#define PB_ANALYSIS_REPORT_PLOT_H

#include "analysis/report/page.h"

struct pb_plot_axis {
    const char *label; /* "Footprint" */
    const char *unit;  /* "byte", "cycle", …; "" */
    bool logarithmic;
    bool from_zero;
    bool is_tight;            /* the axis ends where the values end, and has no grid */
    const char *const *names; /* of the values 0, 1, …; NULL: numbers */
    size_t name_count;
};

enum pb_plot_mark {
    PB_MARK_LINE,
    PB_MARK_STEP, /* holds until the next x */
    PB_MARK_DOTS,
    PB_MARK_BARS,
};

struct pb_plot_series {
    const char *name;
    enum pb_plot_mark mark;
    bool is_background; /* grey, thin: peers, references */
    size_t count;
    const double *x, *y;      /* [count] NaN: not measured */
    const double *low, *high; /* [count] interval of what is not named; NULL: none */
};

enum { PB_PLOT_SERIES_MAX = 12 };

struct pb_plot {
    const char *title, *description; /* for those who cannot see it: what it shows */
    struct pb_plot_axis x, y;        /* of y names only: a row for each, from the top */
    const struct pb_plot_series *series;
    size_t series_count;
    double reference; /* on the x axis, or on y where `reference_is_y`; NaN: none */
    const char *reference_label;
    bool reference_is_y;
    bool labels_along; /* names stand beside the curves, not at their ends */
    bool is_wide;
};

/* Series without any finite point are left out; nothing at all is drawn where none has one. */
void pb_plot_write(struct pb_page *page, const struct pb_plot *plot);

/* Values over two axes that have `count` places each. */
struct pb_heat_map {
    const char *title, *description;
    struct pb_plot_axis x, y; /* of a long axis names may be NULL: then places are numbered */
    const double *values;     /* [y][x] NaN: not measured */
    size_t columns, rows;
    const char *label, *unit;  /* of the values */
    double low, high;          /* range of the colours; equal: that of the values */
    const char *const *groups; /* names of equal parts of the columns */
    size_t group_count;
    bool shows_numbers; /* in the cells, where there is room */
    bool is_wide;
};

void pb_heat_map_write(struct pb_page *page, const struct pb_heat_map *map);

/* How many points a curve keeps at most; builders say so where they leave any out. */
enum { PB_CURVE_POINTS = 66 };

/*
 * Keeps at most PB_CURVE_POINTS of count points: the first, the last, and of each run of neighbours
 * the least and the largest y, so that no step or spike is lost. Returns how many are left in
 * place.
 */
size_t pb_curve_thin(double *x, double *y, size_t count);

#endif
