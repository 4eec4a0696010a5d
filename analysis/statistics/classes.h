/*
 * Hits and misses, distinguished by what they look like and not by a threshold.
 *
 * A hit looks like the accesses of a footprint that surely fits. A miss looks like the bulk of what
 * appears when the footprint grows. Anything else (a spike on a hit, a TLB miss here and there) is
 * neither, so it cannot be mistaken for a miss.
 */
#ifndef PB_ANALYSIS_STATISTICS_CLASSES_H
#define PB_ANALYSIS_STATISTICS_CLASSES_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/statistics/modes.h"
#include "analysis/statistics/sample.h"
#include "analysis/trace.h"

struct pb_classes {
    struct pb_band hit, miss; /* cycles less overhead; they do not overlap */
};

/* What an access looks like. */
enum pb_observed { PB_OBSERVED_HIT, PB_OBSERVED_MISS, PB_OBSERVED_NEITHER };

enum pb_observed pb_classes_observe(const struct pb_classes *classes, double cycles);

/* How many accesses look like what. */
struct pb_tally {
    size_t accesses, hits, misses;
};

static inline void pb_tally_add(struct pb_tally *sum, struct pb_tally more)
{
    sum->accesses += more.accesses;
    sum->hits += more.hits;
    sum->misses += more.misses;
}

/*
 * reference  latencies of accesses that hit
 * beyond     latencies of a chase that holds misses, hits may be among them
 *
 * PB_NOT_FOUND  no reference, or beyond holds nothing slower than a hit but outliers
 */
enum pb_status pb_classes_find(const struct pb_sample *reference, const struct pb_sample *beyond,
                               struct pb_classes *classes_out, struct pb_error *err);

/*
 * The same of the traces by a path of two phases, one of which hits; and how often a hit looks like
 * a miss. `background_out` may be NULL.
 */
enum pb_status pb_classes_read(const struct pb_series *series, const char *path, const char *hits,
                               const char *misses, struct pb_classes *classes_out,
                               struct pb_tally *background_out, struct pb_error *err);

/* The band of hits alone, from accesses that hit. PB_NOT_FOUND: no access. */
enum pb_status pb_classes_hit_band(const struct pb_sample *reference, struct pb_band *hit_out,
                                   struct pb_error *err);

struct pb_tally pb_classes_count(const struct pb_classes *classes,
                                 const struct pb_accesses *accesses);

/* The same of latencies less overhead. */
struct pb_tally pb_classes_tally(const struct pb_classes *classes, const struct pb_sample *sample);

/*
 * How many hits of a chase look like misses, by how many lie between: what a burst of noise adds is
 * spread evenly, so the gap is looked at in quarters, of which another kind of loads fills one or
 * two. 0: there is no gap.
 */
double pb_classes_expect_noise(const struct pb_classes *classes,
                               const struct pb_accesses *accesses);

/* So many at most: the second least of four quarters tells the gap's noise to within a factor of
 * two. */
static inline double pb_classes_most_noise(double expected)
{
    return 2.0 * expected;
}

/* Counts what is slower than `cycles` as misses, and all else as hits. */
struct pb_tally pb_classes_slower(const struct pb_sample *sample, double cycles);

/*
 * The chance of seeing at least as many misses as in `tally` if they were no more frequent than in
 * `background` (hypergeometric, one-sided): small means that the chase truly misses.
 */
double pb_tally_surprise(const struct pb_tally *tally, const struct pb_tally *background);

/* Are so many more than noise makes, which is expected so often, beyond a few and its scatter? */
bool pb_exceeds_noise(double count, double expected);

/*
 * Are there more misses than hits of `background` look like, beyond a few and their scatter? Of a
 * background that is short, where pb_tally_surprise() leaves nearly all open.
 */
bool pb_tally_exceeds(const struct pb_tally *tally, const struct pb_tally *background);

#endif
