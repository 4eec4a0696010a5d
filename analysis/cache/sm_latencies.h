/*
 * One latency as every SM tells it: of each chase its middle half's mean, one number for its SM.
 *
 * Blocks of the accesses (of passes: of the SMs) tell the latency too, each alone: they vote for
 * it.
 */
#ifndef PB_ANALYSIS_CACHE_SM_LATENCIES_H
#define PB_ANALYSIS_CACHE_SM_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/trace.h"

enum { PB_SM_LATENCIES_SMS_MIN = 8, PB_SM_LATENCIES_BLOCKS = 8 };

/* What of a chase's loads is one number for its SM; of load pairs, what the first one takes more.
 */
enum pb_measure { PB_ALL_LOADS, PB_NEAR_LOADS, PB_LOAD_PAIRS };

/* pb_sample_clear() its SMs. */
struct pb_sm_latencies {
    struct pb_sample sms; /* in the order of the recording */
    double sums[PB_SM_LATENCIES_BLOCKS], counts[PB_SM_LATENCIES_BLOCKS];
};

/* Adds what the traces of a phase tell. PB_NO_MEMORY. */
enum pb_status pb_sm_latencies_read(const struct pb_series *series, const char *phase,
                                    enum pb_measure measure, struct pb_sm_latencies *latencies,
                                    struct pb_error *err);

/* The latency by one block; a NaN is left out. */
void pb_sm_latencies_add(struct pb_sm_latencies *latencies, size_t block, double cycles);

/* Of blocks that tell the same latency; `less` of what they tell is another one's. */
double pb_sm_latencies_confidence(const struct pb_sm_latencies *latencies, double less,
                                  double cycles);

/* Do the SMs, if they are enough, differ too much for one of them to be a word for all? */
bool pb_sm_latencies_differs(const struct pb_sm_latencies *latencies);

#endif
