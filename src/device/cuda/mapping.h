/*
 * Blocks of a GPU's memory among this device's addresses: one block, once or over and over, or one
 * after the other.
 *
 * By the driver's own calls, looked up through the runtime: libcuda is never linked, and no context
 * is made on the block's owner. Only alias.c, blocks.c and peer.c may include this.
 */
#ifndef PB_DEVICE_CUDA_MAPPING_H
#define PB_DEVICE_CUDA_MAPPING_H

#include <cuda.h>
#include <cudaTypedefs.h>

#include <stdbool.h>
#include <stdint.h>

/* The calls as CUDA 10.2 brought them. */
struct pb_cuda_driver {
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

/* Empty: all 0. */
struct pb_cuda_mapping {
    struct pb_cuda_driver driver;
    CUmemGenericAllocationHandle block;
    bool has_block;
    CUdeviceptr address; /* 0: nothing reserved */
    uint64_t block_bytes, reserved_bytes, mapped_bytes;
};

/* false: the driver does not let programs map memory themselves. */
bool pb_cuda_driver_load(struct pb_cuda_driver *driver_out);

/* The size of which blocks on this GPU are whole multiples. */
CUresult pb_cuda_page_bytes(const struct pb_cuda_driver *driver, int owner, size_t *bytes_out);

/*
 * Makes a block of block_bytes on GPU `owner` and maps it at consecutive addresses until span_bytes
 * are covered, for GPU `user` to read and write. mapping->driver was loaded. What went wrong is
 * *call_out; pb_cuda_mapping_close() it then, too.
 */
CUresult pb_cuda_mapping_open(struct pb_cuda_mapping *mapping, int owner, int user,
                              uint64_t block_bytes, uint64_t span_bytes, const char **call_out);

/*
 * Makes as many blocks on GPU `ordinal` as span_bytes need, the last one smaller where these are no
 * whole blocks, and maps each behind the one before, from the address `wish` on where that is free.
 * Blocks and span are whole pages. Otherwise as above.
 */
CUresult pb_cuda_mapping_fill(struct pb_cuda_mapping *mapping, int ordinal, uint64_t wish,
                              uint64_t block_bytes, uint64_t span_bytes, const char **call_out);

/* Waits for the device, which may still be at it after an error, and gives everything back. */
void pb_cuda_mapping_close(struct pb_cuda_mapping *mapping);

#endif
