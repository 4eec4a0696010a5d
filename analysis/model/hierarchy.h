/*
 * A GPU's memory hierarchy as the forward model takes it: caches by path, TLBs, latencies.
 *
 * It comes from what plumb-analyze stated of a device (its parameters, or its JSON report), or from
 * a simulated device's profile (design 3.4). What was not determined stays so: `missing` names the
 * parameter, and a cache made of such a level says of which lookups it is certain.
 */
#ifndef PB_ANALYSIS_MODEL_HIERARCHY_H
#define PB_ANALYSIS_MODEL_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/cache.h"
#include "analysis/parameter.h"
#include "core/json.h"

/* The way of a load through the caches. */
enum pb_model_path {
    PB_MODEL_GLOBAL_CA, /* ld.ca: the default of loads */
    PB_MODEL_GLOBAL_CG, /* ld.cg: no L1 */
    PB_MODEL_READONLY,  /* ld.nc */
    PB_MODEL_TEXTURE,
    PB_MODEL_CONSTANT,
    PB_MODEL_PATH_COUNT
};

/* "global_ca", … as in files; _COUNT: no such path. */
enum pb_model_path pb_model_path_parse(const char *name);

/* Cycles: the typical value, and what SMs, slices or halves make of it. NaN: not determined. */
struct pb_model_latency {
    double low, cycles, high;
};

enum {
    PB_MODEL_CACHES_MAX = 8, /* caches of a device */
    PB_MODEL_DEPTH_MAX = 3,  /* caches behind each other on a path */
    PB_MODEL_TLBS_MAX = 4
};

/* One cache, or one TLB level. */
struct pb_model_level {
    char memory[PB_NAME_LENGTH]; /* l1, l2, tlb_l1, …; of a profile the cache's id */
    struct pb_model_shape shape; /* its pointers are into the two below */
    uint32_t *way_counts;        /* owned; NULL: all sets alike */
    double *way_weights;         /* owned */
    bool has_sets;               /* sets, ways and index are determined */
    bool has_policy;
    bool is_unified; /* a shared-memory carve-out makes it smaller */
    bool is_tlb;
    bool is_chip_wide;                    /* one for all SMs */
    uint64_t fits_bytes;                  /* it holds so much of any array */
    uint64_t most_bytes;                  /* it holds no more of any; 0: not determined */
    uint64_t sure_bytes;                  /* it held no less in any test; 0: than fits_bytes */
    uint64_t prefetch_bytes;              /* a sequential miss brings so much with it */
    struct pb_model_latency latency;      /* of a hit, in all; of a TLB what missing it adds */
    struct pb_model_latency miss_latency; /* of what the next cache on its path answers */
    struct pb_model_latency far_latency;  /* of a hit in the other half of an L2 that has two */
    double crossing_cycles;       /* what the way to that half adds; NaN: not determined, or none */
    char missing[PB_TEXT_LENGTH]; /* the first parameter that is, "l1.policy"; empty: none */
};

struct pb_model_hierarchy {
    struct pb_model_level caches[PB_MODEL_CACHES_MAX];
    size_t cache_count;
    struct pb_model_level tlbs[PB_MODEL_TLBS_MAX];
    size_t tlb_count;
    /* Caches of each path, nearest first, as indices of caches; count 0: there is no such path. */
    struct pb_model_route {
        size_t count, caches[PB_MODEL_DEPTH_MAX];
    } routes[PB_MODEL_PATH_COUNT];
    struct pb_model_latency dram;
    size_t mshr_per_sm, mshr_per_warp; /* 0: not determined */
    /* Bytes of unified caches beside each carve-out, by rising carve-out. */
    uint64_t carveout_bytes[PB_LIST_MAX], carveout_size_bytes[PB_LIST_MAX];
    size_t carveout_count;
};

/* PB_NOT_FOUND: the parameters know no cache on any path. clear it in any case but an error. */
enum pb_status pb_model_hierarchy_from_parameters(const struct pb_parameters *parameters,
                                                  struct pb_model_hierarchy *hierarchy_out,
                                                  struct pb_error *err);

/*
 * A document with "devices" (plumb-analyze --json) or with "caches" (a profile).
 *
 * device  key of the report's device; NULL: its first
 *
 * PB_INVALID    names the file and the JSON path
 */
enum pb_status pb_model_hierarchy_from_json(const struct pb_json *root, const char *device,
                                            struct pb_model_hierarchy *hierarchy_out,
                                            struct pb_error *err);

/* Bytes that may run ahead of a cache's loads: by a path that may be L1's, what runs ahead of L1's.
 */
double pb_model_prefetch_bytes(const struct pb_parameters *parameters, const char *memory);

void pb_model_hierarchy_clear(struct pb_model_hierarchy *hierarchy); /* NULL is allowed */

/* The cache of that name, or NULL. */
const struct pb_model_level *pb_model_hierarchy_find(const struct pb_model_hierarchy *hierarchy,
                                                     const char *memory);

/* What a cache holds of any array beside that carve-out; the next larger one known where between.
 */
uint64_t pb_model_level_fits(const struct pb_model_hierarchy *hierarchy,
                             const struct pb_model_level *level, uint64_t carveout_bytes);

/* What stands in for a parameter that is not determined. */
enum pb_model_gap {
    PB_MODEL_UNCERTAIN, /* lookups that depend on it are not certain: for checks */
    PB_MODEL_ASSUME,    /* LRU, one set, fetched by line: for predictions */
};

/*
 * A cache that holds a line more than fits loses a few lines of many, and no index says which: so
 * much more than fits, as a part of it, is decided by the sets alone. Seen on an H200's L1, whose
 * store is full before its sets are: 1929 lines, of which 1928 fit, miss by 8 to 17.
 */
enum { PB_MODEL_SLACK = 256 };

/*
 * A cache of the level, empty. Without sets it is one set that holds what surely fits; where the
 * sets hold more than fits, it is limited to that. Both with the slack above.
 *
 * fits_bytes  of pb_model_level_fits()
 *
 * PB_NOT_FOUND  neither line nor size is determined; err names the parameter
 */
enum pb_status pb_model_level_open(const struct pb_model_level *level, uint64_t fits_bytes,
                                   enum pb_model_gap gap, uint64_t seed,
                                   struct pb_model_cache **cache_out, struct pb_error *err);

#endif
