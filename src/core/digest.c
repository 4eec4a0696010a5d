/* Four chains of multiplications side by side, as one would wait for itself; see digest.h. */
#include "core/digest.h"

#include <string.h>

enum { LANES = 4 };

/* Odd, so that no step loses anything: fractional digits of the golden ratio, of roots of 2 and 3.
 */
static const uint64_t factors[LANES] = {0x9e3779b97f4a7c15u, 0x6a09e667f3bcc909u,
                                        0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu};

static uint64_t step(uint64_t chain, uint64_t word, uint64_t factor)
{
    chain = (chain ^ word) * factor;
    return chain ^ chain >> 32;
}

uint64_t pb_digest(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t chains[LANES], words[LANES];

    for (int i = 0; i < LANES; i++)
        chains[i] = digest ^ factors[i];
    for (size_t left = length; left > 0;) {
        size_t part = left < sizeof(words) ? left : sizeof(words);

        if (part < sizeof(words))
            memset(words, 0, sizeof(words));
        memcpy(words, at, part);
        for (int i = 0; i < LANES; i++)
            chains[i] = step(chains[i], words[i], factors[i]);
        at += part;
        left -= part;
    }
    digest = step(digest, length, factors[0]);
    for (int i = 0; i < LANES; i++)
        digest = step(digest, chains[i], factors[i]);
    return digest;
}
