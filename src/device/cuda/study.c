/*
 * F13's studies on hardware. Each kernel runs twice: the first run brings code and data near, into
 * L2, the second is the one that counts; L1 starts empty in both.
 */
#include <cuda_runtime_api.h>

#include <inttypes.h>
#include <stdlib.h>

#include "device/cuda/device.h"

/* One study in progress. The recording holds the span, then the sums of the threads. */
struct run {
    struct pb_cuda_device *cuda;
    const struct pb_study *study;
    struct pb_kernel_study launch;
    int (*kernel)(const struct pb_kernel_study *study);
    uint64_t data_bytes;
    struct pb_error *err;
};

/* Between neighbouring threads or reads: 1024 of them then take a GiB. */
static const uint32_t distance_max_bytes = 1u << 20;

static bool is_read(const struct pb_study *study)
{
    return study->kind == PB_STUDY_COALESCE || study->kind == PB_STUDY_STRIDE ||
           study->kind == PB_STUDY_MISALIGN;
}

static enum pb_status check_request(const struct pb_cuda_device *cuda, const struct pb_study *study,
                                    struct pb_error *err)
{
    bool is_power = study->parameter != 0 && (study->parameter & (study->parameter - 1)) == 0;

    if ((unsigned)study->kind > PB_STUDY_SPILL)
        return pb_fail(err, PB_INVALID, "study: unknown kind %d", (int)study->kind);
    if (study->threads == 0 || study->threads > cuda->info.max_threads_per_cta)
        return pb_fail(err, PB_INVALID, "study: %" PRIu32 " threads: expected 1 to %" PRIu32,
                       study->threads, cuda->info.max_threads_per_cta);
    if (study->kind == PB_STUDY_SYNC && study->parameter > PB_KERNEL_STUDY_ACCESSES)
        return pb_fail(err, PB_INVALID, "study: %" PRIu32 " barriers: expected at most %d",
                       study->parameter, (int)PB_KERNEL_STUDY_ACCESSES);
    if (study->kind == PB_STUDY_SPILL &&
        (!is_power || study->parameter > 2048 || study->parameter == 2 || study->parameter == 8))
        return pb_fail(err, PB_INVALID,
                       "study: %" PRIu32
                       " variables: expected 1, 4, 16, 32, 64, 128, 256, 512, 1024 or 2048",
                       study->parameter);
    if (is_read(study) &&
        (study->parameter % sizeof(uint32_t) != 0 || study->parameter > distance_max_bytes))
        return pb_fail(err, PB_INVALID,
                       "study: %" PRIu32 " bytes: expected whole words of 4, at most %" PRIu32,
                       study->parameter, distance_max_bytes);
    return PB_OK;
}

/* Where thread t's read i goes: shift + t * thread_bytes + i * step_bytes. */
static void lay_out(struct run *run)
{
    struct pb_kernel_study *launch = &run->launch;
    const uint32_t word_bytes = sizeof(uint32_t), warp_size = 32, row_bytes = 128;
    uint64_t last = PB_KERNEL_STUDY_ACCESSES - 1;

    launch->threads = run->study->threads;
    launch->parameter = run->study->parameter;
    launch->thread_bytes = launch->step_bytes = word_bytes;
    if (run->study->kind == PB_STUDY_COALESCE) {
        launch->thread_bytes = run->study->parameter;
    } else if (run->study->kind == PB_STUDY_STRIDE) {
        launch->step_bytes = run->study->parameter;
    } else if (run->study->kind == PB_STUDY_MISALIGN) {
        launch->shift_bytes = run->study->parameter;
        launch->step_bytes = (run->study->threads + warp_size - 1) / warp_size * row_bytes;
    }
    run->data_bytes = launch->shift_bytes + (launch->threads - 1) * (uint64_t)launch->thread_bytes +
                      last * launch->step_bytes + word_bytes;
    run->kernel = run->study->kind == PB_STUDY_SYNC    ? pb_kernel_study_sync
                  : run->study->kind == PB_STUDY_SPILL ? pb_kernel_study_spill
                                                       : pb_kernel_study_read;
}

static enum pb_status set_up(struct run *run)
{
    struct pb_cuda_device *cuda = run->cuda;
    uint64_t recorded = sizeof(struct pb_kernel_span) + run->study->threads * sizeof(uint64_t);
    enum pb_status status;

    lay_out(run);
    status = pb_cuda_reserve(cuda, &cuda->arena, run->data_bytes, "a study", run->err);
    if (status == PB_OK)
        status =
            pb_cuda_reserve(cuda, &cuda->recording, recorded, "the times of a study", run->err);
    if (status != PB_OK)
        return status;
    run->launch.salt = ++cuda->salt;
    run->launch.data = cuda->arena.address;
    run->launch.span = cuda->recording.address;
    run->launch.sums = cuda->recording.address + sizeof(struct pb_kernel_span);
    if (!is_read(run->study))
        return pb_cuda_zero(cuda, run->launch.data, (size_t)run->data_bytes, "preparing a study",
                            run->err);
    return pb_cuda_status(cuda,
                          pb_kernel_fill(run->launch.data, run->data_bytes / sizeof(uint32_t),
                                         run->launch.salt, 4 * cuda->info.sm_count),
                          "pb_kernel_fill", "filling the memory of a study", run->err);
}

/*
 * A launch that found no memory. Local memory is the driver's to set aside, at the launch, for as
 * many threads as the device holds: so a study of one CTA may need gigabytes.
 */
static enum pb_status fail_for_want(struct run *run)
{
    const struct pb_device_info *info = &run->cuda->info;
    uint64_t threads = (uint64_t)info->sm_count * info->max_threads_per_sm, thread_bytes = 0;
    size_t free_bytes = 0, total_bytes = 0;
    enum pb_status status;

    status = pb_cuda_status(run->cuda, cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo",
                            "a study", run->err);
    if (status == PB_OK && run->study->kind == PB_STUDY_SPILL)
        status = pb_cuda_status(run->cuda, pb_kernel_study_spill_need(&run->launch, &thread_bytes),
                                "cudaFuncGetAttributes", "a study", run->err);
    if (status != PB_OK)
        return status;
    return pb_fail(run->err, PB_NO_MEMORY,
                   "GPU %d: a study: %" PRIu64 " bytes of local memory needed (%" PRIu64
                   " for each of %" PRIu64 " threads), %zu of %zu are free",
                   run->cuda->ordinal, threads * thread_bytes, thread_bytes, threads, free_bytes,
                   total_bytes);
}

static enum pb_status launch(struct run *run)
{
    const struct pb_kernel_span opened = {UINT64_MAX, 0, UINT64_MAX, 0};
    enum pb_status status = pb_cuda_upload(run->cuda, run->launch.span, &opened, sizeof(opened),
                                           "preparing a study", run->err);

    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, run->kernel(&run->launch), "pb_kernel_study",
                                "launching a study", run->err);
    return status == PB_NO_MEMORY ? fail_for_want(run) : status;
}

static uint64_t expected_read_sum(const struct run *run, uint32_t thread)
{
    const struct pb_kernel_study *launch = &run->launch;
    uint64_t at = launch->shift_bytes + thread * (uint64_t)launch->thread_bytes;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < PB_KERNEL_STUDY_ACCESSES; i++, at += launch->step_bytes)
        sum += PB_KERNEL_PATTERN(at / sizeof(uint32_t), launch->salt);
    return sum;
}

static uint64_t expected_spill_sum(const struct run *run, uint32_t thread)
{
    uint32_t count = run->study->parameter, round = pb_kernel_spill_round(count);
    uint64_t x[2048] = {0}, v = 0, sum = 0;

    for (uint32_t i = 0; i < count; i++)
        x[i] = pb_kernel_spill_seed(run->launch.salt + thread, i);
    for (uint32_t step = 0; step < PB_KERNEL_SPILL_STEPS; step++) {
        v += x[pb_kernel_spill_read(step % round, count)];
        x[pb_kernel_spill_write(step % round, count)] = v;
    }
    for (uint32_t i = 0; i < count; i++)
        sum += pb_kernel_spill_weigh(x[i], i);
    return sum;
}

static enum pb_status check_writes(struct run *run)
{
    uint32_t words[PB_KERNEL_STUDY_ACCESSES];
    enum pb_status status = pb_cuda_download(run->cuda, words, run->launch.data, sizeof(words),
                                             "reading a study", run->err);

    for (uint32_t i = 0; status == PB_OK && i < PB_KERNEL_STUDY_ACCESSES; i++) {
        uint32_t expected = PB_KERNEL_PATTERN(i, run->launch.salt);

        if (words[i] != expected)
            status =
                pb_fail(run->err, PB_DEVICE,
                        "GPU %d: study: word %" PRIu32 ": wrote 0x%" PRIx32 ", read 0x%" PRIx32,
                        run->cuda->ordinal, i, expected, words[i]);
    }
    return status;
}

/* A sample of the threads: the first, the last, and some between. */
static enum pb_status check_sums(struct run *run)
{
    uint32_t threads = run->study->threads, step = threads / 16 + 1;
    bool is_spill = run->study->kind == PB_STUDY_SPILL;
    size_t size = is_spill ? sizeof(uint64_t) : sizeof(uint32_t);
    enum pb_status status = PB_OK;

    for (uint32_t t = 0; status == PB_OK && t < threads;
         t = t + step < threads || t + 1 == threads ? t + step : threads - 1) {
        uint64_t expected = is_spill ? expected_spill_sum(run, t) : expected_read_sum(run, t);
        uint64_t found = 0; /* little-endian, as all hosts of CUDA are */

        status = pb_cuda_download(run->cuda, &found, run->launch.sums + t * size, size,
                                  "reading a study", run->err);
        if (status == PB_OK && found != expected)
            status = pb_fail(run->err, PB_DEVICE,
                             "GPU %d: study: thread %" PRIu32 ": expected the sum 0x%" PRIx64
                             ", found 0x%" PRIx64,
                             run->cuda->ordinal, t, expected, found);
    }
    return status;
}

enum pb_status pb_cuda_study(struct pb_device *device, const struct pb_study *study,
                             struct pb_study_result *result_out, struct pb_error *err)
{
    struct run run = {.cuda = (struct pb_cuda_device *)device, .study = study, .err = err};
    struct pb_kernel_span span = {0, 0, 0, 0};
    enum pb_status status = pb_cuda_enter(run.cuda, err);

    if (status == PB_OK)
        status = check_request(run.cuda, study, err);
    if (status == PB_OK)
        status = set_up(&run);
    for (int i = 0; status == PB_OK && i < 2; i++)
        status = launch(&run);
    if (status == PB_OK)
        status = pb_cuda_download(run.cuda, &span, run.launch.span, sizeof(span), "a study", err);
    if (status == PB_OK)
        status = study->kind == PB_STUDY_SYNC ? check_writes(&run) : check_sums(&run);
    if (status != PB_OK)
        return status;
    result_out->cycles = span.end_cycles - span.start_cycles;
    result_out->ns = (double)(span.end_ns - span.start_ns);
    return PB_OK;
}
