/*
 * More live variables than registers (F13 3.4.4): 4096 times, a variable chosen at random is read,
 * and another is written with what all reads so far make up.
 *
 * Which ones is chosen at random while compiling, so that variables can live in registers, as long
 * as those suffice: a thread has 64, half as many variables, because one compiled kernel serves up
 * to 1024 threads. The rest is spilled to local memory by the compiler, which is what is measured.
 *
 * Limit: the order repeats when all variables have come (after 64 steps at least): code of 4096
 * different steps for each number of variables would fill megabytes.
 */
#include "kernels/span.cuh"

template <int count>
__device__ __forceinline__ void pb_fill_variables(uint64_t (&x)[count], uint64_t seed)
{
#pragma unroll
    for (uint32_t i = 0; i < count; i++)
        x[i] = pb_kernel_spill_seed(seed, i);
}

/* All steps of one round; `v` is the sum of all reads so far. */
template <int count>
__device__ __forceinline__ uint64_t pb_step_variables(uint64_t (&x)[count], uint64_t v)
{
#pragma unroll
    for (uint32_t step = 0; step < pb_kernel_spill_round(count); step++) {
        v += x[pb_kernel_spill_read(step, count)];
        x[pb_kernel_spill_write(step, count)] = v;
    }
    return v;
}

template <int count>
__device__ __forceinline__ uint64_t pb_sum_variables(const uint64_t (&x)[count])
{
    uint64_t sum = 0;

#pragma unroll
    for (uint32_t i = 0; i < count; i++)
        sum += pb_kernel_spill_weigh(x[i], i);
    return sum;
}

template <int count> __global__ void __launch_bounds__(1024) pb_spill(struct pb_kernel_study study)
{
    uint64_t x[count], v = 0;

    pb_fill_variables(x, study.salt + threadIdx.x);
    __syncthreads();
    struct pb_moment start = pb_now();
#pragma unroll 1
    for (uint32_t i = 0; i < PB_KERNEL_SPILL_STEPS / pb_kernel_spill_round(count); i++)
        v = pb_step_variables(x, v);
    pb_await_any((uint32_t)v);
    pb_span_add((struct pb_kernel_span *)study.span, start, pb_now());
    ((uint64_t *)study.sums)[threadIdx.x] = pb_sum_variables(x);
}

typedef void (*pb_spill_kernel)(struct pb_kernel_study);

static pb_spill_kernel pb_pick(uint32_t count)
{
    switch (count) {
    case 1:
        return pb_spill<1>;
    case 4:
        return pb_spill<4>;
    case 16:
        return pb_spill<16>;
    case 32:
        return pb_spill<32>;
    case 64:
        return pb_spill<64>;
    case 128:
        return pb_spill<128>;
    case 256:
        return pb_spill<256>;
    case 512:
        return pb_spill<512>;
    case 1024:
        return pb_spill<1024>;
    case 2048:
        return pb_spill<2048>;
    default:
        return NULL;
    }
}

extern "C" int pb_kernel_study_spill_need(const struct pb_kernel_study *study,
                                          uint64_t *thread_bytes_out)
{
    pb_spill_kernel kernel = pb_pick(study->parameter);
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaErrorInvalidValue;

    if (kernel != NULL)
        error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        *thread_bytes_out = attributes.localSizeBytes;
    return (int)error;
}

extern "C" int pb_kernel_study_spill(const struct pb_kernel_study *study)
{
    pb_spill_kernel kernel = pb_pick(study->parameter);

    if (kernel == NULL)
        return (int)cudaErrorInvalidValue;
    kernel<<<1, study->threads>>>(*study);
    return (int)cudaGetLastError();
}
