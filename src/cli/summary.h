/* The last line of a tool that writes a fleet file, and its exit code. */
#ifndef PB_CLI_SUMMARY_H
#define PB_CLI_SUMMARY_H

#include "run/collect.h"

/* 0: every row is ok; 3: some are not; 1: not all are, and there is no good test in the file. */
int pb_summary_exit_code(const struct pb_summary *summary);

/* Says in one line on standard output what the file holds. */
void pb_summary_print(const char *path, const struct pb_summary *summary);

#endif
