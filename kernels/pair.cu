/*
 * Which SMs belong together: where the CTAs of a cluster run, and what two SMs at work take from
 * each other.
 *
 * Limit: the pairs' kernel needs the whole device, one CTA on every SM. Where it does not get that
 * (MIG, another process), it says so and leaves.
 */
#include "kernels/pair.h"

#include "kernels/cluster.cuh"
#include "kernels/stamp.cuh"

enum {
    PB_CLUSTER_SMS_THREADS = 32,
    PB_PAIR_THREADS = 1024,
    PB_PAIR_AT_ONCE = 8,        /* accesses of a thread outstanding */
    PB_PAIR_SECTOR_BYTES = 32,  /* the least that goes to L2 */
    PB_PAIR_CONSTANT_LINE = 64, /* or more: each a miss of the first constant cache */
    PB_PAIR_CONSTANT_PASSES = 2,
    PB_PAIR_SLOT_PASSES = 6,
};

/* Zeros, more than any SM's own constant cache is known to hold. */
__constant__ uint32_t pb_pair_constants[PB_KERNEL_CONSTANT_BYTES / sizeof(uint32_t)];

extern "C" __global__ void pb_cluster_sms(struct pb_kernel_clusters clusters)
{
    uint64_t start = pb_clock();

    ((uint32_t *)clusters.sms)[blockIdx.x] = pb_sm_id();
    while (pb_clock() - start < clusters.hold_cycles)
        ;
}

extern "C" int pb_kernel_clusters_fit(const struct pb_kernel_clusters *clusters, int *count_out)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_config(clusters, PB_CLUSTER_SMS_THREADS, &attribute);
    cudaError_t code = pb_cluster_allow(pb_cluster_sms, clusters);

    return (int)pb_cluster_count(code, pb_cluster_sms, &config, count_out);
}

extern "C" int pb_kernel_clusters(const struct pb_kernel_clusters *clusters)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_config(clusters, PB_CLUSTER_SMS_THREADS, &attribute);

    return (int)cudaLaunchKernelEx(&config, pb_cluster_sms, *clusters);
}

__device__ __forceinline__ void pb_pairs_fail(struct pb_kernel_pairs_state *state, uint32_t fault)
{
    atomicCAS(&state->fault, (uint32_t)PB_KERNEL_PAIRS_WELL, fault);
}

/* Waits until the word is `wanted`. False: somebody failed, or nothing came in 2 ms and more. */
__device__ __forceinline__ bool pb_pairs_wait(struct pb_kernel_pairs_state *state, uint32_t *word,
                                              uint32_t wanted, uint64_t timeout_cycles,
                                              uint32_t fault)
{
    uint64_t start = pb_clock();

    while (atomicAdd(word, 0) != wanted) {
        if (atomicAdd(&state->fault, 0) != PB_KERNEL_PAIRS_WELL)
            return false;
        if (pb_clock() - start > timeout_cycles) {
            pb_pairs_fail(state, fault);
            return false;
        }
        __nanosleep(100);
    }
    return true;
}

/* One thread of each CTA: is every SM there, each once? */
__device__ __forceinline__ bool pb_pairs_meet(struct pb_kernel_pairs_state *state)
{
    const uint64_t timeout_cycles = 100000000; /* 50 ms */
    uint32_t sm = pb_sm_id();

    if (sm >= gridDim.x || atomicExch(&state->is_taken[sm], 1) != 0)
        pb_pairs_fail(state, PB_KERNEL_PAIRS_SPREAD);
    atomicAdd(&state->present, 1);
    return pb_pairs_wait(state, &state->present, gridDim.x, timeout_cycles, PB_KERNEL_PAIRS_ABSENT);
}

/* A thread's first word of 16 bytes, and how many there are of a warp's neighbours until its next.
 */
__device__ __forceinline__ uint64_t pb_pairs_first(const struct pb_kernel_pairs &pairs,
                                                   uint32_t side, uint32_t step)
{
    return pairs.data + side * (uint64_t)pairs.bytes + (uint64_t)threadIdx.x * step;
}

/* What pb_pairs_read() should return. */
__device__ __forceinline__ uint32_t pb_pairs_expect(const struct pb_kernel_pairs &pairs,
                                                    uint32_t side)
{
    uint32_t words = pairs.bytes / sizeof(uint4), first = side * words, sum = 0;

    for (uint32_t at = first + threadIdx.x; at < first + words; at += PB_PAIR_THREADS)
        for (uint32_t i = 0; i < 4; i++)
            sum += PB_KERNEL_PATTERN(4 * at + i, pairs.salt);
    return sum;
}

/*
 * Words of 16 bytes past L1, many at once; returns the sum of their quarters: of those that are not
 * used the compiler makes smaller loads.
 */
__device__ __forceinline__ uint32_t pb_pairs_read(const struct pb_kernel_pairs &pairs,
                                                  uint32_t side)
{
    const uint64_t step = PB_PAIR_THREADS * sizeof(uint4);
    uint64_t at = pb_pairs_first(pairs, side, sizeof(uint4)), end = at + pairs.bytes;
    uint32_t sum = 0;

    for (; at < end; at += PB_PAIR_AT_ONCE * step) {
        uint4 word[PB_PAIR_AT_ONCE];

#pragma unroll
        for (int i = 0; i < PB_PAIR_AT_ONCE; i++)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word[i].x), "=r"(word[i].y), "=r"(word[i].z), "=r"(word[i].w)
                         : "l"(at + i * step)
                         : "memory");
#pragma unroll
        for (int i = 0; i < PB_PAIR_AT_ONCE; i++)
            sum += word[i].x + word[i].y + word[i].z + word[i].w;
    }
    return sum;
}

/* The same words are written again; the host looks at them at the end. */
__device__ __forceinline__ void pb_pairs_write(const struct pb_kernel_pairs &pairs, uint32_t side)
{
    const uint32_t words = PB_PAIR_THREADS * 4; /* of 4 bytes, from one to the thread's next */
    uint64_t at = pb_pairs_first(pairs, side, sizeof(uint4)), end = at + pairs.bytes;
    uint32_t value = PB_KERNEL_PATTERN((at - pairs.data) / sizeof(uint32_t), pairs.salt);

    for (; at < end; at += PB_PAIR_THREADS * sizeof(uint4)) {
        asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(value),
                     "r"(value + PB_KERNEL_PATTERN_FACTOR),
                     "r"(value + 2 * PB_KERNEL_PATTERN_FACTOR),
                     "r"(value + 3 * PB_KERNEL_PATTERN_FACTOR)
                     : "memory");
        value += words * PB_KERNEL_PATTERN_FACTOR;
    }
    __threadfence(); /* until all of it has arrived */
}

/* Zero is added to one word of every sector: as many requests as can be, and nothing changes. */
__device__ __forceinline__ void pb_pairs_add(const struct pb_kernel_pairs &pairs, uint32_t side)
{
    uint64_t at = pb_pairs_first(pairs, side, PB_PAIR_SECTOR_BYTES), end = at + pairs.bytes;

    for (; at < end; at += PB_PAIR_THREADS * PB_PAIR_SECTOR_BYTES)
        asm volatile("red.global.add.u32 [%0], 0;" ::"l"(at) : "memory");
    __threadfence();
}

/* Each warp its share of the lines of constant memory, some passes; returns the sum: 0. */
__device__ __forceinline__ uint32_t pb_pairs_constants()
{
    const uint32_t warps = PB_PAIR_THREADS / 32;
    const uint32_t step = warps * PB_PAIR_CONSTANT_LINE;
    uint64_t base = __cvta_generic_to_constant(pb_pair_constants);
    uint32_t first = threadIdx.x / 32 * PB_PAIR_CONSTANT_LINE, sum = 0;

    for (uint32_t pass = 0; pass < PB_PAIR_CONSTANT_PASSES; pass++)
        for (uint32_t at = first; at < PB_KERNEL_CONSTANT_BYTES; at += PB_PAIR_AT_ONCE * step) {
            uint32_t word[PB_PAIR_AT_ONCE];

#pragma unroll
            for (uint32_t i = 0; i < PB_PAIR_AT_ONCE; i++)
                asm volatile("ld.const.u32 %0, [%1];"
                             : "=r"(word[i])
                             : "l"(base + at + i * step)
                             : "memory");
#pragma unroll
            for (int i = 0; i < PB_PAIR_AT_ONCE; i++)
                sum += word[i];
        }
    return sum;
}

/* One thread: a slot in each page, each found only when the one before has come; 0 as read. */
__device__ __forceinline__ uint32_t pb_pairs_chase(const struct pb_kernel_pairs &pairs,
                                                   uint32_t side)
{
    uint64_t first = pairs.slots + side * pairs.pages * pairs.slot_step, zero = 0;

    if (threadIdx.x != 0)
        return 0;
    for (uint32_t pass = 0; pass < PB_PAIR_SLOT_PASSES; pass++)
        for (uint32_t page = 0; page < pairs.pages; page++)
            asm volatile("ld.global.cg.u64 %0, [%1];"
                         : "=l"(zero)
                         : "l"(first + page * pairs.slot_step + zero)
                         : "memory");
    return (uint32_t)zero;
}

/* All threads of a CTA: their work once, all of it done when it returns; the sum of what was read.
 */
template <enum pb_kernel_pairs_kind kind>
__device__ __forceinline__ uint32_t pb_pairs_do(const struct pb_kernel_pairs &pairs, uint32_t side)
{
    uint32_t sum = 0;

    if (kind == PB_KERNEL_PAIRS_READ)
        sum = pb_pairs_read(pairs, side);
    else if (kind == PB_KERNEL_PAIRS_WRITE)
        pb_pairs_write(pairs, side);
    else if (kind == PB_KERNEL_PAIRS_ATOMIC)
        pb_pairs_add(pairs, side);
    else if (kind == PB_KERNEL_PAIRS_CONSTANT)
        sum = pb_pairs_constants();
    else
        sum = pb_pairs_chase(pairs, side);
    pb_store(pb_shared_base() + 4 * threadIdx.x, sum); /* waits for what was read */
    __syncthreads();
    return sum;
}

/* One thread: hands the turn to the next pair once all SMs of this one are done. */
__device__ __forceinline__ void pb_pairs_pass(struct pb_kernel_pairs_state *state, uint32_t members,
                                              uint32_t next)
{
    if (atomicAdd(&state->done, 1) + 1 != members)
        return;
    atomicExch(&state->arrived, 0);
    atomicExch(&state->done, 0);
    __threadfence();
    atomicExch(&state->turn, next);
}

/* All threads of a CTA whose turn has come. False: the other SM has not. */
template <enum pb_kernel_pairs_kind kind>
__device__ __forceinline__ bool pb_pairs_work(const struct pb_kernel_pairs &pairs, uint32_t pair,
                                              uint32_t side, uint32_t members,
                                              uint32_t *wrong_inout)
{
    const uint64_t timeout_cycles = 20000000; /* 10 ms */
    struct pb_kernel_pairs_state *state = (struct pb_kernel_pairs_state *)pairs.state;
    uint32_t expected = kind == PB_KERNEL_PAIRS_READ ? pb_pairs_expect(pairs, side) : 0;
    uint32_t opened = 0, sum = pb_pairs_do<kind>(pairs, side);
    bool waits_in_vain = false;

    *wrong_inout |= sum != expected;
    if (threadIdx.x == 0) {
        atomicAdd(&state->arrived, 1);
        waits_in_vain =
            !pb_pairs_wait(state, &state->arrived, members, timeout_cycles, PB_KERNEL_PAIRS_LATE);
    }
    if (__syncthreads_or(waits_in_vain))
        return false;
    opened = pb_stamp();
    sum = pb_pairs_do<kind>(pairs, side);
    if (threadIdx.x == 0) {
        uint2 stamps = make_uint2(opened, pb_stamp());

        ((uint2 *)pairs.stamps)[2 * pair + side] = stamps;
        pb_pairs_pass(state, members, pair + 1);
    }
    *wrong_inout |= sum != expected;
    return true;
}

template <enum pb_kernel_pairs_kind kind>
__global__ void __launch_bounds__(PB_PAIR_THREADS, 1) pb_pairs_of_sms(struct pb_kernel_pairs pairs)
{
    const uint64_t timeout_cycles = 20000000000; /* 10 s: the pairs before it fail much sooner */
    struct pb_kernel_pairs_state *state = (struct pb_kernel_pairs_state *)pairs.state;
    uint32_t sm = pb_sm_id(), wrong = 0;
    bool waits_in_vain = threadIdx.x == 0 && !pb_pairs_meet(state);

    if (__syncthreads_or(waits_in_vain))
        return;
    for (uint32_t pair = 0; pair < pairs.count; pair++) {
        uint2 sms = ((const uint2 *)pairs.sms)[pair];
        uint32_t members = sms.x == sms.y ? 1 : 2;

        if (sm != sms.x && sm != sms.y)
            continue;
        if (threadIdx.x == 0)
            waits_in_vain =
                !pb_pairs_wait(state, &state->turn, pair, timeout_cycles, PB_KERNEL_PAIRS_LATE);
        if (__syncthreads_or(waits_in_vain))
            return;
        if (!pb_pairs_work<kind>(pairs, pair, sm == sms.x ? 0 : 1, members, &wrong))
            return;
    }
    if (wrong > 0)
        atomicAdd(&state->mismatches, wrong);
}

extern "C" int pb_kernel_pairs(const struct pb_kernel_pairs *pairs)
{
    static void (*const kernels[PB_KERNEL_PAIRS_KINDS])(struct pb_kernel_pairs) = {
        pb_pairs_of_sms<PB_KERNEL_PAIRS_READ>, pb_pairs_of_sms<PB_KERNEL_PAIRS_WRITE>,
        pb_pairs_of_sms<PB_KERNEL_PAIRS_ATOMIC>, pb_pairs_of_sms<PB_KERNEL_PAIRS_CONSTANT>,
        pb_pairs_of_sms<PB_KERNEL_PAIRS_TRANSLATE>};
    void (*kernel)(struct pb_kernel_pairs) = kernels[pairs->kind];
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)pairs->shared_bytes);

    if (code != cudaSuccess)
        return (int)code;
    kernel<<<pairs->cta_count, PB_PAIR_THREADS, pairs->shared_bytes>>>(*pairs);
    return (int)cudaGetLastError();
}
