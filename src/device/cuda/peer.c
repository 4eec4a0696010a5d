/*
 * Memory of another GPU, mapped among this device's addresses.
 *
 * The driver's own calls ask for it, because they need no context on the peer: a context would take
 * half a GiB of its memory and a share of its time, and contexts on peers are made one by one.
 */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <string.h>

#include "device/cuda/device.h"

/* The calls as CUDA 10.2 brought them. */
struct driver {
    PFN_cuMemGetAllocationGranularity_v10020 granularity;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemAddressReserve_v10020 reserve;
    PFN_cuMemAddressFree_v10020 unreserve;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
};

struct pb_cuda_peer {
    struct driver driver;
    CUmemGenericAllocationHandle block;
    bool has_block, is_mapped;
    CUdeviceptr address; /* 0: nothing reserved */
    size_t bytes;
};

static bool look_up_all(struct driver *driver)
{
    return pb_cuda_look_up("cuMemGetAllocationGranularity", &driver->granularity) &&
           pb_cuda_look_up("cuMemCreate", &driver->create) &&
           pb_cuda_look_up("cuMemRelease", &driver->release) &&
           pb_cuda_look_up("cuMemAddressReserve", &driver->reserve) &&
           pb_cuda_look_up("cuMemAddressFree", &driver->unreserve) &&
           pb_cuda_look_up("cuMemMap", &driver->map) &&
           pb_cuda_look_up("cuMemUnmap", &driver->unmap) &&
           pb_cuda_look_up("cuMemSetAccess", &driver->set_access);
}

/* A block of whole pages on the peer. */
static CUresult create_block(struct pb_cuda_peer *peer, int peer_ordinal, uint64_t bytes)
{
    CUmemAllocationProp properties;
    size_t page_bytes = 0;
    CUresult code;

    memset(&properties, 0, sizeof(properties));
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = peer_ordinal;
    code = peer->driver.granularity(&page_bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (code != CUDA_SUCCESS)
        return code;
    if (page_bytes == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    peer->bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    code = peer->driver.create(&peer->block, peer->bytes, &properties, 0);
    peer->has_block = code == CUDA_SUCCESS;
    return code;
}

/* The block among this device's addresses, for this device alone. */
static CUresult map_block(struct pb_cuda_peer *peer, int ordinal)
{
    CUmemAccessDesc access;
    CUresult code = peer->driver.reserve(&peer->address, peer->bytes, 0, 0, 0);

    if (code != CUDA_SUCCESS) {
        peer->address = 0;
        return code;
    }
    code = peer->driver.map(peer->address, peer->bytes, 0, peer->block, 0);
    peer->is_mapped = code == CUDA_SUCCESS;
    if (code != CUDA_SUCCESS)
        return code;
    memset(&access, 0, sizeof(access));
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = ordinal;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return peer->driver.set_access(peer->address, peer->bytes, &access, 1);
}

enum pb_status pb_cuda_peer_open(struct pb_cuda_device *cuda, int peer_ordinal, uint64_t bytes,
                                 struct pb_cuda_peer **peer_out, struct pb_error *err)
{
    struct pb_cuda_peer *peer = calloc(1, sizeof(*peer));
    CUresult code = CUDA_ERROR_NOT_SUPPORTED;

    if (peer == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for what is known of a peer");
    if (look_up_all(&peer->driver))
        code = create_block(peer, peer_ordinal, bytes);
    if (code == CUDA_SUCCESS)
        code = map_block(peer, cuda->ordinal);
    if (code == CUDA_SUCCESS) {
        *peer_out = peer;
        return PB_OK;
    }
    pb_cuda_peer_close(peer);
    if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: the driver maps no memory of GPU %d here (%d)",
                       cuda->ordinal, peer_ordinal, (int)code);
    return pb_cuda_status(cuda, (int)code, "cuMemCreate or cuMemMap", "mapping a peer's memory",
                          err);
}

uint64_t pb_cuda_peer_address(const struct pb_cuda_peer *peer)
{
    return peer->address;
}

void pb_cuda_peer_close(struct pb_cuda_peer *peer)
{
    if (peer == NULL)
        return;
    cudaDeviceSynchronize(); /* after an error a transfer may still be under way */
    if (peer->is_mapped)
        peer->driver.unmap(peer->address, peer->bytes);
    if (peer->address != 0)
        peer->driver.unreserve(peer->address, peer->bytes);
    if (peer->has_block)
        peer->driver.release(peer->block);
    free(peer);
}
