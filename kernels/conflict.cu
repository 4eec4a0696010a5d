/*
 * Bank conflicts: one warp loads words of 4, 8 or 16 bytes from shared memory, lane i at i times a
 * stride, and every load depends on the one before, since each word holds its own address.
 *
 * Source: M16 6.2. All lanes store what they record to the same word: that is one transaction, and
 * which lane's pointer stays there does not matter.
 */
#include "kernels/stamp.cuh"

/* Every lane's word points to itself. */
__device__ __forceinline__ uint32_t pb_link_lane(const struct pb_kernel_conflict &conflict)
{
    uint32_t own = pb_shared_base() + threadIdx.x * conflict.lane_bytes;

    pb_store(own, own);
    __syncwarp();
    return own;
}

template <int word_bytes>
__device__ __forceinline__ void pb_conflict(const struct pb_kernel_conflict &conflict)
{
    typedef pb_load_shared<word_bytes> Load;
    struct pb_kernel_control *control = (struct pb_kernel_control *)conflict.place.control;
    uint32_t capacity = PB_KERNEL_CAPACITY(conflict.record);
    uint32_t loaded = pb_shared_base() + conflict.chain_bytes, pairs = loaded + 4 * capacity;
    uint32_t count = PB_KERNEL_PRACTICE;
    uint64_t warm = 9;

    if (!pb_take_sm(conflict.place))
        return;
    Load chain = {pb_link_lane(conflict)};
    uint32_t own = chain.at;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        pb_walk(chain, warm);
        pb_record<Load, pb_between_load<Load>>(chain, count, loaded, pairs);
        warm = conflict.warm;
        count = conflict.record;
    }
    pb_copy_out(conflict.recording, conflict.chain_bytes, capacity);
    /* A lane whose chain has led astray leaves the launch without a result. */
    if (__syncthreads_or(chain.at != own) || threadIdx.x != 0)
        return;
    control->result.base_address = pb_shared_base();
    pb_tell(conflict.place, chain.at);
}

extern "C" __global__ void pb_conflict_4(struct pb_kernel_conflict conflict)
{
    pb_conflict<4>(conflict);
}

extern "C" __global__ void pb_conflict_8(struct pb_kernel_conflict conflict)
{
    pb_conflict<8>(conflict);
}

extern "C" __global__ void pb_conflict_16(struct pb_kernel_conflict conflict)
{
    pb_conflict<16>(conflict);
}

extern "C" int pb_kernel_conflict(const struct pb_kernel_conflict *conflict)
{
    const uint32_t warp = 32;
    void (*kernel)(struct pb_kernel_conflict) = pb_conflict_4;
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
