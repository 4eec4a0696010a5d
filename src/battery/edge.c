/*
 * Looking for a cache's edge; see search.h. Source: M16 4.2, stage 1, with R16's windows.
 *
 *   coarse    laps over footprints that grow by half octaves
 *   bisect    laps, then traces, halve what lies between; a trace shows the few misses of one line
 *             too many, a lap only those of many
 *   confirm   the edge is asked again
 */
#include <math.h>

#include "battery/search.h"

enum {
    LAP_LOADS = 16384, /* most loads of a timed lap, where laps are sampled */
    COARSE_MAX = 64,
    MANY_MISSES = 8 /* no spikes: need not be asked twice */
};

/* The coarse sweep, and where its laps begin to be slower than hits. */
struct sweep {
    uint64_t footprints[COARSE_MAX];
    size_t count, knee;
    double slow_cycles; /* a lap's average from here on is slower than hits */
};

/* One stride, or 1/64 where laps are sampled: finer than this the edge is not asked for. */
static uint64_t grain(const struct pb_search *search, uint64_t footprint_bytes)
{
    uint64_t bytes = search->exact ? search->stride_bytes : footprint_bytes / 64;

    bytes -= bytes % search->stride_bytes;
    return bytes > 0 ? bytes : search->stride_bytes;
}

static enum pb_status count_misses(struct pb_bench *bench, const struct pb_search *search,
                                   const struct pb_walk *walk, struct pb_recording *recording,
                                   size_t *misses_out, size_t *count_out, struct pb_error *err)
{
    struct pb_walk_result result;
    enum pb_status status = pb_walk_take(bench, walk, recording, &result, err);

    if (status != PB_OK)
        return status;
    *misses_out = pb_walk_count_between(bench, recording, &result, search->miss_low_cycles,
                                        search->miss_high_cycles);
    *count_out = result.count;
    return PB_OK;
}

/* What one launch records, where that is less than the lap: many misses show in it already. */
static uint64_t first_window(const struct pb_bench *bench, const struct pb_search *search,
                             const struct pb_walk *walk)
{
    uint64_t window =
        search->target->chip_wide ? bench->info.trace_window_large : bench->info.trace_window;

    return search->exact && window < pb_walk_slots(walk) ? window : 0;
}

/* Does the walk still miss in its steady state? Asked twice where one access could be a spike. */
static enum pb_status overflows(struct pb_bench *bench, const struct pb_search *search,
                                const char *phase, uint64_t footprint_bytes,
                                struct pb_recording *recording, bool *overflows_out,
                                struct pb_error *err)
{
    struct pb_walk walk = pb_search_steady(search, phase, footprint_bytes, search->stride_bytes);
    struct pb_walk start = walk;
    size_t misses = 0, count = 0, enough = 1;
    enum pb_status status = PB_OK;

    start.record = first_window(bench, search, &walk);
    if (start.record > 0)
        status = count_misses(bench, search, &start, recording, &misses, &count, err);
    for (walk.repeat = 0; walk.repeat < 2 && status == PB_OK && misses < MANY_MISSES;
         walk.repeat++) {
        status = count_misses(bench, search, &walk, recording, &misses, &count, err);
        enough = search->exact ? 1 : 1 + count / 100;
        if (misses < enough || !search->exact)
            break;
    }
    if (status == PB_OK)
        *overflows_out = misses >= enough;
    return status;
}

static enum pb_status time_lap(struct pb_bench *bench, const struct pb_search *search,
                               const char *phase, uint64_t footprint_bytes,
                               struct pb_recording *recording, double *mean_cycles_out,
                               struct pb_error *err)
{
    struct pb_walk walk = pb_search_steady(search, phase, footprint_bytes, search->stride_bytes);
    struct pb_walk_result lap;
    enum pb_status status;

    walk.record = 0;
    walk.timed = search->exact || pb_walk_slots(&walk) < LAP_LOADS ? PB_WALK_LAP : LAP_LOADS;
    status = pb_walk_take(bench, &walk, recording, &lap, err);
    if (status == PB_OK)
        *mean_cycles_out = lap.mean_cycles;
    return status;
}

/* The last footprint before the laps get slower than hits is the knee. */
static enum pb_status take_sweep(struct pb_bench *bench, const struct pb_search *search,
                                 struct pb_recording *recording, struct sweep *sweep,
                                 struct pb_error *err)
{
    uint64_t footprint = search->exact ? search->target->first_bytes : search->limit_bytes / 64;
    bool rising = false;

    footprint -= footprint % (2 * search->stride_bytes);
    for (; footprint <= search->limit_bytes && sweep->count < COARSE_MAX; sweep->count++) {
        double cycles;
        enum pb_status status =
            time_lap(bench, search, "coarse", footprint, recording, &cycles, err);

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

/* Halves by laps what lies between the knee and the next footprint: *guess_out: the last fast one.
 */
static enum pb_status bisect_laps(struct pb_bench *bench, const struct pb_search *search,
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
        status = time_lap(bench, search, "bisect", middle, recording, &cycles, err);
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
static enum pb_status bracket(struct pb_bench *bench, struct pb_search *search, uint64_t guess,
                              uint64_t least, struct pb_recording *recording, struct pb_error *err)
{
    uint64_t at = guess, step = grain(search, guess);

    search->fits_bytes = search->overflows_bytes = 0;
    while (search->fits_bytes == 0 || search->overflows_bytes == 0) {
        bool over;
        enum pb_status status = overflows(bench, search, "bisect", at, recording, &over, err);

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
static enum pb_status bisect(struct pb_bench *bench, struct pb_search *search,
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
        status = overflows(bench, search, "bisect", middle, recording, &over, err);
        if (status != PB_OK)
            return status;
        if (over)
            search->overflows_bytes = middle;
        else
            search->fits_bytes = middle;
    }
}

/*
 * The record of a lap is pieced together from several launches, and a policy that draws its victims
 * may put its few misses outside every piece. So the size that seems to fit is asked again, and
 * steps down until it does.
 */
static enum pb_status confirm(struct pb_bench *bench, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err)
{
    enum { TIMES = 4 };
    uint64_t step = search->stride_bytes;

    for (int times = 0; times < TIMES && search->fits_bytes > step; times++) {
        bool over;
        enum pb_status status =
            overflows(bench, search, "confirm", search->fits_bytes, recording, &over, err);

        if (status != PB_OK)
            return status;
        if (!over)
            continue;
        search->overflows_bytes = search->fits_bytes;
        search->fits_bytes -= step;
        times = -1;
    }
    return PB_OK;
}

enum pb_status pb_search_edge(struct pb_bench *bench, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err)
{
    struct sweep sweep = {.count = 0};
    uint64_t guess;
    enum pb_status status = take_sweep(bench, search, recording, &sweep, err);

    if (status != PB_OK)
        return status;
    if (sweep.count == 0)
        return pb_fail(err, PB_UNSUPPORTED, "no room for a sweep up to %llu bytes",
                       (unsigned long long)search->limit_bytes);
    guess = sweep.footprints[sweep.knee];
    search->limit_bytes = sweep.footprints[sweep.count - 1];
    if (search->exact && sweep.knee + 1 < sweep.count)
        status = bisect_laps(bench, search, &sweep, recording, &guess, err);
    if (status == PB_OK)
        status = bracket(bench, search, guess, sweep.footprints[0], recording, err);
    if (status != PB_OK || search->overflows_bytes == 0)
        return status;
    status = bisect(bench, search, recording, err);
    if (status == PB_OK && search->exact)
        status = confirm(bench, search, recording, err);
    return status;
}
