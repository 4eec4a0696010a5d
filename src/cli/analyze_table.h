/*
 * What plumb-analyze prints: for each model a head, a summary with the hierarchy, the determined
 * parameters, and the undetermined ones with the reason. Devices that agree are folded into one
 * line, with the span of their intervals and their lowest confidence; each one that differs has a
 * line of its own below.
 */
#ifndef PB_CLI_ANALYZE_TABLE_H
#define PB_CLI_ANALYZE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/analyze_rows.h"
#include "cli/terminal.h"

/* What of it is wanted. */
struct pb_view {
    const char *memory, *parameter; /* NULL: all */
    bool summary;                   /* head and summary alone */
    bool all;                       /* each device by itself */
    bool evidence;                  /* method and path below each value */
    struct pb_terminal terminal;
};

/* What a device says of one parameter. */
struct pb_cell {
    const char *device;
    char value[PB_MESSAGE_LENGTH], reason[PB_MESSAGE_LENGTH], method[PB_MESSAGE_LENGTH],
        evidence[PB_MESSAGE_LENGTH];
    double number, low, high, confidence;
};

/* What the devices of one table say of it together. */
struct pb_line {
    char memory[PB_NAME_LENGTH], parameter[PB_NAME_LENGTH], unit[PB_NAME_LENGTH];
    struct pb_cell typical;
    bool has_value;               /* of any device */
    size_t count, agreeing;       /* devices; those that agree with the typical one */
    double low, high, confidence; /* over those: the joined interval, the least confidence */
};

/* One table. */
struct pb_analysis_page {
    const struct pb_analysed *first;
    const char *last_key;
    size_t device_count;
    const struct pb_line *lines; /* [line_count] */
    size_t line_count;
};

void pb_cell_format(const struct pb_cell *cell, const char *unit, char *text, size_t size);

/* Parts of a table, in analyze_summary.c. */
/* Words, folded to the terminal's width; what goes on below is indented a little more. */
void pb_page_print_folded(size_t indent, const char *lead, const char *text, size_t width,
                          FILE *file);
void pb_page_print_head(const struct pb_analysis_page *page, const struct pb_view *view,
                        FILE *file);
void pb_page_print_summary(const struct pb_analysis_page *page, FILE *file);
void pb_page_print_undetermined(const struct pb_analysis_page *page, const struct pb_view *view,
                                FILE *file);

/* PB_NO_MEMORY, PB_IO; PB_INVALID: no parameter is of that memory and name */
enum pb_status pb_results_print(const struct pb_results *results, const struct pb_view *view,
                                FILE *file, struct pb_error *err);

#endif
