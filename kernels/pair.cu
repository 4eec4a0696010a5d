/*
 * Which SMs belong together: where the CTAs of a cluster run, and what two SMs at work take from
 * each other.
 *
 * Limit: the pairs' kernel needs the whole device, one CTA on every SM. Where it does not get that
 * (MIG, another process), it says so and leaves.
 */
#include "kernels/pair.h"
#include "kernels/stamp.cuh"

enum { PB_PAIR_THREADS = 1024, PB_PAIR_WORDS_AT_ONCE = 4 };

extern "C" __global__ void pb_cluster_sms(struct pb_kernel_clusters clusters)
{
    uint64_t start = pb_clock();

    ((uint32_t *)clusters.sms)[blockIdx.x] = pb_sm_id();
    while (pb_clock() - start < clusters.hold_cycles)
        ;
}

/* The launch, and its one attribute, whose memory is the caller's. */
static cudaLaunchConfig_t pb_cluster_launch(const struct pb_kernel_clusters *clusters,
                                            cudaLaunchAttribute *attribute)
{
    cudaLaunchConfig_t config = {};

    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = clusters->size;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    config.gridDim = dim3(clusters->cta_count);
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = clusters->shared_bytes;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

extern "C" int pb_kernel_clusters_fit(const struct pb_kernel_clusters *clusters, int *count_out)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_launch(clusters, &attribute);
    int count = 0;
    cudaError_t code = cudaFuncSetAttribute(
        pb_cluster_sms, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)clusters->shared_bytes);

    /* Clusters of 16 run on some devices only: those take this attribute. */
    if (code == cudaSuccess)
        code = cudaFuncSetAttribute(pb_cluster_sms, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                    clusters->size > 8);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveClusters(&count, pb_cluster_sms, &config);
    if (code == cudaErrorInvalidClusterSize || code == cudaErrorNotSupported ||
        code == cudaErrorInvalidValue || code == cudaErrorInvalidConfiguration) {
        cudaGetLastError();
        code = cudaSuccess;
        count = 0;
    }
    *count_out = count;
    return (int)code;
}

extern "C" int pb_kernel_clusters(const struct pb_kernel_clusters *clusters)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = pb_cluster_launch(clusters, &attribute);

    return (int)cudaLaunchKernelEx(&config, pb_cluster_sms, *clusters);
}

__device__ __forceinline__ void pb_pairs_fail(struct pb_kernel_pairs_state *state, uint32_t fault)
{
    atomicCAS(&state->fault, (uint32_t)PB_KERNEL_PAIRS_WELL, fault);
}

/* Waits until the word is `wanted`. False: somebody failed, or nothing came in 2 ms and more. */
__device__ __forceinline__ bool pb_pairs_wait(struct pb_kernel_pairs_state *state, uint32_t *word,
                                              uint32_t wanted, uint64_t patience_cycles,
                                              uint32_t fault)
{
    uint64_t start = pb_clock();

    while (atomicAdd(word, 0) != wanted) {
        if (atomicAdd(&state->fault, 0) != PB_KERNEL_PAIRS_WELL)
            return false;
        if (pb_clock() - start > patience_cycles) {
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
    const uint64_t patience_cycles = 100000000; /* 50 ms */
    uint32_t sm = pb_sm_id();

    if (sm >= gridDim.x || atomicExch(&state->is_taken[sm], 1) != 0)
        pb_pairs_fail(state, PB_KERNEL_PAIRS_SPREAD);
    atomicAdd(&state->present, 1);
    return pb_pairs_wait(state, &state->present, gridDim.x, patience_cycles,
                         PB_KERNEL_PAIRS_ABSENT);
}

/* Words of 16 bytes past L1; returns how many are not what they should be. */
__device__ __forceinline__ uint32_t pb_pairs_read(const struct pb_kernel_pairs &pairs,
                                                  uint32_t first, uint32_t words)
{
    uint32_t wrong = 0;

    for (uint32_t at = first + threadIdx.x; at < first + words;
         at += PB_PAIR_WORDS_AT_ONCE * PB_PAIR_THREADS) {
        uint4 word[PB_PAIR_WORDS_AT_ONCE];

#pragma unroll
        for (int i = 0; i < PB_PAIR_WORDS_AT_ONCE; i++)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word[i].x), "=r"(word[i].y), "=r"(word[i].z), "=r"(word[i].w)
                         : "l"(pairs.data + 16ull * (at + i * PB_PAIR_THREADS))
                         : "memory");
#pragma unroll
        for (int i = 0; i < PB_PAIR_WORDS_AT_ONCE; i++) {
            uint32_t index = 4 * (at + i * PB_PAIR_THREADS);

            wrong += word[i].x != PB_KERNEL_PATTERN(index, pairs.salt);
            wrong += word[i].w != PB_KERNEL_PATTERN(index + 3, pairs.salt);
        }
    }
    return wrong;
}

/* The same words are written again; the host looks at them at the end. */
__device__ __forceinline__ void pb_pairs_write(const struct pb_kernel_pairs &pairs, uint32_t first,
                                               uint32_t words)
{
    for (uint32_t at = first + threadIdx.x; at < first + words; at += PB_PAIR_THREADS) {
        uint32_t index = 4 * at;

        asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(pairs.data + 16ull * at),
                     "r"(PB_KERNEL_PATTERN(index, pairs.salt)),
                     "r"(PB_KERNEL_PATTERN(index + 1, pairs.salt)),
                     "r"(PB_KERNEL_PATTERN(index + 2, pairs.salt)),
                     "r"(PB_KERNEL_PATTERN(index + 3, pairs.salt))
                     : "memory");
    }
    __threadfence(); /* until all of it has arrived */
}

/* All threads of a CTA: its part of the data once, and all of it done when it returns. */
__device__ __forceinline__ void pb_pairs_move(const struct pb_kernel_pairs &pairs, uint32_t side,
                                              uint32_t *wrong_inout)
{
    uint32_t words = pairs.bytes / 16, first = side * words;

    if (pairs.is_write)
        pb_pairs_write(pairs, first, words);
    else
        *wrong_inout += pb_pairs_read(pairs, first, words);
    pb_store(pb_shared_base() + 4 * threadIdx.x, *wrong_inout); /* waits for what was read */
    __syncthreads();
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
__device__ __forceinline__ bool pb_pairs_work(const struct pb_kernel_pairs &pairs, uint32_t pair,
                                              uint32_t side, uint32_t members,
                                              uint32_t *wrong_inout)
{
    const uint64_t patience_cycles = 20000000; /* 10 ms */
    struct pb_kernel_pairs_state *state = (struct pb_kernel_pairs_state *)pairs.state;
    uint32_t opened = 0;
    bool waits_in_vain = false;

    pb_pairs_move(pairs, side, wrong_inout);
    if (threadIdx.x == 0) {
        atomicAdd(&state->arrived, 1);
        waits_in_vain =
            !pb_pairs_wait(state, &state->arrived, members, patience_cycles, PB_KERNEL_PAIRS_LATE);
    }
    if (__syncthreads_or(waits_in_vain))
        return false;
    opened = pb_stamp();
    pb_pairs_move(pairs, side, wrong_inout);
    if (threadIdx.x == 0) {
        uint2 stamps = make_uint2(opened, pb_stamp());

        ((uint2 *)pairs.stamps)[2 * pair + side] = stamps;
        pb_pairs_pass(state, members, pair + 1);
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(PB_PAIR_THREADS)
    pb_pairs_of_sms(struct pb_kernel_pairs pairs)
{
    const uint64_t patience_cycles = 20000000000; /* 10 s: the pairs before it fail much sooner */
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
                !pb_pairs_wait(state, &state->turn, pair, patience_cycles, PB_KERNEL_PAIRS_LATE);
        if (__syncthreads_or(waits_in_vain))
            return;
        if (!pb_pairs_work(pairs, pair, sm == sms.x ? 0 : 1, members, &wrong))
            return;
    }
    if (wrong > 0)
        atomicAdd(&state->mismatches, wrong);
}

extern "C" int pb_kernel_pairs(const struct pb_kernel_pairs *pairs)
{
    cudaError_t code = cudaFuncSetAttribute(
        pb_pairs_of_sms, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)pairs->shared_bytes);

    if (code != cudaSuccess)
        return (int)code;
    pb_pairs_of_sms<<<pairs->cta_count, PB_PAIR_THREADS, pairs->shared_bytes>>>(*pairs);
    return (int)cudaGetLastError();
}
