/* One spool file on its way into a fleet file. */
#ifndef PB_RUN_SPOOL_IMPORT_H
#define PB_RUN_SPOOL_IMPORT_H

#include "h5schema/file.h"
#include "run/messages.h"
#include "run/spool.h"

/* What a spool said about itself. */
struct pb_spool_content {
    char run_id[PB_TEXT_LENGTH]; /* of its last PLAN */
    int64_t rank, rank_count;    /* rank -1: nothing of it is sound */
    bool was_cut;                /* there was no MEMBER after the last PLAN */
    struct pb_spool_end end;
};

/*
 * Adds every device and test of a spool to the fleet, records those of its plan that are missing,
 * and adds the rows of its ranks. What is damaged is counted and left out. PB_INVALID: its device
 * is another one there.
 */
enum pb_status pb_spool_import(struct pb_fleet *fleet, const struct pb_spool_file *file,
                               struct pb_spool_content *content_out, struct pb_error *err);

/* Adds a row of /fleet under its own rank. */
enum pb_status pb_fleet_put_row(struct pb_fleet *fleet, const struct pb_member *row,
                                struct pb_error *err);

/* The run of a spool's first PLAN. PB_NOT_FOUND: it has no sound one. */
enum pb_status pb_spool_run(const struct pb_spool_file *file, struct pb_run *run_out,
                            struct pb_error *err);

#endif
