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
    pb_chase_loads(chain, chase.jobs[0].warm);
    pb_record<load_ca, Between>(chain, chase.record, loaded, pairs);
    pb_copy_out(chase.recordings, 0, capacity * PB_KERNEL_RECORD_BYTES);
    pb_record_result(pb_result(chase.place, 0), chain.at);
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
    pb_chase_loads(chain, chase.jobs[0].warm);
#pragma unroll 1
    for (uint32_t i = 0; i < chase.record; i++) {
        uint32_t opened = pb_stamp();
        pb_between_load<load_ca>::run(chain, loaded + 4 * i);
        uint32_t closed = pb_stamp();
        pb_store(cycles + 4 * i, closed - opened);
    }
    pb_record_result(pb_result(chase.place, 0), chain.at);
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

/* ---- timed regions ---- */

__device__ __forceinline__ uint32_t read_words(uint64_t at, int at_once)
{
    uint4 word[8];
    uint32_t sum = 0;

#pragma unroll
    for (int i = 0; i < 8; i++) {
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[i].x), "=r"(word[i].y), "=r"(word[i].z), "=r"(word[i].w)
                     : "l"(at + i * 512)
                     : "memory");
        if (at_once < 8)
            pb_await(word[i].x);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum ^= word[i].x ^ word[i].y ^ word[i].z ^ word[i].w;
    return sum;
}

/* What every one of them does with its reads of the clock. */
__device__ __forceinline__ void keep(const struct pb_kernel_chase &chase, uint64_t start,
                                     uint64_t end)
{
    ((uint64_t *)chase.recordings)[0] = start;
    ((uint64_t *)chase.recordings)[1] = end;
}

/* Stores the first clock before it reads the second. */
extern "C" __global__ void bad_timed_store(struct pb_kernel_chase chase)
{
    uint64_t start = pb_clock();

    pb_await_any(read_words(chase.base, 8));
    ((volatile uint64_t *)chase.recordings)[0] = start;
    ((uint64_t *)chase.recordings)[1] = pb_clock();
}

/* Divides to find its place. */
extern "C" __global__ void bad_timed_division(struct pb_kernel_chase chase)
{
    uint32_t sum = 0;
    uint64_t start = pb_clock();

#pragma unroll 1
    for (uint32_t i = 0; i < chase.record; i++)
        sum += read_words(chase.base + (chase.timed * i + sum) % chase.own_warm, 8);
    pb_await_any(sum);
    keep(chase, start, pb_clock());
}

/* Reads words of another size than it says. */
extern "C" __global__ void bad_timed_word(struct pb_kernel_chase chase)
{
    uint32_t word;
    uint64_t start = pb_clock();

    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(chase.base) : "memory");
    pb_await_any(word);
    keep(chase, start, pb_clock());
}

/* Waits for each word before it asks for the next: latency, not throughput. */
extern "C" __global__ void bad_timed_one_by_one(struct pb_kernel_chase chase)
{
    uint64_t start = pb_clock();

    pb_await_any(read_words(chase.base, 1));
    keep(chase, start, pb_clock());
}

/* Chases an index. */
extern "C" __global__ void bad_timed_arithmetic(struct pb_kernel_chase chase)
{
    load_ca chain;

    chain.go(chase.jobs[0].start);
    uint64_t start = pb_clock();
#pragma unroll
    for (int i = 0; i < 16; i++) {
        chain.load();
        chain.at = chase.base + chain.at * PB_KERNEL_SLOT_BYTES;
    }
    pb_await((uint32_t)chain.at);
    keep(chase, start, pb_clock());
}

/* Does not wait until its additions have arrived. */
extern "C" __global__ void bad_timed_no_fence(struct pb_kernel_chase chase)
{
    uint64_t start = pb_clock();

#pragma unroll 4
    for (uint32_t i = 0; i < chase.record; i++)
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(chase.base + 4 * threadIdx.x) : "memory");
    keep(chase, start, pb_clock());
}

/* Its reads come before the first clock. */
extern "C" __global__ void bad_timed_before(struct pb_kernel_chase chase)
{
    pb_await_any(read_words(chase.base, 8));
    uint64_t start = pb_clock();

    __syncthreads();
    keep(chase, start, pb_clock());
}
