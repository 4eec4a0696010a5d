/*
 * Lines of a text file that may be compressed by gzip or xz, each with its number, so that every
 * error about a trace names file and line; and the words of a line.
 *
 * Streamed: memory is two buffers, whatever the file's length. A compressed file that ends early is
 * an error, as is a line longer than PB_TEXT_LINE_MAX (a file without lines has no end otherwise).
 */
#ifndef PB_ANALYSIS_KERNEL_TEXT_H
#define PB_ANALYSIS_KERNEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum { PB_TEXT_LINE_MAX = 16384 };

struct pb_text;

/* PB_INVALID: cannot be opened or read, or is a folder. pb_text_close() it. */
enum pb_status pb_text_open(const char *path, struct pb_text **text_out, struct pb_error *err);
void pb_text_close(struct pb_text *text); /* NULL is allowed */

/*
 * The next line without its end; *line_out is NULL behind the last one, and else valid until the
 * next call, which may write into it.
 *
 * PB_INVALID: damaged or truncated compression, a NUL byte, or a line that is too long.
 */
enum pb_status pb_text_line(struct pb_text *text, char **line_out, struct pb_error *err);

/* The same line once more at the next call. */
void pb_text_repeat(struct pb_text *text);

/* The file's name and the number of the last line, from 1 on, for messages. */
const char *pb_text_path(const struct pb_text *text);
uint64_t pb_text_number(const struct pb_text *text);

/* "FILE:LINE: expected EXPECTED, found "LINE'S BEGINNING"" or "… found the end of the file". */
enum pb_status pb_text_refuse(const struct pb_text *text, const char *line, struct pb_error *err,
                              const char *expected, ...) __attribute__((format(printf, 4, 5)));

/* The next word, ended in place, or NULL; *rest moves behind it. */
char *pb_word_next(char **rest);
/* The whole of a word as a number to that base (16: with or without "0x"); NULL is none. */
bool pb_word_number(const char *word, int base, uint64_t max, uint64_t *number_out);
bool pb_word_signed(const char *word, int64_t *number_out);

#endif
