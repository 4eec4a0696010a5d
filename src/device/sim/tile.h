/*
 * How a 2D texture lies in memory: as blocks, so that a line holds neighbours in both directions.
 *
 * NVIDIA's block-linear layout: a block is 64 bytes wide and 8 rows high, in memory 16 sectors of
 * 32 bytes, each of which is 16 bytes of two rows (Tegra X1 Technical Reference Manual, "Block
 * Linear"). Blocks follow each other along a row of PB_TEXTURE_ROW_BYTES, then down.
 */
#ifndef PB_DEVICE_SIM_TILE_H
#define PB_DEVICE_SIM_TILE_H

#include <stdint.h>

/* Where byte `offset_bytes` of the array, counted along its rows, lies in memory: one to one. */
uint64_t pb_sim_tile_offset(uint64_t offset_bytes);

#endif
