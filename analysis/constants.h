/*
 * The constants of the inference of caches and TLBs: what no recording can show, each with its
 * reason and what it was calibrated on. Whatever a recording can show is estimated instead.
 */
#ifndef PB_ANALYSIS_CONSTANTS_H
#define PB_ANALYSIS_CONSTANTS_H

/*
 * Jitter ends so many half widths (which hold half of the deviations to one side) from the class:
 * 4 standard deviations of a normal distribution. Beyond lies contamination.
 */
#define PB_NOISE_JITTER_WIDTHS 6.0

/*
 * Spikes before any is counted, as if so many of them had been seen at the share below: a few
 * hundred accesses without a spike do not prove that there is none. H100 and H200: one in a
 * thousand to one in ten thousand.
 */
#define PB_NOISE_SPIKES_BEFORE   1.0
#define PB_NOISE_SPIKE_SHARE     1e-3
#define PB_NOISE_SPIKE_SHARE_MIN 1e-4

/*
 * TLB levels. What a parameter of a hypothesis costs in log likelihood: half the logarithm of the
 * number of accesses (BIC), 3e5 to 1e6, and as much again, since accesses of a chase are not
 * independent. Calibrated on random devices 4000000 to 4000149.
 */
#define PB_TLB_PARAMETER_PRICE 12.0

/* Hypotheses whose log likelihoods differ by less predict the same: odds of 20. */
#define PB_SAME_PREDICTION 3.0

/* Share of lines that take what no line of the reference takes. */
#define PB_TLB_OTHER_LINES 1e-2

/*
 * A level explains so much of what all places gain by themselves, or as large a share of the places
 * begins to miss as predicted; and a level that holds more pages than surely stay in L2, or
 * whose step is that of a cache's miss or may be, so much. Random devices 4000000 to 4000299: of
 * steps that were no level none explained more than 0.57, and behind L2 0.83; of levels none less
 * than 0.69.
 */
#define PB_TLB_LEVEL_SHARE     0.6
#define PB_TLB_FAR_LEVEL_SHARE 0.85

/* All lines are alike where so many of the reference lie within the noise: the rest are spikes. */
#define PB_TLB_UNIFORM_SHARE 0.9

/* As many lines as this part of L2 holds surely stay there; the least share of loads that miss it.
 */
#define PB_TLB_L2_PART       16.0
#define PB_TLB_L2_MISS_SHARE 1e-3

/* Coverages of an entry for which sets are tried, those that explain most with one set. */
#define PB_TLB_COVERAGES_TRIED 12
#define PB_TLB_COVERAGE_SHARE  0.05 /* of the best one's gain */
#define PB_TLB_INDEX_SHARE     0.9  /* likewise, of the index with too many bits */

/* Chances of a miss with random victims are no closer to 0 and 1: latencies beside the noise. */
#define PB_TLB_RARE 1e-3

/*
 * Misses of a set with random victims are not independent: by so much of their variance over the
 * ways each misses more often. By replay of sets of 4 to 191 ways; what is left is below 0.001.
 */
#define PB_TLB_TOGETHER 0.32

/*
 * Of the loads that a structure predicts for sure, so many may do otherwise: latencies beside the
 * noise. Random devices 8000012 to 8000428: the right structures 2e-4 at most, others that were
 * thought likeliest 4e-3 and more, or their chances deviate.
 */
#define PB_TLB_AGAINST      2e-3
#define PB_TLB_DEVIATION    0.1 /* likewise, of the mean square deviation in variances, which is 1 */
#define PB_TLB_MISFIT_WORTH 10.0 /* so much of either halves the votes, */
#define PB_TLB_MISFIT_MOST  20.0 /* and with more the structure is not stated */
#define PB_TLB_SETTLED      0.15 /* so much of either is a right level's */
#define PB_TLB_STRAYS       2e-2 /* of a chase's loads: 1e-2 of H100s', by the side of L2 */
#define PB_TLB_SIGMAS       3.0  /* beyond so many of its standard deviations */

/*
 * Levels whose log likelihood is so far behind that of the best ones after some of the scans are
 * given up: the noise of draws was 30 at most. It bounds the time: four random devices with random
 * victims (9300005, 9300018, 9300020, 9300022) have the same values without.
 */
#define PB_TLB_HOPELESS 1000.0

/* A structure that predicts so many of the places that clearly begin to miss needs no other. */
#define PB_TLB_EXPLAINED 0.99

/*
 * Sets of unequal ways: so many numbers of entries are tried, those of which most chases in a row
 * speak; entries are moved between sets where entries times sets are at most so many, and sets are
 * joined where they are at most so many. They bound the time only (0.15 s a device): random devices
 * 4000000 to 4000059 and 4910000 to 4910079 have the same results with twice each.
 */
#define PB_TLB_TOTALS_MAX 8
#define PB_TLB_MOVES_MAX  1024
#define PB_TLB_MERGED_MAX 12

/*
 * Policies by replay. Of the accesses this share may contradict the policy that is right (latencies
 * beside the noise; the ten shipped profiles: at most 1e-4 in all), and to be stated it must lead
 * every other one by so many accesses, since those of one chase depend on each other (a pass over
 * the lines of a set is the least that distinguishes two policies, up to 64 accesses), and by so
 * many times its own contradictions. Of the ten shipped profiles and the recorded H100s and H200s,
 * one seed each, no policy that was stated by these was wrong.
 */
#define PB_POLICY_CONTRADICTED_SHARE 0.005
#define PB_POLICY_LEAD_MIN           64
#define PB_POLICY_LEAD_TIMES         5

/*
 * Below this chance, accesses that look like misses, or are slower than known ones, are more than
 * spikes: a device has some hundred such comparisons. Set on random devices.
 */
#define PB_MISSES_BY_CHANCE 1e-3

/*
 * A line that misses in more than so many quarters of the passes with one line more is background,
 * as the array itself overfills its set: half of all passes meet either of two sets, a line that is
 * always missing all of them. Set on random devices.
 */
#define PB_CACHE_BACKGROUND_QUARTERS 3

/*
 * A miss takes what the next level answers in, within this part of it: SMs of an H200 lie up to 7%
 * apart, and slices of its L2 by 11%. What differs by more is another level.
 */
#define PB_NEXT_LEVEL_ALIKE 0.15

/*
 * A number of structure for which a smaller share of its evidence votes is none: of 250 random
 * devices (6300000 to 6300249) all five such numbers were wrong, of six between this and three
 * times as much two, of 5,966 others 20.
 */
#define PB_VOTES_LEAST 0.1

#endif
