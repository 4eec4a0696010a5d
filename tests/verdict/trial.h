/*
 * Recorded devices against their own history: one trial, and what is injected into it. Every
 * failure fails the cmocka test that called.
 */
#ifndef PB_TESTS_VERDICT_TRIAL_H
#define PB_TESTS_VERDICT_TRIAL_H

#include "analysis/verdict/finding.h"
#include "verdict/repeats.h"

/* All recordings. */
struct rig {
    struct repeats h200, node, h100; /* two of a node, four of another, one */
};

/* Set-up and tear-down of a group of tests; *state is a struct rig. */
int trial_set_up(void **state);
int trial_tear_down(void **state);

/* A feature table to judge, one of what was before, and what came of it. */
struct trial {
    struct pb_features now, history;
    struct pb_scores scores;
    struct pb_findings findings;
};

void trial_judge(struct trial *trial);
void trial_end(struct trial *trial); /* it is as new */

/* Judges; nothing but OK may be said, and that all have a history. */
void trial_expect_well(struct trial *trial, const char *title);

void trial_print(const char *title, const struct pb_findings *findings);

size_t trial_count(const struct pb_findings *findings, const char *cause);

const struct pb_features *trial_run(const struct repeats *repeats, const char *name);

/* One number that is changed: value * factor + add. */
struct injection {
    const char *name;
    double factor, add;
};

#define SCALED(name, factor)                                                                       \
    {                                                                                              \
        name, factor, 0.0                                                                          \
    }
#define MORE(name, add)                                                                            \
    {                                                                                              \
        name, 1.0, add                                                                             \
    }

/* Changes a number of a row; nothing where it was not measured. */
void trial_inject(struct pb_features *features, size_t device, const struct injection *injection);

#endif
