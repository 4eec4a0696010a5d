/*
 * How far a healthy device lies from its peers by chance.
 *
 * With few peers the scale itself is uncertain: among 16 healthy devices one of 100,000 lies beyond
 * 7.5 robust sigmas, among 256 beyond 4.5. There is no closed form, so critical_table.c holds the
 * result of a Monte Carlo through the very same estimators (median and Qn of all peers, the device
 * among them), made by tests/bench/generate_critical.c. Between its rows the logarithm of the
 * critical value is interpolated over 1/peers and over the weight of the tails.
 *
 * The tails of a healthy population are those of Student's t with 1/tail degrees of freedom; 0 is
 * the normal distribution.
 *
 * Limit: below p = 1e-10, and with few peers where its rare samples become too few, the last slope
 * goes on, which overstates p.
 */
#ifndef PB_ANALYSIS_VERDICT_CRITICAL_H
#define PB_ANALYSIS_VERDICT_CRITICAL_H

#include <stddef.h>

enum {
    PB_CRITICAL_PEERS = 28, /* numbers of peers, 4 … 8,192 */
    PB_CRITICAL_TAILS = 6,  /* weights of the tails */
    PB_CRITICAL_LEVELS = 20 /* p = 10^-0.5, 10^-1, … 10^-10 */
};

/* The tails' greatest weight: five degrees of freedom. */
#define PB_CRITICAL_TAIL_MAX 0.2

extern const unsigned pb_critical_peers[PB_CRITICAL_PEERS]; /* ascending */
extern const double pb_critical_tails[PB_CRITICAL_TAILS];   /* ascending */

/* Critical |sigmas| by tail, peers and level. */
extern const float pb_critical_table[PB_CRITICAL_TAILS][PB_CRITICAL_PEERS][PB_CRITICAL_LEVELS];

/* The null distribution for one number of peers. */
struct pb_null {
    double log_sigmas[PB_CRITICAL_LEVELS]; /* ascending */
};

/* peers: at least 4, any above the table counts as its last; tail: 0 … PB_CRITICAL_TAIL_MAX */
void pb_null_set(struct pb_null *null_out, double peers, double tail);

/* Probability that a healthy device lies at least |sigmas| from its peers' center, to one side or
   the other; NaN for NaN. */
double pb_null_p(const struct pb_null *null, double sigmas);

/* The distance that a healthy device exceeds with probability p (0 < p < 1). */
double pb_null_sigmas(const struct pb_null *null, double p);

#endif
