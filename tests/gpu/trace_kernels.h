/* What the sources of plumb-trace-kernels share: the arena and the table of kernels. */
#ifndef PB_TRACE_KERNELS_H
#define PB_TRACE_KERNELS_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t ARENA_BYTES = (size_t)64 << 20;

#include "check.h"

/* The arena: places in floats from its start. */
enum { A = 0, B = 4 << 20, C = 8 << 20, D = 12 << 20 };

static __device__ __forceinline__ uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static __device__ __forceinline__ int thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

struct test {
    const char *name;
    void (*kernel)(float *memory);
    dim3 grid, block;
    size_t shared_bytes = 0;              /* dynamic */
    int carveout_percent = -1;            /* of shared memory that the program prefers; -1: any */
    void (*prepare)(float *arena) = NULL; /* before the launch; NULL: nothing */
};

/* access_kinds.cu: one kind of access each, for the rules of the model. */
extern const struct test access_kinds[];
extern const size_t access_kind_count;

/* held_out_4.cu: predicted before their counters were seen. */
extern const struct test held_out_4[];
extern const size_t held_out_4_count;

#endif
