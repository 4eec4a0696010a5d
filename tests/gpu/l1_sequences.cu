/*
 * l1-sequences: which loads of given sequences hit in L1; run by hand.
 *
 * One block makes the steps of a sequence, one after the other, and times each. A line of output
 * for each launch: its kind and seed, then a word for each step: the line (letter: its set, digit:
 * the line of the set), the sector where it is not the first, "s" for a store, "'" for the second
 * warp, and "m" where the load took as long as one of L2. Then warps_in_loops of trace_kernels.cu,
 * timed: a line for each warp and pass with its first clock and the latencies of its loads.
 *
 *   l1-sequences > FILE
 *
 * Exit status: 0, 1 a CUDA call failed, 77 no GPU.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum {
    MISS_CYCLES = 150, /* between a hit of L1 and one of L2 */
    STEPS = 480,
    SEEDS = 24,
    LINE_BYTES = 128,
    SECTOR_BYTES = 32,
    ARENA_BYTES = 8 << 20,
    IS_STORE = 1 << 30,
    IS_SECOND = 1 << 29, /* by the second warp */
    OFFSET = (1 << 24) - 1,
    LOOP_WARPS = 8,
    LOOP_LINES = 280,
    LOOP_PASSES = 4,
    LOOP_REPEATS = 4
};

static __device__ uint32_t time_load(const char *at, volatile uint32_t *sink)
{
    uint32_t begin, end, value;

    asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    *sink = value;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
    return end - begin;
}

__global__ void make_steps(char *m, const uint32_t *steps, uint32_t *missed_out)
{
    __shared__ uint32_t own[STEPS], missed[STEPS], sink[2];

    for (uint32_t i = threadIdx.x; i < STEPS; i += blockDim.x)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(own[i]) : "l"(steps + i) : "memory");
    __syncthreads();
    for (uint32_t i = 0; i < STEPS; i++) {
        char *at = m + (own[i] & OFFSET);

        if (threadIdx.x == ((own[i] & IS_SECOND) != 0 ? 32 : 0)) {
            if ((own[i] & IS_STORE) != 0)
                asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(i) : "memory");
            else
                missed[i] = time_load(at, &sink[threadIdx.x / 32]) > MISS_CYCLES;
        }
        __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < STEPS; i += blockDim.x)
        missed_out[i] = missed[i];
}

/*
 * Loads and their sums as in warps_in_loops, without shared memory, which would leave L1 less: lane
 * l keeps whether each of loads 32 l to 32 l + 31 missed, and writes that when its pass is over.
 */
__global__ void time_loops(const float *m, uint32_t *clocks_out, uint32_t *missed_out)
{
    uint32_t warp = blockIdx.x * LOOP_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t missed[LOOP_PASSES] = {0}, clocks[LOOP_PASSES];
    const float *own = m + (size_t)warp * LOOP_LINES * 32;
    float sum = 0;

#pragma unroll
    for (int pass = 0; pass < LOOP_PASSES; pass++) {
        clocks[pass] = (uint32_t)clock64();
#pragma unroll 1
        for (int i = 0; i < LOOP_LINES; i++) {
            uint32_t begin, end;
            float value;

            asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
            asm volatile("ld.global.f32 %0, [%1];"
                         : "=f"(value)
                         : "l"(own + i * 32 + lane)
                         : "memory");
            sum += value;
            asm volatile("mov.u32 %0, %%clock;" : "=r"(end) : "f"(sum) : "memory");
            if (lane == i / 32)
                missed[pass] |= (uint32_t)(end - begin > MISS_CYCLES) << i % 32;
        }
    }
#pragma unroll
    for (int pass = 0; pass < LOOP_PASSES; pass++) {
        missed_out[(warp * LOOP_PASSES + pass) * 32 + lane] = missed[pass];
        if (lane == 0)
            clocks_out[warp * LOOP_PASSES + pass] = clocks[pass];
    }
    if (sum == 1.5f)
        clocks_out[0] = 0;
}

/* Lines of one set of an H100's and an H200's L1 are combinations of these differences. */
static uint32_t line_of_set(uint32_t set, uint32_t line)
{
    return ((line & 1) != 0 ? 0x13880 : 0) ^ ((line & 2) != 0 ? 0x20d80 : 0) ^
           ((line & 4) != 0 ? 0x4bb00 : 0) ^ set * LINE_BYTES;
}

static uint32_t random_state;

/* PCG's output by O'Neill on a linear congruential state. */
static uint32_t draw(uint32_t below)
{
    uint32_t word;

    random_state = random_state * 747796405u + 2891336453u;
    word = ((random_state >> ((random_state >> 28) + 4)) ^ random_state) * 277803737u;
    return (uint32_t)((uint64_t)(word >> 22 ^ word) * below >> 32);
}

struct kind {
    const char *name;
    uint32_t lines;   /* of a set */
    uint32_t sets;    /* with so many lines */
    uint32_t beside;  /* lines, each of a set of its own, that half of the steps load */
    uint32_t sectors; /* 1: the first alone */
    uint32_t stores;  /* percent */
    uint32_t repeats; /* a line is loaded up to so many times in a row */
    bool two_warps;
};

static const struct kind kinds[] = {
    {"lines5", 5, 1, 0, 1, 0, 1, false},   {"lines6", 6, 1, 0, 1, 0, 1, false},
    {"lines7", 7, 1, 0, 1, 0, 1, false},   {"lines8", 8, 1, 0, 1, 0, 1, false},
    {"repeats", 6, 1, 0, 1, 0, 3, false},  {"beside", 5, 1, 4, 1, 0, 1, false},
    {"two_sets", 5, 2, 0, 1, 0, 1, false}, {"eight_sets", 5, 8, 0, 1, 0, 1, false},
    {"sectors", 5, 1, 0, 4, 0, 1, false},  {"stores", 5, 1, 0, 1, 25, 1, false},
    {"two_warps", 5, 1, 0, 1, 0, 1, true}, {"words_stored", 6, 1, 0, 4, 25, 2, false},
};

static uint32_t draw_step(const struct kind *kind, char *name, size_t size)
{
    uint32_t set = draw(kind->sets), line = draw(kind->lines), sector = draw(kind->sectors);
    bool is_store = draw(100) < kind->stores, is_second = kind->two_warps && draw(2) != 0;

    if (kind->beside > 0 && draw(2) != 0) {
        set = 8 + draw(kind->beside);
        line = 0;
    }
    snprintf(name, size, "%c%u%s%s%s", (int)('a' + set), line,
             sector == 0   ? ""
             : sector == 1 ? ".1"
             : sector == 2 ? ".2"
                           : ".3",
             is_store ? "s" : "", is_second ? "'" : "");
    return (line_of_set(set, line) + sector * SECTOR_BYTES) | (is_store ? IS_STORE : 0) |
           (is_second ? IS_SECOND : 0);
}

static void take(const struct kind *kind, uint32_t seed, char *m, uint32_t *device)
{
    uint32_t steps[STEPS], missed[STEPS];
    char names[STEPS][16];

    random_state = seed * 2654435761u + kind->lines + 64 * kind->sets;
    for (uint32_t i = 0; i < STEPS; i++) {
        steps[i] = draw_step(kind, names[i], sizeof(names[i]));
        for (uint32_t again = draw(kind->repeats); again > 0 && i + 1 < STEPS; again--, i++) {
            steps[i + 1] = steps[i];
            snprintf(names[i + 1], sizeof(names[i + 1]), "%s", names[i]);
        }
    }
    CHECK(cudaMemcpy(device, steps, sizeof(steps), cudaMemcpyHostToDevice));
    make_steps<<<1, 64>>>(m, device, device + STEPS);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(missed, device + STEPS, sizeof(missed), cudaMemcpyDeviceToHost));
    printf("%s %u", kind->name, seed);
    for (uint32_t i = 0; i < STEPS; i++)
        printf(" %s%s", names[i], (steps[i] & IS_STORE) == 0 && missed[i] != 0 ? "m" : "");
    printf("\n");
}

static void take_loops(const char *m)
{
    uint32_t clocks[2 * LOOP_WARPS * LOOP_PASSES], missed[32 * 2 * LOOP_WARPS * LOOP_PASSES];
    uint32_t *clocks_out, *missed_out;

    CHECK(cudaMalloc(&clocks_out, sizeof(clocks)));
    CHECK(cudaMalloc(&missed_out, sizeof(missed)));
    for (int repeat = 0; repeat < LOOP_REPEATS; repeat++) {
        time_loops<<<2, 32 * LOOP_WARPS>>>((const float *)m, clocks_out, missed_out);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(clocks, clocks_out, sizeof(clocks), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(missed, missed_out, sizeof(missed), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 2 * LOOP_WARPS * LOOP_PASSES; i++) {
            printf("loops %d warp %d pass %d clock %u: ", repeat, i / LOOP_PASSES, i % LOOP_PASSES,
                   clocks[i]);
            for (int j = 0; j < LOOP_LINES; j++)
                putchar((missed[32 * i + j / 32] >> j % 32 & 1) != 0 ? 'm' : '.');
            putchar('\n');
        }
    }
}

int main(void)
{
    char *m = NULL;
    uint32_t *device = NULL;

    CHECK(cudaMalloc(&m, ARENA_BYTES));
    CHECK(cudaMemset(m, 0, ARENA_BYTES));
    CHECK(cudaMalloc(&device, 2 * STEPS * sizeof(*device)));
    for (const struct kind &kind : kinds)
        for (uint32_t seed = 0; seed < SEEDS; seed++)
            take(&kind, seed, m, device);
    take_loops(m);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
