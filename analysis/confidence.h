/*
 * How sure a stated value is: the one place that defines it.
 *
 * Every inference lets independent pieces of its evidence vote: repeats, blocks of a trace, points
 * of a sweep, another method. A piece agrees when it alone would lead to the stated value within
 * the value's resolution. The confidence is Laplace's rule of succession,
 *
 *     (agreeing + 1) / (seen + 2),
 *
 * the chance that the next such piece would agree too. It is never 1, it is 1/2 without evidence,
 * and little evidence cannot make it high: three pieces that all agree give 0.8. Where a choice
 * among alternatives has a likelihood (the change point of a sweep), its posterior multiplies this.
 */
#ifndef PB_ANALYSIS_CONFIDENCE_H
#define PB_ANALYSIS_CONFIDENCE_H

#include <stdbool.h>
#include <stddef.h>

struct pb_votes {
    double agreeing, seen;
};

/* One piece of evidence. */
void pb_votes_add(struct pb_votes *votes, bool agrees);

/* `agreeing` of `seen` pieces at once. */
void pb_votes_add_many(struct pb_votes *votes, size_t agreeing, size_t seen);

/*
 * Many pieces that depend on each other, as the accesses of a few walks do: they vote by their
 * shares, but weigh no more than `most` pieces.
 */
void pb_votes_add_share(struct pb_votes *votes, size_t agreeing, size_t seen, size_t most);

/* A contradiction by a whole other method: it weighs as much as everything before it. */
void pb_votes_doubt(struct pb_votes *votes);

double pb_votes_confidence(const struct pb_votes *votes);

#endif
