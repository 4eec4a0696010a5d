/*
 * What all stamped and timed kernels share: the clock, the loop that records, and the launch.
 *
 * Limit: the order of instructions is requested here with volatile assembly, but only the check of
 * the machine code (tests/kernels) proves that the compiler has kept it.
 */
#ifndef PB_KERNELS_STAMP_CUH
#define PB_KERNELS_STAMP_CUH

#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/load.cuh"

/* The lower half of the SM's clock. Never subtract two of them on the device (facts 2.1). */
__device__ __forceinline__ uint32_t pb_stamp()
{
    uint32_t cycles;

    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}

__device__ __forceinline__ uint64_t pb_clock()
{
    uint64_t cycles;

    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}

__device__ __forceinline__ uint64_t pb_timer_ns()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

__device__ __forceinline__ uint32_t pb_sm_id()
{
    uint32_t id;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

__device__ __forceinline__ void pb_store(uint32_t address, uint32_t value)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void pb_store_pair(uint32_t address, uint32_t first, uint32_t second)
{
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second)
                 : "memory");
}

/* The same where `active` is not 0, and nothing elsewhere: without a branch, behind which the clock
 * would be read through a uniform register (facts 2.1). */
__device__ __forceinline__ void pb_store_if(uint32_t active, uint32_t address, uint32_t value)
{
    asm volatile(
        "{ .reg .pred on; setp.ne.u32 on, %0, 0; @on st.shared.u32 [%1], %2; }" ::"r"(active),
        "r"(address), "r"(value)
        : "memory");
}

__device__ __forceinline__ void pb_store_pair_if(uint32_t active, uint32_t address, uint32_t first,
                                                 uint32_t second)
{
    asm volatile(
        "{ .reg .pred on; setp.ne.u32 on, %0, 0; @on st.shared.v2.u32 [%1], {%2, %3}; }" ::"r"(
            active),
        "r"(address), "r"(first), "r"(second)
        : "memory");
}

/* Between the stamps: the load under test, and a store that cannot leave before it is back. */
template <class Load> struct pb_between_load {
    __device__ __forceinline__ static void run(Load &chain, uint32_t slot)
    {
        chain.load();
        pb_store(slot, (uint32_t)chain.at);
    }
};

/* Who records: the only thread there is, every value in a word of its own… */
struct pb_recorder_alone {
    static const uint32_t value_step = 4;
    __device__ __forceinline__ void keep(uint32_t pairs, uint32_t opened, uint32_t closed) const
    {
        pb_store_pair(pairs, opened, closed);
    }
};

/* …or a warp: each lane keeps its last value in a word and a bank of its own, so that lanes neither
 * race nor wait for each other there, and one of them keeps the stamps of all. */
struct pb_recorder_warp {
    static const uint32_t value_step = 0;
    uint32_t is_first;
    __device__ __forceinline__ void keep(uint32_t pairs, uint32_t opened, uint32_t closed) const
    {
        pb_store_pair_if(is_first, pairs, opened, closed);
    }
};

/*
 * The stamped loop (M16 4.2): stamp, work, stamp, and both stamps raw into shared memory.
 *
 * The pair of one access is stored when the next begins. So the registers of the stamps live
 * through the whole loop, and whatever must be waited for before they can be overwritten is waited
 * for ahead of the first stamp, never between the two. What the first round stores, before there is
 * a pair, falls on the two words ahead of the pairs: the last two of loaded[], which are written
 * later or not at all.
 */
template <class Load, class Between, class Recorder = pb_recorder_alone>
__device__ __forceinline__ void pb_record(Load &chain, uint32_t count, uint32_t loaded,
                                          uint32_t pairs, Recorder recorder = Recorder())
{
    uint32_t opened = 0, closed = 0;

    pairs -= 8;
#pragma unroll 1
    for (uint32_t i = 0; i < count; i++) {
        recorder.keep(pairs, opened, closed);
        chain.ready();
        opened = pb_stamp();
        Between::run(chain, loaded);
        closed = pb_stamp();
        loaded += Recorder::value_step;
        pairs += 8;
    }
    recorder.keep(pairs, opened, closed);
}

/* Copies the recording from shared to global memory, 16 bytes at a time. */
__device__ __forceinline__ void pb_copy_out(uint64_t recording, uint32_t shared_offset,
                                            uint32_t bytes)
{
    extern __shared__ uint4 pb_shared[];
    const uint4 *from = pb_shared + shared_offset / sizeof(uint4);
    uint4 *to = (uint4 *)recording;

    for (uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x)
        to[i] = from[i];
}

/* The address of dynamic shared memory as ld.shared takes it. */
__device__ __forceinline__ uint32_t pb_shared_base()
{
    extern __shared__ uint4 pb_shared[];

    return (uint32_t)__cvta_generic_to_shared(pb_shared);
}

enum { PB_NO_JOB = -1 };

/* What this SM may still do: the number of its job, taken. At most one CTA of an SM gets one. */
__device__ __forceinline__ int pb_claim(const struct pb_kernel_place &place)
{
    struct pb_kernel_control *control = (struct pb_kernel_control *)place.control;
    uint32_t sm = pb_sm_id(), claim, job;

    if (sm >= PB_KERNEL_SMS)
        return PB_NO_JOB;
    claim = atomicExch(&control->claims[sm], 0);
    if (claim == 0)
        return PB_NO_JOB;
    job = atomicAdd(&control->are_given, 0) != 0 ? claim - 1 : atomicAdd(&control->next, 1);
    return job < place.job_count ? (int)job : PB_NO_JOB;
}

/*
 * The job of this CTA, or none. CTAs spread over all SMs because none leaves before all work is
 * taken, and work begins when all others have left. All traffic is atomic: L1 stays clean.
 */
__device__ __forceinline__ int pb_spread(const struct pb_kernel_place &place)
{
    struct pb_kernel_control *control = (struct pb_kernel_control *)place.control;
    const uint64_t timeout_cycles = 4000000; /* 2 ms: then an SM takes no CTA of ours */
    uint64_t start = pb_clock();
    int job = pb_claim(place);

    if (job != PB_NO_JOB) {
        atomicAdd(&control->begun, 1);
        while (atomicAdd(&control->begun, 0) + atomicAdd(&control->departed, 0) < gridDim.x)
            ;
        return job;
    }
    while (atomicAdd(&control->begun, 0) < place.job_count && pb_clock() - start < timeout_cycles)
        ;
    atomicAdd(&control->departed, 1);
    return PB_NO_JOB;
}

/*
 * The same for a grid of as many CTAs as there are jobs, which may run anywhere. Called by the only
 * thread of a CTA. The vote keeps what is behind it uniform in the compiler's eyes: else it counts
 * as divergent, and the clock is read through a uniform register, which takes longer (facts 2.1).
 */
__device__ __forceinline__ int pb_take_job(const struct pb_kernel_place &place)
{
    int job = gridDim.x == place.job_count ? (int)blockIdx.x : pb_spread(place);

    return __syncthreads_or(job != PB_NO_JOB) ? job : PB_NO_JOB;
}

__device__ __forceinline__ struct pb_kernel_result *pb_result(const struct pb_kernel_place &place,
                                                              int job)
{
    return (struct pb_kernel_result *)place.results + job;
}

__device__ __forceinline__ void pb_record_result(struct pb_kernel_result *result,
                                                 uint64_t last_address)
{
    result->last_address = last_address;
    result->sm_id = pb_sm_id();
    result->runs = 1;
}

__device__ __forceinline__ void pb_record_times(struct pb_kernel_result *result, uint64_t start,
                                                uint64_t end, uint64_t start_ns, uint64_t end_ns)
{
    result->start_cycles = start;
    result->end_cycles = end;
    result->start_ns = start_ns;
    result->end_ns = end_ns;
}

/* Sets what a stamped or timed kernel needs before its launch; a CUDA error code. */
template <class Kernel> int pb_configure(Kernel kernel, const struct pb_kernel_place *place)
{
    cudaError_t error;

    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 place->carveout);
    if (error == cudaSuccess && place->shared_bytes > 48 * 1024)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)place->shared_bytes);
    return (int)error;
}

/* Launches a kernel of one thread a CTA; cudaErrorInvalidValue where there is none. */
template <class Request>
int pb_launch_one(void (*kernel)(const Request), const struct pb_kernel_place *place,
                  const Request &request)
{
    int error = (int)cudaErrorInvalidValue;

    if (kernel != NULL)
        error = pb_configure(kernel, place);
    if (error != 0)
        return error;
    kernel<<<place->cta_count, 1, place->shared_bytes>>>(request);
    return (int)cudaGetLastError();
}

#endif
