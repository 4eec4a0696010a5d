/*
 * Private to the report: a page in progress. Text is escaped here and nowhere else, and numbers and
 * their units are written by one rule.
 *
 * The first lack of memory stays in `status`; what is written after it is thrown away.
 */
#ifndef PB_ANALYSIS_REPORT_PAGE_H
#define PB_ANALYSIS_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

/* A text that grows in memory. */
struct pb_buffer {
    FILE *file;
    char *text;
    size_t size;
};

struct pb_page {
    FILE *out;         /* markup goes here: the page, or the figure that is being drawn */
    FILE *table;       /* the figure's data; NULL outside of a figure */
    unsigned drawings; /* so far: their ids */
    size_t written;    /* bytes of finished parts */
    size_t limit;      /* bytes that the page may have */
    struct pb_scratch *scratch;
    enum pb_status status;
    struct pb_error *err;
};

/* Says that there is no memory, once. */
void pb_page_fail(struct pb_page *page);

/* Numbers that live until pb_page_forget(); NULL, and a failed page, where there is no memory. */
double *pb_page_numbers(struct pb_page *page, size_t count);
char *pb_page_text(struct pb_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* never NULL */
void pb_page_forget(struct pb_page *page);

bool pb_buffer_open(struct pb_page *page, struct pb_buffer *buffer_out);
/* Appends what it holds to the file, if any, and closes it. */
void pb_buffer_close(struct pb_page *page, struct pb_buffer *buffer, FILE *to);

/*
 * Writes text from outside as text or as the value of a quoted attribute, of HTML and of XML alike:
 * printable UTF-8, all else as \xNN (core/text.h), and no character that means markup.
 */
void pb_markup_text(FILE *file, const char *text);

/* The same as printf() into a text; its arguments come from outside, the format does not. */
void pb_markup_format(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A coordinate: one digit behind the point where it matters. */
void pb_markup_coordinate(FILE *file, double value);

/* Four significant digits and the unit: "241 KiB", "3.902 TB/s", "282.2 cycles"; "–" for NaN. */
void pb_quantity(char *text, size_t size, double value, const char *unit);

/* The same without the unit, as far as it can go; `unit` only decides the form: for tables. */
void pb_quantity_plain(char *text, size_t size, double value);

/* "[265, 298]" in the unit's form; "exact" where both ends are the value. */
void pb_quantity_interval(char *text, size_t size, double low, double high, const char *unit);

#endif
