/*
 * The noise model of a device: how far the latency of an access may lie from that of its class.
 *
 * A class is what answers alike: one cache, or one cache behind a number of TLB levels that missed.
 * Its latency is the median of its accesses. Accesses deviate from it in two ways:
 *
 *   jitter         small deviations, with a density that chases show whose accesses surely are of
 *                  one class (they surely hit, or surely miss)
 *   contamination  a share of the accesses, spikes, that may take any time, or what spikes took
 *                  that were seen, and say nothing
 *
 * A hypothesis predicts a class for every access; its likelihood is the product of these densities.
 * A single spike can therefore cost a hypothesis only so much, and no threshold divides hits from
 * misses.
 *
 * Limit: deviations are whole cycles, and the density is one for all accesses of the evidence.
 */
#ifndef PB_ANALYSIS_NOISE_H
#define PB_ANALYSIS_NOISE_H

#include <stddef.h>

#include "core/error.h"

enum {
    PB_NOISE_REACH = 64, /* cycles; what deviates further is contamination */
    PB_NOISE_SPAN = 2048 /* cycles over which contamination is spread */
};

/* Deviations of accesses of known classes, as they are added. Start with {0}. */
struct pb_noise_evidence {
    double *deviations;
    size_t count, capacity;
};

/*
 * Adds the accesses of one class: their deviations from their own median. Fewer than three say
 * nothing. PB_NO_MEMORY.
 */
enum pb_status pb_noise_add(struct pb_noise_evidence *evidence, const double *cycles, size_t count,
                            struct pb_error *err);
void pb_noise_evidence_clear(struct pb_noise_evidence *evidence); /* NULL is allowed */

struct pb_noise {
    double log_density[PB_NOISE_REACH + PB_NOISE_SPAN]; /* by whole cycles of deviation, from
                                                           -PB_NOISE_REACH on, both parts */
    double log_contamination;                           /* beyond: of contamination alone */
    double spike_share;                                 /* of all accesses */
    double spread_cycles; /* the central 90% of the jitter lie so far apart */
    double most_cycles;   /* of jitter: what deviates by more is a spike */
};

/* Estimates the model. Without evidence it is jitter of a cycle and one spike in a thousand. */
void pb_noise_fit(struct pb_noise_evidence *evidence, struct pb_noise *noise_out);

/*
 * What spikes take, by the deviations of accesses that surely are of one class: spikes of one cause
 * are alike, and another class that explained them would be none.
 */
void pb_noise_add_spikes(struct pb_noise *noise, const double *deviations, size_t count);

/* Log density of an access that takes so many cycles more than its class. */
double pb_noise_log(const struct pb_noise *noise, double deviation_cycles);

/* The likeliest latency of the one class that cycles[count > 0] are of; they are sorted. */
double pb_noise_locate(const struct pb_noise *noise, double *cycles, size_t count);

#endif
