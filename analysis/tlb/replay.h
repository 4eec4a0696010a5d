/*
 * How likely every recorded load is under TLB levels, all of them together, by what it is predicted
 * to miss (prediction.h), and whether each level's loads miss as it predicts.
 */
#ifndef PB_ANALYSIS_TLB_REPLAY_H
#define PB_ANALYSIS_TLB_REPLAY_H

#include "analysis/tlb/prediction.h"

/* Of the loads that come to a level and clearly hit or miss it. */
struct pb_tlb_fit {
    double loads, against; /* of these, others than was sure, or beside the steps of all levels */
    double leading;        /* loads of an entry's first page: they alone can miss */
    double answered;       /* loads that hit it, by their chances to come and to hit */
    double missed;         /* loads that miss it, by their chances to */
    double repeated; /* of those against, at a place whose load in the chase before was, too */
    double denied;   /* loads that do other than in all replays, where these might differ, */
    double deniable; /* and how many such replays let expect */
    double of_other_lines; /* leading loads of the first level's lines that take what no line of the
                              reference does: they miss another level, too */
    double unexplained;    /* of those against, more than a few of those of their chase: a few are
                              noise, which meets all chases alike */
    /* Chases in which it varies what misses: the squared deviations of their shares of misses from
     * replays, in variances, and what they are of one replay from the others. */
    double deviation, by_chance;
};

/*
 * Levels that are far behind others after some of the scans are given up: by PB_TLB_BEHIND, and by
 * what draws may make. Log likelihoods of scans: under the levels to beat, and under these; in
 * which order scans are looked at, those first that were most against others.
 */
enum { PB_TLB_RACE_SCANS = 64 };

struct pb_tlb_race {
    double noise;
    double ahead[PB_TLB_RACE_SCANS], own[PB_TLB_RACE_SCANS];
    uint8_t order[PB_TLB_RACE_SCANS];
};

/* Nobody is ahead. */
void pb_tlb_start_race(struct pb_tlb_race *race);

/*
 * Log likelihood of all accesses under the levels, whatever of them the evidence knows; the lines
 * take what they take under the levels that it knows.
 *
 * race      the levels to beat; NULL: none. What is given up has -INFINITY
 * fits_out  [count], or NULL
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_tlb_replay(struct pb_tlb_evidence *evidence, const struct pb_tlb_level *levels,
                             size_t count, const struct pb_tlb_effort *effort,
                             struct pb_tlb_race *race, double *log_likelihood_out,
                             struct pb_tlb_fit *fits_out, struct pb_error *err);

#endif
