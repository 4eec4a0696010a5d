/* When many threads start and end: the earliest and the latest of them, by clocks of their SM. */
#ifndef PB_KERNELS_SPAN_CUH
#define PB_KERNELS_SPAN_CUH

#include "kernels/stamp.cuh"

/* Both clocks at the same moment, as far as two reads can be. */
struct pb_moment {
    uint64_t cycles, ns;
};

__device__ __forceinline__ struct pb_moment pb_now()
{
    uint64_t ns = pb_timer_ns();

    return {pb_clock(), ns};
}

/* The span must have been opened: starts at their highest, ends at 0. */
__device__ __forceinline__ void pb_span_add(struct pb_kernel_span *span, struct pb_moment start,
                                            struct pb_moment end)
{
    atomicMin((unsigned long long *)&span->start_cycles, (unsigned long long)start.cycles);
    atomicMin((unsigned long long *)&span->start_ns, (unsigned long long)start.ns);
    atomicMax((unsigned long long *)&span->end_cycles, (unsigned long long)end.cycles);
    atomicMax((unsigned long long *)&span->end_ns, (unsigned long long)end.ns);
}

#endif
