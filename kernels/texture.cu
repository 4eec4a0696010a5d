/*
 * Pointer chases through the texture path, over the array as a line of texels or as rows of
 * PB_KERNEL_ROW_BYTES. A texel is a slot: it holds where to fetch next, in texels.
 */
#include "kernels/chase.cuh"

PB_CHASE_KERNELS(texture)
PB_CHASE_KERNELS(texture_2d)

extern "C" pb_kernel_chaser pb_kernel_texture_chaser(enum pb_kernel_path path, int is_traced)
{
    if (path == PB_KERNEL_TEXTURE)
        return is_traced ? pb_trace_texture : pb_time_texture;
    return is_traced ? pb_trace_texture_2d : pb_time_texture_2d;
}
