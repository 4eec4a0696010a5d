/* The block-linear layout; see tile.h. */
#include "device/sim/tile.h"

#include "device/device.h"

enum { BLOCK_WIDTH = 64, BLOCK_ROWS = 8, BLOCK_BYTES = BLOCK_WIDTH * BLOCK_ROWS };

/* Within a block, from the largest step to the smallest: halves, row pairs, sectors, rows. */
static uint64_t within_block(uint64_t x, uint64_t y)
{
    return x / 32 * 256 + y / 2 * 64 + x % 32 / 16 * 32 + y % 2 * 16 + x % 16;
}

uint64_t pb_sim_tile_offset(uint64_t offset_bytes)
{
    uint64_t x = offset_bytes % PB_TEXTURE_ROW_BYTES, y = offset_bytes / PB_TEXTURE_ROW_BYTES;
    uint64_t block = y / BLOCK_ROWS * (PB_TEXTURE_ROW_BYTES / BLOCK_WIDTH) + x / BLOCK_WIDTH;

    return block * BLOCK_BYTES + within_block(x % BLOCK_WIDTH, y % BLOCK_ROWS);
}
