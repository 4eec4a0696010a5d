/*
 * Private to the battery: looking for the size at which a cache begins to miss.
 *
 * The search only decides where to measure. Everything it looks at is recorded, and what the cache
 * is, the analysis infers from the record.
 */
#ifndef PB_BATTERY_SEARCH_H
#define PB_BATTERY_SEARCH_H

#include "battery/chase.h"

/* One cache: how to reach it, how to pass it by, and how far to look. */
struct pb_target {
    const char *name; /* as the parameters call it */
    enum pb_path path;
    enum pb_path
        bypass_path; /* the same array past this cache; path itself: there is no way past */
    bool chip_wide;  /* warmed by all SMs and emptied by a flush; else empty at every launch */
    bool is_inner;   /* what it misses goes to a cache that no path reaches alone */
    uint64_t stride_bytes; /* of the search; 0: 32, or 128 where passes are sampled */
    uint64_t small_bytes;  /* surely fits */
    uint64_t first_bytes;  /* of the coarse sweep */
    uint64_t limit_bytes;  /* of the coarse sweep; 0: by what the driver says of L2 */
};

enum { PB_SEARCH_TLB_LOADS = 8 }; /* warm loads of a chase whose cache is full already */

extern const struct pb_target pb_targets[PB_CACHE_COUNT];

struct pb_search {
    enum pb_cache cache;
    const struct pb_target *target;
    bool exact; /* whole passes recorded; else samples in random order */
    uint64_t stride_bytes;
    uint64_t small_bytes;   /* surely fits */
    uint64_t limit_bytes;   /* of the coarse sweep */
    int64_t carveout_bytes; /* shared memory set aside; 0: the least that works */
    uint64_t base_bytes;    /* where the array begins */
    const char *phase;      /* of all chases that look for the edge; NULL: each step's own */
    double hit_cycles;
    double miss_low_cycles, miss_high_cycles; /* where this cache's misses lie */
    uint64_t fits_bytes;                      /* largest footprint seen without misses */
    uint64_t overflows_bytes; /* smallest footprint seen with misses; 0: none up to the limit */
};

/* So many pages of PB_PAGE_BYTES, or as many as half of the free memory holds; at least one. */
uint64_t pb_search_pages(const struct pb_session *session, uint64_t most);

/* What kind of sweep suits this cache on this device. */
void pb_search_begin(const struct pb_session *session, enum pb_cache cache,
                     struct pb_search *search);

/*
 * Phase "reference": hits by this cache's path, and the same array past it; phase "miss": loads
 * that it cannot have; phase "growing": where L2 is smaller than the driver's size lets expect.
 * PB_UNSUPPORTED: nothing on the way caches this path.
 */
enum pb_status pb_search_references(struct pb_session *session, struct pb_search *search,
                                    struct pb_recording *recording, struct pb_error *err);

/* Phases "coarse" and "bisect": sets fits_bytes and overflows_bytes. */
enum pb_status pb_search_edge(struct pb_session *session, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err);

/*
 * Looks for the edge again, near fits_bytes, where it is known about: in bisecting and confirming
 * steps alone. Sets fits_bytes and overflows_bytes. PB_NOT_FOUND: misses at the smallest footprint.
 */
enum pb_status pb_search_edge_again(struct pb_session *session, struct pb_search *search,
                                    struct pb_recording *recording, struct pb_error *err);

/*
 * The chases of line.c: cold, overflow and stride. Looks for the edge where session->hints lacks
 * it, and keeps edge and line there; both stay 0 where nothing overflows.
 */
enum pb_status pb_search_line(struct pb_session *session, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err);

/*
 * A chase beyond the edge of a cache that is too large to be recorded: phase "sampled" a few
 * thousand slots of all of it, phase "overflow" some stretches between hits and misses, slot by
 * slot. *result_out: the latter; its count is 0 where all samples are alike.
 */
enum pb_status pb_search_sampled(struct pb_session *session, const struct pb_search *search,
                                 uint64_t footprint_bytes, uint64_t stride_bytes,
                                 struct pb_recording *recording, struct pb_chase_result *result_out,
                                 struct pb_error *err);

/*
 * Begins a search of a cache whose edge and line an earlier test has found, or finds them here and
 * now: then fits_bytes is the edge and stride_bytes the line. PB_UNSUPPORTED: it has no edge.
 */
enum pb_status pb_search_from_hints(struct pb_session *session, enum pb_cache cache,
                                    struct pb_search *search, struct pb_recording *recording,
                                    struct pb_error *err);

/* Does a stamped latency lie where this cache's misses do? */
bool pb_search_is_miss(const struct pb_session *session, const struct pb_search *search,
                       uint32_t latency_cycles);

/* A steady-state chase at this footprint and stride, a whole pass or a sample of one. */
struct pb_chase_spec pb_search_steady(const struct pb_search *search, const char *phase,
                                      uint64_t footprint_bytes, uint64_t stride_bytes);

#endif
