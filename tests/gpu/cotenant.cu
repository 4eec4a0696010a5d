/*
 * Another program on a GPU, for tests of what a verdict says beside it.
 *
 *   cotenant idle            a CUDA context that does nothing
 *   cotenant hold GIB        the same, with GIB of its memory allocated and written once
 *   cotenant stream GIB      copies one half of GIB to the other, again and again
 *   cotenant peer GIB ON OFF CTAS
 *                            the second GPU reads GIB of the first one's memory in bursts of ON
 *                            microseconds by so many CTAs, OFF microseconds apart
 *
 * Writes one line "ready MODE BYTES" when its state is reached, and stays until its input ends or a
 * signal comes. Exit codes: 0, 1 a CUDA call failed, 2 usage, 77 no GPU.
 */
#include <cuda_runtime.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_SKIPPED = 77, COPIES_PER_LOOK = 16, LOOK_MS = 200 };

static const double gib = 1024.0 * 1024.0 * 1024.0;

__global__ void copy_words(uint4 *to, const uint4 *from, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = from[i];
}

static void require(cudaError_t code, const char *call)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "cotenant: %s: %s\n", call, cudaGetErrorString(code));
    exit(code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver ? EXIT_SKIPPED
                                                                          : EXIT_FAILURE);
}

/* Has whoever started this closed its input? Waits that long for it. */
static bool is_over(int wait_ms)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char byte;

    return poll(&input, 1, wait_ms) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void *allocate(size_t bytes)
{
    void *memory = NULL;

    require(cudaMalloc(&memory, bytes), "cudaMalloc");
    require(cudaMemset(memory, 1, bytes), "cudaMemset");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
}

static void announce(const char *mode, size_t bytes)
{
    printf("ready %s %zu\n", mode, bytes);
    fflush(stdout);
}

static void rest(void)
{
    while (!is_over(LOOK_MS))
        ;
}

/* Both halves are larger than any L2, so that every copy goes to memory. */
static void stream(void *memory, size_t bytes)
{
    size_t count = bytes / 2 / sizeof(uint4);
    uint4 *words = (uint4 *)memory;

    while (!is_over(0)) {
        for (int i = 0; i < COPIES_PER_LOOK; i++)
            copy_words<<<2048, 256>>>(words + count, words, count);
        require(cudaGetLastError(), "copy_words");
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
}

__global__ void read_words(const uint4 *from, size_t count, long long cycles, unsigned *sum_out)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    long long start = clock64();
    unsigned sum = 0;

    for (; clock64() - start < cycles; i += step)
        sum += __ldcg(from + i % count).x;
    if (sum == 1) /* never: all words are 0x01010101 */
        *sum_out = sum;
}

/* The first GPU has no kernel of this program, and so takes no turns with it. */
static void read_as_peer(const void *memory, size_t bytes, double on_us, double off_us, int ctas)
{
    long long cycles;
    unsigned *sum;
    int khz = 0;

    require(cudaSetDevice(1), "cudaSetDevice");
    require(cudaDeviceEnablePeerAccess(0, 0), "cudaDeviceEnablePeerAccess");
    require(cudaMalloc(&sum, sizeof(*sum)), "cudaMalloc");
    require(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 1), "cudaDeviceGetAttribute");
    cycles = (long long)(on_us * khz / 1e3);
    while (!is_over(0)) {
        read_words<<<ctas, 512>>>((const uint4 *)memory, bytes / sizeof(uint4), cycles, sum);
        require(cudaGetLastError(), "read_words");
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        usleep((useconds_t)off_us);
    }
    cudaFree(sum);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool is_idle = strcmp(mode, "idle") == 0, is_stream = strcmp(mode, "stream") == 0;
    bool is_peer = strcmp(mode, "peer") == 0 && argc == 6;
    double amount = argc > 2 ? strtod(argv[2], NULL) : 0.0;
    size_t bytes = (size_t)(amount * gib);
    void *memory = NULL;

    if (!(is_idle && argc == 2) &&
        !((is_stream || strcmp(mode, "hold") == 0) && argc == 3 && amount > 0.0) &&
        !(is_peer && amount > 0.0)) {
        fprintf(stderr, "cotenant: expected idle, hold GIB, stream GIB or peer GIB ON OFF CTAS\n");
        return EXIT_USAGE;
    }
    require(cudaFree(NULL), "a context");
    if (bytes > 0)
        memory = allocate(bytes);
    announce(mode, bytes);
    if (is_stream)
        stream(memory, bytes);
    else if (is_peer)
        read_as_peer(memory, bytes, strtod(argv[3], NULL), strtod(argv[4], NULL), atoi(argv[5]));
    else
        rest();
    cudaFree(memory);
    return EXIT_SUCCESS;
}
