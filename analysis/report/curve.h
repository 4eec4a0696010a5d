/* Private to the figures: what they read from a recording, as arrays to draw. */
#ifndef PB_ANALYSIS_REPORT_CURVE_H
#define PB_ANALYSIS_REPORT_CURVE_H

#include "analysis/axes.h"
#include "analysis/report/figures.h"
#include "analysis/trace.h"

/* Points of a curve, in the page's scratch. */
struct pb_curve {
    double *x, *y;
    size_t count;
    bool is_thinned; /* some were left out */
};

/* Cycles per load of a point: of a timed chase, or the mean or median of its accesses; NaN: none.
 */
double pb_point_mean(const struct pb_series *series, const struct pb_point *point);
double pb_point_median(struct pb_page *page, const struct pb_series *series,
                       const struct pb_point *point);

enum pb_point_quantity { PB_QUANTITY_MEAN, PB_QUANTITY_MEDIAN };

/*
 * One value for each footprint, or each stride, of the points with these phases: the mean of what
 * they say. Ascending, thinned.
 *
 * phases  NULL at the end
 * path    NULL: any
 */
struct pb_curve pb_curve_read(struct pb_page *page, const struct pb_series *series,
                              const char *path, const char *const *phases, bool over_stride,
                              enum pb_point_quantity quantity);

/* Adds a curve to a plot that draws series[]. */
void pb_plot_add(struct pb_plot *plot, struct pb_plot_series *series, const char *name,
                 enum pb_plot_mark mark, const struct pb_curve *curve);

/* All accesses of the points of a phase in cycles, sorted. */
struct pb_curve pb_curve_accesses(struct pb_page *page, const struct pb_series *series,
                                  const char *path, const char *phase);

/* A line of a matrix: values over one axis, the others fixed at index[]. */
struct pb_curve pb_curve_matrix(struct pb_page *page, const struct pb_matrix *matrix, size_t axis,
                                const size_t *index);

/*
 * NULL where a recording's matrix has these axes, else the reason why it cannot be drawn.
 */
const char *pb_figure_check(const struct pb_figure_case *at, const struct pb_matrix *matrix,
                            const struct pb_axis_requirement *axes, size_t count);

/* A place's number; its rank where places have labels. */
double pb_axis_value(const struct pb_axis *axis, size_t place);

/* Names of an axis' places, for a heat map: labels, or numbers in their unit. */
const char *const *pb_axis_names(struct pb_page *page, const struct pb_axis *axis);

#endif
