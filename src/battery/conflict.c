/* Bank conflicts; see conflict.h. */
#include "battery/conflict.h"

#include <stdlib.h>

/* The arrays of all of them, one behind the other. */
struct room {
    uint32_t *latency_cycles;
    uint64_t *index_bytes;
    struct pb_chase_trace *traces;
};

static enum pb_status open_room(const struct pb_conflict *conflicts, size_t count,
                                struct room *room, struct pb_error *err)
{
    size_t record = (size_t)conflicts->record;

    room->latency_cycles = malloc(count * record * sizeof(*room->latency_cycles));
    room->index_bytes = malloc(count * record * sizeof(*room->index_bytes));
    room->traces = calloc(count, sizeof(*room->traces));
    if (room->latency_cycles == NULL || room->index_bytes == NULL || room->traces == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu bank conflicts", count);
    for (size_t i = 0; i < count; i++)
        room->traces[i] =
            (struct pb_chase_trace){.latency_cycles = room->latency_cycles + i * record,
                                    .index_bytes = room->index_bytes + i * record,
                                    .sm_id = -1};
    return PB_OK;
}

static void close_room(struct room *room)
{
    free(room->traces);
    free(room->index_bytes);
    free(room->latency_cycles);
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
    struct room room = {NULL, NULL, NULL};
    enum pb_status status = open_room(conflicts, count, &room, err);

    if (status == PB_OK)
        status =
            session->device->ops->conflicts(session->device, conflicts, count, room.traces, err);
    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = file(session, &conflicts[i], &room.traces[i], phase, repeat, recording, err);
    close_room(&room);
    return status;
}
