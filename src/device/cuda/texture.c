/* Texture objects over the memory of a chase: one texel is one slot, two words of 32 bits. */
#include <cuda_runtime_api.h>

#include <inttypes.h>
#include <string.h>

#include "device/cuda/linked_chase.h"

_Static_assert((int)PB_KERNEL_ROW_BYTES == (int)PB_TEXTURE_ROW_BYTES, "kernels share the rows");

static const uint64_t row_texels = PB_TEXTURE_ROW_BYTES / PB_KERNEL_SLOT_BYTES;

/* Texels of a line, or rows, that a texture may have. */
static enum pb_status read_limit(struct pb_cuda_device *cuda,
                                 const struct cudaChannelFormatDesc *format, bool is_2d,
                                 uint64_t *limit_out, struct pb_error *err)
{
    int rows = 0;
    size_t texels = 0;
    int code =
        is_2d ? cudaDeviceGetAttribute(&rows, cudaDevAttrMaxTexture2DLinearHeight, cuda->ordinal)
              : cudaDeviceGetTexture1DLinearMaxWidth(&texels, format, cuda->ordinal);

    *limit_out = is_2d ? (uint64_t)rows : texels;
    return pb_cuda_status(cuda, code, "asking for the largest texture", "preparing a texture", err);
}

static struct cudaResourceDesc describe(void *memory, uint64_t bytes,
                                        const struct cudaChannelFormatDesc *format, bool is_2d)
{
    struct cudaResourceDesc resource;

    memset(&resource, 0, sizeof(resource));
    if (is_2d) {
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D.devPtr = memory;
        resource.res.pitch2D.desc = *format;
        resource.res.pitch2D.width = row_texels;
        resource.res.pitch2D.height = bytes / PB_TEXTURE_ROW_BYTES;
        resource.res.pitch2D.pitchInBytes = PB_TEXTURE_ROW_BYTES;
    } else {
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = memory;
        resource.res.linear.desc = *format;
        resource.res.linear.sizeInBytes = bytes;
    }
    return resource;
}

static enum pb_status create(struct pb_cuda_device *cuda, uint64_t address, uint64_t bytes,
                             bool is_2d, cudaTextureObject_t *object_out, struct pb_error *err)
{
    struct cudaChannelFormatDesc format = {32, 32, 0, 0, cudaChannelFormatKindUnsigned};
    struct cudaResourceDesc resource = describe(pb_cuda_pointer(address), bytes, &format, is_2d);
    uint64_t wanted = bytes / (is_2d ? PB_TEXTURE_ROW_BYTES : PB_KERNEL_SLOT_BYTES), limit = 0;
    struct cudaTextureDesc sampling;
    enum pb_status status = read_limit(cuda, &format, is_2d, &limit, err);

    if (status == PB_OK && wanted > limit)
        status = pb_fail(err, PB_UNSUPPORTED,
                         "chase: a texture of %" PRIu64 " %s: the device takes %" PRIu64, wanted,
                         is_2d ? "rows" : "texels", limit);
    if (status != PB_OK)
        return status;
    memset(&sampling, 0, sizeof(sampling));
    sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeClamp;
    sampling.filterMode = cudaFilterModePoint;
    sampling.readMode = cudaReadModeElementType;
    return pb_cuda_status(cuda, cudaCreateTextureObject(object_out, &resource, &sampling, NULL),
                          "cudaCreateTextureObject", "preparing a texture", err);
}

enum pb_status pb_cuda_texture_get(struct pb_cuda_device *cuda, uint64_t address, uint64_t bytes,
                                   bool is_2d, uint64_t *object_out, struct pb_error *err)
{
    const uint64_t usual_bytes = (uint64_t)16 << 20; /* small ones need not differ */
    struct pb_cuda_texture *texture = &cuda->textures[is_2d];
    cudaTextureObject_t object = 0;
    enum pb_status status;

    if (bytes < usual_bytes && usual_bytes <= cuda->arena.bytes)
        bytes = usual_bytes;
    if (texture->object == 0 || texture->address != address || texture->bytes < bytes ||
        texture->bytes > cuda->arena.bytes) {
        cudaDeviceSynchronize(); /* a chase may be at it */
        pb_cuda_texture_destroy(texture);
        status = create(cuda, address, bytes, is_2d, &object, err);
        if (status != PB_OK)
            return status;
        *texture = (struct pb_cuda_texture){object, address, bytes};
    }
    *object_out = texture->object;
    return PB_OK;
}

void pb_cuda_texture_destroy(struct pb_cuda_texture *texture)
{
    if (texture->object != 0)
        cudaDestroyTextureObject(texture->object);
    *texture = (struct pb_cuda_texture){.object = 0};
}
