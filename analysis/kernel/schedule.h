/*
 * In which order the accesses of a kernel's warps reach the caches (N14 4.1, 4.4 and 4.5).
 *
 * Blocks go to SMs as the trace recorded it, else round robin until the SMs are full and then to
 * the first that has room. On an SM the warps of its active blocks take turns, first in first out,
 * an access at a time; a warp comes back when its access is answered. Time is in cycles of the SM;
 * of what a kernel does beside its accesses nothing is known, so that it orders, it does not
 * predict seconds.
 */
#ifndef PB_ANALYSIS_KERNEL_SCHEDULE_H
#define PB_ANALYSIS_KERNEL_SCHEDULE_H

#include "analysis/kernel/feed.h"

/* What an access of a warp came to. */
struct pb_access_outcome {
    bool is_refused;   /* no register was free: nothing has happened */
    double ready_time; /* when the warp may go on; of a refused one, when it may try again */
    double issue_time; /* when the SM may issue its next access; later than now */
};

/* What answers accesses. Of an SM, time never falls. */
struct pb_access_sink {
    void *context;
    enum pb_status (*access)(void *context, uint32_t sm, uint32_t warp_slot,
                             const struct pb_access *access, double time,
                             struct pb_access_outcome *outcome_out, struct pb_error *err);
    /*
     * A warp has gone past an instruction that empties L1 (PB_KIND_EMPTY_L1), which has no record
     * of its own: it lies behind the warp's last access and before its next one, or before its end.
     * NULL: there are none.
     */
    void (*empty_l1)(void *context, uint32_t sm);
    /* Once between bunches of accesses, so that long runs can show where they are; may be NULL. */
    void (*progress)(void *context, uint64_t accesses);
};

struct pb_schedule_options {
    uint32_t sm_count;    /* where the trace has no schedule */
    uint32_t block_limit; /* blocks that are active on an SM at a time */
    double cycles_per_ns; /* of the SMs' clock, for the times at which blocks began; 0: at once */
    bool no_hierarchy;    /* one warp after the other, one block after the other */
    bool no_divergence;   /* a warp takes its next turn whether its access is answered or not */
};

struct pb_schedule_result {
    uint32_t sm_count; /* that ran blocks */
    uint64_t block_count, warp_count, access_count, refused_count;
    uint64_t queue_bytes_max; /* of accesses that waited */
    double cycles;            /* of the SM that took longest; see above */
};

/* Runs the trace's current kernel, whose streams stand at their beginning, through the sink. */
enum pb_status pb_schedule_run(const struct pb_trace *trace,
                               const struct pb_schedule_options *options,
                               const struct pb_access_sink *sink,
                               struct pb_schedule_result *result_out, struct pb_error *err);

#endif
