/*
 * Shared memory of the other CTAs of a cluster: the latency from each to each, one pair after the
 * other, and the rate at which all read from their neighbour.
 *
 * Limit: clusters are there from compute capability 9.0 on; before, the kernels are empty and the
 * launch is refused.
 */
#include "kernels/cluster.cuh"
#include "kernels/parallel.h"
#include "kernels/stamp.cuh"

enum {
    PB_CLUSTER_THREADS = 1024,
    PB_CLUSTER_SLOT_BYTES = 72, /* over all banks that a word of 8 bytes may begin in */
    PB_CLUSTER_AT_ONCE = 4,
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void pb_cluster_meet()
{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ uint32_t pb_cluster_rank()
{
    uint32_t rank;

    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/*
 * Where this CTA's shared memory, `offset` bytes on, lies in that of another rank: an address of 64
 * bits, as loads take it. Of an address within the cluster's window each load would first have to
 * make one.
 */
__device__ __forceinline__ uint64_t pb_cluster_address(uint32_t offset, uint32_t rank)
{
    extern __shared__ uint4 pb_shared[];
    uint64_t mapped;

    asm volatile("mapa.u64 %0, %1, %2;"
                 : "=l"(mapped)
                 : "l"((uint64_t)pb_shared + offset), "r"(rank));
    return mapped;
}

/*
 * Dependent loads, twice: the first pass warms. Both reads of the clock around the second one; both
 * 0: it went astray.
 */
__device__ __forceinline__ void pb_cluster_chase(uint64_t start, uint64_t *clocks)
{
    uint64_t begin = 0, end = 0, at = start;

    for (uint32_t pass = 0; pass < 2; pass++) {
        begin = pb_clock();
#pragma unroll 16
        for (uint32_t i = 0; i < PB_KERNEL_CLUSTER_SLOTS; i++)
            asm volatile("ld.u64 %0, [%0];" : "+l"(at)::"memory");
        pb_await((uint32_t)at);
        end = pb_clock();
    }
    clocks[0] = at == start ? begin : 0;
    clocks[1] = at == start ? end : 0;
}

__device__ __forceinline__ void pb_cluster_link(uint32_t rank)
{
    for (uint32_t i = 0; i < PB_KERNEL_CLUSTER_SLOTS; i++) {
        uint64_t next =
            pb_cluster_address((i + 1) % PB_KERNEL_CLUSTER_SLOTS * PB_CLUSTER_SLOT_BYTES, rank);

        pb_store_pair(pb_shared_base() + i * PB_CLUSTER_SLOT_BYTES, (uint32_t)next,
                      (uint32_t)(next >> 32));
    }
}

/* All threads: passes over the neighbour's words; the xor of what they read. */
__device__ __forceinline__ uint32_t pb_cluster_read(uint64_t base, uint32_t repeats)
{
    const uint32_t step = PB_CLUSTER_THREADS * sizeof(uint4);
    uint32_t found = 0;

#pragma unroll 1
    for (uint32_t pass = 0; pass < repeats; pass++)
#pragma unroll 1 /* more of them would not fit the registers of so many threads */
        for (uint64_t at = base + threadIdx.x * sizeof(uint4); at < base + PB_KERNEL_CLUSTER_BYTES;
             at += PB_CLUSTER_AT_ONCE * step) {
            uint4 word[PB_CLUSTER_AT_ONCE];

#pragma unroll
            for (int i = 0; i < PB_CLUSTER_AT_ONCE; i++)
                asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(word[i].x), "=r"(word[i].y), "=r"(word[i].z), "=r"(word[i].w)
                             : "l"(at + i * step)
                             : "memory");
#pragma unroll
            for (int i = 0; i < PB_CLUSTER_AT_ONCE; i++)
                found ^= word[i].x ^ word[i].y ^ word[i].z ^ word[i].w;
        }
    return found;
}

#endif

/*
 * One thread a CTA: in turn, from this SM to each of the cluster. The vote keeps the branch uniform
 * in the compiler's eyes: behind another the clock would be read through a uniform register.
 */
extern "C" __global__ void pb_cluster_latency(struct pb_kernel_cluster_shared request)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    uint64_t *clocks = (uint64_t *)request.clocks + 2 * (uint64_t)blockIdx.x * request.size;
    uint32_t rank = pb_cluster_rank();

    ((uint32_t *)request.sms)[blockIdx.x] = pb_sm_id();
    pb_cluster_link(rank);
    pb_cluster_meet();
#pragma unroll 1
    for (uint32_t turn = 0; turn < request.size * request.size; turn++) {
        if (__any_sync(1u, turn / request.size == rank))
            pb_cluster_chase(pb_cluster_address(0, turn % request.size),
                             clocks + 2 * (turn % request.size));
        pb_cluster_meet();
    }
#endif
}

/* All at once from the next one of the cluster. */
extern "C" __global__ void __launch_bounds__(PB_CLUSTER_THREADS)
    pb_cluster_rate(struct pb_kernel_cluster_shared request)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    uint64_t next = pb_cluster_address(0, (pb_cluster_rank() + 1) % request.size), start, end;
    uint32_t base = pb_shared_base(), found, expected = 0;

    for (uint32_t i = threadIdx.x; i < PB_KERNEL_CLUSTER_BYTES / 4; i += PB_CLUSTER_THREADS)
        pb_store(base + 4 * i, PB_KERNEL_PATTERN(i, request.salt));
    for (uint32_t i = threadIdx.x; i < PB_KERNEL_CLUSTER_BYTES / 16; i += PB_CLUSTER_THREADS)
        for (uint32_t j = 0; j < 4; j++)
            expected ^= PB_KERNEL_PATTERN(4 * i + j, request.salt);
    pb_cluster_meet();
    start = pb_clock();
    found = pb_cluster_read(next, request.repeats);
    pb_await_any(found);
    __syncthreads();
    end = pb_clock();
    if (threadIdx.x == 0) {
        ((uint64_t *)request.rate_clocks)[2 * blockIdx.x] = start;
        ((uint64_t *)request.rate_clocks)[2 * blockIdx.x + 1] = end;
    }
    if (found != expected)
        atomicAdd((uint32_t *)request.mismatches, 1);
    pb_cluster_meet(); /* the neighbour's memory is there until all have read it */
#endif
}

extern "C" int pb_kernel_cluster_shared_fit(const struct pb_kernel_cluster_shared *request,
                                            int *count_out)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_config(request, PB_CLUSTER_THREADS, &attribute);
    cudaError_t code = pb_cluster_allow(pb_cluster_rate, request);

    if (code == cudaSuccess)
        code = pb_cluster_allow(pb_cluster_latency, request);
    return (int)pb_cluster_count(code, pb_cluster_rate, &config, count_out);
}

extern "C" int pb_kernel_cluster_shared(const struct pb_kernel_cluster_shared *request)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_config(request, 1, &attribute);
    cudaError_t code = cudaLaunchKernelEx(&config, pb_cluster_latency, *request);

    config = pb_cluster_config(request, PB_CLUSTER_THREADS, &attribute);
    if (code == cudaSuccess)
        code = cudaLaunchKernelEx(&config, pb_cluster_rate, *request);
    return (int)code;
}
