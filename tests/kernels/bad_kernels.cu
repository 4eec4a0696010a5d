/*
 * Kernels that measure wrongly, each in one way that numbers have been published with. The check of
 * the machine code must refuse every one of them. They are compiled, never run.
 */
#include "kernels/chase.cuh"

typedef pb_load_global_ca load_ca;

/* Stamps again without waiting for the load: that measures how two instructions issue (facts 2.2).
 */
struct between_without_store {
    __device__ __forceinline__ static void run(load_ca &chain, uint32_t)
    {
        chain.load();
    }
};

/* Stores something, but not what was loaded. */
struct between_with_other_store {
    __device__ __forceinline__ static void run(load_ca &chain, uint32_t slot)
    {
        chain.load();
        pb_store(slot, slot);
    }
};

/* Chases an index: the arithmetic of the address lies in the window (facts 2.3). */
struct between_with_arithmetic {
    __device__ __forceinline__ static void run(load_ca &chain, uint32_t slot)
    {
        chain.load();
        pb_store(slot, (uint32_t)chain.at * 3 + slot);
    }
};

/* One lane of a warp stores: whether that waits for the load hangs on a predicate. */
struct between_with_predicate {
    __device__ __forceinline__ static void run(load_ca &chain, uint32_t slot)
    {
        chain.load();
        pb_store_if(threadIdx.x == 0, slot, (uint32_t)chain.at);
    }
};

/* Loads twice. */
struct between_with_two_loads {
    __device__ __forceinline__ static void run(load_ca &chain, uint32_t slot)
    {
        chain.load();
        pb_between_load<load_ca>::run(chain, slot);
    }
};

template <class Between> __device__ __forceinline__ void trace(const struct pb_kernel_chase &chase)
{
    uint32_t capacity = PB_KERNEL_CAPACITY(chase.record);
    uint32_t loaded = pb_shared_base(), pairs = loaded + 4 * capacity;
    load_ca chain;

    chain.go(chase.jobs[0].start);
    pb_walk(chain, chase.jobs[0].warm);
    pb_record<load_ca, Between>(chain, chase.record, loaded, pairs);
    pb_copy_out(chase.recordings, 0, capacity * PB_KERNEL_RECORD_BYTES);
    pb_tell(pb_result(chase.place, 0), chain.at);
}

extern "C" __global__ void bad_without_store(struct pb_kernel_chase chase)
{
    trace<between_without_store>(chase);
}

extern "C" __global__ void bad_other_store(struct pb_kernel_chase chase)
{
    trace<between_with_other_store>(chase);
}

extern "C" __global__ void bad_arithmetic(struct pb_kernel_chase chase)
{
    trace<between_with_arithmetic>(chase);
}

extern "C" __global__ void bad_two_loads(struct pb_kernel_chase chase)
{
    trace<between_with_two_loads>(chase);
}

extern "C" __global__ void bad_predicate(struct pb_kernel_chase chase)
{
    trace<between_with_predicate>(chase);
}

/* Subtracts on the device: the stamps are not stored as they were read (facts 2.1). */
extern "C" __global__ void bad_subtract(struct pb_kernel_chase chase)
{
    uint32_t loaded = pb_shared_base(), cycles = loaded + 4 * chase.record;
    load_ca chain;

    chain.go(chase.jobs[0].start);
    pb_walk(chain, chase.jobs[0].warm);
#pragma unroll 1
    for (uint32_t i = 0; i < chase.record; i++) {
        uint32_t opened = pb_stamp();
        pb_between_load<load_ca>::run(chain, loaded + 4 * i);
        uint32_t closed = pb_stamp();
        pb_store(cycles + 4 * i, closed - opened);
    }
    pb_tell(pb_result(chase.place, 0), chain.at);
}

/* Opens the window while the load before it is under way: its rest is measured too. */
extern "C" __global__ void bad_wait(struct pb_kernel_chase chase)
{
    uint32_t loaded = pb_shared_base(), pairs = loaded + 4 * chase.record;
    load_ca chain;

    chain.go(chase.jobs[0].start);
    pb_store(loaded, chase.record);
#pragma unroll 1
    for (uint32_t i = 0; i < chase.record; i++) {
        chain.load();
        uint32_t opened = pb_stamp();
        pb_between_load<load_ca>::run(chain, loaded);
        uint32_t closed = pb_stamp();
        pb_store_pair(pairs, opened, closed);
        loaded += 4;
        pairs += 8;
    }
}

/* Fetches texels of a chain of offsets: each has to be turned into a number (facts 2.3). */
struct load_texture_offset : pb_load_texture {
    __device__ __forceinline__ void load()
    {
        pb_load_texture::load();
        at /= PB_KERNEL_SLOT_BYTES;
    }
};

extern "C" __global__ void bad_texture(struct pb_kernel_chase chase)
{
    pb_trace<load_texture_offset>(chase);
}

/* Loads from constant memory by number: the address has to be made first (facts 2.8). */
struct load_constant_number : pb_load_constant {
    __device__ __forceinline__ void load()
    {
        pb_load_constant::load();
        at = 8 * at + (at >> 3);
    }
};

extern "C" __global__ void bad_constant(struct pb_kernel_chase chase)
{
    pb_trace<load_constant_number>(chase);
}
