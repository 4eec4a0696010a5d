/* Filling memory with the pattern, and counting the words that differ from it. */
#include "kernels/fault.cuh"

static const uint32_t cta_size = 1024;

__global__ void pb_fill_words(uint32_t *to, uint64_t word_count, uint32_t salt)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < word_count; i += step)
        to[i] = PB_KERNEL_PATTERN(i, salt);
}

__global__ void pb_fill_compare(const uint32_t *from, uint64_t word_count, uint32_t salt,
                                struct pb_kernel_fault *fault)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < word_count; i += step) {
        uint32_t found = from[i], expected = PB_KERNEL_PATTERN(i, salt);

        if (found != expected)
            pb_fault_report(fault, (uint64_t)&from[i], expected, found);
    }
}

extern "C" int pb_kernel_fill(uint64_t address, uint64_t word_count, uint32_t salt,
                              uint32_t cta_count)
{
    pb_fill_words<<<cta_count, cta_size>>>((uint32_t *)address, word_count, salt);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_fill_check(uint64_t address, uint64_t word_count, uint32_t salt,
                                    uint64_t fault, uint32_t cta_count)
{
    pb_fill_compare<<<cta_count, cta_size>>>((const uint32_t *)address, word_count, salt,
                                             (struct pb_kernel_fault *)fault);
    return (int)cudaGetLastError();
}
