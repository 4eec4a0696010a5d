/*
 * What a set-associative cache is, as one hypothesis: line, sector, sets, ways and index. And how
 * likely every recorded access is, if the cache is that.
 *
 * A hypothesis divides the loads of a chase in steady state into three kinds:
 *   hit    the line's set has no more lines than ways, or the sector was loaded just before
 *   miss   another sector of a line that has just missed
 *   open   the first load of a line whose set has more lines than ways: its policy decides. Of such
 *          a set at least as many lines miss in every pass as it has lines too many
 * Loads that contradict it are noise at a rate that is not known (a beta prior, integrated out),
 * and so is the share of open loads that miss: of all alike, or by the line's rank in its set, in
 * each pass or in all. Where lines are fetched ahead, an open load that hits shortly behind a miss
 * is no evidence. No policy is assumed: those are compared afterwards, over the lines of one set
 * (replacement.h).
 *
 * Source: N14 section 5.1 (a line more than fits shows its set); M16 section 4.2.
 */
#ifndef PB_ANALYSIS_CACHE_GEOMETRY_H
#define PB_ANALYSIS_CACHE_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cache/level.h"

enum pb_chase_kind {
    PB_CHASE_SWEEP,    /* a whole pass over an array, by one stride */
    PB_CHASE_PART,     /* a part of one: only neighbouring loads say something */
    PB_CHASE_CONFLICT, /* an array that fits, and one line more */
    PB_CHASE_KINDS
};

struct pb_cache_chase {
    enum pb_chase_kind kind;
    uint64_t base, stride_bytes;
    uint64_t array_bytes;         /* without the line more */
    uint64_t added;               /* its address */
    uint64_t far_bit;             /* the single bit of its offset that no other line has, or 0 */
    const uint64_t *offset_bytes; /* [count] */
    const unsigned char *seen;    /* [count] enum pb_observed */
    const uint32_t *place; /* in the pass, of the array's lines by stride; NULL: in their order */
    size_t count, misses;  /* of a conflict, without the added line's */
    size_t background;     /* of the misses: of lines that miss whatever is added */
    size_t first_missing;  /* of a conflict: addresses [misses] in pb_cache_chases.missing */
    bool added_missed, is_shuffled, in_pieces;
};

/* Chases of one cache. */
struct pb_cache_chases {
    struct pb_cache_chase *items;
    size_t count, of_kind[PB_CHASE_KINDS];
    uint64_t *missing;
    size_t missing_count;
    unsigned char *seen;
    uint32_t *place;
    uint64_t *background; /* lines that miss in most conflicts, whatever is added; ascending */
    size_t background_count;
    double noise_rate; /* hits that look like misses, by access, as all chases have them */
};

/* The steady chases of several recordings of one cache. PB_NO_MEMORY; clear them in any case. */
enum pb_status pb_cache_chases_read(const struct pb_cache_level *levels, size_t count,
                                    struct pb_cache_chases *chases_out, struct pb_error *err);
void pb_cache_chases_clear(struct pb_cache_chases *chases);

/* Of sweeps, whole or in part. */
size_t pb_cache_chases_loads(const struct pb_cache_chases *chases);
bool pb_cache_chases_is_background(const struct pb_cache_chases *chases, uint64_t address);

/* No cache is known that has longer lines. */
enum {
    PB_SECTOR_MIN = 32, /* what L2 fetches in this unit, it keeps in it */
    PB_LINE_MAX = 1024,
    PB_GEOMETRY_MASKS_MAX = 24
};

enum pb_geometry_index {
    PB_INDEX_UNKNOWN, /* any line may displace any other one; one set */
    PB_INDEX_MODULO,  /* line number modulo sets; of one set: fully associative */
    PB_INDEX_XOR
};

struct pb_geometry {
    uint64_t line_bytes, sector_bytes;
    bool hides_misses;       /* what should miss may have been prefetched, */
    uint64_t prefetch_bytes; /* of so many that a miss brings in beyond its sector */
    enum pb_geometry_index index;
    uint64_t sets, ways;
    uint64_t masks[PB_GEOMETRY_MASKS_MAX];
    size_t mask_count;
    const uint32_t *set_ways; /* [sets] where they are not all `ways`, else NULL; of its maker */
};

static inline uint64_t pb_geometry_ways(const struct pb_geometry *geometry, uint64_t set)
{
    return geometry->set_ways != NULL ? geometry->set_ways[set] : geometry->ways;
}

uint64_t pb_geometry_set(const struct pb_geometry *geometry, uint64_t address);
uint64_t pb_geometry_bytes(const struct pb_geometry *geometry);

/* What the accesses are under a hypothesis. */
struct pb_geometry_fit {
    double open;             /* log likelihood of the open loads, their rates integrated out */
    double open_at_best;     /* the same with the rates that were seen */
    size_t hits, hits_wrong; /* loads that must hit, and those of them that missed */
    size_t misses, misses_wrong;
    size_t elsewhere; /* misses of conflicts in other sets that the array overfills */
    size_t lacking;   /* misses that an overfull set should have shown */
    size_t conflicts; /* passes whose added line overfills a set that the array does not */
};

/*
 * Adds every so manieth chase of one kind, of those over arrays of at most so many bytes; sweeps as
 * long as the log likelihood of all that was added can still be `least`. PB_NO_MEMORY.
 */
enum pb_status pb_geometry_score(const struct pb_cache_chases *chases,
                                 const struct pb_geometry *geometry, enum pb_chase_kind kind,
                                 uint64_t most_bytes, size_t every, double least,
                                 struct pb_geometry_fit *fit, struct pb_error *err);

/* Of the passes that have so many lines in one set: all, and those in which any of these missed. */
struct pb_set_passes {
    uint32_t passes, missed;
};

/*
 * Adds the passes of conflicts and of whole sweeps: tallies[sets][lines_most + 1], by the lines of
 * the set; those with more than lines_most count there. PB_NO_MEMORY.
 */
enum pb_status pb_geometry_tally_sets(const struct pb_cache_chases *chases,
                                      const struct pb_geometry *geometry, size_t lines_most,
                                      struct pb_set_passes *tallies, struct pb_error *err);

/* Log likelihood of so many loads of a right hypothesis that contradict it, at no known rate. */
double pb_geometry_log_noise(size_t wrong, size_t count);

/* Of all that was added up. */
double pb_geometry_log_likelihood(const struct pb_geometry_fit *fit);

/*
 * The same with the rates that were seen. That a hypothesis has more rates speaks against it, but
 * loads of which it says as much are none that tell it from another.
 */
double pb_geometry_log_prediction(const struct pb_geometry_fit *fit);

/* Do more loads miss that must hit than noise makes? */
bool pb_geometry_is_contradicted(const struct pb_geometry_fit *fit);

#endif
