/* What plumb-probe and plumb-run are to measure, as their command lines say. */
#ifndef PB_CLI_OPTIONS_H
#define PB_CLI_OPTIONS_H

#include "cli/command_line.h"
#include "run/selection.h"

/* pb_selection_free() it; its strings belong to argv. PB_INVALID: an empty --device. */
enum pb_status pb_selection_of(const struct pb_command_line *line,
                               struct pb_test_selection *selection_out, struct pb_error *err);
void pb_selection_free(struct pb_test_selection *selection);

/*
 * A probe's command line with all options of `line` that are forwarded: argv_out ends with NULL,
 * the array and its strings are owned by *argv_out; pb_arguments_free() it.
 */
enum pb_status pb_arguments_for_probe(const struct pb_command_line *line, const char *probe,
                                      char ***argv_out, struct pb_error *err);
void pb_arguments_free(char **argv); /* NULL is allowed */

#endif
