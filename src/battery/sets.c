/*
 * Family cache: which lines share a set (N14 5.1, in steady state).
 *
 * The array fills its cache to the edge, line by line, and one line X more is loaded after it in
 * every pass: the lines that then miss are those of X's set.
 *
 *   conflict            one pass, recorded in order; X is its last access, and footprint is X's end
 *   conflict_shuffled   the same with the array in a shuffled order: policies that keep to one
 *                       part of a set while passes are alike, such as a tree-PLRU, show another
 *   conflict_short      as conflict, with a hundredth of the array left out, where l1_alignment has
 *                       seen the edge move: an array that fills the store of the data, and not its
 *                       sets, conflicts with every X
 *
 * X runs over single high bits of the address, which shows the bits that are hashed into the set
 * index, and over the lines that follow the array, which shows the sets themselves.
 *
 * Limit: L2 only where whole passes can be taken; a large one is sampled, and its sets do not show.
 */
#include <stdlib.h>
#include <string.h>

#include "battery/search.h"
#include "battery/tests.h"

enum {
    CANDIDATES_MIN = 16, /* lines after the array */
    CANDIDATES_MAX = 512,
    CHIP_WIDE_MAX = 256,    /* a pass of L2 is long: fewer there, */
    CHIP_WIDE_SHARE = 4,    /* of a part of the budget */
    SHUFFLED_MAX = 64,      /* of them in a shuffled order too, */
    SHUFFLED_FAR = 2,       /* and so often those far away: a single pair may be an outlier */
    LOADS_BUDGET = 1 << 22, /* of all candidates' passes and their windows */
    LEFT_OUT = 100,         /* one line in so many */
    TOGETHER = 128,         /* arrays with their lines X: more than a device takes at a time */
    HIGH_BIT = 30
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Memory that X may lie in. */
static uint64_t available_bytes_of(const struct pb_session *session, const struct pb_search *search)
{
    if (search->target->path == PB_PATH_CONSTANT)
        return session->info.constant_bytes;
    return min_u64(((uint64_t)1 << HIGH_BIT) + search->stride_bytes,
                   session->info.memory_free_bytes / 2);
}

static size_t candidate_count(const struct pb_session *session, const struct pb_search *search,
                              size_t lines)
{
    bool part = search->target->chip_wide && session->battery < PB_FULL;
    uint64_t window =
        search->target->chip_wide ? session->info.trace_window_large : session->info.trace_window;
    uint64_t launches = (lines + window) / (window > 0 ? window : 1);
    uint64_t loads = lines * launches * (part ? CHIP_WIDE_SHARE : 1);
    uint64_t count = loads > 0 ? LOADS_BUDGET / loads : CANDIDATES_MAX;
    uint64_t most = part ? CHIP_WIDE_MAX : CANDIDATES_MAX;

    count = count < CANDIDATES_MIN ? CANDIDATES_MIN : count;
    return (size_t)(count < most ? count : most);
}

/* The lines of an array in some order, and one more: its offsets are chases' own. */
static struct pb_chase_spec conflict_chase(const struct pb_search *search, const char *phase,
                                           uint64_t *offsets, size_t lines, uint64_t x_bytes)
{
    offsets[lines] = x_bytes;
    return (struct pb_chase_spec){.path = search->target->path,
                                  .order = PB_ORDER_GIVEN,
                                  .phase = phase,
                                  .footprint_bytes = x_bytes + search->stride_bytes,
                                  .stride_bytes = search->stride_bytes,
                                  .offset_bytes = offsets,
                                  .offset_count = lines + 1,
                                  .warm = search->target->chip_wide ? PB_SEARCH_TLB_LOADS
                                                                    : 2 * (lines + 1),
                                  .record = PB_WHOLE_PASS,
                                  .prefill = search->target->chip_wide,
                                  .slack_bytes = search->stride_bytes};
}

static enum pb_status take_conflict(struct pb_session *session, const struct pb_search *search,
                                    const char *phase, uint64_t *offsets, size_t lines,
                                    uint64_t x_bytes, struct pb_recording *recording,
                                    struct pb_error *err)
{
    struct pb_chase_spec spec = conflict_chase(search, phase, offsets, lines, x_bytes);

    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* Chases that wait until there are enough to be taken together. */
struct batch {
    struct pb_chase_spec specs[TOGETHER];
    uint64_t *offsets; /* [TOGETHER][lines + 1] */
    size_t count;
};

static enum pb_status take_batch(struct pb_session *session, struct batch *batch,
                                 struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (batch->count > 0)
        status = pb_chases_take(session, batch->specs, batch->count, recording, NULL, err);
    batch->count = 0;
    return status;
}

/* The array in the order of `offsets`, and X behind it. */
static enum pb_status add_conflict(struct pb_session *session, struct batch *batch,
                                   const struct pb_search *search, const char *phase,
                                   const uint64_t *offsets, size_t lines, uint64_t x_bytes,
                                   struct pb_recording *recording, struct pb_error *err)
{
    uint64_t *own = batch->offsets + batch->count * (lines + 1);

    memcpy(own, offsets, lines * sizeof(*own));
    batch->specs[batch->count++] = conflict_chase(search, phase, own, lines, x_bytes);
    return batch->count < TOGETHER ? PB_OK : take_batch(session, batch, recording, err);
}

static enum pb_status open_batch(struct batch *batch, size_t lines, struct pb_error *err)
{
    batch->count = 0;
    batch->offsets = malloc(TOGETHER * (lines + 1) * sizeof(*batch->offsets));
    if (batch->offsets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating arrays of %zu lines", lines);
    return PB_OK;
}

/* Less memory than there was, or than a texture spans, costs the bits beyond it. */
static bool is_out_of_reach(enum pb_status status)
{
    return status == PB_UNSUPPORTED || status == PB_NO_MEMORY;
}

/*
 * X at single high bits of the address, from the farthest on: memory that grew in between would
 * move the array, and with it the sets of an index that hashes whole addresses.
 */
static enum pb_status take_far(struct pb_session *session, const struct pb_search *search,
                               const char *phase, uint64_t *offsets, size_t lines,
                               struct pb_recording *recording, struct pb_error *err)
{
    uint64_t available = available_bytes_of(session, search), line = search->stride_bytes;
    uint64_t end = (lines + candidate_count(session, search, lines)) * line;
    enum pb_status status = PB_OK;

    for (uint64_t x = (uint64_t)1 << HIGH_BIT; x >= end && status == PB_OK; x /= 2) {
        if (x + line <= available)
            status = take_conflict(session, search, phase, offsets, lines, x, recording, err);
        status = is_out_of_reach(status) ? PB_OK : status;
    }
    return status;
}

static enum pb_status take_candidates(struct pb_session *session, const struct pb_search *search,
                                      const char *phase, uint64_t *offsets, size_t lines,
                                      struct pb_recording *recording, struct pb_error *err)
{
    uint64_t available = available_bytes_of(session, search), line = search->stride_bytes;
    uint64_t end = (lines + candidate_count(session, search, lines)) * line;
    struct batch batch;
    enum pb_status status = take_far(session, search, phase, offsets, lines, recording, err);

    if (status != PB_OK)
        return status;
    status = open_batch(&batch, lines, err);
    for (uint64_t x = lines * line; x < end && x + line <= available && status == PB_OK; x += line)
        status = add_conflict(session, &batch, search, phase, offsets, lines, x, recording, err);
    if (status == PB_OK)
        status = take_batch(session, &batch, recording, err);
    free(batch.offsets);
    return is_out_of_reach(status) ? PB_OK : status;
}

/* The first lines after the array and those far away again, each after a pass in its own order. */
static enum pb_status take_shuffled(struct pb_session *session, const struct pb_search *search,
                                    uint64_t *offsets, size_t lines, struct pb_recording *recording,
                                    struct pb_error *err)
{
    uint64_t available = available_bytes_of(session, search), line = search->stride_bytes;
    size_t count = candidate_count(session, search, lines);
    struct batch batch;
    enum pb_status status = open_batch(&batch, lines, err);

    count = count / 2 < SHUFFLED_MAX ? count / 2 : SHUFFLED_MAX;
    for (size_t i = 0; i < count && (lines + i + 1) * line <= available && status == PB_OK; i++) {
        pb_order_shuffle(offsets, lines, session->seed + i);
        status = add_conflict(session, &batch, search, "conflict_shuffled", offsets, lines,
                              (lines + i) * line, recording, err);
    }
    if (status == PB_OK)
        status = take_batch(session, &batch, recording, err);
    free(batch.offsets);
    for (size_t i = 0; i < SHUFFLED_FAR && status == PB_OK; i++) {
        pb_order_shuffle(offsets, lines, session->seed + count + i);
        status = take_far(session, search, "conflict_shuffled", offsets, lines, recording, err);
    }
    return is_out_of_reach(status) ? PB_OK : status;
}

static enum pb_status sets(struct pb_session *session, enum pb_cache cache,
                           struct pb_recording *recording, struct pb_error *err)
{
    struct pb_search search;
    uint64_t *offsets;
    size_t lines;
    enum pb_status status;

    pb_search_begin(session, cache, &search);
    if (!search.exact)
        return pb_fail(err, PB_UNSUPPORTED,
                       "%s of about %llu bytes is too large for passes over all of it",
                       search.target->name, (unsigned long long)session->info.l2_bytes);
    status = pb_search_from_hints(session, cache, &search, recording, err);
    if (status != PB_OK)
        return status;
    lines = (size_t)(search.fits_bytes / search.stride_bytes);
    offsets = malloc((lines + 1) * sizeof(*offsets));
    if (offsets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating an array of %zu lines", lines);
    for (size_t i = 0; i < lines; i++)
        offsets[i] = i * search.stride_bytes;
    status = take_candidates(session, &search, "conflict", offsets, lines, recording, err);
    if (status == PB_OK && session->hints[cache].is_uneven && lines > LEFT_OUT)
        status = take_candidates(session, &search, "conflict_short", offsets,
                                 lines - lines / LEFT_OUT, recording, err);
    for (size_t i = 0; i < lines; i++)
        offsets[i] = i * search.stride_bytes;
    if (status == PB_OK)
        status = take_shuffled(session, &search, offsets, lines, recording, err);
    free(offsets);
    return status;
}

enum pb_status pb_test_l1_sets(struct pb_session *session, struct pb_recording *recording,
                               struct pb_error *err)
{
    return sets(session, PB_CACHE_L1, recording, err);
}

enum pb_status pb_test_readonly_sets(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sets(session, PB_CACHE_READONLY, recording, err);
}

enum pb_status pb_test_texture_sets(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return sets(session, PB_CACHE_TEXTURE, recording, err);
}

enum pb_status pb_test_constant_sets(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return sets(session, PB_CACHE_CONSTANT, recording, err);
}

enum pb_status pb_test_l2_sets(struct pb_session *session, struct pb_recording *recording,
                               struct pb_error *err)
{
    return sets(session, PB_CACHE_L2, recording, err);
}
