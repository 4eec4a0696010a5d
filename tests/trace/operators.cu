/*
 * One kernel for each kind of memory instruction, named for the operator that its code is to have:
 * KIND_OPERATOR. test_operators.c looks for it in what this compiler makes of it.
 */
#include <stdint.h>

#define LOAD(name, ptx)                                                                            \
    extern "C" __global__ void load_##name(const int *p, int *q)                                   \
    {                                                                                              \
        int value;                                                                                 \
                                                                                                   \
        asm volatile(ptx " %0, [%1];" : "=r"(value) : "l"(p + threadIdx.x) : "memory");            \
        q[threadIdx.x] = value;                                                                    \
    }

LOAD(ca, "ld.global.ca.b32")
LOAD(ca_default, "ld.global.b32")
LOAD(ca_generic, "ld.b32")
LOAD(cg, "ld.global.cg.b32")
LOAD(cg_relaxed, "ld.relaxed.gpu.global.b32")
LOAD(cg_acquire, "ld.acquire.gpu.global.b32")
LOAD(cs, "ld.global.cs.b32")
LOAD(cs_evict_first, "ld.global.L1::evict_first.b32")
LOAD(lu, "ld.global.lu.b32")
LOAD(cv, "ld.global.cv.b32")
LOAD(cv_volatile, "ld.volatile.global.b32")
LOAD(cv_relaxed, "ld.relaxed.sys.global.b32")
LOAD(nc, "ld.global.nc.b32")
LOAD(nc_no_allocate, "ld.global.nc.L1::no_allocate.b32")
LOAD(no_allocate, "ld.global.L1::no_allocate.b32")
LOAD(evict_last, "ld.global.L1::evict_last.b32")
LOAD(evict_unchanged, "ld.global.L1::evict_unchanged.b32")

extern "C" __global__ void store_ca(int *p)
{
    p[threadIdx.x] = 1;
}

extern "C" __global__ void store_cg(int *p)
{
    __stcg(p + threadIdx.x, 1);
}

extern "C" __global__ void atomic_exchange(int *p, int *q)
{
    q[threadIdx.x] = atomicExch(p + threadIdx.x, 2);
}

extern "C" __global__ void reduction_add(int *p)
{
    atomicAdd(p + threadIdx.x, 1);
}

extern "C" __global__ void reduction_float(float *p)
{
    atomicAdd(p + threadIdx.x, 1.0f);
}

extern "C" __global__ void fence_gpu(int *p, int *q)
{
    *p = 1;
    __threadfence();
    *q = 2;
}

#if __CUDA_ARCH__ >= 800
#define COPY(name, ptx)                                                                            \
    extern "C" __global__ void async_##name(int4 *p)                                               \
    {                                                                                              \
        __shared__ int4 tile[32];                                                                  \
        uint32_t target = (uint32_t)__cvta_generic_to_shared(tile + threadIdx.x);                  \
                                                                                                   \
        asm volatile(ptx " [%0], [%1], 16;" ::"r"(target), "l"(p + threadIdx.x));                  \
        asm volatile("cp.async.wait_all;");                                                        \
        p[threadIdx.x] = tile[threadIdx.x];                                                        \
    }

COPY(ca, "cp.async.ca.shared.global")
COPY(cg, "cp.async.cg.shared.global")
#endif

#if __CUDA_ARCH__ >= 900
#define BULK(name, ptx)                                                                            \
    extern "C" __global__ void bulk_##name(int *p)                                                 \
    {                                                                                              \
        __shared__ alignas(128) int tile[32];                                                      \
        uint32_t source = (uint32_t)__cvta_generic_to_shared(tile);                                \
                                                                                                   \
        tile[threadIdx.x] = (int)threadIdx.x;                                                      \
        if (threadIdx.x == 0)                                                                      \
            asm volatile(ptx " [%0], [%1], 128;" ::"l"(p), "r"(source) : "memory");                \
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");                                  \
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");                                  \
    }

BULK(store, "cp.async.bulk.global.shared::cta.bulk_group")
BULK(reduction, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32")
#endif

extern "C" __global__ void prefetch_l1(const int *p)
{
    asm volatile("prefetch.global.L1 [%0];" ::"l"(p + threadIdx.x));
}

__constant__ int constants[1024];

extern "C" __global__ void constant_by_index(int *p)
{
    p[threadIdx.x] = constants[p[threadIdx.x + 32] & 1023];
}

/* Where their answers are waited for: test_operators.c. */
extern "C" __global__ void wait_batched(const int *p, int *q)
{
    int a, b, sum;

    asm volatile("ld.global.b32 %0, [%1];" : "=r"(a) : "l"(p + threadIdx.x) : "memory");
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(b) : "l"(p + threadIdx.x + 1024) : "memory");
    asm volatile("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    q[threadIdx.x] = sum;
}

extern "C" __global__ void wait_chained(const int *p, int *q)
{
    int a, b;

    asm volatile("ld.global.b32 %0, [%1];" : "=r"(a) : "l"(p + threadIdx.x) : "memory");
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(b) : "l"(p + a) : "memory");
    q[threadIdx.x] = b;
}

/* The first copy is waited for alone, before the load; the second behind it. */
extern "C" __global__ void wait_copies(const int *p, int *q)
{
#if __CUDA_ARCH__ >= 800
    __shared__ int tile[64];
    uint32_t at = (uint32_t)__cvta_generic_to_shared(tile);
    int value;

    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(p) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + 128), "l"(p + 64)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(p + threadIdx.x) : "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    q[threadIdx.x] = value + tile[threadIdx.x];
#endif
}
