/*
 * Joining spools and fleet files into one fleet file.
 *
 * Ranks keep their numbers as long as they are free; a rank of a later input whose number is taken
 * gets the next free one, so that every row of /fleet stays unique. The same device in several
 * inputs has one row and the better of each test.
 */
#ifndef PB_RUN_MERGE_H
#define PB_RUN_MERGE_H

#include "run/collect.h"

/*
 * Makes `path` from inputs[count]: spool folders, spool files and fleet files. run: of the result,
 * unless all inputs come from one run. notice() gets a line about what an input lacks.
 *
 * A spool without a MEMBER frame was cut short: its missing tests are recorded as such. A run of
 * which a rank has no spool at all gets a row for that rank.
 *
 * PB_INVALID: an input is neither; two inputs mean different devices by one key. PB_IO, PB_EXISTS:
 * as pb_fleet_create().
 */
enum pb_status pb_merge(const char *const *inputs, size_t count, const char *path,
                        const struct pb_run *run, void (*notice)(void *context, const char *line),
                        void *context, struct pb_summary *summary_out, struct pb_error *err);

#endif
