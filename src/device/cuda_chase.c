/*
 * The pointer chase on silicon: linking the slots, setting up the caches, and one launch per window
 * of recorded accesses (M16 4.2, R16 2.2).
 *
 * Everything that comes back is checked: the links before the chase, every recorded pointer, and
 * where the chase ended. A word that is not what was written there is an error of the device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_device.h"

/* One chase under way. */
struct run {
    struct pb_cuda_device *cuda;
    const struct pb_chase *chase;
    struct pb_kernel_chain chain; /* in the arena */
    struct pb_kernel_chase launch;
    enum pb_kernel_path path;
    uint64_t base_address; /* of offset 0 */
    uint64_t window;       /* accesses recorded per launch */
    uint64_t carveout_bytes;
    struct pb_error *err;
};

static const uint64_t slot_bytes = 8;

static enum pb_status kernel_path(const struct pb_chase *chase, enum pb_kernel_path *path_out,
                                  struct pb_error *err)
{
    if (chase->cross)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase: warming by another path is not there on the cuda backend");
    switch (chase->path) {
    case PB_PATH_GLOBAL_CA:
        *path_out = PB_KERNEL_GLOBAL_CA;
        return PB_OK;
    case PB_PATH_GLOBAL_CG:
        *path_out = PB_KERNEL_GLOBAL_CG;
        return PB_OK;
    case PB_PATH_READONLY:
        *path_out = PB_KERNEL_READONLY;
        return PB_OK;
    case PB_PATH_SHARED:
        *path_out = PB_KERNEL_SHARED;
        return PB_OK;
    default:
        return pb_fail(err, PB_UNSUPPORTED, "chase: path %s is not there on the cuda backend",
                       chase->path < PB_PATH_COUNT ? pb_path_name(chase->path) : "?");
    }
}

/* Bytes from offset 0 to the end of the last slot. */
static enum pb_status footprint(const struct pb_chase *chase, uint64_t *bytes_out,
                                struct pb_error *err)
{
    uint64_t last = 0;

    if (chase->offset_count == 0)
        return pb_fail(err, PB_INVALID, "chase: no slots");
    if ((chase->record == 0) == (chase->timed == 0))
        return pb_fail(err, PB_INVALID, "chase: expected loads to record or to time, found %s",
                       chase->record == 0 ? "neither" : "both");
    for (size_t i = 0; i < chase->offset_count; i++) {
        if (chase->offset_bytes[i] % slot_bytes != 0)
            return pb_fail(err, PB_INVALID,
                           "chase: offset %zu: expected a multiple of 8, found %" PRIu64, i,
                           chase->offset_bytes[i]);
        if (chase->offset_bytes[i] > last)
            last = chase->offset_bytes[i];
    }
    *bytes_out = last + slot_bytes;
    return PB_OK;
}

/* The offset of the slot that load number n reads, counted from the start of the chase. */
static uint64_t offset_of_load(const struct pb_chase *chase, uint64_t n)
{
    return chase->offset_bytes[n % chase->offset_count];
}

static enum pb_status send_offsets(struct run *run)
{
    size_t bytes = run->chase->offset_count * sizeof(*run->chase->offset_bytes);
    enum pb_status status;

    status =
        pb_cuda_reserve(run->cuda, &run->cuda->offsets, bytes, "the order of a chase", run->err);
    if (status != PB_OK)
        return status;
    return pb_cuda_upload(run->cuda, run->cuda->offsets.address, run->chase->offset_bytes, bytes,
                          "sending the order of a chase", run->err);
}

/* The caller's fault where a slot comes twice, else the device's. */
static enum pb_status blame_link(struct run *run, const struct pb_kernel_fault *fault)
{
    const struct pb_chase *chase = run->chase;
    uint64_t offset = fault->address - run->base_address;
    size_t seen = 0;

    for (size_t i = 0; i < chase->offset_count; i++)
        seen += chase->offset_bytes[i] == offset;
    if (seen > 1)
        return pb_fail(run->err, PB_INVALID, "chase: offset %" PRIu64 " comes %zu times", offset,
                       seen);
    return pb_fail(run->err, PB_DEVICE,
                   "GPU %d: memory at 0x%" PRIx64 ": wrote 0x%016" PRIx64 ", read 0x%016" PRIx64
                   ", bits 0x%" PRIx64 " differ (one of %" PRIu64 " such words)",
                   run->cuda->ordinal, fault->address, fault->expected, fault->found,
                   fault->expected ^ fault->found, fault->count);
}

static enum pb_status link_slots(struct run *run)
{
    struct pb_kernel_fault fault;
    enum pb_status status = pb_cuda_fault_clear(run->cuda, &run->chain.fault, run->err);

    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, pb_kernel_link(&run->chain), "pb_kernel_link",
                                "linking a chase", run->err);
    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, pb_kernel_link_check(&run->chain),
                                "pb_kernel_link_check", "checking the links of a chase", run->err);
    if (status == PB_OK)
        status = pb_cuda_fault_read(run->cuda, "checking the links of a chase", &fault, run->err);
    if (status == PB_OK && fault.count > 0)
        status = blame_link(run, &fault);
    return status;
}

/* Writes twice the size of L2, so that none of the chain is left in it (facts 2.9). */
static enum pb_status flush_l2(struct run *run)
{
    struct pb_cuda_device *cuda = run->cuda;
    uint64_t bytes = 2 * cuda->info.l2_bytes / sizeof(uint64_t[2]) * sizeof(uint64_t[2]);
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->scratch, bytes, "flushing L2", run->err);

    if (status != PB_OK)
        return status;
    return pb_cuda_status(cuda,
                          pb_kernel_flush(cuda->scratch.address, bytes / sizeof(uint64_t[2]),
                                          cuda->salt++, 2 * cuda->info.sm_count),
                          "pb_kernel_flush", "flushing L2", run->err);
}

static enum pb_status set_up_caches(struct run *run)
{
    enum pb_status status = PB_OK;

    if (run->path == PB_KERNEL_SHARED)
        return PB_OK;
    if (run->chase->flush)
        status = flush_l2(run);
    if (status == PB_OK && run->chase->prefill)
        status = pb_cuda_status(run->cuda, pb_kernel_prefill(&run->chain, run->cuda->info.sm_count),
                                "pb_kernel_prefill", "warming L2", run->err);
    return status;
}

/* One launch: the chase from its start, `warm` loads, then those of run->launch. */
static enum pb_status walk(struct run *run, uint64_t warm, struct pb_kernel_result *result_out)
{
    bool is_traced = run->launch.record > 0;
    int code;
    enum pb_status status = set_up_caches(run);

    run->launch.warm = warm;
    if (status == PB_OK)
        status = pb_cuda_prepare(run->cuda, run->err);
    if (status != PB_OK)
        return status;
    code = is_traced ? pb_kernel_trace(run->path, &run->launch)
                     : pb_kernel_time(run->path, &run->launch);
    status = pb_cuda_status(run->cuda, code, is_traced ? "pb_kernel_trace" : "pb_kernel_time",
                            "launching a chase", run->err);
    if (status == PB_OK)
        status = pb_cuda_finish(run->cuda, &run->launch.place, "a chase", result_out, run->err);
    if (status == PB_OK && run->path == PB_KERNEL_SHARED)
        run->base_address = result_out->base_address;
    return status;
}

/* Load number n read `found`, of which only the bits of `mask` are known. */
static enum pb_status check_loaded(struct run *run, uint64_t n, uint64_t found, uint64_t mask)
{
    uint64_t expected = run->base_address + offset_of_load(run->chase, n + 1);

    if ((found & mask) == (expected & mask))
        return PB_OK;
    return pb_fail(run->err, PB_DEVICE,
                   "GPU %d: %s load %" PRIu64 " of a chase, at 0x%" PRIx64 ": expected 0x%" PRIx64
                   ", found 0x%" PRIx64 ", bits 0x%" PRIx64 " differ",
                   run->cuda->ordinal, pb_path_name(run->chase->path), n,
                   run->base_address + offset_of_load(run->chase, n), expected & mask, found & mask,
                   (found ^ expected) & mask);
}

static enum pb_status read_window(struct run *run, uint64_t first, uint32_t count,
                                  struct pb_trace *trace)
{
    const uint64_t low_word = 0xffffffffu;
    struct pb_cuda_recording recording;
    uint64_t n = run->chase->warm + first;
    enum pb_status status;

    status = pb_cuda_recording_read(run->cuda, count, "reading a trace", &recording, run->err);
    if (status != PB_OK)
        return status;
    for (uint32_t i = 0; status == PB_OK && i < count; i++)
        status = check_loaded(run, n + i, recording.loaded[i], low_word);
    if (status == PB_OK) {
        pb_cuda_subtract(recording.pairs, count, trace->latency_cycles + first);
        for (uint32_t i = 0; i < count; i++)
            trace->index_bytes[first + i] = offset_of_load(run->chase, n + i);
    }
    pb_cuda_recording_free(&recording);
    return status;
}

/* The sliding window: each launch repeats the chase up to where the last one stopped recording. */
static enum pb_status trace_windows(struct run *run, struct pb_trace *trace,
                                    struct pb_kernel_result *result_out)
{
    uint64_t record = run->chase->record;
    enum pb_status status = PB_OK;

    for (uint64_t first = 0; status == PB_OK && first < record; first += run->window) {
        uint64_t rest = record - first;
        uint64_t warm = run->chase->warm + first;

        run->launch.record = (uint32_t)(rest < run->window ? rest : run->window);
        status = walk(run, warm, result_out);
        if (status == PB_OK)
            status = read_window(run, first, run->launch.record, trace);
        if (status == PB_OK)
            status = check_loaded(run, warm + run->launch.record - 1, result_out->last_address,
                                  UINT64_MAX);
    }
    return status;
}

static enum pb_status time_lap(struct run *run, struct pb_kernel_result *result_out)
{
    uint64_t loads = run->chase->warm + run->chase->timed;
    enum pb_status status;

    run->launch.record = 0;
    run->launch.timed = run->chase->timed;
    status = walk(run, run->chase->warm, result_out);
    if (status == PB_OK)
        status = check_loaded(run, loads - 1, result_out->last_address, UINT64_MAX);
    return status;
}

/* How many accesses one launch records, and where: see trace_window in identity.h. */
static enum pb_status choose_window(struct run *run, uint64_t footprint_bytes)
{
    const struct pb_device_info *info = &run->cuda->info;
    bool is_shared = run->path == PB_KERNEL_SHARED;
    uint64_t room_bytes = run->cuda->shared_optin_bytes;
    uint64_t window = info->trace_window;
    uint64_t chain_bytes = is_shared ? (footprint_bytes + 15) / 16 * 16 : 0;
    uint64_t least = run->chase->record == 0 ? 0 : PB_KERNEL_PRACTICE * PB_KERNEL_RECORD_BYTES;

    if (chain_bytes + least > room_bytes)
        return pb_fail(run->err, PB_UNSUPPORTED,
                       "chase: %" PRIu64
                       " bytes of shared memory and a recording: a CTA has %" PRIu64,
                       footprint_bytes, room_bytes);
    if (is_shared || run->path == PB_KERNEL_GLOBAL_CG)
        window = info->trace_window_large;
    if (window > (room_bytes - chain_bytes) / PB_KERNEL_RECORD_BYTES / 4 * 4)
        window = (room_bytes - chain_bytes) / PB_KERNEL_RECORD_BYTES / 4 * 4;
    if (window > run->chase->record)
        window = run->chase->record;
    run->window = window;
    run->launch.chain_bytes = (uint32_t)chain_bytes;
    return PB_OK;
}

/*
 * Shared memory that a launch takes for its recording. A timed chase records nothing but takes as
 * much as a traced one: to a kernel without shared memory the driver leaves a smaller L1 than to
 * one with a little (seen on an H200: 216 KiB instead of 240, whatever the hint below 32 KiB).
 */
static uint64_t recording_bytes(const struct run *run)
{
    uint64_t window = run->window;

    if (run->chase->record == 0 && run->path != PB_KERNEL_SHARED)
        window = run->cuda->info.trace_window;
    return window == 0 ? 0 : PB_KERNEL_CAPACITY(window) * PB_KERNEL_RECORD_BYTES;
}

/* Memory, links and launch parameters of a chase. */
static enum pb_status set_up(struct run *run)
{
    struct pb_cuda_device *cuda = run->cuda;
    uint64_t footprint_bytes = 0, recorded_bytes = 0;
    enum pb_status status = footprint(run->chase, &footprint_bytes, run->err);

    if (status == PB_OK)
        status = choose_window(run, footprint_bytes);
    if (status != PB_OK)
        return status;
    recorded_bytes = recording_bytes(run);
    status = pb_cuda_place(cuda, run->chase->sm, run->chase->carveout_bytes,
                           run->launch.chain_bytes + recorded_bytes, &run->launch.place,
                           &run->carveout_bytes, run->err);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, recorded_bytes, "a recording", run->err);
    if (status == PB_OK)
        status = send_offsets(run);
    run->launch.recording = cuda->recording.address;
    run->launch.offsets = cuda->offsets.address;
    run->launch.offset_count = (uint32_t)run->chase->offset_count;
    if (status != PB_OK || run->path == PB_KERNEL_SHARED)
        return status;

    status =
        pb_cuda_reserve(cuda, &cuda->arena, footprint_bytes, "the memory of a chase", run->err);
    run->base_address = cuda->arena.address;
    run->launch.start = run->base_address + run->chase->offset_bytes[0];
    run->chain.base = run->base_address;
    run->chain.offsets = cuda->offsets.address;
    run->chain.count = run->chase->offset_count;
    return status == PB_OK ? link_slots(run) : status;
}

enum pb_status pb_cuda_chase(struct pb_device *device, const struct pb_chase *chase,
                             struct pb_trace *trace, struct pb_error *err)
{
    struct run run = {.cuda = (struct pb_cuda_device *)device, .chase = chase, .err = err};
    struct pb_kernel_result result;
    enum pb_status status = pb_cuda_enter(run.cuda, err);

    if (status == PB_OK)
        status = kernel_path(chase, &run.path, err);
    if (status == PB_OK)
        status = set_up(&run);
    if (status == PB_OK)
        status = chase->record > 0 ? trace_windows(&run, trace, &result) : time_lap(&run, &result);
    if (status != PB_OK)
        return status;
    trace->count = chase->record;
    trace->window = run.window;
    trace->total_cycles = chase->record > 0 ? 0 : result.end_cycles - result.start_cycles;
    trace->total_ns = chase->record > 0 ? 0.0 : (double)(result.end_ns - result.start_ns);
    trace->base_address = run.base_address;
    trace->carveout_bytes = run.carveout_bytes;
    trace->sm_id = result.sm_id;
    return PB_OK;
}
