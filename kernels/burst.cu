/*
 * Independent loads outstanding: every warp of one CTA issues all of its loads and then waits for
 * all of them (N14 5.2). One kernel for each number of loads, so that nothing decides between them.
 *
 * Limit: between two loads stands the addition that makes the next address, a cycle or two against
 * hundreds that a miss takes.
 */
#include <utility>

#include "kernels/stamp.cuh"

enum : uint32_t { warp_size = 32 };

__global__ void pb_burst_fill_lines(uint64_t base, uint64_t line_bytes, uint64_t count,
                                    uint32_t salt)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        *(uint32_t *)(base + i * line_bytes) = PB_KERNEL_PATTERN(i, salt);
}

/* Every CTA reads every line once, past its L1: then L2 has them, near each SM. */
__global__ void pb_burst_touch_lines(uint64_t base, uint64_t line_bytes, uint64_t count)
{
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
        asm volatile("{ .reg .u32 word; ld.global.cg.u32 word, [%0]; }" ::"l"(base + i * line_bytes)
                     : "memory");
}

/* Loads only where `active` is not 0, and leaves anything elsewhere: without a branch, behind which
 * the clock would be read through a uniform register (facts 2.1). */
template <enum pb_kernel_path path>
__device__ __forceinline__ void pb_load_word(uint32_t &word, uint64_t at, uint32_t active)
{
    if (path == PB_KERNEL_GLOBAL_CA)
        asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.ca.u32 %0, [%1]; }"
                     : "=r"(word)
                     : "l"(at), "r"(active)
                     : "memory");
    else if (path == PB_KERNEL_GLOBAL_CG)
        asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.cg.u32 %0, [%1]; }"
                     : "=r"(word)
                     : "l"(at), "r"(active)
                     : "memory");
    else
        asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.nc.u32 %0, [%1]; }"
                     : "=r"(word)
                     : "l"(at), "r"(active)
                     : "memory");
}

/* First once for practice, all loads from the line of the control block, then the burst. The sum
 * of what a lane read goes to shared memory before the second stamp, which thus waits for all. All
 * lanes of a warp store the same stamps to the same pair, in one instruction: no predicate, which
 * would become a branch here. */
template <enum pb_kernel_path path, int loads>
__global__ void __launch_bounds__(PB_KERNEL_BURST_WARPS(loads) * warp_size, 1)
    pb_burst_loads(struct pb_kernel_burst burst)
{
    __shared__ uint32_t sums[PB_KERNEL_BURST_WARPS(loads) * warp_size];
    __shared__ uint2 stamps[PB_KERNEL_BURST_WARPS(loads)];
    uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    uint32_t slot = (uint32_t)__cvta_generic_to_shared(&sums[threadIdx.x]);
    uint32_t pair = (uint32_t)__cvta_generic_to_shared(&stamps[warp]);
    uint32_t active = lane < burst.lanes;
    uint64_t first = (uint64_t)warp * burst.lanes + lane;
    uint64_t at = burst.control, step = 0;

#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        uint32_t words[loads], sum = 0;

        __syncthreads();
        uint32_t opened = pb_stamp();
#pragma unroll
        for (int i = 0; i < loads; i++)
            pb_load_word<path>(words[i], at + i * step, active);
#pragma unroll
        for (int i = 0; i < loads; i++)
            sum += words[i];
        pb_store(slot, sum);
        uint32_t closed = pb_stamp();
        pb_store_pair(pair, opened, closed);
        at = burst.base + first * burst.line_bytes;
        step = burst.line_bytes * burst.lanes * (blockDim.x / warp_size);
    }
    __syncthreads(); /* the pair that lane 0 reads may be another lane's store */
    if (!active)
        return;
    ((uint32_t *)burst.sums)[first] = sums[threadIdx.x];
    if (lane == 0)
        ((uint2 *)burst.stamps)[warp] = stamps[warp];
}

typedef void (*pb_burst_kernel)(struct pb_kernel_burst);

template <enum pb_kernel_path path, int... i>
static pb_burst_kernel pb_pick_loads(uint32_t loads, std::integer_sequence<int, i...>)
{
    static const pb_burst_kernel kernels[] = {pb_burst_loads<path, i + 1>...};

    return loads >= 1 && loads <= sizeof...(i) ? kernels[loads - 1] : NULL;
}

static pb_burst_kernel pb_pick(const struct pb_kernel_burst *burst)
{
    const std::make_integer_sequence<int, PB_KERNEL_BURST_LOADS> all = {};

    switch (burst->path) {
    case PB_KERNEL_GLOBAL_CA:
        return pb_pick_loads<PB_KERNEL_GLOBAL_CA>(burst->loads, all);
    case PB_KERNEL_GLOBAL_CG:
        return pb_pick_loads<PB_KERNEL_GLOBAL_CG>(burst->loads, all);
    case PB_KERNEL_READONLY:
        return pb_pick_loads<PB_KERNEL_READONLY>(burst->loads, all);
    default:
        return NULL;
    }
}

extern "C" int pb_kernel_burst_fill(const struct pb_kernel_burst *burst, uint32_t salt)
{
    uint64_t count = (uint64_t)burst->warps * burst->lanes * burst->loads;

    pb_burst_fill_lines<<<32, 1024>>>(burst->base, burst->line_bytes, count, salt);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_burst_touch(const struct pb_kernel_burst *burst, uint32_t cta_count)
{
    uint64_t count = (uint64_t)burst->warps * burst->lanes * burst->loads;

    pb_burst_touch_lines<<<cta_count, 1024>>>(burst->base, burst->line_bytes, count);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_burst(const struct pb_kernel_burst *burst)
{
    pb_burst_kernel kernel = pb_pick(burst);

    if (kernel == NULL)
        return (int)cudaErrorInvalidValue;
    kernel<<<1, burst->warps * warp_size>>>(*burst);
    return (int)cudaGetLastError();
}
