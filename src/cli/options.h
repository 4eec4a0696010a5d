/*
 * The command lines of plumb-probe and plumb-run, which share most of theirs.
 *
 * Parsing prints nothing and never exits: of many ranks, one speaks.
 */
#ifndef PB_CLI_OPTIONS_H
#define PB_CLI_OPTIONS_H

#include <stdbool.h>

#include "core/error.h"
#include "run/selection.h"

enum pb_program { PB_PROGRAM_PROBE, PB_PROGRAM_RUN };

enum pb_wish { PB_WISH_MEASURE, PB_WISH_LIST, PB_WISH_SERVE, PB_WISH_HELP, PB_WISH_VERSION };

struct pb_options {
    enum pb_program program;
    enum pb_wish wish;
    struct pb_selection selection; /* strings belong to argv; faults is owned */
    const char *output;
    bool quiet; /* --no-progress */
    /* plumb-run */
    const char *probe; /* NULL: plumb-probe beside this program */
    const char *spool; /* NULL: OUTPUT.spool */
    double deadline_seconds;
    bool resume;
};

enum { PB_DEADLINE_SECONDS = 120 };

/* pb_options_clear() it. PB_INVALID: err says in one line what is wrong, options_out is empty. */
enum pb_status pb_options_parse(enum pb_program program, int argc, char **argv,
                                struct pb_options *options_out, struct pb_error *err);
void pb_options_clear(struct pb_options *options);

/* Prints the help to standard output. */
void pb_options_help(enum pb_program program);

/*
 * The options that a probe needs to measure the same, as arguments: argv_out ends with NULL, the
 * array and its strings are owned by *argv_out; pb_arguments_free() it.
 */
enum pb_status pb_options_for_probe(const struct pb_options *options, const char *probe,
                                    char ***argv_out, struct pb_error *err);
void pb_arguments_free(char **argv); /* NULL is allowed */

struct argp_state;

/*
 * For a parser's ARGP_KEY_ERROR: names the option that argp stumbled over, unless err already says
 * what is wrong. With ARGP_NO_ERRS, so that a mistake costs the user one line.
 */
void pb_options_blame(const struct argp_state *state, struct pb_error *err);

/* The exit code of a measuring tool: 0, 2 for what was asked, 1 for what went wrong. */
int pb_exit_code(enum pb_status status);

enum { PB_EXIT_FAILED = 1, PB_EXIT_USAGE = 2, PB_EXIT_PARTIAL = 3 };

#endif
