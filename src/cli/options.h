/*
 * The command lines of plumb-probe and plumb-run, which share most of theirs.
 *
 * Parsing prints nothing and never exits: of many ranks, one speaks.
 */
#ifndef PB_CLI_OPTIONS_H
#define PB_CLI_OPTIONS_H

#include <stdbool.h>

#include "cli/command.h"
#include "core/error.h"
#include "run/selection.h"

enum pb_program { PB_PROGRAM_PROBE, PB_PROGRAM_RUN };

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

#endif
