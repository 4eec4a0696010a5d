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

/*
 * Share of lines that take what no line of the reference takes: more of them miss a level that was
 * not found. Of random devices from 9902025 to 054 with lines 72 cycles apart 0.6% where the levels
 * were right; 20% and more of 9902053 and 70000050, where one was missing; of recorded H200s none.
 */
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
#define PB_TLB_COVERAGE_SHARE  0.3 /* of the best one's gain: in 1,044 rankings 0.38 at least */
#define PB_TLB_INDEX_SHARE     0.9 /* likewise, of the index with too many bits */

/*
 * Chances of a miss with random victims are no closer to 0 and 1, and what no replay showed is as
 * rare: latencies beside the noise.
 */
#define PB_TLB_RARE 1e-3

/*
 * Misses of a set with random victims are not independent: by so much of their variance over the
 * ways each misses more often. By replay of sets of 4 to 191 ways; what is left is below 0.001.
 */
#define PB_TLB_TOGETHER 0.32

/*
 * Of the loads that a structure predicts for sure, so many may do otherwise. Random devices 8000012
 * to 8000428: the right structures 2e-4 at most, others that were thought likeliest 4e-3 and more,
 * or their shares of misses deviate from replays. Outliers that meet all chases alike are noise, of
 * a chase's loads up to this share, or what chance makes of the share that its scan has: with it a
 * level of a recorded H100 or H200 leaves 0.06 of what is allowed at most, of one H200 of nine more
 * 0.10. Of all outliers noise repeats up to another share at the place that had one in the chase
 * before: 0.15 at most of H200s without other tenants, 0.22 of that one, 0.25 and more of wrong
 * sets.
 */
#define PB_TLB_AGAINST   2e-3
#define PB_TLB_OUTLIERS  4e-2
#define PB_TLB_REPEATED  0.2
#define PB_TLB_DEVIATION 0.1  /* likewise, of the square deviations, beyond what is chance */
#define PB_TLB_SETTLED   0.08 /* so much is a right level's: 0.05 of all but one H100 and H200 */

/*
 * So much of either halves the votes, and with more the structure is not stated. Random devices
 * 20000100 to 20000179: right structures have less than 0.4 where all lines are alike, wrong ones
 * 0.6 and more.
 */
#define PB_TLB_MISFIT_MOST 2.0

/*
 * How closely levels are replayed: chases of each octave of pages and loads of each chase, by
 * repeats, while levels are looked for; loads of all chases while levels are checked, half of them
 * while ways are looked for. So many structures are tried of a level in each turn, with all
 * chases an eighth; another follows while one was better. They bound the time, and how far random
 * victims vary.
 */
#define PB_TLB_OCTAVE_CHASES 8
#define PB_TLB_LOADS         2048
#define PB_TLB_LOADS_OF_ALL  8192
#define PB_TLB_TRIALS        200

/*
 * Levels whose log likelihood is so far behind that of the best ones after some of the scans are
 * given up: the noise of draws was 30 at most. It bounds the time: random devices with random
 * victims (9900737, 9900774) have the same values with 50 and with 1,000, seven others of which
 * most levels are tried (9900003 and others of test_blind) with 60 and with 200.
 */
#define PB_TLB_BEHIND 60.0

/* One place in so many shows which step is the likeliest before a level. It bounds the time. */
#define PB_TLB_PLACES_APART 8

/* A structure that predicts so many of the places that clearly begin to miss needs no other. */
#define PB_TLB_EXPLAINED 0.99

/*
 * Sets of unequal ways: so many numbers of entries are tried, those of which most chases in a row
 * speak. It bounds the time only: random devices 4000000 to 4000059 and 4910000 to 4910079 had the
 * same results with two to four times as many.
 */
#define PB_TLB_TOTALS_MAX 8

/*
 * Policies by replay. To be stated one must lead every other one by so many accesses, since those
 * of one chase depend on each other (a pass over the lines of a set is the least that distinguishes
 * two policies, up to 64 accesses), and by so many times its own contradictions. Of the ten shipped
 * profiles and the recorded H100s and H200s, one seed each, no policy that was stated by these was
 * wrong.
 */
#define PB_POLICY_LEAD_MIN   64
#define PB_POLICY_LEAD_TIMES 5

/*
 * What counts as evidence, of caches and of all that is like them. Where nothing else is said, set
 * on random devices; the values of the recorded H100s and H200s and of random devices 8900000 to
 * 8900159 are as right as with a constant for each use. "Verified": on those recordings and
 * 8900000 to 8900059, with another number.
 */

/*
 * Prior of what one case in twenty has (a prefetcher, lines that come and go in pairs, outliers at
 * another rate than the reference's, an edge that is off), the share of loads that noise is at
 * most, and the part of a sample beyond which accesses are none of its bulk; and of a TLB level's
 * step, how far walks of page tables differ where lines do (an H200: 7 of 158 cycles). Verified:
 * with 0.1 one size of an L2 is wrong.
 */
#define PB_EXCEPTION 0.05

/*
 * SMs: chases that another cache has served in part are further from what one SM told than the
 * first; SMs no further apart than the second, in cycles, are alike; loads slower than the quickest
 * quarter by more than the third come from the far side of L2.
 */
#define PB_SMS_PLAUSIBLE    0.2
#define PB_SMS_ALIKE_CYCLES 0.5
#define PB_SMS_NEAR         1.25

/* What has a smaller share of the likelihood, or of all measurements, is no other possibility. */
#define PB_POSSIBLE_SHARE 0.01

/*
 * Most of something: hits of a cached path, misses that an index explains, chases that it predicts,
 * passes in which a line that is background misses, accesses of a kind that prevails. Misses that
 * grow with less than this part of the footprint set in softly. Verified: the same verdicts with
 * 0.8.
 */
#define PB_MOST 0.75

/*
 * Fewer pieces of evidence (places, gaps, misses, chases, SMs) may be as they are by chance.
 * Verified: with 3 a recorded H100's L1 would have 69 sets.
 */
#define PB_FEW 4

/* Pieces that depend on each other, as the accesses of a few chases do, weigh no more than this. */
#define PB_PIECES_MAX 60

/* Deviations of a mean that may be chance, in its standard deviations. */
#define PB_SIGMAS 3.0

/*
 * Figures of one thing lie within this part of each other, or within so many cycles: SMs that are
 * alike, shares of misses of one plateau, means of one kind of loads, with jitter and rounding.
 */
#define PB_ALIKE_SHARE  0.01
#define PB_ALIKE_CYCLES 1.5

/*
 * A miss takes what the next level answers in, within this part of it: SMs of an H200 lie up to 7%
 * apart, and slices of its L2 by 11%. What differs by more is another level; what one SM told
 * differs from all of them by half of it at most (H200s: 2.4%).
 */
#define PB_NEXT_LEVEL_ALIKE 0.15

/* Loads that look like what they are not are no more than this: random devices draw one in 200. */
#define PB_SPIKES_MOST 0.005

/* A miss looks like a hit by accident only: no noise makes loads faster. */
#define PB_FAST_MISSES 2e-3

/*
 * Below this chance, accesses that look like misses, or are slower than known ones, are more than
 * spikes: a device has some hundred such comparisons.
 */
#define PB_MISSES_BY_CHANCE 1e-3

/*
 * A value of structure for which a smaller share of its evidence votes is none: of 250 random
 * devices (6300000 to 6300249) all five such numbers were wrong, of six between this and three
 * times as much two, of 5,966 others 20.
 */
#define PB_VOTES_LEAST 0.1

/*
 * Caches. Loads of one chase depend on each other more than the geometry's likelihood says: its
 * logarithm counts for this part. Set on random devices, with the table of confidences. Verified:
 * with 1 only the line of a recorded H100's L2, 64 to 256 bytes, seems certain.
 */
#define PB_CACHE_INDEPENDENCE 0.25

/*
 * What each doubling of the line away from the conflicts' stride, and beyond 128 bytes, costs in
 * log likelihood: what all chases leave open, the battery's own search decides, and few caches have
 * longer lines. Verified: with 8 the masks of a recorded H100's L1 are not stated.
 */
#define PB_CACHE_OTHER_LINE 16.0

/*
 * Of few pairs of lines, by how large a share of them more must keep a mask of the index than break
 * it. Random devices whose prefetchers hide the low bits (9000476, 9200320).
 */
#define PB_CACHE_PAIRS_KEPT 0.6

/*
 * The edge of a sweep may be so many lines off: victims drawn by chance, and spikes. With four
 * lines a recorded H100's L1 would have 47 sets, which explain all by chance.
 */
#define PB_CACHE_EDGE_LINES 2

/*
 * Sets of more lines are known of no cache that compares all of them at once. Without it a recorded
 * H100's L1 would have 13 sets of 148 lines.
 */
#define PB_CACHE_WAYS_MOST 128

/*
 * Misses and passes by which all hypotheses are scored first, and by 16 times as many those that
 * remain. It bounds the time only; verified: the same with four times as many.
 */
#define PB_CACHE_WORK 8192

/*
 * Passes repeat no better than within so many cycles a load; how well they do, those that fit show.
 */
#define PB_CACHE_PASS_CYCLES 0.1

#endif
