/*
 * Powers of two in addresses: the largest unit that places of one kind keep to, when a few of them
 * are strays.
 */
#ifndef PB_ANALYSIS_STATISTICS_ALIGNMENT_H
#define PB_ANALYSIS_STATISTICS_ALIGNMENT_H

#include <stddef.h>
#include <stdint.h>

struct pb_alignment {
    uint64_t bytes;   /* 0: not found */
    size_t agreeing;  /* addresses that are multiples of it */
    size_t seen;      /* addresses in all */
    size_t at_double; /* addresses that are multiples of twice as much */
    size_t places;    /* different addresses; 0: not counted */
};

/*
 * The largest power of two that divides all addresses but strays, at most one in sixteen. Where a
 * unit is truly kept, about half of the addresses break its double, so strays and structure are far
 * apart. A single address says nothing, nor do addresses that are all 0.
 */
struct pb_alignment pb_alignment_find(const uint64_t *address, size_t count);

/* How many of the addresses keep to a given power of two, and to its double. */
struct pb_alignment pb_alignment_at(const uint64_t *address, size_t count, uint64_t bytes);

/* How many different ones there are of sorted addresses. */
size_t pb_alignment_places(const uint64_t *sorted, size_t count);

/*
 * The same, made finer where two addresses or more that it does not divide come again: strays do
 * not. Sorts the addresses.
 */
uint64_t pb_alignment_of_repeated(uint64_t *address, size_t count, uint64_t bytes);

#endif
