/*
 * Family link: the host link, and the links to the node's other GPUs.
 *
 *   host_link      axes direction, memory, bytes: byte/s of one transfer, the median of several
 *   host_latency   axes direction, memory, quantity: ns of a transfer of 4 bytes
 *   peer_link      axes peer (by PCI bus id), quantity: byte/s of a large transfer from there, and
 *                  ns of one of 4 bytes
 *
 * Quantities of host_latency are the median and the least of the repeats. Words that arrive wrong
 * are told in the message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/grid.h"
#include "battery/tests.h"

enum {
    SMALL_REPEATS = 16,
    LARGE_REPEATS = 4,
    SMALL_BYTES = 1 << 20, /* up to here */
    WORD_BYTES = 4,
    QUICK_SIZES = 4, /* up to 64 MiB */
    PEERS_MAX = 64
};

static const char *const directions[] = {"to_device", "from_device"};
static const char *const memories[] = {"pageable", "pinned"};
static const double sizes[] = {4096, 65536, 1 << 20, 64 << 20, 256 << 20};

static enum pb_status take(struct pb_bench *bench, struct pb_link *link,
                           struct pb_recording *recording, struct pb_link_result *result_out,
                           struct pb_error *err)
{
    enum pb_status status;

    link->repeats = link->bytes <= SMALL_BYTES ? SMALL_REPEATS : LARGE_REPEATS;
    status = bench->device->ops->link(bench->device, link, result_out, err);
    if (status == PB_OK && result_out->mismatch_count > 0)
        snprintf(recording->message, sizeof(recording->message),
                 "%llu words of a transfer of %llu bytes arrived wrong",
                 (unsigned long long)result_out->mismatch_count, (unsigned long long)link->bytes);
    return status;
}

enum pb_status pb_test_host_link(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err)
{
    struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("direction", "of the transfer", directions),
        PB_GRID_LABELS("memory", "of the host: pinned is locked to its pages", memories),
        PB_GRID_VALUES("bytes", "byte", "size of one transfer", sizes),
    };
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status;

    if (bench->battery == PB_QUICK)
        axes[2].length = QUICK_SIZES;
    status = pb_grid_open(matrix, axes, 3, "byte/s", "throughput of one transfer", err);
    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        struct pb_link_result result = {.seconds = 0};
        size_t at[PB_MATRIX_RANK_MAX];
        struct pb_link link;

        pb_grid_place(matrix, i, at);
        link = (struct pb_link){.kind = at[0] == 0 ? PB_LINK_TO_DEVICE : PB_LINK_FROM_DEVICE,
                                .pinned = at[1] == 1,
                                .bytes = (uint64_t)sizes[at[2]]};
        status = take(bench, &link, recording, &result, err);
        if (status == PB_OK)
            matrix->values[i] = (double)link.bytes / result.seconds;
        status = pb_grid_forgive(status);
    }
    return status;
}

enum pb_status pb_test_host_latency(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err)
{
    static const char *const quantities[] = {"median", "least"};
    static const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("direction", "of the transfer", directions),
        PB_GRID_LABELS("memory", "of the host: pinned is locked to its pages", memories),
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
        link = (struct pb_link){.kind = at[0] == 0 ? PB_LINK_TO_DEVICE : PB_LINK_FROM_DEVICE,
                                .pinned = at[1] == 1,
                                .bytes = WORD_BYTES};
        status = take(bench, &link, recording, &result, err);
        if (status == PB_OK) {
            matrix->values[i] = 1e9 * result.seconds;
            matrix->values[i + 1] = 1e9 * result.least_seconds;
        }
        status = pb_grid_forgive(status);
    }
    return status;
}

/* Drops this device from the list of all that can be opened. */
static size_t drop_self(const struct pb_bench *bench, struct pb_device_entry *entries, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].uuid, bench->info.uuid) != 0)
            entries[kept++] = entries[i];
    return kept < PEERS_MAX ? kept : PEERS_MAX;
}

static enum pb_status take_peer(struct pb_bench *bench, const char *uuid,
                                struct pb_recording *recording, double *bytes_per_s_out,
                                double *latency_ns_out, struct pb_error *err)
{
    struct pb_link link = {.kind = PB_LINK_FROM_PEER, .peer = uuid, .bytes = 64 << 20};
    struct pb_link_result result;
    enum pb_status status = take(bench, &link, recording, &result, err);

    if (status == PB_OK)
        *bytes_per_s_out = (double)link.bytes / result.seconds;
    link.bytes = WORD_BYTES;
    if (status == PB_OK)
        status = take(bench, &link, recording, &result, err);
    if (status == PB_OK)
        *latency_ns_out = 1e9 * result.seconds;
    return status;
}

static enum pb_status take_peers(struct pb_bench *bench, const struct pb_device_entry *peers,
                                 size_t count, struct pb_recording *recording, struct pb_error *err)
{
    static const char *const quantities[] = {"bandwidth", "latency"};
    const char *labels[PEERS_MAX];
    const struct pb_grid_axis axes[] = {
        {"peer", "", "PCI bus id of the device that is read", NULL, labels, count},
        PB_GRID_LABELS("quantity", "bandwidth in byte/s, latency in ns", quantities),
    };
    size_t reached = 0;
    enum pb_status status;

    for (size_t i = 0; i < count; i++)
        labels[i] = peers[i].pci_bus_id;
    status = pb_grid_open(&recording->matrix, axes, 2, "byte/s or ns",
                          "transfers from the other devices of the node", err);
    for (size_t i = 0; status == PB_OK && i < count; i++) {
        double *row = recording->matrix.values + 2 * i;

        status = take_peer(bench, peers[i].uuid, recording, &row[0], &row[1], err);
        reached += status == PB_OK;
        status = pb_grid_forgive(status);
    }
    if (status == PB_OK && reached == 0)
        return PB_UNSUPPORTED; /* err says why, of the last one */
    return status;
}

enum pb_status pb_test_peer_link(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0;
    enum pb_status status = bench->device->ops->enumerate(&entries, &count, err);

    if (status != PB_OK)
        return status;
    count = drop_self(bench, entries, count);
    if (count == 0)
        status = pb_fail(err, PB_UNSUPPORTED, "no other device on this node");
    else
        status = take_peers(bench, entries, count, recording, err);
    free(entries);
    return status;
}
