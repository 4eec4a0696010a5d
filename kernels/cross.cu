/*
 * Chases whose warm loads go by another path of the same array, all or all but the first: what
 * those leave behind and what they evict shows which paths share a cache (M16 4.6).
 *
 * The chain has the form of the measured path. So a warm load first works out the slot's place in
 * the array and fetches it by its own path from there: slower than a chase, but it is not timed.
 */
#include "kernels/chase.cuh"

/* The slot at `offset` of the array, by the path of the warm loads. */
__device__ __forceinline__ uint64_t pb_fetch(const struct pb_kernel_chase &chase, uint64_t offset)
{
    pb_load_global_ca ca = {chase.base + offset};
    pb_load_global_cg cg = {chase.base + offset};
    pb_load_readonly readonly = {chase.base + offset};
    uint32_t low = (uint32_t)(offset / PB_KERNEL_SLOT_BYTES), high = 0;
    uint32_t column = low % (PB_KERNEL_ROW_BYTES / PB_KERNEL_SLOT_BYTES);
    uint32_t row = (uint32_t)(offset / PB_KERNEL_ROW_BYTES);

    switch (chase.warm_path) {
    case PB_KERNEL_GLOBAL_CA:
        ca.load();
        return ca.at;
    case PB_KERNEL_GLOBAL_CG:
        cg.load();
        return cg.at;
    case PB_KERNEL_READONLY:
        readonly.load();
        return readonly.at;
    case PB_KERNEL_TEXTURE:
        asm volatile("tex.1d.v4.u32.s32 {%0, %1, _, _}, [%2, {%0}];"
                     : "+r"(low), "=r"(high)
                     : "l"(chase.texture)
                     : "memory");
        return (uint64_t)high << 32 | low;
    default:
        asm volatile("tex.2d.v4.u32.s32 {%0, %1, _, _}, [%2, {%0, %1}];"
                     : "+r"(column), "+r"(row)
                     : "l"(chase.texture_2d)
                     : "memory");
        return (uint64_t)row << 32 | column;
    }
}

struct pb_warm_other {
    template <class Load>
    __device__ __forceinline__ static void load(Load &chain, uint64_t count,
                                                const struct pb_kernel_chase &chase)
    {
        uint64_t own = count < chase.own_warm ? count : chase.own_warm;

        pb_warm(chain, own);
#pragma unroll 1
        for (count -= own; __any_sync(1u, count > 0); count--)
            chain.go(pb_fetch(chase, chain.offset(chase.base)));
        pb_await((uint32_t)chain.at);
    }
};

#define PB_CROSS_KERNELS(path)                                                                     \
    extern "C" __global__ void pb_cross_trace_##path(                                              \
        const __grid_constant__ struct pb_kernel_chase chase)                                      \
    {                                                                                              \
        pb_trace<pb_load_##path, pb_warm_other>(chase);                                            \
    }                                                                                              \
    extern "C" __global__ void pb_cross_time_##path(                                               \
        const __grid_constant__ struct pb_kernel_chase chase)                                      \
    {                                                                                              \
        pb_time<pb_load_##path, pb_warm_other>(chase);                                             \
    }

PB_CROSS_KERNELS(global_ca)
PB_CROSS_KERNELS(global_cg)
PB_CROSS_KERNELS(readonly)
PB_CROSS_KERNELS(texture)
PB_CROSS_KERNELS(texture_2d)

static pb_kernel_chaser pb_pick(enum pb_kernel_path path, int is_traced)
{
    switch (path) {
    case PB_KERNEL_GLOBAL_CA:
        return is_traced ? pb_cross_trace_global_ca : pb_cross_time_global_ca;
    case PB_KERNEL_GLOBAL_CG:
        return is_traced ? pb_cross_trace_global_cg : pb_cross_time_global_cg;
    case PB_KERNEL_READONLY:
        return is_traced ? pb_cross_trace_readonly : pb_cross_time_readonly;
    case PB_KERNEL_TEXTURE:
        return is_traced ? pb_cross_trace_texture : pb_cross_time_texture;
    case PB_KERNEL_TEXTURE_2D:
        return is_traced ? pb_cross_trace_texture_2d : pb_cross_time_texture_2d;
    default:
        return NULL;
    }
}

extern "C" int pb_kernel_cross_trace(enum pb_kernel_path path, const struct pb_kernel_chase *chase)
{
    return pb_launch_one(pb_pick(path, 1), &chase->place, *chase);
}

extern "C" int pb_kernel_cross_time(enum pb_kernel_path path, const struct pb_kernel_chase *chase)
{
    return pb_launch_one(pb_pick(path, 0), &chase->place, *chase);
}
