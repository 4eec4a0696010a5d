/*
 * Showing how far a job is, on standard error: on a terminal a line per rank that lives, a bar and
 * the time left; elsewhere a plain line for every test that ended.
 *
 * Limit: with more than PB_PROGRESS_LINES ranks the terminal shows a summary line instead.
 */
#ifndef PB_CLI_PROGRESS_H
#define PB_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "run/collect.h"

enum { PB_PROGRESS_LINES = 16 };

struct pb_progress;

/* quiet: say nothing at all. */
enum pb_status pb_progress_open(size_t rank_count, bool quiet, struct pb_progress **progress_out,
                                struct pb_error *err);

/* The listener that shows the events of a run; it lives as long as the progress. */
struct pb_run_listener pb_progress_observer(struct pb_progress *progress);

/* Leaves the last state on the screen; NULL is allowed. */
void pb_progress_close(struct pb_progress *progress);

#endif
