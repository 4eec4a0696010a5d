/*
 * A simulated device as its profile describes it (design 3.4): truth that measurements are judged
 * by. Plain data; what it means in time and state is in memory.h, cache.h and the other headers
 * here.
 *
 * Beyond design 3.4 a profile may have these keys. All are optional, also within their objects
 * unless a comment below says otherwise; what is left out gets a default (profile_extra.c).
 *
 *   "caches": [{…, "miss_cycles": 16, "tlb_detour_cycles": 261, "skips_tlb": false}]
 *   "tlbs": [{…, "index": {"kind": "xor", "masks": ["0x2000000"]}}]
 *   "shared": {…, "achieved_bytes_per_cycle": 36.7}
 *   "l2_sides": {"far_latency_cycles": 414, "mask": "0xb3000",
 *                "gpc_sms": [16, 18], "slices": 96, "slice_spread_cycles": 24,
 *                "gpc_cycles": [3, -3]}
 *   "layout": {"tpc_sms": 2, "tpc_slowdown": 1.6, "gpc_slowdown": 1.0, "constant_slowdown": 1.0,
 *              "cluster_max": 16},
 *   "study": {"sync": {"write_cycles": 32, "barrier_cycles": 57, "warp_share": 0.02},
 *             "coalesce": {"group_lanes": 32, "line_cycles": 38, "miss_line_cycles": 46},
 *             "spill": {"variables": 64, "move_cycles": 52, "spilled_cycles": 619,
 *                       "warp_share": 0.05}}
 *   "link": {"pcie_generation": 3, "pcie_width": 16, "latency_us": 8, "pageable_share": 0.5,
 *            "peer_bytes_per_s": 4e11, "peer_latency_us": 3}
 */
#ifndef PB_DEVICE_SIM_PROFILE_H
#define PB_DEVICE_SIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/json.h"
#include "core/record.h"

enum {
    PB_SIM_CACHES_MAX = 16,
    PB_SIM_TLBS_MAX = 8,
    PB_SIM_MASKS_MAX = 22,    /* index bits of an xor index: up to 4 Mi sets */
    PB_SIM_SECTORS_MAX = 32,  /* sectors of a line */
    PB_SIM_GPCS_MAX = 32,     /* groups of SMs */
    PB_SIM_CONFLICT_STEPS = 5 /* 2-, 4-, 8-, 16- and 32-way */
};

enum pb_sim_index {
    PB_SIM_INDEX_MODULO, /* line number modulo sets */
    PB_SIM_INDEX_XOR,    /* bit i is the parity of address & masks[i] */
    PB_SIM_INDEX_DEALT,  /* TLBs: see cache.h */
};

enum pb_sim_policy {
    PB_SIM_POLICY_LRU,
    PB_SIM_POLICY_FIFO,
    PB_SIM_POLICY_PLRU,
    PB_SIM_POLICY_RANDOM,
    PB_SIM_POLICY_WEIGHTED,
    PB_SIM_POLICY_KEEP_HITS,
};

/* What a cache and a TLB have in common. A TLB's line is the span of one entry. */
struct pb_sim_shape {
    uint64_t line_bytes, sector_bytes; /* powers of two */
    uint32_t set_count;
    uint32_t *ways; /* [set_count] */
    enum pb_sim_index index;
    uint64_t masks[PB_SIM_MASKS_MAX];
    uint32_t mask_count;
    enum pb_sim_policy policy;
    double *weights; /* [ways[0]] of a weighted policy, else NULL */
};

/* What runs ahead of a stride, from the next level down. */
struct pb_sim_prefetch {
    uint64_t bytes; /* 0: nothing does */
    bool first_walk_only;
};

struct pb_sim_cache_spec {
    char id[PB_NAME_LENGTH];
    uint32_t paths; /* bit p set: path p goes through it, in the order of the profile */
    struct pb_sim_shape shape;
    double latency_cycles; /* of a hit, in all */
    struct pb_sim_prefetch prefetch;
    bool unified_with_shared;
    double line_spread_cycles; /* between the line that is nearest and the one that is farthest */
    double miss_cycles;        /* that looking it up in vain adds */
    double tlb_detour_cycles;  /* that a hit costs on top of any penalty of TLBs */
    bool skips_tlb;            /* a hit looks up no TLB */
};

struct pb_sim_tlb_spec {
    char id[PB_NAME_LENGTH];
    uint64_t page_bytes;
    struct pb_sim_shape shape;
    double penalty_cycles; /* what missing it adds */
};

struct pb_sim_dram_spec {
    double latency_cycles;
    double bandwidth_bytes_per_s, theoretical_bytes_per_s;
};

struct pb_sim_shared_spec {
    uint64_t bytes_per_sm;
    uint32_t banks, bank_bytes;
    double latency_cycles;
    double conflict_cycles[PB_SIM_CONFLICT_STEPS]; /* NaN: the profile leaves this step out */
    double peak_bytes_per_cycle;
    double achieved_bytes_per_cycle; /* the most that copies reach; the peak by default */
};

struct pb_sim_mshr_spec {
    uint32_t per_sm, per_warp;
};

/*
 * Two halves of the chip-wide cache that global loads reach. A line's home is the side that the
 * parity of address & mask gives; an SM's side is that of its GPC. See sides.h.
 */
struct pb_sim_sides_spec {
    double far_latency_cycles; /* of a hit in the other half; required, 0: no sides */
    uint64_t mask;             /* required */
    uint32_t gpc_count;
    uint32_t gpc_sms[PB_SIM_GPCS_MAX];  /* SMs of each: the first half of the list is on side 0 */
    double gpc_cycles[PB_SIM_GPCS_MAX]; /* that the way from a GPC to all behind its SMs adds */
    uint32_t slice_count;
    double slice_spread_cycles; /* between the nearest slice of an SM and the farthest */
    uint64_t far_bytes; /* that the other half holds for an SM, beyond the size of the cache */
};

/* What all SMs do at once; see parallel.c for the models. */
struct pb_sim_parallel_spec {
    double knee_share;         /* of the most traffic: from there on latency rises steeply */
    double slope;              /* by how much it rises before, over all of the traffic */
    double saturated_factor;   /* of the latency where traffic is all that can be */
    double l2_bytes_per_cycle; /* read by an SM from L2 while all read */
    double sm_bytes_per_cycle; /* by one alone */
    double atomic_address_per_cycle, atomic_line_per_cycle, atomic_spread_per_cycle;
    double atomic_far_cost;      /* 0: one SM adds to far lines as fast as to near ones; 1: as much
                                    slower as their latency is longer */
    double persisting_share;     /* of lines that L2 was requested to keep, kept; 0: it has no such
                                    request */
    double bulk_overhead_cycles; /* that a bulk copy takes beyond a load; 0: there are none */
    double own_shared_cycles;    /* one's own shared memory by the way of a cluster */
    double cluster_shared_cycles, cluster_shared_spread_cycles; /* another SM's */
    double own_shared_bytes_per_cycle, cluster_shared_bytes_per_cycle;
};

/* SMs that share a way to the rest of the chip; their GPCs are those of pb_sim_sides_spec. */
struct pb_sim_layout_spec {
    uint32_t tpc_sms;         /* neighbours by number */
    double tpc_slowdown;      /* of both, when two SMs of a TPC move data at the same time */
    double gpc_slowdown;      /* when two of a GPC do */
    double constant_slowdown; /* when two of a GPC read constants; below 1: they help each other */
    uint32_t cluster_max;     /* CTAs; 0: the device has no clusters */
};

/* F13 3.4.2 to 3.4.4: what shapes of a kernel cost. See study.h for the models. */
struct pb_sim_study_spec {
    double write_cycles;   /* of a write to global memory that nothing waits for */
    double barrier_cycles; /* that a barrier adds */
    double sync_warp_share;
    uint32_t group_lanes; /* lanes whose lines are served one after the other */
    double line_cycles, miss_line_cycles;
    uint32_t spill_variables; /* 8-byte variables that a thread keeps in registers */
    double move_cycles;       /* of a read and a write to variables in registers */
    double spilled_cycles;    /* that a spilled one adds */
    double spill_warp_share;
};

struct pb_sim_link_spec {
    uint32_t pcie_generation, pcie_width;
    double latency_us;     /* of a transfer of nothing */
    double pageable_share; /* of the bandwidth, where host memory is not locked */
    double peer_bytes_per_s;
    double peer_latency_us; /* of a copy of nothing */
    double peer_both_share; /* of that rate each way, where copy engines go both at once */
    double peer_load_ns;    /* that a load takes to a peer's L2 and back */
};

struct pb_sim_noise_spec {
    uint32_t jitter_cycles;
    double spike_probability;
    uint32_t spike_cycles;
    uint32_t burst_loads; /* 0: each spike by itself; else spikes come in bursts of so many loads */
};

struct pb_sim_profile {
    char name[PB_TEXT_LENGTH];
    char source[512];
    uint32_t compute_capability; /* 10 * major + minor */
    uint32_t sm_count;
    double clock_mhz;
    uint64_t memory_bytes;
    uint32_t clock_overhead_cycles;
    struct pb_sim_cache_spec caches[PB_SIM_CACHES_MAX];
    size_t cache_count;
    struct pb_sim_tlb_spec tlbs[PB_SIM_TLBS_MAX];
    size_t tlb_count;
    struct pb_sim_dram_spec dram;
    struct pb_sim_shared_spec shared;
    struct pb_sim_mshr_spec mshr;
    struct pb_sim_noise_spec noise;
    struct pb_sim_sides_spec sides;
    struct pb_sim_layout_spec layout;
    struct pb_sim_study_spec study;
    struct pb_sim_link_spec link;
    struct pb_sim_parallel_spec parallel;
};

/*
 * Reads a profile out of a document that is already loaded; pb_sim_profile_free() it.
 * PB_INVALID: a key is wrong, missing or unknown, or the parts contradict each other; err names
 * the file and the path.
 */
enum pb_status pb_sim_profile_read(const struct pb_json *root, struct pb_sim_profile **profile_out,
                                   struct pb_error *err);

/*
 * Loads a profile by name from $PLUMB_PROFILE_DIR, the installed folder or the source tree, in
 * this order, or from a file when the name holds a '/' or ends in ".json". NULL: the default.
 * PB_NOT_FOUND: no such profile; err lists where it was looked for.
 */
enum pb_status pb_sim_profile_load(const char *name, struct pb_sim_profile **profile_out,
                                   struct pb_error *err);

void pb_sim_profile_free(struct pb_sim_profile *profile); /* NULL is allowed */

/* Bytes that a cache of this shape holds, or a TLB covers. */
uint64_t pb_sim_shape_bytes(const struct pb_sim_shape *shape);

/* Used by profile.c alone: the arrays `caches` and `tlbs` (profile_cache.c) … */
struct pb_json_reader;
void pb_sim_profile_read_caches(struct pb_json_reader *reader, const struct pb_json *root,
                                struct pb_sim_profile *profile);
void pb_sim_profile_read_tlbs(struct pb_json_reader *reader, const struct pb_json *root,
                              struct pb_sim_profile *profile);
/* … and, after all else, the optional objects (profile_extra.c). */
void pb_sim_profile_read_extras(struct pb_json_reader *reader, const struct pb_json *root,
                                struct pb_sim_profile *profile);

#endif
