/*
 * A device as kernels meet it: the measured hierarchy, and how its SMs run blocks and warps.
 *
 * The hierarchy is measured. How many threads, blocks and registers an SM takes, what a store does
 * to L1, and when a missing line takes its place follow from the compute capability by a table; a
 * document may state them in an object "execution".
 */
#ifndef PB_ANALYSIS_KERNEL_MACHINE_H
#define PB_ANALYSIS_KERNEL_MACHINE_H

#include "analysis/kernel/memory.h"

struct pb_execution {
    uint32_t compute_capability; /* 10 * major + minor; 0: not known */
    uint32_t sm_count;           /* 0: not known */
    uint32_t threads_per_sm, blocks_per_sm, registers_per_sm;
    uint64_t shared_per_sm, shared_reserved_per_block;
    bool l1_fills_on_arrival;
    enum pb_store_policy l1_stores;
    bool l2_merges_requests;
    uint32_t gpc_count;
    double l2_far_cycles; /* of a hit in the half that is not the SM's; NaN: L2 is one */
    bool draws_high_bits; /* the hierarchy was measured; see pb_machine_make() */
    double latency_sigma; /* share of a latency; NaN: as the hierarchy has it */
    double line_cycles;
    double clock_mhz;      /* of the SMs; 0: not known */
    bool l1_keeps_hits;    /* PB_MODEL_KEEP_HITS where L1's policy is not determined, else LRU */
    uint64_t shared_least; /* bytes that the driver sets aside in any case */
    uint64_t home_mask;    /* parity of address bits: half of L2, within 2 MiB; 0: not known */
};

/* What is known of a compute capability; 0 or one that is not in the table: the newest before it.
 */
void pb_execution_of(uint32_t compute_capability, struct pb_execution *execution_out);

/*
 * The same of a document: its "compute_capability", "sm_count", "shared" and "execution", each of
 * which may be missing. PB_INVALID names the file and the JSON path.
 */
enum pb_status pb_execution_from_json(const struct pb_json *root,
                                      struct pb_execution *execution_out, struct pb_error *err);

/*
 * hierarchy  is referred to, not copied. Where it was measured, and L1 holds fewer lines than its
 *            sets have, its index is known for the address bits of the array that was loaded alone
 *            (docs/parameters.md): the part of higher bits is random.
 *
 * PB_INVALID  loads find no cache whose line is known, or its latency is not
 */
enum pb_status pb_machine_make(const struct pb_model_hierarchy *hierarchy,
                               const struct pb_execution *execution, const char *name,
                               struct pb_machine *machine_out, struct pb_error *err);

/* The device's own name, and where its SMs are; `topology` is referred to, not copied. */
void pb_machine_set_topology(struct pb_machine *machine, const char *uuid,
                             const struct pb_topology *topology);

#endif
