/*
 * A large piece of this device's memory, made of blocks behind one range of addresses.
 *
 * A driver allocates under a lock that all GPUs of a node share. For 138 GiB at once it held that
 * for 0.33 s (H200, driver 580), and whatever the others asked of it had to wait; between two
 * blocks they get their turn.
 */
#include <stdlib.h>

#include "device/cuda/device.h"
#include "device/cuda/mapping.h"

static const uint64_t block_bytes = 1u << 30;

/*
 * Where the range begins, if it may: the sets of a TLB then overflow at the same pages in every
 * run. Above what a driver has for its own GPUs; low, so that most arrays end below 256 GiB and
 * cross no address at which many bits turn together; and at no multiple of a power of two beyond 32
 * MiB, since where sets fill evenly all overflow at once and few show which pages they share.
 */
static const uint64_t first_address = (UINT64_C(103) << 30) + (5u << 25);

struct pb_cuda_blocks {
    struct pb_cuda_mapping mapping;
};

static CUresult fill(struct pb_cuda_blocks *blocks, int ordinal, uint64_t bytes)
{
    struct pb_cuda_mapping *mapping = &blocks->mapping;
    size_t page_bytes = 0;
    const char *call;
    CUresult code;

    if (!pb_cuda_driver_load(&mapping->driver))
        return CUDA_ERROR_NOT_SUPPORTED;
    code = pb_cuda_page_bytes(&mapping->driver, ordinal, &page_bytes);
    if (code != CUDA_SUCCESS)
        return code;
    if (page_bytes == 0 || block_bytes % page_bytes != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    return pb_cuda_mapping_fill(mapping, ordinal, first_address, block_bytes, bytes, &call);
}

int pb_cuda_blocks_open(int ordinal, uint64_t bytes, struct pb_cuda_blocks **blocks_out)
{
    struct pb_cuda_blocks *blocks = calloc(1, sizeof(*blocks));
    CUresult code = blocks == NULL ? CUDA_ERROR_OUT_OF_MEMORY : fill(blocks, ordinal, bytes);

    if (code == CUDA_SUCCESS)
        *blocks_out = blocks;
    else
        pb_cuda_blocks_close(blocks);
    return (int)code;
}

uint64_t pb_cuda_blocks_address(const struct pb_cuda_blocks *blocks)
{
    return blocks->mapping.address;
}

void pb_cuda_blocks_close(struct pb_cuda_blocks *blocks)
{
    if (blocks == NULL)
        return;
    pb_cuda_mapping_close(&blocks->mapping);
    free(blocks);
}
