/*
 * Pointer chases through global memory by one thread: traced load by load, or timed as a whole.
 *
 * Source: M16 4.2 (fine-grained p-chase); facts 2.1 to 2.5. Each kernel runs twice through the same
 * code: first a few loads of a slot that points to itself, so that no instruction is fetched for
 * the first time while it is measured, then the chase.
 */
#include "kernels/stamp.cuh"

template <class Load> __device__ __forceinline__ void pb_trace(const struct pb_kernel_chase &chase)
{
    uint32_t capacity = PB_KERNEL_CAPACITY(chase.record);
    uint32_t loaded = pb_shared_base(), pairs = loaded + 4 * capacity;
    uint32_t count = PB_KERNEL_PRACTICE;
    uint64_t warm = 9;
    Load chain = {chase.place.control};

    if (!pb_take_sm(chase.place))
        return;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        pb_walk(chain, warm);
        pb_record<Load, pb_between_load<Load>>(chain, count, loaded, pairs);
        if (round == 0)
            chain.at = chase.start;
        warm = chase.warm;
        count = chase.record;
    }
    pb_copy_out(chase.recording, 0, capacity);
    pb_tell(chase.place, chain.at);
}

template <class Load> __device__ __forceinline__ void pb_time(const struct pb_kernel_chase &chase)
{
    uint64_t warm = 9, timed = 9, start = 0, end = 0, start_ns = 0, end_ns = 0;
    Load chain = {chase.place.control};

    if (!pb_take_sm(chase.place))
        return;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        pb_walk(chain, warm);
        start_ns = pb_timer_ns();
        start = pb_clock();
        pb_walk(chain, timed);
        end = pb_clock();
        end_ns = pb_timer_ns();
        if (round == 0)
            chain.at = chase.start;
        warm = chase.warm;
        timed = chase.timed;
    }
    pb_tell_times(chase.place, start, end, start_ns, end_ns);
    pb_tell(chase.place, chain.at);
}

/* Plain names: the check of the machine code finds kernels by them. */
#define PB_CHASE_KERNELS(path)                                                                     \
    extern "C" __global__ void pb_trace_##path(struct pb_kernel_chase chase)                       \
    {                                                                                              \
        pb_trace<pb_load_##path>(chase);                                                           \
    }                                                                                              \
    extern "C" __global__ void pb_time_##path(struct pb_kernel_chase chase)                        \
    {                                                                                              \
        pb_time<pb_load_##path>(chase);                                                            \
    }

PB_CHASE_KERNELS(global_ca)
PB_CHASE_KERNELS(global_cg)
PB_CHASE_KERNELS(readonly)

static int pb_launch(void (*kernel)(struct pb_kernel_chase), const struct pb_kernel_chase *chase)
{
    int error = pb_configure(kernel, &chase->place);

    if (error != 0)
        return error;
    kernel<<<chase->place.cta_count, 1, chase->place.shared_bytes>>>(*chase);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_trace(enum pb_kernel_path path, const struct pb_kernel_chase *chase)
{
    switch (path) {
    case PB_KERNEL_GLOBAL_CA:
        return pb_launch(pb_trace_global_ca, chase);
    case PB_KERNEL_GLOBAL_CG:
        return pb_launch(pb_trace_global_cg, chase);
    case PB_KERNEL_READONLY:
        return pb_launch(pb_trace_readonly, chase);
    case PB_KERNEL_SHARED:
        return pb_kernel_trace_shared(chase);
    default:
        return (int)cudaErrorInvalidValue;
    }
}

extern "C" int pb_kernel_time(enum pb_kernel_path path, const struct pb_kernel_chase *chase)
{
    switch (path) {
    case PB_KERNEL_GLOBAL_CA:
        return pb_launch(pb_time_global_ca, chase);
    case PB_KERNEL_GLOBAL_CG:
        return pb_launch(pb_time_global_cg, chase);
    case PB_KERNEL_READONLY:
        return pb_launch(pb_time_readonly, chase);
    case PB_KERNEL_SHARED:
        return pb_kernel_time_shared(chase);
    default:
        return (int)cudaErrorInvalidValue;
    }
}
