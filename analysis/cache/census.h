/*
 * One latency as every SM tells it: of each chase its middle half's mean, one number for its SM.
 *
 * Blocks of the accesses (of passes: of the SMs) tell the latency too, each alone: they vote for
 * it.
 */
#ifndef PB_ANALYSIS_CACHE_CENSUS_H
#define PB_ANALYSIS_CACHE_CENSUS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/trace.h"

enum { PB_CENSUS_SMS_MIN = 8, PB_CENSUS_BLOCKS = 8 };

/* What of a chase's loads is one number for its SM; of couples, what the first one takes more. */
enum pb_measure { PB_ALL_LOADS, PB_NEAR_LOADS, PB_COUPLES };

/* pb_sample_clear() its SMs. */
struct pb_census {
    struct pb_sample sms; /* in the order of the recording */
    double sums[PB_CENSUS_BLOCKS], counts[PB_CENSUS_BLOCKS];
};

/* Adds what the traces of a phase tell. PB_NO_MEMORY. */
enum pb_status pb_census_read(const struct pb_series *series, const char *phase,
                              enum pb_measure measure, struct pb_census *census,
                              struct pb_error *err);

/* What one block tells; a NaN tells nothing. */
void pb_census_add(struct pb_census *census, size_t block, double cycles);

/* Of blocks that tell the same latency; `less` of what they tell is another one's. */
double pb_census_confidence(const struct pb_census *census, double less, double cycles);

/* Do the SMs, if they are enough, differ too much for one of them to be a word for all? */
bool pb_census_differs(const struct pb_census *census);

#endif
