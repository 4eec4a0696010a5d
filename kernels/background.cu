/*
 * Traffic beside a chase: all SMs but one read from L2 or DRAM at a chosen rate.
 *
 * A warp reads PB_KERNEL_BATCH_BYTES at a time and then waits until its next batch is due. Periods
 * of different warps are shifted against each other, so that the rate is even in time.
 */
#include "kernels/parallel.h"
#include "kernels/stamp.cuh"

enum { PB_BACKGROUND_THREADS = 1024, PB_BACKGROUND_POLL = 8 };

__device__ __forceinline__ uint32_t pb_background_batch(uint64_t at)
{
    uint4 word[PB_KERNEL_BATCH_LOADS];
    uint32_t sum = 0;

#pragma unroll
    for (int i = 0; i < PB_KERNEL_BATCH_LOADS; i++)
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[i].x), "=r"(word[i].y), "=r"(word[i].z), "=r"(word[i].w)
                     : "l"(at + i * 32 * sizeof(uint4))
                     : "memory");
#pragma unroll
    for (int i = 0; i < PB_KERNEL_BATCH_LOADS; i++)
        sum ^= word[i].x ^ word[i].y ^ word[i].z ^ word[i].w; /* else less would be loaded */
    return sum;
}

extern "C" __global__ void __launch_bounds__(PB_BACKGROUND_THREADS)
    pb_background(struct pb_kernel_background request)
{
    struct pb_kernel_background_state *state = (struct pb_kernel_background_state *)request.state;
    uint32_t warps = gridDim.x * (PB_BACKGROUND_THREADS / 32);
    uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    uint64_t chunks = request.bytes / PB_KERNEL_BATCH_BYTES, chunk = warp % chunks;
    uint64_t start_ns = pb_timer_ns();
    uint64_t due = pb_clock() + request.period_cycles * warp / warps;
    uint32_t batches = 0;

    if (threadIdx.x == 0)
        atomicAdd(&state->started, 1);
    for (;; batches++) {
        if (batches % PB_BACKGROUND_POLL == 0) {
            uint32_t stop;

            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                         : "=r"(stop)
                         : "l"(&state->stop)
                         : "memory");
            if (stop != 0 || pb_timer_ns() - start_ns > request.limit_ns)
                break;
        }
        while (request.period_cycles > 0 && (int64_t)(pb_clock() - due) < 0)
            ;
        due += request.period_cycles;
        pb_await_any(pb_background_batch(request.data + chunk * PB_KERNEL_BATCH_BYTES +
                                         threadIdx.x % 32 * sizeof(uint4)));
        chunk += warps;
        chunk = chunk < chunks ? chunk : chunk % chunks;
    }
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)&state->batches, (unsigned long long)batches);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd((unsigned long long *)&state->start_ns, (unsigned long long)start_ns);
        atomicAdd((unsigned long long *)&state->end_ns, (unsigned long long)pb_timer_ns());
        atomicAdd(&state->ended, 1);
    }
}

extern "C" int pb_kernel_background(const struct pb_kernel_background *background, void *stream)
{
    cudaError_t code = cudaFuncSetAttribute(
        pb_background, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)background->shared_bytes);

    if (code != cudaSuccess)
        return (int)code;
    pb_background<<<background->cta_count, PB_BACKGROUND_THREADS, background->shared_bytes,
                    (cudaStream_t)stream>>>(*background);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_stream_create(void **stream_out)
{
    cudaStream_t stream = NULL;
    cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

    *stream_out = stream;
    return (int)code;
}

extern "C" int pb_kernel_stream_wait(void *stream)
{
    return (int)cudaStreamSynchronize((cudaStream_t)stream);
}

extern "C" void pb_kernel_stream_destroy(void *stream)
{
    if (stream != NULL)
        cudaStreamDestroy((cudaStream_t)stream);
}
