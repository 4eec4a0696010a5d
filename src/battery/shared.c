/*
 * Family shared: latency alone, and with bank conflicts by stride (M16 6.2); throughput (M16 6.1).
 *
 *   shared_latency   a chase by one thread, as a trace and as a pass
 *   bank_conflict    phases word4, word8, word16: one warp, strides of 0 to 64 words
 *   shared_copy      axes ctas_per_sm, cta_size, ilp; byte/cycle of one SM
 */
#include <stdio.h>

#include "battery/chase.h"
#include "battery/conflict.h"
#include "battery/grid.h"
#include "battery/tests.h"

enum { LOADS = 64, STRIDE_MAX = 64, COPY_REPEATS = 128 };

static const double ctas_per_sm[] = {1, 2, 3, 4, 5, 6};
static const double cta_sizes[] = {32, 64, 128, 256, 512, 1024};
static const double ilps[] = {1, 2, 4, 8};

enum pb_status pb_test_shared_latency(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = PB_PATH_SHARED,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = "reference",
                                 .footprint_bytes = 1024,
                                 .stride_bytes = 8,
                                 .warm = 512,
                                 .record = 512};
    enum pb_status status = pb_chase_take(session, &spec, recording, NULL, err);

    spec.record = 0;
    spec.timed = 8192;
    return status != PB_OK ? status : pb_chase_take(session, &spec, recording, NULL, err);
}

/* The strides of a word that fit shared memory, all at once, or as many as there are one by one. */
static enum pb_status take_strides(struct pb_session *session, uint32_t word_bytes,
                                   const char *phase, struct pb_recording *recording,
                                   struct pb_error *err)
{
    struct pb_conflict conflicts[STRIDE_MAX + 1];
    size_t count = 0;
    enum pb_status status;

    for (uint32_t stride = 0; stride <= STRIDE_MAX; stride++)
        if ((uint64_t)session->info.warp_size * stride * word_bytes <
            session->info.shared_per_cta_bytes)
            conflicts[count++] = (struct pb_conflict){.word_bytes = word_bytes,
                                                      .stride_words = stride,
                                                      .warm = 16,
                                                      .record = LOADS,
                                                      .sm = -1};
    status = pb_conflicts_take(session, conflicts, count, phase, 0, recording, err);
    if (status != PB_UNSUPPORTED)
        return status;
    status = PB_OK;
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status =
            pb_grid_forgive(pb_conflicts_take(session, &conflicts[i], 1, phase, 0, recording, err));
    return status;
}

enum pb_status pb_test_bank_conflict(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    static const struct {
        uint32_t word_bytes;
        const char *phase;
    } words[] = {{4, "word4"}, {8, "word8"}, {16, "word16"}};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && status == PB_OK; i++)
        status = take_strides(session, words[i].word_bytes, words[i].phase, recording, err);
    return status;
}

static enum pb_status take_copy(struct pb_session *session, const struct pb_shared_stream *stream,
                                struct pb_recording *recording, double *value_out,
                                struct pb_error *err)
{
    struct pb_shared_stream_result result;
    enum pb_status status =
        session->device->ops->shared_stream(session->device, stream, &result, err);

    if (status != PB_OK)
        return pb_grid_forgive(status); /* more CTAs than an SM holds */
    if (result.mismatch_count > 0)
        snprintf(recording->message, sizeof(recording->message),
                 "%llu words were copied wrong with %u CTAs of %u, ILP %u",
                 (unsigned long long)result.mismatch_count, stream->ctas_per_sm, stream->cta_size,
                 stream->ilp);
    *value_out = (double)result.bytes_per_sm / result.cycles;
    return PB_OK;
}

enum pb_status pb_test_shared_copy(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    static const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("ctas_per_sm", "", "thread blocks on each SM", ctas_per_sm),
        PB_GRID_VALUES("cta_size", "", "threads of a block", cta_sizes),
        PB_GRID_VALUES("ilp", "", "words of 4 bytes a thread moves at a time", ilps),
    };
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status =
        pb_grid_open(matrix, axes, 3, "byte/cycle", "copy within one SM, read and written", err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        struct pb_shared_stream stream = {.repeats = COPY_REPEATS};
        size_t at[PB_MATRIX_RANK_MAX];

        pb_grid_place(matrix, i, at);
        stream.ctas_per_sm = (uint32_t)ctas_per_sm[at[0]];
        stream.cta_size = (uint32_t)cta_sizes[at[1]];
        stream.ilp = (uint32_t)ilps[at[2]];
        if (stream.cta_size <= session->info.max_threads_per_cta &&
            stream.ctas_per_sm * stream.cta_size <= session->info.max_threads_per_sm)
            status = take_copy(session, &stream, recording, &matrix->values[i], err);
    }
    return status;
}
