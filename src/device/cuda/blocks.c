/*
 * A large piece of this device's memory, made of blocks behind one range of addresses.
 *
 * A driver allocates under a lock that all GPUs of a node share. For 138 GiB at once it held that
 * for 0.33 s (H200, driver 580), and whatever the others requested of it had to wait; between two
 * blocks they get their turn.
 */
#include "device/cuda/mapping.h"

static const uint64_t block_bytes = 1u << 30;

int pb_cuda_blocks_open(int ordinal, uint64_t bytes, struct pb_cuda_mapping **blocks_out)
{
    const struct pb_cuda_mapping_request request = {
        .owner = ordinal, .user = ordinal, .block_bytes = block_bytes, .bytes = bytes};
    const char *call;

    return (int)pb_cuda_mapping_open(&request, blocks_out, &call);
}
