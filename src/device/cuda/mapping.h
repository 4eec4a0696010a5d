/*
 * Blocks of a GPU's memory among this device's addresses: one block, over and over, or one after
 * the other.
 *
 * By the driver's own calls, looked up through the runtime: libcuda is never linked, and no context
 * is made on the block's owner. Only mapping.c, alias.c, blocks.c and peer.c may include this; what
 * they open is used and closed by device.h.
 */
#ifndef PB_DEVICE_CUDA_MAPPING_H
#define PB_DEVICE_CUDA_MAPPING_H

#include <cuda.h>

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda/device.h"

/* What to map. */
struct pb_cuda_mapping_request {
    int owner, user;      /* ordinals: the GPU that has the memory, and the one that uses it */
    uint64_t block_bytes; /* 0: one block of all bytes */
    uint64_t bytes;       /* addresses to cover: grow to whole pages, or to whole blocks */
    bool is_one_block;    /* the first block again and again, instead of a new one behind each */
};

/* Does the driver map memory of this GPU? */
bool pb_cuda_mapping_is_there(int ordinal);

/*
 * CUDA_ERROR_NOT_SUPPORTED: the driver or the owner does not let programs map memory;
 * CUDA_ERROR_INVALID_VALUE: blocks that are no whole pages; others are the driver's, of *call_out.
 */
CUresult pb_cuda_mapping_open(const struct pb_cuda_mapping_request *request,
                              struct pb_cuda_mapping **mapping_out, const char **call_out);

/* Is it blocks of this size, behind so many bytes of addresses at least? */
bool pb_cuda_mapping_serves(const struct pb_cuda_mapping *mapping, uint64_t block_bytes,
                            uint64_t bytes);

#endif
