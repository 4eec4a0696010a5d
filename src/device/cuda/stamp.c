/* The clock on hardware: what stamping costs, and both clocks side by side. */

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
