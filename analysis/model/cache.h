/*
 * One cache or TLB of the forward model: a set-associative store of lines, filled by sector.
 *
 * Two uses, one mechanism:
 *   replay        one access after the other, each complete before the next: time is left at 0
 *   event-driven  the caller has a clock. After a miss it says by pb_model_cache_fill() when the
 *                 data arrive; until then the sector is in flight, and accesses to it are
 *                 distinguished (a Hopper counts these as lookup_hit)
 *
 * A line is allocated as a whole when it is first missed, and each of its sectors is filled by its
 * own miss: a line that is there without the sector is a miss too, but evicts nothing.
 *
 * Memory: about 28 bytes a line of capacity, 32 to 64 more in wide sets, touched only where lines
 * are; with times 8 more a sector. An access costs a search among up to 16 ways, or one hash lookup
 * in wider sets.
 */
#ifndef PB_ANALYSIS_MODEL_CACHE_H
#define PB_ANALYSIS_MODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum {
    PB_MODEL_MASKS_MAX = 32,  /* bits of a set index */
    PB_MODEL_SECTORS_MAX = 32 /* sectors of a line: they are the bits of a mask */
};

/* Which line of a full set makes room for a missing one. The ways of a set fill in order. */
enum pb_model_policy {
    PB_MODEL_LRU,      /* the one not used for longest */
    PB_MODEL_FIFO,     /* the one filled first */
    PB_MODEL_PLRU,     /* tree-PLRU; where ways are no power of two, absent halves are skipped */
    PB_MODEL_RANDOM,   /* all ways alike */
    PB_MODEL_WEIGHTED, /* by the weight of its way (M16 4.5) */
    /*
     * Lines of the set's last hits are kept, of half as many hits as it has ways; a hit of a line
     * whose sector is missing counts. A line that is no longer of these goes back to the others, as
     * their newest; of the others the one not used for longest makes room. Two hits of one line
     * leave one line less to keep. So does an H200's L1, load for load (docs/kernel-model.md).
     */
    PB_MODEL_KEEP_HITS,
    PB_MODEL_POLICY_COUNT
};

/* "lru", "fifo", "plru", "random", "weighted", "keep_hits" and back; _COUNT: no such word. */
const char *pb_model_policy_name(enum pb_model_policy policy);
enum pb_model_policy pb_model_policy_parse(const char *word);

/* What a cache is. Pointers are read by pb_model_cache_create() alone. */
struct pb_model_shape {
    uint64_t line_bytes;   /* a power of two; of a TLB, what an entry covers */
    uint64_t sector_bytes; /* a power of two, line_bytes / 32 at least; 0: line_bytes */
    size_t set_count;
    size_t way_count;           /* of every set */
    const uint32_t *way_counts; /* [set_count] where sets differ, else NULL; 0: keeps no line */
    /* Bit i of the set is the parity of address & index_masks[i]; 0: line number modulo sets. */
    uint64_t index_masks[PB_MODEL_MASKS_MAX];
    size_t index_mask_count;
    enum pb_model_policy policy;
    const double *way_weights; /* [largest way count], PB_MODEL_WEIGHTED only */
    /*
     * Lines that the store of the data holds where that is less than sets x ways (a unified L1 less
     * its carve-out); the sets make room in turn then, each by its policy, in an order that no loop
     * follows. 0: no such limit.
     */
    size_t capacity_lines;
};

struct pb_model_cache;

/*
 * seed  of the victims of random and weighted policies
 *
 * PB_INVALID    a shape that cannot be; err names the field
 * PB_NO_MEMORY
 */
enum pb_status pb_model_cache_create(const struct pb_model_shape *shape, uint64_t seed,
                                     struct pb_model_cache **cache_out, struct pb_error *err);
void pb_model_cache_destroy(struct pb_model_cache *cache); /* NULL is allowed */

/* Empties it, in constant time; the random numbers go on. */
void pb_model_cache_clear(struct pb_model_cache *cache);

/* The line number of an address, and the set it belongs to. */
uint64_t pb_model_cache_line(const struct pb_model_cache *cache, uint64_t address);
size_t pb_model_cache_set(const struct pb_model_cache *cache, uint64_t address);
/* Sectors in the order of addresses, over all lines. */
uint64_t pb_model_cache_sector(const struct pb_model_cache *cache, uint64_t address);
/* Sets, the ways of one, and the lines that the whole holds at most. */
size_t pb_model_cache_sets(const struct pb_model_cache *cache);
size_t pb_model_cache_ways(const struct pb_model_cache *cache, size_t set);
size_t pb_model_cache_capacity(const struct pb_model_cache *cache);
/* The sector of an address as a bit, and all sectors that [address, address + bytes) has there. */
uint32_t pb_model_cache_sectors(const struct pb_model_cache *cache, uint64_t address,
                                uint64_t bytes);

/* What one access found: every sector that was wanted is in exactly one of the first three. */
struct pb_model_lookup {
    uint32_t hit;       /* sectors that are there */
    uint32_t in_flight; /* sectors that were missed before and have not arrived */
    uint32_t missed;    /* sectors that this access has to fetch; they count as there from now on */
    bool is_line_hit;   /* the line was there, if without the sectors missed */
    /*
     * Whether chance had no part in it: no victim of this set was random since the cache was empty,
     * and none was evicted because the capacity was short (the order of the sets is not known).
     * What was never loaded before misses all the same.
     */
    bool is_certain;
    bool has_evicted;      /* another line made room */
    uint32_t slot;         /* where the line is, until the next access that misses */
    uint64_t evicted_line; /* its number; where has_evicted */
    double ready_time;     /* when the last sector in flight arrives; where there is one */
};

/*
 * Looks sectors of one line up, allocates them, and notes the use.
 *
 * address  of any byte of the line
 * sectors  which are wanted, at least one: bit i is sector i of the line
 * time     now by the caller's clock, not negative; it need not rise
 */
void pb_model_cache_access(struct pb_model_cache *cache, uint64_t address, uint32_t sectors,
                           double time, struct pb_model_lookup *lookup_out);

/*
 * The same for one byte, in a replay without times: true when its sector is there. is_certain_out
 * as in the lookup, or NULL.
 */
bool pb_model_cache_touch(struct pb_model_cache *cache, uint64_t address, bool *is_certain_out);

/*
 * The sectors of that slot arrive at `ready_time`: to be called after the access that missed them,
 * before the next one. PB_NO_MEMORY at the first call only: it makes room for times.
 */
enum pb_status pb_model_cache_fill(struct pb_model_cache *cache, uint32_t slot, uint32_t sectors,
                                   double ready_time, struct pb_error *err);

/* Which of the sectors are there or in flight; changes nothing. */
uint32_t pb_model_cache_peek(const struct pb_model_cache *cache, uint64_t address,
                             uint32_t sectors);

/* Takes the sectors away, as a write that is not allocated does. The line keeps its way. */
void pb_model_cache_invalidate(struct pb_model_cache *cache, uint64_t address, uint32_t sectors);

/* Which lines a set gives up before and behind all others, whatever its policy. */
enum pb_model_rank { PB_MODEL_GOES_FIRST, PB_MODEL_GOES_LAST };

/* Of a line that is there, where the policy keeps an order (LRU, FIFO, KEEP_HITS). */
void pb_model_cache_rank(struct pb_model_cache *cache, uint64_t address, enum pb_model_rank rank);

/* Takes the line out; its way is free. */
void pb_model_cache_drop(struct pb_model_cache *cache, uint64_t address);

/* Whether a random or weighted victim was chosen since it was empty. */
bool pb_model_cache_has_random_victim(const struct pb_model_cache *cache);

#endif
