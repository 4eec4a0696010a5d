/*
 * One physical block of memory at many addresses: its lines stay in L2, so that only translations
 * miss (facts 2.11).
 */
#include <inttypes.h>

#include "device/cuda/linked_chase.h"
#include "device/cuda/mapping.h"

/* As many take four seconds; more take longer than any chase over them. */
static const uint64_t mapping_max = 65536;

bool pb_cuda_alias_is_there(const struct pb_cuda_device *cuda)
{
    return pb_cuda_mapping_is_there(cuda->ordinal);
}

/* The driver's codes are the runtime's; what it refuses to do here is no fault of the device. */
static enum pb_status driver_status(struct pb_cuda_device *cuda, uint64_t block_bytes,
                                    CUresult code, const char *call, struct pb_error *err)
{
    if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: aliasing memory: %s: the driver refuses (%d)",
                       cuda->ordinal, call, (int)code);
    if (code == CUDA_ERROR_INVALID_VALUE)
        return pb_fail(err, PB_INVALID,
                       "chase: %s: aliased blocks of %" PRIu64 " bytes: expected whole pages", call,
                       block_bytes);
    return pb_cuda_status(cuda, (int)code, call, "aliasing memory", err);
}

enum pb_status pb_cuda_alias_open(struct pb_cuda_device *cuda, uint64_t block_bytes,
                                  uint64_t span_bytes, struct pb_error *err)
{
    const struct pb_cuda_mapping_request request = {.owner = cuda->ordinal,
                                                    .user = cuda->ordinal,
                                                    .block_bytes = block_bytes,
                                                    .bytes = span_bytes,
                                                    .is_one_block = true};
    const char *call;
    CUresult code;

    if (pb_cuda_mapping_serves(cuda->alias, block_bytes, span_bytes))
        return PB_OK;
    pb_cuda_mapping_close(cuda->alias);
    cuda->alias = NULL;
    if (span_bytes / block_bytes >= mapping_max)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase: a block of %" PRIu64 " bytes would be mapped %" PRIu64
                       " times: expected at most %" PRIu64,
                       block_bytes, span_bytes / block_bytes + 1, mapping_max);
    code = pb_cuda_mapping_open(&request, &cuda->alias, &call);
    return driver_status(cuda, block_bytes, code, call, err);
}
