/*
 * What answers a kernel's accesses: an L1 for each SM and one L2, in time, and the account of it.
 *
 * The structure and the latencies are those of a device (struct pb_machine); N14's extensions can
 * be left out one by one. Coalescing is by distinct sectors of an access of a warp.
 */
#ifndef PB_ANALYSIS_KERNEL_MEMORY_H
#define PB_ANALYSIS_KERNEL_MEMORY_H

#include "analysis/kernel/schedule.h"
#include "analysis/model/hierarchy.h"
#include "analysis/model/reuse.h"

/* What a store does to the L1. It always goes on to L2, where it allocates. */
enum pb_store_policy {
    PB_STORE_UPDATE,     /* changes sectors that are there, allocates none */
    PB_STORE_INVALIDATE, /* takes them away */
    PB_STORE_ALLOCATE    /* leaves them there */
};

/* A latency and its spread: minimum + |N(0, sigma^2)| (N14 4.2), in cycles of the SM. */
struct pb_latency {
    double minimum, sigma;
};

struct pb_machine_level {
    const struct pb_model_level *level; /* of the device; NULL: there is none */
    uint64_t fits_bytes;                /* beside the kernel's carve-out */
    struct pb_model_shape shape;        /* set_count > 0: another cache in its place */
    /*
     * When a missing line takes its place: on arrival, as N14 has it for Fermi; else when it is
     * missed, as Hopper does.
     */
    bool fills_on_arrival;
    /* The index is known for low address bits only; the part of the others in it is random. */
    bool draws_high_bits;
};

enum { PB_SIDES_MAX = 2, PB_GPCS_MAX = 16 };

struct pb_machine {
    char name[PB_TEXT_LENGTH];
    const struct pb_model_hierarchy *hierarchy; /* of which the levels are */
    uint32_t sm_count;
    uint32_t threads_per_sm, blocks_per_sm; /* that can be active */
    uint32_t registers_per_sm;              /* 0: not known */
    uint64_t shared_per_sm;                 /* bytes; 0: not known */
    uint64_t shared_reserved_per_block;     /* bytes that the driver takes of each block */
    uint64_t shared_least;                  /* bytes that it sets aside in any case */
    uint64_t home_mask;                     /* of pb_execution */
    struct pb_machine_level l1, l2;
    enum pb_store_policy l1_stores;
    bool l1_keeps_hits; /* PB_MODEL_KEEP_HITS where its policy is not determined, else LRU */
    struct pb_latency l1_hit, l2_hit, dram; /* in all, from the SM and back */
    /*
     * Halves of L2: an SM looks its own one up, and what it misses there comes from the other half
     * where that is at home. 1: L2 is one.
     */
    unsigned l2_sides;
    struct pb_latency l2_far;
    bool l2_merges_requests; /* of SMs of one GPC for what is on its way, before L2 sees them */
    uint32_t gpc_count;      /* at most PB_GPCS_MAX */
    /* Where the SMs of the GPU of this uuid are, as far as that was measured. On any other GPU the
     * same number is another SM: there GPCs are assumed, and sides random. */
    const struct pb_topology *topology; /* NULL: nothing was */
    char device[PB_TEXT_LENGTH];
    uint32_t mshr_per_sm; /* outstanding misses; 0: no limit is known */
    double cycles_per_ns; /* of the SMs' clock; 0: not known */
    double line_cycles;   /* that each further line of an access keeps L1 busy; at least 0 */
};

/* N14's extensions of the theory of reuse distances (4.1 to 4.5). */
enum pb_extension {
    PB_EXTENSION_HIERARCHY,     /* threads, warps, blocks and SMs run side by side */
    PB_EXTENSION_LATENCY,       /* accesses take time: lines are in flight */
    PB_EXTENSION_ASSOCIATIVITY, /* sets, index, policy; without: fully associative, LRU */
    PB_EXTENSION_MSHR,          /* outstanding misses are limited */
    PB_EXTENSION_DIVERGENCE,    /* warps wait for their answers */
    PB_EXTENSION_COUNT
};

/* "hierarchy", "latency", … and back; _COUNT: no such word. */
const char *pb_extension_name(enum pb_extension extension);
enum pb_extension pb_extension_parse(const char *word);

enum pb_miss_kind {
    PB_MISS_COMPULSORY, /* the first access to the sector */
    PB_MISS_CAPACITY,   /* a fully associative LRU cache of the same size misses, too */
    PB_MISS_CONFLICT,   /* it would have hit: sets, index or policy */
    PB_MISS_KIND_COUNT
};

/*
 * Of one level, in sectors of L1. in_flight: missed before and not arrived (N14: latency misses),
 * which the hardware's counters have among their hits.
 */
struct pb_level_counts {
    uint64_t hits, in_flight, misses[PB_MISS_KIND_COUNT];
};

/* Of an instruction, an allocation, or all. */
struct pb_access_counts {
    uint64_t accesses;              /* of warps */
    uint64_t sectors, lines, bytes; /* distinct ones of an access; bytes that lanes requested */
    struct pb_level_counts l1, l2;  /* reads; what bypasses L1 has no count there */
    uint64_t
        l2_merged; /* sectors that L1 missed and L2 did not see: merged with outstanding ones */
};

/* What an instruction's lanes and its successive accesses in a warp are apart, most of the time. */
struct pb_stride {
    int64_t bytes;
    uint64_t weight; /* 0: no one value prevails */
};

struct pb_instruction_counts {
    struct pb_access_counts counts;
    struct pb_stride lane, step;
};

/* Rows of an allocation laid out anew, to see what another pitch would do. */
struct pb_pitch_change {
    uint64_t begin, end;    /* addresses; begin == end: no change */
    uint64_t pitch_bytes;   /* of the rows as they are */
    uint64_t padding_bytes; /* that each row gets */
};

/* One line of a load: when it was looked up, and what was found. */
struct pb_observation {
    double time;
    uint64_t line;
    uint64_t distance; /* reuse distance in lines, PB_MODEL_COLD; without wants_reuse 0 */
    bool is_hit, is_in_flight;
};

struct pb_memory_options {
    uint64_t seed;
    bool without[PB_EXTENSION_COUNT];
    bool has_no_classes; /* misses need no kind: all are counted as capacity misses */
    bool wants_reuse;    /* histogram of reuse distances of L1 */
    struct pb_pitch_change change;
    /* Called for each line that a load looks up in L1, before it takes effect; NULL: nothing. */
    void (*observe)(void *context, const struct pb_observation *observation);
    void *observe_context;
};

struct pb_memory;

/* Where the SMs that ran the kernel are; NULL: not measured, or of another GPU. */
const struct pb_topology *pb_memory_topology(const struct pb_machine *machine,
                                             const struct pb_kernel *kernel);

/* For one kernel, all caches empty. sm_count, warp_slots: as the schedule has them. */
enum pb_status pb_memory_create(const struct pb_machine *machine,
                                const struct pb_memory_options *options,
                                const struct pb_kernel *kernel, uint32_t sm_count,
                                uint32_t warp_slots, struct pb_memory **memory_out,
                                struct pb_error *err);
void pb_memory_destroy(struct pb_memory *memory); /* NULL is allowed */

/* For struct pb_access_sink; context is the struct pb_memory. */
enum pb_status pb_memory_access(void *memory, uint32_t sm, uint32_t warp_slot,
                                const struct pb_access *access, double time,
                                struct pb_access_outcome *outcome_out, struct pb_error *err);

/* A fence of the device, or an acquire: L1 of this SM is empty. */
void pb_memory_empty_l1(struct pb_memory *memory, uint32_t sm);

/* By instruction [count], and by allocation [kernel->allocation_count], the last one: no known. */
const struct pb_instruction_counts *pb_memory_instructions(const struct pb_memory *memory,
                                                           size_t *count_out);
const struct pb_access_counts *pb_memory_allocations(const struct pb_memory *memory);

/* The histogram over all SMs, where it was wanted; the caller's to free(). PB_NO_MEMORY */
enum pb_status pb_memory_take_reuse(struct pb_memory *memory, struct pb_model_histogram **reuse_out,
                                    struct pb_error *err);

#endif
