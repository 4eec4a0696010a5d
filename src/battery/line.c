/*
 * Family cache: line and sector of each cache (M16 4.2 stage 1).
 *
 * Views that together show what one alone cannot:
 *   cold      word by word through an empty cache: how much one miss brings in, and what runs ahead
 *   backward  the same from the end, where nothing that goes forward runs ahead
 *   overflow  a little more than fits, sector by sector, each chase twice, so that a spike differs
 *             from a miss: where hits turn into misses; of a large cache stretches that are looked
 *             for first (phase sampled)
 *   stride    a quarter more than fits, ever sparser: from which stride on it fits again
 */
#include "battery/search.h"
#include "battery/tests.h"

enum {
    COLD_BYTES = 4096,
    WORD_BYTES = 8,
    STRIDE_STEPS = 4,
    STEADY_LOADS = 16384, /* recorded of a pass, at most: only where turns lie matters here */
    LONGEST_LINE = 512,
    ALIGNMENTS = 16
};

/* Addresses where hits turn into misses or back, by the power of two that divides them. */
struct turns {
    size_t of_alignment[ALIGNMENTS], total;
};

/* The commonest distance between two misses of the cold chase; 0 where there is none. */
static uint64_t fetch_distance(const struct pb_session *session, const struct pb_search *search,
                               const struct pb_recording *recording,
                               const struct pb_chase_result *cold)
{
    const uint32_t *latency = recording->series.latency_cycles + cold->first;
    size_t seen[COLD_BYTES / WORD_BYTES] = {0}, last = 0, best = 0;

    for (size_t i = 1; i < cold->count; i++) {
        if (latency[i] - session->overhead_cycles < search->miss_low_cycles)
            continue;
        seen[i - last]++;
        last = i;
    }
    for (size_t i = 1; i < COLD_BYTES / WORD_BYTES; i++)
        if (seen[i] > seen[best])
            best = i;
    return best * WORD_BYTES;
}

static enum pb_status take_cold(struct pb_session *session, const struct pb_search *search,
                                const char *phase, const uint64_t *offsets,
                                struct pb_recording *recording, uint64_t *distance_bytes_out,
                                struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .order = offsets != NULL ? PB_ORDER_GIVEN : PB_ORDER_SEQUENTIAL,
                                 .phase = phase,
                                 .footprint_bytes = COLD_BYTES,
                                 .stride_bytes = WORD_BYTES,
                                 .offset_bytes = offsets,
                                 .offset_count = COLD_BYTES / WORD_BYTES,
                                 .record = PB_WHOLE_PASS,
                                 .prefill = !search->target->chip_wide,
                                 .flush = search->target->chip_wide};
    struct pb_chase_result cold;
    enum pb_status status = pb_chase_take(session, &spec, recording, &cold, err);

    if (status == PB_OK)
        *distance_bytes_out = fetch_distance(session, search, recording, &cold);
    return status;
}

/*
 * What a miss fetches: the distance of misses from either end, where nothing ran ahead; 32 where
 * neither shows one.
 */
static enum pb_status take_cold_both(struct pb_session *session, const struct pb_search *search,
                                     struct pb_recording *recording, uint64_t *sector_bytes_out,
                                     struct pb_error *err)
{
    enum { WORDS = COLD_BYTES / WORD_BYTES };
    uint64_t offsets[WORDS], forward = 0, backward = 0;
    enum pb_status status = take_cold(session, search, "cold", NULL, recording, &forward, err);

    for (uint64_t i = 0; i < WORDS; i++)
        offsets[i] = (WORDS - 1 - i) * WORD_BYTES;
    if (status == PB_OK)
        status = take_cold(session, search, "backward", offsets, recording, &backward, err);
    if (status != PB_OK)
        return status;
    if (forward == 0 || (backward > 0 && backward < forward))
        forward = backward;
    *sector_bytes_out = forward > 0 ? forward : 32;
    return PB_OK;
}

static enum pb_status take_steady(struct pb_session *session, const struct pb_search *search,
                                  const char *phase, uint64_t repeat, uint64_t footprint_bytes,
                                  uint64_t stride_bytes, struct pb_recording *recording,
                                  struct pb_chase_result *result_out, struct pb_error *err)
{
    struct pb_chase_spec spec;

    footprint_bytes -= footprint_bytes % stride_bytes;
    spec = pb_search_steady(search, phase, footprint_bytes, stride_bytes);
    spec.repeat = repeat;
    spec.order = PB_ORDER_SEQUENTIAL; /* neighbours must follow each other */
    if (pb_chase_slots(&spec) > STEADY_LOADS)
        spec.record = STEADY_LOADS;
    return pb_chase_take(session, &spec, recording, result_out, err);
}

/* Access i of two chases that are alike: did it miss in both, in neither, or is that open? */
enum outcome { HIT, MISS, OPEN };

static enum outcome outcome_of(const struct pb_session *session, const struct pb_search *search,
                               const struct pb_recording *recording,
                               const struct pb_chase_result specs[2], size_t i)
{
    const uint32_t *latency = recording->series.latency_cycles;
    bool first = pb_search_is_miss(session, search, latency[specs[0].first + i]);
    bool second = pb_search_is_miss(session, search, latency[specs[1].first + i]);

    if (first != second)
        return OPEN;
    return first ? MISS : HIT;
}

/* Counts by their alignment the addresses where hits turn into misses or back, in both chases. */
static void count_turns(const struct pb_session *session, const struct pb_search *search,
                        const struct pb_recording *recording, const struct pb_chase_result specs[2],
                        struct turns *turns)
{
    const uint64_t *index = recording->series.index_bytes + specs[0].first;
    enum outcome before = OPEN;

    for (size_t i = 0; i < specs[0].count; i++) {
        enum outcome here = outcome_of(session, search, recording, specs, i);
        unsigned alignment = 0;
        bool is_turn = here != before && here != OPEN && before != OPEN && index[i] > index[i - 1];

        before = here;
        if (!is_turn)
            continue;
        while (alignment < ALIGNMENTS - 1 && (index[i] >> alignment & 1) == 0)
            alignment++;
        turns->of_alignment[alignment]++;
        turns->total++;
    }
}

/* The largest power of two that divides all turns but the few that noise makes. */
static uint64_t alignment_of(const struct turns *turns)
{
    size_t below = 0;
    unsigned alignment = 0;

    while (alignment < ALIGNMENTS - 1 &&
           below + turns->of_alignment[alignment] <= turns->total / 32)
        below += turns->of_alignment[alignment++];
    return (uint64_t)1 << alignment;
}

/* The same chase twice; of a sampled cache once, which then stands for both. */
static enum pb_status take_overflow_chases(struct pb_session *session,
                                           const struct pb_search *search, uint64_t footprint_bytes,
                                           uint64_t sector_bytes, struct pb_recording *recording,
                                           struct pb_chase_result chases_out[2],
                                           struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < 2 && search->exact && status == PB_OK; i++)
        status = take_steady(session, search, "overflow", i, footprint_bytes, sector_bytes,
                             recording, &chases_out[i], err);
    if (search->exact)
        return status;
    status = pb_search_sampled(session, search, footprint_bytes, sector_bytes, recording,
                               &chases_out[0], err);
    chases_out[1] = chases_out[0];
    return status;
}

/* Rounded down to lines of any length, where there are some: a sector more then ends in the middle
 * of a line, and the places where misses end are no multiples of more than a line. */
static uint64_t whole_lines(uint64_t bytes)
{
    return bytes < LONGEST_LINE ? bytes : bytes / LONGEST_LINE * LONGEST_LINE;
}

static enum pb_status take_overflow(struct pb_session *session, const struct pb_search *search,
                                    uint64_t sector_bytes, struct pb_recording *recording,
                                    uint64_t *alignment_bytes_out, struct pb_error *err)
{
    uint64_t edge = search->fits_bytes;
    /* Of a sampled cache the edge is known to 1/64; the next ones then differ by single lines, so
     * that not all of them turn at an even one. */
    uint64_t surely = search->exact ? edge : edge + edge / 24;
    const uint64_t footprints[] = {surely + sector_bytes,
                                   surely + 2 * sector_bytes,
                                   surely + 4 * sector_bytes,
                                   edge + whole_lines(edge / 32) + sector_bytes,
                                   edge + whole_lines(edge / 24) + 3 * sector_bytes,
                                   edge + whole_lines(edge / 16) + sector_bytes,
                                   edge + whole_lines(edge / 12) + 5 * sector_bytes,
                                   edge + whole_lines(edge / 8) + sector_bytes};
    struct turns turns = {.total = 0};

    for (size_t i = 0; i < sizeof(footprints) / sizeof(footprints[0]); i++) {
        struct pb_chase_result specs[2];
        enum pb_status status = take_overflow_chases(session, search, footprints[i], sector_bytes,
                                                     recording, specs, err);

        if (status != PB_OK)
            return status;
        count_turns(session, search, recording, specs, &turns);
    }
    *alignment_bytes_out = alignment_of(&turns);
    return PB_OK;
}

/* *overflow_bytes_out: the largest stride that does not fit; the least one where all fit. A cache
 * whose first set is soon full leaves no room for long strides. */
static enum pb_status take_strides(struct pb_session *session, const struct pb_search *search,
                                   uint64_t sector_bytes, struct pb_recording *recording,
                                   uint64_t *overflow_bytes_out, struct pb_error *err)
{
    uint64_t largest = sector_bytes, footprint = search->fits_bytes / 4 * 5;

    for (int i = 0; i < STRIDE_STEPS && sector_bytes << i <= footprint; i++) {
        struct pb_chase_result spec;
        enum pb_status status = take_steady(session, search, "stride", 0, footprint,
                                            sector_bytes << i, recording, &spec, err);

        if (status != PB_OK)
            return status;
        if (pb_chase_count_between(session, recording, &spec, search->miss_low_cycles,
                                   search->miss_high_cycles) > spec.count / 64)
            largest = sector_bytes << i;
    }
    *overflow_bytes_out = largest;
    return PB_OK;
}

static enum pb_status find_edge(struct pb_session *session, struct pb_search *search,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_hints *hints = &session->hints[search->cache];
    enum pb_status status = PB_OK;

    if (hints->edge_bytes == 0) {
        status = pb_search_edge(session, search, recording, err);
        if (status == PB_OK && search->overflows_bytes > 0)
            hints->edge_bytes = search->fits_bytes;
    }
    search->fits_bytes = hints->edge_bytes;
    return status;
}

enum pb_status pb_search_line(struct pb_session *session, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err)
{
    uint64_t sector_bytes = 0, alignment_bytes = 0, overflow_bytes = 0;
    enum pb_status status = take_cold_both(session, search, recording, &sector_bytes, err);

    if (status == PB_OK)
        status = find_edge(session, search, recording, err);
    if (status != PB_OK || search->fits_bytes == 0)
        return status;
    status = take_overflow(session, search, sector_bytes, recording, &alignment_bytes, err);
    if (status == PB_OK)
        status = take_strides(session, search, sector_bytes, recording, &overflow_bytes, err);
    if (status == PB_OK)
        session->hints[search->cache].line_bytes =
            alignment_bytes < overflow_bytes ? alignment_bytes : overflow_bytes;
    return status;
}

static enum pb_status line(struct pb_session *session, enum pb_cache cache,
                           struct pb_recording *recording, struct pb_error *err)
{
    struct pb_search search;
    enum pb_status status;

    pb_search_begin(session, cache, &search);
    status = pb_search_references(session, &search, recording, err);
    if (status == PB_OK)
        status = pb_search_line(session, &search, recording, err);
    if (status == PB_OK && session->hints[cache].edge_bytes == 0)
        PB_TEXT_SET(recording->message,
                    "no misses up to the limit: only the cold pass was recorded");
    return status;
}

enum pb_status pb_test_l1_line(struct pb_session *session, struct pb_recording *recording,
                               struct pb_error *err)
{
    return line(session, PB_CACHE_L1, recording, err);
}

enum pb_status pb_test_readonly_line(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return line(session, PB_CACHE_READONLY, recording, err);
}

enum pb_status pb_test_texture_line(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return line(session, PB_CACHE_TEXTURE, recording, err);
}

enum pb_status pb_test_constant_line(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return line(session, PB_CACHE_CONSTANT, recording, err);
}

enum pb_status pb_test_l2_line(struct pb_session *session, struct pb_recording *recording,
                               struct pb_error *err)
{
    return line(session, PB_CACHE_L2, recording, err);
}

enum pb_status pb_test_constant_l15_line(struct pb_session *session, struct pb_recording *recording,
                                         struct pb_error *err)
{
    return line(session, PB_CACHE_CONSTANT_L15, recording, err);
}

enum pb_status pb_search_from_hints(struct pb_session *session, enum pb_cache cache,
                                    struct pb_search *search, struct pb_recording *recording,
                                    struct pb_error *err)
{
    const struct pb_hints *hints = &session->hints[cache];
    enum pb_status status;

    pb_search_begin(session, cache, search);
    status = pb_search_references(session, search, recording, err);
    if (status == PB_OK && (hints->edge_bytes == 0 || hints->line_bytes == 0))
        status = pb_search_line(session, search, recording, err);
    if (status != PB_OK)
        return status;
    if (hints->edge_bytes == 0 || hints->line_bytes == 0)
        return pb_fail(err, PB_UNSUPPORTED,
                       "no misses up to %llu bytes: where %s ends is not known",
                       (unsigned long long)search->limit_bytes, search->target->name);
    search->fits_bytes = hints->edge_bytes;
    search->stride_bytes = hints->line_bytes;
    return PB_OK;
}
