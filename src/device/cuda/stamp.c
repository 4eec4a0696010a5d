/*
 * The clock on hardware, and bank conflicts: what one SM tells of itself without the memory behind
 * it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/device.h"

/* One launch of at most trace_window_large stamps. */
static enum pb_status stamp_window(struct pb_cuda_device *cuda, enum pb_stamp stamp,
                                   uint32_t record, uint32_t *cycles_out, struct pb_error *err)
{
    uint32_t bytes = PB_KERNEL_CAPACITY(record) * PB_KERNEL_RECORD_BYTES;
    struct pb_kernel_stamp launch = {.record = record, .with_store = stamp == PB_STAMP_STORE};
    struct pb_cuda_recording recording;
    struct pb_kernel_result result;
    uint64_t carveout_bytes;
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->recording, bytes, "a recording", err);

    if (status == PB_OK)
        status = pb_cuda_place(cuda, -1, bytes, &launch.place, &carveout_bytes, err);
    if (status == PB_OK)
        status = pb_cuda_prepare(cuda, err);
    if (status != PB_OK)
        return status;
    launch.recording = cuda->recording.address;
    status =
        pb_cuda_status(cuda, pb_kernel_stamp(&launch), "pb_kernel_stamp", "launching stamps", err);
    if (status == PB_OK)
        status = pb_cuda_finish(cuda, "stamps", &result, err);
    if (status == PB_OK)
        status = pb_cuda_recording_read(cuda, record, "reading stamps", &recording, err);
    if (status != PB_OK)
        return status;
    pb_cuda_subtract(recording.pairs, record, cycles_out);
    pb_cuda_recording_free(&recording);
    return PB_OK;
}

enum pb_status pb_cuda_stamp(struct pb_device *device, enum pb_stamp stamp, size_t count,
                             uint32_t *cycles_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    size_t window = (size_t)cuda->info.trace_window_large;
    enum pb_status status = pb_cuda_enter(cuda, err);

    for (size_t first = 0; status == PB_OK && first < count; first += window) {
        size_t rest = count - first;
        status = stamp_window(cuda, stamp, (uint32_t)(rest < window ? rest : window),
                              cycles_out + first, err);
    }
    return status;
}

enum pb_status pb_cuda_clock(struct pb_device *device, double seconds, size_t count,
                             struct pb_clock_sample *samples_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    size_t bytes = count * sizeof(*samples_out);
    double limit_s = 2.0 * seconds + 0.1; /* a timer that stands still must not hang us */
    struct pb_kernel_clock launch = {.count = (uint32_t)count};
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && (count == 0 || count > UINT32_MAX || !(seconds > 0 && seconds < 60)))
        status = pb_fail(err, PB_INVALID, "clock: %zu samples in %g s: expected 0 s to 60 s", count,
                         seconds);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, bytes, "clock samples", err);
    if (status != PB_OK)
        return status;
    launch.samples = cuda->recording.address;
    launch.period_ns = (uint64_t)(seconds * 1e9 / (double)count);
    launch.limit_cycles = (uint64_t)(limit_s * cuda->info.sm_clock_max_mhz * 1e6);
    status = pb_cuda_zero(cuda, launch.samples, bytes, "preparing clock samples", err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_clock(&launch), "pb_kernel_clock",
                                "launching the clock", err);
    if (status == PB_OK)
        status = pb_cuda_download(cuda, samples_out, launch.samples, bytes, "the clock", err);
    if (status == PB_OK && samples_out[count - 1].ns == 0)
        status =
            pb_fail(err, PB_DEVICE, "GPU %d: the global timer did not tick in time", cuda->ordinal);
    return status;
}

static enum pb_status check_conflict(const struct pb_cuda_device *cuda,
                                     const struct pb_conflict *conflict, struct pb_error *err)
{
    if (conflict->word_bytes != 4 && conflict->word_bytes != 8 && conflict->word_bytes != 16)
        return pb_fail(err, PB_INVALID, "conflict: words of %" PRIu32 " bytes: expected 4, 8 or 16",
                       conflict->word_bytes);
    if (conflict->record == 0 || conflict->record > cuda->info.trace_window_large)
        return pb_fail(err, PB_INVALID, "conflict: %" PRIu64 " accesses: expected 1 to %" PRIu64,
                       conflict->record, cuda->info.trace_window_large);
    return PB_OK;
}

/* Fills the launch; PB_UNSUPPORTED when the lanes and the recording do not fit together. */
static enum pb_status place_conflict(struct pb_cuda_device *cuda,
                                     const struct pb_conflict *conflict,
                                     struct pb_kernel_conflict *launch_out, uint64_t *carveout_out,
                                     struct pb_error *err)
{
    uint64_t lane_bytes = (uint64_t)conflict->stride_words * conflict->word_bytes;
    uint64_t chain_bytes = (31 * lane_bytes + conflict->word_bytes + 15) / 16 * 16;
    uint64_t pair_bytes = PB_KERNEL_CAPACITY(conflict->record) * 2 * sizeof(uint32_t);
    uint64_t record_bytes = PB_KERNEL_LANES_BYTES + pair_bytes;
    enum pb_status status;

    if (chain_bytes + record_bytes > cuda->shared_optin_bytes)
        return pb_fail(err, PB_UNSUPPORTED,
                       "conflict: stride %" PRIu32 " takes %" PRIu64
                       " bytes and the recording %" PRIu64 ": a CTA has %" PRIu64,
                       conflict->stride_words, chain_bytes, record_bytes, cuda->shared_optin_bytes);
    *launch_out = (struct pb_kernel_conflict){
        .warm = conflict->warm,
        .record = (uint32_t)conflict->record,
        .word_bytes = conflict->word_bytes,
        .lane_bytes = (uint32_t)lane_bytes,
        .chain_bytes = (uint32_t)chain_bytes,
    };
    status = pb_cuda_reserve(cuda, &cuda->recording, pair_bytes, "a recording", err);
    if (status == PB_OK)
        status = pb_cuda_place(cuda, -1, chain_bytes + record_bytes, &launch_out->place,
                               carveout_out, err);
    launch_out->recording = cuda->recording.address;
    return status;
}

/* Every lane must have loaded its own word, and nothing else, to the end. */
static enum pb_status check_lanes(const struct pb_cuda_device *cuda,
                                  const struct pb_kernel_result *result, struct pb_error *err)
{
    if (result->stray_lanes == 0)
        return PB_OK;
    return pb_fail(
        err, PB_DEVICE,
        "GPU %d: shared memory loads of a bank conflict: expected all lanes at their own "
        "words, found %" PRIu32 " of 32 elsewhere",
        cuda->ordinal, result->stray_lanes);
}

static enum pb_status read_pairs(struct pb_cuda_device *cuda, uint32_t record, uint32_t *cycles_out,
                                 struct pb_error *err)
{
    size_t bytes = record * 2 * sizeof(uint32_t);
    uint32_t *pairs = malloc(bytes);
    enum pb_status status;

    if (pairs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %" PRIu32 " stamp pairs",
                       record);
    status = pb_cuda_download(cuda, pairs, cuda->recording.address, bytes, "reading bank conflicts",
                              err);
    if (status == PB_OK)
        pb_cuda_subtract(pairs, record, cycles_out);
    free(pairs);
    return status;
}

enum pb_status pb_cuda_conflict(struct pb_device *device, const struct pb_conflict *conflict,
                                struct pb_chase_trace *trace, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_kernel_conflict launch;
    struct pb_kernel_result result;
    uint64_t carveout_bytes = 0;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK)
        status = check_conflict(cuda, conflict, err);
    if (status == PB_OK)
        status = place_conflict(cuda, conflict, &launch, &carveout_bytes, err);
    if (status == PB_OK)
        status = pb_cuda_prepare(cuda, err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_conflict(&launch), "pb_kernel_conflict",
                                "launching bank conflicts", err);
    if (status == PB_OK)
        status = pb_cuda_finish(cuda, "bank conflicts", &result, err);
    if (status == PB_OK)
        status = check_lanes(cuda, &result, err);
    if (status == PB_OK)
        status = read_pairs(cuda, launch.record, trace->latency_cycles, err);
    if (status != PB_OK)
        return status;
    /* Lane 0 stands for the warp: its word lies at the start. */
    memset(trace->index_bytes, 0, launch.record * sizeof(*trace->index_bytes));
    trace->count = trace->window = launch.record;
    trace->total_cycles = 0;
    trace->total_ns = 0.0;
    trace->base_address = result.base_address;
    trace->carveout_bytes = carveout_bytes;
    trace->sm_id = result.sm_id;
    return PB_OK;
}
