/*
 * The launches of chases: ahead of what they leave, which is read behind. A launch has one CTA at
 * work or several, each on an SM of its own; its results, its recordings and the state of the links
 * come back in pinned memory while later launches are outstanding.
 */
#include <cuda_runtime_api.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/linked_chase.h"

enum { RING = 4 }; /* launches outstanding */

/* What goes up, and behind it what comes down, as on the device. */
struct head {
    struct pb_kernel_control control;
    struct pb_kernel_fault links;
    struct pb_kernel_result results[PB_KERNEL_JOBS];
};

struct launch {
    struct pb_cuda_buffer memory; /* struct head, then the recordings of all jobs */
    struct head *host;            /* pinned; has room for the recordings */
    size_t host_bytes;
    cudaEvent_t is_read; /* the results are here */
    struct pb_cuda_leg legs[PB_KERNEL_JOBS];
    size_t count; /* 0: not outstanding */
    struct pb_kernel_chase chase;
};

struct pb_cuda_launches {
    struct launch ring[RING];
    size_t next; /* in the ring: the oldest, if it is outstanding */
};

uint32_t pb_cuda_sm_step(enum pb_kernel_path path)
{
    return path == PB_KERNEL_CONSTANT ? 2 : 1;
}

size_t pb_cuda_launch_most(const struct pb_cuda_device *cuda, enum pb_kernel_path path)
{
    size_t most = cuda->info.sm_count / pb_cuda_sm_step(path) / 2;

    most = most < PB_KERNEL_JOBS ? most : PB_KERNEL_JOBS;
    return most > 0 ? most : 1;
}

bool pb_cuda_launch_may_spread(const struct pb_cuda_device *cuda, uint64_t shared_bytes)
{
    return 2 * (shared_bytes + cuda->shared_reserved_bytes) <= cuda->info.shared_per_sm_bytes;
}

static size_t recording_bytes(const struct pb_kernel_chase *chase)
{
    return chase->record == 0 ? 0
                              : (size_t)PB_KERNEL_CAPACITY(chase->record) * PB_KERNEL_RECORD_BYTES;
}

static enum pb_status reserve_host(struct pb_cuda_device *cuda, struct launch *launch, size_t bytes,
                                   struct pb_error *err)
{
    void *host = NULL;
    enum pb_status status;

    if (bytes <= launch->host_bytes)
        return PB_OK;
    bytes += bytes / 2;
    if (launch->host != NULL)
        cudaFreeHost(launch->host);
    launch->host = NULL;
    launch->host_bytes = 0;
    status = pb_cuda_status(cuda, cudaMallocHost(&host, bytes), "cudaMallocHost",
                            "memory for recordings", err);
    if (status != PB_OK)
        return status;
    launch->host = host;
    launch->host_bytes = bytes;
    return PB_OK;
}

static enum pb_status reserve(struct pb_cuda_device *cuda, struct launch *launch, size_t bytes,
                              struct pb_error *err)
{
    enum pb_status status = pb_cuda_reserve(cuda, &launch->memory, bytes, "a recording", err);

    if (status == PB_OK)
        status = reserve_host(cuda, launch, bytes, err);
    if (status == PB_OK && launch->is_read == NULL)
        status =
            pb_cuda_status(cuda, cudaEventCreateWithFlags(&launch->is_read, cudaEventDisableTiming),
                           "cudaEventCreate", "preparing a launch", err);
    return status;
}

void pb_cuda_claim(const struct pb_cuda_device *cuda, const int64_t *sms, size_t count,
                   uint32_t step, struct pb_kernel_place *place, struct pb_kernel_control *control)
{
    const uint32_t cta_per_sm = 4; /* several may share an SM; with this many, every SM gets one */
    bool are_given = sms[0] >= 0;

    place->job_count = (uint32_t)count;
    place->cta_count = !are_given && count == 1 ? 1 : cta_per_sm * cuda->info.sm_count;
    control->are_given = are_given;
    for (size_t i = 0; i < PB_KERNEL_SMS; i++)
        control->claims[i] = !are_given && i % step == 0;
    for (size_t i = 0; are_given && i < count; i++)
        control->claims[sms[i]] = (uint32_t)i + 1;
}

static void place_jobs(const struct pb_cuda_device *cuda, struct launch *launch)
{
    struct pb_kernel_place *place = &launch->chase.place;
    int64_t sms[PB_KERNEL_JOBS] = {0};

    for (size_t i = 0; i < launch->count; i++)
        sms[i] = launch->legs[i].sm;
    pb_cuda_claim(cuda, sms, launch->count, pb_cuda_sm_step(launch->legs[0].linked->path), place,
                  &launch->host->control);
    place->control = launch->memory.address;
    place->results = launch->memory.address + offsetof(struct head, results);
}

/* The slot for practice: that of the chain, or the control block's. */
static uint64_t practice_of(const struct pb_linked_chase *linked)
{
    if (linked->chain.practice == PB_KERNEL_NO_SLOT)
        return linked->place.control; /* the same for all launches: it takes a line of the cache */
    return pb_kernel_position(linked->form, linked->base_address,
                              linked->chain.shift + linked->chain.practice);
}

static void list_jobs(struct launch *launch)
{
    for (size_t i = 0; i < launch->count; i++) {
        const struct pb_cuda_leg *leg = &launch->legs[i];
        const struct pb_linked_chase *linked = leg->linked;

        launch->chase.jobs[i] = (struct pb_kernel_job){
            .start = pb_kernel_position(linked->form, linked->base_address,
                                        linked->chain.shift + linked->chase->offset_bytes[0]),
            .practice = practice_of(linked),
            .warm = linked->chase->warm + leg->first,
        };
    }
}

/* What the one that needs most shared memory for its recording needs. */
static struct pb_kernel_place place_of(const struct pb_cuda_leg *legs, size_t count)
{
    struct pb_kernel_place place = legs[0].linked->place;

    for (size_t i = 1; i < count; i++)
        if (legs[i].linked->place.shared_bytes > place.shared_bytes)
            place = legs[i].linked->place;
    return place;
}

static uint32_t record_of(const struct pb_cuda_leg *legs, size_t count)
{
    uint64_t record = 0;

    for (size_t i = 0; i < count; i++)
        record = legs[i].count > record ? legs[i].count : record;
    return (uint32_t)record;
}

/* All but the jobs and where they lie. */
static void describe(const struct pb_cuda_device *cuda, struct launch *launch)
{
    const struct pb_linked_chase *linked = launch->legs[0].linked;

    launch->chase = (struct pb_kernel_chase){
        .place = place_of(launch->legs, launch->count),
        .fault = cuda->links.address,
        .recordings = launch->memory.address + sizeof(struct head),
        .timed = linked->chase->timed,
        .record = record_of(launch->legs, launch->count),
        .offsets = linked->chain.offsets,
        .offset_count = (uint32_t)linked->chain.count,
        .chain_bytes = (uint32_t)linked->chain_bytes,
        .warm_path = linked->warm_path,
        .own_warm = linked->chase->own_warm,
        .base = linked->chain.base,
        .texture = cuda->textures[0].object,
        .texture_2d = cuda->textures[1].object,
    };
}

static int start(const struct launch *launch)
{
    const struct pb_linked_chase *linked = launch->legs[0].linked;
    bool is_traced = launch->chase.record > 0;

    if (linked->chase->cross)
        return is_traced ? pb_kernel_cross_trace(linked->path, &launch->chase)
                         : pb_kernel_cross_time(linked->path, &launch->chase);
    return is_traced ? pb_kernel_trace(linked->path, &launch->chase)
                     : pb_kernel_time(linked->path, &launch->chase);
}

static enum pb_status fetch(struct pb_cuda_device *cuda, void *to, uint64_t from, size_t bytes,
                            struct pb_error *err)
{
    return pb_cuda_status(
        cuda, cudaMemcpyAsync(to, pb_cuda_pointer(from), bytes, cudaMemcpyDeviceToHost, NULL),
        "cudaMemcpyAsync to the host", "reading a chase", err);
}

/* The control block up, the kernel, and all that it leaves down. */
static enum pb_status go(struct pb_cuda_device *cuda, struct launch *launch, struct pb_error *err)
{
    size_t up_bytes =
        offsetof(struct head, results) + launch->count * sizeof(struct pb_kernel_result);
    size_t down_bytes = sizeof(struct pb_kernel_result) * PB_KERNEL_JOBS +
                        launch->count * recording_bytes(&launch->chase);
    struct head *host = launch->host;
    enum pb_status status =
        pb_cuda_send(cuda, launch->memory.address, host, up_bytes, "setting up a launch", err);

    if (status == PB_OK)
        status = pb_cuda_status(cuda, start(launch),
                                launch->chase.record > 0 ? "pb_kernel_trace" : "pb_kernel_time",
                                "launching a chase", err);
    if (status == PB_OK)
        status = fetch(cuda, host->results, launch->memory.address + offsetof(struct head, results),
                       down_bytes, err);
    if (status == PB_OK)
        status = fetch(cuda, &host->links, launch->chase.fault, sizeof(host->links), err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, cudaEventRecord(launch->is_read, NULL), "cudaEventRecord",
                                "launching a chase", err);
    return status;
}

/* Sets up and starts what launch->legs say. */
static enum pb_status begin(struct pb_cuda_device *cuda, struct launch *launch,
                            struct pb_error *err)
{
    enum pb_status status;

    describe(cuda, launch);
    status = reserve(cuda, launch,
                     sizeof(struct head) + launch->count * recording_bytes(&launch->chase), err);
    if (status != PB_OK)
        return status;
    launch->chase.recordings = launch->memory.address + sizeof(struct head);
    memset(launch->host, 0, sizeof(*launch->host));
    place_jobs(cuda, launch);
    list_jobs(launch);
    return go(cuda, launch, err);
}

static enum pb_status wait_for(struct pb_cuda_device *cuda, const struct launch *launch,
                               struct pb_error *err)
{
    return pb_cuda_status(cuda, cudaEventSynchronize(launch->is_read), "cudaEventSynchronize",
                          "a chase", err);
}

/* Too few SMs took a CTA: what is left goes alone, anywhere. The results are of job 0 then. */
static enum pb_status repeat(struct pb_cuda_device *cuda, struct launch *launch,
                             const struct pb_cuda_leg *leg, struct pb_error *err)
{
    enum pb_status status;

    if (leg->sm >= 0) /* MIG, or another process: it cannot be chosen */
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: a chase: SM %" PRId64 " took no CTA",
                       cuda->ordinal, leg->sm);
    launch->legs[0] = *leg;
    launch->count = 1;
    status = begin(cuda, launch, err);
    if (status == PB_OK)
        status = wait_for(cuda, launch, err);
    return status;
}

/* Reads and checks every leg of a launch that has come back. */
static enum pb_status read_legs(struct pb_cuda_device *cuda, struct launch *launch,
                                struct pb_error *err)
{
    struct pb_cuda_leg missed[PB_KERNEL_JOBS];
    size_t missed_count = 0, step = recording_bytes(&launch->chase);
    uint32_t record = launch->chase.record;
    enum pb_status status = PB_OK;

    for (size_t i = 0; status == PB_OK && i < launch->count; i++) {
        const char *recordings = (const char *)launch->host + sizeof(struct head);

        if (launch->host->results[i].runs == 0 && launch->chase.place.cta_count > 1)
            missed[missed_count++] = launch->legs[i];
        else
            status = pb_linked_chase_read(&launch->legs[i], &launch->host->results[i],
                                          (const uint32_t *)(const void *)(recordings + i * step),
                                          record, err);
    }
    for (size_t i = 0; status == PB_OK && i < missed_count; i++) {
        status = repeat(cuda, launch, &missed[i], err);
        if (status == PB_OK)
            status = pb_linked_chase_read(&launch->legs[0], &launch->host->results[0],
                                          (const uint32_t *)(const void *)(launch->host + 1),
                                          launch->chase.record, err);
    }
    return status;
}

static enum pb_status read_launch(struct pb_cuda_device *cuda, struct launch *launch,
                                  struct pb_error *err)
{
    enum pb_status status = wait_for(cuda, launch, err);

    if (status == PB_OK && launch->host->links.count > 0)
        status =
            pb_linked_chase_report_error(launch->legs, launch->count, &launch->host->links, err);
    if (status == PB_OK)
        status = read_legs(cuda, launch, err);
    launch->count = 0;
    return status;
}

static enum pb_status open_ring(struct pb_cuda_device *cuda, struct pb_error *err)
{
    if (cuda->launches == NULL)
        cuda->launches = calloc(1, sizeof(*cuda->launches));
    if (cuda->launches == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating launches");
    return PB_OK;
}

enum pb_status pb_cuda_launch(struct pb_cuda_device *cuda, const struct pb_cuda_leg *legs,
                              size_t count, bool set_up, struct pb_error *err)
{
    enum pb_status status = open_ring(cuda, err);
    struct launch *launch;

    if (status != PB_OK)
        return status;
    launch = &cuda->launches->ring[cuda->launches->next];
    cuda->launches->next = (cuda->launches->next + 1) % RING;
    if (launch->count > 0)
        status = read_launch(cuda, launch, err);
    if (status == PB_OK && set_up)
        status = pb_linked_chase_set_up(legs[0].linked, err);
    if (status != PB_OK)
        return status;
    memcpy(launch->legs, legs, count * sizeof(*legs));
    launch->count = count;
    status = begin(cuda, launch, err);
    if (status != PB_OK)
        launch->count = 0;
    return status;
}

enum pb_status pb_cuda_launch_finish(struct pb_cuda_device *cuda, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; cuda->launches != NULL && i < RING; i++) {
        struct launch *launch = &cuda->launches->ring[(cuda->launches->next + i) % RING];

        if (launch->count > 0 && status == PB_OK)
            status = read_launch(cuda, launch, err);
    }
    if (status != PB_OK)
        pb_cuda_launch_drop(cuda);
    return status;
}

void pb_cuda_launch_drop(struct pb_cuda_device *cuda)
{
    bool is_busy = false;

    for (size_t i = 0; cuda->launches != NULL && i < RING; i++) {
        is_busy = is_busy || cuda->launches->ring[i].count > 0;
        cuda->launches->ring[i].count = 0;
    }
    if (is_busy)
        cudaDeviceSynchronize();
}

void pb_cuda_launch_close(struct pb_cuda_device *cuda)
{
    for (size_t i = 0; cuda->launches != NULL && i < RING; i++) {
        struct launch *launch = &cuda->launches->ring[i];

        pb_cuda_release(&launch->memory);
        if (launch->host != NULL)
            cudaFreeHost(launch->host);
        if (launch->is_read != NULL)
            cudaEventDestroy(launch->is_read);
    }
    free(cuda->launches);
    cuda->launches = NULL;
}
