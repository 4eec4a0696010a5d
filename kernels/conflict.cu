/*
 * Bank conflicts: one warp loads words of 4, 8 or 16 bytes from shared memory, lane i at i times a
 * stride, and every load depends on the one before, since each word holds its own address.
 *
 * Source: M16 6.2. Each lane stores what it loaded to a word of its own, in a bank of its own: that
 * is one transaction, as is the pair of stamps, which lane 0 stores for all. Lanes whose chain went
 * elsewhere are counted.
 */
#include "kernels/stamp.cuh"

/* Every lane's word points to itself; with a stride of 0 all of them share one. */
__device__ __forceinline__ uint32_t pb_link_lane(uint32_t lane_bytes)
{
    uint32_t own = pb_shared_base() + threadIdx.x * lane_bytes;

    pb_store_if(threadIdx.x == 0 || lane_bytes > 0, own, own);
    __syncthreads();
    return own;
}

/* pb_take_job() of a warp: its first lane takes one for all. */
__device__ __forceinline__ int pb_take_warp_job(const struct pb_kernel_place &place)
{
    int job = PB_NO_JOB;

    if (threadIdx.x == 0)
        job = gridDim.x == place.job_count ? (int)blockIdx.x : pb_spread(place);
    job = __shfl_sync(0xffffffffu, job, 0);
    return __syncthreads_or(job != PB_NO_JOB) ? job : PB_NO_JOB;
}

template <int word_bytes>
__device__ __forceinline__ void pb_conflict(const struct pb_kernel_conflict &conflict)
{
    typedef pb_load_shared<word_bytes> Load;
    int number = pb_take_warp_job(conflict.place);

    if (number == PB_NO_JOB)
        return;
    struct pb_kernel_result *result = pb_result(conflict.place, number);
    uint32_t kept_bytes = conflict.jobs[number].chain_bytes;
    uint32_t pair_bytes = kept_bytes + PB_KERNEL_LANES_BYTES;
    uint32_t copied_bytes = 8 * PB_KERNEL_CAPACITY(conflict.record);
    uint32_t kept = pb_shared_base() + kept_bytes + 4 * threadIdx.x;
    uint32_t pairs = pb_shared_base() + pair_bytes;
    struct pb_recorder_warp recorder = {threadIdx.x == 0};
    uint32_t count = PB_KERNEL_PRACTICE;
    uint64_t warm = 9;

    Load chain = {pb_link_lane(conflict.jobs[number].lane_bytes)};
    uint32_t own = chain.at;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        pb_chase_loads(chain, warm);
        pb_record<Load, pb_between_load<Load>>(chain, count, kept, pairs, recorder);
        warm = conflict.warm;
        count = conflict.record;
    }
    uint32_t wrong = __syncthreads_count(chain.at != own);
    pb_copy_out(conflict.recordings + (uint64_t)number * copied_bytes, pair_bytes, copied_bytes);
    if (threadIdx.x != 0)
        return;
    result->base_address = pb_shared_base();
    result->wrong_lanes = wrong;
    pb_record_result(result, chain.at);
}

extern "C" __global__ void pb_conflict_4(const __grid_constant__ struct pb_kernel_conflict conflict)
{
    pb_conflict<4>(conflict);
}

extern "C" __global__ void pb_conflict_8(const __grid_constant__ struct pb_kernel_conflict conflict)
{
    pb_conflict<8>(conflict);
}

extern "C" __global__ void pb_conflict_16(
    const __grid_constant__ struct pb_kernel_conflict conflict)
{
    pb_conflict<16>(conflict);
}

extern "C" int pb_kernel_conflict(const struct pb_kernel_conflict *conflict)
{
    const uint32_t warp = 32;
    void (*kernel)(const struct pb_kernel_conflict) = pb_conflict_4;
    int error;

    if (conflict->word_bytes == 8)
        kernel = pb_conflict_8;
    else if (conflict->word_bytes == 16)
        kernel = pb_conflict_16;
    error = pb_configure(kernel, &conflict->place);
    if (error != 0)
        return error;
    kernel<<<conflict->place.cta_count, warp, conflict->place.shared_bytes>>>(*conflict);
    return (int)cudaGetLastError();
}
