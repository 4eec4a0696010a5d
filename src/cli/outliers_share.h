/*
 * Private to plumb-outliers: one sheet filled by several processes.
 *
 * Reading and inferring a device takes longer than judging a whole fleet: so each worker (worker.h)
 * reads its own share of the devices into a sheet of its own, and the sheets are joined in the
 * devices' order.
 */
#ifndef PB_CLI_OUTLIERS_SHARE_H
#define PB_CLI_OUTLIERS_SHARE_H

#include "analysis/verdict/sheet.h"

/*
 * Calls fill() in each of `workers` processes: it adds the subjects worker, worker + workers, … of
 * the fleet to its sheet, in that order, whatever process it is in. One worker: no process is made.
 *
 * sheet  the subjects are added to it; pb_sheet_clear() it, on failure too
 *
 * Returns what the first worker that failed returned. PB_IO: a worker died, or cannot be started.
 */
enum pb_status pb_share_fill(size_t workers,
                             enum pb_status (*fill)(void *context, size_t worker, size_t workers,
                                                    struct pb_sheet *sheet, struct pb_error *err),
                             void *context, struct pb_sheet *sheet, struct pb_error *err);

#endif
