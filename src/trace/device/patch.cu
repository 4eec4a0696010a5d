/*
 * The code that compute-sanitizer inserts at every memory access of a traced kernel: the leader of
 * the active lanes takes room in its SM's current chunk and the warp writes one record (words.h).
 *
 * A chunk is closed by the first warp for which there is no room: it waits until all that was taken
 * is written, hands the chunk to the host, and waits for the host to free the next one. So a slow
 * host slows the kernel down; nothing is dropped.
 *
 * Compiled with --compile-as-tools-patch; the signatures are those of sanitizer_patching.h.
 */
#include <stdint.h>

#include <sanitizer_patching.h>

#include "trace/words.h"

/* The same bits as enum pb_memtrace_flag. */
enum { READ = 1, WRITE = 2, PREFETCH = 8, ASYNC = 16, BULK = 32, LOCAL = 64, OFFSETS = 128 };

enum { BULK_BLOCK = 16 }; /* bytes in which the API counts bulk copies */

static __device__ __forceinline__ uint32_t sm_number()
{
    uint32_t sm;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

static __device__ __forceinline__ uint64_t global_timer()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

static __device__ __forceinline__ uint32_t lane_number()
{
    uint32_t lane;

    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

static __device__ __forceinline__ uint32_t thread_number()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint32_t cta_number()
{
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

static __device__ __forceinline__ uint32_t read_volatile(const uint32_t *word)
{
    return *(const volatile uint32_t *)word;
}

/* The ring of this SM, given out at its first record. ring_count: there is none left. */
static __device__ uint32_t find_ring(struct pb_patch_launch *launch, struct pb_patch_sm *sm,
                                     uint32_t number)
{
    uint32_t ring = read_volatile(&sm->ring);

    if (ring == 0 && atomicCAS(&sm->ring, 0u, 1u) == 0) {
        ring = atomicAdd(&launch->rings_used, 1u);
        if (ring < launch->ring_count)
            *(volatile uint32_t *)&launch->ring_sms[ring] = number + 1;
        __threadfence();
        atomicExch(&sm->ring, ring + 2);
    }
    while ((ring = read_volatile(&sm->ring)) < 2)
        __nanosleep(100);
    return ring - 2 < launch->ring_count ? ring - 2 : launch->ring_count;
}

/* Hands the full chunk to the host and waits until the next one is free. */
static __device__ __noinline__ void close_chunk(struct pb_patch_launch *launch,
                                                struct pb_patch_sm *sm, uint32_t ring,
                                                uint32_t number, uint32_t words)
{
    uint32_t *ready = launch->ready + ring * PB_CHUNKS_PER_SM;
    uint32_t next = (number + 1) % PB_CHUNKS_PER_SM;

    while (read_volatile(&sm->committed) != words)
        __nanosleep(100);
    sm->committed = 0;
    __threadfence_system();
    *(volatile uint32_t *)&ready[number % PB_CHUNKS_PER_SM] = words;
    while (read_volatile(&ready[next]) != 0)
        __nanosleep(1000);
    __threadfence();
    atomicExch(&sm->cursor, (unsigned long long)(number + 1) << 32);
}

/* Room for `words` in the SM's chunk. */
static __device__ uint32_t *take(struct pb_patch_launch *launch, struct pb_patch_sm *sm,
                                 uint32_t ring, uint32_t words)
{
    for (;;) {
        unsigned long long old = atomicAdd(&sm->cursor, (unsigned long long)words);
        uint32_t number = (uint32_t)(old >> 32), at = (uint32_t)old;

        if (at + words <= PB_CHUNK_WORDS)
            return launch->chunks +
                   ((size_t)ring * PB_CHUNKS_PER_SM + number % PB_CHUNKS_PER_SM) * PB_CHUNK_WORDS +
                   at;
        if (at <= PB_CHUNK_WORDS)
            close_chunk(launch, sm, ring, number, at);
        else
            while ((uint32_t)(*(volatile unsigned long long *)&sm->cursor >> 32) == number)
                __nanosleep(200);
    }
}

static __device__ __forceinline__ void commit(struct pb_patch_sm *sm, uint32_t words)
{
    __threadfence();
    atomicAdd(&sm->committed, words);
}

/* The state of this SM, or NULL when nothing is recorded here. */
static __device__ struct pb_patch_sm *find_sm(struct pb_patch_launch *launch, bool of_access,
                                              uint32_t *ring_out)
{
    uint32_t number = sm_number();
    struct pb_patch_sm *sm;

    if (number >= launch->sm_slots) {
        atomicAdd(&launch->lost, 1ull);
        return nullptr;
    }
    sm = &launch->sms[number];
    *ring_out = find_ring(launch, sm, number);
    if (*ring_out >= launch->ring_count) {
        atomicAdd(&launch->lost, 1ull);
        return nullptr;
    }
    return of_access && *ring_out >= launch->rings_traced ? nullptr : sm;
}

/* One record of the lanes in `mask`, all of which are here; each brings its address. */
static __device__ __forceinline__ void record(struct pb_patch_launch *launch, uint32_t mask,
                                              uint64_t pc, uint64_t address, uint32_t size,
                                              uint32_t flags)
{
    uint32_t lane = lane_number(), lanes = __popc(mask);
    uint32_t leader = __ffs(mask) - 1;
    uint32_t rank = __popc(mask & ((1u << lane) - 1));
    uint32_t second = lanes == 1 ? leader : __ffs(mask & (mask - 1)) - 1;
    uint64_t base = __shfl_sync(mask, address, leader);
    int64_t delta = (int64_t)(address - base);
    int64_t stride = (int64_t)(__shfl_sync(mask, address, second) - base);
    bool is_affine = __all_sync(mask, delta == stride * (int64_t)rank && stride == (int32_t)stride);
    bool is_near = __all_sync(mask, delta == (int32_t)delta);
    uint32_t form = is_affine ? PB_FORM_AFFINE : is_near ? PB_FORM_NEAR : PB_FORM_FAR;
    uint32_t words = PB_WORDS_ACCESS_HEAD + (is_affine ? 1 : is_near ? lanes - 1 : 2 * (lanes - 1));
    struct pb_patch_sm *sm = nullptr;
    uint32_t *at = nullptr;

    if (lane == leader) {
        uint32_t ring = 0;

        sm = find_sm(launch, true, &ring);
        if (sm != nullptr) {
            uint32_t sequence = (uint32_t)atomicAdd(&launch->sequence, 1ull);

            at = take(launch, sm, ring, words);
            at[1] = mask;
            at[2] = sequence;
            at[3] = (uint32_t)pc;
            at[4] = cta_number();
            at[5] = thread_number() / 32;
            at[6] = (uint32_t)base;
            at[7] = (uint32_t)(base >> 32);
            if (is_affine)
                at[8] = (uint32_t)stride;
            at[0] = PB_WORDS_ACCESS | form << 8 | flags << 16 | size << 24;
        }
    }
    at = (uint32_t *)__shfl_sync(mask, (unsigned long long)at, leader);
    if (at == nullptr)
        return;
    if (form == PB_FORM_NEAR && rank > 0)
        at[PB_WORDS_ACCESS_HEAD + rank - 1] = (uint32_t)delta;
    if (form == PB_FORM_FAR && rank > 0) {
        at[PB_WORDS_ACCESS_HEAD + 2 * (rank - 1)] = (uint32_t)delta;
        at[PB_WORDS_ACCESS_HEAD + 2 * (rank - 1) + 1] = (uint32_t)((uint64_t)delta >> 32);
    }
    __syncwarp(mask);
    if (lane == leader)
        commit(sm, words);
}

static __device__ __forceinline__ void record_cta(struct pb_patch_launch *launch, uint32_t type)
{
    uint32_t ring = 0;
    struct pb_patch_sm *sm = find_sm(launch, false, &ring);
    uint64_t ns = global_timer();
    uint32_t sequence, *at;

    if (sm == nullptr)
        return;
    sequence = (uint32_t)atomicAdd(&launch->sequence, 1ull);
    at = take(launch, sm, ring, PB_WORDS_CTA_LENGTH);
    at[1] = cta_number();
    at[2] = sequence;
    at[3] = (uint32_t)ns;
    at[4] = (uint32_t)(ns >> 32);
    at[0] = type;
    commit(sm, PB_WORDS_CTA_LENGTH);
}

extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_block_enter(void *data,
                                                                             uint64_t pc)
{
    (void)pc;
    if (data != nullptr && thread_number() == 0)
        record_cta((struct pb_patch_launch *)data, PB_WORDS_CTA_BEGIN);
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_block_exit(void *data, uint64_t pc)
{
    uint32_t mask = __activemask();

    (void)pc;
    if (data != nullptr && lane_number() == (uint32_t)__ffs(mask) - 1)
        record_cta((struct pb_patch_launch *)data, PB_WORDS_CTA_END);
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_global(
    void *data, uint64_t pc, void *pointer, uint32_t size, uint32_t flags, const void *values)
{
    (void)values;
    if (data != nullptr)
        record((struct pb_patch_launch *)data, __activemask(), pc, (uint64_t)pointer, size,
               flags & (READ | WRITE | PREFETCH));
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_local(void *data, uint64_t pc,
                                                                       void *pointer, uint32_t size,
                                                                       uint32_t flags,
                                                                       const void *values)
{
    (void)values;
    if (data != nullptr)
        record((struct pb_patch_launch *)data, __activemask(), pc, (uint64_t)pointer, size,
               (flags & (READ | WRITE)) | LOCAL);
    return SANITIZER_PATCH_SUCCESS;
}

/* Lanes whose copy reads nothing (their source is NULL) only fill shared memory. */
extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_async_copy(void *data, uint64_t pc,
                                                                            void *source,
                                                                            uint32_t target,
                                                                            uint32_t size)
{
    uint32_t active = __activemask();
    uint32_t mask = __ballot_sync(active, source != nullptr);

    (void)target;
    if (data != nullptr && source != nullptr)
        record((struct pb_patch_launch *)data, mask, pc, (uint64_t)source, size, READ | ASYNC);
    return SANITIZER_PATCH_SUCCESS;
}

/* What a bulk copy or reduction does in global memory. All active lanes bring the same: one record.
 */
static __device__ __forceinline__ SanitizerPatchResult record_bulk(void *data, uint64_t pc,
                                                                   uint64_t address, uint32_t bytes,
                                                                   uint32_t flags)
{
    struct pb_patch_launch *launch = (struct pb_patch_launch *)data;
    uint32_t mask = __activemask(), leader = __ffs(mask) - 1, words = PB_WORDS_ACCESS_HEAD + 1;
    uint32_t ring = 0;
    struct pb_patch_sm *sm;
    uint32_t sequence, *at;

    if (launch == nullptr || lane_number() != leader)
        return SANITIZER_PATCH_SUCCESS;
    sm = find_sm(launch, true, &ring);
    if (sm == nullptr)
        return SANITIZER_PATCH_SUCCESS;
    sequence = (uint32_t)atomicAdd(&launch->sequence, 1ull);
    at = take(launch, sm, ring, words);
    at[1] = 1u << leader;
    at[2] = sequence;
    at[3] = (uint32_t)pc;
    at[4] = cta_number();
    at[5] = thread_number() / 32;
    at[6] = (uint32_t)address;
    at[7] = (uint32_t)(address >> 32);
    at[8] = bytes;
    at[0] = PB_WORDS_ACCESS | PB_FORM_BULK << 8 | (flags | BULK) << 16;
    commit(sm, words);
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult
pb_patch_bulk_copy(void *data, uint64_t pc, uint64_t source, uint32_t target, uint32_t barrier,
                   uint32_t request, uint32_t is_multicast)
{
    (void)target;
    (void)barrier;
    (void)is_multicast;
    return record_bulk(data, pc, source, (request & 0xffff) * BULK_BLOCK, READ);
}

/* From shared to global memory; the counts are of blocks of 16 bytes. */
extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_bulk_store(void *data, uint64_t pc,
                                                                            uint64_t target,
                                                                            uint32_t source,
                                                                            uint32_t blocks)
{
    (void)source;
    return record_bulk(data, pc, target, blocks * BULK_BLOCK, WRITE);
}

extern "C" __device__ __noinline__ SanitizerPatchResult
pb_patch_bulk_reduction(void *data, uint64_t pc, uint64_t target, uint32_t source, uint32_t blocks)
{
    (void)source;
    return record_bulk(data, pc, target, blocks * BULK_BLOCK, READ | WRITE);
}

#ifdef PLUMB_HAVE_PREFETCHES
/* Which cache it is for is in the instruction. A prefetch has no size: a byte stands for its
 * sector. */
extern "C" __device__ __noinline__ SanitizerPatchResult pb_patch_cache_control(
    void *data, uint64_t pc, void *address, Sanitizer_CacheControlInstructionKind kind)
{
    if (data != nullptr && kind != SANITIZER_CACHE_CONTROL_INVALID)
        record((struct pb_patch_launch *)data, __activemask(), pc, (uint64_t)address, 1,
               READ | PREFETCH);
    return SANITIZER_PATCH_SUCCESS;
}
#endif
