/*
 * Transfers over the host link, and from and to other GPUs of the node.
 *
 * Times are the host's: from the call to the moment when the data is known to be there, as a
 * program sees it. What that costs beside the transfer is the latency of a small one. The contents
 * are checked after the last repeat; the target holds something else before the first.
 *
 * The memory here is a transfer's own: on a node these come at any time, and whether they came
 * before must not show in where the arena of the chases lies.
 */
#include <cuda_runtime_api.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/compare.h"
#include "core/time.h"
#include "device/cuda/device.h"

/* What goes one way in one stream. */
struct part {
    void *to;
    const void *from;
    size_t bytes;
    bool is_to_peer;
    cudaStream_t stream;
};

enum { PARTS_MAX = 2 * PB_LINK_STREAMS_MAX };

/* One transfer in progress. With a peer, what it sends lies before what it gets, here and there. */
struct run {
    struct pb_cuda_device *cuda;
    const struct pb_link *link;
    uint32_t salt;
    struct pb_cuda_buffer own;      /* on this device */
    uint32_t *host;                 /* of a transfer over the host link */
    int peer_ordinal;               /* of a transfer with a peer */
    struct pb_cuda_mapping *mapped; /* its memory; NULL: … */
    void *peer_memory;              /* … by a context of ours there */
    uint64_t peer_address;
    struct part parts[PARTS_MAX];
    size_t part_count;
    struct pb_error *err;
};

static bool is_from_peer(const struct pb_link *link)
{
    return link->kind == PB_LINK_FROM_PEER || link->kind == PB_LINK_BOTH_PEER;
}

static bool is_to_peer(const struct pb_link *link)
{
    return link->kind == PB_LINK_TO_PEER || link->kind == PB_LINK_BOTH_PEER;
}

/* On either device. */
static uint64_t needed_bytes(const struct pb_link *link)
{
    return link->kind == PB_LINK_BOTH_PEER ? 2 * link->bytes : link->bytes;
}

static enum pb_status check_request(const struct pb_link *link, struct pb_error *err)
{
    if ((unsigned)link->kind >= PB_LINK_KIND_COUNT)
        return pb_fail(err, PB_INVALID, "link: unknown kind %d", (int)link->kind);
    if (link->bytes == 0 || link->bytes % sizeof(uint32_t) != 0 || link->repeats == 0)
        return pb_fail(err, PB_INVALID,
                       "link: %" PRIu64 " bytes %" PRIu32 " times: expected whole words of 4",
                       link->bytes, link->repeats);
    if (pb_link_has_peer(link) && link->peer == NULL)
        return pb_fail(err, PB_INVALID, "link: no peer named");
    if (link->streams > PB_LINK_STREAMS_MAX || (link->streams > 1 && !pb_link_has_peer(link)))
        return pb_fail(err, PB_INVALID,
                       "link: %" PRIu32 " streams: expected at most %d, with a peer", link->streams,
                       PB_LINK_STREAMS_MAX);
    if (link->by_sms && (!pb_link_has_peer(link) || link->streams > 1 || link->bytes % 16 != 0))
        return pb_fail(err, PB_INVALID,
                       "link: SMs copy with a peer, in one part, whole words of 16 bytes");
    return PB_OK;
}

static enum pb_status check(const struct run *run, int code, const char *call)
{
    return pb_cuda_status(run->cuda, code, call, "a transfer", run->err);
}

static uint64_t word_count(const struct run *run)
{
    return run->link->bytes / sizeof(uint32_t);
}

static void fill_host(const struct run *run, uint32_t salt)
{
    for (uint64_t i = 0; i < word_count(run); i++)
        run->host[i] = PB_KERNEL_PATTERN(i, salt);
}

static enum pb_status fill_device(const struct run *run, uint64_t address, uint32_t salt)
{
    return check(run, pb_kernel_fill(address, word_count(run), salt, 4 * run->cuda->info.sm_count),
                 "pb_kernel_fill");
}

static void release_host(struct pb_cuda_host *host, bool is_pinned)
{
    if (host->memory != NULL && is_pinned)
        cudaFreeHost(host->memory);
    else
        free(host->memory);
    *host = (struct pb_cuda_host){.memory = NULL};
}

void pb_cuda_host_release(struct pb_cuda_device *cuda)
{
    release_host(&cuda->hosts[0], false);
    release_host(&cuda->hosts[1], true);
}

/* Memory of the host, as programs allocate it or locked to its pages. */
static enum pb_status reserve_host(struct run *run)
{
    size_t bytes = (size_t)run->link->bytes;
    bool is_pinned = run->link->pinned;
    struct pb_cuda_host *host = &run->cuda->hosts[is_pinned];
    enum pb_status status = PB_OK;

    if (bytes <= host->bytes)
        return PB_OK;
    release_host(host, is_pinned);
    if (is_pinned)
        status =
            check(run, cudaHostAlloc(&host->memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    else
        host->memory = malloc(bytes);
    if (status == PB_OK && host->memory == NULL)
        status = pb_fail(run->err, PB_NO_MEMORY, "link: no host memory for %zu bytes", bytes);
    host->bytes = status == PB_OK ? bytes : 0;
    return status;
}

static enum pb_status set_up_host(struct run *run)
{
    bool is_to = run->link->kind == PB_LINK_TO_DEVICE;
    enum pb_status status = reserve_host(run);

    if (status != PB_OK)
        return status;
    run->host = run->cuda->hosts[run->link->pinned].memory;
    fill_host(run, is_to ? run->salt : ~run->salt);
    return fill_device(run, run->own.address, is_to ? ~run->salt : run->salt);
}

/* Memory on the peer by a context there. Leaves this device current. */
static enum pb_status allocate_by_context(struct run *run)
{
    enum pb_status status = check(run, cudaSetDevice(run->peer_ordinal), "cudaSetDevice");

    if (status == PB_OK)
        status = check(run, cudaMalloc(&run->peer_memory, needed_bytes(run->link)), "cudaMalloc");
    cudaSetDevice(run->cuda->ordinal);
    run->peer_address = (uint64_t)(uintptr_t)run->peer_memory;
    return status;
}

static enum pb_status enable_peer(struct run *run)
{
    int code = cudaDeviceEnablePeerAccess(run->peer_ordinal, 0);

    if (code == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
        code = cudaSuccess;
    }
    return check(run, code, "cudaDeviceEnablePeerAccess");
}

/* Where the driver maps no memory of peers, a context on the peer does it: if anything can. */
static enum pb_status open_peer(struct run *run)
{
    enum pb_status status =
        pb_cuda_peer_find(run->cuda, run->link->peer, &run->peer_ordinal, run->err);

    if (status != PB_OK)
        return status;
    status = pb_cuda_peer_open(run->cuda, run->peer_ordinal, needed_bytes(run->link), &run->mapped,
                               run->err);
    run->peer_address = pb_cuda_mapping_address(run->mapped);
    if (status == PB_UNSUPPORTED || status == PB_DEVICE) {
        pb_cuda_mapping_close(run->mapped);
        run->mapped = NULL;
        status = allocate_by_context(run);
        if (status == PB_OK)
            status = enable_peer(run);
    }
    return status;
}

/* One way, in as many parts as there are streams, each of whole words. */
static void add_way(struct run *run, uint64_t to, uint64_t from, bool is_to)
{
    uint64_t words = word_count(run), streams = run->link->streams > 0 ? run->link->streams : 1;

    for (uint64_t i = 0; i < streams; i++) {
        uint64_t first = words * i / streams, end = words * (i + 1) / streams;

        if (end > first)
            run->parts[run->part_count++] =
                (struct part){.to = pb_cuda_pointer(to + first * sizeof(uint32_t)),
                              .from = pb_cuda_pointer(from + first * sizeof(uint32_t)),
                              .bytes = (size_t)(end - first) * sizeof(uint32_t),
                              .is_to_peer = is_to};
    }
}

/* One part goes in the default stream, several in streams of their own. */
static enum pb_status open_streams(struct run *run)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; run->part_count > 1 && i < run->part_count && status == PB_OK; i++)
        status = check(run, cudaStreamCreateWithFlags(&run->parts[i].stream, cudaStreamNonBlocking),
                       "cudaStreamCreateWithFlags");
    return status;
}

/* What is copied has the pattern, and its targets anything but. */
static enum pb_status set_up_peer(struct run *run)
{
    enum pb_status status = open_peer(run);
    uint64_t own = run->own.address, peer = run->peer_address, behind = 0;

    if (status == PB_OK && is_to_peer(run->link)) {
        add_way(run, peer, own, true);
        status = fill_device(run, own, run->salt);
        if (status == PB_OK)
            status = fill_device(run, peer, ~run->salt);
        behind = run->link->bytes;
    }
    if (status == PB_OK && is_from_peer(run->link)) {
        add_way(run, own + behind, peer + behind, false);
        status = fill_device(run, peer + behind, run->salt);
        if (status == PB_OK)
            status = fill_device(run, own + behind, ~run->salt);
    }
    return status == PB_OK ? open_streams(run) : status;
}

static void clean_up(struct run *run)
{
    for (size_t i = 0; i < run->part_count; i++)
        if (run->parts[i].stream != NULL)
            cudaStreamDestroy(run->parts[i].stream);
    pb_cuda_release(&run->own);
    if (run->peer_memory != NULL)
        cudaFree(run->peer_memory);
    pb_cuda_mapping_close(run->mapped);
}

/* One CTA on every SM, of half its registers at most: both ways find room at the same time. */
static int start_kernel(const struct run *run, const struct part *part)
{
    const struct pb_kernel_stream copy = {.source = (uint64_t)(uintptr_t)part->from,
                                          .target = (uint64_t)(uintptr_t)part->to,
                                          .words = part->bytes / 16,
                                          .kind = PB_KERNEL_COPY,
                                          .ilp = 8,
                                          .word_bytes = 16,
                                          .cta_count = run->cuda->info.sm_count,
                                          .cta_size = 512,
                                          .queue = (uint64_t)(uintptr_t)part->stream};

    return pb_kernel_stream(&copy);
}

static int start_part(const struct run *run, const struct part *part)
{
    int here = run->cuda->ordinal, there = run->peer_ordinal;

    if (run->link->by_sms)
        return start_kernel(run, part);
    if (run->mapped != NULL)
        return cudaMemcpyAsync(part->to, part->from, part->bytes, cudaMemcpyDeviceToDevice,
                               part->stream);
    return cudaMemcpyPeerAsync(part->to, part->is_to_peer ? there : here, part->from,
                               part->is_to_peer ? here : there, part->bytes, part->stream);
}

static int start_transfer(const struct run *run)
{
    void *own = pb_cuda_pointer(run->own.address);
    size_t bytes = (size_t)run->link->bytes;
    int code = cudaSuccess;

    if (run->link->kind == PB_LINK_TO_DEVICE)
        return cudaMemcpyAsync(own, run->host, bytes, cudaMemcpyHostToDevice, NULL);
    if (run->link->kind == PB_LINK_FROM_DEVICE)
        return cudaMemcpyAsync(run->host, own, bytes, cudaMemcpyDeviceToHost, NULL);
    for (size_t i = 0; i < run->part_count && code == cudaSuccess; i++)
        code = start_part(run, &run->parts[i]);
    return code;
}

static int await_transfer(const struct run *run)
{
    int code = cudaSuccess;

    if (run->part_count <= 1)
        return cudaStreamSynchronize(NULL);
    for (size_t i = 0; i < run->part_count && code == cudaSuccess; i++)
        code = cudaStreamSynchronize(run->parts[i].stream);
    return code;
}

static enum pb_status transfer(struct run *run, double *seconds_out)
{
    double start = pb_time_monotonic_seconds();
    enum pb_status status = check(run, start_transfer(run), "cudaMemcpyAsync");

    if (status == PB_OK)
        status = check(run, await_transfer(run), "cudaStreamSynchronize");
    *seconds_out = pb_time_monotonic_seconds() - start;
    return status;
}

/* One transfer before those that count: it finds pages that were never touched. */
static enum pb_status measure(struct run *run, struct pb_link_result *result_out)
{
    size_t count = run->link->repeats;
    double *seconds = calloc(count, sizeof(*seconds)), first;
    enum pb_status status;

    if (seconds == NULL)
        return pb_fail(run->err, PB_NO_MEMORY, "link: out of memory allocating %zu times", count);
    status = check(run, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (status == PB_OK)
        status = transfer(run, &first);
    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = transfer(run, &seconds[i]);
    if (status == PB_OK) {
        qsort(seconds, count, sizeof(*seconds), pb_compare_double);
        result_out->seconds = 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2]);
        result_out->least_seconds = seconds[0];
    }
    free(seconds);
    return status;
}

static enum pb_status check_target(struct run *run, uint64_t address, uint64_t fault_address)
{
    return check(run,
                 pb_kernel_fill_check(address, word_count(run), run->salt, fault_address,
                                      4 * run->cuda->info.sm_count),
                 "pb_kernel_fill_check");
}

static enum pb_status count_mismatches(struct run *run, uint64_t *count_out)
{
    struct pb_kernel_fault fault;
    uint64_t fault_address = 0, count = 0, behind = is_to_peer(run->link) ? run->link->bytes : 0;
    enum pb_status status;

    if (run->link->kind == PB_LINK_FROM_DEVICE) {
        for (uint64_t i = 0; i < word_count(run); i++)
            count += run->host[i] != PB_KERNEL_PATTERN(i, run->salt);
        *count_out = count;
        return PB_OK;
    }
    status = pb_cuda_fault_clear(run->cuda, &fault_address, run->err);
    if (status == PB_OK && is_to_peer(run->link))
        status = check_target(run, run->peer_address, fault_address);
    if (status == PB_OK && run->link->kind != PB_LINK_TO_PEER)
        status = check_target(run, run->own.address + behind, fault_address);
    if (status == PB_OK)
        status = pb_cuda_fault_read(run->cuda, "checking a transfer", &fault, run->err);
    if (status == PB_OK)
        *count_out = fault.count;
    return status;
}

enum pb_status pb_cuda_link(struct pb_device *device, const struct pb_link *link,
                            struct pb_link_result *result_out, struct pb_error *err)
{
    struct run run = {.cuda = (struct pb_cuda_device *)device, .link = link, .err = err};
    struct pb_link_result result = {0.0, 0.0, 0};
    enum pb_status status = pb_cuda_enter(run.cuda, err);

    if (status == PB_OK)
        status = check_request(link, err);
    if (status == PB_OK)
        status = pb_cuda_reserve(run.cuda, &run.own, needed_bytes(link), "a transfer", err);
    run.salt = ++run.cuda->salt;
    if (status == PB_OK)
        status = pb_link_has_peer(link) ? set_up_peer(&run) : set_up_host(&run);
    if (status == PB_OK)
        status = measure(&run, &result);
    if (status == PB_OK)
        status = count_mismatches(&run, &result.mismatch_count);
    clean_up(&run);
    if (status == PB_OK)
        *result_out = result;
    return status;
}
