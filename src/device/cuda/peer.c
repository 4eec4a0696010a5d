/*
 * Memory of another GPU, mapped among this device's addresses.
 *
 * The driver's own calls query it, because they need no context on the peer: a context would take
 * half a GiB of its memory and a share of its time, and contexts on peers are made one by one.
 */
#include "device/cuda/mapping.h"

#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <string.h>

enum pb_status pb_cuda_peer_find(struct pb_cuda_device *cuda, const char *uuid, int *ordinal_out,
                                 struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0, found = 0;
    int can = 0;
    enum pb_status status = pb_cuda_enumerate(&entries, &count, err);

    if (status != PB_OK)
        return status;
    while (found < count && strcmp(entries[found].uuid, uuid) != 0)
        found++;
    free(entries);
    if (found == count)
        return pb_fail(err, PB_UNSUPPORTED, "link: GPU %s is not visible to this process", uuid);
    if ((int)found == cuda->ordinal)
        return pb_fail(err, PB_INVALID, "link: GPU %s is this device itself", uuid);
    status = pb_cuda_status(cuda, cudaDeviceCanAccessPeer(&can, cuda->ordinal, (int)found),
                            "cudaDeviceCanAccessPeer", "looking for a peer", err);
    if (status == PB_OK && can == 0)
        return pb_fail(err, PB_UNSUPPORTED, "link: GPU %d cannot read the memory of GPU %d",
                       cuda->ordinal, (int)found);
    *ordinal_out = (int)found;
    return status;
}

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

enum pb_status pb_cuda_peer_keep(struct pb_cuda_device *cuda, const char *uuid, uint64_t bytes,
                                 uint64_t *address_out, struct pb_error *err)
{
    int ordinal = -1;
    enum pb_status status = pb_cuda_peer_find(cuda, uuid, &ordinal, err);

    if (status == PB_OK &&
        (cuda->peer == NULL || cuda->peer_ordinal != ordinal || cuda->peer_bytes < bytes)) {
        pb_cuda_peer_drop(cuda);
        status = pb_cuda_peer_open(cuda, ordinal, bytes, &cuda->peer, err);
        cuda->peer_ordinal = ordinal;
        cuda->peer_bytes = bytes;
    }
    if (status == PB_OK)
        *address_out = pb_cuda_mapping_address(cuda->peer);
    return status;
}

void pb_cuda_peer_drop(struct pb_cuda_device *cuda)
{
    pb_cuda_mapping_close(cuda->peer);
    cuda->peer = NULL;
}
