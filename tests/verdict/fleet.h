/*
 * Simulated fleets of healthy devices as feature tables, for tests and benchmarks of the scores.
 *
 * Nothing here measures: numbers are sampled as a healthy fleet's come out, whole cycles with many
 * ties, ns and rates that follow a device's clock together, shares of slow accesses near zero,
 * sizes that are all the same, events that do not happen.
 */
#ifndef PB_TESTS_VERDICT_FLEET_H
#define PB_TESTS_VERDICT_FLEET_H

#include <stdint.h>

#include "analysis/verdict/score.h"

/* How healthy devices differ. */
struct fleet_plan {
    size_t devices, devices_per_node, metrics;
    double node_share;   /* of the variance: two factors of each node, one for times and one for
                            rates */
    double device_share; /* of the variance: one factor of each device */
    double freedom;      /* Student's degrees of freedom of all draws; 0: normal */
    double practical;    /* of all metrics but counts and sizes */
};

struct fleet_random {
    uint64_t state;
};

double fleet_uniform(struct fleet_random *random); /* 0 <= u < 1 */
double fleet_normal(struct fleet_random *random);
double fleet_draw(struct fleet_random *random, double freedom); /* 0: normal; variance 1 */

/* Fills an empty feature table; the same seed gives the same fleet. Out of memory ends the program.
 */
void fleet_make(const struct fleet_plan *plan, uint64_t seed, struct pb_features *features_out);

/* Adds to one number of a feature table. */
void fleet_shift(struct pb_features *features, size_t device, size_t metric, double by);

/* Scores of that severity or worse. */
size_t fleet_count(const struct pb_scores *scores, enum pb_severity least);

#endif
