/*
 * How well a number repeats: how far a healthy device may lie from what it was itself in one
 * earlier run.
 *
 * Peers show how far devices lie apart; one past run shows nothing of the kind. So these sizes are
 * stated. They stand half as far out again, at least, as two runs of one healthy device ever lay
 * apart, and most of them three times as far: two H200s of one node (five quick runs, three
 * standard ones) and one H100 (quick, two standard, full), every number that those runs have.
 * docs/verdict-statistics.md has what was seen.
 */
#ifndef PB_ANALYSIS_VERDICT_REPEAT_H
#define PB_ANALYSIS_VERDICT_REPEAT_H

#include <stdbool.h>

#include "analysis/verdict/sheet.h"

struct pb_repeat {
    double warning, critical; /* relative (the greater over the smaller, less 1); absolute for
                                 fractions, counts and states. INFINITY: never */
    bool same_tests; /* it sums up all tests of a run: only runs of the same tests have the same */
};

struct pb_repeat pb_repeat_of(const struct pb_metric *metric);

/* May these two be compared in it? */
bool pb_repeat_compares(const struct pb_repeat *repeat, const struct pb_subject *a,
                        const struct pb_subject *b);

/* Such a size in the metric's unit, from `past` upwards or downwards. */
double pb_repeat_size(const struct pb_metric *metric, double size, double past, bool upwards);

#endif
