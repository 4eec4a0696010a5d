/* Sweeps over pages, and their knees; see reach.h. */
#include "battery/reach.h"

#include <math.h>

#include "battery/walk.h"

enum {
    TRACE_LOADS = 512, /* a whole lap, or the start of a longer one */
    KNEES_MAX = 4,     /* looked at closely; a device has three levels of translation or four */
    CLOSE_PAGES = 16,  /* every number of pages so far beyond a knee, */
    FAR_PAGES = 72,    /* then two of eight, which is what an entry may span */
    GROUP_PAGES = 8,
    EXACT_PAGES = 4096 /* laps of more are too long for every number: to one in 2,048 */
};

/* The trace of one number of pages, by its place in the recording. */
struct lap {
    uint64_t pages;
    size_t first, count;
    double median_cycles;
};

static enum pb_status take(struct pb_bench *bench, const struct pb_reach *reach, uint64_t pages,
                           struct pb_recording *recording, struct lap *lap_out,
                           struct pb_error *err)
{
    struct pb_walk walk = {.path = PB_PATH_GLOBAL_CG,
                           .order = PB_ORDER_GIVEN,
                           .phase = reach->phase,
                           .footprint_bytes = pages * reach->stride_bytes,
                           .stride_bytes = reach->stride_bytes,
                           .offset_bytes = reach->offset_bytes,
                           .offset_count = (size_t)pages,
                           .warm = pages < TRACE_LOADS ? 2 * pages : pages,
                           .record = pages < TRACE_LOADS ? pages : TRACE_LOADS,
                           .repeat = reach->repeat,
                           .alias_bytes = reach->alias_bytes};
    struct pb_walk_result result;
    enum pb_status status = pb_walk_take(bench, &walk, recording, &result, err);

    if (status == PB_OK)
        *lap_out = (struct lap){pages, result.first, result.count, result.median_cycles};
    return status;
}

/*
 * Is the second lap slower where both load the same lines? By a few cycles in a quarter of its
 * loads, as behind a small first level, or by a tenth and more in some of them, as where one of
 * many sets overflows.
 */
static bool is_slower(const struct pb_recording *recording, const struct lap *before,
                      const struct lap *lap)
{
    double few_cycles = fmax(4, before->median_cycles / 50);
    const uint32_t *was = recording->series.latency_cycles + before->first;
    const uint32_t *is = recording->series.latency_cycles + lap->first;
    size_t common = before->count < lap->count ? before->count : lap->count;
    size_t slower = 0, much_slower = 0;

    for (size_t i = 0; i < common; i++) {
        double more = (double)is[i] - (double)was[i];

        slower += more >= few_cycles;
        much_slower += more >= 2 * few_cycles && more >= before->median_cycles / 10;
    }
    return 4 * slower > common || much_slower > 1;
}

/* From the slower number on: finely, as far as pages go. */
static enum pb_status walk_beyond(struct pb_bench *bench, const struct pb_reach *reach,
                                  uint64_t pages, struct pb_recording *recording,
                                  struct pb_error *err)
{
    uint64_t last = pages + FAR_PAGES < reach->most_pages ? pages + FAR_PAGES : reach->most_pages;
    enum pb_status status = PB_OK;

    for (uint64_t n = pages + 1; n <= last && n <= EXACT_PAGES; n++) {
        struct lap lap;

        if (n > pages + CLOSE_PAGES && n % GROUP_PAGES > 1)
            continue;
        status = take(bench, reach, n, recording, &lap, err);
        if (status != PB_OK)
            break;
    }
    return status;
}

/* Halves what lies between a number of pages and one that is slower. */
static enum pb_status find_knee(struct pb_bench *bench, const struct pb_reach *reach,
                                const struct lap *before, uint64_t slower_pages,
                                struct pb_recording *recording, struct pb_error *err)
{
    uint64_t low = before->pages, high = slower_pages, grain = 1 + low / EXACT_PAGES * 2;

    while (high - low > grain) {
        uint64_t middle = low + (high - low) / 2;
        struct lap lap;
        enum pb_status status = take(bench, reach, middle, recording, &lap, err);

        if (status != PB_OK)
            return status;
        if (is_slower(recording, before, &lap))
            high = middle;
        else
            low = middle;
    }
    return walk_beyond(bench, reach, high, recording, err);
}

static uint64_t next_count(const struct pb_reach *reach, uint64_t pages)
{
    uint64_t octave = 1;

    if (pages < reach->each_pages)
        return pages + 1;
    while (2 * octave <= pages)
        octave *= 2;
    return pages + (octave >= reach->per_octave ? octave / reach->per_octave : 1);
}

static enum pb_status take_most(struct pb_bench *bench, struct pb_reach *reach,
                                struct pb_recording *recording, struct lap *lap_out,
                                struct pb_error *err)
{
    for (;;) {
        enum pb_status status = take(bench, reach, reach->most_pages, recording, lap_out, err);

        if (status != PB_NO_MEMORY || reach->most_pages < 4)
            return status;
        reach->most_pages /= 2;
    }
}

enum pb_status pb_reach_sweep(struct pb_bench *bench, struct pb_reach *reach,
                              struct pb_recording *recording, struct pb_error *err)
{
    struct lap most, lap, before = {.pages = 0};
    size_t knees = 0;
    enum pb_status status = take_most(bench, reach, recording, &most, err);

    for (uint64_t pages = 1; status == PB_OK; pages = next_count(reach, pages)) {
        bool is_last = pages >= reach->most_pages;

        lap = most;
        if (!is_last)
            status = take(bench, reach, pages, recording, &lap, err);
        if (status == PB_OK && before.pages > 0 && lap.pages > before.pages + 1 &&
            knees < KNEES_MAX && is_slower(recording, &before, &lap)) {
            status = find_knee(bench, reach, &before, lap.pages, recording, err);
            knees++;
        }
        before = lap;
        if (is_last)
            break;
    }
    return status;
}
