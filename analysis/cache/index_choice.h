/*
 * Which index is the cache's own, of those that keep all pairs of lines of one set together.
 *
 * The finest modulo and the finest xor (conflict.h) are always there; each may be finer than the
 * cache's own, where its policy showed parts of sets only, or coarser, where the cache's own is of
 * neither shape. What the laps showed of the sets must agree with it.
 */
#ifndef PB_ANALYSIS_CACHE_INDEX_CHOICE_H
#define PB_ANALYSIS_CACHE_INDEX_CHOICE_H

#include "analysis/cache/conflict.h"

/* All that the laps say. */
struct pb_index_view {
    struct pb_conflicts conflicts;
    struct pb_partition partition;
    struct pb_index_fit modulo, linear;
    bool shorter; /* the array leaves some room in the cache */
};

/* The finer index; of two as fine that with fewer strays, then the modulo. *fit_out is NULL where
 * none holds. PB_NO_MEMORY. */
enum pb_status pb_index_choose(const struct pb_index_view *view,
                               const struct pb_index_fit **fit_out, struct pb_error *err);

/* Whether all lines may lie in one set. */
bool pb_index_could_be_one_set(const struct pb_index_view *view);

/* Whether the partition shows whole sets, whatever their index. */
bool pb_index_are_whole_sets(const struct pb_index_view *view);

#endif
