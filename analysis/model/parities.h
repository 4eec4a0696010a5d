/*
 * A set index of parities of address bits, a mask for each of its bits: as the sum of tables, one
 * for each byte of the address that the masks reach from their first bit on.
 */
#ifndef PB_ANALYSIS_MODEL_PARITIES_H
#define PB_ANALYSIS_MODEL_PARITIES_H

#include <stddef.h>
#include <stdint.h>

enum { PB_PARITIES_BYTES = 4 }; /* at least, so that most need no loop */

struct pb_parities {
    uint32_t of[8][256];
    unsigned first_bit, bytes;
};

static inline void pb_parities_make(const uint64_t *masks, size_t count,
                                    struct pb_parities *parities_out)
{
    struct pb_parities *parities = parities_out;
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++)
        all |= masks[i];
    parities->first_bit = all == 0 ? 0 : (unsigned)__builtin_ctzll(all);
    parities->bytes =
        all == 0 ? 0 : (63 - (unsigned)__builtin_clzll(all) - parities->first_bit) / 8 + 1;
    if (parities->bytes < PB_PARITIES_BYTES)
        parities->bytes = PB_PARITIES_BYTES;
    for (unsigned byte = 0; byte < parities->bytes; byte++) {
        uint32_t *of = parities->of[byte];

        of[0] = 0;
        for (unsigned bit = 0; bit < 8; bit++) {
            uint32_t own = 0;

            for (size_t i = 0; i < count; i++)
                own |= (uint32_t)(masks[i] >> parities->first_bit >> (8 * byte + bit) & 1) << i;
            for (unsigned value = 0; value < 1u << bit; value++)
                of[(1u << bit) + value] = of[value] ^ own;
        }
    }
}

static inline uint32_t pb_parities_index(const struct pb_parities *parities, uint64_t address)
{
    uint64_t left = address >> parities->first_bit;
    uint32_t index = parities->of[0][left & 0xff] ^ parities->of[1][left >> 8 & 0xff] ^
                     parities->of[2][left >> 16 & 0xff] ^ parities->of[3][left >> 24 & 0xff];

    for (unsigned byte = PB_PARITIES_BYTES; byte < parities->bytes; byte++)
        index ^= parities->of[byte][left >> 8 * byte & 0xff];
    return index;
}

#endif
