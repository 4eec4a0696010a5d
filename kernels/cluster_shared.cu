/*
 * Shared memory of the other CTAs of a cluster: the latency from each to each, one pair after the
 * other, and the rate at which all read from their neighbour.
 *
 * Limit: clusters are there from compute capability 9.0 on; before, the kernel is empty and the
 * launch is refused.
 */
#include "kernels/parallel.h"
#include "kernels/stamp.cuh"

enum {
    PB_CLUSTER_THREADS = 1024,
    PB_CLUSTER_SLOT_BYTES = 68, /* over all banks */
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

/* Where this CTA's shared address lies in that of another rank. */
__device__ __forceinline__ uint32_t pb_cluster_address(uint32_t address, uint32_t rank)
{
    uint32_t mapped;

    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

/* Dependent loads, twice: the first lap warms. Raw cycles of the second; 0: it went astray. */
__device__ __forceinline__ uint32_t pb_cluster_chase(uint32_t start)
{
    uint64_t begin = 0, end = 0;
    uint32_t at = start;

    for (uint32_t lap = 0; lap < 2; lap++) {
        begin = pb_clock();
#pragma unroll 16
        for (uint32_t i = 0; i < PB_KERNEL_CLUSTER_SLOTS; i++)
            asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory");
        pb_await(at);
        end = pb_clock();
    }
    return at == start ? (uint32_t)(end - begin) : 0;
}

__device__ __forceinline__ void pb_cluster_link(uint32_t base, uint32_t rank)
{
    uint32_t i = threadIdx.x;

    if (i < PB_KERNEL_CLUSTER_SLOTS)
        pb_store(base + i * PB_CLUSTER_SLOT_BYTES,
                 pb_cluster_address(
                     base + (i + 1) % PB_KERNEL_CLUSTER_SLOTS * PB_CLUSTER_SLOT_BYTES, rank));
}

/* All threads: passes over the neighbour's words; the xor of what they read. */
__device__ __forceinline__ uint32_t pb_cluster_read(uint32_t base, uint32_t repeats)
{
    const uint32_t step = PB_CLUSTER_THREADS * sizeof(uint4);
    uint32_t found = 0;

    for (uint32_t pass = 0; pass < repeats; pass++)
        for (uint32_t at = base + threadIdx.x * sizeof(uint4); at < base + PB_KERNEL_CLUSTER_BYTES;
             at += PB_CLUSTER_AT_ONCE * step) {
            uint4 word[PB_CLUSTER_AT_ONCE];

#pragma unroll
            for (int i = 0; i < PB_CLUSTER_AT_ONCE; i++)
                asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(word[i].x), "=r"(word[i].y), "=r"(word[i].z), "=r"(word[i].w)
                             : "r"(at + i * step)
                             : "memory");
#pragma unroll
            for (int i = 0; i < PB_CLUSTER_AT_ONCE; i++)
                found ^= word[i].x ^ word[i].y ^ word[i].z ^ word[i].w;
        }
    return found;
}

__device__ __forceinline__ void pb_cluster_latency(const struct pb_kernel_cluster_shared &request,
                                                   uint32_t base, uint32_t rank)
{
    uint32_t *cycles = (uint32_t *)request.cycles + (uint64_t)blockIdx.x * request.size;

    pb_cluster_link(base, rank);
    pb_cluster_meet();
    for (uint32_t turn = 0; turn < request.size * request.size; turn++) {
        uint32_t target = turn % request.size;

        if (turn / request.size == rank && threadIdx.x == 0)
            cycles[target] = pb_cluster_chase(pb_cluster_address(base, target));
        pb_cluster_meet();
    }
}

__device__ __forceinline__ void pb_cluster_rate(const struct pb_kernel_cluster_shared &request,
                                                uint32_t base, uint32_t rank)
{
    uint32_t next = pb_cluster_address(base, (rank + 1) % request.size), found, expected = 0;
    uint64_t start;

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
    if (threadIdx.x == 0)
        ((uint32_t *)request.rate_cycles)[blockIdx.x] = (uint32_t)(pb_clock() - start);
    if (found != expected)
        atomicAdd((uint32_t *)request.mismatches, 1);
    pb_cluster_meet(); /* the neighbour's memory is there until all have read it */
}
#endif

extern "C" __global__ void __launch_bounds__(PB_CLUSTER_THREADS)
    pb_cluster_shared(struct pb_kernel_cluster_shared request)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    uint32_t base = pb_shared_base(), rank = pb_cluster_rank();

    if (threadIdx.x == 0)
        ((uint32_t *)request.sms)[blockIdx.x] = pb_sm_id();
    pb_cluster_latency(request, base, rank);
    pb_cluster_rate(request, base, rank);
#endif
}

static cudaLaunchConfig_t pb_cluster_config(const struct pb_kernel_cluster_shared *request,
                                            cudaLaunchAttribute *attribute)
{
    cudaLaunchConfig_t config = {};

    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = request->size;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    config.gridDim = dim3(request->cta_count);
    config.blockDim = dim3(PB_CLUSTER_THREADS);
    config.dynamicSmemBytes = request->shared_bytes;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

extern "C" int pb_kernel_cluster_shared_fit(const struct pb_kernel_cluster_shared *request,
                                            int *count_out)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_config(request, &attribute);
    int count = 0;
    cudaError_t code = cudaFuncSetAttribute(
        pb_cluster_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)request->shared_bytes);

    if (code == cudaSuccess)
        code = cudaFuncSetAttribute(
            pb_cluster_shared, cudaFuncAttributeNonPortableClusterSizeAllowed, request->size > 8);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveClusters(&count, pb_cluster_shared, &config);
    if (code == cudaErrorInvalidClusterSize || code == cudaErrorNotSupported ||
        code == cudaErrorInvalidValue || code == cudaErrorInvalidConfiguration) {
        cudaGetLastError();
        code = cudaSuccess;
        count = 0;
    }
    *count_out = count;
    return (int)code;
}

extern "C" int pb_kernel_cluster_shared(const struct pb_kernel_cluster_shared *request)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_config(request, &attribute);

    return (int)cudaLaunchKernelEx(&config, pb_cluster_shared, *request);
}
