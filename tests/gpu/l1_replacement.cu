/*
 * l1-replacement: which lines an L1 loses when it is full; run by hand.
 *
 * One warp loads lines in a loop, or at random, and times each load. A line of output for each run:
 * carve-out asked for, lanes, lines, step, stride in lines, then the misses of each pass. With a
 * file as argument, whether each load missed is written there as bits, behind the same line.
 *
 *   l1-replacement [FILE]
 *
 * Exit status: 0, 1 a CUDA call failed, 77 no GPU.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum {
    MISS_CYCLES = 150, /* between a hit of L1 and one of L2 */
    WORDS_MAX = 8192,
    LINE_FLOATS = 32,
    PER_SM_KIB = 228,
    ARENA_BYTES = 8 << 20
};

/* Lines of one set of an H100's and an H200's L1 are combinations of these differences. */
static __device__ __forceinline__ uint32_t same_set(uint32_t i)
{
    return ((i & 1) != 0 ? 0x13880 : 0) ^ ((i & 2) != 0 ? 0x20d80 : 0) ^
           ((i & 4) != 0 ? 0x4bb00 : 0);
}

struct chase {
    uint32_t lines, step, passes, stride;
    uint32_t set_lines; /* not 0: at random among so many lines of one set */
    uint32_t words_per_line;
};

static __device__ __forceinline__ uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* Bit i of missed[]: load i took as long as one of L2. */
__global__ void chase_lines(const float *m, struct chase chase, uint32_t *out)
{
    extern __shared__ uint32_t missed[];
    volatile uint32_t *sink = missed; /* the bits lie behind it */
    uint32_t word = 0, count = 0, at = 0;

    for (uint32_t pass = 0; pass < chase.passes; pass++)
        for (uint32_t i = 0; i < chase.lines; i++) {
            uint32_t begin, end;
            float value;
            const float *line =
                m + (chase.set_lines > 0
                         ? same_set(mix(pass * chase.lines + i) % chase.set_lines) / 4
                         : at * chase.stride * LINE_FLOATS);

            at += chase.step;
            at -= at >= chase.lines ? chase.lines : 0;
            asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
            asm volatile("ld.global.ca.f32 %0, [%1];"
                         : "=f"(value)
                         : "l"(line + threadIdx.x)
                         : "memory");
            *sink = __float_as_uint(value);
            asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
            word |= (uint32_t)(end - begin > MISS_CYCLES) << count % 32;
            if (++count % 32 == 0) {
                missed[count / 32] = word;
                word = 0;
            }
        }
    missed[count / 32 + 1] = word;
    for (uint32_t i = 0; i <= count / 32; i++)
        out[i] = missed[i + 1];
}

/* The same without any shared memory and without times of single loads: cycles of each pass. */
__global__ void time_lines(const float *m, struct chase chase, uint32_t *out)
{
    float sum = 0;

#pragma unroll 1
    for (uint32_t pass = 0; pass < chase.passes; pass++) {
        uint32_t begin = (uint32_t)clock64(), at = 0;

#pragma unroll 1
        for (uint32_t i = 0; i < chase.lines; i++) {
            sum += m[at * chase.stride * LINE_FLOATS + threadIdx.x];
            at += chase.step;
            at -= at >= chase.lines ? chase.lines : 0;
        }
        if (sum == 1.5f)
            out[100] = 1;
        out[pass] = (uint32_t)clock64() - begin;
    }
}

static FILE *bits;

static void show(const char *kind, int carveout_kib, int lanes, const struct chase *chase)
{
    char line[160];

    snprintf(line, sizeof(line), "%s carveout %d lanes %d lines %u step %u stride %u set %u:", kind,
             carveout_kib, lanes, chase->lines, chase->step, chase->stride, chase->set_lines);
    fputs(line, stdout);
    if (bits != NULL)
        fprintf(bits, "%s passes %u\n", line, chase->passes);
}

static void record(const float *m, uint32_t *out, int carveout_kib, int lanes,
                   const struct chase *chase)
{
    static uint32_t words[WORDS_MAX];
    size_t loads = (size_t)chase->passes * chase->lines, shared_bytes = loads / 8 + 64;
    int percent = (carveout_kib * 100 + PER_SM_KIB - 1) / PER_SM_KIB;

    CHECK(
        cudaFuncSetAttribute(chase_lines, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
    chase_lines<<<1, lanes, shared_bytes>>>(m, *chase, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(words, out, sizeof(words), cudaMemcpyDeviceToHost));
    show("record", carveout_kib, lanes, chase);
    for (uint32_t pass = 0; pass < chase->passes; pass++) {
        uint32_t misses = 0;

        for (size_t i = (size_t)pass * chase->lines; i < (size_t)(pass + 1) * chase->lines; i++)
            misses += words[i / 32] >> i % 32 & 1;
        printf(" %u", misses);
    }
    printf("\n");
    if (bits != NULL)
        fwrite(words, 4, loads / 32 + 1, bits);
}

static void take_times(const float *m, uint32_t *out, int carveout_kib, int lanes,
                       const struct chase *chase)
{
    uint32_t cycles[64] = {0};
    int percent = carveout_kib < 0 ? -1 : (carveout_kib * 100 + PER_SM_KIB - 1) / PER_SM_KIB;

    CHECK(
        cudaFuncSetAttribute(time_lines, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
    time_lines<<<1, lanes>>>(m, *chase, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(cycles, out, sizeof(cycles), cudaMemcpyDeviceToHost));
    show("cycles", carveout_kib, lanes, chase);
    for (uint32_t pass = 0; pass < chase->passes; pass++)
        printf(" %.1f", (double)cycles[pass] / chase->lines);
    printf("\n");
}

int main(int argc, char **argv)
{
    static const int carveouts[] = {8, 16, 32, 64, 100};
    static const int beyond[] = {-64, -8, 0,  1,   2,   8,   24,  48, 56,
                                 57,  64, 88, 120, 144, 200, 364, 500};
    float *m = NULL;
    uint32_t *out = NULL;

    CHECK(cudaMalloc(&m, ARENA_BYTES));
    CHECK(cudaMemset(m, 0, ARENA_BYTES));
    CHECK(cudaMalloc(&out, 4 * WORDS_MAX));
    bits = argc > 1 ? fopen(argv[1], "wb") : NULL;
    CHECK(cudaFuncSetAttribute(chase_lines, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               4 * WORDS_MAX));
    for (int lanes = 1; lanes <= 32; lanes += 31)
        for (int carveout : carveouts)
            for (int more : beyond)
                for (uint32_t step = 1; step < 800; step += 786) {
                    struct chase chase = {(uint32_t)((256 - carveout - 7) * 8 + more), step, 10, 1};

                    record(m, out, carveout, lanes, &chase);
                }
    for (int lanes = 1; lanes <= 32; lanes += 31)
        for (int carveout = -1; carveout < 64; carveout += carveout < 0 ? 9 : 24)
            for (int more : beyond) {
                struct chase chase = {
                    (uint32_t)((256 - (carveout < 0 ? 8 : carveout) - 7) * 8 + more), 1, 10, 1};

                take_times(m, out, carveout, lanes, &chase);
            }
    for (uint32_t lines = 1700; lines < 2150; lines += 20) {
        struct chase chase = {lines, 1, 10, 1};

        take_times(m, out, -1, 32, &chase);
    }
    for (uint32_t set_lines = 4; set_lines <= 8; set_lines++) {
        struct chase chase = {2048, 1, 4, 1, set_lines};

        record(m, out, 8, 1, &chase);
        record(m, out, 8, 32, &chase);
    }
    if (bits != NULL)
        fclose(bits);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
