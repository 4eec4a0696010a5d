/*
 * Which lines share a set, from laps over an array that fills a cache to its edge and one line
 * more: what then misses lies in that line's set (N14 5.1).
 *
 * Every missing line gives a pair (the added line, the missing one) of one set. Which index maps
 * all pairs together, and has most sets? Two shapes are tried:
 *   modulo   the line number modulo any number that divides the array's lines
 *   xor      bits that are parities of address bits: the annihilator of the pairs' differences
 * With too few pairs either could have more sets than the cache; how unlikely that is by chance is
 * told. Three pairs in a hundred may be strays: accesses that were slow for another reason.
 *
 * Policies that are not LRU let only a part of a set miss in a lap. Since the shapes need only
 * pairs, not whole sets, they do not care.
 */
#ifndef PB_ANALYSIS_CACHE_CONFLICT_H
#define PB_ANALYSIS_CACHE_CONFLICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cache/gf2.h"
#include "analysis/cache/level.h"

/* One lap. */
struct pb_conflict_lap {
    uint64_t added;      /* address of the line that was added */
    size_t first, count; /* of the missing lines, in pb_conflicts.missing */
    bool added_missed;
    bool is_drawn; /* in an order of its own */
};

struct pb_conflicts {
    uint64_t line_bytes; /* step of the array */
    uint64_t base;       /* its address */
    size_t lines;        /* of the array, without the added one */
    struct pb_conflict_lap *laps;
    size_t lap_count;
    uint64_t *missing; /* addresses */
    size_t missing_count;
    size_t background; /* lines that miss in all laps: the array itself is too much for their set */
    size_t quiet;      /* laps without any miss */
    size_t drawn;      /* laps in orders of their own, with a miss */
    bool in_pieces;    /* laps were recorded in several runs (R16's windows) */
};

/*
 * Laps over the array that fills the cache to its edge, or over the shorter one that leaves some
 * room in it. PB_NOT_FOUND: no such laps, or they walk different arrays. pb_conflicts_clear() them.
 */
enum pb_status pb_conflicts_read(const struct pb_level *level, bool shorter,
                                 struct pb_conflicts *conflicts_out, struct pb_error *err);
void pb_conflicts_clear(struct pb_conflicts *conflicts);

/* Sets as they were seen, without any assumption of how they are indexed. */
struct pb_partition {
    size_t sets;               /* that have conflicted */
    size_t size[PB_LIST_MAX];  /* lines seen in each of the first ones, by their lowest line */
    size_t least, largest;     /* of all sizes */
    size_t alone;              /* sets of one line: it missed in no company */
    size_t lines;              /* seen in all sets together */
    size_t once;               /* lines that were seen missing in one lap only */
    size_t largest_sightings;  /* of the lines of the largest set */
    size_t per_lap;            /* the commonest number of misses in a lap */
    size_t per_lap_laps, laps; /* laps with that many; laps with any */
};

enum pb_index_shape { PB_INDEX_MODULO, PB_INDEX_XOR };

/* The finest index of one shape that keeps all pairs but strays together. */
struct pb_index_fit {
    enum pb_index_shape shape;
    uint64_t sets;
    double chance; /* that the cache's own index is coarser, and these pairs do not show it */
    size_t pairs, strays;
    size_t thin;   /* lines far away, each alone with its address bit, that rest on a single pair */
    size_t unseen; /* such lines without any pair */
    struct pb_partition seen; /* strays left out */
    uint64_t masks[64];       /* of the address; none where a modulo is no power of two */
    size_t mask_count;
};

/* PB_NO_MEMORY. */
enum pb_status pb_conflicts_fit(const struct pb_conflicts *conflicts, enum pb_index_shape shape,
                                struct pb_index_fit *fit_out, struct pb_error *err);

/* The set of an address: a number below fit->sets, which must not be 0. */
uint64_t pb_index_set_of(const struct pb_index_fit *fit, uint64_t line_bytes, uint64_t address);

/*
 * How many sets of several lines would seem to be there at most, had each lap let as many lines
 * miss as it did, drawn from all of its set by chance. More are seen only where sets are finer than
 * the index, or where a policy keeps to parts of them. Lines that missed alone tell nothing: a
 * lap's first victims have little company where they are its last lines. Source: random graphs
 * (Erdős & Rényi 1960), by drawing them. PB_NO_MEMORY.
 */
enum pb_status pb_conflicts_draw_sets(const struct pb_conflicts *conflicts,
                                      const struct pb_index_fit *fit, double *most_out,
                                      struct pb_error *err);

/* is_stray[missing_count] leaves some out; it may be NULL. PB_NO_MEMORY. */
enum pb_status pb_conflicts_partition(const struct pb_conflicts *conflicts, const bool *is_stray,
                                      struct pb_partition *partition_out, struct pb_error *err);

/*
 * Does an index foretell which added lines make something miss, where the array leaves sets with
 * room? Since the array fits, its fullest sets are full: lines added to these make others miss,
 * lines added elsewhere do not.
 */
struct pb_conflict_fill {
    uint64_t ways;       /* lines of the array in its fullest sets */
    bool overflows_next; /* one line more of the same array is too many for one of these */
    uint64_t near_bits;  /* of addresses: all that the array and the lines behind it differ in */
    size_t agreeing, laps;
    size_t full, with_room; /* laps that the index foretells to show misses, and not to */
};

/* Of an xor, of at most 16 bits. PB_INVALID: it is none; PB_NO_MEMORY. */
enum pb_status pb_conflicts_check_fill(const struct pb_conflicts *conflicts,
                                       const struct pb_index_fit *fit,
                                       struct pb_conflict_fill *fill_out, struct pb_error *err);

#endif
