/*
 * The accesses of single warps out of a trace that has them in its own order: what is read before
 * its turn waits in a queue of its warp. Memory is what the order of the trace and that of the
 * schedule differ by: of a trace by blocks, the blocks that are active at a time.
 */
#ifndef PB_ANALYSIS_KERNEL_FEED_H
#define PB_ANALYSIS_KERNEL_FEED_H

#include "analysis/kernel/trace.h"

struct pb_feed;

/* Over the trace's current kernel, whose streams stand at their beginning. */
enum pb_status pb_feed_create(const struct pb_trace *trace, struct pb_feed **feed_out,
                              struct pb_error *err);
void pb_feed_destroy(struct pb_feed *feed); /* NULL is allowed */

/* The next block of that stream that was not yet handed out; *found_out false: there is none. */
enum pb_status pb_feed_block(struct pb_feed *feed, uint32_t stream, uint64_t *block_out,
                             bool *found_out, struct pb_error *err);

/* A warp's next access; *found_out false: there is none any more. */
enum pb_status pb_feed_access(struct pb_feed *feed, uint32_t stream, uint64_t block, uint32_t warp,
                              struct pb_access *access_out, bool *found_out, struct pb_error *err);

/* Forgets a block that has ended. */
void pb_feed_drop(struct pb_feed *feed, uint64_t block);

/* The most bytes that accesses took which waited. */
uint64_t pb_feed_bytes_max(const struct pb_feed *feed);

#endif
