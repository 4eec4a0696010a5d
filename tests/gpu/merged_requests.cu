/*
 * merged-requests: which SMs' requests for the same sectors are merged before L2, and for how long.
 *
 * Each launch lets chosen SMs load the same 64 lines of 128 bytes, with a delay for some of them.
 * Under ncu, L2 sees 256 sectors where all were merged, and 256 for each SM where none was. A line
 * of output for each launch, in the order of ncu's rows.
 *
 *   ncu --csv --page raw --cache-control all --clock-control none --metrics
 *       lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum
 *
 * On an H200 only SMs of one GPC are merged, at most four requests into one, while the answer is
 * under way; the second GPC of the same half of L2 hits, one of the other half misses.
 *
 * Exit status: 0, 1 a CUDA call failed, 77 no GPU.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum {
    LINES = 64,
    SMS = 256,
    SHARED_BYTES = 200 << 10,
    CA = 0,
    NC = 1,
    CG = 2,
    WARM = 4,
    SLOW = 8
};

struct actors {
    int delay[SMS]; /* cycles; -1: that SM loads nothing */
};

static __device__ __forceinline__ float load(const float *at, int kind)
{
    float value;

    if ((kind & 3) == CG)
        asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(at) : "memory");
    else if ((kind & 3) == NC)
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(at) : "memory");
    else
        asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(at) : "memory");
    return value;
}

static __device__ __forceinline__ void wait_for_tick()
{
    uint64_t first, now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(first));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (first >> 15 == now >> 15);
}

__global__ void merge(float *m, actors actors, int kind)
{
    unsigned sm;
    float sum = 0;

    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    if (actors.delay[sm] < 0)
        return;
    sum += load(m + 4096 * 32 + threadIdx.x % 8, CG); /* the page's translation */
    if (kind & WARM)
        for (int i = 0; i < LINES; i++)
            sum += load(m + i * 32 + threadIdx.x, CG);
    if (sum == 1.5f)
        m[1 << 20] = sum;
    wait_for_tick();
    wait_for_tick();
    for (long long begin = clock64(); clock64() - begin < actors.delay[sm];)
        ;
    if (kind & SLOW) {
        for (int i = 0; i < LINES; i++) {
            float value = load(m + i * 32 + threadIdx.x, kind);

            if (value == 1.5f)
                m[1 << 20] = value;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < LINES; i++)
        sum += load(m + i * 32 + threadIdx.x, kind);
    m[(2 << 20) + sm * 32 + threadIdx.x] = sum;
}

/* Which SMs a launch of so many CTAs takes. */
__global__ void place(unsigned *sms)
{
    unsigned sm;

    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    if (threadIdx.x == 0)
        sms[blockIdx.x] = sm;
    for (long long begin = clock64(); clock64() - begin < 20000;)
        ;
}

static float *memory;
static int sm_count;

static void run(const actors &actors, int kind, const char *what, int a, int b, int delay)
{
    merge<<<sm_count, 32, SHARED_BYTES>>>(memory, actors, kind);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    printf("MERGE,%s,%d,%d,%d,%d\n", what, kind, a, b, delay);
}

static void run_pair(int kind, int a, int b, int delay)
{
    actors actors;

    for (int &sm : actors.delay)
        sm = -1;
    actors.delay[a] = 0;
    actors.delay[b] = delay;
    run(actors, kind, "pair", a, b, delay);
}

/* SMs first, first + step, … */
static void run_many(int kind, int first, int step, int count, int stagger)
{
    actors actors;

    for (int &sm : actors.delay)
        sm = -1;
    for (int i = 0; i < count && first + i * step < sm_count; i++)
        actors.delay[first + i * step] = i * stagger;
    run(actors, kind, "many", first * 1000 + step, count, stagger);
}

static void run_place(int ctas, int threads)
{
    static unsigned sms[SMS], *device;

    if (device == NULL)
        CHECK(cudaMalloc(&device, sizeof(sms)));
    place<<<ctas, threads>>>(device);
    CHECK(cudaMemcpy(sms, device, sizeof(sms), cudaMemcpyDeviceToHost));
    printf("PLACE,%d", ctas);
    for (int i = 0; i < ctas; i++)
        printf(",%u", sms[i]);
    printf("\n");
}

int main()
{
    static const int kinds[] = {CA, NC, CG, CA | WARM, CG | WARM};
    int near = 1, far = 2;

    CHECK(cudaMalloc(&memory, (size_t)64 << 20));
    CHECK(cudaMemset(memory, 0, (size_t)64 << 20));
    CHECK(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaFuncSetAttribute(merge, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    run_place(4, 256);
    run_place(16, 256);
    run_place(64, 256);
    run_many(CA, 0, 1, 1, 0);
    for (int sm = 1; sm < sm_count; sm++)
        run_pair(CA, 0, sm, 0);
    for (int kind : kinds)
        for (int b : {near, far, 4, 16, 124, 130})
            for (int delay : {0, 64, 128, 192, 256, 384, 512, 768, 1024, 2048})
                run_pair(kind, 0, b, delay);
    for (int kind : kinds)
        for (int count : {2, 4, 8, 16, 32, 66})
            run_many(kind, 0, 2, count, 0);
    for (int kind : kinds) {
        run_many(kind, 0, 1, sm_count, 0);
        run_many(kind, 0, 1, sm_count, 16);
        run_many(kind, 124, 2, 4, 0);
    }
    return 0;
}
