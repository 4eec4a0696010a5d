/*
 * Throughput of shared memory on hardware (M16 6.1).
 *
 * To get the wanted number of CTAs on every SM, each requests so much shared memory that no further
 * one fits. SMs that got another number all the same are left out.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "core/compare.h"
#include "device/cuda/device.h"

/* SM numbers can be higher than their count where a device is divided. */
enum { SLOT_COUNT = 1024 };

static enum pb_status check_request(const struct pb_cuda_device *cuda,
                                    const struct pb_shared_stream *stream, struct pb_error *err)
{
    bool is_ilp = stream->ilp == 1 || stream->ilp == 2 || stream->ilp == 4 || stream->ilp == 8;

    if (!is_ilp)
        return pb_fail(err, PB_INVALID, "shared stream: ILP %" PRIu32 ": expected 1, 2, 4 or 8",
                       stream->ilp);
    if (stream->ctas_per_sm == 0 || stream->cta_size == 0 || stream->repeats == 0 ||
        stream->cta_size > cuda->info.max_threads_per_cta)
        return pb_fail(err, PB_INVALID,
                       "shared stream: %" PRIu32 " CTAs of %" PRIu32 " threads, %" PRIu32
                       " times: expected 1 or more of 1 to %" PRIu32 " threads",
                       stream->ctas_per_sm, stream->cta_size, stream->repeats,
                       cuda->info.max_threads_per_cta);
    return PB_OK;
}

/* The most shared memory that leaves room for ctas_per_sm CTAs: then for no more. */
static uint64_t share_bytes(const struct pb_cuda_device *cuda, uint32_t ctas_per_sm)
{
    const uint64_t unit_bytes = 1024;
    uint64_t share = cuda->info.shared_per_sm_bytes / ctas_per_sm / unit_bytes * unit_bytes;

    share = share > cuda->shared_reserved_bytes ? share - cuda->shared_reserved_bytes : 0;
    return share < cuda->shared_optin_bytes ? share : cuda->shared_optin_bytes;
}

static enum pb_status fit(struct pb_cuda_device *cuda, const struct pb_shared_stream *stream,
                          struct pb_kernel_shared_stream *launch_out, struct pb_error *err)
{
    uint64_t needed = 2 * sizeof(uint32_t) * (uint64_t)stream->cta_size * stream->ilp;
    uint64_t share = share_bytes(cuda, stream->ctas_per_sm);
    int fitting = 0;
    enum pb_status status;

    *launch_out = (struct pb_kernel_shared_stream){
        .ctas_per_sm = stream->ctas_per_sm,
        .cta_size = stream->cta_size,
        .ilp = stream->ilp,
        .repeats = stream->repeats,
        .cta_count = stream->ctas_per_sm * cuda->info.sm_count,
        .shared_bytes = (uint32_t)share,
        .salt = ++cuda->salt,
    };
    if (needed > share)
        return pb_fail(err, PB_UNSUPPORTED,
                       "shared stream: a CTA needs %" PRIu64 " bytes: with %" PRIu32
                       " on an SM it gets %" PRIu64,
                       needed, stream->ctas_per_sm, share);
    status = pb_cuda_status(cuda, pb_kernel_shared_fit(launch_out, &fitting),
                            "pb_kernel_shared_fit", "fitting CTAs on an SM", err);
    if (status == PB_OK && fitting < (int)stream->ctas_per_sm)
        status = pb_fail(err, PB_UNSUPPORTED,
                         "shared stream: %" PRIu32 " CTAs of %" PRIu32 " threads: an SM holds %d",
                         stream->ctas_per_sm, stream->cta_size, fitting);
    return status;
}

static enum pb_status launch(struct pb_cuda_device *cuda, struct pb_kernel_shared_stream *launch,
                             struct pb_kernel_shared_slot *slots, struct pb_error *err)
{
    size_t bytes = SLOT_COUNT * sizeof(*slots);
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->recording, bytes, "the times of SMs", err);

    for (size_t i = 0; i < SLOT_COUNT; i++)
        slots[i] = (struct pb_kernel_shared_slot){.span = {UINT64_MAX, 0, UINT64_MAX, 0}};
    launch->slots = cuda->recording.address;
    if (status == PB_OK)
        status =
            pb_cuda_upload(cuda, launch->slots, slots, bytes, "preparing a shared stream", err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_shared_stream(launch), "pb_kernel_shared_stream",
                                "launching a shared stream", err);
    if (status == PB_OK)
        status = pb_cuda_download(cuda, slots, launch->slots, bytes, "a shared stream", err);
    return status;
}

/* The median over the SMs that held what was requested. */
static enum pb_status summarize(const struct pb_cuda_device *cuda,
                                const struct pb_shared_stream *stream,
                                const struct pb_kernel_shared_slot *slots,
                                struct pb_shared_stream_result *result_out, struct pb_error *err)
{
    uint64_t cycles[SLOT_COUNT], mismatches = 0;
    size_t count = 0;

    for (size_t i = 0; i < SLOT_COUNT; i++) {
        mismatches += slots[i].mismatches;
        if (slots[i].arrived == stream->ctas_per_sm)
            cycles[count++] = slots[i].span.end_cycles - slots[i].span.start_cycles;
    }
    if (count == 0)
        return pb_fail(err, PB_DEVICE, "GPU %d: shared stream: no SM got %" PRIu32 " CTAs",
                       cuda->ordinal, stream->ctas_per_sm);
    qsort(cycles, count, sizeof(cycles[0]), pb_compare_uint64);
    result_out->cycles = 0.5 * (double)(cycles[(count - 1) / 2] + cycles[count / 2]);
    result_out->bytes_per_sm = 2 * sizeof(uint32_t) * (uint64_t)stream->ctas_per_sm *
                               stream->cta_size * stream->ilp * stream->repeats;
    result_out->mismatch_count = mismatches;
    return PB_OK;
}

enum pb_status pb_cuda_shared_stream(struct pb_device *device,
                                     const struct pb_shared_stream *stream,
                                     struct pb_shared_stream_result *result_out,
                                     struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_kernel_shared_slot *slots = calloc(SLOT_COUNT, sizeof(*slots));
    struct pb_kernel_shared_stream request;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && slots == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating the times of SMs");
    if (status == PB_OK)
        status = check_request(cuda, stream, err);
    if (status == PB_OK)
        status = fit(cuda, stream, &request, err);
    if (status == PB_OK)
        status = launch(cuda, &request, slots, err);
    if (status == PB_OK)
        status = summarize(cuda, stream, slots, result_out, err);
    free(slots);
    return status;
}
