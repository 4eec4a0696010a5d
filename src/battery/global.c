/* Family global: copy throughput over CTAs, CTA size and ILP (M16 5.1). */
#include <stdio.h>

#include "battery/tests.h"

static const double ctas_per_sm[] = {1, 2, 4, 8, 16, 32};
static const double cta_sizes[] = {32, 64, 128, 256, 512, 1024};
static const double ilps[] = {1, 2, 4, 8};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum pb_status set_axes(const struct pb_bench *bench, struct pb_matrix *matrix,
                               struct pb_error *err)
{
    double ctas[COUNT(ctas_per_sm)];
    enum pb_status status;

    for (size_t i = 0; i < COUNT(ctas); i++)
        ctas[i] = ctas_per_sm[i] * bench->info.sm_count;
    status = pb_axis_set_values(&matrix->axes[0], "cta_count", "", "thread blocks of the grid",
                                ctas, COUNT(ctas), err);
    if (status == PB_OK)
        status = pb_axis_set_values(&matrix->axes[1], "cta_size", "", "threads of a block",
                                    cta_sizes, COUNT(cta_sizes), err);
    if (status == PB_OK)
        status =
            pb_axis_set_values(&matrix->axes[2], "ilp", "",
                               "words of 4 bytes a thread moves at a time", ilps, COUNT(ilps), err);
    if (status == PB_OK)
        status = pb_matrix_allocate(matrix, "byte/s", "copy throughput, read and written", err);
    return status;
}

/* Far more than L2 holds, so that DRAM is what is measured. */
static uint64_t copied_bytes(const struct pb_bench *bench)
{
    uint64_t bytes = 8 * bench->info.l2_bytes, least = (uint64_t)64 << 20;
    uint64_t most = bench->info.memory_free_bytes / 4;

    bytes = bytes < least ? least : bytes;
    bytes = bytes > most ? most : bytes;
    return bytes - bytes % ((uint64_t)1 << 20);
}

static enum pb_status take(struct pb_bench *bench, const struct pb_stream *stream,
                           struct pb_recording *recording, double *value_out, struct pb_error *err)
{
    struct pb_stream_result result;
    enum pb_status status = bench->device->ops->stream(bench->device, stream, &result, err);

    if (status != PB_OK)
        return status;
    if (result.mismatch_count > 0)
        snprintf(recording->message, sizeof(recording->message),
                 "%llu words were copied wrong with %u CTAs of %u, ILP %u",
                 (unsigned long long)result.mismatch_count, stream->cta_count, stream->cta_size,
                 stream->ilp);
    *value_out = (double)result.bytes_moved / result.seconds;
    return PB_OK;
}

enum pb_status pb_test_global_copy(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err)
{
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status = set_axes(bench, matrix, err);
    size_t cells = status == PB_OK ? pb_matrix_size(matrix) : 0;
    size_t sizes = COUNT(cta_sizes), depth = COUNT(ilps);

    for (size_t i = 0; i < cells && status == PB_OK; i++) {
        struct pb_stream stream = {
            .kind = PB_STREAM_COPY,
            .cta_count = (uint32_t)matrix->axes[0].values[i / (sizes * depth)],
            .cta_size = (uint32_t)cta_sizes[i / depth % sizes],
            .ilp = (uint32_t)ilps[i % depth],
            .word_bytes = 4,
            .bytes = copied_bytes(bench),
            .repeats = 2,
        };

        if (stream.cta_size <= bench->info.max_threads_per_cta)
            status = take(bench, &stream, recording, &matrix->values[i], err);
    }
    return status;
}
