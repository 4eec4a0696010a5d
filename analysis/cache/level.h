/*
 * One cache level as a recording shows it: what its hits and its misses look like.
 *
 * Capacity and line read the same phases: "reference" (a small array by the level's path, and past
 * it where there is a way) and "miss" (loads the level cannot have). Of the other chases, those
 * that are slow most often show misses too.
 */
#ifndef PB_ANALYSIS_CACHE_LEVEL_H
#define PB_ANALYSIS_CACHE_LEVEL_H

#include "analysis/inference.h"
#include "analysis/statistics/classes.h"

/* How a level is reached. */
struct pb_level_path {
    const char *memory; /* l1, l2, readonly, … */
    const char *path;   /* loads that it caches */
    const char *past;   /* loads that skip it; NULL: there are none */
};

struct pb_cache_level {
    const struct pb_level_path *way;
    const struct pb_series *series;
    struct pb_sample hits;   /* of the reference, cycles less overhead */
    struct pb_sample misses; /* accesses most of which are misses; may be empty */
    struct pb_sample past;   /* of the reference past the level: what the next one answers in */
    /* Where loads past the level are answered sooner than any miss that was seen, `misses` are
     * these, which need not look this level up: what a miss takes at most; else INFINITY. */
    double miss_most;
    struct pb_classes classes;
    /*
     * In drawn orders, loads slower than hits but faster than those that surely miss: hits without
     * their translation, or what another cache answers. Misses are slower than this; 0: no such.
     */
    double between_cycles;
    bool classified; /* false: nothing in the recording looks like a miss */
};

/*
 * Looks at a recording of the case's memory. pb_level_clear() it.
 *
 * PB_NOT_FOUND  no reference, or the level does not cache these loads; err says which
 */
enum pb_status pb_level_open(const struct pb_case *at, struct pb_cache_level *level_out,
                             struct pb_error *err);

/* PB_NOT_FOUND: nothing in the recording looks like a miss. */
enum pb_status pb_level_check_classified(const struct pb_cache_level *level, struct pb_error *err);

/* Both, for what is read from hits and misses alone. */
enum pb_status pb_level_open_classified(const struct pb_case *at, struct pb_cache_level *level_out,
                                        struct pb_error *err);

/* Frees what the level owns; NULL is allowed. */
void pb_level_clear(struct pb_cache_level *level);

/*
 * Does no place of the reference miss again and again? Else its array is larger than the cache.
 * Only of a classified level.
 */
bool pb_level_reference_fits(const struct pb_cache_level *level);

/* Tally of the reference, without such places: how often a hit looks like a miss. Likewise. */
struct pb_tally pb_level_background(const struct pb_cache_level *level);

/*
 * Are the loads between hits and known misses noise? A few always are. More of them are where they
 * begin close above the hits and are fewer than these: misses that a nearer cache answers leave a
 * gap, or few hits. A few of the loads may be spikes.
 */
bool pb_level_joins_hits(const struct pb_sample *sample, double hit_most, double miss_least);

#endif
