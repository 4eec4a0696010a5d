/* Random numbers from a seed, the same on every machine. */
#ifndef PB_TESTS_BLIND_DRAW_H
#define PB_TESTS_BLIND_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* splitmix64 */
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* From low to high, both included. */
static inline uint32_t between(uint64_t *state, uint32_t low, uint32_t high)
{
    return low + (uint32_t)(draw(state) % (high - low + 1));
}

static inline bool chance(uint64_t *state, uint32_t percent)
{
    return between(state, 1, 100) <= percent;
}

static inline uint64_t one_of(uint64_t *state, const uint64_t *choices, size_t count)
{
    return choices[draw(state) % count];
}

#define ONE_OF(state, ...)                                                                         \
    one_of((state), (const uint64_t[]){__VA_ARGS__},                                               \
           sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

#endif
