/* The greatest common power of two, robust against strays. */
#include "analysis/statistics/alignment.h"

#include <stdlib.h>

enum { ADDRESS_BITS = 64, ADDRESSES_MIN = 2, STRAYS_ONE_IN = 16 };

struct pb_alignment pb_alignment_find(const uint64_t *address, size_t count)
{
    struct pb_alignment found = {.seen = count};
    size_t multiples[ADDRESS_BITS + 1] = {0};
    int bit = ADDRESS_BITS;

    if (count < ADDRESSES_MIN)
        return found;
    /* multiples[b]: addresses that 2^b divides; 0 is a multiple of all and says nothing. */
    for (size_t i = 0; i < count; i++) {
        int zeros = address[i] == 0 ? ADDRESS_BITS : __builtin_ctzll(address[i]);

        multiples[zeros]++;
    }
    if (multiples[ADDRESS_BITS] == count)
        return found;
    for (int b = ADDRESS_BITS - 1; b >= 0; b--)
        multiples[b] += multiples[b + 1];

    while (bit > 0 && (count - multiples[bit]) * STRAYS_ONE_IN > count)
        bit--;
    if (bit == ADDRESS_BITS)
        return found;
    found.bytes = (uint64_t)1 << bit;
    found.agreeing = multiples[bit];
    found.at_double = multiples[bit + 1];
    return found;
}

struct pb_alignment pb_alignment_at(const uint64_t *address, size_t count, uint64_t bytes)
{
    struct pb_alignment found = {.bytes = bytes, .seen = count};

    for (size_t i = 0; i < count; i++) {
        found.agreeing += address[i] % bytes == 0;
        found.at_double += address[i] % (2 * bytes) == 0;
    }
    return found;
}

static int by_address(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

size_t pb_alignment_places(const uint64_t *sorted, size_t count)
{
    size_t places = 0;

    for (size_t i = 0; i < count; i++)
        places += i == 0 || sorted[i] != sorted[i - 1];
    return places;
}

uint64_t pb_alignment_of_repeated(uint64_t *address, size_t count, uint64_t bytes)
{
    uint64_t finest = bytes;
    size_t repeated = 0;

    qsort(address, count, sizeof(*address), by_address);
    for (size_t i = 0, next; i < count; i = next) {
        uint64_t unit = address[i] & -address[i];

        for (next = i + 1; next < count && address[next] == address[i];)
            next++;
        if (next - i < 2 || unit >= bytes) /* 0 has no unit: it is a multiple of all */
            continue;
        repeated += unit > 0;
        finest = unit > 0 && unit < finest ? unit : finest;
    }
    return repeated >= 2 ? finest : bytes;
}
