/*
 * Loads outstanding on hardware (N14 5.2): every word that was read is checked through the sum that
 * its lane made of them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "device/cuda/device.h"

/* One burst in progress. What the kernel leaves lies in the recording: stamps, then sums. */
struct run {
    struct pb_cuda_device *cuda;
    const struct pb_burst *burst;
    struct pb_kernel_burst launch;
    uint32_t salt;
    struct pb_error *err;
};

static enum pb_status kernel_path(const struct pb_burst *burst, uint32_t *path_out,
                                  struct pb_error *err)
{
    switch (burst->path) {
    case PB_PATH_GLOBAL_CA:
        *path_out = PB_KERNEL_GLOBAL_CA;
        return PB_OK;
    case PB_PATH_GLOBAL_CG:
        *path_out = PB_KERNEL_GLOBAL_CG;
        return PB_OK;
    case PB_PATH_READONLY:
        *path_out = PB_KERNEL_READONLY;
        return PB_OK;
    default:
        return pb_fail(err, PB_UNSUPPORTED, "burst: path %s is not there on the cuda backend",
                       (unsigned)burst->path < PB_PATH_COUNT ? pb_path_name(burst->path) : "?");
    }
}

static enum pb_status check_request(const struct pb_burst *burst, struct pb_error *err)
{
    const uint64_t sector_bytes = 32; /* the least that memory moves: then no two share a line */

    const uint32_t warps_max = PB_KERNEL_BURST_WARPS(burst->loads);

    if (burst->warps < 1 || burst->warps > warps_max || burst->lanes < 1 || burst->lanes > 32 ||
        burst->loads < 1 || burst->loads > PB_KERNEL_BURST_LOADS)
        return pb_fail(err, PB_INVALID,
                       "burst: %" PRIu32 " warps, %" PRIu32 " lanes, %" PRIu32
                       " loads: expected 1 to %" PRIu32 ", 32 and %d",
                       burst->warps, burst->lanes, burst->loads, warps_max, PB_KERNEL_BURST_LOADS);
    if (burst->stride_bytes < sector_bytes || burst->stride_bytes % 4 != 0)
        return pb_fail(err, PB_INVALID,
                       "burst: lines %" PRIu64 " bytes apart: expected a multiple of 4, 32 or more",
                       burst->stride_bytes);
    return PB_OK;
}

static uint64_t stamp_bytes(const struct pb_burst *burst)
{
    return sizeof(uint32_t[2]) * burst->warps;
}

static enum pb_status set_up(struct run *run)
{
    struct pb_cuda_device *cuda = run->cuda;
    const struct pb_burst *burst = run->burst;
    uint64_t lanes = (uint64_t)burst->warps * burst->lanes;
    struct pb_kernel_place place;
    uint64_t carveout_bytes;
    enum pb_status status = pb_cuda_reserve(
        cuda, &cuda->arena, lanes * burst->loads * burst->stride_bytes, "a burst", run->err);

    if (status == PB_OK)
        status =
            pb_cuda_reserve(cuda, &cuda->recording, stamp_bytes(burst) + lanes * sizeof(uint32_t),
                            "the stamps of a burst", run->err);
    if (status == PB_OK)
        status = pb_cuda_place(cuda, -1, 0, &place, &carveout_bytes, run->err);
    if (status == PB_OK)
        status = pb_cuda_prepare(cuda, run->err);
    if (status != PB_OK)
        return status;
    run->salt = ++cuda->salt;
    run->launch.base = cuda->arena.address;
    run->launch.line_bytes = burst->stride_bytes;
    run->launch.control = place.control;
    run->launch.stamps = cuda->recording.address;
    run->launch.sums = cuda->recording.address + stamp_bytes(burst);
    run->launch.warps = burst->warps;
    run->launch.lanes = burst->lanes;
    run->launch.loads = burst->loads;
    return PB_OK;
}

static enum pb_status launch(struct run *run)
{
    struct pb_cuda_device *cuda = run->cuda;
    enum pb_status status =
        pb_cuda_status(cuda, pb_kernel_burst_fill(&run->launch, run->salt), "pb_kernel_burst_fill",
                       "filling the lines of a burst", run->err);

    if (status == PB_OK && run->burst->flush)
        status = pb_cuda_flush_l2(cuda, run->err);
    else if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_burst_touch(&run->launch, cuda->info.sm_count),
                                "pb_kernel_burst_touch", "warming L2", run->err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_burst(&run->launch), "pb_kernel_burst",
                                "launching a burst", run->err);
    return status;
}

/* What lane l of warp w adds up. */
static uint32_t expected_sum(const struct run *run, uint32_t w, uint32_t l)
{
    const struct pb_burst *burst = run->burst;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < burst->loads; i++) {
        uint64_t line = ((uint64_t)i * burst->warps + w) * burst->lanes + l;
        sum += PB_KERNEL_PATTERN(line, run->salt);
    }
    return sum;
}

static enum pb_status check_sums(const struct run *run, const uint32_t *sums)
{
    for (uint32_t w = 0; w < run->burst->warps; w++) {
        for (uint32_t l = 0; l < run->burst->lanes; l++) {
            uint32_t expected = expected_sum(run, w, l), found = sums[w * run->burst->lanes + l];

            if (found != expected)
                return pb_fail(run->err, PB_DEVICE,
                               "GPU %d: burst: lane %" PRIu32 " of warp %" PRIu32
                               ": expected the sum 0x%" PRIx32 ", found 0x%" PRIx32,
                               run->cuda->ordinal, l, w, expected, found);
        }
    }
    return PB_OK;
}

static enum pb_status collect(struct run *run, uint32_t *cycles_out)
{
    size_t stamps = (size_t)stamp_bytes(run->burst);
    size_t bytes = stamps + (size_t)run->burst->warps * run->burst->lanes * sizeof(uint32_t);
    uint32_t *words = malloc(bytes);
    enum pb_status status;

    if (words == NULL)
        return pb_fail(run->err, PB_NO_MEMORY, "out of memory allocating the stamps of a burst");
    status =
        pb_cuda_download(run->cuda, words, run->launch.stamps, bytes, "reading a burst", run->err);
    if (status == PB_OK)
        status = check_sums(run, words + stamps / sizeof(*words));
    if (status == PB_OK)
        pb_cuda_subtract(words, run->burst->warps, cycles_out);
    free(words);
    return status;
}

enum pb_status pb_cuda_burst(struct pb_device *device, const struct pb_burst *burst,
                             uint32_t *cycles_out, struct pb_error *err)
{
    struct run run = {.cuda = (struct pb_cuda_device *)device, .burst = burst, .err = err};
    enum pb_status status = pb_cuda_enter(run.cuda, err);

    if (status == PB_OK)
        status = kernel_path(burst, &run.launch.path, err);
    if (status == PB_OK)
        status = check_request(burst, err);
    if (status == PB_OK)
        status = set_up(&run);
    if (status == PB_OK)
        status = launch(&run);
    if (status == PB_OK)
        status = collect(&run, cycles_out);
    return status;
}
