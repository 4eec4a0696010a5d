/* CTAs that start together, one on every SM: each takes its SM and waits for the others. */
#ifndef PB_KERNELS_MEET_CUH
#define PB_KERNELS_MEET_CUH

#include "kernels/parallel.h"
#include "kernels/stamp.cuh"

/* By all threads of a CTA. False: not every SM is there, and the state says why. */
__device__ __forceinline__ bool pb_meet(struct pb_kernel_meet *state)
{
    const uint64_t limit_cycles = 1000000000; /* 0.5 s: tools that check kernels slow them down */
    bool is_failed = false;

    if (threadIdx.x == 0) {
        uint64_t start = pb_clock();
        uint32_t sm = pb_sm_id();

        if (sm >= gridDim.x || atomicExch(&state->is_taken[sm], 1) != 0)
            atomicCAS(&state->fault, 0, (uint32_t)PB_KERNEL_MEET_SPREAD);
        atomicAdd(&state->present, 1);
        while (atomicAdd(&state->present, 0) < gridDim.x && !is_failed)
            is_failed = pb_clock() - start > limit_cycles;
        if (is_failed)
            atomicCAS(&state->fault, 0, (uint32_t)PB_KERNEL_MEET_ABSENT);
        is_failed = atomicAdd(&state->fault, 0) != PB_KERNEL_MEET_WELL;
    }
    return !__syncthreads_or(is_failed);
}

#endif
