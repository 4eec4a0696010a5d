/*
 * One kernel of a trace through one device: what its accesses find in the caches, and why.
 *
 * A prediction is one run of the model. What a change would do (another pitch, carve-out, number of
 * active blocks, one extension less) is another run of it.
 */
#ifndef PB_ANALYSIS_KERNEL_PREDICT_H
#define PB_ANALYSIS_KERNEL_PREDICT_H

#include "analysis/kernel/memory.h"
#include "analysis/model/reuse.h"

struct pb_predict_options {
    struct pb_memory_options memory;
    uint32_t block_limit;     /* active blocks of an SM; 0: as resources allow */
    int64_t carveout_bytes;   /* -1: the kernel's own, or what its shared memory needs */
    struct pb_model_shape l1; /* set_count > 0: this cache in place of the device's L1 */
    void (*progress)(void *context, uint64_t accesses);
    void *progress_context;
};

struct pb_prediction {
    struct pb_schedule_result schedule;
    uint32_t block_limit;    /* active blocks of an SM */
    uint64_t carveout_bytes; /* shared memory that L1 had to give up */
    uint64_t l1_bytes;
    /* Reads that go to registers and are global, as the counters …_mem_global_op_ld count them. */
    struct pb_access_counts copies; /* asynchronous ones to shared memory */
    struct pb_access_counts loads;
    struct pb_access_counts all_reads;          /* those, and local, asynchronous and bulk ones */
    uint64_t stores, atomics;                   /* of warps */
    struct pb_instruction_counts *instructions; /* [instruction_count] owned */
    size_t instruction_count;
    struct pb_access_counts *allocations; /* [allocation_count + 1] owned; the last: no known one */
    size_t allocation_count;
    struct pb_model_histogram *reuse; /* owned; of L1's lines, loads of all SMs; NULL: not wanted */
};

/* How many blocks of the kernel can be active on an SM. */
uint32_t pb_machine_block_limit(const struct pb_machine *machine, const struct pb_kernel *kernel);

/* Runs the trace's current kernel from its beginning. pb_prediction_clear() it. */
enum pb_status pb_predict(const struct pb_trace *trace, const struct pb_machine *machine,
                          const struct pb_predict_options *options,
                          struct pb_prediction *prediction_out, struct pb_error *err);
void pb_prediction_clear(struct pb_prediction *prediction); /* NULL is allowed */

uint64_t pb_counts_misses(const struct pb_level_counts *counts);
/* Hits and lookups in flight by all lookups, 0 to 1; NaN without lookups. */
double pb_counts_hit_rate(const struct pb_level_counts *counts);

#endif
