/* Mapping memory by the driver's calls; see mapping.h. */
#include "device/cuda/mapping.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <string.h>

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

struct pb_cuda_mapping {
    struct driver driver;
    CUmemAllocationProp owner;
    CUmemAccessDesc user;
    CUmemGenericAllocationHandle block; /* that has_block speaks of */
    bool has_block;
    CUdeviceptr address; /* 0: nothing reserved */
    uint64_t block_bytes, reserved_bytes, mapped_bytes;
};

/*
 * Where a large range begins, if it may: the sets of a TLB then overflow at the same pages in every
 * run. Above what a driver has for its own GPUs; low, so that most arrays end below 256 GiB and
 * cross no address at which many bits turn together; and at no multiple of a power of two beyond 32
 * MiB, since where sets fill evenly all overflow at once and few show which pages they share.
 */
static const uint64_t first_address = (UINT64_C(103) << 30) + (5u << 25);

/* Where that is taken, since what was given back is not always free at once: so much farther, pages
 * share their sets as they do there. */
static const uint64_t hint_step = UINT64_C(512) << 30;
enum { HINTS_TRIED = 4 };

static const uint64_t large_bytes = 1u << 30;

static bool look_up(const char *name, void *function_out)
{
    return pb_cuda_look_up(name, 10020, function_out);
}

static bool load(struct driver *driver)
{
    return look_up("cuDeviceGetAttribute", &driver->get_attribute) &&
           look_up("cuMemGetAllocationGranularity", &driver->granularity) &&
           look_up("cuMemCreate", &driver->create) && look_up("cuMemRelease", &driver->release) &&
           look_up("cuMemAddressReserve", &driver->reserve) &&
           look_up("cuMemAddressFree", &driver->unreserve) && look_up("cuMemMap", &driver->map) &&
           look_up("cuMemUnmap", &driver->unmap) && look_up("cuMemSetAccess", &driver->set_access);
}

static bool can_map(const struct driver *driver, int ordinal)
{
    const CUdevice_attribute manages = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    int can = 0;

    return driver->get_attribute(&can, manages, ordinal) == CUDA_SUCCESS && can != 0;
}

bool pb_cuda_mapping_is_there(int ordinal)
{
    struct driver driver;

    return load(&driver) && can_map(&driver, ordinal);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Who has the memory, who uses it, and how much that makes in whole pages and blocks. */
static CUresult set_up(struct pb_cuda_mapping *mapping,
                       const struct pb_cuda_mapping_request *request, const char **call_out)
{
    size_t page_bytes = 0;
    CUresult code;

    *call_out = "cuDeviceGetAttribute";
    if (!load(&mapping->driver) || !can_map(&mapping->driver, request->owner))
        return CUDA_ERROR_NOT_SUPPORTED;
    mapping->owner.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    mapping->owner.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    mapping->owner.location.id = request->owner;
    mapping->user.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    mapping->user.location.id = request->user;
    mapping->user.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    *call_out = "cuMemGetAllocationGranularity";
    code =
        mapping->driver.granularity(&page_bytes, &mapping->owner, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (code != CUDA_SUCCESS)
        return code;
    if (page_bytes == 0 || request->block_bytes % page_bytes != 0)
        return CUDA_ERROR_INVALID_VALUE;
    mapping->reserved_bytes =
        pb_cuda_round_up(request->bytes, request->is_one_block ? request->block_bytes : page_bytes);
    mapping->block_bytes =
        request->block_bytes > 0 ? request->block_bytes : mapping->reserved_bytes;
    return CUDA_SUCCESS;
}

/* At the wished address, or not at all. */
static bool reserve_at(struct pb_cuda_mapping *mapping, uint64_t address_hint)
{
    const struct driver *driver = &mapping->driver;

    if (driver->reserve(&mapping->address, mapping->reserved_bytes, 0, address_hint, 0) !=
        CUDA_SUCCESS)
        return false;
    if (mapping->address == address_hint)
        return true;
    driver->unreserve(mapping->address, mapping->reserved_bytes);
    return false;
}

/* Any addresses, where all wished ones are taken or the range is small. */
static CUresult reserve(struct pb_cuda_mapping *mapping, const char **call_out)
{
    CUresult code;

    for (uint64_t i = 0; mapping->reserved_bytes > large_bytes && i < HINTS_TRIED; i++)
        if (reserve_at(mapping, first_address + i * hint_step))
            return CUDA_SUCCESS;
    *call_out = "cuMemAddressReserve";
    code = mapping->driver.reserve(&mapping->address, mapping->reserved_bytes, 0, 0, 0);
    if (code != CUDA_SUCCESS)
        mapping->address = 0;
    return code;
}

static CUresult make_block(struct pb_cuda_mapping *mapping, uint64_t bytes, const char **call_out)
{
    CUresult code;

    *call_out = "cuMemCreate";
    code = mapping->driver.create(&mapping->block, bytes, &mapping->owner, 0);
    mapping->has_block = code == CUDA_SUCCESS;
    return code;
}

/* What is mapped keeps its memory without the block's handle. */
static void drop_block(struct pb_cuda_mapping *mapping)
{
    if (mapping->has_block)
        mapping->driver.release(mapping->block);
    mapping->has_block = false;
}

/* The block at the first `bytes` of addresses that are not mapped yet. */
static CUresult map(struct pb_cuda_mapping *mapping, uint64_t bytes, const char **call_out)
{
    CUdeviceptr at = mapping->address + mapping->mapped_bytes;
    CUresult code;

    *call_out = "cuMemMap";
    code = mapping->driver.map(at, bytes, 0, mapping->block, 0);
    if (code == CUDA_SUCCESS)
        mapping->mapped_bytes += bytes;
    return code;
}

static CUresult allow(const struct pb_cuda_mapping *mapping, uint64_t offset, uint64_t bytes,
                      const char **call_out)
{
    *call_out = "cuMemSetAccess";
    return mapping->driver.set_access(mapping->address + offset, bytes, &mapping->user, 1);
}

/* One block at all addresses. */
static CUresult repeat(struct pb_cuda_mapping *mapping, const char **call_out)
{
    CUresult code = make_block(mapping, mapping->block_bytes, call_out);

    while (code == CUDA_SUCCESS && mapping->mapped_bytes < mapping->reserved_bytes)
        code = map(mapping, mapping->block_bytes, call_out);
    drop_block(mapping);
    return code != CUDA_SUCCESS ? code : allow(mapping, 0, mapping->reserved_bytes, call_out);
}

/* A block behind the other, the last one smaller where these are no whole blocks. */
static CUresult fill(struct pb_cuda_mapping *mapping, const char **call_out)
{
    CUresult code = CUDA_SUCCESS;

    while (code == CUDA_SUCCESS && mapping->mapped_bytes < mapping->reserved_bytes) {
        uint64_t at = mapping->mapped_bytes;
        uint64_t bytes = least(mapping->block_bytes, mapping->reserved_bytes - at);

        code = make_block(mapping, bytes, call_out);
        if (code == CUDA_SUCCESS)
            code = map(mapping, bytes, call_out);
        drop_block(mapping);
        if (code == CUDA_SUCCESS)
            code = allow(mapping, at, bytes, call_out);
    }
    return code;
}

CUresult pb_cuda_mapping_open(const struct pb_cuda_mapping_request *request,
                              struct pb_cuda_mapping **mapping_out, const char **call_out)
{
    struct pb_cuda_mapping *mapping = calloc(1, sizeof(*mapping));
    CUresult code;

    *call_out = "calloc";
    if (mapping == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    code = set_up(mapping, request, call_out);
    if (code == CUDA_SUCCESS)
        code = reserve(mapping, call_out);
    if (code == CUDA_SUCCESS)
        code = request->is_one_block ? repeat(mapping, call_out) : fill(mapping, call_out);
    if (code == CUDA_SUCCESS)
        *mapping_out = mapping;
    else
        pb_cuda_mapping_close(mapping);
    return code;
}

bool pb_cuda_mapping_serves(const struct pb_cuda_mapping *mapping, uint64_t block_bytes,
                            uint64_t bytes)
{
    return mapping != NULL && mapping->block_bytes == block_bytes &&
           mapping->reserved_bytes >= bytes;
}

uint64_t pb_cuda_mapping_address(const struct pb_cuda_mapping *mapping)
{
    return mapping == NULL ? 0 : mapping->address;
}

void pb_cuda_mapping_close(struct pb_cuda_mapping *mapping)
{
    if (mapping == NULL)
        return;
    cudaDeviceSynchronize();
    for (uint64_t at = 0; at < mapping->mapped_bytes; at += mapping->block_bytes)
        mapping->driver.unmap(mapping->address + at,
                              least(mapping->block_bytes, mapping->mapped_bytes - at));
    if (mapping->address != 0)
        mapping->driver.unreserve(mapping->address, mapping->reserved_bytes);
    free(mapping);
}
