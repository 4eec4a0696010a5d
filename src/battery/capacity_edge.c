/*
 * Looking for a cache's edge; see search.h. Source: M16 4.2, stage 1, with R16's windows.
 *
 *   coarse    passes over footprints that grow by half octaves
 *   bisect    passes, then traces, halve what lies between; a trace shows the few misses of one
 *             line too many, a pass only those of many
 *   confirm   the edge is measured again
 */
#include <math.h>

#include "battery/search.h"

enum {
    PASS_LOADS = 16384,   /* most loads of a timed pass, where passes are sampled */
    PASS_LOADS_MIN = 512, /* of smaller footprints several passes: reading the clock costs too */
    COARSE_MAX = 64,
    MANY_MISSES = 8, /* and one in MANY_SHARE: no spikes, need not be measured twice */
    MANY_SHARE = 256,
    RECHECK_TIMES = 6,    /* one chase, where its few misses might be spikes, */
    RECHECK_MISSES = 3,   /* which of all its times together are no more than so many, */
    RECHECK_SHARE = 2048, /* and one in so many */
    MISSED_MAX = 2048     /* slots that are remembered from one measurement to the next */
};

/* Slots that missed when one footprint was measured, time after time. */
struct missed {
    uint64_t offset_bytes[MISSED_MAX];
    size_t count, before; /* the first so many are of earlier times */
    bool again;           /* one of them missed twice */
};

/* The coarse sweep, and where its passes begin to be slower than hits. */
struct sweep {
    uint64_t footprints[COARSE_MAX];
    size_t count, knee;
    double slow_cycles; /* a pass's average from here on is slower than hits */
};

/* One stride, or 1/64 where passes are sampled: the edge is not searched finer than this. */
static uint64_t grain(const struct pb_search *search, uint64_t footprint_bytes)
{
    uint64_t bytes = search->exact ? search->stride_bytes : footprint_bytes / 64;

    bytes -= bytes % search->stride_bytes;
    return bytes > 0 ? bytes : search->stride_bytes;
}

static bool is_among(const uint64_t *offsets, size_t count, uint64_t offset)
{
    for (size_t i = 0; i < count; i++)
        if (offsets[i] == offset)
            return true;
    return false;
}

/* Remembers what missed in a chase; returns how many misses it had. */
static size_t note_misses(const struct pb_session *session, const struct pb_search *search,
                          const struct pb_recording *recording, const struct pb_chase_result *spec,
                          struct missed *missed)
{
    const uint32_t *latency = recording->series.latency_cycles + spec->first;
    const uint64_t *index = recording->series.index_bytes + spec->first;
    size_t found = 0;

    missed->before = missed->count;
    for (size_t i = 0; i < spec->count; i++) {
        if (!pb_search_is_miss(session, search, latency[i]))
            continue;
        found++;
        missed->again |= is_among(missed->offset_bytes, missed->before, index[i]);
        if (missed->count < MISSED_MAX)
            missed->offset_bytes[missed->count++] = index[i];
    }
    return found;
}

/* As many misses as no spikes are; of sampled passes more than one in a hundred. */
static size_t many_of(const struct pb_search *search, size_t count)
{
    return search->exact ? MANY_MISSES + count / MANY_SHARE : 1 + count / 100;
}

/* What one launch records, where that is less than the pass: many misses show in it already. */
static uint64_t first_window(const struct pb_session *session, const struct pb_search *search,
                             const struct pb_chase_spec *spec)
{
    uint64_t window =
        search->target->chip_wide ? session->info.trace_window_large : session->info.trace_window;

    return search->exact && window < pb_chase_slots(spec) ? window : 0;
}

/*
 * Does the chase still miss in its steady state? Few misses are measured again: those of a set that
 * overflows come back, to one of its lines or at least at all, whatever the policy; spikes, which
 * may look like misses, are rare and fall on a line once.
 */
static enum pb_status overflows(struct pb_session *session, const struct pb_search *search,
                                const char *phase, uint64_t footprint_bytes,
                                struct pb_recording *recording, bool *overflows_out,
                                struct pb_error *err)
{
    struct pb_chase_spec spec =
        pb_search_steady(search, phase, footprint_bytes, search->stride_bytes);
    uint64_t loads = spec.record, window = first_window(session, search, &spec);
    struct missed missed = {.count = 0};
    size_t times = search->exact ? RECHECK_TIMES : 1, sum = 0, rechecked = 0;
    bool over = false;

    for (size_t time = window > 0 ? 0 : 1; time <= times && !over; time++) {
        struct pb_chase_result result;
        size_t misses;
        enum pb_status status;

        spec.repeat = time > 0 ? time - 1 : 0;
        spec.record = time > 0 ? loads : window;
        status = pb_chase_take(session, &spec, recording, &result, err);
        if (status != PB_OK)
            return status;
        misses = note_misses(session, search, recording, &result, &missed);
        over = misses >= many_of(search, result.count);
        if (time > 0 && search->exact) {
            sum += misses;
            rechecked += result.count;
            over = over || missed.again || sum > RECHECK_MISSES + rechecked / RECHECK_SHARE;
        }
        if (time == 1 && misses == 0)
            break;
    }
    *overflows_out = over;
    return PB_OK;
}

static enum pb_status time_pass(struct pb_session *session, const struct pb_search *search,
                                const char *phase, uint64_t footprint_bytes,
                                struct pb_recording *recording, double *mean_cycles_out,
                                struct pb_error *err)
{
    struct pb_chase_spec spec =
        pb_search_steady(search, phase, footprint_bytes, search->stride_bytes);
    uint64_t slots = pb_chase_slots(&spec);
    struct pb_chase_result pass;
    enum pb_status status;

    spec.record = 0;
    spec.timed = search->exact || slots < PASS_LOADS ? slots : PASS_LOADS;
    if (slots < PASS_LOADS_MIN)
        spec.timed = slots * (PASS_LOADS_MIN / slots);
    status = pb_chase_take(session, &spec, recording, &pass, err);
    if (status == PB_OK)
        *mean_cycles_out = pass.mean_cycles;
    return status;
}

/* The last footprint before the passes get slower than hits is the knee. */
static enum pb_status take_sweep(struct pb_session *session, const struct pb_search *search,
                                 struct pb_recording *recording, struct sweep *sweep,
                                 struct pb_error *err)
{
    uint64_t footprint = search->exact ? search->target->first_bytes : search->limit_bytes / 64;
    bool rising = false;

    footprint -= footprint % (2 * search->stride_bytes);
    for (; footprint <= search->limit_bytes && sweep->count < COARSE_MAX; sweep->count++) {
        double cycles;
        enum pb_status status =
            time_pass(session, search, "coarse", footprint, recording, &cycles, err);

        if (status != PB_OK)
            return status;
        if (sweep->count == 0)
            sweep->slow_cycles = cycles + 0.25 + 0.002 * cycles;
        rising = rising || (cycles > sweep->slow_cycles && search->exact) ||
                 cycles > search->miss_low_cycles;
        if (!rising)
            sweep->knee = sweep->count;
        sweep->footprints[sweep->count] = footprint;
        footprint = sweep->count % 2 == 0 ? footprint / 2 * 3 : footprint / 3 * 4;
    }
    return PB_OK;
}

/* Halves by passes what lies between knee and next footprint; *guess_out is the last fast one. */
static enum pb_status bisect_passes(struct pb_session *session, const struct pb_search *search,
                                    const struct sweep *sweep, struct pb_recording *recording,
                                    uint64_t *guess_out, struct pb_error *err)
{
    uint64_t low = sweep->footprints[sweep->knee], high = sweep->footprints[sweep->knee + 1];

    while (high - low > search->stride_bytes) {
        uint64_t middle = low + (high - low) / 2;
        double cycles;
        enum pb_status status;

        middle -= middle % search->stride_bytes;
        if (middle == low)
            break;
        status = time_pass(session, search, "bisect", middle, recording, &cycles, err);
        if (status != PB_OK)
            return status;
        if (cycles > sweep->slow_cycles)
            high = middle;
        else
            low = middle;
    }
    *guess_out = low;
    return PB_OK;
}

/* From a guess, in growing steps, down until a trace has no misses, or up until one has. */
static enum pb_status bracket(struct pb_session *session, struct pb_search *search, uint64_t guess,
                              uint64_t least, struct pb_recording *recording, struct pb_error *err)
{
    uint64_t at = guess, step = grain(search, guess);

    search->fits_bytes = search->overflows_bytes = 0;
    while (search->fits_bytes == 0 || search->overflows_bytes == 0) {
        bool over;
        enum pb_status status = overflows(session, search, "bisect", at, recording, &over, err);

        if (status != PB_OK)
            return status;
        if (over && at <= least)
            return pb_fail(err, PB_NOT_FOUND, "misses at the smallest footprint, %llu bytes",
                           (unsigned long long)at);
        if (over) {
            search->overflows_bytes = at;
            at = at > least + step ? at - step : least;
        } else {
            search->fits_bytes = at;
            if (at >= search->limit_bytes)
                return PB_OK; /* all fits: overflows_bytes stays 0 */
            at = at + step < search->limit_bytes ? at + step : search->limit_bytes;
        }
        step *= 2;
    }
    return PB_OK;
}

/* Halves (fits, overflows) until they are one grain apart. */
static enum pb_status bisect(struct pb_session *session, struct pb_search *search,
                             struct pb_recording *recording, struct pb_error *err)
{
    for (;;) {
        uint64_t gap = search->overflows_bytes - search->fits_bytes;
        uint64_t middle = search->fits_bytes + gap / 2;
        bool over;
        enum pb_status status;

        middle -= middle % search->stride_bytes;
        if (gap <= grain(search, search->fits_bytes) || middle <= search->fits_bytes)
            return PB_OK;
        status = overflows(session, search, "bisect", middle, recording, &over, err);
        if (status != PB_OK)
            return status;
        if (over)
            search->overflows_bytes = middle;
        else
            search->fits_bytes = middle;
    }
}

/*
 * The record of a pass is pieced together from several launches, and a policy that draws its
 * victims may put its few misses outside every piece. So the size that seems to fit is measured
 * again, and steps down, ever farther, until it does.
 */
static enum pb_status confirm(struct pb_session *session, struct pb_search *search, uint64_t least,
                              struct pb_recording *recording, struct pb_error *err)
{
    enum { TIMES = 4 };
    uint64_t step = search->stride_bytes;

    for (int times = 0; times < TIMES && search->fits_bytes > least; times++) {
        bool over;
        enum pb_status status =
            overflows(session, search, "confirm", search->fits_bytes, recording, &over, err);

        if (status != PB_OK)
            return status;
        if (!over)
            continue;
        search->overflows_bytes = search->fits_bytes;
        search->fits_bytes = search->fits_bytes > least + step ? search->fits_bytes - step : least;
        step *= 2;
        times = -1;
    }
    return PB_OK;
}

/* Bisects and confirms, again where confirming has stepped down by more than one stride. */
static enum pb_status settle(struct pb_session *session, struct pb_search *search, uint64_t least,
                             struct pb_recording *recording, struct pb_error *err)
{
    enum { ROUNDS = 8 };
    enum pb_status status = PB_OK;
    uint64_t gap = UINT64_MAX;

    for (int round = 0; round < ROUNDS && status == PB_OK && gap > search->stride_bytes; round++) {
        status = bisect(session, search, recording, err);
        if (status == PB_OK && !search->exact)
            break;
        if (status == PB_OK)
            status = confirm(session, search, least, recording, err);
        gap = search->overflows_bytes - search->fits_bytes;
    }
    return status;
}

enum pb_status pb_search_edge(struct pb_session *session, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err)
{
    struct sweep sweep = {.count = 0};
    uint64_t guess;
    enum pb_status status = take_sweep(session, search, recording, &sweep, err);

    if (status != PB_OK)
        return status;
    if (sweep.count == 0)
        return pb_fail(err, PB_UNSUPPORTED, "no room for a sweep up to %llu bytes",
                       (unsigned long long)search->limit_bytes);
    guess = sweep.footprints[sweep.knee];
    search->limit_bytes = sweep.footprints[sweep.count - 1];
    if (search->exact && sweep.knee + 1 < sweep.count)
        status = bisect_passes(session, search, &sweep, recording, &guess, err);
    if (status == PB_OK)
        status = bracket(session, search, guess, sweep.footprints[0], recording, err);
    if (status == PB_OK && search->overflows_bytes > 0)
        status = settle(session, search, sweep.footprints[0], recording, err);
    return status;
}

enum pb_status pb_search_edge_again(struct pb_session *session, struct pb_search *search,
                                    struct pb_recording *recording, struct pb_error *err)
{
    uint64_t least = search->target->first_bytes;
    enum pb_status status = bracket(session, search, search->fits_bytes, least, recording, err);

    if (status == PB_OK && search->overflows_bytes > 0)
        status = settle(session, search, least, recording, err);
    return status;
}
