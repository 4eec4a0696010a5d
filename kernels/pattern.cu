/*
 * Testing memory: every 64-bit word gets a value that depends on its address and the pass, and is
 * read back when all have been written. A word that lands elsewhere, or keeps what an earlier pass
 * wrote, is wrong.
 */
#include "kernels/fault.cuh"

static const uint32_t cta_size = 1024;

/* Steele's mixing function: each bit of the address and of the seed turns about half of all. */
__device__ __forceinline__ uint64_t pb_word_of(uint64_t address, uint64_t seed)
{
    uint64_t word = address ^ seed;

    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* Two words at a time. */
__global__ void pb_pattern_write_words(struct pb_kernel_pattern pattern)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    ulonglong2 *to = (ulonglong2 *)pattern.address;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pattern.bytes / 16;
         i += step) {
        uint64_t at = pattern.address + 16 * i;

        to[i] = make_ulonglong2(pb_word_of(at, pattern.seed), pb_word_of(at + 8, pattern.seed));
    }
}

__device__ __forceinline__ void pb_compare(const struct pb_kernel_pattern &pattern, uint64_t at,
                                           uint64_t found)
{
    uint64_t expected = pb_word_of(at, pattern.seed);

    if (found != expected)
        pb_fault_report((struct pb_kernel_fault *)pattern.fault, at, expected, found);
}

__global__ void pb_pattern_compare_words(struct pb_kernel_pattern pattern)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    const ulonglong2 *from = (const ulonglong2 *)pattern.address;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pattern.bytes / 16;
         i += step) {
        ulonglong2 found = __ldcs(&from[i]);

        pb_compare(pattern, pattern.address + 16 * i, found.x);
        pb_compare(pattern, pattern.address + 16 * i + 8, found.y);
    }
}

extern "C" int pb_kernel_pattern_write(const struct pb_kernel_pattern *pattern, uint32_t cta_count)
{
    pb_pattern_write_words<<<cta_count, cta_size>>>(*pattern);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_pattern_check(const struct pb_kernel_pattern *pattern, uint32_t cta_count)
{
    pb_pattern_compare_words<<<cta_count, cta_size>>>(*pattern);
    return (int)cudaGetLastError();
}
