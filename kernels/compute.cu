/*
 * The same computation on every SM: products of matrices of random operands on the tensor cores
 * where there are any, and fused multiply-adds and integer products everywhere. Every SM should
 * come to the same checksum, bit for bit.
 *
 * Operands come from a hash of seed, run, warp, lane and step; zeros would draw half the power.
 * The checksum weighs every word by its place, so that two swapped words show.
 */
#include "kernels/meet.cuh"

enum { PB_COMPUTE_THREADS = 512, PB_COMPUTE_TILES = 4 };

__device__ __forceinline__ uint32_t pb_hash(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ value >> 16;
}

/* Two halves, each of random sign and of 0.5 to 1. */
__device__ __forceinline__ uint32_t pb_halves(uint32_t random)
{
    return (random & 0x83ff83ffu) | 0x38003800u;
}

__device__ __forceinline__ float pb_single(uint32_t random)
{
    return __uint_as_float((random & 0x807fffffu) | 0x3f000000u);
}

/* One step: a new random tile of A for each of some tiles of B that are turned from step to step.
 */
struct pb_compute_tile {
    float sum[PB_COMPUTE_TILES][4];
    float fused;
    uint32_t product;

    __device__ __forceinline__ void start(uint32_t random)
    {
#pragma unroll
        for (int i = 0; i < PB_COMPUTE_TILES; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] = 0.0f;
        fused = 1.0f;
        product = random | 1;
    }

    __device__ __forceinline__ void step(const uint32_t (&a)[4], const uint32_t (&b)[2], int i)
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#else
#pragma unroll
        for (int j = 0; j < 4; j++)
            sum[i][j] = __fmaf_rn(pb_single(a[j]), pb_single(b[j % 2]), sum[i][j]);
#endif
        fused = __fmaf_rn(fused, pb_single(a[i]), pb_single(b[0]));
        product = product * (a[1] | 1) + b[1];
    }

    /* The words of this lane, each by its place. */
    __device__ __forceinline__ uint64_t checksum() const
    {
        uint64_t place = 2 * (uint64_t)threadIdx.x + 1, total = 0;

#pragma unroll
        for (int i = 0; i < PB_COMPUTE_TILES; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                total += __float_as_uint(sum[i][j]) * (place * 0x9e3779b97f4a7c15ull);
                place += 2 * PB_COMPUTE_THREADS;
            }
        total += __float_as_uint(fused) * (place * 0x9e3779b97f4a7c15ull);
        place += 2 * PB_COMPUTE_THREADS;
        return total + product * (place * 0x9e3779b97f4a7c15ull);
    }
};

__device__ __forceinline__ uint64_t pb_compute_run(uint64_t seed, uint32_t run, uint32_t steps)
{
    uint32_t random =
        pb_hash((uint32_t)seed ^ pb_hash((uint32_t)(seed >> 32) + run * 0x632be5abu + threadIdx.x));
    struct pb_compute_tile tile;
    uint32_t b[2] = {pb_halves(random), pb_halves(random * 0x85157af5u)};

    tile.start(random);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t a[4];

        random = random * 1664525u + 1013904223u;
        a[0] = pb_halves(random ^ random >> 13);
        a[1] = pb_halves(a[0] * 0x2c1b3c6du);
        a[2] = pb_halves(a[0] ^ random << 7);
        a[3] = pb_halves(a[1] ^ random >> 9);
#pragma unroll
        for (int i = 0; i < PB_COMPUTE_TILES; i++) {
            tile.step(a, b, i);
            b[i % 2] = pb_halves(b[i % 2] ^ a[i] << 1 ^ random >> i);
        }
    }
    return tile.checksum();
}

extern "C" __global__ void __launch_bounds__(PB_COMPUTE_THREADS)
    pb_compute(struct pb_kernel_compute compute)
{
    __shared__ unsigned long long total;
    uint64_t *checksums = (uint64_t *)compute.checksums;

    if (!pb_meet((struct pb_kernel_meet *)compute.state))
        return;
    for (uint32_t run = 0; run < compute.runs; run++) {
        uint64_t sum;

        if (threadIdx.x == 0)
            total = 0;
        /* All SMs begin where the timer all of them share turns to a multiple of the rest. */
        if (compute.rest_ns > 0) {
            uint64_t period = pb_timer_ns() / compute.rest_ns;

            while (pb_timer_ns() / compute.rest_ns == period)
                __nanosleep(200);
        }
        __syncthreads();
        sum = pb_compute_run(compute.seed, run, compute.steps);
        atomicAdd(&total, (unsigned long long)sum);
        __syncthreads();
        if (threadIdx.x == 0)
            checksums[(uint64_t)run * gridDim.x + pb_sm_id()] = total;
        __syncthreads();
    }
}

extern "C" int pb_kernel_compute(const struct pb_kernel_compute *compute)
{
    cudaError_t code = cudaFuncSetAttribute(pb_compute, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)compute->shared_bytes);

    if (code != cudaSuccess)
        return (int)code;
    pb_compute<<<compute->cta_count, PB_COMPUTE_THREADS, compute->shared_bytes>>>(*compute);
    return (int)cudaGetLastError();
}
