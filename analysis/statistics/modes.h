/*
 * Modes of a latency distribution: how many kinds of access a trace holds, and where each lies.
 *
 * The distribution itself says where it divides. Its density is taken at every value and in every
 * gap from the nearest members (as many as the square root of their number, but no finer than three
 * cycles: jitter is no mode). Two peaks are two modes when the density between them falls below
 * half of the lower one, or further where few members make the density itself uncertain. Rare
 * spikes are too few to make a peak.
 */
#ifndef PB_ANALYSIS_STATISTICS_MODES_H
#define PB_ANALYSIS_STATISTICS_MODES_H

#include <stdbool.h>
#include <stddef.h>

/* Values from low to high, both included. */
struct pb_band {
    double low, high;
};

struct pb_mode {
    size_t first, count; /* its members are sorted[first, first + count) */
    double median;
    struct pb_band band; /* its members but for outliers, with a margin for those not yet seen */
};

/*
 * Finds the modes of sorted[count], lowest first.
 *
 * Returns how many there are, at most max > 0: any further ones stay in the last. 0 for no members.
 */
size_t pb_modes_find(const double *sorted, size_t count, size_t max, struct pb_mode *modes_out);

/* The mode with most members, the lower one of two. count > 0. */
const struct pb_mode *pb_modes_largest(const struct pb_mode *modes, size_t count);

/*
 * The band of the modes that together hold at least `share` of all members, largest first: what a
 * kind of access looks like that has several places (slices, pages), without its outlying modes.
 */
struct pb_band pb_modes_bulk(const struct pb_mode *modes, size_t count, double share);

/*
 * The band of sorted[count > 0] as one kind: the central 95%, widened at either side by its
 * distance from the median and one cycle. Up to 2.5% of outliers at either side do not move it.
 */
struct pb_band pb_band_of(const double *sorted, size_t count);

bool pb_band_holds(struct pb_band band, double value);

#endif
