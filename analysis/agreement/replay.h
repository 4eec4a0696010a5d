/*
 * Chases replayed through a hierarchy, access for access: which level must answer, and whether the
 * recorded latency says that it did (design 3.7).
 *
 * What is predicted is a set of answers, each a cache level (or DRAM) with a TLB level: one where
 * all that decides it was determined, several where something was not. An access
 *
 *   agrees        its latency is one of a predicted answer, and it could have been another one's
 *   contradicts   its latency is no predicted answer's, and is that of another answer
 *   is undetermined  otherwise: everything was possible, for want of a parameter or because the
 *                 latencies of all answers overlap; or the latency is none of any answer (a spike)
 *
 * Where a level should hit by what is stated, but need not (a few lines more than surely fit, say),
 * a hit agrees, and what a later level answers is undetermined.
 *
 * Constants that L2 answers may come from either of its halves, where it has two: a first load
 * finds no copy in the SM's own, and which lines are at home there is in no file.
 *
 * Limits: what L2 and the TLBs held before a launch is in no file, so first uses there are open
 * unless the battery flushed L2; only traced chases have accesses. Where a set gets more lines than
 * it has ways and its policy is not determined, each of its loads is open, but in every pass at
 * least as many as are too many must miss: what is lacking of them contradicts.
 */
#ifndef PB_ANALYSIS_AGREEMENT_REPLAY_H
#define PB_ANALYSIS_AGREEMENT_REPLAY_H

#include "analysis/model/hierarchy.h"
#include "core/record.h"

struct pb_replay;

enum { PB_REASONS_MAX = 64 };

/* Accesses of one chase, or of many. */
struct pb_agreement_counts {
    uint64_t accesses, agreed, contradicted, undetermined;
    uint64_t by_reason[PB_REASONS_MAX]; /* of the undetermined ones; pb_replay_reason() */
};

/* The hierarchy must outlive it. PB_NO_MEMORY */
enum pb_status pb_replay_create(const struct pb_model_hierarchy *hierarchy,
                                struct pb_replay **replay_out, struct pb_error *err);
void pb_replay_destroy(struct pb_replay *replay); /* NULL is allowed */

/* Notes how L2 hits spread, from the reference chases of a test; call for what tests there are. */
enum pb_status pb_replay_calibrate(struct pb_replay *replay, const struct pb_series *series,
                                   struct pb_error *err);

/* As another replay of the same device was. */
void pb_replay_calibrate_as(struct pb_replay *replay, const struct pb_replay *calibrated);

/*
 * Replays point i of a test's series; points of one test in their order. Adds to counts. A point
 * that has no accesses, or does not go through the hierarchy, adds nothing.
 */
enum pb_status pb_replay_point(struct pb_replay *replay, const char *test,
                               const struct pb_series *series, size_t i,
                               struct pb_agreement_counts *counts, struct pb_error *err);

/* What a reason is: "l1.policy", "tlb_l2.index_masks", … or what is in no file. */
const char *pb_replay_reason(const struct pb_replay *replay, size_t reason);

#endif
