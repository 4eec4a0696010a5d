/*
 * Private to the battery: looking for the size at which a cache begins to miss.
 *
 * The search only decides where to measure. Everything it looks at is recorded, and what the cache
 * is, the analysis infers from the record.
 */
#ifndef PB_BATTERY_SEARCH_H
#define PB_BATTERY_SEARCH_H

#include "battery/walk.h"

enum pb_level { PB_LEVEL_L1, PB_LEVEL_L2 };

struct pb_search {
    enum pb_level level;
    enum pb_path path;
    bool prefill; /* L2 is warmed by all SMs, L1 by the chase itself */
    bool exact;   /* whole laps recorded; else samples in random order */
    uint64_t stride_bytes;
    uint64_t limit_bytes; /* of the coarse sweep */
    double hit_cycles;
    double miss_low_cycles, miss_high_cycles; /* where this level's misses lie */
    uint64_t fits_bytes;                      /* largest footprint seen without misses */
    uint64_t overflows_bytes; /* smallest footprint seen with misses; 0: none up to the limit */
};

/* What kind of sweep suits this level on this device. */
void pb_search_begin(const struct pb_bench *bench, enum pb_level level, struct pb_search *search);

/*
 * Phase "reference": hits by this level's path, and for L1 the same array past L1; phase "miss":
 * loads that this level cannot have. PB_UNSUPPORTED: the level does not cache this path.
 */
enum pb_status pb_search_references(struct pb_bench *bench, struct pb_search *search,
                                    struct pb_recording *recording, struct pb_error *err);

/* Phases "coarse" and "bisect": sets fits_bytes and overflows_bytes. */
enum pb_status pb_search_edge(struct pb_bench *bench, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err);

/* A steady-state walk at this footprint and stride, a whole lap or a sample of one. */
struct pb_walk pb_search_steady(const struct pb_search *search, const char *phase,
                                uint64_t footprint_bytes, uint64_t stride_bytes);

#endif
