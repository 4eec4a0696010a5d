/*
 * One kind of access each: what a load finds in L1 and L2 after this or that. With the counters of
 * these, the rules of the forward model were found and are kept.
 *
 * Most are pairs: a warp of each CTA goes over 64 lines of its own one way, something happens, and
 * it goes over them again another way. Where the second way finds them in L1, half of the loads hit
 * (or all, where the first way has no loads).
 */
#include "trace_kernels.h"

enum { LINES = 64, LINE = 32 /* floats */, BLOCKS = 4, SECTOR = 8 /* floats */ };

#define LOAD(name, operation)                                                                      \
    static __device__ __forceinline__ float name(float *line, int lane)                            \
    {                                                                                              \
        float value;                                                                               \
                                                                                                   \
        asm volatile(operation ".f32 %0, [%1];" : "=f"(value) : "l"(line + lane) : "memory");      \
        return value;                                                                              \
    }

LOAD(ld, "ld.global")
LOAD(ld_cg, "ld.global.cg")
LOAD(ld_cs, "ld.global.cs")
LOAD(ld_lu, "ld.global.lu")
LOAD(ld_cv, "ld.global.cv")
LOAD(ld_nc, "ld.global.nc")
LOAD(ld_volatile, "ld.volatile.global")
LOAD(ld_relaxed_cta, "ld.relaxed.cta.global")
LOAD(ld_relaxed_gpu, "ld.relaxed.gpu.global")
LOAD(ld_acquire_cta, "ld.acquire.cta.global")
LOAD(ld_acquire_gpu, "ld.acquire.gpu.global")
LOAD(ld_no_allocate, "ld.global.L1::no_allocate")
LOAD(ld_evict_first, "ld.global.L1::evict_first")
LOAD(ld_evict_last, "ld.global.L1::evict_last")
LOAD(ld_l2_64, "ld.global.L2::64B")
LOAD(ld_l2_128, "ld.global.L2::128B")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
LOAD(ld_l2_256, "ld.global.L2::256B")
#else
LOAD(ld_l2_256, "ld.global")
#endif
LOAD(ld_generic, "ld")

/* One word of each sector of a line, or of one sector. */
static __device__ __forceinline__ float ld_part(float *line, int lane)
{
    return lane < 4 ? ld(line, lane * SECTOR) : 0;
}

static __device__ __forceinline__ float ld_other_part(float *line, int lane)
{
    return lane < 4 ? ld(line, lane * SECTOR + 5) : 0;
}

template <int sector> static __device__ __forceinline__ float ld_sector(float *line, int lane)
{
    return lane < SECTOR ? ld(line, sector * SECTOR + lane) : 0;
}

template <int sector> static __device__ __forceinline__ float cg_sector(float *line, int lane)
{
    return lane < SECTOR ? ld_cg(line, sector * SECTOR + lane) : 0;
}

static __device__ __forceinline__ float l2_128_sector(float *line, int lane)
{
    return lane < SECTOR ? ld_l2_128(line, lane) : 0;
}

static __device__ __forceinline__ float l2_64_sector(float *line, int lane)
{
    return lane < SECTOR ? ld_l2_64(line, lane) : 0;
}

template <int sector> static __device__ __forceinline__ float l2_128_one(float *line, int lane)
{
    return lane < SECTOR ? ld_l2_128(line, sector * SECTOR + lane) : 0;
}

template <int sector> static __device__ __forceinline__ float l2_256_one(float *line, int lane)
{
    return lane < SECTOR ? ld_l2_256(line, sector * SECTOR + lane) : 0;
}

/* 64 bytes of a line. */
template <int half> static __device__ __forceinline__ float ld_half(float *line, int lane)
{
    return lane < 2 * SECTOR ? ld(line, half * 2 * SECTOR + lane) : 0;
}

#define STORE(name, operation)                                                                     \
    static __device__ __forceinline__ float name(float *line, int lane)                            \
    {                                                                                              \
        asm volatile(operation ".f32 [%0], %1;" ::"l"(line + lane), "f"(2.0f) : "memory");         \
        return 0;                                                                                  \
    }

STORE(st, "st.global")
STORE(st_cg, "st.global.cg")
STORE(st_cs, "st.global.cs")
STORE(st_wt, "st.global.wt")
STORE(st_volatile, "st.volatile.global")
STORE(st_relaxed_gpu, "st.relaxed.gpu.global")
STORE(st_no_allocate, "st.global.L1::no_allocate")

static __device__ __forceinline__ float st_part(float *line, int lane)
{
    return lane < 4 ? st(line, lane * SECTOR) : 0;
}

static __device__ __forceinline__ float red(float *line, int lane)
{
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(line + lane), "f"(1.0f) : "memory");
    return 0;
}

static __device__ __forceinline__ float atom(float *line, int lane)
{
    float value;

    asm volatile("atom.global.add.f32 %0, [%1], %2;"
                 : "=f"(value)
                 : "l"(line + lane), "f"(1.0f)
                 : "memory");
    return value;
}

/* A reduction of one word of the line's first sector. */
static __device__ __forceinline__ float red_word(float *line, int lane)
{
    return lane == 0 ? red(line, 3) : 0;
}

static __device__ __forceinline__ float prefetch_l1(float *line, int lane)
{
    if (lane == 0)
        asm volatile("prefetch.global.L1 [%0];" ::"l"(line));
    return 0;
}

static __device__ __forceinline__ float prefetch_l2(float *line, int lane)
{
    if (lane == 0)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
    return 0;
}

static __shared__ float4 copied[32];

template <bool enters_l1> static __device__ __forceinline__ float copy_async(float *line, int lane)
{
    uint32_t target = (uint32_t)__cvta_generic_to_shared(&copied[lane]);

#if __CUDA_ARCH__ >= 800
    if (enters_l1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target), "l"(line + lane)
                     : "memory");
    else if (lane < SECTOR)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(line + lane * 4)
                     : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    return (float)target;
}

/* By the bulk copy engine, from shared memory: it has to be done before the next access. */
template <bool reduces> static __device__ __forceinline__ float bulk_line(float *line, int lane)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t source = (uint32_t)__cvta_generic_to_shared(copied);

    if (lane == 0) {
        if (reduces)
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], "
                         "128;" ::"l"(line),
                         "r"(source)
                         : "memory");
        else
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(line),
                         "r"(source)
                         : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncwarp();
#else
    line[lane] = reduces ? line[lane] + copied[lane].x : copied[lane].x;
#endif
    return 0;
}

template <float (*access)(float *, int)>
static __device__ __forceinline__ float over_lines(float *first, int lines)
{
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < lines; i++)
        sum += access(first + i * LINE, (int)threadIdx.x % 32);
    return sum;
}

static __device__ __forceinline__ void nothing()
{
}

/* A word that belongs to nobody else. */
#define WORD (m + D + blockIdx.x * LINE)

#define PAIR(name, first, between, again)                                                          \
    extern "C" __global__ void name(float *m)                                                      \
    {                                                                                              \
        float *lines = m + A + blockIdx.x * LINES * LINE;                                          \
        float sum = over_lines<first>(lines, LINES);                                               \
                                                                                                   \
        between;                                                                                   \
        sum += over_lines<again>(lines, LINES);                                                    \
        m[B + thread_index()] = sum;                                                               \
    }

/* What may take lines away between two loads. */
PAIR(nothing_between, ld, nothing(), ld)
PAIR(barrier_between, ld, __syncthreads(), ld)
PAIR(sleep_between, ld, __nanosleep(100000), ld)
PAIR(fence_cta_between, ld, __threadfence_block(), ld)
PAIR(fence_gpu_between, ld, __threadfence(), ld)
PAIR(fence_system_between, ld, __threadfence_system(), ld)
PAIR(fence_acq_rel_between, ld, asm volatile("fence.acq_rel.gpu;" ::: "memory"), ld)
PAIR(acquire_cta_between, ld, sum += ld_acquire_cta(WORD, 0), ld)
PAIR(acquire_gpu_between, ld, sum += ld_acquire_gpu(WORD, 0), ld)
PAIR(relaxed_gpu_between, ld, sum += ld_relaxed_gpu(WORD, 0), ld)
PAIR(volatile_between, ld, sum += ld_volatile(WORD, 0), ld)
PAIR(release_between, ld,
     asm volatile("st.release.gpu.global.f32 [%0], %1;" ::"l"(WORD), "f"(1.0f)
                  : "memory"),
     ld)
PAIR(atomic_acquire_between, ld,
     asm volatile("{.reg .f32 f; atom.acquire.gpu.global.add.f32 f, [%0], %1;}" ::"l"(WORD),
                  "f"(1.0f)
                  : "memory"),
     ld)
PAIR(atomic_elsewhere_between, ld, sum += atom(WORD, 0), ld)
PAIR(red_between, ld, over_lines<red>(lines, LINES), ld)
PAIR(red_word_between, ld, over_lines<red_word>(lines, LINES), ld)
PAIR(atom_between, ld, sum += over_lines<atom>(lines, LINES), ld)
PAIR(store_between, ld, over_lines<st>(lines, LINES), ld)
PAIR(store_part_between, ld, over_lines<st_part>(lines, LINES), ld)
PAIR(cg_between, ld, sum += over_lines<ld_cg>(lines, LINES), ld)
PAIR(copy_cg_between, ld, over_lines<copy_async<false>>(lines, LINES), ld)

/* What stores and atomics leave in L1. */
PAIR(store_then_load, st, nothing(), ld)
PAIR(store_part_then_load, st_part, nothing(), ld_part)
PAIR(store_part_then_other, st_part, nothing(), ld_other_part)
PAIR(store_cg_then_load, st_cg, nothing(), ld)
PAIR(store_cs_then_load, st_cs, nothing(), ld)
PAIR(store_wt_then_load, st_wt, nothing(), ld)
PAIR(store_volatile_then_load, st_volatile, nothing(), ld)
PAIR(store_relaxed_then_load, st_relaxed_gpu, nothing(), ld)
PAIR(store_no_allocate_then_load, st_no_allocate, nothing(), ld)
PAIR(red_then_load, red, nothing(), ld)
PAIR(atom_then_load, atom, nothing(), ld)

/* Which loads leave what in L1, and which look there. */
PAIR(cg_then_load, ld_cg, nothing(), ld)
PAIR(load_then_cg, ld, nothing(), ld_cg)
PAIR(cs_twice, ld_cs, nothing(), ld_cs)
PAIR(lu_twice, ld_lu, nothing(), ld_lu)
PAIR(cv_then_load, ld_cv, nothing(), ld)
PAIR(volatile_twice, ld_volatile, nothing(), ld_volatile)
PAIR(load_then_volatile, ld, nothing(), ld_volatile)
PAIR(relaxed_cta_twice, ld_relaxed_cta, nothing(), ld_relaxed_cta)
PAIR(relaxed_gpu_then_load, ld_relaxed_gpu, nothing(), ld)
PAIR(acquire_cta_twice, ld_acquire_cta, nothing(), ld_acquire_cta)
PAIR(no_allocate_then_load, ld_no_allocate, nothing(), ld)
PAIR(evict_first_then_load, ld_evict_first, nothing(), ld)
PAIR(nc_then_load, ld_nc, nothing(), ld)
PAIR(load_then_nc, ld, nothing(), ld_nc)
PAIR(nc_store_nc, ld_nc, over_lines<st>(lines, LINES), ld_nc)
PAIR(generic_twice, ld_generic, nothing(), ld_generic)
PAIR(copy_ca_then_load, copy_async<true>, nothing(), ld)
PAIR(copy_cg_then_load, copy_async<false>, nothing(), ld)
PAIR(load_then_copy_ca, ld, nothing(), copy_async<true>)
PAIR(prefetch_l1_then_load, prefetch_l1, nothing(), ld)

/* What L2 fetches beside what was loaded. */
PAIR(prefetch_l2_then_load, prefetch_l2, nothing(), ld)
PAIR(sector_then_next, ld_sector<0>, nothing(), ld_sector<1>)
PAIR(sector_then_third, ld_sector<0>, nothing(), ld_sector<2>)
PAIR(cg_sector_then_next, cg_sector<0>, nothing(), cg_sector<1>)
PAIR(l2_64_then_line, l2_64_sector, nothing(), ld)
PAIR(l2_128_then_line, l2_128_sector, nothing(), ld)
PAIR(store_then_cg, st, nothing(), ld_cg)
PAIR(store_part_then_cg, st_part, nothing(), ld_cg)
PAIR(red_then_cg, red, nothing(), ld_cg)

/* 32 lines of 256 bytes: the first half loaded with the hint, then all. */
extern "C" __global__ void l2_256_then_line(float *m)
{
    float *lines = m + A + blockIdx.x * LINES * LINE;
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < LINES; i += 2)
        sum += ld_l2_256(lines + i * LINE, (int)threadIdx.x);
    sum += over_lines<ld>(lines, LINES);
    m[B + thread_index()] = sum;
}

/* Bulk copies to global memory, and loads before and behind them. */
PAIR(bulk_store_then_load, bulk_line<false>, nothing(), ld)
PAIR(bulk_store_then_cg, bulk_line<false>, nothing(), ld_cg)
PAIR(bulk_store_between, ld, over_lines<bulk_line<false>>(lines, LINES), ld)
PAIR(bulk_store_twice, bulk_line<false>, nothing(), bulk_line<false>)
PAIR(bulk_reduce_then_load, bulk_line<true>, nothing(), ld)
PAIR(bulk_reduce_between, ld, over_lines<bulk_line<true>>(lines, LINES), ld)

/* Of 32 pairs of lines, aligned to 256 bytes, one line is loaded one way, then one another way. */
#define LINE_PAIR(name, first, first_line, again, again_line)                                      \
    extern "C" __global__ void name(float *m)                                                      \
    {                                                                                              \
        float *lines = m + A + blockIdx.x * LINES * LINE;                                          \
        float sum = 0;                                                                             \
                                                                                                   \
        _Pragma("unroll 1") for (int i = 0; i < LINES; i += 2) sum +=                              \
            first(lines + (i + first_line) * LINE, (int)threadIdx.x);                              \
        _Pragma("unroll 1") for (int i = 0; i < LINES; i += 2) sum +=                              \
            again(lines + (i + again_line) * LINE, (int)threadIdx.x);                              \
        m[B + thread_index()] = sum;                                                               \
    }

LINE_PAIR(l2_128_third_then_line, l2_128_one<2>, 0, ld, 0)
LINE_PAIR(l2_128_then_next, l2_128_one<0>, 0, ld, 1)
LINE_PAIR(l2_256_sector_then_line, l2_256_one<0>, 0, ld, 0)
LINE_PAIR(l2_256_sector_then_next, l2_256_one<0>, 0, ld, 1)
LINE_PAIR(l2_256_then_next_low, ld_l2_256, 0, ld_half<0>, 1)
LINE_PAIR(l2_256_then_next_high, ld_l2_256, 0, ld_half<1>, 1)
LINE_PAIR(l2_256_then_last_low, ld_l2_256, 1, ld_half<0>, 0)
LINE_PAIR(l2_256_then_last_high, ld_l2_256, 1, ld_half<1>, 0)
LINE_PAIR(l2_256_third_then_next_low, l2_256_one<2>, 0, ld_half<0>, 1)
LINE_PAIR(l2_256_third_then_next_high, l2_256_one<2>, 0, ld_half<1>, 1)

/* The line is in L2 before it is loaded with the hint. */
extern "C" __global__ void l2_256_present_then_next(float *m)
{
    float *lines = m + A + blockIdx.x * LINES * LINE;
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < LINES; i += 2)
        sum += ld_cg(lines + i * LINE, (int)threadIdx.x);
#pragma unroll 1
    for (int i = 0; i < LINES; i += 2)
        sum += ld_l2_256(lines + i * LINE, (int)threadIdx.x);
#pragma unroll 1
    for (int i = 1; i < LINES; i += 2)
        sum += ld(lines + i * LINE, (int)threadIdx.x);
    m[B + thread_index()] = sum;
}

/* Two warps: one stores or fences, the other one loads. */
extern "C" __global__ void other_warp_stores(float *m)
{
    float *lines = m + A + blockIdx.x * LINES * LINE;
    float sum = 0;

    if (threadIdx.x < 32)
        over_lines<st>(lines, LINES);
    __syncthreads();
    if (threadIdx.x >= 32)
        sum = over_lines<ld>(lines, LINES);
    m[B + thread_index()] = sum;
}

extern "C" __global__ void other_warp_fences(float *m)
{
    float *lines = m + A + blockIdx.x * LINES * LINE;
    float sum = 0;

    if (threadIdx.x >= 32)
        sum = over_lines<ld>(lines, LINES);
    __syncthreads();
    if (threadIdx.x < 32)
        __threadfence();
    __syncthreads();
    if (threadIdx.x >= 32)
        sum += over_lines<ld>(lines, LINES);
    m[B + thread_index()] = sum;
}

/* All CTAs meet in between, by a counter in memory. */
static void prepare_counter(float *arena)
{
    CHECK(cudaMemset(arena + D, 0, sizeof(unsigned)));
}

extern "C" __global__ void grid_barrier(float *m)
{
    float *lines = m + A + blockIdx.x * LINES * LINE;
    unsigned *count = (unsigned *)(m + D);
    float sum = over_lines<ld>(lines, LINES);

    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1u);
        while (*(volatile unsigned *)count < gridDim.x)
            __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
    sum += over_lines<ld>(lines, LINES);
    m[B + thread_index()] = sum;
}

/* Bytes 33 apart, and words of 16 bytes 48 apart, once more after all of them. */
extern "C" __global__ void bytes_by_33(float *m)
{
    const volatile unsigned char *bytes =
        (const volatile unsigned char *)(m + A) + blockIdx.x * 65536;
    uint32_t sum = 0, value;

#pragma unroll 1
    for (int i = 0; i < 48; i++) {
        asm volatile("ld.global.u8 %0, [%1];"
                     : "=r"(value)
                     : "l"(bytes + i % 24 * 1056 + threadIdx.x * 33));
        sum += value;
    }
    m[B + thread_index()] = (float)sum;
}

extern "C" __global__ void quads_by_3(float *m)
{
    const float4 *quads = (const float4 *)(m + A) + blockIdx.x * 4096;
    float4 value;
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 48; i++) {
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                     : "l"(quads + i % 24 * 96 + threadIdx.x * 3));
        sum += value.x + value.w;
    }
    m[B + thread_index()] = sum;
}

/* A table, then 1,400 other lines once, then the table again: 125 + 175 KiB. */
enum { TABLE = 1000, STREAM = 1400 };

#define BESIDE(name, table, stream)                                                                \
    extern "C" __global__ void name(float *m)                                                      \
    {                                                                                              \
        float *lines = m + A + blockIdx.x * TABLE * LINE;                                          \
        float *others = m + C + blockIdx.x * STREAM * LINE;                                        \
        float sum = over_lines<table>(lines, TABLE);                                               \
                                                                                                   \
        sum += over_lines<stream>(others, STREAM);                                                 \
        sum += over_lines<ld>(lines, TABLE);                                                       \
        m[B + thread_index()] = sum;                                                               \
    }

BESIDE(beside_loads, ld, ld)
BESIDE(beside_cg, ld, ld_cg)
BESIDE(beside_cs, ld, ld_cs)
BESIDE(beside_lu, ld, ld_lu)
BESIDE(beside_no_allocate, ld, ld_no_allocate)
BESIDE(beside_evict_first, ld, ld_evict_first)
BESIDE(evict_last_beside, ld_evict_last, ld)
BESIDE(beside_stores, ld, st)
BESIDE(beside_stores_cs, ld, st_cs)
BESIDE(beside_reds, ld, red)
BESIDE(beside_copies_ca, ld, copy_async<true>)
BESIDE(beside_copies_cg, ld, copy_async<false>)
BESIDE(stored_beside, st, ld)

/* 1,800 lines stored, then loaded: 225 KiB. */
extern "C" __global__ void stored_table(float *m)
{
    float *lines = m + A + blockIdx.x * 1800 * LINE;
    float sum = over_lines<st>(lines, 1800);

    sum += over_lines<ld>(lines, 1800);
    m[B + thread_index()] = sum;
}

static __device__ cudaTextureObject_t texture_words;

static void prepare_texture(float *arena)
{
    static cudaTextureObject_t texture;
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};

    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = arena + C;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = (size_t)4 << 20;
    description.readMode = cudaReadModeElementType;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    CHECK(cudaMemcpyToSymbol(texture_words, &texture, sizeof(texture)));
}

/* As beside_loads, the stream by texture fetches. */
extern "C" __global__ void beside_textures(float *m)
{
    float *lines = m + A + blockIdx.x * TABLE * LINE;
    float sum = over_lines<ld>(lines, TABLE);

#pragma unroll 1
    for (int i = 0; i < STREAM; i++)
        sum += tex1Dfetch<float>(texture_words,
                                 ((int)blockIdx.x * STREAM + i) * LINE + (int)threadIdx.x);
    sum += over_lines<ld>(lines, TABLE);
    m[B + thread_index()] = sum;
}

static __constant__ float constants[16384 - 64];

/* The table is 1,800 lines; constants of 63 KiB in between. */
extern "C" __global__ void beside_constants(float *m)
{
    float *lines = m + A + blockIdx.x * 1800 * LINE;
    float sum = over_lines<ld>(lines, 1800);

#pragma unroll 1
    for (int i = 0; i < 16384 - 64; i += 16)
        sum += constants[i];
    sum += over_lines<ld>(lines, 1800);
    m[B + thread_index()] = sum;
}

/* 64 KiB of local memory, indexed, between two passes over 1,600 lines. */
extern "C" __global__ void beside_local(float *m)
{
    float values[512];
    float *lines = m + A + blockIdx.x * 1600 * LINE;
    float sum = over_lines<ld>(lines, 1600);

#pragma unroll 1
    for (int i = 0; i < 512; i++)
        values[(i * 5 + (int)sum) & 511] = sum + (float)i;
    sum += values[(int)threadIdx.x];
    sum += over_lines<ld>(lines, 1600);
    m[B + thread_index()] = sum + values[((int)sum + 7) & 511];
}

/* Loops beside a carve-out that the program prefers, or that its blocks need. */
#define LOOP(name, lines)                                                                          \
    extern "C" __global__ void name(float *m)                                                      \
    {                                                                                              \
        float sum = 0;                                                                             \
                                                                                                   \
        _Pragma("unroll 1") for (int pass = 0; pass < 4; pass++) sum +=                            \
            over_lines<ld>(m + A + blockIdx.x * lines * LINE, lines);                              \
        m[B + thread_index()] = sum;                                                               \
    }

LOOP(loop_carveout_all, 140)
LOOP(loop_carveout_all_over, 400)
LOOP(loop_carveout_half, 900)
LOOP(loop_carveout_0, 1900)
LOOP(loop_carveout_5, 1840)
LOOP(loop_carveout_10, 1720)
LOOP(loop_carveout_25, 1470)
LOOP(loop_dynamic_40_carveout_0, 1470)
LOOP(loop_dynamic_40, 1500)
LOOP(loop_dynamic_120, 900)

/* Far more CTAs than run at a time, each loads six lines of a table of 48 KiB. */
extern "C" __global__ void replaced_blocks(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (uint32_t i = 0; i < 6; i++)
        sum += ld(m + A + mix(blockIdx.x * 6 + i) % 384 * LINE, (int)threadIdx.x);
    m[B + thread_index()] = sum;
}

/* One CTA of 1,024 threads an SM. */
extern "C" __global__ void __launch_bounds__(1024, 1) one_large_block(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (uint32_t i = 0; i < 64; i++)
        sum += ld(m + A + mix((uint32_t)thread_index() / 32 * 64 + i) % 1900 * LINE,
                  (int)threadIdx.x % 32);
    m[B + thread_index()] = sum;
}

/* A line of every 64 KiB, and of every 2 MiB, again and again. */
template <int step> static __device__ __forceinline__ float over_steps(float *first, int count)
{
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 4 * count; i++)
        sum += ld(first + (size_t)(i % count) * step, (int)threadIdx.x);
    return sum;
}

extern "C" __global__ void steps_of_64k(float *m)
{
    m[B + thread_index()] = over_steps<16384>(m + A + blockIdx.x * LINE, 1000);
}

extern "C" __global__ void steps_of_2m(float *m)
{
    m[B + thread_index()] = over_steps<524288>(m + A + blockIdx.x * LINE, 32);
}

#define ONE(name)                                                                                  \
    {                                                                                              \
#name, name, dim3(BLOCKS), dim3(32)                                                        \
    }

const struct test access_kinds[] = {
    ONE(nothing_between),
    ONE(barrier_between),
    ONE(sleep_between),
    ONE(fence_cta_between),
    ONE(fence_gpu_between),
    ONE(fence_system_between),
    ONE(fence_acq_rel_between),
    ONE(acquire_cta_between),
    ONE(acquire_gpu_between),
    ONE(relaxed_gpu_between),
    ONE(volatile_between),
    ONE(release_between),
    ONE(atomic_acquire_between),
    ONE(atomic_elsewhere_between),
    ONE(red_between),
    ONE(red_word_between),
    ONE(atom_between),
    ONE(store_between),
    ONE(store_part_between),
    ONE(cg_between),
    ONE(copy_cg_between),
    ONE(store_then_load),
    ONE(store_part_then_load),
    ONE(store_part_then_other),
    ONE(store_cg_then_load),
    ONE(store_cs_then_load),
    ONE(store_wt_then_load),
    ONE(store_volatile_then_load),
    ONE(store_relaxed_then_load),
    ONE(store_no_allocate_then_load),
    ONE(red_then_load),
    ONE(atom_then_load),
    ONE(cg_then_load),
    ONE(load_then_cg),
    ONE(cs_twice),
    ONE(lu_twice),
    ONE(cv_then_load),
    ONE(volatile_twice),
    ONE(load_then_volatile),
    ONE(relaxed_cta_twice),
    ONE(relaxed_gpu_then_load),
    ONE(acquire_cta_twice),
    ONE(no_allocate_then_load),
    ONE(evict_first_then_load),
    ONE(nc_then_load),
    ONE(load_then_nc),
    ONE(nc_store_nc),
    ONE(generic_twice),
    ONE(copy_ca_then_load),
    ONE(copy_cg_then_load),
    ONE(load_then_copy_ca),
    ONE(prefetch_l1_then_load),
    ONE(prefetch_l2_then_load),
    ONE(sector_then_next),
    ONE(sector_then_third),
    ONE(cg_sector_then_next),
    ONE(l2_64_then_line),
    ONE(l2_128_then_line),
    ONE(l2_256_then_line),
    ONE(l2_128_third_then_line),
    ONE(l2_128_then_next),
    ONE(l2_256_sector_then_line),
    ONE(l2_256_sector_then_next),
    ONE(l2_256_then_next_low),
    ONE(l2_256_then_next_high),
    ONE(l2_256_then_last_low),
    ONE(l2_256_then_last_high),
    ONE(l2_256_third_then_next_low),
    ONE(l2_256_third_then_next_high),
    ONE(l2_256_present_then_next),
    ONE(bulk_store_then_load),
    ONE(bulk_store_then_cg),
    ONE(bulk_store_between),
    ONE(bulk_store_twice),
    ONE(bulk_reduce_then_load),
    ONE(bulk_reduce_between),
    ONE(store_then_cg),
    ONE(store_part_then_cg),
    ONE(red_then_cg),
    {"other_warp_stores", other_warp_stores, dim3(BLOCKS), dim3(64)},
    {"other_warp_fences", other_warp_fences, dim3(BLOCKS), dim3(64)},
    {"grid_barrier", grid_barrier, dim3(BLOCKS), dim3(32), 0, -1, prepare_counter},
    ONE(bytes_by_33),
    ONE(quads_by_3),
    ONE(beside_loads),
    ONE(beside_cg),
    ONE(beside_cs),
    ONE(beside_lu),
    ONE(beside_no_allocate),
    ONE(beside_evict_first),
    ONE(evict_last_beside),
    ONE(beside_stores),
    ONE(beside_stores_cs),
    ONE(beside_reds),
    ONE(beside_copies_ca),
    ONE(beside_copies_cg),
    ONE(stored_beside),
    ONE(stored_table),
    {"beside_textures", beside_textures, dim3(BLOCKS), dim3(32), 0, -1, prepare_texture},
    ONE(beside_constants),
    ONE(beside_local),
    {"loop_carveout_all", loop_carveout_all, dim3(BLOCKS), dim3(32), 0, 100},
    {"loop_carveout_all_over", loop_carveout_all_over, dim3(BLOCKS), dim3(32), 0, 100},
    {"loop_carveout_half", loop_carveout_half, dim3(BLOCKS), dim3(32), 0, 50},
    {"loop_carveout_0", loop_carveout_0, dim3(BLOCKS), dim3(32), 0, 0},
    {"loop_carveout_5", loop_carveout_5, dim3(BLOCKS), dim3(32), 0, 5},
    {"loop_carveout_10", loop_carveout_10, dim3(BLOCKS), dim3(32), 0, 10},
    {"loop_carveout_25", loop_carveout_25, dim3(BLOCKS), dim3(32), 0, 25},
    {"loop_dynamic_40_carveout_0", loop_dynamic_40_carveout_0, dim3(BLOCKS), dim3(32), 40 << 10, 0},
    {"loop_dynamic_40", loop_dynamic_40, dim3(BLOCKS), dim3(32), 40 << 10},
    {"loop_dynamic_120", loop_dynamic_120, dim3(BLOCKS), dim3(32), 120 << 10},
    {"replaced_blocks", replaced_blocks, dim3(5280), dim3(32)},
    {"one_large_block", one_large_block, dim3(2), dim3(1024)},
    ONE(steps_of_64k),
    ONE(steps_of_2m),
};
const size_t access_kind_count = sizeof(access_kinds) / sizeof(access_kinds[0]);
