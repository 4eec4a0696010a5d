/*
 * What surrounds every stamped or timed launch: carve-out and SM before it, result and recording
 * after it.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/device.h"

/* The steps in which the unified L1 gives up space to shared memory, by chip: CUDA programming
 * guide, "Compute Capabilities". The largest step of a chip is all of its shared memory. */
static const uint32_t steps_kib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
static const uint32_t steps_turing_kib[] = {32, 64};

/* The smallest step that holds `bytes`; the largest there is when none does. */
static uint64_t carveout_step(const struct pb_device_info *info, uint64_t bytes)
{
    bool is_turing = info->compute_capability < 80;
    const uint32_t *steps = is_turing ? steps_turing_kib : steps_kib;
    size_t count = is_turing ? sizeof(steps_turing_kib) / sizeof(steps_turing_kib[0])
                             : sizeof(steps_kib) / sizeof(steps_kib[0]);

    for (size_t i = 0; i < count; i++) {
        uint64_t step_bytes = (uint64_t)steps[i] * 1024;
        if (step_bytes >= bytes && step_bytes <= info->shared_per_sm_bytes)
            return step_bytes;
    }
    return info->shared_per_sm_bytes;
}

/* What a launch of one CTA writes to, and checks of memory besides. */
struct block {
    struct pb_kernel_control control;
    struct pb_kernel_result result;
    struct pb_kernel_fault fault;
};

enum pb_status pb_cuda_prepare(struct pb_cuda_device *cuda, struct pb_error *err)
{
    struct block block;

    memset(&block, 0, sizeof(block));
    block.control.practice = cuda->control.address;
    return pb_cuda_upload(cuda, cuda->control.address, &block, offsetof(struct block, fault),
                          "setting up a launch", err);
}

/* The slot for practice is there from the beginning. */
static enum pb_status reserve_block(struct pb_cuda_device *cuda, struct pb_error *err)
{
    uint64_t before = cuda->control.address;
    enum pb_status status =
        pb_cuda_reserve(cuda, &cuda->control, sizeof(struct block), "the control block", err);

    return status != PB_OK || cuda->control.address == before ? status : pb_cuda_prepare(cuda, err);
}

/*
 * A CTA that takes all of a step leaves the driver no choice. Its hint, a percentage, does: on an
 * H200 14% of 228 KiB, just below 32, gave 64 KiB, and most other steps came out one too large.
 */
static uint64_t fill_step(const struct pb_cuda_device *cuda, uint64_t step_bytes,
                          uint64_t shared_bytes)
{
    uint64_t all =
        step_bytes > cuda->shared_reserved_bytes ? step_bytes - cuda->shared_reserved_bytes : 0;

    all = all < cuda->shared_optin_bytes ? all : cuda->shared_optin_bytes;
    return all > shared_bytes ? all : shared_bytes;
}

enum pb_status pb_cuda_place(struct pb_cuda_device *cuda, int64_t carveout_bytes,
                             uint64_t shared_bytes, struct pb_kernel_place *place_out,
                             uint64_t *carveout_out, struct pb_error *err)
{
    uint64_t needed = shared_bytes == 0 ? 0 : shared_bytes + cuda->shared_reserved_bytes;
    enum pb_status status = reserve_block(cuda, err);

    if (status != PB_OK)
        return status;
    if (carveout_bytes < -1 || carveout_bytes > (int64_t)cuda->info.shared_per_sm_bytes)
        return pb_fail(err, PB_INVALID, "GPU %d: a carve-out of %lld bytes: expected -1 to %llu",
                       cuda->ordinal, (long long)carveout_bytes,
                       (unsigned long long)cuda->info.shared_per_sm_bytes);
    if (carveout_bytes > 0 && (uint64_t)carveout_bytes > needed) {
        needed = (uint64_t)carveout_bytes;
        shared_bytes = fill_step(cuda, carveout_step(&cuda->info, needed), shared_bytes);
    }
    *place_out = (struct pb_kernel_place){
        .control = cuda->control.address,
        .results = cuda->control.address + offsetof(struct block, result),
        .job_count = 1,
        .cta_count = 1,
        .carveout = 0, /* the smallest step that holds one CTA */
        .shared_bytes = (uint32_t)shared_bytes,
    };
    *carveout_out = carveout_step(&cuda->info, needed);
    return PB_OK;
}

enum pb_status pb_cuda_finish(struct pb_cuda_device *cuda, const char *what,
                              struct pb_kernel_result *result_out, struct pb_error *err)
{
    struct pb_kernel_result result;
    enum pb_status status =
        pb_cuda_download(cuda, &result, cuda->control.address + offsetof(struct block, result),
                         sizeof(result), what, err);

    if (status != PB_OK)
        return status;
    if (result.runs != 1)
        return pb_fail(err, PB_DEVICE,
                       "GPU %d: %s: the kernel left no result: a load was out of bounds",
                       cuda->ordinal, what);
    *result_out = result;
    return PB_OK;
}

static uint64_t fault_address(const struct pb_cuda_device *cuda)
{
    return cuda->control.address + offsetof(struct block, fault);
}

enum pb_status pb_cuda_fault_clear(struct pb_cuda_device *cuda, uint64_t *address_out,
                                   struct pb_error *err)
{
    struct pb_kernel_fault none = {0, 0, 0, 0};
    enum pb_status status;

    status = reserve_block(cuda, err);
    if (status == PB_OK)
        status = pb_cuda_upload(cuda, fault_address(cuda), &none, sizeof(none), "preparing a check",
                                err);
    if (status == PB_OK)
        *address_out = fault_address(cuda);
    return status;
}

enum pb_status pb_cuda_fault_read(struct pb_cuda_device *cuda, const char *what,
                                  struct pb_kernel_fault *fault_out, struct pb_error *err)
{
    return pb_cuda_download(cuda, fault_out, fault_address(cuda), sizeof(*fault_out), what, err);
}

enum pb_status pb_cuda_recording_read(struct pb_cuda_device *cuda, uint32_t record,
                                      const char *what, struct pb_cuda_recording *recording_out,
                                      struct pb_error *err)
{
    size_t capacity = PB_KERNEL_CAPACITY(record);
    size_t bytes = capacity * PB_KERNEL_RECORD_BYTES;
    uint32_t *words = malloc(bytes);
    enum pb_status status;

    if (words == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a recording of %zu bytes",
                       bytes);
    status = pb_cuda_download(cuda, words, cuda->recording.address, bytes, what, err);
    if (status != PB_OK) {
        free(words);
        return status;
    }
    *recording_out = (struct pb_cuda_recording){words, words, words + capacity};
    return PB_OK;
}

void pb_cuda_recording_free(struct pb_cuda_recording *recording)
{
    free(recording->words);
    *recording = (struct pb_cuda_recording){NULL, NULL, NULL};
}

void pb_cuda_subtract(const uint32_t *pairs, size_t count, uint32_t *cycles_out)
{
    for (size_t i = 0; i < count; i++)
        cycles_out[i] = pairs[2 * i + 1] - pairs[2 * i];
}
