/*
 * Miss-status holding registers of one SM: how many misses may be outstanding at a time, of the SM
 * and of each of its warps. The next miss waits until one of them has arrived (N14 3.5 and 5.2).
 *
 * A miss to a sector that is in flight already needs no register of its own where the cache merges
 * them: the caller then does not add it.
 */
#ifndef PB_ANALYSIS_MODEL_MSHR_H
#define PB_ANALYSIS_MODEL_MSHR_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct pb_model_mshr;

/*
 * per_sm, per_warp  outstanding misses; 0: without limit
 * warp_count        warps are numbered from 0
 */
enum pb_status pb_model_mshr_create(size_t per_sm, size_t per_warp, size_t warp_count,
                                    struct pb_model_mshr **mshr_out, struct pb_error *err);
void pb_model_mshr_destroy(struct pb_model_mshr *mshr); /* NULL is allowed */
void pb_model_mshr_clear(struct pb_model_mshr *mshr);

/*
 * When a miss of that warp can be issued: `time`, or the moment at which enough others have
 * arrived. Those that have arrived by then are forgotten, so time must not fall from call to call.
 */
double pb_model_mshr_wait(struct pb_model_mshr *mshr, size_t warp, double time);

/* The same, but waits for none: those that arrive later than `time` stay. */
double pb_model_mshr_next(struct pb_model_mshr *mshr, size_t warp, double time);

/* A miss that was issued; its data arrive at ready_time. */
enum pb_status pb_model_mshr_add(struct pb_model_mshr *mshr, size_t warp, double ready_time,
                                 struct pb_error *err);

/* Outstanding misses as of the last wait: of the SM, and of one warp. */
size_t pb_model_mshr_count(const struct pb_model_mshr *mshr);
size_t pb_model_mshr_count_of(const struct pb_model_mshr *mshr, size_t warp);

#endif
