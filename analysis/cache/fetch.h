/*
 * What one miss brings in: the sector, and what is prefetched behind it.
 *
 * Two passes over an empty cache, word by word: from the start, where every miss brings a sector
 * and what is prefetched; and from the end, where what is prefetched was loaded before, so that
 * every sector misses. A hypothesis predicts each access of both.
 */
#ifndef PB_ANALYSIS_CACHE_FETCH_H
#define PB_ANALYSIS_CACHE_FETCH_H

#include "analysis/cache/level.h"

struct pb_fetch {
    uint64_t sector_bytes;   /* 0: not found */
    uint64_t prefetch_bytes; /* behind it */
    bool has_end;            /* of what is fetched ahead: it was seen, else there may be more */
    uint64_t step_bytes;     /* of the passes: nothing smaller shows; 0: there are none */
    double posterior;
    size_t agreeing, predicted; /* misses that were predicted, and those that are */
    size_t misses, loads;       /* of the pass from the start */
};

struct pb_fetch pb_fetch_find(const struct pb_cache_level *level);

#endif
