/* One probe without a supervisor: a device into a fleet file of one row, as rank 0 of one. */
#ifndef PB_RUN_STANDALONE_H
#define PB_RUN_STANDALONE_H

#include <signal.h>

#include "run/collect.h"
#include "run/selection.h"

/*
 * Measures the selected device and puts the file `path` in place. Once *stop is not 0 no further
 * test begins: those are missing in the file, which is in place all the same. Finished tests also
 * go to the spool PATH.spool, which stays where the file cannot be put in place.
 *
 * Statuses are those of pb_measure_prepare(), pb_measure_open() and pb_fleet_create(). What happens
 * to tests after that is in the file and in summary_out.
 */
enum pb_status pb_measure_standalone(const struct pb_test_selection *selection, const char *path,
                                     const struct pb_run *run, const volatile sig_atomic_t *stop,
                                     const struct pb_run_listener *observer,
                                     struct pb_summary *summary_out, struct pb_error *err);

#endif
