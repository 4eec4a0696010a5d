/* One trial of recorded devices against their history; see trial.h. */
#include "verdict/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

int trial_set_up(void **state)
{
    static struct rig rig;

    repeats_read(PLUMB_TEST_DATA "/h200-repeats.tsv", &rig.h200);
    repeats_read(PLUMB_TEST_DATA "/h200-node-repeats.tsv", &rig.node);
    repeats_read(PLUMB_TEST_DATA "/h100-repeats.tsv", &rig.h100);
    *state = &rig;
    return 0;
}

int trial_tear_down(void **state)
{
    struct rig *rig = *state;

    repeats_clear(&rig->h200);
    repeats_clear(&rig->node);
    repeats_clear(&rig->h100);
    return 0;
}

void trial_judge(struct trial *trial)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_score(&trial->now, trial->history.device_count > 0 ? &trial->history : NULL,
                              &options, &trial->scores, &err),
                     PB_OK);
    assert_int_equal(pb_judge(&trial->now, &trial->scores, NULL, &trial->findings, &err), PB_OK);
}

void trial_end(struct trial *trial)
{
    pb_findings_clear(&trial->findings);
    pb_scores_clear(&trial->scores);
    pb_features_clear(&trial->now);
    pb_features_clear(&trial->history);
    *trial = (struct trial){.now = {0}};
}

void trial_print(const char *title, const struct pb_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        print_message("%s: %s %s %s: %s\n", title, pb_severity_name(findings->items[i].severity),
                      findings->items[i].place, findings->items[i].cause,
                      findings->items[i].summary);
}

size_t trial_count(const struct pb_findings *findings, const char *cause)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++)
        count += strcmp(findings->items[i].cause, cause) == 0;
    return count;
}

const struct pb_features *trial_run(const struct repeats *repeats, const char *name)
{
    for (size_t i = 0; i < repeats->count; i++)
        if (strcmp(repeats->runs[i].name, name) == 0)
            return &repeats->runs[i].features;
    fail_msg("no run %s", name);
    return NULL;
}

void trial_expect_well(struct trial *trial, const char *title)
{
    trial_judge(trial);
    if (trial->findings.worst != PB_SEVERITY_OK)
        trial_print(title, &trial->findings);
    assert_int_equal(trial->findings.worst, PB_SEVERITY_OK);
    assert_int_equal(trial_count(&trial->findings, "self_history"), 1);
}

void trial_inject(struct pb_features *features, size_t device, const struct injection *injection)
{
    size_t metric = pb_features_find(features, injection->name);
    struct pb_reading cell = pb_features_reading(features, device, metric);
    struct pb_error err = PB_ERROR_INIT;

    if (!isfinite(cell.value))
        return; /* not in this battery */
    cell.value = cell.value * injection->factor + injection->add;
    assert_int_equal(pb_features_set(features, device, &features->metrics[metric], cell, &err),
                     PB_OK);
}
