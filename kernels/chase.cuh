/*
 * The pointer chase by one thread: traced load by load, or timed as a whole.
 *
 * Source: M16 4.2 (fine-grained p-chase); facts 2.1 to 2.5. Each kernel runs twice through the same
 * code: first a few loads of a slot that points to itself, so that no instruction is fetched for
 * the first time while it is measured, then the chase.
 */
#ifndef PB_KERNELS_CHASE_CUH
#define PB_KERNELS_CHASE_CUH

#include "kernels/stamp.cuh"

/* Past L1, which has to stay clean. */
__device__ __forceinline__ uint64_t pb_read_clean(const uint64_t *from)
{
    return __ldcg((const unsigned long long *)from);
}

/* A chain whose links are bad may lead anywhere. */
__device__ __forceinline__ bool pb_may_chase(const struct pb_kernel_chase &chase)
{
    const struct pb_kernel_fault *fault = (const struct pb_kernel_fault *)chase.fault;

    return __syncthreads_or(pb_read_clean(&fault->count) != 0) == 0;
}

__device__ __forceinline__ uint64_t pb_recording(const struct pb_kernel_chase &chase, int number)
{
    return chase.recordings +
           (uint64_t)number * PB_KERNEL_CAPACITY(chase.record) * PB_KERNEL_RECORD_BYTES;
}

/* The warm loads go the way of the measured ones. */
struct pb_warm_same {
    template <class Load>
    __device__ __forceinline__ static void load(Load &chain, uint64_t count,
                                                const struct pb_kernel_chase &)
    {
        pb_warm(chain, count);
    }
};

template <class Load, class Warm = pb_warm_same>
__device__ __forceinline__ void pb_trace(const struct pb_kernel_chase &chase)
{
    int number = pb_take_job(chase.place);
    uint32_t count = PB_KERNEL_PRACTICE;
    uint64_t warm = 9;
    Load chain;

    if (number == PB_NO_JOB || !pb_may_chase(chase))
        return;
    const struct pb_kernel_job &job = chase.jobs[number];
    uint32_t capacity = PB_KERNEL_CAPACITY(chase.record);
    uint32_t loaded = pb_shared_base(), pairs = loaded + 4 * capacity;

    chain.open(chase);
    chain.go(job.practice);
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        Warm::load(chain, warm, chase);
        pb_record<Load, pb_between_load<Load>>(chain, count, loaded, pairs);
        if (round == 0)
            chain.go(job.start);
        warm = job.warm;
        count = chase.record;
    }
    pb_copy_out(pb_recording(chase, number), 0, capacity * PB_KERNEL_RECORD_BYTES);
    pb_record_result(pb_result(chase.place, number), chain.where());
}

template <class Load, class Warm = pb_warm_same>
__device__ __forceinline__ void pb_time(const struct pb_kernel_chase &chase)
{
    uint64_t warm = 9, timed = 9, start = 0, end = 0, start_ns = 0, end_ns = 0;
    int number = pb_take_job(chase.place);
    Load chain;

    if (number == PB_NO_JOB || !pb_may_chase(chase))
        return;
    const struct pb_kernel_job &job = chase.jobs[number];

    chain.open(chase);
    chain.go(job.practice);
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        Warm::load(chain, warm, chase);
        start_ns = pb_timer_ns();
        start = pb_clock();
        pb_chase_loads(chain, timed);
        end = pb_clock();
        end_ns = pb_timer_ns();
        if (round == 0)
            chain.go(job.start);
        warm = job.warm;
        timed = chase.timed;
    }
    pb_record_times(pb_result(chase.place, number), start, end, start_ns, end_ns);
    pb_record_result(pb_result(chase.place, number), chain.where());
}

/* Plain names: the check of the machine code finds kernels by them. */
#define PB_TRACE_KERNEL(path)                                                                      \
    extern "C" __global__ void pb_trace_##path(                                                    \
        const __grid_constant__ struct pb_kernel_chase chase)                                      \
    {                                                                                              \
        pb_trace<pb_load_##path>(chase);                                                           \
    }

#define PB_CHASE_KERNELS(path)                                                                     \
    PB_TRACE_KERNEL(path)                                                                          \
    extern "C" __global__ void pb_time_##path(                                                     \
        const __grid_constant__ struct pb_kernel_chase chase)                                      \
    {                                                                                              \
        pb_time<pb_load_##path>(chase);                                                            \
    }

#endif
