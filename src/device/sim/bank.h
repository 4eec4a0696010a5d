/*
 * Bank conflicts of one warp (M16 6.2): how many wavefronts a strided load needs, and their time.
 */
#ifndef PB_DEVICE_SIM_BANK_H
#define PB_DEVICE_SIM_BANK_H

#include <stdint.h>

#include "device/sim/profile.h"

/*
 * Wavefronts of a warp whose lane i loads word i * stride_words, 1 to 32. A wavefront serves one
 * row of every bank, so a group of lanes needs as many as its worst bank has distinct rows. Words
 * wider than a bank are served by groups (4-byte banks: half a warp for 8 bytes, a quarter for 16),
 * whose wavefronts add up. Lanes that read the same row share it, so stride 0 is a broadcast.
 */
uint32_t pb_sim_bank_wavefronts(const struct pb_sim_shared_spec *shared, uint32_t word_bytes,
                                uint32_t stride_words);

/*
 * Cycles of a load in so many wavefronts: the profile's latency for one, its conflict_cycles where
 * they say, and on the straight line between, or beyond, the nearest two.
 */
double pb_sim_bank_latency(const struct pb_sim_shared_spec *shared, uint32_t wavefronts);

#endif
