/*
 * One simulated cache or TLB level: what it holds, and what it lets go.
 *
 * A line is allocated as a whole and filled by sector: a resident line without the sector is a
 * miss that fills the sector and evicts nothing. An empty way is taken before any victim is chosen.
 *
 * Index: modulo and xor as in the profile. TLBs are "dealt", because M16 (4.4) saw 65 consecutive
 * pages fit into sets of 17 + 6 x 8 entries and the next ones overflow set after set: of every
 * as many consecutive entries as the level has, each goes to the next set in turn that still has
 * room. With equal sets that is modulo.
 *
 * Policies: lru; fifo (order of filling); plru (a binary tree of bits that point away from the last
 * use; a number of ways that is no power of two prunes the tree); random (even); weighted;
 * keep_hits (lru, but lines of the set's last hits, of half as many as it has ways, stay: an H200's
 * L1).
 *
 * Prefetch: a miss opens a sequential stream. Until prefetch_bytes after the missed sector are
 * passed, a load that is at most 4 KiB ahead of the stream's last one is answered as a hit. A
 * stride chase thus pays once (M16 4.6), a random one almost always. Of first passes only: what
 * lies between the lowest and the highest byte loaded in this launch opens no stream and is in
 * none, so that a pass over more than fits misses as without one (M16 4.6 sees lines of 32 bytes
 * that way).
 *
 * An access costs about the same whatever the number of ways; emptying costs nothing.
 */
#ifndef PB_DEVICE_SIM_CACHE_H
#define PB_DEVICE_SIM_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/sim/profile.h"
#include "device/sim/random.h"

struct pb_sim_cache;

/* An empty cache. The shape must outlive it. PB_NO_MEMORY. */
enum pb_status pb_sim_cache_create(const struct pb_sim_shape *shape,
                                   struct pb_sim_prefetch prefetch, struct pb_sim_cache **cache_out,
                                   struct pb_error *err);
void pb_sim_cache_free(struct pb_sim_cache *cache); /* NULL is allowed */

/*
 * Empties the cache and leaves it `bytes` of its size: every set keeps that share of its ways,
 * rounded down. A set without ways holds nothing.
 */
void pb_sim_cache_start(struct pb_sim_cache *cache, uint64_t bytes);

/* Loads come all at once, until the next start: what one of them made run ahead is late for all. */
void pb_sim_cache_suspend_prefetch(struct pb_sim_cache *cache);

/* Looks an address up and fills it in when it is missing; true: it was there. */
bool pb_sim_cache_access(struct pb_sim_cache *cache, uint64_t address,
                         struct pb_sim_random *random);

/* True: the address is here. Changes nothing. */
bool pb_sim_cache_holds(const struct pb_sim_cache *cache, uint64_t address);

/*
 * True: the address is here, and its set has let nothing go since the start. As long as no other
 * line comes, it stays, and to look it up changes nothing that anything else depends on.
 */
bool pb_sim_cache_keeps(const struct pb_sim_cache *cache, uint64_t address);

/* The set an address belongs to. */
uint32_t pb_sim_cache_set(const struct pb_sim_cache *cache, uint64_t address);

/* True: chance has chosen a victim since the start. Before, the same loads leave the same lines. */
bool pb_sim_cache_has_random_victim(const struct pb_sim_cache *cache);

/*
 * All that accesses and starts change, as bytes: what was saved can be put back into the same cache
 * at any time, whatever happened to it since.
 */
size_t pb_sim_cache_state_bytes(const struct pb_sim_cache *cache);
void pb_sim_cache_save(const struct pb_sim_cache *cache, unsigned char *state_out);
void pb_sim_cache_restore(struct pb_sim_cache *cache, const unsigned char *state);

#endif
