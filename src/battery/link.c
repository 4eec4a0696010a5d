/*
 * Family link: the host link, and the links to the node's other GPUs, by one GPU at a time.
 *
 *   host_link      axes direction, memory, bytes: byte/s of one transfer, the median of several
 *   host_latency   axes direction, memory, quantity: ns of a transfer of 4 bytes
 *   peer_link      axes peer (by PCI bus id), quantity: byte/s of a large transfer from there, and
 *                  ns of one of 4 bytes
 *
 * Quantities of host_latency are the median and the least of the repeats. Words that arrive wrong
 * are counted in the message, and so are transfers larger than the memory that is free.
 *
 * Who reads a peer's memory takes a share of it, and gets what is left beside the peer's own work:
 * both would be measured wrong. So the GPUs of a node meet for peer_link, and while one of them
 * measures the others wait. A transfer over the host link disturbs none but other such transfers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/grid.h"
#include "battery/link.h"
#include "battery/tests.h"
#include "core/time.h"

enum pb_status pb_session_barrier(struct pb_session *session, const char *test, int64_t number,
                                  int64_t *count_out, struct pb_error *err)
{
    const struct pb_node_links *links = &session->links;
    double start = pb_time_monotonic_seconds();
    enum pb_status status;

    if (links->barrier == NULL) {
        *count_out = 1;
        return PB_OK;
    }
    status = links->barrier(links->context, test, number, count_out, err);
    session->waited_seconds += pb_time_monotonic_seconds() - start;
    return status;
}

enum pb_status pb_session_await_links(struct pb_session *session, const char *test,
                                      struct pb_error *err)
{
    const struct pb_node_links *links = &session->links;
    double start = pb_time_monotonic_seconds();
    enum pb_status status;

    if (links->await_links == NULL)
        return PB_OK;
    status = links->await_links(links->context, test, err);
    session->waited_seconds += pb_time_monotonic_seconds() - start;
    return status;
}

enum {
    SMALL_REPEATS = 16,
    LARGE_REPEATS = 4,
    PEER_REPEATS = 32,     /* an idle peer is slow to begin with */
    SMALL_BYTES = 1 << 20, /* up to here */
    WORD_BYTES = 4,
    QUICK_SIZES = 4 /* up to 64 MiB */
};

const char *const pb_link_directions[2] = {"to_device", "from_device"};
const char *const pb_link_memories[2] = {"pageable", "pinned"};

static const double sizes[] = {4096, 65536, 1 << 20, 64 << 20, 256 << 20};

struct pb_link pb_link_host(size_t direction, size_t memory, uint64_t bytes)
{
    return (struct pb_link){.kind = direction == 0 ? PB_LINK_TO_DEVICE : PB_LINK_FROM_DEVICE,
                            .pinned = memory == 1,
                            .bytes = bytes};
}

enum pb_status pb_link_take(struct pb_session *session, const struct pb_link *link,
                            struct pb_recording *recording, struct pb_link_result *result_out,
                            struct pb_error *err)
{
    enum pb_status status = session->device->ops->link(session->device, link, result_out, err);

    if (status == PB_OK && result_out->mismatch_count > 0)
        snprintf(recording->message, sizeof(recording->message),
                 "%llu words of a transfer of %llu bytes arrived wrong",
                 (unsigned long long)result_out->mismatch_count, (unsigned long long)link->bytes);
    return status;
}

static enum pb_status take(struct pb_session *session, struct pb_link *link,
                           struct pb_recording *recording, struct pb_link_result *result_out,
                           struct pb_error *err)
{
    if (link->bytes <= SMALL_BYTES)
        link->repeats = SMALL_REPEATS;
    else
        link->repeats = link->kind == PB_LINK_FROM_PEER ? PEER_REPEATS : LARGE_REPEATS;
    return pb_link_take(session, link, recording, result_out, err);
}

enum pb_status pb_test_host_link(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("direction", "of the transfer", pb_link_directions),
        PB_GRID_LABELS("memory", "of the host: pinned is locked to its pages", pb_link_memories),
        PB_GRID_VALUES("bytes", "byte", "size of one transfer", sizes),
    };
    struct pb_matrix *matrix = &recording->matrix;
    struct pb_grid_shortage shortage = PB_GRID_ENOUGH;
    enum pb_status status;

    if (session->battery == PB_QUICK)
        axes[2].length = QUICK_SIZES;
    status = pb_grid_open(matrix, axes, 3, "byte/s", "throughput of one transfer", err);
    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        struct pb_link_result result = {.seconds = 0};
        struct pb_error cause = PB_ERROR_INIT;
        size_t at[PB_MATRIX_RANK_MAX];
        struct pb_link link;

        pb_grid_place(matrix, i, at);
        link = pb_link_host(at[0], at[1], (uint64_t)sizes[at[2]]);
        status = take(session, &link, recording, &result, &cause);
        if (status == PB_OK)
            matrix->values[i] = (double)link.bytes / result.seconds;
        status = pb_grid_forgive_shortage(&shortage, pb_grid_forgive(status), &cause, err);
    }
    return status != PB_OK
               ? status
               : pb_grid_report_shortage(&shortage, pb_matrix_size(matrix), recording, err);
}

enum pb_status pb_test_host_latency(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    static const char *const quantities[] = {"median", "least"};
    static const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("direction", "of the transfer", pb_link_directions),
        PB_GRID_LABELS("memory", "of the host: pinned is locked to its pages", pb_link_memories),
        PB_GRID_LABELS("quantity", "of the repeats", quantities),
    };
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status =
        pb_grid_open(matrix, axes, 3, "ns", "duration of a transfer of 4 bytes", err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i += 2) {
        struct pb_link_result result;
        size_t at[PB_MATRIX_RANK_MAX];
        struct pb_link link;

        pb_grid_place(matrix, i, at);
        link = pb_link_host(at[0], at[1], WORD_BYTES);
        status = take(session, &link, recording, &result, err);
        if (status == PB_OK) {
            matrix->values[i] = 1e9 * result.seconds;
            matrix->values[i + 1] = 1e9 * result.least_seconds;
        }
        status = pb_grid_forgive(status);
    }
    return status;
}

/* The devices of the node, this one among them; to be freed. */
static enum pb_status list_node(const struct pb_session *session, struct pb_device_entry **all_out,
                                size_t *count_out, struct pb_error *err)
{
    const struct pb_device *device = session->device;
    struct pb_device_entry *all;

    if (device->node == NULL)
        return device->ops->enumerate(all_out, count_out, err);
    all = calloc(device->node_count, sizeof(*all));
    if (all == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices",
                       device->node_count);
    memcpy(all, device->node, device->node_count * sizeof(*all));
    *all_out = all;
    *count_out = device->node_count;
    return PB_OK;
}

enum pb_status pb_link_peers(struct pb_session *session, struct pb_device_entry **peers_out,
                             size_t *count_out, struct pb_error *err)
{
    struct pb_device_entry *all = NULL, *peers;
    size_t count = 0, self = 0, kept = 0;
    enum pb_status status;

    if (pb_uuid_is_instance(session->info.uuid))
        return pb_fail(err, PB_UNSUPPORTED, "a MIG instance reads no other device's memory");
    status = list_node(session, &all, &count, err);
    if (status != PB_OK)
        return status;
    peers = calloc(count + 1, sizeof(*peers));
    while (self < count && strcmp(all[self].uuid, session->info.uuid) != 0)
        self++;
    for (size_t i = 1; peers != NULL && i <= count && kept < PB_LINK_PEERS_MAX; i++)
        if ((self + i) % count != self && !pb_uuid_is_instance(all[(self + i) % count].uuid))
            peers[kept++] = all[(self + i) % count];
    free(all);
    if (peers == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices", count);
    if (kept == 0) {
        free(peers);
        return pb_fail(err, PB_UNSUPPORTED, "no other device on this node");
    }
    *peers_out = peers;
    *count_out = kept;
    return PB_OK;
}

struct pb_grid_axis pb_link_peer_axis(const struct pb_device_entry *peers, size_t count,
                                      const char **labels_out)
{
    for (size_t i = 0; i < count; i++)
        labels_out[i] = peers[i].pci_bus_id;
    return (struct pb_grid_axis){"peer", "",         "PCI bus id of the other device",
                                 NULL,   labels_out, count};
}

enum pb_status pb_link_open_grid(const struct pb_device_entry *peers, size_t count,
                                 const struct pb_grid_axis *quantities, const char *unit,
                                 const char *description, struct pb_matrix *matrix,
                                 struct pb_error *err)
{
    const char *labels[PB_LINK_PEERS_MAX];
    const struct pb_grid_axis axes[] = {pb_link_peer_axis(peers, count, labels), *quantities};

    return pb_grid_open(matrix, axes, 2, unit, description, err);
}

static enum pb_status take_peer(struct pb_session *session, const char *uuid,
                                struct pb_recording *recording, double *bytes_per_s_out,
                                double *latency_ns_out, struct pb_error *err)
{
    struct pb_link link = {.kind = PB_LINK_FROM_PEER, .peer = uuid, .bytes = PB_LINK_BULK_BYTES};
    struct pb_link_result result;
    enum pb_status status = take(session, &link, recording, &result, err);

    if (status == PB_OK)
        *bytes_per_s_out = (double)link.bytes / result.seconds;
    link.bytes = WORD_BYTES;
    if (status == PB_OK)
        status = take(session, &link, recording, &result, err);
    if (status == PB_OK)
        *latency_ns_out = 1e9 * result.seconds;
    return status;
}

static enum pb_status take_peers(struct pb_session *session, const struct pb_device_entry *peers,
                                 size_t count, struct pb_recording *recording, struct pb_error *err)
{
    static const char *const quantities[] = {"bandwidth", "latency"};
    const struct pb_grid_axis axis =
        PB_GRID_LABELS("quantity", "bandwidth in byte/s, latency in ns", quantities);
    struct pb_grid_shortage shortage = PB_GRID_ENOUGH;
    struct pb_error cause = PB_ERROR_INIT;
    size_t reached = 0;
    enum pb_status status =
        pb_link_open_grid(peers, count, &axis, "byte/s or ns",
                          "transfers from the other devices of the node", &recording->matrix, err);

    for (size_t i = 0; status == PB_OK && i < count; i++) {
        double *row = recording->matrix.values + 2 * i;

        status = take_peer(session, peers[i].uuid, recording, &row[0], &row[1], &cause);
        reached += status == PB_OK;
        status = pb_grid_forgive_shortage(&shortage, pb_grid_forgive(status), &cause, err);
    }
    if (status != PB_OK)
        return status;
    if (reached == 0) /* for the reason that the last one had */
        return pb_fail(err, PB_UNSUPPORTED, "%s", cause.message);
    return pb_grid_report_shortage(&shortage, count, recording, err);
}

/*
 * Opens the way to each peer. That may take long and disturb the peer, where it needs a context
 * there; so it comes when all have met and before any of the turns. Who cannot be read shows later.
 * Who is late opens the ways in its turn.
 */
static enum pb_status open_ways(struct pb_session *session, const struct pb_device_entry *peers,
                                size_t count, struct pb_recording *recording, struct pb_error *err)
{
    int64_t device_count;
    enum pb_status status = pb_session_barrier(session, recording->name, 0, &device_count, err);

    for (size_t i = 0; status == PB_OK && device_count > 0 && i < count; i++) {
        const struct pb_link link = {
            .kind = PB_LINK_FROM_PEER, .peer = peers[i].uuid, .bytes = WORD_BYTES, .repeats = 1};
        struct pb_link_result result;

        status = pb_link_take(session, &link, recording, &result, err);
        status = status == PB_LOST ? status : PB_OK;
    }
    return status;
}

enum pb_status pb_link_await_peers(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_device_entry **peers_out, size_t *count_out,
                                   struct pb_error *err)
{
    struct pb_device_entry *peers = NULL;
    enum pb_status status = pb_link_peers(session, &peers, count_out, err);

    if (status == PB_OK)
        status = open_ways(session, peers, *count_out, recording, err);
    if (status == PB_OK)
        status = pb_session_await_links(session, recording->name, err);
    if (status == PB_OK)
        *peers_out = peers;
    else
        free(peers);
    return status;
}

enum pb_status pb_test_peer_link(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    struct pb_device_entry *peers = NULL;
    size_t count = 0;
    enum pb_status status = pb_link_await_peers(session, recording, &peers, &count, err);

    if (status == PB_OK)
        status = take_peers(session, peers, count, recording, err);
    free(peers);
    return status;
}
