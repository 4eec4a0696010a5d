/* The probe as a server: orders come as lines, frames go out; see supervisor.h for the other end.
 */
#ifndef PB_RUN_SERVE_H
#define PB_RUN_SERVE_H

#include <stdio.h>

#include "core/error.h"
#include "run/selection.h"

/*
 * Serves until the orders end. The kernel kills this process when its parent dies, so that no probe
 * outlives its job.
 *
 * What cannot be done is reported by a REFUSED frame and ends the service with that status.
 */
enum pb_status pb_serve(const struct pb_test_selection *selection, FILE *orders, int frames_fd,
                        struct pb_error *err);

#endif
