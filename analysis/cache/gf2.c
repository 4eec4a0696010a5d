/* Elimination over GF(2), one 64-bit word a row. */
#include "analysis/cache/gf2.h"

static unsigned highest_bit(uint64_t vector)
{
    return 63u - (unsigned)__builtin_clzll(vector);
}

/*
 * What is left of a vector without the span's pivots. No row has another one's pivot, so that the
 * vector itself says which rows it takes; branches would mostly be mispredicted.
 */
static uint64_t reduce(const struct pb_gf2_span *span, uint64_t vector)
{
    uint64_t left = vector;

    for (size_t i = 0; i < span->rank; i++)
        left ^= span->row[i] & (0 - (vector >> span->pivot[i] & 1));
    return left;
}

bool pb_gf2_holds(const struct pb_gf2_span *span, uint64_t vector)
{
    return reduce(span, vector) == 0;
}

bool pb_gf2_add(struct pb_gf2_span *span, uint64_t vector)
{
    uint64_t left = reduce(span, vector);
    unsigned pivot;

    if (left == 0)
        return false;
    pivot = highest_bit(left);
    for (size_t i = 0; i < span->rank; i++)
        if ((span->row[i] >> pivot & 1) != 0)
            span->row[i] ^= left;
    span->row[span->rank] = left;
    span->pivot[span->rank++] = pivot;
    return true;
}

static uint64_t pivots_of(const struct pb_gf2_span *span)
{
    uint64_t pivots = 0;

    for (size_t i = 0; i < span->rank; i++)
        pivots |= (uint64_t)1 << span->pivot[i];
    return pivots;
}

uint64_t pb_gf2_resolved(const struct pb_gf2_span *span)
{
    uint64_t told = 0;

    for (size_t i = 0; i < span->rank; i++)
        if (span->row[i] == (uint64_t)1 << span->pivot[i])
            told |= span->row[i];
    return told;
}

size_t pb_gf2_reduce(uint64_t *masks, size_t count)
{
    size_t rank = 0;

    for (unsigned bit = 0; bit < 64 && rank < count; bit++) {
        size_t pivot = rank;
        uint64_t kept;

        while (pivot < count && (masks[pivot] >> bit & 1) == 0)
            pivot++;
        if (pivot == count)
            continue;
        kept = masks[pivot];
        masks[pivot] = masks[rank];
        masks[rank] = kept;
        for (size_t i = 0; i < count; i++)
            if (i != rank && (masks[i] >> bit & 1) != 0)
                masks[i] ^= kept;
        rank++;
    }
    return rank;
}

size_t pb_gf2_masks(const struct pb_gf2_span *tried, const struct pb_gf2_span *same,
                    uint64_t masks_out[64])
{
    struct pb_gf2_span kernel = {.rank = 0};
    uint64_t pivots = pivots_of(tried), free_bits;
    size_t count = 0;

    /* On vectors of `tried`, the pivots are coordinates: all other bits follow from them. */
    for (size_t i = 0; i < same->rank; i++)
        pb_gf2_add(&kernel, same->row[i] & pivots);
    free_bits = pivots & ~pivots_of(&kernel);
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t mask = (uint64_t)1 << bit;

        if ((free_bits >> bit & 1) == 0)
            continue;
        for (size_t i = 0; i < kernel.rank; i++)
            if ((kernel.row[i] >> bit & 1) != 0)
                mask |= (uint64_t)1 << kernel.pivot[i];
        masks_out[count++] = mask;
    }
    return pb_gf2_reduce(masks_out, count);
}
