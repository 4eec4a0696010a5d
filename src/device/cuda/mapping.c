/* Mapping memory by the driver's calls; see mapping.h. */
#include "device/cuda/mapping.h"

#include <cuda_runtime_api.h>

#include <string.h>

static bool look_up(const char *name, void *function_out)
{
    const unsigned version = 10020;
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t code =
        cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
    cudaError_t code = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);

    (void)version;
#endif
    if (code != cudaSuccess)
        cudaGetLastError();
    if (code != cudaSuccess || found != cudaDriverEntryPointSuccess || function == NULL)
        return false;
    memcpy(function_out, &function, sizeof(function));
    return true;
}

bool pb_cuda_driver_load(struct pb_cuda_driver *driver_out)
{
    struct pb_cuda_driver driver;

    if (!look_up("cuDeviceGetAttribute", &driver.get_attribute) ||
        !look_up("cuMemGetAllocationGranularity", &driver.granularity) ||
        !look_up("cuMemCreate", &driver.create) || !look_up("cuMemRelease", &driver.release) ||
        !look_up("cuMemAddressReserve", &driver.reserve) ||
        !look_up("cuMemAddressFree", &driver.unreserve) || !look_up("cuMemMap", &driver.map) ||
        !look_up("cuMemUnmap", &driver.unmap) || !look_up("cuMemSetAccess", &driver.set_access))
        return false;
    *driver_out = driver;
    return true;
}

static CUmemAllocationProp properties_on(int owner)
{
    CUmemAllocationProp properties;

    memset(&properties, 0, sizeof(properties));
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = owner;
    return properties;
}

CUresult pb_cuda_page_bytes(const struct pb_cuda_driver *driver, int owner, size_t *bytes_out)
{
    CUmemAllocationProp properties = properties_on(owner);

    return driver->granularity(bytes_out, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

/* A block on its owner. */
static CUresult make(struct pb_cuda_mapping *mapping, int owner, uint64_t bytes,
                     const char **call_out)
{
    CUmemAllocationProp properties = properties_on(owner);
    CUresult code;

    *call_out = "cuMemCreate";
    code = mapping->driver.create(&mapping->block, bytes, &properties, 0);
    mapping->has_block = code == CUDA_SUCCESS;
    return code;
}

/* Addresses from `wish` on, or, where these are taken or it is 0, any. */
static CUresult reserve(struct pb_cuda_mapping *mapping, uint64_t wish, const char **call_out)
{
    CUresult code;

    *call_out = "cuMemAddressReserve";
    code = mapping->driver.reserve(&mapping->address, mapping->reserved_bytes, 0, wish, 0);
    if (code != CUDA_SUCCESS && wish != 0)
        code = mapping->driver.reserve(&mapping->address, mapping->reserved_bytes, 0, 0, 0);
    if (code != CUDA_SUCCESS)
        mapping->address = 0;
    return code;
}

/* The block at the first `bytes` of addresses that are not mapped yet. */
static CUresult map(struct pb_cuda_mapping *mapping, uint64_t bytes, const char **call_out)
{
    CUresult code;

    *call_out = "cuMemMap";
    code =
        mapping->driver.map(mapping->address + mapping->mapped_bytes, bytes, 0, mapping->block, 0);
    if (code == CUDA_SUCCESS)
        mapping->mapped_bytes += bytes;
    return code;
}

static CUresult allow(const struct pb_cuda_mapping *mapping, CUdeviceptr address, uint64_t bytes,
                      int user, const char **call_out)
{
    CUmemAccessDesc access;

    memset(&access, 0, sizeof(access));
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = user;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    *call_out = "cuMemSetAccess";
    return mapping->driver.set_access(address, bytes, &access, 1);
}

CUresult pb_cuda_mapping_open(struct pb_cuda_mapping *mapping, int owner, int user,
                              uint64_t block_bytes, uint64_t span_bytes, const char **call_out)
{
    CUresult code;

    mapping->block_bytes = block_bytes;
    mapping->reserved_bytes = (span_bytes + block_bytes - 1) / block_bytes * block_bytes;
    code = make(mapping, owner, block_bytes, call_out);
    if (code == CUDA_SUCCESS)
        code = reserve(mapping, 0, call_out);
    while (code == CUDA_SUCCESS && mapping->mapped_bytes < mapping->reserved_bytes)
        code = map(mapping, block_bytes, call_out);
    return code != CUDA_SUCCESS
               ? code
               : allow(mapping, mapping->address, mapping->reserved_bytes, user, call_out);
}

/* What is mapped keeps its memory without the block's handle. */
static void drop_block(struct pb_cuda_mapping *mapping)
{
    if (mapping->has_block)
        mapping->driver.release(mapping->block);
    mapping->has_block = false;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

CUresult pb_cuda_mapping_fill(struct pb_cuda_mapping *mapping, int ordinal, uint64_t wish,
                              uint64_t block_bytes, uint64_t span_bytes, const char **call_out)
{
    CUresult code;

    mapping->block_bytes = block_bytes;
    mapping->reserved_bytes = span_bytes;
    code = reserve(mapping, wish, call_out);
    while (code == CUDA_SUCCESS && mapping->mapped_bytes < span_bytes) {
        CUdeviceptr at = mapping->address + mapping->mapped_bytes;
        uint64_t bytes = least(block_bytes, span_bytes - mapping->mapped_bytes);

        code = make(mapping, ordinal, bytes, call_out);
        if (code == CUDA_SUCCESS)
            code = map(mapping, bytes, call_out);
        drop_block(mapping);
        if (code == CUDA_SUCCESS)
            code = allow(mapping, at, bytes, ordinal, call_out);
    }
    return code;
}

void pb_cuda_mapping_close(struct pb_cuda_mapping *mapping)
{
    cudaDeviceSynchronize();
    for (uint64_t at = 0; at < mapping->mapped_bytes; at += mapping->block_bytes)
        mapping->driver.unmap(mapping->address + at,
                              least(mapping->block_bytes, mapping->mapped_bytes - at));
    if (mapping->address != 0)
        mapping->driver.unreserve(mapping->address, mapping->reserved_bytes);
    drop_block(mapping);
}
