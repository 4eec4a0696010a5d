/*
 * The plainest streams over DRAM, as a reference for the peaks that the battery states: grid-stride
 * loops over 4 GiB by words of 16 bytes, copying, reading and writing, in a few launch shapes.
 * Prints a line for each kind: its name and the bytes per second of the fastest shape.
 */
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

static const uint64_t bytes = UINT64_C(4) << 30;
enum { PASSES = 5, KINDS = 3 };

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "plain-stream: %s: %s\n", what, cudaGetErrorString(code));
    exit(code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver ? 77 : 1);
}

__global__ void copy_words(float4 *to, const float4 *from, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = from[i];
}

__global__ void read_words(float4 *to, const float4 *from, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    float sum = 0.0f;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float4 word = from[i];

        sum += word.x + word.y + word.z + word.w;
    }
    if (sum == 1.0f) /* never: all words are zero, which the compiler does not know */
        to[0].x = sum;
}

__global__ void write_words(float4 *to, const float4 *from, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    float4 word = make_float4(0.0f, 1.0f, 2.0f, 3.0f);

    (void)from;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = word;
}

typedef void (*kernel)(float4 *, const float4 *, uint64_t);

static double seconds_of(kernel run, unsigned ctas, unsigned threads, float4 *to,
                         const float4 *from)
{
    cudaEvent_t start, end;
    float milliseconds = 0.0f;

    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    run<<<ctas, threads>>>(to, from, bytes / sizeof(float4));
    check(cudaEventRecord(start), "cudaEventRecord");
    for (int i = 0; i < PASSES; i++)
        run<<<ctas, threads>>>(to, from, bytes / sizeof(float4));
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "a stream");
    check(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
    check(cudaEventDestroy(end), "cudaEventDestroy");
    check(cudaEventDestroy(start), "cudaEventDestroy");
    return 1e-3 * milliseconds / PASSES;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        kernel run;
        double arrays;
    } kinds[KINDS] = {{"copy", copy_words, 2}, {"read", read_words, 1}, {"write", write_words, 1}};
    static const unsigned sizes[] = {128, 256, 512, 1024};
    float4 *from = NULL, *to = NULL;
    int sms = 0;

    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "counting SMs");
    check(cudaMalloc(&from, bytes), "cudaMalloc");
    check(cudaMalloc(&to, bytes), "cudaMalloc");
    check(cudaMemset(from, 0, bytes), "cudaMemset");
    for (int k = 0; k < KINDS; k++) {
        double best = 0.0;
        unsigned best_ctas = 0, best_size = 0;

        for (unsigned size : sizes)
            for (unsigned threads = 1024; threads <= 32768; threads *= 2) {
                unsigned ctas = sms * (threads / size);
                double rate = kinds[k].arrays * (double)bytes /
                              seconds_of(kinds[k].run, ctas > 0 ? ctas : sms, size, to, from);

                if (argc > 1)
                    printf("# %s %u x %u: %.4e\n", kinds[k].name, ctas, size, rate);
                if (rate > best) {
                    best = rate;
                    best_ctas = ctas;
                    best_size = size;
                }
            }
        printf("%s %.6e %u x %u\n", kinds[k].name, best, best_ctas, best_size);
    }
    check(cudaFree(to), "cudaFree");
    check(cudaFree(from), "cudaFree");
    return 0;
}
