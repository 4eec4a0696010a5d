/* A feature table of a simulated fleet and its scores; see scorerig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "verdict/scorerig.h"

int rig_set_up(void **state)
{
    *state = calloc(1, sizeof(struct rig));
    assert_non_null(*state);
    return 0;
}

int rig_tear_down(void **state)
{
    struct rig *rig = *state;

    pb_scores_clear(&rig->scores);
    pb_features_clear(&rig->features);
    pb_features_clear(&rig->baseline);
    free(rig);
    return 0;
}

void rig_make(struct pb_features *features, size_t devices, uint64_t seed)
{
    struct fleet_plan plan = {.devices = devices, .devices_per_node = 4, .metrics = METRICS};

    plan.practical = 0.01;
    fleet_make(&plan, seed, features);
}

void rig_score(struct rig *rig)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_features *baseline = rig->baseline.device_count > 0 ? &rig->baseline : NULL;

    pb_scores_clear(&rig->scores);
    assert_int_equal(pb_score(&rig->features, baseline, &options, &rig->scores, NULL), PB_OK);
}

const struct pb_score *rig_at(const struct rig *rig, size_t device, size_t metric)
{
    return &rig->scores.cells[device * rig->scores.metric_count + metric];
}

void rig_set(struct rig *rig, size_t device, size_t metric, double value)
{
    struct pb_reading cell = {value, 0.0, -1};

    assert_int_equal(
        pb_features_set(&rig->features, device, &rig->features.metrics[metric], cell, NULL), PB_OK);
}
