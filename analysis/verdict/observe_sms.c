/*
 * Per-SM maps: every SM against the others of its device, the slowest ones by rank.
 *
 * Floor-sweeping makes every device's map another one, legitimately; sorted maps are comparable.
 * The excess of the slowest, second and third slowest SM over the device's own median is compared
 * with the same rank of the peers, and the SM stays with it as place.
 *
 * Source: facts section 4 (slow SM or L2 slice).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "analysis/verdict/observe_parts.h"

enum { RANKS = 3 };

/* A hit of L1 takes an eighth to a third of one of L2 on all models of the profiles. */
static const double l1_over_l2_max = 0.75;

/* One SM's pass. */
struct pass {
    double value;
    int64_t sm;
};

static int slower_first(const void *a, const void *b)
{
    const struct pass *left = a, *right = b;

    return (left->value < right->value) - (left->value > right->value);
}

/* Passes of one phase as cycles per load, or as the SM's clock in MHz; slowest first. */
static size_t read_passes(const struct pb_series *series, const char *phase, bool as_period,
                          struct pass *passes_out)
{
    struct pb_pick pick = {NULL, "timed", phase};
    const struct pb_point *point;
    size_t at = 0, count = 0;

    while ((point = pb_point_next(series, &pick, &at)) != NULL) {
        double value =
            as_period ? point->total_ns / (double)point->total_cycles : pb_point_average(point);

        if (isfinite(value) && value > 0.0)
            passes_out[count++] = (struct pass){value, point->sm_id};
    }
    qsort(passes_out, count, sizeof(*passes_out), slower_first);
    return count;
}

static int by_sm(const void *a, const void *b)
{
    const struct pass *left = a, *right = b;

    if (left->sm != right->sm)
        return left->sm < right->sm ? -1 : 1;
    return -slower_first(a, b);
}

/* Of passes that were repeated the fastest of each SM; slowest SM first. */
static size_t keep_fastest(struct pass *passes, size_t count)
{
    size_t kept = 0;

    qsort(passes, count, sizeof(*passes), by_sm);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || passes[kept - 1].sm != passes[i].sm)
            passes[kept++] = passes[i];
    qsort(passes, kept, sizeof(*passes), slower_first);
    return kept;
}

static double middle(const struct pass *passes, size_t count)
{
    return count == 0 ? NAN : passes[count / 2].value;
}

/* Excess of the slowest ones over the median, as a share of it. */
static void put_ranks(struct pb_extractor *extractor, const char *test, const char *what,
                      const struct pass *passes, size_t count)
{
    static const char *const ranks[RANKS] = {"slowest", "second_slowest", "third_slowest"};
    char name[PB_NAME_LENGTH];

    for (size_t i = 0; i < RANKS && 2 * i + 2 < count; i++) {
        snprintf(name, sizeof(name), "%s_%s", what, ranks[i]);
        pb_extractor_put(
            extractor, test, "sm", name,
            (struct pb_reading){passes[i].value / middle(passes, count) - 1.0, 0.0, passes[i].sm});
    }
}

/* Do loads of L1's phase end in L1? Where a model's L1 holds no global data, L2 answers them; so
   they say nothing of L1. */
static bool is_in_l1(const struct pb_series *series, struct pass *passes)
{
    double inner = middle(passes, read_passes(series, "l1", false, passes));
    double outer = middle(passes, read_passes(series, "l2", false, passes));

    return !(inner > l1_over_l2_max * outer);
}

static void put_phase(struct pb_extractor *extractor, const struct pb_series *series,
                      const char *phase, struct pass *passes)
{
    size_t count = read_passes(series, phase, false, passes);
    double median = middle(passes, count);
    char name[PB_NAME_LENGTH];

    put_ranks(extractor, "sm_latency", phase, passes, count);
    if (strcmp(phase, "l1") == 0 && !is_in_l1(series, passes))
        return;
    count = read_passes(series, phase, false, passes);
    snprintf(name, sizeof(name), "%s_cycles", phase);
    pb_extractor_put(extractor, "sm_latency", "sm_median", name, pb_reading_plain(median));
    snprintf(name, sizeof(name), "%s_spread", phase);
    if (count >= 4)
        pb_extractor_put(
            extractor, "sm_latency", "sm_map", name,
            pb_reading_plain((passes[count / 4].value - passes[count - 1 - count / 4].value) /
                             median));
    count = read_passes(series, phase, true, passes);
    snprintf(name, sizeof(name), "%s_ns", phase);
    pb_extractor_put(extractor, "sm_latency", "sm_median", name,
                     pb_reading_plain(median * middle(passes, count)));
}

/* Traced loads of one phase, a point for each SM and repeat: their mean, slowest first. */
static size_t read_traces(const struct pb_series *series, const char *phase,
                          struct pass *passes_out)
{
    struct pb_pick pick = {NULL, "traced", phase};
    const struct pb_point *point;
    size_t at = 0, count = 0;

    while ((point = pb_point_next(series, &pick, &at)) != NULL) {
        struct pb_accesses accesses = pb_point_accesses(series, point);
        double sum = 0.0;

        for (size_t i = 0; i < accesses.count; i++)
            sum += pb_access_cycles(&accesses, i);
        if (accesses.count > 0 && sum > 0.0)
            passes_out[count++] = (struct pass){sum / (double)accesses.count, point->sm_id};
    }
    qsort(passes_out, count, sizeof(*passes_out), slower_first);
    return count;
}

/* What every SM has of its own: one that is smaller misses, and so is slower. */
static void put_caches(struct pb_extractor *extractor, const struct pb_series *series,
                       struct pass *passes)
{
    static const char *const phases[] = {"l1_fits", "shared", "constant", "constant_fits"};
    size_t count = keep_fastest(passes, read_traces(series, "conflict", passes));

    put_ranks(extractor, "sm_caches", "conflict", passes, count);

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        count = keep_fastest(passes, read_passes(series, phases[i], false, passes));
        put_ranks(extractor, "sm_caches", phases[i], passes, count);
    }
}

static void put_latency(struct pb_extractor *extractor, const struct pb_series *series,
                        struct pass *passes)
{
    double sms = extractor->metric_source->device->info.sm_count;
    size_t count;

    put_phase(extractor, series, "l1", passes);
    put_phase(extractor, series, "l2", passes);
    count = read_passes(series, "l2", true, passes);
    put_ranks(extractor, "sm_latency", "clock", passes, count);
    if (sms > 0.0)
        pb_extractor_put(extractor, "sm_latency", "sm_map", "measured_share",
                         pb_reading_plain((double)count / sms));
}

void pb_observe_sms(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    bool is_latency = strcmp(recording->name, "sm_latency") == 0;
    struct pass *passes;

    if ((!is_latency && strcmp(recording->name, "sm_caches") != 0) ||
        recording->series.point_count == 0)
        return;
    passes = malloc(recording->series.point_count * sizeof(*passes));
    if (passes == NULL) {
        extractor->status =
            pb_fail(extractor->err, PB_NO_MEMORY, "out of memory allocating %zu SMs",
                    recording->series.point_count);
        return;
    }
    if (is_latency)
        put_latency(extractor, &recording->series, passes);
    else
        put_caches(extractor, &recording->series, passes);
    free(passes);
}
