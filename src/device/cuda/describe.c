/* What the driver says of an open GPU. NVML fills in the rest where it is there. */
#include <cuda_runtime_api.h>

#include <math.h>
#include <stdio.h>

#include "device/cuda/linked_chase.h"

/* One attribute after the other; the first failure is kept. */
struct reader {
    struct pb_cuda_device *cuda;
    struct pb_error *err;
    enum pb_status status;
};

static uint64_t attribute(struct reader *reader, enum cudaDeviceAttr attr, const char *name)
{
    int value = 0;
    int code;

    if (reader->status != PB_OK)
        return 0;
    code = cudaDeviceGetAttribute(&value, attr, reader->cuda->ordinal);
    reader->status =
        pb_cuda_status(reader->cuda, code, "cudaDeviceGetAttribute", name, reader->err);
    return value > 0 ? (uint64_t)value : 0;
}

static void describe_sm(struct reader *reader)
{
    struct pb_device_info *info = &reader->cuda->info;
    uint64_t major = attribute(reader, cudaDevAttrComputeCapabilityMajor, "compute capability");
    uint64_t minor = attribute(reader, cudaDevAttrComputeCapabilityMinor, "compute capability");

    info->compute_capability = (uint32_t)(10 * major + minor);
    info->sm_count = (uint32_t)attribute(reader, cudaDevAttrMultiProcessorCount, "SM count");
    info->warp_size = (uint32_t)attribute(reader, cudaDevAttrWarpSize, "warp size");
    info->max_threads_per_cta =
        (uint32_t)attribute(reader, cudaDevAttrMaxThreadsPerBlock, "threads per CTA");
    info->max_threads_per_sm =
        (uint32_t)attribute(reader, cudaDevAttrMaxThreadsPerMultiProcessor, "threads per SM");
}

static void describe_shared(struct reader *reader)
{
    struct pb_cuda_device *cuda = reader->cuda;
    struct pb_device_info *info = &cuda->info;

    info->shared_per_sm_bytes =
        attribute(reader, cudaDevAttrMaxSharedMemoryPerMultiprocessor, "shared memory per SM");
    cuda->shared_optin_bytes =
        attribute(reader, cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory per CTA");
    cuda->shared_reserved_bytes =
        attribute(reader, cudaDevAttrReservedSharedMemoryPerBlock, "reserved shared memory");
    info->shared_per_cta_bytes = cuda->shared_optin_bytes;
    info->constant_bytes = attribute(reader, cudaDevAttrTotalConstantMemory, "constant memory");
    info->trace_window = PB_CUDA_WINDOW_BYTES / PB_KERNEL_RECORD_BYTES;
    /* Whole thousands of bytes matter little here: 256 accesses are a step that stays readable. */
    info->trace_window_large =
        (cuda->shared_optin_bytes - PB_CUDA_CONFLICT_BYTES) / PB_KERNEL_RECORD_BYTES / 256 * 256;
}

/* Both edges of the memory clock carry data. */
static void describe_memory(struct reader *reader)
{
    struct pb_device_info *info = &reader->cuda->info;
    double memory_khz = (double)attribute(reader, cudaDevAttrMemoryClockRate, "memory clock");
    double bus_bits = (double)attribute(reader, cudaDevAttrGlobalMemoryBusWidth, "memory bus");
    double sm_khz = (double)attribute(reader, cudaDevAttrClockRate, "SM clock");
    size_t free_bytes = 0, total_bytes = 0;

    info->l2_bytes = attribute(reader, cudaDevAttrL2CacheSize, "L2 size");
    info->memory_clock_max_mhz = memory_khz / 1e3;
    info->sm_clock_max_mhz = sm_khz / 1e3;
    info->theoretical_bytes_per_s = 2.0 * memory_khz * 1e3 * bus_bits / 8.0;
    if (reader->status != PB_OK)
        return;
    reader->status = pb_cuda_status(reader->cuda, cudaMemGetInfo(&free_bytes, &total_bytes),
                                    "cudaMemGetInfo", "reading the memory size", reader->err);
    info->memory_bytes = total_bytes;
    info->memory_free_bytes = free_bytes;
}

/* True where this device can read the memory of some other that this process sees. */
static bool has_peer(const struct pb_cuda_device *cuda)
{
    int count = 0, can = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess)
        return false;
    for (int i = 0; i < count && can == 0; i++)
        if (i != cuda->ordinal && cudaDeviceCanAccessPeer(&can, cuda->ordinal, i) != cudaSuccess)
            can = 0;
    cudaGetLastError(); /* a peer that cannot be queried is none */
    return can != 0;
}

static uint32_t capabilities(const struct pb_cuda_device *cuda)
{
    uint32_t can = PB_CAP_CLOCK | PB_CAP_GLOBAL_CA | PB_CAP_GLOBAL_CG | PB_CAP_READONLY |
                   PB_CAP_TEXTURE | PB_CAP_TEXTURE_2D | PB_CAP_CONSTANT | PB_CAP_SHARED |
                   PB_CAP_STREAM | PB_CAP_BURST | PB_CAP_ATOMIC | PB_CAP_STUDY | PB_CAP_LINK |
                   PB_CAP_PATTERN | PB_CAP_CLUSTER | PB_CAP_PAIR | PB_CAP_PARALLEL;

    if (cuda->info.compute_capability >= 90)
        can |= PB_CAP_CLUSTER_SHARED | PB_CAP_BULK;
    if (has_peer(cuda))
        can |= PB_CAP_PEER;
    if (pb_cuda_alias_is_there(cuda))
        can |= PB_CAP_ALIAS;
    return can;
}

static void describe_software(struct pb_device_info *info)
{
    int version = 0;

    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
        snprintf(info->runtime_version, sizeof(info->runtime_version), "%d.%d", version / 1000,
                 version % 1000 / 10);
}

enum pb_status pb_cuda_describe(struct pb_cuda_device *cuda, struct pb_error *err)
{
    struct reader reader = {cuda, err, PB_OK};
    struct pb_device_info *info = &cuda->info;

    PB_TEXT_SET(info->backend, "cuda");
    info->slot = -1;
    info->ecc_enabled = info->mig_enabled = -1;
    info->power_limit_w = info->power_limit_default_w = NAN;
    describe_sm(&reader);
    describe_shared(&reader);
    describe_memory(&reader);
    if (reader.status != PB_OK)
        return reader.status;
    info->capabilities = capabilities(cuda);
    describe_software(info);
    pb_nvml_describe(cuda->nvml, info);
    return PB_OK;
}
