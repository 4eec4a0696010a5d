/*
 * The command line of every program, parsed by the tables of option_table.h; exit codes; and an end
 * of the program at which everything that was printed has arrived.
 *
 * Parsing prints nothing and never exits: of many ranks, only one prints.
 */
#ifndef PB_CLI_COMMAND_LINE_H
#define PB_CLI_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/option_table.h"
#include "core/error.h"

enum { PB_EXIT_FAILED = 1, PB_EXIT_USAGE = 2, PB_EXIT_PARTIAL = 3 };

/* An option as it was given; `text` belongs to argv. */
struct pb_given {
    const struct pb_option *option;
    const char *text; /* NULL: a switch */
};

struct pb_command_line {
    enum pb_program program;
    struct pb_given *given; /* [given_count] in the order of the command line */
    size_t given_count;
    char **arguments; /* [argument_count] and NULL: what is no option */
    size_t argument_count;
};

/*
 * Parses the whole command line; numbers are checked, and what the program needs is there, unless
 * an option requests an answer (--help). pb_command_line_clear() it.
 *
 * PB_INVALID: err says in one line what is wrong, and what was perhaps meant; line_out is empty
 */
enum pb_status pb_command_line_parse(enum pb_program program, int argc, char **argv,
                                     struct pb_command_line *line_out, struct pb_error *err);
void pb_command_line_clear(struct pb_command_line *line);

/* The last value of the option; NULL: not given, or a switch. */
const char *pb_command_line_text(const struct pb_command_line *line, enum pb_option_id id);
bool pb_command_line_has(const struct pb_command_line *line, enum pb_option_id id);

/* The last value of an integer, or of seconds and percentages; `otherwise` where it is not given.
 */
uint64_t pb_command_line_integer(const struct pb_command_line *line, enum pb_option_id id,
                                 uint64_t otherwise);
double pb_command_line_real(const struct pb_command_line *line, enum pb_option_id id,
                            double otherwise);

/* The values of a repeatable option, one by one: *at begins with 0. NULL: no more. */
const char *pb_command_line_next(const struct pb_command_line *line, enum pb_option_id id,
                                 size_t *at);

/* Print to standard output. */
void pb_command_print_help(enum pb_program program);
void pb_command_print_version(enum pb_program program);

/* "PROGRAM: MESSAGE" on standard error. */
void pb_command_print_error(enum pb_program program, const struct pb_error *err);

/*
 * The first thing that a program does. A file that passes a size limit is then an error of that
 * write, with its message, not a signal that ends the process without a message. Parses; false:
 * help, version or one line of error has been printed, and *code_out is the exit code.
 */
bool pb_command_begin(enum pb_program program, int argc, char **argv,
                      struct pb_command_line *line_out, int *code_out);
void pb_command_ignore_size_signal(void); /* for programs that parse by themselves */

/* The exit code of a measuring tool: 0, 2 for a wrong request, 1 for what went wrong. */
int pb_exit_code(enum pb_status status);

/*
 * The last thing that a program does: returns `code`, or `lost` where standard output has not taken
 * all that was printed, and then says so in a line on standard error.
 */
int pb_command_end(enum pb_program program, int code, int lost);

#endif
