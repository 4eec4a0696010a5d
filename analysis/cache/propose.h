/* Hypotheses for the geometry of a cache: what its recorded conflicts and its edge suggest. */
#ifndef PB_ANALYSIS_CACHE_PROPOSE_H
#define PB_ANALYSIS_CACHE_PROPOSE_H

#include "analysis/cache/hypotheses.h"

/* What is known before: of the cold passes and of the footprint sweep. */
struct pb_geometry_hints {
    uint64_t sector_bytes, prefetch_bytes; /* sector 0: not known */
    uint64_t hiding_bytes; /* behind a miss where lines are fetched ahead; any, if no end is seen */
    uint64_t fits_bytes;   /* the largest footprint that fits; 0: not known */
    uint64_t fits_least, fits_most; /* it may be as well */
};

/*
 * Every line from the sector to 1 KiB; of each, every modulo that makes a whole number of ways of
 * what fits, and every xor of the masks whose parity is even in more pairs of conflicting lines
 * than by chance, those of the most pairs first: one Walsh-Hadamard transform shows all of them.
 * Bits that single far lines show join the masks of the set that most of their pairs are of.
 * PB_NO_MEMORY.
 */
enum pb_status pb_geometry_propose(const struct pb_cache_chases *chases,
                                   const struct pb_geometry_hints *hints,
                                   struct pb_hypotheses *hypotheses, struct pb_error *err);

/* Log prior of a line: caches of GPUs and CPUs have lines of up to 128 bytes, few longer ones. */
double pb_geometry_prior_of_line(uint64_t line_bytes);

/* The step of the conflicts' arrays, which the battery took for the line. 0: there are none. */
uint64_t pb_geometry_stride(const struct pb_cache_chases *chases);

/* What all chases leave open between two lines, the battery's own search decides. */
double pb_geometry_prior_of_stride(const struct pb_cache_chases *chases, uint64_t line_bytes);

/* The address bits beyond the array, by what pairs of their lines say of their set. */
struct pb_far_bits {
    uint64_t shown, unseen,
        thin; /* bits: one set is likeliest, no pair at all, others are possible */
};
struct pb_far_bits pb_geometry_far_bits(const struct pb_cache_chases *chases,
                                        const struct pb_geometry *geometry);

/* The address bits in which lines of the conflicts differ, and between their stride and a finer one
 * of sweeps: no other bit of an index can show. */
uint64_t pb_geometry_varied_bits(const struct pb_cache_chases *chases);

/* Are the masks those of the line number modulo a power of two? */
bool pb_geometry_is_modulo(const struct pb_geometry *geometry);

#endif
