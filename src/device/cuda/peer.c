/*
 * Memory of another GPU, mapped among this device's addresses.
 *
 * The driver's own calls ask for it, because they need no context on the peer: a context would take
 * half a GiB of its memory and a share of its time, and contexts on peers are made one by one.
 */
#include "device/cuda/mapping.h"

enum pb_status pb_cuda_peer_open(struct pb_cuda_device *cuda, int peer_ordinal, uint64_t bytes,
                                 struct pb_cuda_mapping **peer_out, struct pb_error *err)
{
    const struct pb_cuda_mapping_request request = {
        .owner = peer_ordinal, .user = cuda->ordinal, .bytes = bytes};
    const char *call;
    CUresult code = pb_cuda_mapping_open(&request, peer_out, &call);

    if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: the driver maps no memory of GPU %d here (%d)",
                       cuda->ordinal, peer_ordinal, (int)code);
    return pb_cuda_status(cuda, (int)code, call, "mapping a peer's memory", err);
}
