/*
 * Address bits as vectors over GF(2): which combinations of them a set index may be made of.
 *
 * Lines of one set differ by vectors that every bit of the index maps to 0. They span a subspace;
 * the masks that are 0 on all of it, and tell addresses apart that were tried, make up the index.
 */
#ifndef PB_ANALYSIS_CACHE_GF2_H
#define PB_ANALYSIS_CACHE_GF2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A subspace in reduced echelon form: row[i] alone has its highest bit, pivot[i]. */
struct pb_gf2_span {
    uint64_t row[64];
    unsigned pivot[64];
    size_t rank;
};

/* Adds a vector; false when it was in the span already. */
bool pb_gf2_add(struct pb_gf2_span *span, uint64_t vector);

bool pb_gf2_holds(const struct pb_gf2_span *span, uint64_t vector);

/* The single bits that the span holds. */
uint64_t pb_gf2_resolved(const struct pb_gf2_span *span);

/* Makes masks[count] a basis, each with a lowest bit that no other has, ascending; their number. */
size_t pb_gf2_reduce(uint64_t *masks, size_t count);

/*
 * The masks m with parity(m & v) == 0 for all v of `same`, among those on the pivots of `tried`,
 * which must hold `same`. Returns how many there are, tried->rank - same->rank; masks_out[64] are
 * reduced as by pb_gf2_reduce().
 */
size_t pb_gf2_masks(const struct pb_gf2_span *tried, const struct pb_gf2_span *same,
                    uint64_t masks_out[64]);

#endif
