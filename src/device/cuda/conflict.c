/* Bank conflicts on hardware: many at once, each by a warp on an SM of its own (M16 6.2). */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/linked_chase.h"

/* What goes up, and comes down again with the results, as on the device; the pairs lie behind. */
struct head {
    struct pb_kernel_control control;
    struct pb_kernel_result results[PB_KERNEL_JOBS];
};

/* Conflicts of one launch. */
struct batch {
    const struct pb_conflict *conflicts;
    struct pb_chase_trace *traces;
    size_t count;
};

static uint64_t pair_bytes(const struct pb_conflict *conflict)
{
    return PB_KERNEL_CAPACITY(conflict->record) * 2 * sizeof(uint32_t);
}

static uint64_t lane_bytes(const struct pb_conflict *conflict)
{
    return (uint64_t)conflict->stride_words * conflict->word_bytes;
}

static uint64_t chain_bytes(const struct pb_conflict *conflict)
{
    return (31 * lane_bytes(conflict) + conflict->word_bytes + 15) / 16 * 16;
}

static uint64_t shared_bytes(const struct pb_conflict *conflict)
{
    return chain_bytes(conflict) + PB_KERNEL_LANES_BYTES + pair_bytes(conflict);
}

static enum pb_status check(const struct pb_cuda_device *cuda, const struct pb_conflict *conflict,
                            struct pb_error *err)
{
    uint64_t record_bytes = PB_KERNEL_LANES_BYTES + pair_bytes(conflict);

    if (conflict->word_bytes != 4 && conflict->word_bytes != 8 && conflict->word_bytes != 16)
        return pb_fail(err, PB_INVALID, "conflict: words of %" PRIu32 " bytes: expected 4, 8 or 16",
                       conflict->word_bytes);
    if (conflict->record == 0 || conflict->record > cuda->info.trace_window_large)
        return pb_fail(err, PB_INVALID, "conflict: %" PRIu64 " accesses: expected 1 to %" PRIu64,
                       conflict->record, cuda->info.trace_window_large);
    if (conflict->sm < -1 || conflict->sm >= (int64_t)cuda->info.sm_count ||
        conflict->sm >= PB_KERNEL_SMS)
        return pb_fail(err, PB_INVALID, "GPU %d: SM %" PRId64 ": expected -1 to %" PRId64,
                       cuda->ordinal, conflict->sm, (int64_t)cuda->info.sm_count - 1);
    if (chain_bytes(conflict) + record_bytes > cuda->shared_optin_bytes)
        return pb_fail(err, PB_UNSUPPORTED,
                       "conflict: stride %" PRIu32 " takes %" PRIu64
                       " bytes and the recording %" PRIu64 ": a CTA has %" PRIu64,
                       conflict->stride_words, chain_bytes(conflict), record_bytes,
                       cuda->shared_optin_bytes);
    return PB_OK;
}

static bool are_alike(const struct pb_conflict *a, const struct pb_conflict *b)
{
    return a->word_bytes == b->word_bytes && a->warm == b->warm && a->record == b->record &&
           (a->sm < 0) == (b->sm < 0);
}

static bool has_sm(const struct pb_conflict *conflicts, size_t count, int64_t sm)
{
    for (size_t i = 0; sm >= 0 && i < count; i++)
        if (conflicts[i].sm == sm)
            return true;
    return false;
}

/* How many of conflicts[count] share a launch, from the first on. */
static size_t batch_size(const struct pb_cuda_device *cuda, const struct pb_conflict *conflicts,
                         size_t count)
{
    size_t most = pb_cuda_launch_most(cuda, PB_KERNEL_SHARED), size = 1;

    if (!pb_cuda_launch_may_spread(cuda, shared_bytes(&conflicts[0])))
        return 1;
    while (size < count && size < most && are_alike(&conflicts[0], &conflicts[size]) &&
           !has_sm(conflicts, size, conflicts[size].sm) &&
           pb_cuda_launch_may_spread(cuda, shared_bytes(&conflicts[size])))
        size++;
    return size;
}

static void describe(const struct pb_cuda_device *cuda, const struct batch *batch,
                     struct pb_kernel_conflict *launch, struct head *head)
{
    uint64_t memory = cuda->recording.address;
    int64_t sms[PB_KERNEL_JOBS] = {0};

    for (size_t i = 0; i < batch->count; i++) {
        sms[i] = batch->conflicts[i].sm;
        launch->jobs[i] = (struct pb_kernel_conflict_job){
            .lane_bytes = (uint32_t)lane_bytes(&batch->conflicts[i]),
            .chain_bytes = (uint32_t)chain_bytes(&batch->conflicts[i]),
        };
    }
    pb_cuda_claim(cuda, sms, batch->count, 1, &launch->place, &head->control);
    launch->place.control = memory;
    launch->place.results = memory + offsetof(struct head, results);
    launch->recordings = memory + sizeof(struct head);
    launch->warm = batch->conflicts->warm;
    launch->record = (uint32_t)batch->conflicts->record;
    launch->word_bytes = batch->conflicts->word_bytes;
}

/* Launches a batch and reads all that it leaves: head_out, and the pairs behind it. */
static enum pb_status launch(struct pb_cuda_device *cuda, const struct batch *batch,
                             struct head *head_out, uint64_t *carveout_out, struct pb_error *err)
{
    static const char *const what = "bank conflicts";
    size_t bytes = sizeof(*head_out) + batch->count * pair_bytes(batch->conflicts);
    struct pb_kernel_conflict launch = {.record = 0};
    uint64_t most = 0;
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->recording, bytes, what, err);

    for (size_t i = 0; i < batch->count; i++)
        most =
            shared_bytes(&batch->conflicts[i]) > most ? shared_bytes(&batch->conflicts[i]) : most;
    if (status == PB_OK)
        status = pb_cuda_place(cuda, -1, most, &launch.place, carveout_out, err);
    if (status != PB_OK)
        return status;
    memset(head_out, 0, sizeof(*head_out));
    describe(cuda, batch, &launch, head_out);
    status = pb_cuda_upload(cuda, cuda->recording.address, head_out, sizeof(*head_out), what, err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_conflict(&launch), "pb_kernel_conflict",
                                "launching bank conflicts", err);
    if (status == PB_OK)
        status = pb_cuda_download(cuda, head_out, cuda->recording.address, bytes, what, err);
    return status;
}

/* Every lane must have loaded its own word, and nothing else, to the end. */
static enum pb_status check_lanes(const struct pb_cuda_device *cuda,
                                  const struct pb_kernel_result *result, struct pb_error *err)
{
    if (result->wrong_lanes == 0)
        return PB_OK;
    return pb_fail(
        err, PB_DEVICE,
        "GPU %d: shared memory loads of a bank conflict: expected all lanes at their own "
        "words, found %" PRIu32 " of 32 elsewhere",
        cuda->ordinal, result->wrong_lanes);
}

static enum pb_status read_one(const struct pb_cuda_device *cuda,
                               const struct pb_conflict *conflict,
                               const struct pb_kernel_result *result, const uint32_t *pairs,
                               uint64_t carveout_bytes, struct pb_chase_trace *trace,
                               struct pb_error *err)
{
    size_t record = (size_t)conflict->record;
    enum pb_status status = check_lanes(cuda, result, err);

    if (status != PB_OK)
        return status;
    pb_cuda_subtract(pairs, record, trace->latency_cycles);
    /* Lane 0 stands for the warp: its word lies at the start. */
    memset(trace->index_bytes, 0, record * sizeof(*trace->index_bytes));
    trace->count = trace->window = record;
    trace->total_cycles = 0;
    trace->total_ns = 0.0;
    trace->base_address = result->base_address;
    trace->carveout_bytes = carveout_bytes;
    trace->sm_id = result->sm_id;
    return PB_OK;
}

static enum pb_status take(struct pb_cuda_device *cuda, const struct batch *batch,
                           struct pb_error *err);

/* Too few SMs took a CTA: then it goes alone, anywhere. */
static enum pb_status repeat(struct pb_cuda_device *cuda, const struct batch *batch, size_t i,
                             struct pb_error *err)
{
    struct batch one = {batch->conflicts + i, batch->traces + i, 1};

    if (batch->conflicts[i].sm >= 0) /* MIG, or another process: it cannot be chosen */
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: bank conflicts: SM %" PRId64 " took no CTA",
                       cuda->ordinal, batch->conflicts[i].sm);
    if (batch->count == 1)
        return pb_fail(
            err, PB_DEVICE,
            "GPU %d: bank conflicts: the kernel left no result: a load was out of bounds",
            cuda->ordinal);
    return take(cuda, &one, err);
}

static enum pb_status take(struct pb_cuda_device *cuda, const struct batch *batch,
                           struct pb_error *err)
{
    size_t step = pair_bytes(batch->conflicts);
    struct head *head = malloc(sizeof(*head) + batch->count * step);
    uint64_t carveout_bytes = 0;
    enum pb_status status;

    if (head == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu bank conflicts",
                       batch->count);
    status = launch(cuda, batch, head, &carveout_bytes, err);
    for (size_t i = 0; status == PB_OK && i < batch->count; i++) {
        const char *pairs = (const char *)(head + 1) + i * step;

        if (head->results[i].runs == 0)
            status = repeat(cuda, batch, i, err);
        else
            status = read_one(cuda, &batch->conflicts[i], &head->results[i],
                              (const uint32_t *)(const void *)pairs, carveout_bytes,
                              &batch->traces[i], err);
    }
    free(head);
    return status;
}

enum pb_status pb_cuda_conflicts(struct pb_device *device, const struct pb_conflict *conflicts,
                                 size_t count, struct pb_chase_trace *traces, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    enum pb_status status = pb_cuda_enter(cuda, err);

    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = check(cuda, &conflicts[i], err);
    for (size_t first = 0, size; status == PB_OK && first < count; first += size) {
        size = batch_size(cuda, conflicts + first, count - first);
        status = take(cuda, &(struct batch){conflicts + first, traces + first, size}, err);
    }
    return status;
}
