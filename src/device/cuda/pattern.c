/*
 * Testing the memory that is free: in blocks, because one as large as all of it may not be had. All
 * blocks are written before the first is read back, so that what lands in another's place is seen.
 *
 * Limit: what other processes and the driver hold is not tested.
 */
#include <cuda_runtime_api.h>

#include <inttypes.h>

#include "core/time.h"
#include "device/cuda/device.h"

static const uint64_t page_bytes = 2u << 20;
static const uint64_t block_bytes = 1u << 30;
/* What a test of all that is free leaves to the driver and to others: a 32nd of the memory, this
 * much at least; but any test, half of what is free at most. */
static const uint64_t reserve_least_bytes = 256u << 20;
static const uint64_t reserve_share = 32;

enum { BLOCK_MAX = 1024 };

/* One test in progress. */
struct run {
    struct pb_cuda_device *cuda;
    void *blocks[BLOCK_MAX];
    uint64_t block_bytes[BLOCK_MAX];
    size_t block_count;
    uint64_t total_bytes;
    struct pb_error *err;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static enum pb_status fail_for_want(const struct run *run)
{
    size_t free_bytes = 0, total_bytes = 0;
    enum pb_status status = pb_cuda_status(run->cuda, cudaMemGetInfo(&free_bytes, &total_bytes),
                                           "cudaMemGetInfo", "a pattern test", run->err);

    if (status != PB_OK)
        return status;
    return pb_fail(run->err, PB_NO_MEMORY,
                   "GPU %d: a pattern test: %" PRIu64 " bytes needed, %zu of %zu are free",
                   run->cuda->ordinal, 2 * page_bytes, free_bytes, total_bytes);
}

/* How much to test: what was requested, as far as it is free. */
static enum pb_status choose_bytes(struct run *run, uint64_t wanted, uint64_t *bytes_out)
{
    size_t free_bytes = 0, total_bytes = 0;
    uint64_t reserve, most;
    enum pb_status status = pb_cuda_status(run->cuda, cudaMemGetInfo(&free_bytes, &total_bytes),
                                           "cudaMemGetInfo", "a pattern test", run->err);

    if (status != PB_OK)
        return status;
    reserve = total_bytes / reserve_share;
    reserve = reserve > reserve_least_bytes ? reserve : reserve_least_bytes;
    most = free_bytes - least(reserve, free_bytes / 2);
    if (most < page_bytes)
        return fail_for_want(run);
    if (wanted != 0)
        most = least(most, (wanted + page_bytes - 1) / page_bytes * page_bytes);
    *bytes_out = most / page_bytes * page_bytes;
    return PB_OK;
}

/* Takes blocks until there are enough, smaller ones where large ones are not to be had. */
static enum pb_status take_blocks(struct run *run, uint64_t bytes)
{
    uint64_t most = block_bytes;

    while (run->total_bytes < bytes && run->block_count < BLOCK_MAX && most >= page_bytes) {
        uint64_t wanted = least(most, bytes - run->total_bytes);
        void *memory = NULL;
        int code = cudaMalloc(&memory, wanted);

        if (code == cudaErrorMemoryAllocation) {
            cudaGetLastError(); /* or it would be reported again */
            most = wanted / 2 / page_bytes * page_bytes;
            continue;
        }
        if (code != cudaSuccess)
            return pb_cuda_status(run->cuda, code, "cudaMalloc", "a pattern test", run->err);
        run->blocks[run->block_count] = memory;
        run->block_bytes[run->block_count++] = wanted;
        run->total_bytes += wanted;
    }
    return run->block_count > 0 ? PB_OK : fail_for_want(run);
}

static void free_blocks(struct run *run)
{
    for (size_t i = 0; i < run->block_count; i++)
        cudaFree(run->blocks[i]);
}

static enum pb_status pass(struct run *run, uint64_t seed, uint64_t fault_address)
{
    const uint32_t cta_count = 4 * run->cuda->info.sm_count;
    enum pb_status status = PB_OK;

    for (size_t i = 0; status == PB_OK && i < 2 * run->block_count; i++) {
        size_t block = i % run->block_count;
        struct pb_kernel_pattern pattern = {
            .address = (uint64_t)(uintptr_t)run->blocks[block],
            .bytes = run->block_bytes[block],
            .seed = seed,
            .fault = fault_address,
        };

        if (i < run->block_count)
            status = pb_cuda_status(run->cuda, pb_kernel_pattern_write(&pattern, cta_count),
                                    "pb_kernel_pattern_write", "a pattern test", run->err);
        else
            status = pb_cuda_status(run->cuda, pb_kernel_pattern_check(&pattern, cta_count),
                                    "pb_kernel_pattern_check", "a pattern test", run->err);
    }
    return status;
}

/* Each pass writes other words, half of whose bits differ from those before. */
static uint64_t seed_of_pass(uint64_t seed, uint32_t i)
{
    return seed + i * UINT64_C(0x9e3779b97f4a7c15);
}

static enum pb_status run_passes(struct run *run, const struct pb_pattern *pattern,
                                 struct pb_kernel_fault *fault_out)
{
    uint64_t fault_address = 0;
    enum pb_status status = pb_cuda_fault_clear(run->cuda, &fault_address, run->err);

    for (uint32_t i = 0; status == PB_OK && i < pattern->passes; i++)
        status = pass(run, seed_of_pass(pattern->seed, i), fault_address);
    if (status == PB_OK)
        status = pb_cuda_fault_read(run->cuda, "a pattern test", fault_out, run->err);
    return status;
}

enum pb_status pb_cuda_pattern(struct pb_device *device, const struct pb_pattern *pattern,
                               struct pb_pattern_result *result_out, struct pb_error *err)
{
    struct run run = {.cuda = (struct pb_cuda_device *)device, .err = err};
    struct pb_kernel_fault fault = {0, 0, 0, 0};
    double start = pb_time_monotonic_seconds();
    uint64_t bytes = 0;
    enum pb_status status = pb_cuda_enter(run.cuda, err);

    if (status == PB_OK && pattern->passes == 0)
        status = pb_fail(err, PB_INVALID, "pattern: no passes");
    if (status == PB_OK) {
        pb_cuda_release(&run.cuda->arena);
        pb_cuda_release(&run.cuda->scratch);
        status = choose_bytes(&run, pattern->bytes, &bytes);
    }
    if (status == PB_OK)
        status = take_blocks(&run, bytes);
    if (status == PB_OK)
        status = run_passes(&run, pattern, &fault);
    free_blocks(&run);
    if (status != PB_OK)
        return status;
    *result_out = (struct pb_pattern_result){
        .bytes_tested = run.total_bytes,
        .mismatch_count = fault.count,
        .address = fault.address,
        .expected = fault.expected,
        .found = fault.found,
        .seconds = pb_time_monotonic_seconds() - start,
    };
    return PB_OK;
}
