/*
 * One cache level as a recording shows it: what its hits and its misses look like.
 *
 * Capacity and line read the same phases: "reference" (a small array by the level's path, and for
 * L1 also past it) and "miss" (loads the level cannot have). Without a "miss" phase, the walk with
 * the largest share of slow accesses shows the misses.
 */
#ifndef PB_ANALYSIS_LEVEL_H
#define PB_ANALYSIS_LEVEL_H

#include "analysis/classes.h"
#include "analysis/inference.h"

/* How a level is reached. */
struct pb_level_path {
    const char *memory; /* l1, l2 */
    const char *path;   /* loads that it caches */
    const char *past;   /* loads that skip it; NULL: there are none */
};

struct pb_level {
    const struct pb_level_path *way;
    const struct pb_series *series;
    struct pb_sample hits;   /* of the reference, cycles less overhead */
    struct pb_sample misses; /* accesses among which are misses; may be empty */
    struct pb_classes classes;
    bool classified; /* false: nothing in the recording looks like a miss */
};

/*
 * Looks at a recording of the case's memory. pb_level_clear() it.
 *
 * PB_NOT_FOUND  no reference, or the level does not cache these loads; err says which
 */
enum pb_status pb_level_open(const struct pb_case *at, struct pb_level *level_out,
                             struct pb_error *err);

/* Frees what the level owns; NULL is allowed. */
void pb_level_clear(struct pb_level *level);

/* Tally of the reference: how often a hit looks like a miss. Only of a classified level. */
struct pb_tally pb_level_background(const struct pb_level *level);

#endif
