/*
 * Family cache: how a set chooses its victims (M16 4.5).
 *
 *   members   the array fills the cache to the edge and the line after it comes last in every pass:
 *             what misses is that line's set. Repeated, since a random victim hides the others, and
 *             every second time in a shuffled order, which a tree-PLRU needs to show them; at last
 *             in random order by several words of each line, where no pass is like the one before:
 *             while passes are alike, a tree-PLRU shows one or two lines of many. Where next to no
 *             line misses twice, it is chance that makes them miss, and that line still fits: the
 *             edge was a line or two too low, and the array grows by a line
 *   overflow  the lines found so far alone, pass after pass: where none misses they fit, so that
 *             some of the set are still unknown and the search goes on
 *   eviction  instead of both where the edge moves with the array's start, so that an array at the
 *             edge overflows several sets, or the store of the data: lines of one set (eviction.c)
 *   victim    only the lines of that set, one more than it has ways, pass after pass from an empty
 *             cache: the hits and misses show which way each miss has emptied
 *   random    the same lines in random order, each several times by other words of it: this
 *             distinguishes policies that agree on passes, such as LRU and FIFO
 *
 * Repeats of "victim" start at another line each, so that ways are distinguished from lines.
 */
#include <stdlib.h>
#include <string.h>

#include "battery/eviction.h"
#include "battery/search.h"
#include "battery/tests.h"

enum {
    MEMBER_PASSES = 256,
    MEMBER_LOADS = 1 << 22, /* of all of them and what warms them */
    MEMBER_MISSES = 2,      /* of a line, to be one of the set: spikes fall on a line once */
    ORDERED_PASSES = 16,    /* the first so many in an order that every pass keeps to */
    EDGE_LINES = 4,         /* beyond the edge, which may be too low by one less */
    QUIET_PASSES = 2,       /* in a row without a new member: all are known */
    PASSES_AT_ONCE = 16,    /* recorded together where the window holds them */
    OVERFLOW_PASSES = 4,
    VICTIM_REPEATS = 16,
    RANDOM_REPEATS = 32, /* an H200's L1 and LRU differ in 6 of 80 loads */
    RANDOM_PASSES = 4,
    LINE_WORDS = 4,     /* in the first 32 bytes of a line: one sector */
    VICTIM_LOADS = 4096 /* at most */
};

/* The lines of one set. */
struct members {
    uint64_t *offset_bytes; /* ascending; room for every line of the longest array */
    uint8_t *missed;        /* by line number: how often, up to MEMBER_MISSES */
    size_t lines, count;
};

static void gather_members(const struct pb_search *search, struct members *members)
{
    members->count = 0;
    for (size_t i = 0; i < members->lines; i++)
        if (members->missed[i] >= MEMBER_MISSES)
            members->offset_bytes[members->count++] = i * search->stride_bytes;
}

static size_t edge_lines(const struct pb_search *search)
{
    return (size_t)(search->fits_bytes / search->stride_bytes);
}

/* Counts what missed; returns how many members were not known before. */
static size_t mark_misses(const struct pb_session *session, const struct pb_search *search,
                          const struct pb_recording *recording, const struct pb_chase_result *pass,
                          struct members *members)
{
    const uint32_t *latency = recording->series.latency_cycles + pass->first;
    const uint64_t *index = recording->series.index_bytes + pass->first;
    size_t found = 0;

    for (size_t i = 0; i < pass->count; i++) {
        uint8_t *missed = &members->missed[index[i] / search->stride_bytes];

        if (*missed >= MEMBER_MISSES || !pb_search_is_miss(session, search, latency[i]))
            continue;
        ++*missed;
        found += *missed == MEMBER_MISSES;
    }
    return found;
}

/* Does the line after the array still fit? The misses of a set fall on the same lines again. */
static bool fits_too(const struct members *members)
{
    size_t hints = 0, outliers = 0;

    for (size_t i = 0; i < members->lines; i++) {
        hints += members->missed[i] >= MEMBER_MISSES;
        outliers += members->missed[i] > 0 && members->missed[i] < MEMBER_MISSES;
    }
    return hints < 2 || outliers > hints;
}

/* With the line after the array, which is of the set. */
static void start_with(struct members *members, size_t lines)
{
    memset(members->missed, 0, lines * sizeof(*members->missed));
    members->lines = lines;
    members->missed[lines - 1] = MEMBER_MISSES;
}

/* As many whole passes as one launch records, and one pass at least. */
static uint64_t member_loads(const struct pb_session *session, size_t lines)
{
    uint64_t passes = session->info.trace_window / lines;

    passes = passes < PASSES_AT_ONCE ? passes : PASSES_AT_ONCE;
    return (passes > 0 ? passes : 1) * lines;
}

/* A chase over given slots from an empty cache. */
static struct pb_chase_spec cold_chase(const struct pb_search *search,
                                       const struct members *members, const char *phase,
                                       const uint64_t *offsets, size_t count)
{
    return (struct pb_chase_spec){.path = search->target->path,
                                  .order = PB_ORDER_GIVEN,
                                  .phase = phase,
                                  .footprint_bytes = members->lines * search->stride_bytes,
                                  .stride_bytes = search->stride_bytes,
                                  .offset_bytes = offsets,
                                  .offset_count = count,
                                  .prefill = true};
}

/* Do the lines found so far, alone, miss again once all were loaded? offsets has room for them. */
static enum pb_status check_overflow(struct pb_session *session, const struct pb_search *search,
                                     struct members *members, struct pb_recording *recording,
                                     bool *overflow_out, struct pb_error *err)
{
    struct pb_chase_spec spec;
    struct pb_chase_result passes;
    uint64_t window = session->info.trace_window;
    enum pb_status status;
    size_t misses = 0;

    gather_members(search, members);
    spec = cold_chase(search, members, "overflow", members->offset_bytes, members->count);
    spec.record = OVERFLOW_PASSES * members->count;
    spec.record = window < spec.record ? window : spec.record;
    status = pb_chase_take(session, &spec, recording, &passes, err);
    if (status != PB_OK)
        return status;
    for (size_t i = members->count; i < passes.count; i++)
        misses +=
            pb_search_is_miss(session, search, recording->series.latency_cycles[passes.first + i]);
    *overflow_out = misses + 1 >= OVERFLOW_PASSES; /* one in every pass but the first: no spike */
    return PB_OK;
}

/* Words of a line: so many as a sector surely has. */
static size_t words_of(const struct pb_search *search)
{
    return search->stride_bytes / 8 < LINE_WORDS ? search->stride_bytes / 8 : LINE_WORDS;
}

/* The first words of the members' lines; returns their number. */
static size_t list_words(const struct pb_search *search, const struct members *members,
                         uint64_t *offsets)
{
    size_t count = members->count, words = words_of(search) * count;

    for (size_t i = 0; i < words; i++)
        offsets[i] = members->offset_bytes[i % count] + 8 * (i / count);
    return words;
}

/* One more chase over the array and the line after it. */
static struct pb_chase_spec member_chase(const struct pb_session *session,
                                         const struct pb_search *search,
                                         const struct members *members, uint32_t repeat)
{
    bool ordered = repeat < ORDERED_PASSES;
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .order = repeat % 2 == 0 ? PB_ORDER_SEQUENTIAL : PB_ORDER_RANDOM,
                                 .phase = "members",
                                 .footprint_bytes = members->lines * search->stride_bytes,
                                 .stride_bytes = search->stride_bytes,
                                 .warm = (2 + repeat) * members->lines,
                                 .record = member_loads(session, members->lines),
                                 .seed = repeat,
                                 .repeat = repeat};

    if (ordered)
        return spec;
    spec.order = PB_ORDER_WORDS;
    spec.words = words_of(search);
    spec.warm = pb_chase_slots(&spec);
    return spec;
}

/*
 * Passes until nothing new is found and what was found is more than fits, or too many were taken.
 * *fits_out: it all fits.
 */
static enum pb_status find_members(struct pb_session *session, const struct pb_search *search,
                                   struct members *members, struct pb_recording *recording,
                                   bool *fits_out, struct pb_error *err)
{
    bool overflow = false;
    uint64_t loads = 0;

    for (uint32_t quiet = 0, repeat = 0;
         repeat < MEMBER_PASSES && loads < MEMBER_LOADS && !overflow; repeat++) {
        struct pb_chase_spec spec = member_chase(session, search, members, repeat);
        struct pb_chase_result result;
        enum pb_status status = pb_chase_take(session, &spec, recording, &result, err);

        if (status != PB_OK)
            return status;
        loads += spec.warm + spec.record;
        quiet = mark_misses(session, search, recording, &result, members) > 0 ? 0 : quiet + 1;
        if (quiet >= QUIET_PASSES)
            status = check_overflow(session, search, members, recording, &overflow, err);
        if (status != PB_OK)
            return status;
        if (repeat + 1 == ORDERED_PASSES && fits_too(members))
            break;
    }
    gather_members(search, members);
    *fits_out = !overflow && fits_too(members);
    return PB_OK;
}

/* By an array at the edge, or one that is a few lines longer: where the last line's set shows. */
static enum pb_status find_set(struct pb_session *session, const struct pb_search *search,
                               struct members *members, struct pb_recording *recording,
                               struct pb_error *err)
{
    enum pb_status status = PB_OK;
    bool fits = true;

    for (size_t more = 1; status == PB_OK && fits && more <= EDGE_LINES; more++) {
        start_with(members, edge_lines(search) + more);
        status = find_members(session, search, members, recording, &fits, err);
    }
    if (status == PB_OK && fits)
        return pb_fail(err, PB_NOT_FOUND, "up to %d lines more than fits make no other miss again",
                       EDGE_LINES);
    return status;
}

static enum pb_status take_victims(struct pb_session *session, const struct pb_search *search,
                                   const struct members *members, uint64_t *offsets,
                                   struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = cold_chase(search, members, "victim", offsets, members->count);
    uint64_t window = session->info.trace_window;

    spec.record = window < VICTIM_LOADS ? window : VICTIM_LOADS;
    for (spec.repeat = 0; spec.repeat < VICTIM_REPEATS; spec.repeat++) {
        enum pb_status status;

        for (size_t i = 0; i < members->count; i++)
            offsets[i] = members->offset_bytes[(i + spec.repeat) % members->count];
        status = pb_chase_take(session, &spec, recording, NULL, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

static enum pb_status take_random(struct pb_session *session, const struct pb_search *search,
                                  const struct members *members, uint64_t *offsets,
                                  struct pb_recording *recording, struct pb_error *err)
{
    size_t count = list_words(search, members, offsets);
    struct pb_chase_spec spec = cold_chase(search, members, "random", offsets, count);

    spec.record = RANDOM_PASSES * count;
    for (spec.repeat = 0; spec.repeat < RANDOM_REPEATS; spec.repeat++) {
        enum pb_status status;

        list_words(search, members, offsets);
        spec.seed = session->seed + spec.repeat;
        pb_order_shuffle(offsets, count, spec.seed);
        status = pb_chase_take(session, &spec, recording, NULL, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

/* Members that eviction finds. */
static enum pb_status find_by_eviction(struct pb_session *session, const struct pb_search *search,
                                       struct members *members, struct pb_recording *recording,
                                       struct pb_error *err)
{
    struct pb_eviction_group group;
    enum pb_status status = pb_eviction_group_find(session, search, recording, &group, err);

    if (status != PB_OK)
        return status;
    memcpy(members->offset_bytes, group.offset_bytes, group.count * sizeof(*members->offset_bytes));
    members->count = group.count;
    members->lines = (size_t)(group.area_bytes / search->stride_bytes);
    return PB_OK;
}

/*
 * Where the edge moves with the array's start (l1_alignment), an array at the edge overflows
 * several sets, or the store of the data: there members are found by eviction, if they are.
 */
static enum pb_status take_set(struct pb_session *session, const struct pb_search *search,
                               struct members *members, uint64_t *offsets,
                               struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_NOT_FOUND;

    if (session->hints[search->cache].is_uneven)
        status = find_by_eviction(session, search, members, recording, err);
    if (status == PB_NOT_FOUND)
        status = find_set(session, search, members, recording, err);
    if (status == PB_OK)
        status = take_victims(session, search, members, offsets, recording, err);
    if (status == PB_OK)
        status = take_random(session, search, members, offsets, recording, err);
    return status;
}

static enum pb_status policy(struct pb_session *session, enum pb_cache cache,
                             struct pb_recording *recording, struct pb_error *err)
{
    struct members members = {.count = 0};
    struct pb_search search;
    uint64_t *offsets;
    size_t lines;
    enum pb_status status = pb_search_from_hints(session, cache, &search, recording, err);

    if (status != PB_OK)
        return status;
    lines = edge_lines(&search) + EDGE_LINES;
    lines = lines < PB_EVICTION_MAX ? PB_EVICTION_MAX : lines;
    members.offset_bytes = malloc(lines * sizeof(*members.offset_bytes));
    members.missed = malloc(lines * sizeof(*members.missed));
    offsets = malloc(LINE_WORDS * lines * sizeof(*offsets));
    if (members.offset_bytes == NULL || members.missed == NULL || offsets == NULL)
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating the lines of a set of %zu", lines);
    else
        status = take_set(session, &search, &members, offsets, recording, err);
    free(offsets);
    free(members.missed);
    free(members.offset_bytes);
    return status;
}

enum pb_status pb_test_l1_policy(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    return policy(session, PB_CACHE_L1, recording, err);
}

enum pb_status pb_test_readonly_policy(struct pb_session *session, struct pb_recording *recording,
                                       struct pb_error *err)
{
    return policy(session, PB_CACHE_READONLY, recording, err);
}

enum pb_status pb_test_texture_policy(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    return policy(session, PB_CACHE_TEXTURE, recording, err);
}

enum pb_status pb_test_constant_policy(struct pb_session *session, struct pb_recording *recording,
                                       struct pb_error *err)
{
    return policy(session, PB_CACHE_CONSTANT, recording, err);
}
