/*
 * Text that came from outside: out of files, from drivers, from the command line. Whatever a
 * program prints of it goes through pb_text_escape(), so that no name steers a terminal or begins a
 * line.
 */
#ifndef PB_CORE_TEXT_H
#define PB_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies text into escaped_out[size], cut to fit and always terminated. Printable UTF-8 stays as it
 * is; each byte of anything else (control characters, line and paragraph separators, changes of the
 * writing direction, zero-width characters, what is no UTF-8) becomes \xNN.
 *
 * Escaping twice is escaping once. text and escaped_out must not overlap.
 */
void pb_text_escape(char *escaped_out, size_t size, const char *text);
#define PB_TEXT_ESCAPE(field, text) pb_text_escape((field), sizeof(field), (text))

/*
 * Is it a host's name: letters, digits, ".", "_" and "-", and no "-" first? Nothing else may stand
 * in a hostlist or in a command that people are given to type.
 */
bool pb_text_is_host(const char *name);

#endif
