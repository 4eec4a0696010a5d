/*
 * Whole distributions of accesses: devices of the same mean and another tail are distinguished
 * here.
 *
 * Accesses of one class (hits of a level, or loads that miss everything) are pooled over all tests,
 * each as a multiple of its own test's median: a clock that changes between tests makes no tail.
 * The shape is described by quantiles and by the shares beyond marks: both mean the same on any
 * device.
 *
 * The noise of a share is that of a Poisson count, from no fewer than four accesses more than were
 * seen: a tail of one in ten thousand is a handful of accesses, and a handful is not normal. Added
 * to it is what the device's time stamps make late by themselves: loads of shared memory, with bank
 * conflicts or without, and hits of L1 never leave their SM, so what delays as many of them by as
 * many cycles is no property of L2 or DRAM. What is too rare for so few of them to exclude proves
 * nothing either.
 *
 * Source: facts sections 4 (noisy tails) and 5 (whole distributions).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/trace.h"
#include "analysis/verdict/observe_parts.h"

enum { LEAST_ACCESSES = 200 };

/* A pass shorter than this says little of the clock: the timer may step by a microsecond. */
static const double least_pass_ns = 200e3;

static const struct class_kind {
    const char *name, *test; /* where most of them are */
} classes[PB_CLASS_COUNT] = {
    [PB_CLASS_SHARED] = {"shared_hits", "shared_latency"},
    [PB_CLASS_L1] = {"l1_hits", "l1_capacity"},
    [PB_CLASS_L2] = {"l2_hits", "l2_capacity"},
    [PB_CLASS_DRAM_NEAR] = {"dram_near", "dram_latency"},
    [PB_CLASS_DRAM_FAR] = {"dram_far", "dram_latency"},
};

/* Which points hold accesses of one class only. NULL: any. */
static const struct source {
    const char *test, *path, *phase;
    enum pb_access_class class;
} sources[] = {
    {"shared_latency", "shared", "reference", PB_CLASS_SHARED},
    {"l1_capacity", "global_ca", "reference", PB_CLASS_L1},
    {"l1_line", "global_ca", "reference", PB_CLASS_L1},
    {NULL, "global_cg", "reference", PB_CLASS_L2},
    {"l2_capacity", "global_cg", "miss", PB_CLASS_DRAM_NEAR},
    {"l2_line", "global_cg", "miss", PB_CLASS_DRAM_NEAR},
    {"dram_latency", NULL, "near", PB_CLASS_DRAM_NEAR},
    {"dram_latency", NULL, "far", PB_CLASS_DRAM_FAR},
};

static void collect_traces(struct pb_extractor *extractor, const struct pb_recording *recording,
                           const struct source *source)
{
    struct pb_pick pick = {source->path, "traced", source->phase};
    struct pb_sample *pool = &extractor->accesses[source->class], found = {NULL, 0, 0};
    double median, noise;

    extractor->status = pb_trace_collect(&recording->series, &pick, &found, extractor->err);
    median = pb_extractor_median(extractor, &found, &noise);
    if (median > 0.0 && extractor->status == PB_OK) {
        extractor->median_cycles[source->class] = median;
        extractor->status = pb_sample_reserve(pool, found.count, extractor->err);
        for (size_t i = 0; extractor->status == PB_OK && i < found.count; i++)
            pool->values[pool->count++] = found.values[i] / median;
        if (extractor->status == PB_OK && source->class == PB_CLASS_L2)
            extractor->status = pb_sample_add(&extractor->l2_cycles, median, extractor->err);
    }
    pb_sample_clear(&found);
}

/* Loads of shared memory, whatever their bank conflicts cost, each against the median of its own
   point: all of a point take equally long but for the stamps. */
static void collect_shared(struct pb_extractor *extractor, const struct pb_series *series)
{
    struct pb_pick pick = {"shared", "traced", NULL};
    const struct pb_point *point;
    size_t at = 0;

    while ((point = pb_point_next(series, &pick, &at)) != NULL && extractor->status == PB_OK) {
        struct pb_accesses accesses = pb_point_accesses(series, point);
        struct pb_sample cycles = {NULL, 0, 0};
        double median, noise;

        for (size_t i = 0; i < accesses.count && extractor->status == PB_OK; i++)
            extractor->status =
                pb_sample_add(&cycles, pb_access_cycles(&accesses, i), extractor->err);
        median = pb_extractor_median(extractor, &cycles, &noise);
        for (size_t i = 0; i < cycles.count && extractor->status == PB_OK; i++)
            extractor->status =
                pb_sample_add(&extractor->shared_cycles, cycles.values[i] - median, extractor->err);
        pb_sample_clear(&cycles);
    }
}

/* The SM clock while this test ran, as its long passes saw it. */
static void collect_clock(struct pb_extractor *extractor, const struct pb_series *series)
{
    struct pb_sample mhz = {NULL, 0, 0};
    double median, noise;

    for (size_t i = 0; i < series->point_count && extractor->status == PB_OK; i++) {
        const struct pb_point *point = &series->points[i];

        if (point->sm_id >= 0 && extractor->chase_sm < 0)
            extractor->chase_sm = point->sm_id;
        if (point->timed > 0 && point->total_ns >= least_pass_ns)
            extractor->status = pb_sample_add(
                &mhz, 1e3 * (double)point->total_cycles / point->total_ns, extractor->err);
    }
    median = pb_extractor_median(extractor, &mhz, &noise);
    if (extractor->status == PB_OK && isfinite(median))
        extractor->status = pb_sample_add(&extractor->pass_mhz, median, extractor->err);
    pb_sample_clear(&mhz);
}

void pb_observe_collect(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (extractor->status == PB_OK &&
            (sources[i].test == NULL || strcmp(sources[i].test, recording->name) == 0))
            collect_traces(extractor, recording, &sources[i]);
    collect_shared(extractor, &recording->series);
    collect_clock(extractor, &recording->series);
}

/* The SM's own memories, from the innermost outwards: each is judged by those within it. */
static void add_stamps(struct pb_extractor *extractor, enum pb_access_class class)
{
    const struct pb_sample *hits = &extractor->accesses[PB_CLASS_L1];
    struct pb_sample *cycles = &extractor->sm_cycles;

    if (class == PB_CLASS_SHARED && extractor->status == PB_OK)
        extractor->status = pb_sample_sorted(&extractor->shared_cycles, cycles, extractor->err);
    if (class != PB_CLASS_L1)
        return;
    for (size_t i = 0; i < hits->count && extractor->status == PB_OK; i++)
        extractor->status = pb_sample_add(
            cycles, (hits->values[i] - 1.0) * extractor->median_cycles[class], extractor->err);
    if (extractor->status == PB_OK) {
        struct pb_sample sorted = {NULL, 0, 0};

        extractor->status = pb_sample_sorted(cycles, &sorted, extractor->err);
        pb_sample_clear(cycles);
        *cycles = sorted;
    }
}

double pb_extractor_stamp_noise(const struct pb_extractor *extractor)
{
    static const double normal_quartiles = 1.349; /* distance, in standard deviations */
    const struct pb_sample *cycles = &extractor->sm_cycles;

    if (cycles->count < LEAST_ACCESSES)
        return 0.0;
    return fmax(0.0, pb_quantile(cycles->values, cycles->count, 0.75) -
                         pb_quantile(cycles->values, cycles->count, 0.25) - 1.0) /
           normal_quartiles;
}

/* By how many cycles the stamps alone may move this quantile, beyond rounding: theirs two
   deviations of its rank farther out, as far as two of the loads lie beyond that. */
static double stamp_quantile(const struct pb_extractor *extractor, double fraction)
{
    const struct pb_sample *cycles = &extractor->sm_cycles;
    double n = (double)cycles->count, edge = 2.0 / n;
    double wobble = 2.0 * sqrt(fraction * (1.0 - fraction) / n);

    if (cycles->count < LEAST_ACCESSES)
        return 0.0;
    fraction += fraction < 0.5 ? -wobble : wobble;
    fraction = fmin(fmax(fraction, edge), 1.0 - edge);
    return fmax(0.0, fabs(pb_quantile(cycles->values, cycles->count, fraction)) - 1.0);
}

/* The share of loads that the stamps alone may make so many cycles late, k of n having been seen:
   the root of its mean square, (k + 1) (k + 2) / n² where all shares were as likely before. So none
   of n leaves 1.4 / n open, of which 3 / n, the upper bound at 95%, is two deviations. */
static double stamp_share(const struct pb_extractor *extractor, double late_cycles)
{
    const struct pb_sample *cycles = &extractor->sm_cycles;
    size_t first, end;
    double late;

    if (cycles->count < LEAST_ACCESSES)
        return 0.0;
    late_cycles -= 1.0; /* both medians are whole cycles */
    pb_sorted_range(cycles->values, cycles->count, late_cycles, INFINITY, &first, &end);
    late = (double)(end - first);
    return sqrt((late + 1.0) * (late + 2.0)) / (double)cycles->count;
}

/* A quantile; half the distance of the quantiles two deviations around its rank. */
static struct pb_reading quantile_cell(const struct pb_sample *sorted, double fraction)
{
    double n = (double)sorted->count, wobble = 2.0 * sqrt(fraction * (1.0 - fraction) / n);
    double low = pb_quantile(sorted->values, sorted->count, fmax(0.0, fraction - wobble));
    double high = pb_quantile(sorted->values, sorted->count, fmin(1.0, fraction + wobble));

    return (struct pb_reading){pb_quantile(sorted->values, sorted->count, fraction),
                               (high - low) / 4.0, -1};
}

/* cycle: one of them, as a share of the class' median */
static void put_quantiles(struct pb_extractor *extractor, enum pb_access_class class,
                          const struct pb_sample *sorted, double cycle)
{
    static const struct {
        const char *name;
        double fraction;
        size_t least; /* accesses without which it is not stated */
    } quantiles[] = {
        {"q01", 0.01, 500}, {"q10", 0.10, 200},  {"q25", 0.25, 200},     {"q75", 0.75, 200},
        {"q90", 0.90, 200}, {"q99", 0.99, 1000}, {"q999", 0.999, 10000},
    };

    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        struct pb_reading cell;

        if (sorted->count < quantiles[i].least)
            continue;
        cell = quantile_cell(sorted, quantiles[i].fraction);
        cell.noise = hypot(cell.noise, cycle * stamp_quantile(extractor, quantiles[i].fraction));
        pb_extractor_put_coarse(extractor, classes[class].test, classes[class].name,
                                quantiles[i].name, cycle, cell);
    }
}

static void put_tails(struct pb_extractor *extractor, enum pb_access_class class,
                      const struct pb_sample *sorted, double cycle)
{
    static const struct {
        const char *name;
        double factor;
    } marks[] = {
        {"tail_fraction_1_125x", 1.125}, {"tail_fraction_1_5x", 1.5}, {"tail_fraction_3x", 3.0}};
    double n = (double)sorted->count;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        /* two cycles more, so that one step of jitter on a short latency is no tail */
        double mark = marks[i].factor + 2.0 * cycle, beyond, by_stamps;
        size_t first, end;

        pb_sorted_range(sorted->values, sorted->count, mark, INFINITY, &first, &end);
        beyond = (double)(end - first);
        by_stamps = stamp_share(extractor, (mark - 1.0) / cycle);
        pb_extractor_put(
            extractor, classes[class].test, classes[class].name, marks[i].name,
            (struct pb_reading){beyond / n, hypot(sqrt(beyond + 4.0) / n, by_stamps), -1});
    }
}

static void put_class(struct pb_extractor *extractor, enum pb_access_class class)
{
    const struct pb_sample *accesses = &extractor->accesses[class];
    struct pb_sample sorted = {NULL, 0, 0};
    double cycle = 1.0 / extractor->median_cycles[class];

    if (accesses->count < LEAST_ACCESSES || extractor->status != PB_OK)
        return;
    extractor->status = pb_sample_sorted(accesses, &sorted, extractor->err);
    if (extractor->status != PB_OK)
        return;
    put_quantiles(extractor, class, &sorted, cycle);
    put_tails(extractor, class, &sorted, cycle);
    pb_sample_clear(&sorted);
}

/* L2 that answers at two speeds within one run: the slowest test's median over the fastest's. */
static void put_l2_states(struct pb_extractor *extractor)
{
    struct pb_sample sorted = {NULL, 0, 0};

    if (extractor->status == PB_OK && extractor->l2_cycles.count > 1)
        extractor->status = pb_sample_sorted(&extractor->l2_cycles, &sorted, extractor->err);
    if (sorted.count > 1)
        pb_extractor_put(extractor, "l2_capacity", "l2_hits", "slowest_over_fastest_test",
                         pb_reading_plain(sorted.values[sorted.count - 1] / sorted.values[0]));
    pb_sample_clear(&sorted);
}

/* A clock that differs between tests has changed on the way. */
static void put_clock(struct pb_extractor *extractor)
{
    struct pb_sample sorted = {NULL, 0, 0};

    if (extractor->status == PB_OK && extractor->pass_mhz.count > 1)
        extractor->status = pb_sample_sorted(&extractor->pass_mhz, &sorted, extractor->err);
    if (sorted.count > 1)
        pb_extractor_put(extractor, "sm_latency", "clock", "lowest_over_highest",
                         pb_reading_plain(sorted.values[0] / sorted.values[sorted.count - 1]));
    pb_sample_clear(&sorted);
}

/* All loads of shared memory, as late in medians of a hit as they are in cycles. */
static void pool_shared(struct pb_extractor *extractor)
{
    const struct pb_sample *cycles = &extractor->shared_cycles;
    struct pb_sample *pool = &extractor->accesses[PB_CLASS_SHARED];
    double median = extractor->median_cycles[PB_CLASS_SHARED];

    pool->count = 0; /* the hits among them, which gave the median */
    for (size_t i = 0; i < cycles->count && median > 0.0 && extractor->status == PB_OK; i++)
        extractor->status = pb_sample_add(pool, 1.0 + cycles->values[i] / median, extractor->err);
}

void pb_observe_accesses(struct pb_extractor *extractor)
{
    pool_shared(extractor);
    for (int class = 0; class < PB_CLASS_COUNT; class ++) {
        put_class(extractor, (enum pb_access_class) class);
        add_stamps(extractor, (enum pb_access_class) class);
    }
    put_l2_states(extractor);
    put_clock(extractor);
}
