/* The last line of a tool that writes a fleet file, and its exit code. */
#ifndef PB_CLI_SUMMARY_H
#define PB_CLI_SUMMARY_H

#include <stdbool.h>

#include "run/collect.h"

/*
 * 0: every row is ok; 3: some are not; 1: there is not one good test in the file.
 */
int pb_summary_exit_code(const struct pb_summary *summary);

/* Prints "FILE: 4 devices, 40 tests ok" to standard output, unless quiet; returns the exit code. */
int pb_summary_report(const char *path, const struct pb_summary *summary, bool quiet);

#endif
