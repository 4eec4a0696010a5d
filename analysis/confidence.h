/*
 * How sure a stated value is: the one place that defines it.
 *
 * Every inference lets independent pieces of its evidence vote: repeats, blocks of a trace, points
 * of a sweep, another method. A piece agrees when it alone would lead to the stated value within
 * the value's resolution. The share of the votes is Laplace's rule of succession,
 *
 *     (agreeing + 1) / (seen + 2),
 *
 * the chance that the next such piece would agree too. It is never 1, it is 1/2 without evidence,
 * and little evidence cannot make it high: three pieces that all agree give 0.8. Where a choice
 * among alternatives has a likelihood (the change point of a sweep), its posterior multiplies this.
 *
 * The share of the votes orders the values of one kind by how sure they are, but it is no
 * probability: a median of four thousand loads is one piece of evidence and right nearly always. So
 * the confidence that is stated is the share of the votes, calibrated: how often values of this
 * kind with such votes were right, exactly or by an interval that holds the truth, on random
 * devices whose truth is known. It is applied once, when all parameters of a device have been
 * inferred and no rule between them changes any more.
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
 * Many pieces that depend on each other, as the accesses of a few chases do: they vote by their
 * shares, but weigh no more than `most` pieces.
 */
void pb_votes_add_share(struct pb_votes *votes, size_t agreeing, size_t seen, size_t most);

/* A contradiction by a whole other method: it weighs as much as everything before it. */
void pb_votes_contradict(struct pb_votes *votes);

/* The share of the votes, 0 to 1. */
double pb_votes_confidence(const struct pb_votes *votes);

/* Of a figure that was measured once: nothing has contradicted it, nor confirmed it. */
double pb_confidence_of_one(void);

/* Kinds of values whose votes mean the same. */
enum pb_value_family {
    PB_FAMILY_TIME,      /* latencies, penalties, clocks */
    PB_FAMILY_RATE,      /* throughputs, shares, counts of errors */
    PB_FAMILY_STRUCTURE, /* sizes, lines, sets, indexes, policies, sharing, banks */
    PB_FAMILY_EDGE,      /* where a curve changes that has no level of its own */
    PB_FAMILY_TLB_STEP, /* of TLBs what is seen in any sets: penalty, coverage of an entry, page; */
    PB_FAMILY_TLB_THIRD, /* the same of the third level, which few loads come to */
    PB_FAMILY_TLB,       /* entries, by the comparison of hypotheses */
    PB_FAMILY_TLB_SETS,  /* their sets, ways and index */
    PB_FAMILY_TOPOLOGY,  /* groups of SMs and of addresses */
    PB_FAMILY_SAMPLED,   /* size, line, sets and index of L2, of which chases see a part */
    PB_FAMILIES,
};

enum pb_value_family pb_confidence_family(const char *memory, const char *name);

/* "time", for tables. */
const char *pb_confidence_family_name(enum pb_value_family family);

/*
 * The probability that a value of the family is right when the share of its votes is `votes`. 0 for
 * 0, which means that there is no value. Never falls where the votes rise.
 */
double pb_confidence_calibrated(enum pb_value_family family, double votes);

#endif
