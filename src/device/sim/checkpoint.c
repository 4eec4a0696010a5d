/* The state of several caches in one block; see checkpoint.h. */
#include "device/sim/checkpoint.h"

#include <stdlib.h>

static void add_cache(struct pb_sim_checkpoint *checkpoint, struct pb_sim_cache *cache)
{
    for (size_t i = 0; i < checkpoint->cache_count; i++)
        if (checkpoint->caches[i] == cache)
            return;
    checkpoint->caches[checkpoint->cache_count++] = cache;
}

void pb_sim_checkpoint_add(struct pb_sim_checkpoint *checkpoint, const struct pb_sim_route *route)
{
    for (size_t i = 0; i < route->cache_count; i++)
        add_cache(checkpoint, route->caches[i]);
    for (size_t i = 0; i < route->tlb_count; i++)
        add_cache(checkpoint, route->tlbs[i]);
}

size_t pb_sim_checkpoint_bytes(const struct pb_sim_checkpoint *checkpoint)
{
    size_t bytes = 0;

    for (size_t i = 0; i < checkpoint->cache_count; i++)
        bytes += pb_sim_cache_state_bytes(checkpoint->caches[i]);
    return bytes;
}

void pb_sim_checkpoint_take(struct pb_sim_checkpoint *checkpoint)
{
    unsigned char *state = malloc(pb_sim_checkpoint_bytes(checkpoint) + 1);

    if (state == NULL)
        return;
    free(checkpoint->state);
    checkpoint->state = state;
    for (size_t i = 0; i < checkpoint->cache_count; i++) {
        pb_sim_cache_save(checkpoint->caches[i], state);
        state += pb_sim_cache_state_bytes(checkpoint->caches[i]);
    }
}

void pb_sim_checkpoint_restore(const struct pb_sim_checkpoint *checkpoint)
{
    const unsigned char *state = checkpoint->state;

    for (size_t i = 0; i < checkpoint->cache_count; i++) {
        pb_sim_cache_restore(checkpoint->caches[i], state);
        state += pb_sim_cache_state_bytes(checkpoint->caches[i]);
    }
}

void pb_sim_checkpoint_free(struct pb_sim_checkpoint *checkpoint)
{
    free(checkpoint->state);
    checkpoint->state = NULL;
}
