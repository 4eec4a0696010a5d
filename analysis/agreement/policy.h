/*
 * Replacement policies by replay: of caches whose sets are known and whose policy no test of its
 * own could state, the one policy by which the recorded chases come out.
 *
 * Every candidate (lru, fifo, plru, keep_hits, random) takes its place in the hierarchy, and some
 * of the recordings are replayed. One that contradicts next to nothing is stated where all others
 * contradict far more; where several do, or none, the parameter says so.
 *
 * weighted predicts what random does: only the chases of a policy test show which way is evicted,
 * so that "random" stands for both, at half the confidence.
 *
 * Limit: a policy that is none of these, but misses as often as one of them in all chases, is taken
 * for it.
 */
#ifndef PB_ANALYSIS_AGREEMENT_POLICY_H
#define PB_ANALYSIS_AGREEMENT_POLICY_H

#include "analysis/inference.h"
#include "analysis/parameter.h"

/*
 * States the policies of l1, readonly, texture and l2 that are undetermined; declares that of l2.
 *
 * place   of the device in its file: /devices/KEY
 * source  the recordings that the parameters were inferred from; each is read once more
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_policies_by_replay(struct pb_parameters *parameters, const char *place,
                                     const struct pb_recordings *source, struct pb_error *err);

#endif
