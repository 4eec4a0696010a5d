/*
 * plumb-trace-kernels NAME...: small kernels with known access patterns, for the proof of the
 * tracer and of the forward model by hardware counters. Each is launched exactly once, on one
 * arena whose layout does not depend on which kernels run, with inputs that never change.
 *
 *   plumb-trace-kernels --list       the names
 *   plumb-trace-kernels all          every kernel, in the order of the list
 *   plumb-trace-kernels --list-held-out, held_out   the same of kernels that the model was not
 *                                    developed with; --list-held-out-N, held_out_N with N from
 *                                    2 to 4: of later ones
 *   plumb-trace-kernels --list-access-kinds, access_kinds   the same of kernels with one kind of
 *                                    access each
 *   plumb-trace-kernels large_copy   a million accesses, which is not in the list
 *   plumb-trace-kernels dynamic_shared   4,096 bytes of dynamic shared memory, not in the list
 *                                    either
 *   --contexts NAME                  the kernel in a second context of the same device
 *   --threads NAME                   the kernel from four threads at once, each on its own stream
 *   --graph NAME                     the kernel as a node of a CUDA graph
 *   --prefer-10 NAME                 the kernel by a launch that prefers a carve-out of 10%
 *   --child NAME                     the kernel while a forked child ends; --child-exit: by exit()
 *   --reset NAME                     the kernel behind cudaDeviceReset()
 *   --fail                           ends with exit status 7 after the last one
 *   --crash                          dies of a signal after the last one
 *   --fault                          the last kernel touches an address that is not there
 *   --trap                           the last kernel traps
 *
 * Exit status: 0, 1 a CUDA call failed, 2 usage, 77 no GPU.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "trace_kernels.h"

extern "C" {

__global__ void stream_copy(float *m)
{
    int i = thread_index();

    m[B + i] = m[A + i];
}

__global__ void stream_copy_wide(float *m)
{
    int i = thread_index();

    ((float4 *)(m + B))[i] = ((const float4 *)(m + A))[i];
}

/* A thread for each row of 1,024 floats: neighbours are 4,096 bytes apart. */
__global__ void column_copy(float *m)
{
    int row = thread_index();

    for (int column = 0; column < 128; column++)
        m[B + row * 1024 + column] = m[A + row * 1024 + column];
}

__global__ void transpose_naive(float *m)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

    for (int i = 0; i < 32; i += 8)
        m[B + (y + i) * 512 + x] = m[A + x * 512 + y + i];
}

__global__ void transpose_padded(float *m)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = m[A + (y + i) * 512 + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        m[B + (y + i) * 512 + x] = tile[threadIdx.x][threadIdx.y + i];
}

/* y = A x, 1,024 rows of 256. */
__global__ void atax_1(float *m)
{
    int row = thread_index();
    float sum = 0;

    for (int j = 0; j < 256; j++)
        sum += m[A + row * 256 + j] * m[B + j];
    m[C + row] = sum;
}

/* z = A^T y. */
__global__ void atax_2(float *m)
{
    int column = thread_index();
    float sum = 0;

    for (int i = 0; i < 1024; i++)
        sum += m[A + i * 256 + column] * m[C + i];
    m[D + column] = sum;
}

__global__ void gemm_naive(float *m)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;

    for (int k = 0; k < 96; k++)
        sum += m[A + y * 96 + k] * m[C + k * 96 + x];
    m[D + y * 96 + x] = sum;
}

__global__ void gemm_tiled(float *m)
{
    __shared__ float a[16][16], b[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;

    for (int t = 0; t < 128; t += 16) {
        a[threadIdx.y][threadIdx.x] = m[A + y * 128 + t + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = m[C + (t + threadIdx.y) * 128 + x];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    m[D + y * 128 + x] = sum;
}

/* C = A A^T, 96 rows of 64. */
__global__ void syrk(float *m)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;

    for (int k = 0; k < 64; k++)
        sum += m[A + y * 64 + k] * m[A + x * 64 + k];
    m[C + y * 96 + x] = sum;
}

__global__ void gesummv(float *m)
{
    int row = thread_index();
    float a = 0, b = 0;

    for (int j = 0; j < 512; j++) {
        float x = m[C + j];

        a += m[A + row * 512 + j] * x;
        b += m[B + row * 512 + j] * x;
    }
    m[D + row] = 1.5f * a + 2.5f * b;
}

/* 512 x 128 with a border. */
__global__ void stencil_9(float *m)
{
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    float sum = 0;

    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += m[A + (y + j) * 514 + x + i];
    m[B + y * 514 + x] = sum / 9;
}

/* 64 x 32 x 32 with a border. */
__global__ void stencil_7_3d(float *m)
{
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 4 + threadIdx.y + 1;
    int z = blockIdx.z * 2 + threadIdx.z + 1, at = (z * 34 + y) * 66 + x;

    m[B + at] = m[A + at] + m[A + at - 1] + m[A + at + 1] + m[A + at - 66] + m[A + at + 66] +
                m[A + at - 34 * 66] + m[A + at + 34 * 66];
}

/* 4,096 rows of 12 elements, columns at random over 256 KiB. */
__global__ void spmv_ell(float *m)
{
    int row = thread_index();
    const uint32_t *columns = (const uint32_t *)(m + B);
    float sum = 0;

    for (int k = 0; k < 12; k++)
        sum += m[A + k * 4096 + row] * m[C + (columns[k * 4096 + row] & 0xffff)];
    m[D + row] = sum;
}

/* One step over 8,192 nodes, one in four of which is in the frontier, of degree 0 to 15. */
__global__ void bfs_step(float *m)
{
    int node = thread_index();
    const uint32_t *random = (const uint32_t *)(m + B);
    uint32_t *level = (uint32_t *)(m + C);

    uint32_t word = random[node];

    if (word % 4 != 0)
        return;
    for (uint32_t k = 0; k < (word >> 8) % 16; k++) {
        uint32_t next = random[8192 + node * 16 + k] % 8192;

        if (level[next] != 1)
            level[next] = 1;
    }
}

__global__ void histogram(float *m)
{
    const uint32_t *random = (const uint32_t *)(m + B);
    uint32_t *bins = (uint32_t *)(m + C);

    for (int i = thread_index(); i < 32768; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[random[i] >> 22], 1u);
}

/* Over 512 KiB, twice what L1 holds. */
__global__ void random_gather(float *m)
{
    int thread = thread_index();
    float sum = 0;

    for (int i = 0; i < 64; i++)
        sum += m[A + mix((uint32_t)(thread * 64 + i)) % (128 << 10)];
    m[B + thread] = sum;
}

/* Each CTA: 128 lines, 2^k bytes apart, four times; another power of two for each CTA. */
__global__ void strides_pow2(float *m)
{
    int stride = 32 << (blockIdx.x % 8);
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 16; i++)
        sum += m[A + (threadIdx.x + (i % 4) * 128) * stride % (4 << 20)];
    m[B + thread_index()] = sum;
}

/* Thread t sums the first t + 1 elements of its row. */
__global__ void triangular(float *m)
{
    float sum = 0;

    for (int j = 0; j <= (int)threadIdx.x; j++)
        sum += m[A + (blockIdx.x * 256 + threadIdx.x) * 256 + j];
    m[B + thread_index()] = sum;
}

__global__ void load_cg(float *m)
{
    float sum = 0;

    for (int i = 0; i < 32; i++)
        sum += __ldcg(&m[A + ((threadIdx.x + i * 64) & 4095)]);
    m[B + thread_index()] = sum;
}

__global__ void load_nc(float *m)
{
    float sum = 0;

    for (int i = 0; i < 32; i++)
        sum += __ldg(&m[A + ((threadIdx.x + i * 64) & 4095)]);
    m[B + thread_index()] = sum;
}

__global__ void load_ca(float *m)
{
    float sum = 0;

    for (int i = 0; i < 32; i++)
        sum += m[A + ((threadIdx.x + i * 64) & 4095)];
    m[B + thread_index()] = sum;
}

/* Copies past the registers: not counted as loads by the counters. */
__global__ void async_copy(float *m)
{
    __shared__ float4 tile[256];
    uint32_t target = (uint32_t)__cvta_generic_to_shared(&tile[threadIdx.x]);

#if __CUDA_ARCH__ >= 800
    for (int i = 0; i < 4; i++) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target),
                     "l"(m + A + (i * 256 + threadIdx.x)));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target),
                     "l"(m + B + 4 * (i * 256 + threadIdx.x)));
        asm volatile("cp.async.wait_all;");
    }
#endif
    m[C + thread_index()] = tile[threadIdx.x].x + (float)target;
}

/* 1,024 bytes a CTA by the bulk copy engine. */
__global__ void bulk_copy(float *m)
{
    __shared__ alignas(128) float tile[256];
#if __CUDA_ARCH__ >= 900
    __shared__ alignas(8) uint64_t barrier;
    uint32_t target = (uint32_t)__cvta_generic_to_shared(tile);
    uint32_t mbarrier = (uint32_t)__cvta_generic_to_shared(&barrier);
    uint32_t is_done = 0;

    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(mbarrier));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(mbarrier));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                     "[%1], 1024, [%2];" ::"r"(target),
                     "l"(m + A + blockIdx.x * 256), "r"(mbarrier)
                     : "memory");
    }
    __syncthreads();
    while (is_done == 0)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, "
                     "1, 0, p;}"
                     : "=r"(is_done)
                     : "r"(mbarrier)
                     : "memory");
#else
    tile[threadIdx.x] = m[A + thread_index()];
#endif
    m[B + thread_index()] = tile[threadIdx.x];
}

/* An array that no register holds: it is indexed at random. */
__global__ void local_array(float *m)
{
    float values[64];
    float sum = 0;

    for (int i = 0; i < 64; i++)
        values[i] = m[A + thread_index() + i];
    for (uint32_t i = 0; i < 64; i++)
        sum += values[mix(threadIdx.x + i) % 64];
    m[B + thread_index()] = sum;
}

/*
 * Held out: predicted before their counters were seen. Lines that share a set of L1 are
 * combinations of these differences, as the index of an H100's and an H200's L1 was measured for
 * address bits below 2^19; they hold within a page of 2 MiB.
 */
enum { SAME_SET_16 = 0x13880 / 4, SAME_SET_17 = 0x20d80 / 4, SAME_SET_18 = 0x4bb00 / 4 };

static __device__ __forceinline__ int same_set(int i)
{
    return (i & 1 ? SAME_SET_16 : 0) ^ (i & 2 ? SAME_SET_17 : 0) ^ (i & 4 ? SAME_SET_18 : 0);
}

/* Six lines in each of 32 sets of four ways, again and again. */
__global__ void set_conflict(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 192; i++)
        sum += m[A + (same_set(i % 6) ^ (int)threadIdx.x * 32)];
    m[B + thread_index()] = sum;
}

/* Three lines in each of 32 sets. */
__global__ void set_within(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 192; i++)
        sum += m[A + (same_set(i % 3) ^ (int)threadIdx.x * 32)];
    m[B + thread_index()] = sum;
}

/* Two lines of each set are loaded again between any two of six others. */
__global__ void set_protect(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 192; i++) {
        int line = i % 3 < 2 ? i % 3 : 2 + i / 3 % 6;

        sum += m[A + (same_set(line) ^ (int)threadIdx.x * 32)];
    }
    m[B + thread_index()] = sum;
}

static __device__ __forceinline__ void loop_lines(float *m, int lines, int step)
{
    float sum = 0;

#pragma unroll 1
    for (int pass = 0; pass < 5; pass++)
#pragma unroll 1
        for (int i = 0; i < lines; i++)
            sum += m[A + i * step + (int)threadIdx.x];
    m[B + thread_index()] = sum;
}

/* 235 KiB: a little less than L1 holds. */
__global__ void loop_within(float *m)
{
    loop_lines(m, 1880, 32);
}

/* 262 KiB: a little more than 512 sets of 4 ways hold. */
__global__ void loop_above(float *m)
{
    loop_lines(m, 2100, 32);
}

/* 480 lines, 4 KiB apart: they share 128 sets. */
__global__ void stride_4k(float *m)
{
    loop_lines(m, 480, 1024);
}

/* A thread for each row of 64 KiB, 384 rows. */
__global__ void pitch_64k(float *m)
{
    float sum = 0;

    for (int column = 0; column < 64; column++)
        sum += m[A + (int)threadIdx.x * 16384 + (int)blockIdx.x * 64 + column];
    m[B + thread_index()] = sum;
}

/* A table of 64 KiB between lines that come once. */
__global__ void hot_and_stream(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 512; i++) {
        sum += m[A + mix((uint32_t)(i * 128 + (int)threadIdx.x)) % 16384];
        sum += m[C + i * 128 + (int)threadIdx.x];
    }
    m[B + thread_index()] = sum;
}

/* Each load's address needs the value before. */
__global__ void chase_random(float *m)
{
    uint32_t at = mix((uint32_t)thread_index());

#pragma unroll 1
    for (int i = 0; i < 48; i++)
        at = mix(at + (m[A + at % (64 << 10)] == 0.0f));
    m[B + thread_index()] = (float)at;
}

/* All CTAs read the same 64 KiB, each from a place of its own on. */
__global__ void rotated_rows(float *m)
{
    float sum = 0;

    for (int i = 0; i < 128; i++)
        sum += m[A + (i + (int)blockIdx.x * 37) % 128 * 128 + (int)threadIdx.x];
    m[B + thread_index()] = sum;
}

/* Over 512 KiB of L2, by many SMs. */
__global__ void shared_gather(float *m)
{
    float sum = 0;

    for (int i = 0; i < 8; i++)
        sum += m[A + mix((uint32_t)(thread_index() * 8 + i)) % (128 << 10)];
    m[B + thread_index()] = sum;
}

/* 5 x 5 points of 256 x 64 with a border. */
__global__ void stencil_25(float *m)
{
    int x = blockIdx.x * 64 + threadIdx.x + 2, y = blockIdx.y * 4 + threadIdx.y + 2;
    float sum = 0;

    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++)
            sum += m[A + (y + j) * 260 + x + i];
    m[B + y * 260 + x] = sum / 25;
}

/* Held out for the second time: other kinds of access, predicted before their counters were seen.
 */

/* 160 KiB in a loop, beside 96 KiB of shared memory. */
__global__ void loop_beside_shared(float *m)
{
    extern __shared__ float kept[];

    kept[threadIdx.x] = (float)threadIdx.x;
    loop_lines(m, 1260, 32);
    m[C + thread_index()] = kept[31 - threadIdx.x % 32];
}

/* Forth and back over 250 KiB. */
__global__ void loop_and_back(float *m)
{
    float sum = 0;

#pragma unroll 1
    for (int pass = 0; pass < 5; pass++)
#pragma unroll 1
        for (int i = 0; i < 2000; i++)
            sum += m[A + (pass % 2 == 0 ? i : 1999 - i) * 32 + (int)threadIdx.x];
    m[B + thread_index()] = sum;
}

/* Eight warps, each in a loop over lines of its own, 280 KiB in all. */
__global__ void warps_in_loops(float *m)
{
    int first = (int)(blockIdx.x * 8 + threadIdx.x / 32) * 280;
    float sum = 0;

#pragma unroll 1
    for (int pass = 0; pass < 4; pass++)
#pragma unroll 1
        for (int i = 0; i < 280; i++)
            sum += m[A + (first + i) * 32 + (int)threadIdx.x % 32];
    m[B + thread_index()] = sum;
}

/* Each thread halves a table of a million floats, twenty times. */
__global__ void binary_search(float *m)
{
    uint32_t low = 0, key = mix((uint32_t)thread_index());

    for (uint32_t half = 1 << 19; half > 0; half /= 2)
        low += (m[A + low + half] > 0.0f) == ((key & half) != 0) ? half : 0;
    m[B + thread_index()] = (float)low;
}

/* Steps of a sorting network on 4,096 floats of each CTA. */
__global__ void bitonic_steps(float *m)
{
    int first = A + (int)blockIdx.x * 4096;

    for (int distance = 2048; distance >= 64; distance /= 2) {
        for (int k = (int)threadIdx.x; k < 2048; k += (int)blockDim.x) {
            int i = first + k / distance * 2 * distance + k % distance;
            float low = m[i], high = m[i + distance];

            m[i] = fminf(low, high);
            m[i + distance] = fmaxf(low, high);
        }
        __syncthreads();
    }
}

/* A warp for each row, of 1 to 200 floats. */
__global__ void csr_rows(float *m)
{
    uint32_t row = (uint32_t)thread_index() / 32, length = 1 + mix(row) % 200;
    float sum = 0;

    for (uint32_t i = threadIdx.x % 32; i < length; i += 32)
        sum += m[A + row * 200 + i] * m[C + mix(row * 200 + i) % 8192];
    m[D + thread_index()] = sum;
}

/* Every third of the sums over 32 neighbours. */
__global__ void fir_by_three(float *m)
{
    float sum = 0;

    for (int tap = 0; tap < 32; tap++)
        sum += m[A + thread_index() * 3 + tap] * m[C + tap];
    m[B + thread_index()] = sum;
}

/* In turn from tables of 160 and 120 KiB, more than L1 holds. */
__global__ void two_tables(float *m)
{
    uint32_t at = (uint32_t)thread_index();
    float sum = 0;

#pragma unroll 1
    for (int i = 0; i < 96; i++) {
        at = mix(at + (uint32_t)i);
        sum += i % 2 == 0 ? m[A + at % 40960] : m[C + at % 30720];
    }
    m[B + thread_index()] = sum;
}

/*
 * Held out for the third time: again other kinds of access, predicted before their counters were
 * seen.
 */

/* A cross of radius 2 over 512 x 128 with a border, from tiles of 36 x 12 in shared memory. */
__global__ void cross_tiled(float *m)
{
    __shared__ float tile[12][36];
    int first = blockIdx.y * 8 * 516 + blockIdx.x * 32, thread = threadIdx.y * 32 + threadIdx.x;
    float sum = 0;

    for (int i = thread; i < 12 * 36; i += 256)
        tile[i / 36][i % 36] = m[A + first + i / 36 * 516 + i % 36];
    __syncthreads();
    for (int i = -2; i <= 2; i++)
        sum +=
            tile[threadIdx.y + 2 + i][threadIdx.x + 2] + tile[threadIdx.y + 2][threadIdx.x + 2 + i];
    m[B + first + (threadIdx.y + 2) * 516 + threadIdx.x + 2] = sum;
}

/* Words of 16 bytes from rows 272 bytes apart, then of 8 bytes at random in the same 340 KiB. */
__global__ void gather_wide(float *m)
{
    const float4 *rows = (const float4 *)(m + A);
    const float2 *pairs = (const float2 *)(m + A);
    uint32_t thread = (uint32_t)thread_index();
    float sum = 0;

    for (uint32_t i = 0; i < 20; i++) {
        float4 word = rows[(thread * 5 + i * 64) % 1280 * 17 + i % 16];

        sum += word.x + word.w;
    }
    for (uint32_t i = 0; i < 12; i++)
        sum += pairs[mix(thread * 12 + i) % (1280 * 34)].y;
    m[B + thread] = sum;
}

/* Each of twelve warps follows pointers of its own through 24 KiB, every lane from another place.
 */
__global__ void warp_chains(float *m)
{
    const uint32_t *words = (const uint32_t *)(m + B);
    uint32_t first = (uint32_t)thread_index() / 32 * 6144, at = threadIdx.x % 32 * 191;

#pragma unroll 1
    for (int i = 0; i < 64; i++)
        at = words[first + at] % 6144;
    m[C + thread_index()] = (float)at;
}

/* 176 KiB in a loop by two warps, each line again 24 lines later, while 200 KiB more come once. */
__global__ void loop_with_echo(float *m)
{
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float sum = 0;

#pragma unroll 1
    for (int pass = 0; pass < 4; pass++)
#pragma unroll 1
        for (int i = warp; i < 1408; i += 2) {
            sum += m[A + i * 32 + lane];
            sum += m[A + (i + 1384) % 1408 * 32 + lane];
            if (i % 4 < 2)
                sum += m[C + (pass * 400 + i / 4) * 32 + lane];
        }
    m[B + thread_index()] = sum;
}

/* Sums over tiles that go round the CTAs, then the same tiles backwards for the scan itself. */
__global__ void cyclic_scan(float *m)
{
    __shared__ float sums[256];
    float sum = 0;

    for (int tile = 0; tile < 40; tile++)
        sum += m[A + (tile * (int)gridDim.x + (int)blockIdx.x) * 256 + (int)threadIdx.x];
    sums[threadIdx.x] = sum;
    __syncthreads();
    sum = sums[(threadIdx.x + 1) % 256];
    for (int tile = 39; tile >= 0; tile--) {
        int at = (tile * (int)gridDim.x + (int)blockIdx.x) * 256 + (int)threadIdx.x;

        sum += m[A + at];
        m[C + at] = sum;
    }
}

/* A half-warp for each segment, of 3 to 66 floats, whose ends are read from a table. */
__global__ void segmented_sum(float *m)
{
    const uint32_t *words = (const uint32_t *)(m + B);
    int segment = thread_index() / 16, lane = (int)threadIdx.x % 16;
    int begin = segment * 66 + (int)(words[segment] % 32);
    int end = (segment + 1) * 66 + (int)(words[segment + 1] % 32);
    float sum = 0;

    for (int i = begin + lane; i < end; i += 16)
        sum += m[A + i];
    for (int distance = 8; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance, 16);
    if (lane == 0)
        m[C + segment] = sum;
}

/* A thread for each of 192 systems of 48 unknowns a CTA: down the rows, and back up. */
__global__ void tridiagonal(float *m)
{
    int first = (int)blockIdx.x * 192 * 48 + (int)threadIdx.x;
    float upper = 0, right = 0;

    for (int row = 0; row < 48; row++) {
        int at = first + row * 192;
        float scale = 1.0f / (4.0f + m[A + at] * upper);

        upper = m[C + at] * scale;
        right = (m[D + at] + right) * scale;
        m[B + at] = upper;
        m[B + (1 << 20) + at] = right;
    }
    for (int row = 46; row >= 0; row--) {
        int at = first + row * 192;

        right = m[B + (1 << 20) + at] + m[B + at] * right;
        m[A + at] = right;
    }
}

/* Keys in order, each looked for in a table of 192 KiB, from its place on until a key fits. */
__global__ void hash_join(float *m)
{
    const uint32_t *words = (const uint32_t *)(m + B);
    const uint2 *table = (const uint2 *)(m + B + (1 << 20));
    uint32_t found = 0;

    for (int i = thread_index(); i < 24576; i += (int)(gridDim.x * blockDim.x)) {
        uint32_t key = words[i], at = mix(key) % 24576;

        for (int probe = 0; probe < 6; probe++) {
            uint2 entry = table[(at + (uint32_t)probe) % 24576];

            if (entry.x % 3 == key % 3) {
                found += entry.y;
                break;
            }
        }
    }
    m[C + thread_index()] = (float)found;
}

/* A million accesses, for what tracing costs: named, not in the list. */
__global__ void large_copy(float *m)
{
    int i = thread_index();

    m[C + i % (4 << 20)] = m[A + i % (4 << 20)];
}

__global__ void dynamic_shared(float *m)
{
    extern __shared__ float tile[];

    tile[threadIdx.x] = m[A + thread_index()];
    __syncthreads();
    m[B + thread_index()] = tile[threadIdx.x ^ 1];
}

__global__ void touch_nothing(float *m)
{
    m[((size_t)1 << 40) + threadIdx.x] = 1;
}

__global__ void end_by_trap(float *m)
{
    m[thread_index()] = 1;
    if (threadIdx.x == 40)
        __trap();
    m[thread_index() + 1024] = 1;
}

} /* extern "C" */

static const struct test tests[] = {
    {"stream_copy", stream_copy, dim3(512), dim3(256)},
    {"stream_copy_wide", stream_copy_wide, dim3(256), dim3(256)},
    {"column_copy", column_copy, dim3(8), dim3(512)},
    {"transpose_naive", transpose_naive, dim3(16, 16), dim3(32, 8)},
    {"transpose_padded", transpose_padded, dim3(16, 16), dim3(32, 8)},
    {"atax_1", atax_1, dim3(4), dim3(256)},
    {"atax_2", atax_2, dim3(2), dim3(128)},
    {"gemm_naive", gemm_naive, dim3(6, 6), dim3(16, 16)},
    {"gemm_tiled", gemm_tiled, dim3(8, 8), dim3(16, 16)},
    {"syrk", syrk, dim3(6, 6), dim3(16, 16)},
    {"gesummv", gesummv, dim3(2), dim3(256)},
    {"stencil_9", stencil_9, dim3(16, 16), dim3(32, 8)},
    {"stencil_7_3d", stencil_7_3d, dim3(2, 8, 16), dim3(32, 4, 2)},
    {"spmv_ell", spmv_ell, dim3(16), dim3(256)},
    {"bfs_step", bfs_step, dim3(32), dim3(256)},
    {"histogram", histogram, dim3(16), dim3(256)},
    {"random_gather", random_gather, dim3(4), dim3(256)},
    {"strides_pow2", strides_pow2, dim3(16), dim3(128)},
    {"triangular", triangular, dim3(8), dim3(256)},
    {"load_ca", load_ca, dim3(4), dim3(256)},
    {"load_cg", load_cg, dim3(4), dim3(256)},
    {"load_nc", load_nc, dim3(4), dim3(256)},
    {"async_copy", async_copy, dim3(16), dim3(256)},
    {"bulk_copy", bulk_copy, dim3(32), dim3(256)},
    {"local_array", local_array, dim3(8), dim3(128)},
};
static const struct test held_out[] = {
    {"set_conflict", set_conflict, dim3(4), dim3(32)},
    {"set_within", set_within, dim3(4), dim3(32)},
    {"set_protect", set_protect, dim3(4), dim3(32)},
    {"loop_within", loop_within, dim3(2), dim3(32)},
    {"loop_above", loop_above, dim3(2), dim3(32)},
    {"stride_4k", stride_4k, dim3(2), dim3(32)},
    {"pitch_64k", pitch_64k, dim3(4), dim3(384)},
    {"hot_and_stream", hot_and_stream, dim3(2), dim3(128)},
    {"chase_random", chase_random, dim3(16), dim3(64)},
    {"rotated_rows", rotated_rows, dim3(32), dim3(128)},
    {"shared_gather", shared_gather, dim3(33), dim3(128)},
    {"stencil_25", stencil_25, dim3(4, 16), dim3(64, 4)},
};
static const struct test held_out_2[] = {
    {"loop_beside_shared", loop_beside_shared, dim3(2), dim3(32), 96 << 10},
    {"loop_and_back", loop_and_back, dim3(2), dim3(32)},
    {"warps_in_loops", warps_in_loops, dim3(2), dim3(256)},
    {"binary_search", binary_search, dim3(32), dim3(128)},
    {"bitonic_steps", bitonic_steps, dim3(16), dim3(256)},
    {"csr_rows", csr_rows, dim3(64), dim3(256)},
    {"fir_by_three", fir_by_three, dim3(48), dim3(128)},
    {"two_tables", two_tables, dim3(4), dim3(128)},
};
static const struct test held_out_3[] = {
    {"cross_tiled", cross_tiled, dim3(16, 16), dim3(32, 8)},
    {"gather_wide", gather_wide, dim3(8), dim3(128)},
    {"warp_chains", warp_chains, dim3(6), dim3(384)},
    {"loop_with_echo", loop_with_echo, dim3(2), dim3(64)},
    {"cyclic_scan", cyclic_scan, dim3(24), dim3(256)},
    {"segmented_sum", segmented_sum, dim3(40), dim3(256)},
    {"tridiagonal", tridiagonal, dim3(6), dim3(192)},
    {"hash_join", hash_join, dim3(8), dim3(192)},
};
static const struct test unlisted[] = {
    {"large_copy", large_copy, dim3(65536), dim3(256)},
    {"dynamic_shared", dynamic_shared, dim3(4), dim3(256), 4096},
};
static const size_t test_count = sizeof(tests) / sizeof(tests[0]);

static const struct {
    const char *name, *list_option;
    const struct test *tests;
    size_t count;
} groups[] = {
    {"all", "--list", tests, test_count},
    {"held_out", "--list-held-out", held_out, sizeof(held_out) / sizeof(held_out[0])},
    {"held_out_2", "--list-held-out-2", held_out_2, sizeof(held_out_2) / sizeof(held_out_2[0])},
    {"held_out_3", "--list-held-out-3", held_out_3, sizeof(held_out_3) / sizeof(held_out_3[0])},
    {"held_out_4", "--list-held-out-4", held_out_4, held_out_4_count},
    {"access_kinds", "--list-access-kinds", access_kinds, access_kind_count},
};

/* The same words everywhere: hashes in B, floats near 1 elsewhere. */
static uint32_t *make_words()
{
    uint32_t *words = (uint32_t *)malloc(ARENA_BYTES);

    if (words == NULL)
        exit(1);
    for (uint32_t i = 0; i < ARENA_BYTES / 4; i++) {
        uint32_t x = i * 0x9e3779b9u;

        x = (x ^ x >> 15) * 0x2c1b3c6du;
        x = (x ^ x >> 12) * 0x297a2d39u;
        words[i] = i >= B && i < C ? x ^ x >> 15 : 0x3f800000u | (x & 0x7fff);
    }
    return words;
}

static void run(const struct test *test, const uint32_t *words, float *arena)
{
    cudaEvent_t begin, end;
    float milliseconds = 0;

    CHECK(cudaMemcpy(arena, words, ARENA_BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaFuncSetAttribute((const void *)test->kernel,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)test->shared_bytes));
    if (test->carveout_percent >= 0)
        CHECK(cudaFuncSetAttribute((const void *)test->kernel,
                                   cudaFuncAttributePreferredSharedMemoryCarveout,
                                   test->carveout_percent));
    if (test->prepare != NULL)
        test->prepare(arena);
    CHECK(cudaEventRecord(begin));
    test->kernel<<<test->grid, test->block, test->shared_bytes>>>(arena);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    printf("%s %.6f s\n", test->name, milliseconds * 1e-3);
}

static void run_named(const char *name, const uint32_t *words, float *arena)
{
    bool is_found = false;

    for (const struct test &test : unlisted)
        if (strcmp(name, test.name) == 0) {
            run(&test, words, arena);
            return;
        }
    for (const auto &group : groups)
        for (size_t i = 0; i < group.count; i++)
            if (strcmp(name, group.name) == 0 || strcmp(name, group.tests[i].name) == 0) {
                run(&group.tests[i], words, arena);
                is_found = true;
            }
    if (!is_found) {
        fprintf(stderr, "plumb-trace-kernels: no kernel %s; --list names them\n", name);
        exit(2);
    }
}

static const struct test *find(const char *name)
{
    for (size_t i = 0; i < test_count; i++)
        if (name != NULL && strcmp(tests[i].name, name) == 0)
            return &tests[i];
    fprintf(stderr, "plumb-trace-kernels: expected a kernel's name\n");
    exit(2);
}

static void launch(const struct test *test, float *arena, cudaStream_t stream)
{
    test->kernel<<<test->grid, test->block, test->shared_bytes, stream>>>(arena);
    CHECK(cudaGetLastError());
}

/* The driver's function by its name: this program is not linked with the driver. */
template <typename Function> static Function driver(const char *name)
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult result;

    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &result));
    return (Function)function;
}

static void run_in_context(const struct test *test)
{
    typedef CUresult (*create_function)(CUcontext *, void *, unsigned int, CUdevice);
    CUcontext context = NULL;
    float *arena = NULL;

    if (driver<create_function>("cuCtxCreate")(&context, NULL, 0, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "cuCtxCreate failed\n");
        exit(1);
    }
    CHECK(cudaMalloc(&arena, ARENA_BYTES));
    launch(test, arena, 0);
    CHECK(cudaDeviceSynchronize());
}

static void run_in_thread(const struct test *test, float *arena)
{
    cudaStream_t stream;

    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 8; i++)
        launch(test, arena, stream);
    CHECK(cudaStreamSynchronize(stream));
}

static void run_in_threads(const struct test *test, float *arena)
{
    std::thread threads[4];

    for (std::thread &thread : threads)
        thread = std::thread(run_in_thread, test, arena);
    for (std::thread &thread : threads)
        thread.join();
}

/* The launch prefers a carve-out, not its function. */
static void run_preferring(const struct test *test, float *arena, int percent)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};

    config.gridDim = test->grid;
    config.blockDim = test->block;
    config.dynamicSmemBytes = test->shared_bytes;
#if CUDART_VERSION >= 13000
    attribute.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attribute.val.sharedMemCarveout = (unsigned)percent;
    config.attrs = &attribute;
    config.numAttrs = 1;
#else
    (void)percent;
#endif
    CHECK(cudaLaunchKernelEx(&config, test->kernel, arena));
    CHECK(cudaDeviceSynchronize());
}

/* A child that uses no GPU ends while the parent goes on: at once, or by way of its exit handlers.
 */
static void run_beside_child(const struct test *test, float *arena, bool is_quick)
{
    pid_t child = fork();

    if (child == 0 && is_quick)
        _exit(0);
    if (child == 0)
        exit(0);
    launch(test, arena, 0);
    CHECK(cudaDeviceSynchronize());
    if (child < 0 || waitpid(child, NULL, 0) != child) {
        fprintf(stderr, "plumb-trace-kernels: no child\n");
        exit(1);
    }
}

/* The context goes, and with it all that was allocated; another one comes. */
static float *run_behind_reset(const struct test *test)
{
    float *arena = NULL;

    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&arena, ARENA_BYTES));
    CHECK(cudaMemset(arena, 0, ARENA_BYTES));
    launch(test, arena, 0);
    CHECK(cudaDeviceSynchronize());
    return arena;
}

static void run_in_graph(const struct test *test, float *arena)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(test, arena, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    uint32_t *words;
    float *arena = NULL;
    bool fails = false, crashes = false, faults = false, traps = false;

    for (const auto &group : groups)
        if (argc > 1 && strcmp(argv[1], group.list_option) == 0) {
            for (size_t i = 0; i < group.count; i++)
                printf("%s\n", group.tests[i].name);
            return 0;
        }
    CHECK(cudaMalloc(&arena, ARENA_BYTES));
    words = make_words();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--fail") == 0)
            fails = true;
        else if (strcmp(argv[i], "--crash") == 0)
            crashes = true;
        else if (strcmp(argv[i], "--fault") == 0)
            faults = true;
        else if (strcmp(argv[i], "--contexts") == 0)
            run_in_context(find(argv[++i]));
        else if (strcmp(argv[i], "--threads") == 0)
            run_in_threads(find(argv[++i]), arena);
        else if (strcmp(argv[i], "--prefer-10") == 0)
            run_preferring(find(argv[++i]), arena, 10);
        else if (strcmp(argv[i], "--child") == 0)
            run_beside_child(find(argv[++i]), arena, true);
        else if (strcmp(argv[i], "--child-exit") == 0)
            run_beside_child(find(argv[++i]), arena, false);
        else if (strcmp(argv[i], "--reset") == 0)
            arena = run_behind_reset(find(argv[++i]));
        else if (strcmp(argv[i], "--trap") == 0)
            traps = true;
        else if (strcmp(argv[i], "--graph") == 0)
            run_in_graph(find(argv[++i]), arena);
        else
            run_named(argv[i], words, arena);
    }
    if (faults) {
        touch_nothing<<<1, 32>>>(arena);
        CHECK(cudaDeviceSynchronize());
    }
    if (traps) {
        end_by_trap<<<4, 64>>>(arena);
        CHECK(cudaDeviceSynchronize());
    }
    free(words);
    fflush(stdout);
    if (crashes)
        abort();
    return fails ? 7 : 0;
}
