/*
 * Throughput of global memory: one pass of copying, reading or writing, with ILP independent words
 * outstanding per thread (M16 5.1). Coalesced: in each step neighbouring threads take neighbouring
 * words, and a thread's own words lie one grid apart.
 *
 * All data follow a pattern of their index, so that every pass can be checked word for word.
 */
#include "kernels/kernels.h"

/* A word of 4, 8 or 16 bytes as 32-bit parts. */
template <class Word> union pb_parts {
    Word word;
    uint32_t part[sizeof(Word) / sizeof(uint32_t)];
};

template <class Word> __device__ __forceinline__ Word pb_pattern(uint64_t index, uint32_t salt)
{
    const uint32_t parts = sizeof(Word) / sizeof(uint32_t);
    pb_parts<Word> value;

#pragma unroll
    for (uint32_t k = 0; k < parts; k++)
        value.part[k] = PB_KERNEL_PATTERN(index * parts + k, salt);
    return value.word;
}

template <class Word> __device__ __forceinline__ uint32_t pb_sum(Word word)
{
    pb_parts<Word> value = {word};
    uint32_t sum = 0;

#pragma unroll
    for (uint32_t k = 0; k < sizeof(Word) / sizeof(uint32_t); k++)
        sum += value.part[k];
    return sum;
}

/* What a pass does with its words: all loads of a step come before all that depends on them. */
template <class Word> struct pb_copy_pass {
    const Word *__restrict__ from;
    Word *__restrict__ to;

    __device__ __forceinline__ pb_copy_pass(const struct pb_kernel_stream &stream)
        : from((const Word *)stream.source), to((Word *)stream.target)
    {
    }
    __device__ __forceinline__ Word get(uint64_t i) const
    {
        return from[i];
    }
    __device__ __forceinline__ void put(uint64_t i, Word word)
    {
        to[i] = word;
    }
    __device__ __forceinline__ void finish()
    {
    }
};

/*
 * Adds up what it reads: first in the thread, then in the CTA, then in a word of the target; in one
 * word the additions of many CTAs would take a hundredth of the pass.
 */
template <class Word> struct pb_read_pass {
    const Word *__restrict__ from;
    uint32_t *total;
    uint32_t sum;

    __device__ __forceinline__ pb_read_pass(const struct pb_kernel_stream &stream)
        : from((const Word *)stream.source), total((uint32_t *)stream.target), sum(0)
    {
    }
    __device__ __forceinline__ Word get(uint64_t i) const
    {
        return from[i];
    }
    __device__ __forceinline__ void put(uint64_t, Word word)
    {
        sum += pb_sum(word);
    }
    __device__ __forceinline__ void finish()
    {
        __shared__ uint32_t cta_sum;

        if (threadIdx.x == 0)
            cta_sum = 0;
        __syncthreads();
        atomicAdd(&cta_sum, sum);
        __syncthreads();
        if (threadIdx.x == 0)
            atomicAdd(total + blockIdx.x % PB_KERNEL_STREAM_SUMS, cta_sum);
    }
};

template <class Word> struct pb_write_pass {
    Word *to;
    uint32_t salt;

    __device__ __forceinline__ pb_write_pass(const struct pb_kernel_stream &stream)
        : to((Word *)stream.target), salt(stream.salt)
    {
    }
    __device__ __forceinline__ Word get(uint64_t i) const
    {
        return pb_pattern<Word>(i, salt);
    }
    __device__ __forceinline__ void put(uint64_t i, Word word)
    {
        to[i] = word;
    }
    __device__ __forceinline__ void finish()
    {
    }
};

template <template <class> class Pass, class Word, int ilp>
__global__ void __launch_bounds__(1024) pb_stream_pass(struct pb_kernel_stream stream)
{
    uint64_t grid = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    Pass<Word> pass(stream);

#pragma unroll 1
    for (; i + (ilp - 1) * grid < stream.words; i += ilp * grid) {
        Word word[ilp];

#pragma unroll
        for (int k = 0; k < ilp; k++)
            word[k] = pass.get(i + k * grid);
#pragma unroll
        for (int k = 0; k < ilp; k++)
            pass.put(i + k * grid, word[k]);
    }
    for (; i < stream.words; i += grid)
        pass.put(i, pass.get(i));
    pass.finish();
}

typedef void (*pb_stream_kernel)(struct pb_kernel_stream);

template <template <class> class Pass, class Word> pb_stream_kernel pb_pick_ilp(uint32_t ilp)
{
    switch (ilp) {
    case 1:
        return pb_stream_pass<Pass, Word, 1>;
    case 2:
        return pb_stream_pass<Pass, Word, 2>;
    case 4:
        return pb_stream_pass<Pass, Word, 4>;
    case 8:
        return pb_stream_pass<Pass, Word, 8>;
    default:
        return NULL;
    }
}

template <template <class> class Pass>
pb_stream_kernel pb_pick_word(const struct pb_kernel_stream *stream)
{
    switch (stream->word_bytes) {
    case 4:
        return pb_pick_ilp<Pass, uint32_t>(stream->ilp);
    case 8:
        return pb_pick_ilp<Pass, uint2>(stream->ilp);
    case 16:
        return pb_pick_ilp<Pass, uint4>(stream->ilp);
    default:
        return NULL;
    }
}

extern "C" int pb_kernel_stream(const struct pb_kernel_stream *stream)
{
    pb_stream_kernel kernel = NULL;

    if (stream->kind == PB_KERNEL_COPY)
        kernel = pb_pick_word<pb_copy_pass>(stream);
    else if (stream->kind == PB_KERNEL_READ)
        kernel = pb_pick_word<pb_read_pass>(stream);
    else if (stream->kind == PB_KERNEL_WRITE)
        kernel = pb_pick_word<pb_write_pass>(stream);
    if (kernel == NULL)
        return (int)cudaErrorInvalidValue;
    kernel<<<stream->cta_count, stream->cta_size, 0, (cudaStream_t)stream->queue>>>(*stream);
    return (int)cudaGetLastError();
}
