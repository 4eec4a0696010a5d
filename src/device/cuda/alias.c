/*
 * One physical block of memory at many addresses: its lines stay in L2, so that only translations
 * miss (facts 2.11).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "device/cuda/mapping.h"
#include "device/cuda/walk.h"

/* Mapping takes a few microseconds; more than this takes longer than any chase over it. */
static const uint64_t mapping_max = 65536;

struct pb_cuda_alias {
    struct pb_cuda_mapping mapping;
};

static bool can_map(const struct pb_cuda_driver *driver, int ordinal)
{
    const CUdevice_attribute manages = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    int can = 0;

    return driver->get_attribute(&can, manages, ordinal) == CUDA_SUCCESS && can != 0;
}

bool pb_cuda_alias_is_there(const struct pb_cuda_device *cuda)
{
    struct pb_cuda_driver driver;

    return pb_cuda_driver_load(&driver) && can_map(&driver, cuda->ordinal);
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

static enum pb_status check_request(struct pb_cuda_device *cuda,
                                    const struct pb_cuda_driver *driver, uint64_t block_bytes,
                                    uint64_t span_bytes, struct pb_error *err)
{
    size_t page_bytes = 0;
    enum pb_status status;

    if (!can_map(driver, cuda->ordinal))
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: the device does not manage virtual memory",
                       cuda->ordinal);
    status = driver_status(cuda, pb_cuda_page_bytes(driver, cuda->ordinal, &page_bytes),
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

static enum pb_status make(struct pb_cuda_device *cuda, uint64_t block_bytes, uint64_t span_bytes,
                           struct pb_cuda_alias **alias_out, struct pb_error *err)
{
    struct pb_cuda_alias *alias;
    struct pb_cuda_driver driver;
    const char *call;
    CUresult code;
    enum pb_status status;

    if (!pb_cuda_driver_load(&driver))
        return pb_fail(err, PB_UNSUPPORTED,
                       "GPU %d: the driver does not let programs map memory themselves",
                       cuda->ordinal);
    status = check_request(cuda, &driver, block_bytes, span_bytes, err);
    if (status != PB_OK)
        return status;
    alias = calloc(1, sizeof(*alias));
    if (alias == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for an aliased block");
    alias->mapping.driver = driver;
    code = pb_cuda_mapping_open(&alias->mapping, cuda->ordinal, cuda->ordinal, block_bytes,
                                span_bytes, &call);
    status = driver_status(cuda, code, call, err);
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

    if (alias != NULL && alias->mapping.block_bytes == block_bytes &&
        alias->mapping.reserved_bytes >= span_bytes)
        return PB_OK;
    pb_cuda_alias_close(alias);
    cuda->alias = NULL;
    return make(cuda, block_bytes, span_bytes, &cuda->alias, err);
}

uint64_t pb_cuda_alias_address(const struct pb_cuda_alias *alias)
{
    return alias == NULL ? 0 : alias->mapping.address;
}

void pb_cuda_alias_close(struct pb_cuda_alias *alias)
{
    if (alias == NULL)
        return;
    pb_cuda_mapping_close(&alias->mapping);
    free(alias);
}
