/*
 * The loads that chases are made of. Each one's `at` is where the next load goes, in the form of
 * its chain (enum pb_kernel_form); load() replaces it by what lies there, go() and where() set and
 * give it in full, offset() is where that is in the array, and ready() is called right before a
 * window opens.
 */
#ifndef PB_KERNELS_LOAD_CUH
#define PB_KERNELS_LOAD_CUH

#include <stdint.h>

#include "kernels/kernels.h"

/*
 * Goes on only when the value has arrived. A comparison can wait for it without reading it again
 * later, as a store would: that would leave a register in use when the first window opens. Nothing
 * that a chain holds is all ones.
 */
__device__ __forceinline__ void pb_await(uint32_t value)
{
    asm volatile(
        "{ .reg .pred never; setp.eq.u32 never, %0, 0xffffffff; @never exit; }" ::"r"(value)
        : "memory");
}

/* The same for any value; one that is all ones costs a moment's rest. */
__device__ __forceinline__ void pb_await_any(uint32_t value)
{
    asm volatile(
        "{ .reg .pred rare; setp.eq.u32 rare, %0, 0xffffffff; @rare nanosleep.u32 1; }" ::"r"(value)
        : "memory");
}

/* What all loads by absolute address have in common. */
struct pb_pointer {
    uint64_t at;
    __device__ __forceinline__ void open(const struct pb_kernel_chase &)
    {
    }
    __device__ __forceinline__ void go(uint64_t position)
    {
        at = position;
    }
    __device__ __forceinline__ uint64_t where() const
    {
        return at;
    }
    __device__ __forceinline__ uint64_t offset(uint64_t base) const
    {
        return at - base;
    }
    __device__ __forceinline__ void ready()
    {
    }
};

struct pb_load_global_ca : pb_pointer {
    __device__ __forceinline__ void load()
    {
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at)::"memory");
    }
};

struct pb_load_global_cg : pb_pointer {
    __device__ __forceinline__ void load()
    {
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
    }
};

struct pb_load_readonly : pb_pointer {
    __device__ __forceinline__ void load()
    {
        asm volatile("ld.global.nc.u64 %0, [%0];" : "+l"(at)::"memory");
    }
};

/* Adds nothing to the word and returns it: answered where the line has its home (facts 2.10). */
struct pb_load_atomic : pb_pointer {
    __device__ __forceinline__ void load()
    {
        asm volatile("atom.global.add.u64 %0, [%0], 0;" : "+l"(at)::"memory");
    }
};

/*
 * Texels by their number or by their place, never by an address: so no arithmetic is needed.
 *
 * ready(): the texture's handle lies in registers that the compiler fills at the first fetch it
 * sees. This fetch, which never happens, keeps that out of the window.
 */
struct pb_load_texture {
    uint32_t at;
    uint64_t texture;
    __device__ __forceinline__ void open(const struct pb_kernel_chase &chase)
    {
        texture = chase.texture;
    }
    __device__ __forceinline__ void go(uint64_t position)
    {
        at = (uint32_t)position;
    }
    __device__ __forceinline__ uint64_t where() const
    {
        return at;
    }
    __device__ __forceinline__ uint64_t offset(uint64_t) const
    {
        return (uint64_t)at * PB_KERNEL_SLOT_BYTES;
    }
    __device__ __forceinline__ void ready()
    {
        asm volatile("{ .reg .pred never; .reg .u32 zero; mov.u32 zero, 0;"
                     " setp.eq.u32 never, %0, 0xffffffff;"
                     " @never tex.1d.v4.u32.s32 {%0, _, _, _}, [%1, {%0}];"
                     " setp.eq.u32 never, %0, 0xffffffff; @never st.shared.u32 [zero], zero; }"
                     : "+r"(at)
                     : "l"(texture)
                     : "memory");
    }
    __device__ __forceinline__ void load()
    {
        asm volatile("tex.1d.v4.u32.s32 {%0, _, _, _}, [%1, {%0}];"
                     : "+r"(at)
                     : "l"(texture)
                     : "memory");
    }
};

struct pb_load_texture_2d {
    uint32_t at, row; /* column and row */
    uint64_t texture;
    __device__ __forceinline__ void open(const struct pb_kernel_chase &chase)
    {
        texture = chase.texture_2d;
    }
    __device__ __forceinline__ void go(uint64_t position)
    {
        at = (uint32_t)position;
        row = (uint32_t)(position >> 32);
    }
    __device__ __forceinline__ uint64_t where() const
    {
        return (uint64_t)row << 32 | at;
    }
    __device__ __forceinline__ uint64_t offset(uint64_t) const
    {
        return (uint64_t)row * PB_KERNEL_ROW_BYTES + at * PB_KERNEL_SLOT_BYTES;
    }
    __device__ __forceinline__ void ready()
    {
        asm volatile("{ .reg .pred never; .reg .u32 zero; mov.u32 zero, 0;"
                     " setp.eq.u32 never, %0, 0xffffffff;"
                     " @never tex.2d.v4.u32.s32 {%0, %1, _, _}, [%2, {%0, %1}];"
                     " setp.eq.u32 never, %0, 0xffffffff; @never st.shared.u32 [zero], zero; }"
                     : "+r"(at), "+r"(row)
                     : "l"(texture)
                     : "memory");
    }
    __device__ __forceinline__ void load()
    {
        asm volatile("tex.2d.v4.u32.s32 {%0, %1, _, _}, [%2, {%0, %1}];"
                     : "+r"(at), "+r"(row)
                     : "l"(texture)
                     : "memory");
    }
};

/* By offset in the constant bank, from a register: an immediate would be an operand (facts 2.8). */
struct pb_load_constant {
    uint32_t at;
    __device__ __forceinline__ void open(const struct pb_kernel_chase &)
    {
    }
    __device__ __forceinline__ void go(uint64_t position)
    {
        at = (uint32_t)position;
    }
    __device__ __forceinline__ uint64_t where() const
    {
        return at;
    }
    __device__ __forceinline__ void ready()
    {
    }
    __device__ __forceinline__ void load()
    {
        asm volatile("ld.const.u32 %0, [%0];" : "+r"(at)::"memory");
    }
};

/* Words of 4, 8 and 16 bytes; the first four bytes are the address of the next. */
template <int word_bytes> struct pb_load_shared {
    uint32_t at;
    __device__ __forceinline__ void ready()
    {
    }
    __device__ __forceinline__ void load()
    {
        uint32_t a, b, c;

        if (word_bytes == 4)
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
        else if (word_bytes == 8)
            asm volatile("ld.shared.v2.u32 {%0, %1}, [%0];" : "+r"(at), "=r"(a)::"memory");
        else
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%0];"
                         : "+r"(at), "=r"(a), "=r"(b), "=r"(c)::"memory");
    }
};

/* `count` dependent loads with nothing between them but what hides behind their latency. */
template <class Load> __device__ __forceinline__ void pb_chase_loads(Load &chain, uint64_t count)
{
#pragma unroll 1
    for (uint64_t rest = count / 8; rest > 0; rest--) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            chain.load();
    }
#pragma unroll 1
    for (uint32_t rest = count % 8; rest > 0; rest--)
        chain.load();
    pb_await((uint32_t)chain.at);
}

/*
 * The same by the only thread of a CTA, for a count that differs from job to job and is not timed.
 * Its votes keep the loops uniform in the compiler's eyes: behind others the clock would be read
 * through a uniform register (facts 2.1).
 */
template <class Load> __device__ __forceinline__ void pb_warm(Load &chain, uint64_t count)
{
    const uint32_t block = 64;

#pragma unroll 1
    for (uint64_t rest = count / block; __any_sync(1u, rest > 0); rest--) {
#pragma unroll 1
        for (uint32_t i = 0; i < block; i += 8) {
#pragma unroll
            for (int j = 0; j < 8; j++)
                chain.load();
        }
    }
#pragma unroll 1
    for (uint32_t rest = count % block; __any_sync(1u, rest > 0); rest--)
        chain.load();
    pb_await((uint32_t)chain.at);
}

#endif
