/*
 * Pairs of lines that say nothing of the sets: accesses that were slow for another reason than that
 * the cache had lost them.
 *
 * Such a stray tells any two lines apart or not by chance, so that strays break every index in all
 * ways alike. Pairs that break one only in a single way are no strays: the index is too fine.
 */
#ifndef PB_ANALYSIS_CACHE_STRAYS_H
#define PB_ANALYSIS_CACHE_STRAYS_H

#include "analysis/cache/conflict.h"

/*
 * Marks the strays that the best xor tells, is_stray[missing_count]: the parities of address bits
 * that most pairs of neighbouring lines keep, all of them by one Walsh-Hadamard transform. Where
 * pairs are few, address bits too many, or strays too many to be told, none are marked.
 * PB_NO_MEMORY.
 */
enum pb_status pb_strays_mark_xor(const struct pb_conflicts *conflicts, bool *is_stray,
                                  struct pb_error *err);

/*
 * Do the pairs that a modulo tears apart look like strays? Their distances then leave all
 * remainders alike; to be told from pairs of a modulo by sets / p, they must be many enough.
 */
bool pb_strays_are_even(const struct pb_conflicts *conflicts, uint64_t sets);

/*
 * An added line at a single bit, and none behind it: it alone has that bit, so that its few pairs
 * break any mask that has it, and no other pair does.
 */
bool pb_conflicts_is_alone(const struct pb_conflicts *conflicts, const struct pb_conflict_lap *lap);

/* Added lines so near to the array that they share its address bits. */
bool pb_conflicts_is_near(const struct pb_conflicts *conflicts, const struct pb_conflict_lap *lap);

#endif
