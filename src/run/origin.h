/* Where results come from: the run and the host. */
#ifndef PB_RUN_ORIGIN_H
#define PB_RUN_ORIGIN_H

#include "h5schema/rows.h"

/* A run that begins now: identity, date, and the command line as it was typed. */
void pb_run_begin(int argc, char *const *argv, struct pb_run *run_out);

/* This host's name up to the first dot; "host" when it has none. */
void pb_host_name(char host_out[PB_KEY_LENGTH]);

#endif
