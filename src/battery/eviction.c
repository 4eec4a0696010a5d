/*
 * Lines of one set by eviction; see eviction.h.
 *
 * Lines are chosen at random from an array twice as large as the cache, three quarters as many as
 * fit. Whether they evict a line shows when it is loaded before them and, by another word of it,
 * after them (phase "eviction": all but that load are warm-up). Of lines that evict it, parts are
 * left out as long as the others still do, in ever smaller parts: what remains are as many lines of
 * its set as the set has ways.
 *
 * Source: the reduction by group testing of eviction sets (Vila, Koepf, Morales, S&P 2019).
 */
#include "battery/eviction.h"

#include <stdlib.h>
#include <string.h>

enum {
    TARGETS_MAX = 96,
    ATTEMPTS = 3,
    CONFIRMATIONS = 16, /* that it is not left to chance */
    AREA_TIMES = 2, /* the lines are chosen from so many times what fits: the bits of the index that
                       l1_sets resolves */
    SHARE = 4,      /* all but one in so many of the lines that fit are loaded */
    PARTS = 8,      /* of which one is left out at first */
    WORD_BYTES = 8
};

/* Lines in the order of their loads, and room for a chase over them. */
struct draw {
    uint64_t *offset_bytes;
    size_t count;
};

struct scratch {
    struct pb_session *session;
    const struct pb_search *search;
    struct pb_recording *recording;
    uint64_t *chase;
};

/* Is the line at `target` gone after loads of the draw's lines but [first, first + left_out)? */
static enum pb_status evicts(const struct scratch *scratch, uint64_t target,
                             const struct draw *draw, size_t first, size_t left_out,
                             bool *evicts_out, struct pb_error *err)
{
    const struct pb_search *search = scratch->search;
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = "eviction",
                                 .footprint_bytes = AREA_TIMES * search->fits_bytes,
                                 .stride_bytes = search->stride_bytes,
                                 .offset_bytes = scratch->chase,
                                 .prefill = true,
                                 .record = 1};
    struct pb_chase_result result;
    size_t count = 0;
    enum pb_status status;

    scratch->chase[count++] = target;
    memcpy(scratch->chase + count, draw->offset_bytes, first * sizeof(*scratch->chase));
    count += first;
    memcpy(scratch->chase + count, draw->offset_bytes + first + left_out,
           (draw->count - first - left_out) * sizeof(*scratch->chase));
    count += draw->count - first - left_out;
    spec.warm = count;
    scratch->chase[count++] = target + WORD_BYTES;
    spec.offset_count = count;
    status = pb_chase_take(scratch->session, &spec, scratch->recording, &result, err);
    if (status == PB_OK)
        *evicts_out = pb_search_is_miss(scratch->session, search,
                                        scratch->recording->series.latency_cycles[result.first]);
    return status;
}

static void leave_out(struct draw *draw, size_t first, size_t count)
{
    memmove(draw->offset_bytes + first, draw->offset_bytes + first + count,
            (draw->count - first - count) * sizeof(*draw->offset_bytes));
    draw->count -= count;
}

/* Leaves out whatever the eviction of the target does not need. */
static enum pb_status reduce(const struct scratch *scratch, uint64_t target, struct draw *draw,
                             struct pb_error *err)
{
    for (size_t part = (draw->count + PARTS - 1) / PARTS; part > 0; part /= 2)
        for (size_t first = 0; first < draw->count;) {
            size_t count = draw->count - first < part ? draw->count - first : part;
            bool still = false;
            enum pb_status status = evicts(scratch, target, draw, first, count, &still, err);

            if (status != PB_OK)
                return status;
            if (still)
                leave_out(draw, first, count);
            else
                first += count;
        }
    return PB_OK;
}

/* A line that the draw evicts, among the lines behind it. */
static enum pb_status find_target(const struct scratch *scratch, const struct draw *draw,
                                  const uint64_t *targets, size_t count, uint64_t *target_out,
                                  struct pb_error *err)
{
    bool is_evicted = false;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && i < TARGETS_MAX && status == PB_OK && !is_evicted; i++) {
        *target_out = targets[i];
        status = evicts(scratch, targets[i], draw, 0, 0, &is_evicted, err);
    }
    if (status == PB_OK && !is_evicted)
        return pb_fail(err, PB_NOT_FOUND, "no line is evicted by others that fit");
    return status;
}

static enum pb_status find(const struct scratch *scratch, uint64_t *lines, size_t count,
                           struct pb_eviction_group *group_out, struct pb_error *err)
{
    size_t fits = (size_t)(scratch->search->fits_bytes / scratch->search->stride_bytes);
    struct draw draw = {lines, fits - fits / SHARE};
    bool is_evicted = true;
    uint64_t target = 0;
    enum pb_status status =
        find_target(scratch, &draw, lines + draw.count, count - draw.count, &target, err);

    if (status == PB_OK)
        status = reduce(scratch, target, &draw, err);
    for (size_t i = 0; i < CONFIRMATIONS && status == PB_OK && is_evicted; i++)
        status = evicts(scratch, target, &draw, 0, 0, &is_evicted, err);
    if (status != PB_OK)
        return status;
    if (!is_evicted || draw.count == 0 || draw.count >= PB_EVICTION_MAX)
        return pb_fail(err, PB_NOT_FOUND, "%zu lines evict no other one every time", draw.count);
    memcpy(group_out->offset_bytes, draw.offset_bytes,
           draw.count * sizeof(*group_out->offset_bytes));
    group_out->offset_bytes[draw.count] = target;
    group_out->count = draw.count + 1;
    return PB_OK;
}

/* Again with other lines where a latency was not what it looked like. */
enum pb_status pb_eviction_group_find(struct pb_session *session, const struct pb_search *search,
                                      struct pb_recording *recording,
                                      struct pb_eviction_group *group_out, struct pb_error *err)
{
    size_t count = (size_t)(AREA_TIMES * search->fits_bytes / search->stride_bytes);
    uint64_t *lines = malloc((2 * count + 2) * sizeof(*lines)); /* chases: a target at both ends */
    struct scratch scratch = {session, search, recording, lines};
    enum pb_status status = PB_NOT_FOUND;

    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", count);
    scratch.chase += count;
    for (uint64_t attempt = 0; attempt < ATTEMPTS && status == PB_NOT_FOUND; attempt++) {
        for (size_t i = 0; i < count; i++)
            lines[i] = i * search->stride_bytes;
        pb_order_shuffle(lines, count, session->seed + attempt);
        status = find(&scratch, lines, count, group_out, err);
    }
    group_out->area_bytes = AREA_TIMES * search->fits_bytes;
    free(lines);
    return status;
}
