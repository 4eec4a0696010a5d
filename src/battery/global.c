/*
 * Family global: throughput over CTAs, CTA size and ILP (M16 5.1).
 *
 *   global_copy, global_read, global_write         words of 4 bytes
 *   global_copy16, global_read16, global_write16   words of 16 bytes
 *
 *   large_copy16, large_read16, large_write16      the same over 4 GiB, in few shapes: starting a
 *                                                  kernel and its last CTAs no longer count
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
/* Over 4 GiB it is no thousandth: an H200's first pass also fills its TLBs and takes a tenth longer
 * than the next ones. */
enum { LARGE_REPEATS = 3 };
enum { PASSES_MAX = 16 };

/* Launch shapes: CTAs per SM, threads of a CTA, words outstanding of a thread. */
struct shapes {
    const double *ctas, *sizes, *ilps;
    size_t cta_count, size_count, ilp_count;
};

static const struct shapes all_shapes = {ctas_per_sm,
                                         cta_sizes,
                                         ilps,
                                         CTA_STEPS,
                                         sizeof(cta_sizes) / sizeof(cta_sizes[0]),
                                         sizeof(ilps) / sizeof(ilps[0])};

/* Few long-lived threads with much outstanding, and many that move a word or so each. */
static const double large_ctas[] = {4, 128}, large_sizes[] = {256}, large_ilps[] = {1, 8};
static const struct shapes large_shapes = {large_ctas, large_sizes, large_ilps, 2, 1, 2};

/* What a sweep is of. */
struct sweep {
    enum pb_stream_kind kind;
    uint32_t word_bytes;
    uint64_t bytes;
    const struct shapes *shapes;
    const char *description;
    uint32_t repeats;      /* as in struct pb_stream */
    double enough_seconds; /* the same */
};

static enum pb_status open_grid(const struct pb_session *session, const struct shapes *shapes,
                                struct pb_matrix *matrix, const char *description,
                                struct pb_error *err)
{
    double ctas[CTA_STEPS];
    const struct pb_grid_axis axes[] = {
        {"cta_count", "", "thread blocks of the grid", ctas, NULL, shapes->cta_count},
        {"cta_size", "", "threads of a block", shapes->sizes, NULL, shapes->size_count},
        {"ilp", "", "words a thread moves at a time", shapes->ilps, NULL, shapes->ilp_count},
    };

    for (size_t i = 0; i < shapes->cta_count; i++)
        ctas[i] = shapes->ctas[i] * session->info.sm_count;
    return pb_grid_open(matrix, axes, 3, "byte/s", description, err);
}

uint64_t pb_stream_bytes(const struct pb_session *session)
{
    uint64_t bytes = 8 * session->info.l2_bytes, least = (uint64_t)64 << 20;
    uint64_t most = session->info.memory_free_bytes / 4;

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

enum pb_status pb_stream_take(struct pb_session *session, const struct pb_stream *stream,
                              struct pb_recording *recording, double *bytes_per_s_out,
                              struct pb_error *err)
{
    struct pb_stream again = *stream;
    struct pb_stream_result result;
    enum pb_status status = session->device->ops->stream(session->device, stream, &result, err);

    if (status == PB_OK && result.seconds < least_seconds && stream->repeats < PASSES_MAX) {
        note_mismatches(stream, &result, recording);
        again.repeats = passes_for(result.seconds / stream->repeats);
        status = session->device->ops->stream(session->device, &again, &result, err);
    }
    if (status != PB_OK)
        return status;
    note_mismatches(stream, &result, recording);
    *bytes_per_s_out = (double)result.bytes_moved / result.seconds;
    return PB_OK;
}

static void keep_best(struct pb_session *session, const struct pb_stream *stream,
                      double bytes_per_s)
{
    if (stream->kind != PB_STREAM_COPY || !(bytes_per_s > session->best_copy_bytes_per_s))
        return;
    session->best_copy = *stream;
    session->best_copy_bytes_per_s = bytes_per_s;
}

static enum pb_status take_all(struct pb_session *session, const struct sweep *sweep,
                               struct pb_recording *recording, struct pb_error *err)
{
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status = open_grid(session, sweep->shapes, matrix, sweep->description, err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        size_t at[PB_MATRIX_RANK_MAX];
        struct pb_stream stream = {.kind = sweep->kind,
                                   .word_bytes = sweep->word_bytes,
                                   .bytes = sweep->bytes,
                                   .repeats = sweep->repeats,
                                   .enough_seconds = sweep->enough_seconds};

        pb_grid_place(matrix, i, at);
        stream.cta_count = (uint32_t)matrix->axes[0].values[at[0]];
        stream.cta_size = (uint32_t)matrix->axes[1].values[at[1]];
        stream.ilp = (uint32_t)matrix->axes[2].values[at[2]];
        if (stream.cta_size > session->info.max_threads_per_cta)
            continue;
        status =
            pb_grid_forgive(pb_stream_take(session, &stream, recording, &matrix->values[i], err));
        if (sweep->shapes == &all_shapes)
            keep_best(session, &stream, matrix->values[i]);
    }
    return status;
}

static enum pb_status sweep_all(struct pb_session *session, enum pb_stream_kind kind,
                                uint32_t word_bytes, const char *description,
                                struct pb_recording *recording, struct pb_error *err)
{
    const struct sweep sweep = {.kind = kind,
                                .word_bytes = word_bytes,
                                .bytes = pb_stream_bytes(session),
                                .shapes = &all_shapes,
                                .description = description,
                                .repeats = kind == PB_STREAM_COPY && word_bytes == 4 ? 2 : 1,
                                .enough_seconds = enough_seconds};

    return take_all(session, &sweep, recording, err);
}

/* 4 GiB, or an eighth of what is free. */
static enum pb_status sweep_large(struct pb_session *session, enum pb_stream_kind kind,
                                  const char *description, struct pb_recording *recording,
                                  struct pb_error *err)
{
    const uint64_t most = (uint64_t)4 << 30, step = (uint64_t)1 << 20;
    uint64_t available = session->info.memory_free_bytes / 8 / step * step;
    const struct sweep sweep = {.kind = kind,
                                .word_bytes = 16,
                                .bytes = available < most ? available : most,
                                .shapes = &large_shapes,
                                .description = description,
                                .repeats = LARGE_REPEATS};

    if (sweep.bytes <= pb_stream_bytes(session))
        return pb_fail(err, PB_UNSUPPORTED,
                       "too little free memory for arrays larger than those of the other tests");
    return take_all(session, &sweep, recording, err);
}

enum pb_status pb_test_global_copy(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return sweep_all(session, PB_STREAM_COPY, 4, "copy throughput, read and written", recording,
                     err);
}

enum pb_status pb_test_global_read(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return sweep_all(session, PB_STREAM_READ, 4, "read throughput", recording, err);
}

enum pb_status pb_test_global_write(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return sweep_all(session, PB_STREAM_WRITE, 4, "write throughput", recording, err);
}

enum pb_status pb_test_global_copy16(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sweep_all(session, PB_STREAM_COPY, 16, "copy throughput, read and written", recording,
                     err);
}

enum pb_status pb_test_global_read16(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sweep_all(session, PB_STREAM_READ, 16, "read throughput", recording, err);
}

enum pb_status pb_test_global_write16(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    return sweep_all(session, PB_STREAM_WRITE, 16, "write throughput", recording, err);
}

enum pb_status pb_test_large_copy16(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return sweep_large(session, PB_STREAM_COPY, "copy throughput, read and written", recording,
                       err);
}

enum pb_status pb_test_large_read16(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return sweep_large(session, PB_STREAM_READ, "read throughput", recording, err);
}

enum pb_status pb_test_large_write16(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sweep_large(session, PB_STREAM_WRITE, "write throughput", recording, err);
}
