/* Private to the drawings: the box with its two axes that every plot and heat map stands in. */
#ifndef PB_ANALYSIS_REPORT_FRAME_H
#define PB_ANALYSIS_REPORT_FRAME_H

#include "analysis/report/plot.h"

struct pb_range {
    double low, high;
};

/* From values to places in the drawing. */
struct pb_frame_scale {
    double low, high; /* values */
    double from, to;  /* places */
    bool log;
};

struct pb_plot_frame {
    struct pb_frame_scale x, y; /* y.from is the bottom */
    double width, height;
};

/*
 * Opens <svg> with title and description. `left` and `right` are what axis and labels need; with no
 * room on the right it is a drawing without axes, whose title is not drawn.
 */
struct pb_plot_frame pb_frame_begin(struct pb_page *page, const char *title,
                                    const char *description, double width, double height,
                                    double left, double right);

/* Draws both axes, with ticks at round values or at names, and sets the frame's scales. */
void pb_frame_axes(struct pb_page *page, struct pb_plot_frame *frame, const struct pb_plot_axis *x,
                   struct pb_range x_range, const struct pb_plot_axis *y, struct pb_range y_range);

double pb_frame_place(const struct pb_frame_scale *scale, double value);

/* A text of these classes ("e": it ends there, "m": its middle is there); NULL: of its group's. */
void pb_frame_text(FILE *out, double x, double y, const char *classes, const char *text);

/* About how wide it is. */
double pb_frame_text_width(const char *text);

/* <table> with caption and the opening of its head; a column's head. Rows follow, "<tr><td>…". */
void pb_table_begin(FILE *table, const char *caption);
void pb_table_head(FILE *table, const char *label, const char *unit);

/* A cell. */
void pb_table_number(FILE *table, double value);

#endif
