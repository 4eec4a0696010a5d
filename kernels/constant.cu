/*
 * Pointer chases through constant memory.
 *
 * Limit: the array is all the constant memory that a program may declare, so it lies at offset 0 of
 * its bank, and offsets are addresses there. This file can hold no other __constant__ variable.
 */
#include "kernels/chase.cuh"

__constant__ uint64_t pb_constant_bank[PB_KERNEL_CONSTANT_BYTES / sizeof(uint64_t)];

PB_CHASE_KERNELS(constant)

extern "C" pb_kernel_chaser pb_kernel_constant_chaser(int is_traced)
{
    return is_traced ? pb_trace_constant : pb_time_constant;
}

extern "C" int pb_kernel_constant_fill(uint64_t from, uint64_t bytes)
{
    return (int)cudaMemcpyToSymbol(pb_constant_bank, (const void *)from, bytes, 0,
                                   cudaMemcpyDeviceToDevice);
}

extern "C" int pb_kernel_constant_address(uint64_t *address_out)
{
    void *address = NULL;
    cudaError_t error = cudaGetSymbolAddress(&address, pb_constant_bank);

    *address_out = (uint64_t)address;
    return (int)error;
}
