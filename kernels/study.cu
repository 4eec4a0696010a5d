/*
 * F13's studies of a kernel's shape, by one CTA: barriers among writes (3.4.2), and reads that
 * neighbouring threads can or cannot share (3.4.3).
 *
 * Each thread's reads follow one another, as F13's do: the next address needs the word before,
 * which adds nothing to it. All reads go through L1 and are added up, so that the host can check
 * what was read.
 */
#include "kernels/span.cuh"

/* `barriers` of them, spread evenly over the writes. All threads write the same words. */
extern "C" __global__ void pb_study_sync(struct pb_kernel_study study)
{
    volatile uint32_t *data = (volatile uint32_t *)study.data;
    uint32_t due = 0;

    __syncthreads();
    struct pb_moment start = pb_now();
#pragma unroll 1
    for (uint32_t i = 0; i < PB_KERNEL_STUDY_ACCESSES; i++) {
        data[i] = PB_KERNEL_PATTERN(i, study.salt);
        due += study.parameter;
        if (due >= PB_KERNEL_STUDY_ACCESSES) {
            due -= PB_KERNEL_STUDY_ACCESSES;
            __syncthreads();
        }
    }
    pb_span_add((struct pb_kernel_span *)study.span, start, pb_now());
}

extern "C" __global__ void pb_study_read(struct pb_kernel_study study)
{
    uint64_t at = study.data + study.shift_bytes + threadIdx.x * (uint64_t)study.thread_bytes;
    uint32_t sum = 0;

    __syncthreads();
    struct pb_moment start = pb_now();
#pragma unroll 4
    for (uint32_t i = 0; i < PB_KERNEL_STUDY_ACCESSES; i++) {
        uint32_t word;

        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
        sum += word;
        at += study.step_bytes + (word & study.nothing);
    }
    pb_span_add((struct pb_kernel_span *)study.span, start, pb_now());
    ((uint32_t *)study.sums)[threadIdx.x] = sum;
}

extern "C" int pb_kernel_study_sync(const struct pb_kernel_study *study)
{
    pb_study_sync<<<1, study->threads>>>(*study);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_study_read(const struct pb_kernel_study *study)
{
    pb_study_read<<<1, study->threads>>>(*study);
    return (int)cudaGetLastError();
}
