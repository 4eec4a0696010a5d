/*
 * Pointer chases through shared memory by one thread, which also links the chain: shared memory
 * does not outlive the kernel.
 *
 * Source: M16 6.1; the loops are those of chase.cu.
 */
#include "kernels/chase.cuh"

typedef pb_load_shared<4> pb_load_word;

/* Links the chain; the address of slot 0. */
__device__ __forceinline__ uint32_t pb_link_shared(const struct pb_kernel_chase &chase)
{
    const uint64_t *offsets = (const uint64_t *)chase.offsets;
    uint32_t base = pb_shared_base();
    uint32_t first = base + (uint32_t)offsets[0], last = first;

#pragma unroll 8
    for (uint32_t i = 1; i < chase.offset_count; i++) {
        uint32_t next = base + (uint32_t)offsets[i];
        pb_store(last, next);
        last = next;
    }
    pb_store(last, first);
    return first;
}

__device__ __forceinline__ void pb_record_shared_result(const struct pb_kernel_chase &chase,
                                                        int number, uint32_t last)
{
    struct pb_kernel_result *result = pb_result(chase.place, number);

    result->base_address = pb_shared_base();
    pb_record_result(result, last);
}

extern "C" __global__ void pb_trace_shared(const __grid_constant__ struct pb_kernel_chase chase)
{
    uint32_t count = PB_KERNEL_PRACTICE;
    uint64_t warm = 9;
    int number = pb_take_job(chase.place);

    if (number == PB_NO_JOB)
        return;
    const struct pb_kernel_job &job = chase.jobs[number];
    uint32_t capacity = PB_KERNEL_CAPACITY(chase.record);
    uint32_t loaded = pb_shared_base() + chase.chain_bytes, pairs = loaded + 4 * capacity;
    pb_load_word chain = {pb_link_shared(chase)};
    uint32_t start = chain.at;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        pb_warm(chain, warm);
        pb_record<pb_load_word, pb_between_load<pb_load_word>>(chain, count, loaded, pairs);
        if (round == 0)
            chain.at = start;
        warm = job.warm;
        count = chase.record;
    }
    pb_copy_out(pb_recording(chase, number), chase.chain_bytes, capacity * PB_KERNEL_RECORD_BYTES);
    pb_record_shared_result(chase, number, chain.at);
}

extern "C" __global__ void pb_time_shared(const __grid_constant__ struct pb_kernel_chase chase)
{
    uint64_t warm = 9, timed = 9, start = 0, end = 0, start_ns = 0, end_ns = 0;
    int number = pb_take_job(chase.place);

    if (number == PB_NO_JOB)
        return;
    const struct pb_kernel_job &job = chase.jobs[number];
    pb_load_word chain = {pb_link_shared(chase)};
    uint32_t first = chain.at;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        pb_warm(chain, warm);
        start_ns = pb_timer_ns();
        start = pb_clock();
        pb_chase_loads(chain, timed);
        end = pb_clock();
        end_ns = pb_timer_ns();
        if (round == 0)
            chain.at = first;
        warm = job.warm;
        timed = chase.timed;
    }
    pb_record_times(pb_result(chase.place, number), start, end, start_ns, end_ns);
    pb_record_shared_result(chase, number, chain.at);
}

extern "C" pb_kernel_chaser pb_kernel_shared_chaser(int is_traced)
{
    return is_traced ? pb_trace_shared : pb_time_shared;
}
