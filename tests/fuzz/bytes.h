/*
 * An input read as decisions: whatever is wanted is taken from its bytes, zeros behind their end.
 */
#ifndef PB_TESTS_FUZZ_BYTES_H
#define PB_TESTS_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_bytes {
    const uint8_t *data;
    size_t left;
};

/* The next `width` bytes, at most 8, as one number. */
static inline uint64_t fuzz_take(struct fuzz_bytes *bytes, size_t width)
{
    uint64_t number = 0;

    for (size_t i = 0; i < width && bytes->left > 0; i++, bytes->left--)
        number |= (uint64_t)*bytes->data++ << 8 * i;
    return number;
}

/* A decision among `end` > 0 of them, by two bytes. */
static inline size_t fuzz_choose(struct fuzz_bytes *bytes, size_t end)
{
    return fuzz_take(bytes, 2) % end;
}

/* A count, size or address: small, round, or as odd as 64 bits allow. */
static inline uint64_t fuzz_odd_number(struct fuzz_bytes *bytes)
{
    switch (fuzz_choose(bytes, 5)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX - fuzz_take(bytes, 1);
    case 2:
        return (uint64_t)1 << fuzz_choose(bytes, 64);
    case 3:
        return fuzz_take(bytes, 2);
    default:
        return fuzz_take(bytes, 8);
    }
}

#endif
