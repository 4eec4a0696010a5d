/*
 * The same work on every SM at the same time, or on one of them: reads by words of 4, 8 and 16
 * bytes, additions to L2, bulk copies to shared memory. Every SM stamps its own begin and end.
 *
 * Limit: one CTA of 1,024 threads on every SM; where the device does not give that (MIG, another
 * process), the state says so.
 */
#include "kernels/meet.cuh"

enum { PB_WORK_THREADS = 1024 };

/* The xor of the quarters of a word, as they lie in memory. */
__device__ __forceinline__ uint32_t pb_fold(uint32_t word)
{
    return word;
}
__device__ __forceinline__ uint32_t pb_fold(uint2 word)
{
    return word.x ^ word.y;
}
__device__ __forceinline__ uint32_t pb_fold(uint4 word)
{
    return word.x ^ word.y ^ word.z ^ word.w;
}

#define PB_READERS(name, operation)                                                                \
    struct name {                                                                                  \
        __device__ __forceinline__ static void load(uint32_t &word, uint64_t at)                   \
        {                                                                                          \
            asm volatile(operation ".u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");            \
        }                                                                                          \
        __device__ __forceinline__ static void load(uint2 &word, uint64_t at)                      \
        {                                                                                          \
            asm volatile(operation ".v2.u32 {%0, %1}, [%2];"                                       \
                         : "=r"(word.x), "=r"(word.y)                                              \
                         : "l"(at)                                                                 \
                         : "memory");                                                              \
        }                                                                                          \
        __device__ __forceinline__ static void load(uint4 &word, uint64_t at)                      \
        {                                                                                          \
            asm volatile(operation ".v4.u32 {%0, %1, %2, %3}, [%4];"                               \
                         : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)                  \
                         : "l"(at)                                                                 \
                         : "memory");                                                              \
        }                                                                                          \
    };

PB_READERS(pb_reader_l1, "ld.global.ca")
PB_READERS(pb_reader_l2, "ld.global.cg")
PB_READERS(pb_reader_shared, "ld.shared")

/* What a thread should have read after an odd number of passes. */
template <class Word>
__device__ __forceinline__ uint32_t pb_work_expect(uint64_t first_word, uint64_t bytes,
                                                   uint32_t salt)
{
    const uint32_t quarters = sizeof(Word) / sizeof(uint32_t);
    uint32_t expected = 0;

    for (uint64_t at = threadIdx.x; at < bytes / sizeof(Word); at += PB_WORK_THREADS)
        for (uint32_t i = 0; i < quarters; i++)
            expected ^= PB_KERNEL_PATTERN(first_word + at * quarters + i, salt);
    return expected;
}

template <class Reader, class Word>
__device__ __forceinline__ uint32_t pb_work_pass(uint64_t base, uint64_t bytes, uint32_t found)
{
    const uint64_t step = PB_WORK_THREADS * sizeof(Word);
    uint64_t end = base + bytes;

#pragma unroll 2
    for (uint64_t at = base + threadIdx.x * sizeof(Word); at < end;
         at += PB_KERNEL_WORK_AT_ONCE * step) {
        Word word[PB_KERNEL_WORK_AT_ONCE];

#pragma unroll
        for (int i = 0; i < PB_KERNEL_WORK_AT_ONCE; i++)
            Reader::load(word[i], at + i * step);
#pragma unroll
        for (int i = 0; i < PB_KERNEL_WORK_AT_ONCE; i++)
            found ^= pb_fold(word[i]);
    }
    return found;
}

__device__ __forceinline__ void pb_work_stamp(const struct pb_kernel_work &work, uint64_t start)
{
    __syncthreads();
    uint64_t end = pb_clock();
    uint64_t *stamps = (uint64_t *)work.stamps + 2 * (uint64_t)pb_sm_id();

    if (threadIdx.x == 0) {
        stamps[0] = start;
        stamps[1] = end;
    }
}

__device__ __forceinline__ bool pb_work_begin(const struct pb_kernel_work &work)
{
    return pb_meet((struct pb_kernel_meet *)work.state) &&
           (work.sm < 0 || (uint32_t)work.sm == pb_sm_id());
}

/* Of words in device memory, or of their copies in shared memory. */
template <class Reader, class Word, bool in_shared>
__global__ void __launch_bounds__(PB_WORK_THREADS) pb_work_read(struct pb_kernel_work work)
{
    extern __shared__ uint4 pb_shared[];
    struct pb_kernel_meet *state = (struct pb_kernel_meet *)work.state;
    uint64_t from = work.data + pb_sm_id() * work.sm_step, base = from, start;
    uint64_t first_word = (from - work.data) / sizeof(uint32_t);
    uint32_t found = 0;

    if (in_shared) {
        for (uint32_t i = threadIdx.x; i < work.bytes / sizeof(uint4); i += PB_WORK_THREADS)
            pb_shared[i] = ((const uint4 *)from)[i];
        base = pb_shared_base();
    } else if (work.sm < 0 || (uint32_t)work.sm == pb_sm_id()) {
        found = pb_work_pass<Reader, Word>(base, work.bytes, 0); /* warms; twice nothing is left */
        found = pb_work_pass<Reader, Word>(base, work.bytes, found);
    }
    if (!pb_work_begin(work))
        return;
    start = pb_clock();
    for (uint32_t i = 0; i < work.repeats; i++)
        found = pb_work_pass<Reader, Word>(base, work.bytes, found);
    pb_await_any(found);
    pb_work_stamp(work, start);
    if (found != pb_work_expect<Word>(first_word, work.bytes, work.salt))
        atomicAdd(&state->mismatches, 1);
}

extern "C" __global__ void __launch_bounds__(PB_WORK_THREADS)
    pb_work_atomic(struct pb_kernel_work work)
{
    uint32_t place = (pb_sm_id() * PB_WORK_THREADS + threadIdx.x) % work.address_count;
    uint64_t at = work.data + place * sizeof(uint32_t), start;

    if (!pb_work_begin(work))
        return;
    start = pb_clock();
#pragma unroll 4
    for (uint32_t i = 0; i < work.repeats; i++)
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
    __threadfence(); /* until all of them are done */
    pb_work_stamp(work, start);
}

/* A piece is read by so many threads, so many pieces side by side. */
enum {
    PB_PIECE_THREADS = PB_KERNEL_PIECE_BYTES / 16,
    PB_PIECES_ABREAST = PB_WORK_THREADS / PB_PIECE_THREADS
};

/* Of each four numbers in a row, which lie in shared memory, one thread in four reads its word. */
__device__ __forceinline__ uint32_t pb_pieces_pass(uint64_t data, const uint4 *fours,
                                                   uint32_t count)
{
    uint64_t own = data + threadIdx.x % PB_PIECE_THREADS * sizeof(uint4);
    uint32_t found = 0;

#pragma unroll 2
    for (uint32_t i = threadIdx.x / PB_PIECE_THREADS; i < count; i += PB_PIECES_ABREAST) {
        uint4 piece = fours[i], word[PB_KERNEL_WORK_AT_ONCE];
        const uint64_t at[PB_KERNEL_WORK_AT_ONCE] = {
            own + (uint64_t)piece.x * PB_KERNEL_PIECE_BYTES,
            own + (uint64_t)piece.y * PB_KERNEL_PIECE_BYTES,
            own + (uint64_t)piece.z * PB_KERNEL_PIECE_BYTES,
            own + (uint64_t)piece.w * PB_KERNEL_PIECE_BYTES};

#pragma unroll
        for (int k = 0; k < PB_KERNEL_WORK_AT_ONCE; k++)
            pb_reader_l2::load(word[k], at[k]);
#pragma unroll
        for (int k = 0; k < PB_KERNEL_WORK_AT_ONCE; k++)
            found ^= pb_fold(word[k]);
    }
    return found;
}

/* A thread's word of a piece, as it was written. */
__device__ __forceinline__ uint32_t pb_piece_expect(uint32_t piece, uint32_t salt)
{
    const uint32_t quarters = sizeof(uint4) / sizeof(uint32_t);
    uint64_t word = (uint64_t)piece * (PB_KERNEL_PIECE_BYTES / sizeof(uint32_t)) +
                    threadIdx.x % PB_PIECE_THREADS * quarters;
    uint32_t expected = 0;

    for (uint32_t q = 0; q < quarters; q++)
        expected ^= PB_KERNEL_PATTERN(word + q, salt);
    return expected;
}

/* What a thread should have read of them. */
__device__ __forceinline__ uint32_t pb_pieces_expect(const uint4 *fours, uint32_t count,
                                                     uint32_t salt)
{
    uint32_t expected = 0;

    for (uint32_t i = threadIdx.x / PB_PIECE_THREADS; i < count; i += PB_PIECES_ABREAST)
        expected ^= pb_piece_expect(fours[i].x, salt) ^ pb_piece_expect(fours[i].y, salt) ^
                    pb_piece_expect(fours[i].z, salt) ^ pb_piece_expect(fours[i].w, salt);
    return expected;
}

/* The list is copied to shared memory first: what to practise on, then this SM's own pieces. */
extern "C" __global__ void __launch_bounds__(PB_WORK_THREADS)
    pb_work_pieces(struct pb_kernel_work work)
{
    extern __shared__ uint4 pb_shared[];
    struct pb_kernel_meet *state = (struct pb_kernel_meet *)work.state;
    uint32_t *list = (uint32_t *)pb_shared;
    const uint4 *own = pb_shared + PB_KERNEL_PIECES_STEP / 4;
    const uint32_t *pieces = (const uint32_t *)work.pieces;
    const uint32_t *span = (const uint32_t *)work.spans + 2 * pb_sm_id();
    uint32_t count, found = 0;

    if (pb_sm_id() >= gridDim.x)
        span = (const uint32_t *)work.spans;
    count = span[1];
    for (uint32_t i = threadIdx.x; i < PB_KERNEL_PIECES_STEP + count; i += PB_WORK_THREADS)
        list[i] = pieces[i < PB_KERNEL_PIECES_STEP ? i : span[0] + i - PB_KERNEL_PIECES_STEP];
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < 2; round++) { /* practice, by the same instructions, and the pass */
        if (round == 1 && !pb_work_begin(work))
            return;
        uint64_t start = pb_clock();
        found = pb_pieces_pass(work.data, round == 0 ? pb_shared : own,
                               (round == 0 ? (uint32_t)PB_KERNEL_PIECES_STEP : count) / 4);
        pb_await_any(found);
        pb_work_stamp(work, start);
    }
    if (found != pb_pieces_expect(own, count / 4, work.salt))
        atomicAdd(&state->mismatches, 1);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void pb_bulk_start(uint32_t to, uint64_t from, uint32_t bytes,
                                              uint32_t barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void pb_bulk_wait(uint32_t barrier, uint32_t phase)
{
    uint32_t done;

    do
        asm volatile("{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; "
                     "selp.u32 %0, 1, 0, done; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(phase)
                     : "memory");
    while (done == 0);
}

/* From where copy number `copy` comes; a division, so never between two copies. */
__device__ __forceinline__ uint64_t pb_bulk_source(const struct pb_kernel_work &work, uint32_t copy)
{
    return (uint64_t)copy * work.word_bytes % work.bytes;
}

/* Copies into one stage after the other; a stage is taken again once its last copy has come. */
__device__ __forceinline__ void pb_bulk_copy_all(const struct pb_kernel_work &work, uint64_t from,
                                                 uint32_t stages, uint32_t barriers)
{
    uint32_t stage = 0, round = 0;
    uint64_t offset = 0;

    for (uint32_t copy = 0; copy < work.repeats; copy++) {
        uint32_t barrier = barriers + stage * 8;

        if (round > 0)
            pb_bulk_wait(barrier, (round + 1) & 1);
        pb_bulk_start(stages + stage * work.word_bytes, from + offset, work.word_bytes, barrier);
        offset += work.word_bytes;
        offset = offset < work.bytes ? offset : 0;
        if (++stage == work.depth) {
            stage = 0;
            round++;
        }
    }
    for (uint32_t i = 0; i < work.depth; i++) {
        if (stage == work.depth) {
            stage = 0;
            round++;
        }
        pb_bulk_wait(barriers + stage * 8, (round + 1) & 1);
        stage++;
    }
}

/* Stages first, then the barriers. */
__device__ __forceinline__ void pb_bulk(const struct pb_kernel_work &work)
{
    extern __shared__ uint4 pb_shared[];
    struct pb_kernel_meet *state = (struct pb_kernel_meet *)work.state;
    uint64_t from = work.data + pb_sm_id() * work.sm_step, start;
    uint32_t stages = pb_shared_base(), barriers = stages + work.depth * work.word_bytes;
    uint32_t wrong = 0;

    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < work.depth; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + i * 8)
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    if (!pb_work_begin(work))
        return;
    start = pb_clock();
    if (threadIdx.x == 0)
        pb_bulk_copy_all(work, from, stages, barriers);
    pb_work_stamp(work, start);
    for (uint32_t copy = work.repeats - work.depth; copy < work.repeats; copy++) {
        uint64_t word = (from - work.data + pb_bulk_source(work, copy)) / sizeof(uint32_t);
        const uint32_t *found =
            (const uint32_t *)pb_shared + copy % work.depth * (work.word_bytes / sizeof(uint32_t));

        for (uint32_t i = threadIdx.x; i < work.word_bytes / sizeof(uint32_t); i += PB_WORK_THREADS)
            wrong += found[i] != PB_KERNEL_PATTERN(word + i, work.salt);
    }
    if (wrong > 0)
        atomicAdd(&state->mismatches, 1);
}
#else
__device__ __forceinline__ void pb_bulk(const struct pb_kernel_work &)
{
}
#endif

extern "C" __global__ void __launch_bounds__(PB_WORK_THREADS)
    pb_work_bulk(struct pb_kernel_work work)
{
    pb_bulk(work);
}

typedef void (*pb_worker)(struct pb_kernel_work);

static pb_worker pb_pick_worker(enum pb_kernel_work_kind kind, uint32_t word_bytes)
{
    static const pb_worker readers[3][3] = {
        {pb_work_read<pb_reader_l1, uint32_t, false>, pb_work_read<pb_reader_l1, uint2, false>,
         pb_work_read<pb_reader_l1, uint4, false>},
        {pb_work_read<pb_reader_l2, uint32_t, false>, pb_work_read<pb_reader_l2, uint2, false>,
         pb_work_read<pb_reader_l2, uint4, false>},
        {pb_work_read<pb_reader_shared, uint32_t, true>,
         pb_work_read<pb_reader_shared, uint2, true>, pb_work_read<pb_reader_shared, uint4, true>}};

    if (kind == PB_KERNEL_WORK_ATOMIC)
        return pb_work_atomic;
    if (kind == PB_KERNEL_WORK_BULK)
        return pb_work_bulk;
    if (kind == PB_KERNEL_WORK_PIECES)
        return pb_work_pieces;
    if ((unsigned)kind > PB_KERNEL_WORK_SHARED)
        return NULL;
    if (word_bytes != 4 && word_bytes != 8 && word_bytes != 16)
        return NULL;
    return readers[kind][word_bytes / 8];
}

/* With a window over the data where L2 is to keep it: all accesses in it are persisting. */
static cudaError_t pb_launch_worker(pb_worker kernel, const struct pb_kernel_work *work)
{
    cudaLaunchAttribute keep = {};
    cudaLaunchConfig_t config = {};

    config.gridDim = dim3(work->cta_count);
    config.blockDim = dim3(PB_WORK_THREADS);
    config.dynamicSmemBytes = work->shared_bytes;
    keep.id = cudaLaunchAttributeAccessPolicyWindow;
    keep.val.accessPolicyWindow.base_ptr = (void *)work->data;
    keep.val.accessPolicyWindow.num_bytes = work->persisting_bytes;
    keep.val.accessPolicyWindow.hitRatio = 1.0f;
    keep.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    keep.val.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
    config.attrs = &keep;
    config.numAttrs = work->persisting_bytes > 0 ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, *work);
}

extern "C" int pb_kernel_work(const struct pb_kernel_work *work)
{
    pb_worker kernel = pb_pick_worker(work->kind, work->word_bytes);
    cudaError_t code = cudaErrorInvalidValue;

    if (kernel != NULL)
        code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)work->shared_bytes);
    if (code != cudaSuccess)
        return (int)code;
    return (int)pb_launch_worker(kernel, work);
}
