/*
 * Throughput of shared memory (M16 6.1): each thread copies ILP words from one half of its CTA's
 * shared memory to the other, again and again.
 *
 * All CTAs of an SM start together: each waits until all have come, because a first one that runs
 * alone would stretch the time. Limit: an SM that got another number of CTAs than requested reports
 * so in `arrived`, after waiting in vain; its time is worth nothing.
 */
#include "kernels/span.cuh"

__device__ __forceinline__ void pb_await_sm(struct pb_kernel_shared_slot *slot, uint32_t ctas)
{
    const uint64_t timeout_cycles = 4000000; /* 2 ms */
    uint64_t start = pb_clock();

    if (threadIdx.x == 0) {
        atomicAdd(&slot->arrived, 1);
        while (atomicAdd(&slot->arrived, 0) < ctas && pb_clock() - start < timeout_cycles)
            ;
    }
    __syncthreads();
}

__device__ __forceinline__ uint32_t pb_load_shared_word(uint32_t address)
{
    uint32_t word;

    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}

template <int ilp>
__global__ void __launch_bounds__(1024) pb_shared_copy(struct pb_kernel_shared_stream stream)
{
    struct pb_kernel_shared_slot *slot = (struct pb_kernel_shared_slot *)stream.slots + pb_sm_id();
    uint32_t from = pb_shared_base() + 4 * threadIdx.x, row = 4 * blockDim.x, to = from + ilp * row;
    uint32_t wrong = 0;

    for (int k = 0; k < ilp; k++) {
        pb_store(from + k * row, PB_KERNEL_PATTERN(threadIdx.x + k * blockDim.x, stream.salt));
        pb_store(to + k * row, ~PB_KERNEL_PATTERN(threadIdx.x + k * blockDim.x, stream.salt));
    }
    pb_await_sm(slot, stream.ctas_per_sm);
    struct pb_moment start = pb_now();
#pragma unroll 4
    for (uint32_t i = 0; i < stream.repeats; i++) {
        uint32_t word[ilp];

#pragma unroll
        for (int k = 0; k < ilp; k++)
            word[k] = pb_load_shared_word(from + k * row);
#pragma unroll
        for (int k = 0; k < ilp; k++)
            pb_store(to + k * row, word[k]);
    }
    __syncthreads();
    pb_span_add(&slot->span, start, pb_now());
    for (int k = 0; k < ilp; k++)
        wrong += pb_load_shared_word(to + k * row) !=
                 PB_KERNEL_PATTERN(threadIdx.x + k * blockDim.x, stream.salt);
    if (wrong > 0)
        atomicAdd(&slot->mismatches, wrong);
}

typedef void (*pb_shared_kernel)(struct pb_kernel_shared_stream);

static pb_shared_kernel pb_pick(uint32_t ilp)
{
    switch (ilp) {
    case 1:
        return pb_shared_copy<1>;
    case 2:
        return pb_shared_copy<2>;
    case 4:
        return pb_shared_copy<4>;
    case 8:
        return pb_shared_copy<8>;
    default:
        return NULL;
    }
}

/* All shared memory that there is, and as much of it as the CTAs request. */
static int pb_configure_shared(pb_shared_kernel kernel,
                               const struct pb_kernel_shared_stream *stream)
{
    cudaError_t error = cudaErrorInvalidValue;

    if (kernel != NULL)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)stream->shared_bytes);
    return (int)error;
}

extern "C" int pb_kernel_shared_fit(const struct pb_kernel_shared_stream *stream, int *ctas_out)
{
    pb_shared_kernel kernel = pb_pick(stream->ilp);
    int error = pb_configure_shared(kernel, stream);

    if (error != 0)
        return error;
    return (int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        ctas_out, kernel, (int)stream->cta_size, stream->shared_bytes);
}

extern "C" int pb_kernel_shared_stream(const struct pb_kernel_shared_stream *stream)
{
    pb_shared_kernel kernel = pb_pick(stream->ilp);
    int error = pb_configure_shared(kernel, stream);

    if (error != 0)
        return error;
    kernel<<<stream->cta_count, stream->cta_size, stream->shared_bytes>>>(*stream);
    return (int)cudaGetLastError();
}
