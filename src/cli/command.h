/*
 * What the command lines of all programs share: --help and --version, one line for a mistake, exit
 * codes, and an end at which everything that was printed has arrived.
 */
#ifndef PB_CLI_COMMAND_H
#define PB_CLI_COMMAND_H

#include <argp.h>

#include "core/error.h"

enum pb_wish { PB_WISH_MEASURE, PB_WISH_LIST, PB_WISH_SERVE, PB_WISH_HELP, PB_WISH_VERSION };

enum { PB_EXIT_FAILED = 1, PB_EXIT_USAGE = 2, PB_EXIT_PARTIAL = 3 };

/* --help and --version, for a program's argp as a child; its input is the enum pb_wish it sets. */
extern const struct argp pb_command_argp;

/*
 * For a parser's ARGP_KEY_ERROR: names the option that argp stumbled over, unless err already says
 * what is wrong. With ARGP_SILENT, so that a mistake costs the user one line.
 */
void pb_command_blame(const struct argp_state *state, struct pb_error *err);

/*
 * The first thing that a program does: a file that passes a size limit is an error of that write,
 * with its message, not a signal that ends the process without a word.
 */
void pb_command_begin(void);

/* Prints the help to standard output. */
void pb_command_help(const struct argp *argp, const char *program);

/* The exit code of a measuring tool: 0, 2 for what was asked, 1 for what went wrong. */
int pb_exit_code(enum pb_status status);

/*
 * The last thing that a program does: returns `code`, or `lost` where standard output has not taken
 * all that was printed, and then says so in a line that begins with `lead`.
 */
int pb_command_end(const char *lead, int code, int lost);

#endif
