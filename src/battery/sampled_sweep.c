/*
 * Where hits turn into misses in an array that is too long to be recorded: see search.h.
 *
 * First a few thousand slots of the whole array are recorded, far apart. Between two of them that
 * differ lies a turn: some such stretches are then recorded slot by slot. In both chases the slots
 * to be recorded come first and all others after them, so that the cache holds the same as ever.
 */
#include <stdlib.h>
#include <string.h>

#include "battery/search.h"

enum {
    SAMPLES_MAX = 4096,
    STRETCHES_MAX = 8,   /* in pairs: where misses begin, and where they end */
    STRETCH_GRAIN = 4096 /* stretches begin and end where any line does */
};

/* The array, and the order it is loaded in. */
struct spread {
    uint64_t stride_bytes, step_bytes; /* of slots, and of samples */
    size_t slots;
    bool *is_first; /* [slots] to be recorded, and so placed already */
    uint64_t *offset_bytes;
    size_t placed;
};

static void place(struct spread *spread, uint64_t offset_bytes)
{
    size_t slot = (size_t)(offset_bytes / spread->stride_bytes);

    if (slot >= spread->slots || spread->is_first[slot])
        return;
    spread->is_first[slot] = true;
    spread->offset_bytes[spread->placed++] = slot * spread->stride_bytes;
}

static void begin(struct spread *spread)
{
    memset(spread->is_first, 0, spread->slots * sizeof(*spread->is_first));
    spread->placed = 0;
}

/* Loads what was placed, recorded, and the rest. */
static enum pb_status take(struct pb_session *session, const struct pb_search *search,
                           const char *phase, struct spread *spread, struct pb_recording *recording,
                           struct pb_chase_result *result_out, struct pb_error *err)
{
    size_t first = spread->placed;
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = phase,
                                 .footprint_bytes = spread->slots * spread->stride_bytes,
                                 .stride_bytes = spread->stride_bytes,
                                 .offset_bytes = spread->offset_bytes,
                                 .offset_count = spread->slots,
                                 .record = first,
                                 .prefill = search->target->chip_wide};

    for (size_t i = 0; i < spread->slots; i++)
        if (!spread->is_first[i])
            spread->offset_bytes[spread->placed++] = i * spread->stride_bytes;
    return pb_chase_take(session, &spec, recording, result_out, err);
}

/* One of `wanted` out of so many, evenly; all of fewer. */
static bool is_chosen(size_t i, size_t count, size_t wanted)
{
    return (i + 1) * wanted / count != i * wanted / count;
}

/* Places the stretches between samples that differ: of many some, evenly. False: there are none. */
static bool place_stretches(const struct pb_session *session, const struct pb_search *search,
                            const struct pb_recording *recording,
                            const struct pb_chase_result *samples, struct spread *spread)
{
    const uint32_t *latency = recording->series.latency_cycles + samples->first;
    size_t turns = 0, seen = 0;

    begin(spread);
    for (size_t i = 1; i < samples->count; i++)
        turns += pb_search_is_miss(session, search, latency[i]) !=
                 pb_search_is_miss(session, search, latency[i - 1]);
    if (turns == 0)
        return false;
    for (size_t i = 1; i < samples->count; i++) {
        if (pb_search_is_miss(session, search, latency[i]) ==
            pb_search_is_miss(session, search, latency[i - 1]))
            continue;
        seen++;
        if (!is_chosen((seen - 1) / 2, (turns + 1) / 2, STRETCHES_MAX / 2))
            continue;
        for (uint64_t at = (i - 1) * spread->step_bytes; at < (i + 1) * spread->step_bytes;
             at += spread->stride_bytes)
            place(spread, at);
    }
    return spread->placed > 0;
}

static enum pb_status chase_both(struct pb_session *session, const struct pb_search *search,
                                 struct spread *spread, struct pb_recording *recording,
                                 struct pb_chase_result *result_out, struct pb_error *err)
{
    uint64_t footprint_bytes = spread->slots * spread->stride_bytes;
    struct pb_chase_result samples;
    enum pb_status status;

    begin(spread);
    for (uint64_t at = 0; at < footprint_bytes; at += spread->step_bytes)
        place(spread, at);
    status = take(session, search, "sampled", spread, recording, &samples, err);
    *result_out = (struct pb_chase_result){.first = samples.first};
    if (status == PB_OK && place_stretches(session, search, recording, &samples, spread))
        status = take(session, search, "overflow", spread, recording, result_out, err);
    return status;
}

enum pb_status pb_search_sampled(struct pb_session *session, const struct pb_search *search,
                                 uint64_t footprint_bytes, uint64_t stride_bytes,
                                 struct pb_recording *recording, struct pb_chase_result *result_out,
                                 struct pb_error *err)
{
    uint64_t step = (footprint_bytes / SAMPLES_MAX / STRETCH_GRAIN + 1) * STRETCH_GRAIN;
    struct spread spread = {.stride_bytes = stride_bytes,
                            .step_bytes = step,
                            .slots = (size_t)(footprint_bytes / stride_bytes)};
    enum pb_status status;

    spread.is_first = malloc(spread.slots * sizeof(*spread.is_first));
    spread.offset_bytes = malloc(spread.slots * sizeof(*spread.offset_bytes));
    if (spread.is_first == NULL || spread.offset_bytes == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating an array of %zu slots",
                         spread.slots);
    else
        status = chase_both(session, search, &spread, recording, result_out, err);
    free(spread.offset_bytes);
    free(spread.is_first);
    return status;
}
