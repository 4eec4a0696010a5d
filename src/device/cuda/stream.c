/*
 * Throughput on hardware: passes over a pattern, timed by events, and then checked (M16 5.1).
 *
 * Every call writes a pattern of its own, so that data left by an earlier call cannot pass for its
 * result. The check and the filling lie outside the timed region, one untimed pass before it.
 */
#include <cuda_runtime_api.h>

#include "device/cuda/device.h"

/* One stream in progress. */
struct run {
    struct pb_cuda_device *cuda;
    const struct pb_stream *stream;
    struct pb_kernel_stream launch;
    uint32_t passes; /* that were timed */
    struct pb_error *err;
};

static enum pb_status check_request(const struct pb_cuda_device *cuda,
                                    const struct pb_stream *stream, struct pb_error *err)
{
    bool is_ilp = stream->ilp == 1 || stream->ilp == 2 || stream->ilp == 4 || stream->ilp == 8;
    bool is_word = stream->word_bytes == 4 || stream->word_bytes == 8 || stream->word_bytes == 16;

    if (!is_ilp)
        return pb_fail(err, PB_INVALID, "stream: ILP %u: expected 1, 2, 4 or 8", stream->ilp);
    if (!is_word)
        return pb_fail(err, PB_INVALID, "stream: words of %u bytes: expected 4, 8 or 16",
                       stream->word_bytes);
    if (stream->cta_count == 0 || stream->cta_count > INT32_MAX || stream->cta_size == 0 ||
        stream->cta_size > cuda->info.max_threads_per_cta)
        return pb_fail(err, PB_INVALID, "stream: %u CTAs of %u threads: expected at most %u",
                       stream->cta_count, stream->cta_size, cuda->info.max_threads_per_cta);
    if (stream->bytes == 0 || stream->bytes % stream->word_bytes != 0 || stream->repeats == 0)
        return pb_fail(err, PB_INVALID, "stream: %llu bytes %u times: expected whole words of %u",
                       (unsigned long long)stream->bytes, stream->repeats, stream->word_bytes);
    return PB_OK;
}

static uint64_t round_to_page(uint64_t bytes)
{
    const uint64_t page_bytes = 2u << 20;

    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

static enum pb_status set_up(struct run *run)
{
    struct pb_cuda_device *cuda = run->cuda;
    const struct pb_stream *stream = run->stream;
    uint64_t bytes = round_to_page(stream->bytes);
    uint64_t total = stream->kind == PB_STREAM_COPY ? 2 * bytes : bytes;
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->arena, total, "a stream", run->err);

    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, sizeof(uint32_t[PB_KERNEL_STREAM_SUMS]),
                                 "a checksum", run->err);
    run->launch = (struct pb_kernel_stream){
        .source = cuda->arena.address,
        .target = cuda->arena.address,
        .words = stream->bytes / stream->word_bytes,
        .kind = PB_KERNEL_WRITE,
        .ilp = stream->ilp,
        .word_bytes = stream->word_bytes,
        .cta_count = stream->cta_count,
        .cta_size = stream->cta_size,
        .salt = ++cuda->salt,
    };
    if (stream->kind == PB_STREAM_COPY) {
        run->launch.kind = PB_KERNEL_COPY;
        run->launch.target += bytes;
    } else if (stream->kind == PB_STREAM_READ) {
        run->launch.kind = PB_KERNEL_READ;
        run->launch.target = cuda->recording.address;
    }
    return status;
}

static enum pb_status fill(struct run *run, uint64_t address, uint32_t salt)
{
    uint64_t words = run->stream->bytes / sizeof(uint32_t);

    return pb_cuda_status(run->cuda,
                          pb_kernel_fill(address, words, salt, 4 * run->cuda->info.sm_count),
                          "pb_kernel_fill", "filling the memory of a stream", run->err);
}

/* The source gets the pattern; the target gets anything but. */
static enum pb_status fill_all(struct run *run)
{
    enum pb_status status = PB_OK;

    if (run->launch.kind != PB_KERNEL_WRITE)
        status = fill(run, run->launch.source, run->launch.salt);
    if (status == PB_OK && run->launch.kind != PB_KERNEL_READ)
        status = fill(run, run->launch.target, ~run->launch.salt);
    return status;
}

static enum pb_status pass(struct run *run)
{
    return pb_cuda_status(run->cuda, pb_kernel_stream(&run->launch), "pb_kernel_stream",
                          "launching a stream", run->err);
}

static enum pb_status clear_sum(struct run *run)
{
    if (run->launch.kind != PB_KERNEL_READ)
        return PB_OK;
    return pb_cuda_zero(run->cuda, run->launch.target, sizeof(uint32_t[PB_KERNEL_STREAM_SUMS]),
                        "preparing a checksum", run->err);
}

/* Seconds between two events around so many passes, all of the sum being theirs. */
static enum pb_status time_passes(struct run *run, cudaEvent_t start, cudaEvent_t end,
                                  uint32_t passes, double *seconds_out)
{
    float milliseconds = 0.0f;
    enum pb_status status = clear_sum(run);

    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, cudaEventRecord(start, 0), "cudaEventRecord",
                                "timing a stream", run->err);
    for (uint32_t i = 0; status == PB_OK && i < passes; i++)
        status = pass(run);
    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, cudaEventRecord(end, 0), "cudaEventRecord",
                                "timing a stream", run->err);
    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, cudaEventSynchronize(end), "cudaEventSynchronize",
                                "a stream", run->err);
    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, cudaEventElapsedTime(&milliseconds, start, end),
                                "cudaEventElapsedTime", "timing a stream", run->err);
    run->passes = passes;
    *seconds_out = 1e-3 * (double)milliseconds;
    return status;
}

/* The first pass warms up; where it takes long, there is nothing to warm, and it counts. */
static enum pb_status time_behind_first(struct run *run, cudaEvent_t start, cudaEvent_t end,
                                        double *seconds_out)
{
    double enough = run->stream->enough_seconds;
    enum pb_status status = enough > 0 ? time_passes(run, start, end, 1, seconds_out) : pass(run);

    if (status != PB_OK || (enough > 0 && *seconds_out >= enough))
        return status;
    return time_passes(run, start, end, run->stream->repeats, seconds_out);
}

static enum pb_status measure(struct run *run, double *seconds_out)
{
    cudaEvent_t start = NULL, end = NULL;
    enum pb_status status = pb_cuda_status(run->cuda, cudaEventCreate(&start), "cudaEventCreate",
                                           "timing a stream", run->err);

    if (status == PB_OK)
        status = pb_cuda_status(run->cuda, cudaEventCreate(&end), "cudaEventCreate",
                                "timing a stream", run->err);
    if (status == PB_OK)
        status = time_behind_first(run, start, end, seconds_out);
    if (end != NULL)
        cudaEventDestroy(end);
    if (start != NULL)
        cudaEventDestroy(start);
    return status;
}

/* What all words of the pattern add up to, modulo 2^32, over all passes. */
static uint32_t expected_sum(const struct run *run)
{
    uint64_t n = run->stream->bytes / sizeof(uint32_t);
    uint64_t pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n; /* n (n - 1) / 2 */
    uint64_t one_pass = pairs * PB_KERNEL_PATTERN_FACTOR + n * run->launch.salt;

    return (uint32_t)(one_pass * run->passes);
}

/* Every word of a target; a sum only shows that some word read was wrong. */
static enum pb_status count_mismatches(struct run *run, uint64_t *count_out)
{
    struct pb_kernel_fault fault;
    uint64_t fault_address = 0;
    uint32_t sums[PB_KERNEL_STREAM_SUMS] = {0}, sum = 0;
    enum pb_status status;

    if (run->launch.kind == PB_KERNEL_READ) {
        status = pb_cuda_download(run->cuda, sums, run->launch.target, sizeof(sums), "a checksum",
                                  run->err);
        for (size_t i = 0; i < PB_KERNEL_STREAM_SUMS; i++)
            sum += sums[i];
        *count_out = sum != expected_sum(run);
        return status;
    }
    status = pb_cuda_fault_clear(run->cuda, &fault_address, run->err);
    if (status == PB_OK)
        status = pb_cuda_status(
            run->cuda,
            pb_kernel_fill_check(run->launch.target, run->stream->bytes / sizeof(uint32_t),
                                 run->launch.salt, fault_address, 4 * run->cuda->info.sm_count),
            "pb_kernel_fill_check", "checking a stream", run->err);
    if (status == PB_OK)
        status = pb_cuda_fault_read(run->cuda, "checking a stream", &fault, run->err);
    if (status == PB_OK)
        *count_out = fault.count;
    return status;
}

enum pb_status pb_cuda_stream(struct pb_device *device, const struct pb_stream *stream,
                              struct pb_stream_result *result_out, struct pb_error *err)
{
    struct run run = {.cuda = (struct pb_cuda_device *)device, .stream = stream, .err = err};
    uint64_t bytes = stream->kind == PB_STREAM_COPY ? 2 * stream->bytes : stream->bytes;
    uint64_t mismatches = 0;
    double seconds = 0.0;
    enum pb_status status = pb_cuda_enter(run.cuda, err);

    if (status == PB_OK)
        status = check_request(run.cuda, stream, err);
    if (status == PB_OK)
        status = set_up(&run);
    if (status == PB_OK)
        status = fill_all(&run);
    if (status == PB_OK)
        status = measure(&run, &seconds);
    if (status == PB_OK)
        status = count_mismatches(&run, &mismatches);
    if (status != PB_OK)
        return status;
    *result_out = (struct pb_stream_result){seconds, bytes * run.passes, mismatches};
    return PB_OK;
}
