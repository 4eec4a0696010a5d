/*
 * Names that metrics and causes had in earlier versions: files that sites wrote then (policies,
 * references) are still understood.
 */
#ifndef PB_ANALYSIS_VERDICT_FORMER_NAMES_H
#define PB_ANALYSIS_VERDICT_FORMER_NAMES_H

#include <stdbool.h>

/* Does a pattern (as in a shell) match the name of a metric or cause, or the name it had before? */
bool pb_name_matches(const char *pattern, const char *name);

#endif
