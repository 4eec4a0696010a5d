/*
 * The same work or computation on every SM, on hardware; and the shared memory of clusters.
 *
 * Limit: CTAs keep an SM each by their number and the shared memory that they request. A device
 * that is not whole (MIG, another process at work) may refuse; the status is PB_UNSUPPORTED then.
 */
#include "device/cuda/work.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Static shared memory that a kernel here may have, beside what it requests. */
static const uint64_t static_shared_bytes = 1024;

uint32_t pb_cuda_whole_sm_bytes(const struct pb_cuda_device *cuda)
{
    return (uint32_t)(cuda->shared_optin_bytes - static_shared_bytes);
}

uint64_t pb_cuda_meet_bytes(const struct pb_cuda_device *cuda)
{
    return offsetof(struct pb_kernel_meet, is_taken) + cuda->info.sm_count * sizeof(uint32_t);
}

enum pb_status pb_cuda_meet_check(struct pb_cuda_device *cuda, uint64_t state, const char *what,
                                  uint32_t *mismatches_out, struct pb_error *err)
{
    struct pb_kernel_meet meet;
    enum pb_status status = pb_cuda_download(cuda, &meet, state, sizeof(meet), what, err);

    if (status == PB_OK && meet.fault != PB_KERNEL_MEET_WELL)
        status =
            pb_fail(err, PB_UNSUPPORTED, "GPU %d: %s: %s", cuda->ordinal, what,
                    meet.fault == PB_KERNEL_MEET_ABSENT ? "not all SMs can be had at once"
                                                        : "CTAs do not spread evenly over the SMs");
    if (status == PB_OK)
        *mismatches_out = meet.mismatches;
    return status;
}

enum pb_status pb_cuda_work_launch(struct pb_cuda_device *cuda, struct pb_kernel_work *launch,
                                   uint32_t *mismatches_out, struct pb_error *err)
{
    static const char *const what = "work on all SMs";
    enum pb_status status = pb_cuda_zero(cuda, launch->state, pb_cuda_meet_bytes(cuda), what, err);

    launch->cta_count = cuda->info.sm_count;
    /* An L1 that is to be read must not be given up to shared memory. */
    launch->shared_bytes = launch->kind == PB_KERNEL_WORK_L1 ? 0 : pb_cuda_whole_sm_bytes(cuda);
    if (status == PB_OK)
        status = pb_cuda_zero(cuda, launch->stamps, cuda->info.sm_count * sizeof(uint64_t[2]), what,
                              err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_work(launch), "pb_kernel_work", what, err);
    if (status == PB_OK)
        status = pb_cuda_meet_check(cuda, launch->state, what, mismatches_out, err);
    return status;
}

static const enum pb_kernel_work_kind kernel_kinds[PB_WORK_KIND_COUNT] = {
    [PB_WORK_L1] = PB_KERNEL_WORK_L1,         [PB_WORK_L2] = PB_KERNEL_WORK_L2,
    [PB_WORK_SHARED] = PB_KERNEL_WORK_SHARED, [PB_WORK_ATOMIC] = PB_KERNEL_WORK_ATOMIC,
    [PB_WORK_BULK] = PB_KERNEL_WORK_BULK,     [PB_WORK_PIECES] = PB_KERNEL_WORK_PIECES};

static enum pb_status check_pieces(const struct pb_cuda_device *cuda, const struct pb_work *work,
                                   struct pb_error *err)
{
    uint64_t most = pb_cuda_whole_sm_bytes(cuda) / sizeof(uint32_t) - PB_KERNEL_PIECES_STEP;

    for (uint32_t i = 0; i < cuda->info.sm_count; i++)
        if (work->spans[i][1] > most)
            return pb_fail(err, PB_INVALID,
                           "work: %" PRIu32 " pieces of SM %" PRIu32 ": expected at most %" PRIu64,
                           work->spans[i][1], i, most);
    return PB_OK;
}

static enum pb_status check_work(const struct pb_cuda_device *cuda, const struct pb_work *work,
                                 struct pb_error *err)
{
    uint64_t shared_bytes = pb_cuda_whole_sm_bytes(cuda);
    enum pb_status status = pb_work_check(work, cuda->info.sm_count, shared_bytes, err);

    if (status != PB_OK)
        return status;
    if (work->kind == PB_WORK_PIECES)
        return check_pieces(cuda, work, err);
    if (work->kind == PB_WORK_BULK &&
        (cuda->info.compute_capability < 90 ||
         (uint64_t)work->depth * (work->word_bytes + 8) > shared_bytes))
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: no bulk copies of %" PRIu32 " x %" PRIu32,
                       cuda->ordinal, work->depth, work->word_bytes);
    return PB_OK;
}

/* The last piece of each page in turn to practise on, then the list, then who reads what of it. */
static enum pb_status send_pieces(struct pb_cuda_device *cuda, const struct pb_work *work,
                                  struct pb_kernel_work *launch, struct pb_error *err)
{
    uint32_t sm_count = cuda->info.sm_count;
    size_t list_count = PB_KERNEL_PIECES_STEP + work->piece_count;
    uint32_t pages = (uint32_t)(work->bytes / pb_work_step_bytes(work));
    uint32_t *words = malloc((list_count + 2 * (size_t)sm_count) * sizeof(*words));
    enum pb_status status;

    if (words == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu pieces", list_count);
    for (uint32_t i = 0; i < PB_KERNEL_PIECES_STEP; i++)
        words[i] = (i % pages + 1) * PB_WORK_PIECES_PAGE - 1;
    memcpy(words + PB_KERNEL_PIECES_STEP, work->pieces, work->piece_count * sizeof(*words));
    for (uint32_t i = 0; i < sm_count; i++) {
        words[list_count + 2 * i] = PB_KERNEL_PIECES_STEP + work->spans[i][0];
        words[list_count + 2 * i + 1] = work->spans[i][1];
    }
    launch->spans = launch->pieces + list_count * sizeof(*words);
    status = pb_cuda_upload(cuda, launch->pieces, words,
                            (list_count + 2 * (size_t)sm_count) * sizeof(*words), "pieces", err);
    free(words);
    return status;
}

/* Data first, then the state, then the stamps, then lists of pieces. */
static enum pb_status set_up_work(struct pb_cuda_device *cuda, const struct pb_work *work,
                                  struct pb_kernel_work *launch_out, struct pb_error *err)
{
    bool is_atomic = work->kind == PB_WORK_ATOMIC;
    bool is_pieces = work->kind == PB_WORK_PIECES;
    uint64_t data_bytes = is_atomic   ? work->offset_bytes + 4 * (uint64_t)work->address_count
                          : is_pieces ? work->bytes
                                      : work->bytes * cuda->info.sm_count;
    uint64_t state = (data_bytes + 255) / 256 * 256;
    uint64_t stamps = (state + pb_cuda_meet_bytes(cuda) + 255) / 256 * 256;
    uint64_t pieces = stamps + cuda->info.sm_count * sizeof(uint64_t[2]);
    uint64_t list_count = PB_KERNEL_PIECES_STEP + work->piece_count + 2 * cuda->info.sm_count;
    uint32_t salt = is_atomic ? 0 : ++cuda->salt;
    enum pb_status status = pb_cuda_reserve(
        cuda, &cuda->arena, pieces + is_pieces * list_count * sizeof(uint32_t), "work", err);
    uint64_t base = cuda->arena.address;

    if (status != PB_OK)
        return status;
    *launch_out = (struct pb_kernel_work){.state = base + state,
                                          .stamps = base + stamps,
                                          .data = base + work->offset_bytes * is_atomic,
                                          .sm_step = work->bytes,
                                          .bytes = work->bytes,
                                          .kind = kernel_kinds[work->kind],
                                          .word_bytes = work->word_bytes,
                                          .repeats = work->repeats,
                                          .depth = work->depth,
                                          .address_count = work->address_count,
                                          .sm = (int32_t)work->sm,
                                          .salt = salt,
                                          .pieces = base + pieces};
    if (is_pieces)
        status = send_pieces(cuda, work, launch_out, err);
    if (status != PB_OK)
        return status;
    if (is_atomic)
        return pb_cuda_zero(cuda, launch_out->data, 4 * (uint64_t)work->address_count, "work", err);
    return pb_cuda_status(
        cuda, pb_kernel_fill(base, data_bytes / sizeof(uint32_t), salt, cuda->info.sm_count),
        "pb_kernel_fill", "filling the data of work", err);
}

/* Nothing that was added is lost. */
static enum pb_status check_added(struct pb_cuda_device *cuda, const struct pb_kernel_work *launch,
                                  struct pb_error *err)
{
    uint64_t sms = launch->sm < 0 ? cuda->info.sm_count : 1, sum = 0;
    uint64_t expected = sms * PB_WORK_THREADS * launch->repeats;
    size_t bytes = launch->address_count * sizeof(uint32_t);
    uint32_t *words = malloc(bytes);
    enum pb_status status;

    if (words == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu bytes of counters", bytes);
    status = pb_cuda_download(cuda, words, launch->data, bytes, "reading counters", err);
    for (uint32_t i = 0; status == PB_OK && i < launch->address_count; i++)
        sum += words[i];
    free(words);
    if (status == PB_OK && sum != expected)
        status = pb_fail(err, PB_DEVICE,
                         "GPU %d: atomic additions: expected a sum of %" PRIu64 ", found %" PRIu64,
                         cuda->ordinal, expected, sum);
    return status;
}

static enum pb_status read_cycles(struct pb_cuda_device *cuda, uint64_t address,
                                  uint64_t *cycles_out, struct pb_error *err)
{
    size_t count = cuda->info.sm_count;
    uint64_t *stamps = malloc(2 * count * sizeof(*stamps));
    enum pb_status status;

    if (stamps == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the stamps of %zu SMs", count);
    status = pb_cuda_download(cuda, stamps, address, 2 * count * sizeof(*stamps), "work", err);
    for (size_t i = 0; status == PB_OK && i < count; i++)
        cycles_out[i] = stamps[2 * i + 1] - stamps[2 * i];
    free(stamps);
    return status;
}

enum pb_status pb_cuda_work(struct pb_device *device, const struct pb_work *work,
                            uint64_t *cycles_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_kernel_work launch;
    uint32_t mismatches = 0;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK)
        status = check_work(cuda, work, err);
    if (status == PB_OK)
        status = set_up_work(cuda, work, &launch, err);
    if (status == PB_OK)
        status = pb_cuda_work_launch(cuda, &launch, &mismatches, err);
    if (status == PB_OK && mismatches > 0)
        status = pb_fail(err, PB_DEVICE, "GPU %d: work: %" PRIu32 " threads read wrong words",
                         cuda->ordinal, mismatches);
    if (status == PB_OK && work->kind == PB_WORK_ATOMIC)
        status = check_added(cuda, &launch, err);
    if (status == PB_OK)
        status = read_cycles(cuda, launch.stamps, cycles_out, err);
    return status;
}

enum pb_status pb_cuda_compute(struct pb_device *device, const struct pb_compute *compute,
                               uint64_t *checksums_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    uint64_t sums = (pb_cuda_meet_bytes(cuda) + 255) / 256 * 256;
    size_t bytes = (size_t)compute->runs * cuda->info.sm_count * sizeof(*checksums_out);
    struct pb_kernel_compute launch = {.seed = compute->seed,
                                       .runs = compute->runs,
                                       .steps = compute->steps,
                                       .rest_ns = 1000 * compute->rest_us,
                                       .cta_count = cuda->info.sm_count,
                                       .shared_bytes = pb_cuda_whole_sm_bytes(cuda)};
    uint32_t mismatches = 0;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && (compute->runs == 0 || compute->rest_us > 1000000))
        status = pb_fail(err, PB_INVALID, "compute: %" PRIu32 " runs, %" PRIu32 " us of rest",
                         compute->runs, compute->rest_us);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, sums + bytes, "checksums", err);
    launch.state = cuda->recording.address;
    launch.checksums = launch.state + sums;
    if (status == PB_OK)
        status = pb_cuda_zero(cuda, launch.state, sums + bytes, "checksums", err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_compute(&launch), "pb_kernel_compute",
                                "launching a computation", err);
    if (status == PB_OK)
        status = pb_cuda_meet_check(cuda, launch.state, "a computation", &mismatches, err);
    if (status == PB_OK)
        status = pb_cuda_download(cuda, checksums_out, launch.checksums, bytes, "checksums", err);
    return status;
}

/* What a launch over clusters leaves, part after part. */
struct cluster_parts {
    uint64_t clocks, rate, sms, mismatches, bytes;
};

static struct cluster_parts lay_out_clusters(uint64_t ctas, uint64_t size)
{
    struct cluster_parts parts = {.rate = ctas * size * sizeof(uint64_t[2])};

    parts.sms = parts.rate + ctas * sizeof(uint64_t[2]);
    parts.mismatches = parts.sms + ctas * sizeof(uint32_t);
    parts.bytes = parts.mismatches + sizeof(uint32_t);
    return parts;
}

enum { CLUSTER_REPEATS = 33 }; /* odd; fewer would time how the code is fetched */

/* Between the two clocks of pair number i of a part; 0: the kernel did not time it. */
static double cluster_cycles(const uint64_t *clocks, uint64_t part, uint64_t i)
{
    const uint64_t *pair = clocks + part / sizeof(*clocks) + 2 * i;

    return (double)(pair[1] - pair[0]);
}

static enum pb_status read_clusters(struct pb_cuda_device *cuda, uint64_t ctas, uint64_t size,
                                    const struct cluster_parts *parts, uint32_t *sms_out,
                                    double *cycles_out, double *rate_out, struct pb_error *err)
{
    uint64_t *clocks = malloc(parts->bytes);
    const uint32_t *words = (const uint32_t *)clocks;
    enum pb_status status;

    if (clocks == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %" PRIu64 " CTAs", ctas);
    status = pb_cuda_download(cuda, clocks, cuda->recording.address, parts->bytes,
                              "shared memory of clusters", err);
    if (status == PB_OK && words[parts->mismatches / 4] > 0)
        status = pb_fail(err, PB_DEVICE,
                         "GPU %d: shared memory of clusters: %" PRIu32 " threads read wrong words",
                         cuda->ordinal, words[parts->mismatches / 4]);
    for (uint64_t i = 0; status == PB_OK && i < ctas * size; i++) {
        cycles_out[i] = cluster_cycles(clocks, parts->clocks, i) / PB_KERNEL_CLUSTER_SLOTS;
        if (!(cycles_out[i] > 0.0))
            status = pb_fail(err, PB_DEVICE,
                             "GPU %d: shared memory of clusters: a chase was out of bounds",
                             cuda->ordinal);
    }
    for (uint64_t i = 0; status == PB_OK && i < ctas; i++) {
        sms_out[i] = words[parts->sms / 4 + i];
        rate_out[i] = (double)CLUSTER_REPEATS * PB_KERNEL_CLUSTER_BYTES /
                      cluster_cycles(clocks, parts->rate, i);
    }
    free(clocks);
    return status;
}

enum pb_status pb_cuda_cluster_shared(struct pb_device *device,
                                      const struct pb_cluster_shared *cluster, uint32_t *sms_out,
                                      double *cycles_out, double *rate_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    uint64_t ctas = cluster->count * cluster->size;
    struct cluster_parts parts = lay_out_clusters(ctas, cluster->size);
    struct pb_kernel_cluster_shared launch = {.size = cluster->size,
                                              .cta_count = (uint32_t)ctas,
                                              .repeats = CLUSTER_REPEATS,
                                              .salt = ++cuda->salt,
                                              .shared_bytes = pb_cuda_whole_sm_bytes(cuda)};
    int fitting = 0;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && ctas == 0)
        status = pb_fail(err, PB_INVALID, "cluster_shared: %" PRIu32 " CTAs, %zu clusters",
                         cluster->size, cluster->count);
    if (status == PB_OK && cuda->info.compute_capability < 90)
        status = pb_fail(err, PB_UNSUPPORTED, "GPU %d: no clusters", cuda->ordinal);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, parts.bytes, "clusters", err);
    if (status == PB_OK)
        status = pb_cuda_zero(cuda, cuda->recording.address, parts.bytes, "clusters", err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_cluster_shared_fit(&launch, &fitting),
                                "pb_kernel_cluster_shared_fit", "asking for clusters", err);
    if (status == PB_OK && fitting == 0)
        status = pb_fail(err, PB_UNSUPPORTED, "GPU %d: no clusters of %" PRIu32 " CTAs",
                         cuda->ordinal, cluster->size);
    if (status != PB_OK)
        return status;
    launch.clocks = cuda->recording.address + parts.clocks;
    launch.rate_clocks = cuda->recording.address + parts.rate;
    launch.sms = cuda->recording.address + parts.sms;
    launch.mismatches = cuda->recording.address + parts.mismatches;
    status = pb_cuda_status(cuda, pb_kernel_cluster_shared(&launch), "pb_kernel_cluster_shared",
                            "launching clusters", err);
    if (status == PB_OK)
        status =
            read_clusters(cuda, ctas, cluster->size, &parts, sms_out, cycles_out, rate_out, err);
    return status;
}
