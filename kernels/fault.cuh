/* How kernels report words that are wrong: all are counted, the first to arrive is described. */
#ifndef PB_KERNELS_FAULT_CUH
#define PB_KERNELS_FAULT_CUH

#include "kernels/kernels.h"

__device__ __forceinline__ void pb_fault_report(struct pb_kernel_fault *fault, uint64_t address,
                                                uint64_t expected, uint64_t found)
{
    if (atomicAdd((unsigned long long *)&fault->count, 1ull) != 0)
        return;
    fault->address = address;
    fault->expected = expected;
    fault->found = found;
}

#endif
