/*
 * Held out for the fourth time: twelve kernels as programs have them, written before the counters
 * of access_kinds.cu were seen and predicted before their own were.
 */
#include "trace_kernels.h"

extern "C" {

/* A pass of a radix sort by 8 bits: 2,048 keys a CTA, counted and then put in their places. */
__global__ void radix_scatter(float *m)
{
    __shared__ unsigned counts[256], places[256];
    const unsigned *keys = (const unsigned *)(m + B) + blockIdx.x * 2048;
    unsigned *sorted = (unsigned *)(m + C) + blockIdx.x * 2048;
    unsigned thread = threadIdx.x, sum = 0;

    counts[thread] = 0;
    __syncthreads();
    for (unsigned i = thread; i < 2048; i += 256)
        atomicAdd(&counts[keys[i] & 255], 1u);
    __syncthreads();
    for (unsigned i = 0; i < thread; i++)
        sum += counts[i];
    places[thread] = sum;
    __syncthreads();
    for (unsigned i = thread; i < 2048; i += 256) {
        unsigned key = keys[i];

        sorted[atomicAdd(&places[key & 255], 1u)] = key;
    }
}

/* 5 x 5 weights over 128 x 128 outputs. */
__global__ void convolution_5x5(float *m)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;

    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            sum += m[C + i * 5 + j] * m[A + (y + i) * 132 + x + j];
    m[D + y * 128 + x] = sum;
}

/* The nearest of 24 centres for each of 4,096 points of 8 numbers, and how many each centre has. */
__global__ void kmeans_assign(float *m)
{
    int point = thread_index(), best = 0;
    float least = 1e30f;

    for (int centre = 0; centre < 24; centre++) {
        float distance = 0;

        for (int i = 0; i < 8; i++) {
            float d = m[A + point * 8 + i] - m[C + centre * 8 + i];

            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            best = centre;
        }
    }
    m[D + point] = (float)best;
    atomicAdd(&m[D + 8192 + best], 1.0f);
}

/* LU of a panel of 256 rows and 16 columns in a matrix of 512 columns, a CTA each. */
__global__ void lu_panel(float *m)
{
    float *panel = m + A + blockIdx.x * 256 * 512;
    int row = (int)threadIdx.x;

    for (int k = 0; k < 16; k++) {
        float factor = 0;

        if (row > k) {
            factor = panel[row * 512 + k] / (4.0f + panel[k * 512 + k]);
            panel[row * 512 + k] = factor;
        }
        __syncthreads();
        for (int j = k + 1; j < 16 && row > k; j++)
            panel[row * 512 + j] -= factor * panel[k * 512 + j];
        __syncthreads();
    }
}

/* Step 100 of Floyd and Warshall's shortest ways between 192 nodes. */
__global__ void floyd_step(float *m)
{
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x, k = 100;
    float way = m[A + i * 192 + k] + m[A + k * 192 + j];

    if (way < m[A + i * 192 + j] + 1.0f)
        m[A + i * 192 + j] = way;
}

/* Sums of all elements up to each of 512 (Kogge and Stone), from one array to another and back. */
__global__ void prefix_scan(float *m)
{
    float *from = m + A + blockIdx.x * 512, *to = m + C + blockIdx.x * 512;
    int i = (int)threadIdx.x;

    for (int distance = 1; distance < 512; distance *= 2) {
        float sum = from[i];
        float *other = to;

        if (i >= distance)
            sum += from[i - distance];
        to[i] = sum;
        to = from;
        from = other;
        __syncthreads();
    }
}

/* A sparse triangular system of 512 rows a CTA, in 16 levels of rows that need only earlier ones.
 */
__global__ void triangular_solve(float *m)
{
    float *solution = m + C + blockIdx.x * 512;
    const float *values = m + A + blockIdx.x * 512 * 6;
    const unsigned *columns = (const unsigned *)(m + B) + blockIdx.x * 512 * 6;
    int lane = (int)threadIdx.x;

    for (int level = 0; level < 16; level++) {
        int row = level * 32 + lane;
        float sum = m[D + blockIdx.x * 512 + row];

        for (int i = 0; i < 6 && level > 0; i++)
            sum -= values[row * 6 + i] * solution[columns[row * 6 + i] % (unsigned)(level * 32)];
        solution[row] = sum;
        __syncthreads();
    }
}

/* Two sorted lists of 16,384 keys made one: a thread looks for its diagonal and merges 8 keys. */
static __device__ __forceinline__ unsigned sorted_key(const unsigned *words, int i)
{
    return (unsigned)i * 4 + words[i] % 4;
}

__global__ void merge_path(float *m)
{
    const unsigned *a = (const unsigned *)(m + B), *b = a + 16384;
    int diagonal = thread_index() * 8, low = diagonal > 16384 ? diagonal - 16384 : 0;
    int high = diagonal < 16384 ? diagonal : 16384;

    while (low < high) {
        int middle = (low + high) / 2;

        if (sorted_key(a, middle) < sorted_key(b, diagonal - 1 - middle))
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = 0, j = diagonal - low; i < 8; i++) {
        bool is_a = j >= 16384 || (low < 16384 && sorted_key(a, low) < sorted_key(b, j));

        m[C + diagonal + i] = (float)(is_a ? sorted_key(a, low++) : sorted_key(b, j++));
    }
}

/* At each of 32,768 places of a text, how many of 12 letters agree, of an alphabet of four. */
__global__ void string_match(float *m)
{
    const unsigned char *text = (const unsigned char *)(m + B), *pattern = text + (1 << 20);
    int at = thread_index(), length = 0;

    while (length < 12 && text[at + length] % 4 == pattern[length] % 4)
        length++;
    if (length >= 3)
        m[C + at] = (float)length;
}

/* Gauss and Seidel's sweeps, red and black, in place over 64 x 64 points a CTA. */
__global__ void stencil_in_place(float *m)
{
    float *grid = m + A + blockIdx.x * 66 * 66;

    for (int sweep = 0; sweep < 4; sweep++) {
        for (int i = (int)threadIdx.x; i < 64 * 32; i += (int)blockDim.x) {
            int y = i / 32 + 1, x = i % 32 * 2 + 1 + (y + sweep) % 2;

            grid[y * 66 + x] = 0.25f * (grid[y * 66 + x - 1] + grid[y * 66 + x + 1] +
                                        grid[(y - 1) * 66 + x] + grid[(y + 1) * 66 + x]);
        }
        __syncthreads();
    }
}

/* Rows of 1,000: their largest, the sum of exponentials, the quotients. */
__global__ void softmax(float *m)
{
    __shared__ float shared[128];
    const float *row = m + A + blockIdx.x * 1000;
    float largest = -1e30f, sum = 0;

    for (int i = (int)threadIdx.x; i < 1000; i += 128)
        largest = fmaxf(largest, row[i]);
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int i = 0; i < 128; i++)
        largest = fmaxf(largest, shared[i]);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 1000; i += 128)
        sum += expf(row[i] - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 128; i++)
        sum += shared[i];
    for (int i = (int)threadIdx.x; i < 1000; i += 128)
        m[C + blockIdx.x * 1000 + i] = expf(row[i] - largest) / sum;
}

/* Bags of 12 words: a warp adds rows of 64 numbers of a table of 3,000 rows, few words are many. */
__global__ void embedding_bag(float *m)
{
    const unsigned *words = (const unsigned *)(m + B);
    int bag = thread_index() / 32, lane = (int)threadIdx.x % 32;
    float2 sum = {0, 0};

    for (int i = 0; i < 12; i++) {
        unsigned word = words[bag * 12 + i];
        unsigned row = word % 3 == 0 ? word / 3 % 3000 : word / 3 % 100;
        float2 values = ((const float2 *)(m + A))[row * 32 + (unsigned)lane];

        sum.x += values.x;
        sum.y += values.y;
    }
    ((float2 *)(m + C))[bag * 32 + lane] = sum;
}

} /* extern "C" */

const struct test held_out_4[] = {
    {"radix_scatter", radix_scatter, dim3(16), dim3(256)},
    {"convolution_5x5", convolution_5x5, dim3(4, 16), dim3(32, 8)},
    {"kmeans_assign", kmeans_assign, dim3(32), dim3(128)},
    {"lu_panel", lu_panel, dim3(4), dim3(256)},
    {"floyd_step", floyd_step, dim3(6, 24), dim3(32, 8)},
    {"prefix_scan", prefix_scan, dim3(12), dim3(512)},
    {"triangular_solve", triangular_solve, dim3(12), dim3(32)},
    {"merge_path", merge_path, dim3(16), dim3(256)},
    {"string_match", string_match, dim3(128), dim3(256)},
    {"stencil_in_place", stencil_in_place, dim3(8), dim3(256)},
    {"softmax", softmax, dim3(48), dim3(128)},
    {"embedding_bag", embedding_bag, dim3(64), dim3(128)},
};
const size_t held_out_4_count = sizeof(held_out_4) / sizeof(held_out_4[0]);
