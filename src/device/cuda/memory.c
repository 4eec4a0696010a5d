/* Errors and memory of the CUDA backend. */
#include <cuda_runtime_api.h>

#include <string.h>

#include "device/cuda/device.h"

static const uint64_t page_bytes = 2u << 20;
static const uint64_t large_bytes = 1u << 30; /* leaves little room for others, if they are many */

/* Codes after which no call to this device will succeed again, in any process. */
static bool is_lost(int code)
{
    switch (code) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorSystemNotReady:
    case cudaErrorUnknown: /* what a GPU that fell off the bus answers */
        return true;
    default:
        return false;
    }
}

/* Codes that stick to the process: its context answers nothing else any more. */
static bool is_sticky(int code)
{
    switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

enum pb_status pb_cuda_status(struct pb_cuda_device *cuda, int code, const char *call,
                              const char *doing, struct pb_error *err)
{
    enum pb_status status = PB_DEVICE;

    if (code == cudaSuccess)
        return PB_OK;
    if (is_lost(code)) {
        status = PB_LOST;
        cuda->lost = true;
    } else if (code == cudaErrorMemoryAllocation) {
        status = PB_NO_MEMORY;
    }
    cudaGetLastError(); /* an error that does not stick must not be reported twice */
    return pb_fail(err, status, "GPU %d: %s: %s failed: %s (%s)%s", cuda->ordinal, doing, call,
                   cudaGetErrorName((cudaError_t)code), cudaGetErrorString((cudaError_t)code),
                   is_sticky(code) ? "; this process can use the device no more, a new one can"
                                   : "");
}

enum pb_status pb_cuda_enter(struct pb_cuda_device *cuda, struct pb_error *err)
{
    if (cuda->lost)
        return pb_fail(err, PB_LOST, "GPU %d was lost before", cuda->ordinal);
    return pb_cuda_status(cuda, cudaSetDevice(cuda->ordinal), "cudaSetDevice",
                          "turning to the device", err);
}

void pb_cuda_release(struct pb_cuda_buffer *buffer)
{
    if (buffer->allocation != NULL)
        cudaFree(buffer->allocation);
    pb_cuda_mapping_close(buffer->blocks);
    *buffer = (struct pb_cuda_buffer){.allocation = NULL};
}

/* A piece at once, on a page boundary where it is a page or more. A CUDA error code. */
static int allocate_whole(uint64_t bytes, struct pb_cuda_buffer *buffer_out)
{
    uint64_t alignment = bytes < page_bytes ? 256 : page_bytes;
    void *allocation = NULL;
    int code = cudaMalloc(&allocation, bytes);

    if (code == cudaSuccess && (uintptr_t)allocation % alignment != 0) {
        cudaFree(allocation);
        code = cudaMalloc(&allocation, bytes + alignment);
    }
    if (code != cudaSuccess)
        return code;
    buffer_out->allocation = allocation;
    buffer_out->address = pb_cuda_round_up((uintptr_t)allocation, alignment);
    buffer_out->bytes = bytes;
    return cudaSuccess;
}

/* The same for any size. */
static int allocate(const struct pb_cuda_device *cuda, uint64_t bytes,
                    struct pb_cuda_buffer *buffer_out)
{
    int code;

    if (bytes <= large_bytes)
        return allocate_whole(bytes, buffer_out);
    code = pb_cuda_blocks_open(cuda->ordinal, bytes, &buffer_out->blocks);
    if (code == cudaErrorMemoryAllocation)
        return code;
    if (code != cudaSuccess) /* a driver, or an instance, that does not do this */
        return allocate_whole(bytes, buffer_out);
    buffer_out->address = pb_cuda_mapping_address(buffer_out->blocks);
    buffer_out->bytes = bytes;
    return cudaSuccess;
}

/* More than is wanted, so that a buffer grows seldom: the driver may be busy with other GPUs. */
static uint64_t generous_bytes(const struct pb_cuda_device *cuda,
                               const struct pb_cuda_buffer *buffer, uint64_t wanted_bytes)
{
    uint64_t bytes = 2 * buffer->bytes;

    if (buffer == &cuda->arena && bytes < large_bytes)
        bytes = large_bytes;
    return wanted_bytes > bytes ? wanted_bytes : bytes;
}

enum pb_status pb_cuda_reserve(struct pb_cuda_device *cuda, struct pb_cuda_buffer *buffer,
                               uint64_t bytes, const char *what, struct pb_error *err)
{
    uint64_t wanted = pb_cuda_round_up(bytes, bytes < page_bytes ? 4096 : page_bytes);
    uint64_t generous = generous_bytes(cuda, buffer, wanted);
    size_t free_bytes = 0, total_bytes = 0;
    enum pb_status status;
    int code;

    if (bytes <= buffer->bytes)
        return PB_OK;
    pb_cuda_release(buffer);
    status = pb_cuda_status(cuda, cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo", what,
                            err);
    if (status != PB_OK)
        return status;
    code = cudaErrorMemoryAllocation;
    if (generous <= free_bytes / 2)
        code = allocate(cuda, generous, buffer);
    if (code == cudaErrorMemoryAllocation && wanted <= free_bytes)
        code = allocate(cuda, wanted, buffer);
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return pb_fail(err, PB_NO_MEMORY, "GPU %d: %s: %llu bytes wanted, %llu of %llu are free",
                       cuda->ordinal, what, (unsigned long long)wanted,
                       (unsigned long long)free_bytes, (unsigned long long)total_bytes);
    }
    return pb_cuda_status(cuda, code, "cudaMalloc", what, err);
}

void *pb_cuda_pointer(uint64_t address)
{
    void *pointer;

    memcpy(&pointer, &address, sizeof(pointer));
    return pointer;
}

enum pb_status pb_cuda_upload(struct pb_cuda_device *cuda, uint64_t address, const void *from,
                              size_t bytes, const char *what, struct pb_error *err)
{
    int code = cudaMemcpy(pb_cuda_pointer(address), from, bytes, cudaMemcpyHostToDevice);

    return pb_cuda_status(cuda, code, "cudaMemcpy to the device", what, err);
}

enum pb_status pb_cuda_send(struct pb_cuda_device *cuda, uint64_t address, const void *from,
                            size_t bytes, const char *what, struct pb_error *err)
{
    int code = cudaMemcpyAsync(pb_cuda_pointer(address), from, bytes, cudaMemcpyHostToDevice, NULL);

    return pb_cuda_status(cuda, code, "cudaMemcpyAsync to the device", what, err);
}

enum pb_status pb_cuda_download(struct pb_cuda_device *cuda, void *to, uint64_t address,
                                size_t bytes, const char *what, struct pb_error *err)
{
    int code = cudaMemcpy(to, pb_cuda_pointer(address), bytes, cudaMemcpyDeviceToHost);

    return pb_cuda_status(cuda, code, "cudaMemcpy to the host", what, err);
}

enum pb_status pb_cuda_zero(struct pb_cuda_device *cuda, uint64_t address, size_t bytes,
                            const char *what, struct pb_error *err)
{
    int code = cudaMemset(pb_cuda_pointer(address), 0, bytes);

    return pb_cuda_status(cuda, code, "cudaMemset", what, err);
}

enum pb_status pb_cuda_flush_by(struct pb_cuda_device *cuda, uint64_t address, uint64_t bytes,
                                struct pb_error *err)
{
    uint64_t words = bytes / sizeof(uint64_t[2]);

    return pb_cuda_status(cuda,
                          pb_kernel_flush(address, words, cuda->salt++, 2 * cuda->info.sm_count),
                          "pb_kernel_flush", "flushing L2", err);
}

enum pb_status pb_cuda_flush_l2(struct pb_cuda_device *cuda, struct pb_error *err)
{
    uint64_t bytes = 2 * cuda->info.l2_bytes;
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->scratch, bytes, "flushing L2", err);

    return status == PB_OK ? pb_cuda_flush_by(cuda, cuda->scratch.address, bytes, err) : status;
}

void pb_cuda_release_large(struct pb_cuda_device *cuda)
{
    if (cuda->arena.bytes > large_bytes)
        pb_cuda_release(&cuda->arena);
}
