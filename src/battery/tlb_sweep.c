/* Sweeps over pages, and their knees; see tlb_sweep.h. */
#include "battery/tlb_sweep.h"

#include <math.h>

#include "battery/chase.h"

enum {
    KNEES_MAX = 4,    /* looked at closely; a device has three levels of translation or four */
    CLOSE_PAGES = 16, /* every number of pages so far beyond a knee, */
    FAR_PAGES = 72,   /* then two of eight, which is what an entry may span */
    GROUP_PAGES = 8,
    BEYOND_PAGES = 4096 /* passes of more are too long to take many of them */
};

/* The trace of one number of pages, by its place in the recording. */
struct pass {
    uint64_t pages;
    size_t first, count;
    double median_cycles;
};

uint64_t pb_tlb_sweep_bytes_max(const struct pb_session *session)
{
    const uint64_t reserve_bytes = (uint64_t)1 << 30;
    uint64_t free_bytes = session->info.memory_free_bytes;

    return free_bytes > 2 * reserve_bytes ? free_bytes - reserve_bytes : free_bytes / 2;
}

const char *pb_tlb_sweep_phase(uint64_t stride_bytes)
{
    static const char *const phases[] = {"stride2",  "stride4",  "stride8",
                                         "stride16", "stride32", "stride64"};
    size_t i = 0;

    while (stride_bytes > PB_PAGE_BYTES) {
        stride_bytes /= 2;
        i++;
    }
    return phases[i];
}

static enum pb_status take(struct pb_session *session, const struct pb_tlb_sweep *sweep,
                           uint64_t pages, struct pb_recording *recording, struct pass *pass_out,
                           struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CG,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = sweep->phase,
                                 .footprint_bytes = pages * sweep->stride_bytes,
                                 .stride_bytes = sweep->stride_bytes,
                                 .offset_bytes = sweep->offset_bytes,
                                 .offset_count = (size_t)pages,
                                 .warm = pages < sweep->record_loads ? 2 * pages : pages,
                                 .record =
                                     pages < sweep->record_loads ? pages : sweep->record_loads,
                                 .repeat = sweep->repeat,
                                 .alias_bytes = sweep->alias_bytes};
    struct pb_chase_result result;
    enum pb_status status = pb_chase_take(session, &spec, recording, &result, err);

    if (status == PB_OK)
        *pass_out = (struct pass){pages, result.first, result.count, result.median_cycles};
    return status;
}

/* More cycles than in the pass before, at access i, and what counts as many. */
static double more_cycles(const struct pb_recording *recording, const struct pass *before,
                          const struct pass *pass, size_t i)
{
    const uint32_t *latency = recording->series.latency_cycles;

    return (double)latency[pass->first + i] - (double)latency[before->first + i];
}

static double many_cycles(const struct pass *before)
{
    return fmax(8, before->median_cycles / 10);
}

static size_t common_count(const struct pass *before, const struct pass *pass)
{
    return before->count < pass->count ? before->count : pass->count;
}

/*
 * Is the second pass slower where both load the same lines? By a few cycles in a quarter of its
 * loads, as behind a small first level, or by a tenth and more in some of them, as where one of
 * many sets overflows.
 */
static bool is_slower(const struct pb_recording *recording, const struct pass *before,
                      const struct pass *pass)
{
    double few = fmax(4, before->median_cycles / 50), many = many_cycles(before);
    size_t common = common_count(before, pass), slower = 0, much_slower = 0;

    for (size_t i = 0; i < common; i++) {
        double more = more_cycles(recording, before, pass, i);

        slower += more >= few;
        much_slower += more >= many;
    }
    return 4 * slower > common || much_slower > 1;
}

/* Is any one access much slower in both passes? A spike does not come twice. */
static bool is_slower_twice(const struct pb_recording *recording, const struct pass *before,
                            const struct pass *pass, const struct pass *again)
{
    double many = many_cycles(before);

    for (size_t i = 0; i < common_count(before, pass); i++)
        if (more_cycles(recording, before, pass, i) >= many &&
            more_cycles(recording, before, again, i) >= many)
            return true;
    return false;
}

/* From the slower number on: finely, as far as pages go. */
static enum pb_status chase_beyond(struct pb_session *session, const struct pb_tlb_sweep *sweep,
                                   uint64_t pages, struct pb_recording *recording,
                                   struct pb_error *err)
{
    uint64_t last = pages + FAR_PAGES < sweep->most_pages ? pages + FAR_PAGES : sweep->most_pages;
    enum pb_status status = PB_OK;

    for (uint64_t n = pages + 1; n <= last && n <= BEYOND_PAGES; n++) {
        struct pass pass;

        if (n > pages + CLOSE_PAGES && n % GROUP_PAGES > 1)
            continue;
        status = take(session, sweep, n, recording, &pass, err);
        if (status != PB_OK)
            break;
    }
    return status;
}

/* Halves what lies between a number of pages and one that is slower. */
static enum pb_status find_knee(struct pb_session *session, struct pb_tlb_sweep *sweep,
                                const struct pass *before, uint64_t slower_pages,
                                struct pb_recording *recording, struct pb_error *err)
{
    uint64_t low = before->pages, high = slower_pages;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        struct pass pass, again;
        enum pb_status status = take(session, sweep, middle, recording, &pass, err);

        if (status == PB_OK)
            status = take(session, sweep, middle, recording, &again, err);
        if (status != PB_OK)
            return status;
        if (is_slower(recording, before, &pass) ||
            is_slower_twice(recording, before, &pass, &again))
            high = middle;
        else
            low = middle;
    }
    sweep->slower_pages = high;
    return chase_beyond(session, sweep, high, recording, err);
}

static uint64_t next_count(const struct pb_tlb_sweep *sweep, uint64_t pages)
{
    uint64_t octave = 1;

    if (pages < sweep->each_pages)
        return pages + 1;
    while (2 * octave <= pages)
        octave *= 2;
    return pages + (octave >= sweep->per_octave ? octave / sweep->per_octave : 1);
}

static enum pb_status take_most(struct pb_session *session, struct pb_tlb_sweep *sweep,
                                struct pb_recording *recording, struct pass *pass_out,
                                struct pb_error *err)
{
    for (;;) {
        enum pb_status status = take(session, sweep, sweep->most_pages, recording, pass_out, err);

        if (status != PB_NO_MEMORY || sweep->most_pages < 4)
            return status;
        sweep->most_pages /= 2;
    }
}

enum pb_status pb_tlb_sweep_run(struct pb_session *session, struct pb_tlb_sweep *sweep,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pass most, pass, before = {.pages = 0};
    size_t knees = 0;
    enum pb_status status = take_most(session, sweep, recording, &most, err);

    sweep->slower_pages = 0;
    for (uint64_t pages = 1; status == PB_OK; pages = next_count(sweep, pages)) {
        bool is_last = pages >= sweep->most_pages;

        pass = most;
        if (!is_last)
            status = take(session, sweep, pages, recording, &pass, err);
        if (status == PB_OK && before.pages > 0 && pass.pages > before.pages + 1 &&
            knees < KNEES_MAX && is_slower(recording, &before, &pass)) {
            status = find_knee(session, sweep, &before, pass.pages, recording, err);
            knees++;
        }
        before = pass;
        if (is_last)
            break;
    }
    return status;
}
