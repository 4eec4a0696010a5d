/* Hits and misses by bands. */
#include "analysis/statistics/classes.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "analysis/constants.h"

enum { MODES_MAX = 64 };

/* Modes that together hold less than the rest of this are outliers. */
static const double bulk_share = 0.9;

static struct pb_band bulk_of(const double *sorted, size_t count)
{
    struct pb_mode modes[MODES_MAX];

    return pb_modes_bulk(modes, pb_modes_find(sorted, count, MODES_MAX, modes), bulk_share);
}

enum pb_status pb_classes_hit_band(const struct pb_sample *reference, struct pb_band *hit_out,
                                   struct pb_error *err)
{
    struct pb_sample sorted;
    enum pb_status status = pb_sample_sorted(reference, &sorted, err);

    if (status != PB_OK)
        return status;
    if (sorted.count == 0)
        status = pb_fail(err, PB_NOT_FOUND, "not observable: no traced accesses that hit");
    else
        *hit_out = bulk_of(sorted.values, sorted.count);
    pb_sample_clear(&sorted);
    return status;
}

struct pb_tally pb_classes_slower(const struct pb_sample *sample, double cycles)
{
    struct pb_tally tally = {sample->count, 0, 0};

    for (size_t i = 0; i < sample->count; i++)
        tally.misses += sample->values[i] > cycles;
    tally.hits = tally.accesses - tally.misses;
    return tally;
}

/*
 * Bands keep a margin, so they may touch: then what lies between the hits and the least of what is
 * slower is parted in the middle. The margin of misses of several kinds may reach far below that.
 */
static void part(struct pb_classes *classes, double least_slower)
{
    if (classes->miss.low <= classes->hit.high)
        classes->miss.low = (classes->hit.high + least_slower) / 2.0;
}

/*
 * The margin above the slowest hits may be where misses lie, by a few cycles: of two caches that
 * take nearly the same. Where more lies there than outliers, it is no hit.
 */
static void yield_margin(struct pb_classes *classes, const struct pb_sample *reference,
                         const struct pb_sample *beyond)
{
    struct pb_tally hits = {reference->count, reference->count, 0}, other = {beyond->count, 0, 0};
    double slowest = -INFINITY, least = INFINITY;

    for (size_t i = 0; i < reference->count; i++)
        if (reference->values[i] <= classes->hit.high)
            slowest = fmax(slowest, reference->values[i]);
    for (size_t i = 0; i < beyond->count; i++) {
        if (beyond->values[i] > slowest)
            least = fmin(least, beyond->values[i]);
        other.misses += beyond->values[i] > slowest && beyond->values[i] <= classes->hit.high;
    }
    other.hits = other.accesses - other.misses;
    if (pb_tally_surprise(&other, &hits) <= PB_MISSES_BY_CHANCE)
        classes->hit.high = (slowest + least) / 2.0;
}

/* Are there more of a kind than the reference has of it? */
static bool is_news(const struct pb_mode *mode, size_t accesses, const struct pb_sample *reference)
{
    struct pb_tally seen = {accesses, accesses - mode->count, mode->count};
    struct pb_tally before = {reference->count, 0, 0};

    for (size_t i = 0; i < reference->count; i++)
        before.misses += pb_band_holds(mode->band, reference->values[i]);
    before.hits = before.accesses - before.misses;
    return pb_tally_surprise(&seen, &before) <= PB_MISSES_BY_CHANCE;
}

/*
 * Misses look like the bulk of what is slower than hits, and like its fastest kind that outliers of
 * hits are none of: no noise makes loads faster, but most of them may miss a TLB as well.
 */
static void find_misses(const double *sorted, size_t count, size_t accesses,
                        const struct pb_sample *reference, struct pb_classes *classes)
{
    struct pb_mode modes[MODES_MAX];
    size_t modes_count = pb_modes_find(sorted, count, MODES_MAX, modes), kept = 0;

    for (size_t i = 0; i < modes_count; i++)
        if (is_news(&modes[i], accesses, reference))
            modes[kept++] = modes[i];
    if (kept == 0) /* all of them are, together */
        kept = modes_count;
    classes->miss = pb_modes_bulk(modes, kept, bulk_share);
    classes->miss.low = fmin(classes->miss.low, modes[0].band.low);
}

enum pb_status pb_classes_find(const struct pb_sample *reference, const struct pb_sample *beyond,
                               struct pb_classes *classes_out, struct pb_error *err)
{
    struct pb_classes classes = {.hit = {0, 0}};
    struct pb_tally outliers, slower;
    struct pb_sample sorted;
    size_t first, end;
    enum pb_status status = pb_classes_hit_band(reference, &classes.hit, err);

    if (status != PB_OK)
        return status;
    yield_margin(&classes, reference, beyond);
    outliers = pb_classes_slower(reference, classes.hit.high);
    slower = pb_classes_slower(beyond, classes.hit.high);
    if (slower.misses == 0 || pb_tally_surprise(&slower, &outliers) > PB_MISSES_BY_CHANCE)
        return pb_fail(
            err, PB_NOT_FOUND,
            "not observable: only %zu of %zu accesses are slower than a hit, no more than outliers",
            slower.misses, slower.accesses);
    status = pb_sample_sorted(beyond, &sorted, err);
    if (status != PB_OK)
        return status;
    pb_sorted_range(sorted.values, sorted.count, classes.hit.high, INFINITY, &first, &end);
    while (first < end && sorted.values[first] <= classes.hit.high)
        first++;
    find_misses(sorted.values + first, end - first, beyond->count, reference, &classes);
    part(&classes, sorted.values[first]);
    pb_sample_clear(&sorted);
    *classes_out = classes;
    return PB_OK;
}

enum pb_status pb_classes_read(const struct pb_series *series, const char *path, const char *hits,
                               const char *misses, struct pb_classes *classes_out,
                               struct pb_tally *background_out, struct pb_error *err)
{
    struct pb_pick picks[] = {{path, "traced", hits}, {path, "traced", misses}};
    struct pb_sample reference = {NULL, 0, 0}, beyond = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(series, &picks[0], &reference, err);

    if (status == PB_OK)
        status = pb_trace_collect(series, &picks[1], &beyond, err);
    if (status == PB_OK)
        status = pb_classes_find(&reference, &beyond, classes_out, err);
    if (status == PB_OK && background_out != NULL)
        *background_out = pb_classes_tally(classes_out, &reference);
    pb_sample_clear(&beyond);
    pb_sample_clear(&reference);
    return status;
}

enum pb_observed pb_classes_observe(const struct pb_classes *classes, double cycles)
{
    if (pb_band_holds(classes->hit, cycles))
        return PB_OBSERVED_HIT;
    return pb_band_holds(classes->miss, cycles) ? PB_OBSERVED_MISS : PB_OBSERVED_NEITHER;
}

struct pb_tally pb_classes_count(const struct pb_classes *classes,
                                 const struct pb_accesses *accesses)
{
    struct pb_tally tally = {accesses->count, 0, 0};

    for (size_t i = 0; i < accesses->count; i++) {
        double cycles = pb_access_cycles(accesses, i);

        tally.hits += pb_band_holds(classes->hit, cycles);
        tally.misses += pb_band_holds(classes->miss, cycles);
    }
    return tally;
}

double pb_classes_expect_noise(const struct pb_classes *classes, const struct pb_accesses *accesses)
{
    enum { QUARTERS = 4 };
    double quarter = (classes->miss.low - classes->hit.high) / QUARTERS;
    double most = classes->miss.low; /* that anything takes, and misses may */
    size_t counts[QUARTERS] = {0};

    if (quarter < 2.0)
        return 0.0;
    for (size_t i = 0; i < accesses->count; i++) {
        double cycles = pb_access_cycles(accesses, i);
        double way = (cycles - classes->hit.high) / quarter;

        most = fmax(most, fmin(cycles, classes->miss.high));
        if (way > 0.0 && way < QUARTERS)
            counts[(size_t)way]++;
    }
    for (size_t i = 0; i < 2; i++) /* the second least comes second */
        for (size_t k = QUARTERS - 1; k > i; k--)
            if (counts[k] < counts[k - 1]) {
                size_t more = counts[k - 1];

                counts[k - 1] = counts[k];
                counts[k] = more;
            }
    return (double)counts[1] * (most - classes->miss.low) / quarter;
}

struct pb_tally pb_classes_tally(const struct pb_classes *classes, const struct pb_sample *sample)
{
    struct pb_tally tally = {sample->count, 0, 0};

    for (size_t i = 0; i < sample->count; i++) {
        tally.hits += pb_band_holds(classes->hit, sample->values[i]);
        tally.misses += pb_band_holds(classes->miss, sample->values[i]);
    }
    return tally;
}

double pb_tally_surprise(const struct pb_tally *tally, const struct pb_tally *background)
{
    double expected;

    if (tally->misses == 0 || tally->accesses == 0)
        return 1.0;
    /* No more frequent than in the background: no surprise, and no tail to sum up. */
    expected = (double)background->misses / (double)(background->accesses + 1);
    if ((double)tally->misses / (double)tally->accesses <= expected)
        return 1.0;
    return gsl_cdf_hypergeometric_Q((unsigned)(tally->misses - 1), (unsigned)tally->accesses,
                                    (unsigned)background->accesses,
                                    (unsigned)(tally->misses + background->misses));
}

bool pb_exceeds_noise(double count, double expected)
{
    return count >= PB_FEW + expected + PB_SIGMAS * sqrt(expected);
}

bool pb_tally_exceeds(const struct pb_tally *tally, const struct pb_tally *background)
{
    double noise = (double)tally->accesses * (double)background->misses /
                   fmax(1.0, (double)background->accesses);

    return pb_exceeds_noise((double)tally->misses, noise);
}
