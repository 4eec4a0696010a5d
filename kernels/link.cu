/*
 * Before a chase: linking its slots, checking the links, warming and flushing L2.
 *
 * Limit: prefill counts on one CTA going to each SM, which is how an idle device spreads a grid of
 * as many large CTAs as it has SMs.
 */
#include "kernels/fault.cuh"

static const uint32_t cta_size = 1024;

/* Slot number chain.count is the one for practice. */
struct pb_slot {
    uint64_t address, value;
};

__device__ __forceinline__ struct pb_slot pb_slot_at(const struct pb_kernel_chain &chain,
                                                     uint64_t i)
{
    const uint64_t *offsets = (const uint64_t *)chain.offsets;
    uint64_t own = i < chain.count ? offsets[i] : chain.practice;
    uint64_t next = i < chain.count ? offsets[i + 1 < chain.count ? i + 1 : 0] : own;

    return {chain.base + chain.shift + own,
            pb_kernel_position((enum pb_kernel_form)chain.form, chain.base, chain.shift + next)};
}

static __host__ __device__ __forceinline__ uint64_t
pb_slot_count(const struct pb_kernel_chain &chain)
{
    return chain.count + (chain.practice != PB_KERNEL_NO_SLOT);
}

__global__ void pb_link_slots(struct pb_kernel_chain chain)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, count = pb_slot_count(chain);

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        struct pb_slot slot = pb_slot_at(chain, i);

        *(uint64_t *)slot.address = slot.value;
    }
}

__global__ void pb_link_compare(struct pb_kernel_chain chain)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, count = pb_slot_count(chain);

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        struct pb_slot slot = pb_slot_at(chain, i);
        uint64_t found = __ldcg((const unsigned long long *)slot.address);

        if (found != slot.value)
            pb_fault_report((struct pb_kernel_fault *)chain.fault, slot.address, slot.value, found);
    }
}

/*
 * The list of offsets is read with a hint that it will not be needed again. What is loaded must be
 * used: a warp that ends with loads outstanding takes their copies in the near half of L2 with it
 * (seen on an H200: the last dozen loads of every thread stayed far).
 */
__global__ void pb_link_read(struct pb_kernel_chain chain)
{
    const unsigned long long *offsets = (const unsigned long long *)chain.offsets;
    uint64_t seen = 0;

    for (uint64_t i = threadIdx.x; i < chain.count; i += blockDim.x) {
        uint64_t address = chain.base + chain.shift + __ldcs(&offsets[i]);
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(address)::"memory");
        seen |= address;
    }
    if (seen == UINT64_MAX) /* no set of addresses comes to that */
        *(uint64_t *)chain.base = seen;
}

__global__ void pb_flush_write(uint64_t address, uint64_t words, uint32_t salt)
{
    uint4 *to = (uint4 *)address;
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        to[i] = make_uint4((uint32_t)i, salt, salt, salt);
}

/* CTAs for `count` items, one each at most, without overwhelming the device with tiny ones. */
static uint32_t pb_cta_count(uint64_t count)
{
    uint64_t needed = (count + cta_size - 1) / cta_size;

    return (uint32_t)(needed < 1024 ? needed : 1024);
}

extern "C" int pb_kernel_link(const struct pb_kernel_chain *chain)
{
    pb_link_slots<<<pb_cta_count(pb_slot_count(*chain)), cta_size>>>(*chain);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_link_check(const struct pb_kernel_chain *chain)
{
    pb_link_compare<<<pb_cta_count(pb_slot_count(*chain)), cta_size>>>(*chain);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_prefill(const struct pb_kernel_chain *chain, uint32_t cta_count)
{
    pb_link_read<<<cta_count, cta_size>>>(*chain);
    return (int)cudaGetLastError();
}

extern "C" int pb_kernel_flush(uint64_t address, uint64_t words, uint32_t salt, uint32_t cta_count)
{
    pb_flush_write<<<cta_count, cta_size>>>(address, words, salt);
    return (int)cudaGetLastError();
}
