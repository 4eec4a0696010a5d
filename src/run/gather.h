/*
 * The ranks of a job: each supervises its own probe, rank 0 also puts the fleet file together.
 *
 * A finished test goes to the rank's spool and then, as the same bytes, to rank 0. A rank sends one
 * frame and waits until rank 0 has taken it, and rank 0 takes one at a time, so its memory does not
 * grow with the number of ranks. While rank 0 receives, it watches its own probe like all others.
 *
 * MPI must be initialised. Nothing here prints; news reach the observer of rank 0.
 */
#ifndef PB_RUN_GATHER_H
#define PB_RUN_GATHER_H

#include <stdbool.h>

#include "run/collect.h"
#include "run/selection.h"
#include "run/supervisor.h"

/*
 * To be called before MPI_Init: requests small shared buffers. It maps those of every
 * process of a node into all others, by default some 54 KiB for each that sends (measured), which
 * made rank 0 grow by 15% from 8 ranks to 64. Messages here are few and waited for. And keeps MPI
 * off the GPUs: it has hwloc list processors, whose plugins would start OpenCL on each of them.
 */
void pb_gather_prepare(void);

struct pb_gather_request {
    const struct pb_test_selection *selection;
    const char *output;
    const char *spool;       /* folder */
    bool keep_spool;         /* also when its content is safe in the output */
    bool resume;             /* keep what output and spool have */
    double deadline_seconds; /* of a test */
    int stop_fd;             /* readable when the run is to stop; -1: never */
    struct pb_run run;       /* rank 0's counts */
    struct pb_error trouble; /* why this rank has no supervisor; PB_OK: it has one */
};

/*
 * Measures everything. supervisor: has just been created; NULL: see request->trouble.
 * observer: used at rank 0. Every rank returns the same status, message and summary.
 *
 * PB_INVALID, PB_EXISTS: what was requested cannot be, nothing was measured. PB_NOT_FOUND: no rank
 * has a device. Other errors: the output could not be written; the spools hold what was measured.
 */
enum pb_status pb_gather_run(const struct pb_gather_request *request,
                             struct pb_supervisor *supervisor,
                             const struct pb_run_listener *observer, struct pb_summary *summary_out,
                             struct pb_error *err);

#endif
