/*
 * Pointer chases through global memory, and the choice of a chase's kernel by its path.
 *
 * Limit: only these kernels and the texture's are crossed (cross.cu).
 */
#include "kernels/chase.cuh"

PB_CHASE_KERNELS(global_ca)
PB_CHASE_KERNELS(global_cg)
PB_CHASE_KERNELS(readonly)
PB_TRACE_KERNEL(atomic) /* for maps, which time no passes */

static pb_kernel_chaser pb_pick(enum pb_kernel_path path, int is_traced)
{
    switch (path) {
    case PB_KERNEL_GLOBAL_CA:
        return is_traced ? pb_trace_global_ca : pb_time_global_ca;
    case PB_KERNEL_GLOBAL_CG:
        return is_traced ? pb_trace_global_cg : pb_time_global_cg;
    case PB_KERNEL_READONLY:
        return is_traced ? pb_trace_readonly : pb_time_readonly;
    case PB_KERNEL_ATOMIC:
        return is_traced ? pb_trace_atomic : NULL;
    case PB_KERNEL_TEXTURE:
    case PB_KERNEL_TEXTURE_2D:
        return pb_kernel_texture_chaser(path, is_traced);
    case PB_KERNEL_CONSTANT:
        return pb_kernel_constant_chaser(is_traced);
    case PB_KERNEL_SHARED:
        return pb_kernel_shared_chaser(is_traced);
    default:
        return NULL;
    }
}

extern "C" int pb_kernel_trace(enum pb_kernel_path path, const struct pb_kernel_chase *chase)
{
    return pb_launch_one(pb_pick(path, 1), &chase->place, *chase);
}

extern "C" int pb_kernel_time(enum pb_kernel_path path, const struct pb_kernel_chase *chase)
{
    return pb_launch_one(pb_pick(path, 0), &chase->place, *chase);
}
