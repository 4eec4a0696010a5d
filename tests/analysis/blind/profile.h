/*
 * Random simulated devices whose truth the inference must find again.
 *
 * A random profile is made from a seed: caches, TLBs, shared memory, registers of pending misses
 * and noise, over the ranges that real devices and the papers span. It is written as a profile of
 * the simulator; the truth stays here.
 */
#ifndef PB_TESTS_BLIND_PROFILE_H
#define PB_TESTS_BLIND_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLIND_MASKS_MAX = 16, BLIND_WAYS_MAX = 32, BLIND_SETS_MAX = 32 };

struct blind_cache {
    const char *id, *paths; /* of the profile; paths as JSON */
    uint64_t line_bytes, sector_bytes;
    uint32_t sets, ways;
    uint32_t more_ways, more_every; /* of the last of so many sets each; 0: of two */
    bool is_xor;
    uint64_t masks[BLIND_MASKS_MAX];
    size_t mask_count;
    const char *policy;
    uint32_t weights[BLIND_WAYS_MAX]; /* of "weighted" */
    double latency_cycles;
    uint64_t prefetch_bytes;
    bool is_first_walk_only; /* what it prefetches */
    bool skips_tlb;          /* a hit */
    uint32_t detour_cycles;  /* of a hit under a TLB miss */
    uint32_t spread_cycles;  /* between the ways to its nearest and farthest line */
    uint32_t miss_cycles;    /* that looking it up in vain adds */
    bool is_unified;         /* its store holds shared memory, too */
};

struct blind_tlb {
    uint64_t span_bytes;
    uint64_t page_bytes; /* 0: the span, or 2 MiB where that is more */
    uint32_t
        ways[BLIND_SETS_MAX]; /* of one set each, in turn; hashed ones are all like the first */
    size_t sets;
    uint64_t masks[BLIND_MASKS_MAX];
    size_t mask_count; /* 0: not hashed */
    double penalty_cycles;
    const char *policy; /* NULL: lru */
};

enum {
    BLIND_L1,
    BLIND_TEXTURE,
    BLIND_L2,
    BLIND_FOURTH,
    BLIND_CONSTANT,
    BLIND_SECOND_CONSTANT,
    BLIND_CACHES
};
enum { BLIND_CONFLICTS = 5, BLIND_TLBS = 3, BLIND_GPCS_MAX = 8, BLIND_FAULTS_MAX = 2 };

/* Two sides of L2 and their slices; no far_cycles: the device has none. */
struct blind_sides {
    double far_cycles;
    uint64_t mask;
    uint32_t slices, spread_cycles; /* slices 1: nothing distinguishes lines of a side */
    uint32_t gpc_sms[BLIND_GPCS_MAX], gpc_count;
    int gpc_cycles[BLIND_GPCS_MAX]; /* that the way to all behind the SMs of a GPC adds */
};

/* What all SMs do at once, links, and a fault of an SM; see parallel.h. */
struct blind_parallel {
    bool is_set;
    double knee_share, slope, saturated_factor;
    double sm_bytes_per_cycle, l2_bytes_per_cycle, shared_bytes_per_cycle;
    uint64_t shared_bytes;
    double address_per_cycle, line_per_cycle, spread_per_cycle, far_cost;
    double persisting_share, bulk_cycles; /* 0: the device cannot do that */
    double own_cycles, cluster_cycles, cluster_spread_cycles;
    double own_bytes_per_cycle, cluster_bytes_per_cycle;
    uint32_t cluster_max; /* 0: none */
    uint64_t far_bytes;   /* 0: the far half holds nothing beyond the near one */
    uint32_t pcie_generation, pcie_width;
    double host_us, pageable_share;
    uint32_t devices; /* of the node; 1: no peer */
    double peer_bytes_per_s, peer_us, peer_both_share, peer_load_ns;
    int flip_sm; /* that computes wrongly; -1: none */
    double flip_probability;
};

/* A fault of the device, by its name for the simulator. */
struct blind_fault {
    const char *name;
    double value;
    uint32_t sm;     /* of faults of one SM */
    uint32_t cycles; /* of a tail */
};

struct blind_profile {
    uint64_t seed;
    const char *compute_capability; /* NULL: 5.2 */
    uint32_t overhead_cycles;
    double clock_mhz;
    uint64_t memory_bytes;
    uint32_t sm_count;
    struct blind_cache caches[BLIND_CACHES]; /* without a line: the device has none */
    struct blind_tlb tlbs[BLIND_TLBS];       /* without a span: none */
    struct blind_sides sides;
    bool has_clusters; /* CTAs of a cluster show GPCs */
    double dram_cycles;
    double bandwidth_bytes_per_s, theoretical_bytes_per_s;
    uint32_t banks;                                                       /* 0: 32 */
    uint32_t bank_bytes, shared_cycles, conflict_cycles[BLIND_CONFLICTS]; /* 2, 4, 8, 16, 32 ways */
    uint32_t per_warp, per_sm;
    uint32_t jitter_cycles, spike_cycles;
    uint32_t burst_loads; /* 0: spikes come by themselves */
    double spike_probability;
    struct blind_parallel parallel;
    uint32_t tpc_sms;                  /* 0: 2, as by default */
    double tpc_slowdown, gpc_slowdown; /* 0: 1 */
    struct blind_fault faults[BLIND_FAULTS_MAX];
    size_t fault_count;
};

/*
 * Seeds from here on draw more widely: levels of translation with sets of any sizes in any order,
 * also the first one, entries of either span in each; hashes of many bits; latencies close to each
 * other; wider banks; more spikes.
 */
enum { BLIND_WIDE_FIRST = 1000000 };

/*
 * And from here on with many sets of the second level of translation, of which a hash of address
 * bits chooses, as on NVIDIA's since Ampere; with more memory than it reaches, or with less.
 */
enum { BLIND_HASHED_FIRST = 2000000 };

/*
 * And from here on as widely as devices of any maker and year could be, see broad.c: caches, TLB
 * levels, sides and prefetchers that are there or not, L2s of 64 KiB to 128 MiB, 16 MiB to 16 GiB
 * of memory, 1 to 160 SMs, pages of 64 KiB to 1 GiB, heavy noise.
 */
enum { BLIND_BROAD_FIRST = 3000000 };

/* And from here on also with what all SMs do at once, clusters, links, an SM that computes wrongly.
 */
enum { BLIND_PARALLEL_FIRST = 5900000 };

/* And from here on with TLB levels of any replacement policy. */
enum { BLIND_TLB_POLICIES_FIRST = 6460000 };

/* And from here on of kinds that were never drawn before, see unusual.c. */
enum { BLIND_UNUSUAL_FIRST = 20000000 };

/* And from here on also of any compute capability, with a second cache of constants, and with L1s
 * of unequal sets.
 */
enum { BLIND_UNEQUAL_FIRST = 21000000 };

/* And from here on with any cache of unequal sets. */
enum { BLIND_UNEQUAL_ANY_FIRST = 22000000 };

/* And from here on changed once more, see rare.c. */
enum { BLIND_RARE_FIRST = 30000000 };

/* And from here on changed once more, see strange.c. */
enum { BLIND_STRANGE_FIRST = 40000000 };

/* And from here on also in conflict costs, policies, small pages and limits, see strange.c. */
enum { BLIND_STRANGER_FIRST = 41000000 };

/* And from here on as unusual.c draws them, changed by faults and in fractions, see impaired.c. */
enum { BLIND_IMPAIRED_FIRST = 50000000 };

/* And from here on as unusual.c draws them, with numbers far from any device's, see extreme.c. */
enum { BLIND_EXTREME_FIRST = 60000000 };

/* And from here on as broad.c draws them, with lines of L2 that are up to 96 cycles apart. */
enum { BLIND_SLICED_FIRST = 70000000 };

/* And from here on as broad.c draws them, with spikes in bursts, as others' traffic makes them. */
enum { BLIND_BUSY_FIRST = 80000000 };

/* And from here on as broad.c draws them, with one thing that hides another, see hidden.c. */
enum { BLIND_HIDDEN_FIRST = 90000000 };

/* Of a set of the cache. */
uint32_t blind_ways(const struct blind_cache *cache, uint32_t set);

void blind_draw(uint64_t seed, struct blind_profile *profile_out);

/* As above, for seeds from BLIND_BROAD_FIRST on. */
void blind_draw_broad(uint64_t seed, struct blind_profile *profile_out);

/* Change one that was drawn so; the second after the first. */
void blind_draw_unusual(struct blind_profile *profile);
void blind_draw_rare(struct blind_profile *profile);
void blind_draw_strange(struct blind_profile *profile);
void blind_draw_impaired(struct blind_profile *profile);
void blind_draw_extreme(struct blind_profile *profile);
void blind_draw_hidden(struct blind_profile *profile);

/* One fault as the simulator reads it. */
void blind_fault_text(const struct blind_fault *fault, char text_out[64]);

/* Changes a profile into what the device is with its faults. */
void blind_apply_faults(struct blind_profile *profile);

uint32_t blind_banks(const struct blind_profile *profile);
uint64_t blind_cache_bytes(const struct blind_cache *cache);
uint32_t blind_tlb_entries(const struct blind_tlb *tlb);
uint64_t blind_tlb_page_bytes(const struct blind_tlb *tlb);
uint32_t blind_cluster_max(const struct blind_profile *profile); /* CTAs; 0: no clusters */
double blind_shared_peak(const struct blind_profile *profile);   /* byte/cycle of an SM */

/* Writes it for the simulator; 0, or -1 when the file cannot be written. */
int blind_write(const struct blind_profile *profile, const char *path);

#endif
