/*
 * One physical block of memory at many addresses: its lines stay in L2, so that only translations
 * miss (facts 2.11).
 *
 * The driver's calls are looked up through the runtime: libcuda is never linked.
 */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/walk.h"

/* Mapping takes a few microseconds; more than this takes longer than any chase over it. */
static const uint64_t mapping_max = 65536;

/* The calls as CUDA 10.2 brought them. */
struct driver {
    PFN_cuDeviceGetAttribute_v2000 get_attribute;
    PFN_cuMemGetAllocationGranularity_v10020 granularity;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemAddressReserve_v10020 reserve;
    PFN_cuMemAddressFree_v10020 unreserve;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
};

struct pb_cuda_alias {
    struct driver driver;
    CUmemGenericAllocationHandle block;
    bool has_block;
    CUdeviceptr address; /* 0: nothing reserved */
    uint64_t block_bytes, reserved_bytes, mapped_bytes;
};

bool pb_cuda_look_up(const char *name, void *function_out)
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

static bool look_up_all(struct driver *driver_out)
{
    struct driver driver;

    if (!pb_cuda_look_up("cuDeviceGetAttribute", &driver.get_attribute) ||
        !pb_cuda_look_up("cuMemGetAllocationGranularity", &driver.granularity) ||
        !pb_cuda_look_up("cuMemCreate", &driver.create) ||
        !pb_cuda_look_up("cuMemRelease", &driver.release) ||
        !pb_cuda_look_up("cuMemAddressReserve", &driver.reserve) ||
        !pb_cuda_look_up("cuMemAddressFree", &driver.unreserve) ||
        !pb_cuda_look_up("cuMemMap", &driver.map) ||
        !pb_cuda_look_up("cuMemUnmap", &driver.unmap) ||
        !pb_cuda_look_up("cuMemSetAccess", &driver.set_access))
        return false;
    *driver_out = driver;
    return true;
}

static bool can_map(const struct driver *driver, int ordinal)
{
    const CUdevice_attribute manages = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    int can = 0;

    return driver->get_attribute(&can, manages, ordinal) == CUDA_SUCCESS && can != 0;
}

bool pb_cuda_alias_is_there(const struct pb_cuda_device *cuda)
{
    struct driver driver;

    return look_up_all(&driver) && can_map(&driver, cuda->ordinal);
}

/* The driver's codes are the runtime's; what it refuses to do here is no fault of the device. */
static enum pb_status driver_status(struct pb_cuda_device *cuda, CUresult code, const char *call,
                                    struct pb_error *err)
{
    if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: aliasing memory: %s: the driver refuses (%d)",
                       cuda->ordinal, call, (int)code);
    return pb_cuda_status(cuda, (int)code, call, "aliasing memory", err);
}

static CUmemAllocationProp block_properties(const struct pb_cuda_device *cuda)
{
    CUmemAllocationProp properties;

    memset(&properties, 0, sizeof(properties));
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = cuda->ordinal;
    return properties;
}

static enum pb_status check_request(struct pb_cuda_device *cuda, const struct driver *driver,
                                    uint64_t block_bytes, uint64_t span_bytes, struct pb_error *err)
{
    CUmemAllocationProp properties = block_properties(cuda);
    size_t page_bytes = 0;
    enum pb_status status;

    if (!can_map(driver, cuda->ordinal))
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: the device does not manage virtual memory",
                       cuda->ordinal);
    status = driver_status(
        cuda, driver->granularity(&page_bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity", err);
    if (status != PB_OK)
        return status;
    if (page_bytes == 0 || block_bytes % page_bytes != 0)
        return pb_fail(err, PB_INVALID,
                       "chase: aliased blocks of %" PRIu64 " bytes: expected whole pages of %zu",
                       block_bytes, page_bytes);
    if (span_bytes / block_bytes >= mapping_max)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase: a block of %" PRIu64 " bytes would be mapped %" PRIu64
                       " times: expected at most %" PRIu64,
                       block_bytes, span_bytes / block_bytes + 1, mapping_max);
    return PB_OK;
}

static enum pb_status map_all(struct pb_cuda_device *cuda, struct pb_cuda_alias *alias,
                              struct pb_error *err)
{
    CUmemAccessDesc access;
    enum pb_status status = PB_OK;

    while (status == PB_OK && alias->mapped_bytes < alias->reserved_bytes) {
        CUresult code = alias->driver.map(alias->address + alias->mapped_bytes, alias->block_bytes,
                                          0, alias->block, 0);

        status = driver_status(cuda, code, "cuMemMap", err);
        if (status == PB_OK)
            alias->mapped_bytes += alias->block_bytes;
    }
    if (status != PB_OK)
        return status;
    memset(&access, 0, sizeof(access));
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = cuda->ordinal;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return driver_status(
        cuda, alias->driver.set_access(alias->address, alias->reserved_bytes, &access, 1),
        "cuMemSetAccess", err);
}

static enum pb_status build(struct pb_cuda_device *cuda, struct pb_cuda_alias *alias,
                            struct pb_error *err)
{
    CUmemAllocationProp properties = block_properties(cuda);
    enum pb_status status =
        driver_status(cuda, alias->driver.create(&alias->block, alias->block_bytes, &properties, 0),
                      "cuMemCreate", err);

    if (status != PB_OK)
        return status;
    alias->has_block = true;
    status =
        driver_status(cuda, alias->driver.reserve(&alias->address, alias->reserved_bytes, 0, 0, 0),
                      "cuMemAddressReserve", err);
    if (status != PB_OK) {
        alias->address = 0;
        return status;
    }
    return map_all(cuda, alias, err);
}

static enum pb_status make(struct pb_cuda_device *cuda, uint64_t block_bytes, uint64_t span_bytes,
                           struct pb_cuda_alias **alias_out, struct pb_error *err)
{
    struct pb_cuda_alias *alias;
    struct driver driver;
    enum pb_status status;

    if (!look_up_all(&driver))
        return pb_fail(err, PB_UNSUPPORTED,
                       "GPU %d: the driver does not let programs map memory themselves",
                       cuda->ordinal);
    status = check_request(cuda, &driver, block_bytes, span_bytes, err);
    if (status != PB_OK)
        return status;
    alias = calloc(1, sizeof(*alias));
    if (alias == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for an aliased block");
    alias->driver = driver;
    alias->block_bytes = block_bytes;
    alias->reserved_bytes = (span_bytes + block_bytes - 1) / block_bytes * block_bytes;
    status = build(cuda, alias, err);
    if (status != PB_OK) {
        pb_cuda_alias_close(alias);
        return status;
    }
    *alias_out = alias;
    return PB_OK;
}

enum pb_status pb_cuda_alias_open(struct pb_cuda_device *cuda, uint64_t block_bytes,
                                  uint64_t span_bytes, struct pb_error *err)
{
    struct pb_cuda_alias *alias = cuda->alias;

    if (alias != NULL && alias->block_bytes == block_bytes && alias->reserved_bytes >= span_bytes)
        return PB_OK;
    pb_cuda_alias_close(alias);
    cuda->alias = NULL;
    return make(cuda, block_bytes, span_bytes, &cuda->alias, err);
}

uint64_t pb_cuda_alias_address(const struct pb_cuda_alias *alias)
{
    return alias == NULL ? 0 : alias->address;
}

void pb_cuda_alias_close(struct pb_cuda_alias *alias)
{
    if (alias == NULL)
        return;
    cudaDeviceSynchronize(); /* after an error a launch may still be under way */
    for (uint64_t at = 0; at < alias->mapped_bytes; at += alias->block_bytes)
        alias->driver.unmap(alias->address + at, alias->block_bytes);
    if (alias->address != 0)
        alias->driver.unreserve(alias->address, alias->reserved_bytes);
    if (alias->has_block)
        alias->driver.release(alias->block);
    free(alias);
}
