/*
 * Memory of another GPU, mapped among this device's addresses.
 *
 * The driver's own calls ask for it, because they need no context on the peer: a context would take
 * half a GiB of its memory and a share of its time, and contexts on peers are made one by one.
 */
#include <stdlib.h>

#include "device/cuda/device.h"
#include "device/cuda/mapping.h"

struct pb_cuda_peer {
    struct pb_cuda_mapping mapping;
};

/* A block of whole pages on the peer, for this device alone. */
static CUresult map_block(struct pb_cuda_peer *peer, int peer_ordinal, int ordinal, uint64_t bytes,
                          const char **call_out)
{
    size_t page_bytes = 0;
    uint64_t whole;
    CUresult code;

    *call_out = "cuMemGetAllocationGranularity";
    if (!pb_cuda_driver_load(&peer->mapping.driver))
        return CUDA_ERROR_NOT_SUPPORTED;
    code = pb_cuda_page_bytes(&peer->mapping.driver, peer_ordinal, &page_bytes);
    if (code != CUDA_SUCCESS)
        return code;
    if (page_bytes == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    return pb_cuda_mapping_open(&peer->mapping, peer_ordinal, ordinal, whole, whole, call_out);
}

enum pb_status pb_cuda_peer_open(struct pb_cuda_device *cuda, int peer_ordinal, uint64_t bytes,
                                 struct pb_cuda_peer **peer_out, struct pb_error *err)
{
    struct pb_cuda_peer *peer = calloc(1, sizeof(*peer));
    const char *call;
    CUresult code;

    if (peer == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for what is known of a peer");
    code = map_block(peer, peer_ordinal, cuda->ordinal, bytes, &call);
    if (code == CUDA_SUCCESS) {
        *peer_out = peer;
        return PB_OK;
    }
    pb_cuda_peer_close(peer);
    if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: the driver maps no memory of GPU %d here (%d)",
                       cuda->ordinal, peer_ordinal, (int)code);
    return pb_cuda_status(cuda, (int)code, call, "mapping a peer's memory", err);
}

uint64_t pb_cuda_peer_address(const struct pb_cuda_peer *peer)
{
    return peer->mapping.address;
}

void pb_cuda_peer_close(struct pb_cuda_peer *peer)
{
    if (peer == NULL)
        return;
    pb_cuda_mapping_close(&peer->mapping);
    free(peer);
}
