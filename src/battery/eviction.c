/*
 * Lines of one set by eviction; see eviction.h.
 *
 * Lines are drawn from an array several times as large as the cache, three quarters as many as fit.
 * Whether they evict a line shows when it is loaded before them and, by another word of it, after
 * them (phase "eviction": all but that load are warm-up). Of lines that evict it, parts are left
 * out as long as the others still do, in ever smaller parts: what remains are as many lines of its
 * set as the set has ways. Two disjoint draws that evict the same line give twice as many.
 *
 * Source: the reduction by group testing of eviction sets (Vila, Koepf, Morales, S&P 2019).
 */
#include "battery/eviction.h"

#include <stdlib.h>
#include <string.h>

enum {
    DRAWS = 2, /* disjoint, that evict the same line */
    TARGETS_MAX = 96,
    ATTEMPTS = 3,
    AREA_TIMES = 8, /* the lines are drawn from so many times what fits */
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
    struct pb_bench *bench;
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
    struct pb_walk walk = {.path = search->target->path,
                           .order = PB_ORDER_GIVEN,
                           .phase = "eviction",
                           .footprint_bytes = AREA_TIMES * search->fits_bytes,
                           .stride_bytes = search->stride_bytes,
                           .offset_bytes = scratch->chase,
                           .prefill = true,
                           .record = 1};
    struct pb_walk_result result;
    size_t count = 0;
    enum pb_status status;

    scratch->chase[count++] = target;
    memcpy(scratch->chase + count, draw->offset_bytes, first * sizeof(*scratch->chase));
    count += first;
    memcpy(scratch->chase + count, draw->offset_bytes + first + left_out,
           (draw->count - first - left_out) * sizeof(*scratch->chase));
    count += draw->count - first - left_out;
    walk.warm = count;
    scratch->chase[count++] = target + WORD_BYTES;
    walk.offset_count = count;
    status = pb_walk_take(scratch->bench, &walk, scratch->recording, &result, err);
    if (status == PB_OK)
        *evicts_out = pb_search_is_miss(scratch->bench, search,
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

/* A line that each of the draws evicts, among the lines behind them. */
static enum pb_status find_target(const struct scratch *scratch, const struct draw draws[DRAWS],
                                  const uint64_t *targets, size_t count, uint64_t *target_out,
                                  struct pb_error *err)
{
    for (size_t i = 0; i < count && i < TARGETS_MAX; i++) {
        bool is_evicted = true;

        for (size_t d = 0; d < DRAWS && is_evicted; d++) {
            enum pb_status status = evicts(scratch, targets[i], &draws[d], 0, 0, &is_evicted, err);

            if (status != PB_OK)
                return status;
        }
        if (is_evicted) {
            *target_out = targets[i];
            return PB_OK;
        }
    }
    return pb_fail(err, PB_NOT_FOUND, "no line is evicted by others that fit");
}

/* Both draws, reduced, and the target make the group, if they are as they have to be. */
static enum pb_status gather(uint64_t target, const struct draw draws[DRAWS],
                             struct pb_eviction_group *group, struct pb_error *err)
{
    group->ways = draws[0].count;
    group->count = 0;
    for (size_t d = 0; d < DRAWS; d++)
        if (draws[d].count != group->ways || draws[d].count == 0 ||
            DRAWS * group->ways >= PB_EVICTION_MAX)
            return pb_fail(err, PB_NOT_FOUND, "%zu and %zu lines evict the same one",
                           draws[0].count, draws[d].count);
    for (size_t d = 0; d < DRAWS; d++) {
        memcpy(group->offset_bytes + group->count, draws[d].offset_bytes,
               group->ways * sizeof(*group->offset_bytes));
        group->count += group->ways;
    }
    group->offset_bytes[group->count++] = target;
    return PB_OK;
}

static enum pb_status find(const struct scratch *scratch, uint64_t *lines, size_t count,
                           struct pb_eviction_group *group_out, struct pb_error *err)
{
    size_t each = (size_t)(scratch->search->fits_bytes / scratch->search->stride_bytes);
    struct draw draws[DRAWS];
    uint64_t target = 0;
    enum pb_status status;

    each -= each / SHARE;
    for (size_t d = 0; d < DRAWS; d++)
        draws[d] = (struct draw){lines + d * each, each};
    status = find_target(scratch, draws, lines + DRAWS * each, count - DRAWS * each, &target, err);
    for (size_t d = 0; d < DRAWS && status == PB_OK; d++)
        status = reduce(scratch, target, &draws[d], err);
    return status == PB_OK ? gather(target, draws, group_out, err) : status;
}

/* Again with other lines where a latency was not what it looked like. */
enum pb_status pb_eviction_group_find(struct pb_bench *bench, const struct pb_search *search,
                                      struct pb_recording *recording,
                                      struct pb_eviction_group *group_out, struct pb_error *err)
{
    size_t count = (size_t)(AREA_TIMES * search->fits_bytes / search->stride_bytes);
    uint64_t *lines = malloc(2 * count * sizeof(*lines)); /* the other half is for the chases */
    const struct scratch scratch = {bench, search, recording, lines + count};
    enum pb_status status = PB_NOT_FOUND;

    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", count);
    for (uint64_t attempt = 0; attempt < ATTEMPTS && status == PB_NOT_FOUND; attempt++) {
        for (size_t i = 0; i < count; i++)
            lines[i] = i * search->stride_bytes;
        pb_order_shuffle(lines, count, bench->seed + attempt);
        status = find(&scratch, lines, count, group_out, err);
    }
    group_out->area_bytes = AREA_TIMES * search->fits_bytes;
    free(lines);
    return status;
}
