/* Bank conflicts; see conflict.h. */
#include "battery/conflict.h"

#include <stdlib.h>

/* The arrays of all of them, one behind the other. */
struct trace_buffers {
    uint32_t *latency_cycles;
    uint64_t *index_bytes;
    struct pb_chase_trace *traces;
};

static enum pb_status open_buffers(const struct pb_conflict *conflicts, size_t count,
                                   struct trace_buffers *buffers, struct pb_error *err)
{
    size_t record = (size_t)conflicts->record;

    buffers->latency_cycles = malloc(count * record * sizeof(*buffers->latency_cycles));
    buffers->index_bytes = malloc(count * record * sizeof(*buffers->index_bytes));
    buffers->traces = calloc(count, sizeof(*buffers->traces));
    if (buffers->latency_cycles == NULL || buffers->index_bytes == NULL || buffers->traces == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu bank conflicts", count);
    for (size_t i = 0; i < count; i++)
        buffers->traces[i] =
            (struct pb_chase_trace){.latency_cycles = buffers->latency_cycles + i * record,
                                    .index_bytes = buffers->index_bytes + i * record,
                                    .sm_id = -1};
    return PB_OK;
}

static void close_buffers(struct trace_buffers *buffers)
{
    free(buffers->traces);
    free(buffers->index_bytes);
    free(buffers->latency_cycles);
}

static enum pb_status file(const struct pb_session *session, const struct pb_conflict *conflict,
                           const struct pb_chase_trace *trace, const char *phase, uint64_t repeat,
                           struct pb_recording *recording, struct pb_error *err)
{
    uint64_t stride_bytes = (uint64_t)conflict->stride_words * conflict->word_bytes;
    struct pb_point point = {.footprint_bytes = session->info.warp_size * stride_bytes,
                             .stride_bytes = stride_bytes,
                             .count = conflict->record,
                             .warm = conflict->warm,
                             .window = trace->window,
                             .overhead_cycles = session->overhead_cycles,
                             .base_address = trace->base_address,
                             .carveout_bytes = trace->carveout_bytes,
                             .repeat = repeat,
                             .sm_id = trace->sm_id};

    PB_TEXT_SET(point.path, pb_path_name(PB_PATH_SHARED));
    PB_TEXT_SET(point.order, "warp");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, phase);
    recording->sm_id = trace->sm_id;
    return pb_series_append(&recording->series, &point, trace->latency_cycles, trace->index_bytes,
                            err);
}

enum pb_status pb_conflicts_take(struct pb_session *session, const struct pb_conflict *conflicts,
                                 size_t count, const char *phase, uint64_t repeat,
                                 struct pb_recording *recording, struct pb_error *err)
{
    struct trace_buffers buffers = {NULL, NULL, NULL};
    enum pb_status status = open_buffers(conflicts, count, &buffers, err);

    if (status == PB_OK)
        status =
            session->device->ops->conflicts(session->device, conflicts, count, buffers.traces, err);
    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = file(session, &conflicts[i], &buffers.traces[i], phase, repeat, recording, err);
    close_buffers(&buffers);
    return status;
}
