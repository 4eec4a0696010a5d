/*
 * A large piece of this device's memory, made of blocks behind one range of addresses.
 *
 * A driver allocates under a lock that all GPUs of a node share. For 138 GiB at once it held that
 * for 0.33 s (H200, driver 580), and whatever the others asked of it had to wait; between two
 * blocks they get their turn.
 */
#include "device/cuda/mapping.h"

static const uint64_t block_bytes = 1u << 30;

/*
 * Where the range begins, if it may: the sets of a TLB then overflow at the same pages in every
 * run. Above what a driver has for its own GPUs; low, so that most arrays end below 256 GiB and
 * cross no address at which many bits turn together; and at no multiple of a power of two beyond 32
 * MiB, since where sets fill evenly all overflow at once and few show which pages they share.
 */
static const uint64_t first_address = (UINT64_C(103) << 30) + (5u << 25);

int pb_cuda_blocks_open(int ordinal, uint64_t bytes, struct pb_cuda_mapping **blocks_out)
{
    const struct pb_cuda_mapping_request request = {.owner = ordinal,
                                                    .user = ordinal,
                                                    .block_bytes = block_bytes,
                                                    .bytes = bytes,
                                                    .wish = first_address};
    const char *call;

    return (int)pb_cuda_mapping_open(&request, blocks_out, &call);
}
