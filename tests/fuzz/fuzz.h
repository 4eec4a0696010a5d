/*
 * What a fuzz target and its driver owe each other.
 *
 * A target is LLVMFuzzerTestOneInput() and LLVMFuzzerCustomMutator(), as libFuzzer calls them, and
 * fuzz_seed(). driver.c runs it without libFuzzer: deterministic, and with any compiler.
 */
#ifndef PB_TESTS_FUZZ_FUZZ_H
#define PB_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* ---- the target's side ---- */

/* Any input must end here in good order; what is wrong with it is for the sanitizers to see. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes data[size] in place, up to capacity bytes; returns the new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);

/* Input number i to start from, into data[capacity]: its size, or 0 behind the last. */
size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity);

/* ---- the driver's side, or libFuzzer's ---- */

/* One general mutation: bits, bytes, odd integers, pieces moved, lost or doubled. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/* ---- for both ---- */

/* The next of a sequence of random numbers (splitmix64). */
static inline uint64_t fuzz_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

#endif
