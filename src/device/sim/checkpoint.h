/*
 * What the caches and TLBs of a chase hold at one of its loads, to go on from there again.
 *
 * Limit: of use only where the chase up to there would be the same each time, which it is until a
 * policy chooses a victim at random.
 */
#ifndef PB_DEVICE_SIM_CHECKPOINT_H
#define PB_DEVICE_SIM_CHECKPOINT_H

#include <stddef.h>

#include "device/sim/memory.h"

enum { PB_SIM_CHECKPOINT_CACHES_MAX = PB_SIM_CACHES_MAX + PB_SIM_TLBS_MAX };

/* Zeroed: none was taken, and no cache was named. */
struct pb_sim_checkpoint {
    struct pb_sim_cache *caches[PB_SIM_CHECKPOINT_CACHES_MAX];
    size_t cache_count;
    unsigned char *state; /* of all of them, one after the other; NULL: not taken */
};

/* Names the caches and TLBs of a route, each once. */
void pb_sim_checkpoint_add(struct pb_sim_checkpoint *checkpoint, const struct pb_sim_route *route);

/* What copying the caches' state moves. */
size_t pb_sim_checkpoint_bytes(const struct pb_sim_checkpoint *checkpoint);

/* Without memory for it none is taken. */
void pb_sim_checkpoint_take(struct pb_sim_checkpoint *checkpoint);
void pb_sim_checkpoint_restore(const struct pb_sim_checkpoint *checkpoint);

/* Forgets the state; NULL is no state. */
void pb_sim_checkpoint_free(struct pb_sim_checkpoint *checkpoint);

#endif
