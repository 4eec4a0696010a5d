/*
 * Family global: throughput over CTAs, CTA size and ILP (M16 5.1).
 *
 *   global_copy, global_read, global_write         words of 4 bytes
 *   global_copy16, global_read16, global_write16   words of 16 bytes
 *
 * Axes cta_count, cta_size, ilp. The array is far larger than L2, so that DRAM is what is measured.
 */
#include <math.h>
#include <stdio.h>

#include "battery/grid.h"
#include "battery/stream.h"
#include "battery/tests.h"

enum { CTA_STEPS = 6 };

static const double ctas_per_sm[CTA_STEPS] = {1, 2, 4, 8, 16, 32};
static const double cta_sizes[] = {32, 64, 128, 256, 512, 1024};
static const double ilps[] = {1, 2, 4, 8};

/* Passes in one timed region: enough of them that starting a kernel does not count. */
static const double least_seconds = 4e-4;
/* A pass of this length need not be taken again: starting its kernel, and what it finds in no cache
 * yet, is a thousandth of it. */
static const double enough_seconds = 1e-3;
enum { PASSES_MAX = 16 };

static enum pb_status open_grid(const struct pb_bench *bench, struct pb_matrix *matrix,
                                const char *description, struct pb_error *err)
{
    double ctas[CTA_STEPS];
    const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("cta_count", "", "thread blocks of the grid", ctas),
        PB_GRID_VALUES("cta_size", "", "threads of a block", cta_sizes),
        PB_GRID_VALUES("ilp", "", "words a thread moves at a time", ilps),
    };

    for (size_t i = 0; i < CTA_STEPS; i++)
        ctas[i] = ctas_per_sm[i] * bench->info.sm_count;
    return pb_grid_open(matrix, axes, 3, "byte/s", description, err);
}

uint64_t pb_stream_bytes(const struct pb_bench *bench)
{
    uint64_t bytes = 8 * bench->info.l2_bytes, least = (uint64_t)64 << 20;
    uint64_t most = bench->info.memory_free_bytes / 4;

    bytes = bytes < least ? least : bytes;
    bytes = bytes > most ? most : bytes;
    return bytes - bytes % ((uint64_t)1 << 20);
}

static void note_mismatches(const struct pb_stream *stream, const struct pb_stream_result *result,
                            struct pb_recording *recording)
{
    static const char *const verbs[] = {
        [PB_STREAM_COPY] = "copied", [PB_STREAM_READ] = "read", [PB_STREAM_WRITE] = "written"};

    if (result->mismatch_count > 0)
        snprintf(recording->message, sizeof(recording->message),
                 "%llu words were %s wrong with %u CTAs of %u, ILP %u",
                 (unsigned long long)result->mismatch_count, verbs[stream->kind], stream->cta_count,
                 stream->cta_size, stream->ilp);
}

/* As many as take so long that starting them does not count. */
static uint32_t passes_for(double pass_seconds)
{
    double passes = pass_seconds > 0 ? ceil(enough_seconds / pass_seconds) : PASSES_MAX;

    return passes < PASSES_MAX ? (uint32_t)passes : PASSES_MAX;
}

enum pb_status pb_stream_take(struct pb_bench *bench, const struct pb_stream *stream,
                              struct pb_recording *recording, double *bytes_per_s_out,
                              struct pb_error *err)
{
    struct pb_stream again = *stream;
    struct pb_stream_result result;
    enum pb_status status = bench->device->ops->stream(bench->device, stream, &result, err);

    if (status == PB_OK && result.seconds < least_seconds && stream->repeats < PASSES_MAX) {
        note_mismatches(stream, &result, recording);
        again.repeats = passes_for(result.seconds / stream->repeats);
        status = bench->device->ops->stream(bench->device, &again, &result, err);
    }
    if (status != PB_OK)
        return status;
    note_mismatches(stream, &result, recording);
    *bytes_per_s_out = (double)result.bytes_moved / result.seconds;
    return PB_OK;
}

static void keep_best(struct pb_bench *bench, const struct pb_stream *stream, double bytes_per_s)
{
    if (stream->kind != PB_STREAM_COPY || !(bytes_per_s > bench->best_copy_bytes_per_s))
        return;
    bench->best_copy = *stream;
    bench->best_copy_bytes_per_s = bytes_per_s;
}

static enum pb_status sweep(struct pb_bench *bench, enum pb_stream_kind kind, uint32_t word_bytes,
                            const char *description, struct pb_recording *recording,
                            struct pb_error *err)
{
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status = open_grid(bench, matrix, description, err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        size_t at[PB_MATRIX_RANK_MAX];
        struct pb_stream stream = {.kind = kind,
                                   .word_bytes = word_bytes,
                                   .bytes = pb_stream_bytes(bench),
                                   .repeats = kind == PB_STREAM_COPY && word_bytes == 4 ? 2 : 1,
                                   .enough_seconds = enough_seconds};

        pb_grid_place(matrix, i, at);
        stream.cta_count = (uint32_t)matrix->axes[0].values[at[0]];
        stream.cta_size = (uint32_t)cta_sizes[at[1]];
        stream.ilp = (uint32_t)ilps[at[2]];
        if (stream.cta_size > bench->info.max_threads_per_cta)
            continue;
        status =
            pb_grid_forgive(pb_stream_take(bench, &stream, recording, &matrix->values[i], err));
        keep_best(bench, &stream, matrix->values[i]);
    }
    return status;
}

enum pb_status pb_test_global_copy(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return sweep(bench, PB_STREAM_COPY, 4, "copy throughput, read and written", recording, err);
}

enum pb_status pb_test_global_read(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return sweep(bench, PB_STREAM_READ, 4, "read throughput", recording, err);
}

enum pb_status pb_test_global_write(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return sweep(bench, PB_STREAM_WRITE, 4, "write throughput", recording, err);
}

enum pb_status pb_test_global_copy16(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sweep(bench, PB_STREAM_COPY, 16, "copy throughput, read and written", recording, err);
}

enum pb_status pb_test_global_read16(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sweep(bench, PB_STREAM_READ, 16, "read throughput", recording, err);
}

enum pb_status pb_test_global_write16(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err)
{
    return sweep(bench, PB_STREAM_WRITE, 16, "write throughput", recording, err);
}
