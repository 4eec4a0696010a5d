/* What tests of scores begin with: the feature table of a simulated fleet, a baseline, the scores.
 */
#ifndef TESTS_VERDICT_SCORERIG_H
#define TESTS_VERDICT_SCORERIG_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict/score.h"
#include "verdict/fleet.h"

/* Metrics of fleet.c by their place. */
enum {
    L1_CYCLES = 0,
    DRAM_CYCLES = 2,
    L2_NS = 4,
    DRAM_NS = 5,
    SIZE = 9,
    ERRORS = 11,
    METRICS = 24
};

struct rig {
    struct pb_features features, baseline;
    struct pb_scores scores;
};

int rig_set_up(void **state);
int rig_tear_down(void **state);

#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

/* So many devices, four a node, with a practical size of 1%. */
void rig_make(struct pb_features *features, size_t devices, uint64_t seed);
void rig_score(struct rig *rig);
const struct pb_score *rig_at(const struct rig *rig, size_t device, size_t metric);
void rig_set(struct rig *rig, size_t device, size_t metric, double value);

#endif
