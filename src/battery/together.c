/*
 * Family link, all GPUs of a node at once: what they take from each other.
 *
 *   host_link_concurrent   axes direction, memory, quantity
 *   peer_link_concurrent   axes peer (by PCI bus id), quantity
 *
 * Quantities are the throughput of this GPU's own transfers in byte/s, the median of many, and the
 * number of GPUs that began with it. A barrier stands before every cell, and a cell is long against
 * what they need to get going.
 *
 * Limits: they begin together; a faster one ends before the others. A device
 * without memory for a transfer leaves the cell empty, reports that, and has passed the barrier all
 * the same. One that has no others, or no plumb-run above it that knows them, records that. One
 * that comes when the others have begun without it fails: it would measure another test.
 */
#include <stdio.h>
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/link.h"
#include "battery/tests.h"

/*
 * Transfers of a cell: about 40 ms. Devices begin within a few milliseconds of each other, and the
 * median is of those in the middle.
 */
enum { PINNED_REPEATS = 32, PAGEABLE_REPEATS = 4, PEER_REPEATS = 128 };

static const char *const quantities[] = {"throughput", "devices"};

/* How many devices began the cells together, and which found no room; for the message. */
struct participants {
    int64_t least, most;
    struct pb_grid_shortage shortage;
};

#define NO_PARTICIPANTS ((struct participants){0, 0, PB_GRID_ENOUGH})

/* One cell: meets, transfers, and fills values[2]. What it may lack is forgiven. */
static enum pb_status take_cell(struct pb_session *session, const struct pb_link *link,
                                int64_t number, struct pb_recording *recording,
                                struct participants *met, double *values, struct pb_error *err)
{
    struct pb_link_result result;
    struct pb_error cause = PB_ERROR_INIT;
    int64_t count;
    enum pb_status status = pb_session_barrier(session, recording->name, number, &count, err);

    if (status == PB_OK && number == 0 && count == 1)
        return pb_fail(err, PB_NOT_FOUND, "no other device of this node measures with this one");
    if (status == PB_OK && count == 0)
        return pb_fail(err, PB_DEVICE,
                       "late: the other devices of this node measured without this one; --resume "
                       "repeats the test with all of them");
    if (status != PB_OK)
        return status;
    status = pb_link_take(session, link, recording, &result, &cause);
    if (status != PB_OK)
        return pb_grid_forgive_shortage(&met->shortage, pb_grid_forgive(status), &cause, err);
    values[0] = (double)link->bytes / result.seconds;
    values[1] = (double)count;
    met->least = met->least == 0 || count < met->least ? count : met->least;
    met->most = count > met->most ? count : met->most;
    return PB_OK;
}

/* Unless the message has something worse. */
static void describe_participants(const struct participants *met, struct pb_recording *recording)
{
    if (recording->message[0] != '\0' || met->most == 0)
        return;
    if (met->least == met->most)
        snprintf(recording->message, sizeof(recording->message), "%lld devices at once",
                 (long long)met->most);
    else
        snprintf(recording->message, sizeof(recording->message), "%lld to %lld devices at once",
                 (long long)met->least, (long long)met->most);
}

/* The end of a test of so many cells. That there is no other device is no failure of this one. */
static enum pb_status conclude(const struct participants *met, size_t cell_count,
                               enum pb_status status, struct pb_recording *recording,
                               struct pb_error *err)
{
    if (status == PB_OK)
        status = pb_grid_report_shortage(&met->shortage, cell_count, recording, err);
    describe_participants(met, recording);
    return status == PB_NOT_FOUND && met->most == 0 ? PB_UNSUPPORTED : status;
}

enum pb_status pb_test_host_link_concurrent(struct pb_session *session,
                                            struct pb_recording *recording, struct pb_error *err)
{
    static const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("direction", "of the transfer", pb_link_directions),
        PB_GRID_LABELS("memory", "of the host: pinned is locked to its pages", pb_link_memories),
        PB_GRID_LABELS("quantity", "byte/s of this device, and devices at once", quantities),
    };
    struct pb_matrix *matrix = &recording->matrix;
    struct participants met = NO_PARTICIPANTS;
    enum pb_status status = pb_grid_open(matrix, axes, 3, "by quantity",
                                         "transfers of 64 MiB, all devices at once", err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i += 2) {
        size_t at[PB_MATRIX_RANK_MAX];
        struct pb_link link;

        pb_grid_place(matrix, i, at);
        link = pb_link_host(at[0], at[1], PB_LINK_BULK_BYTES);
        link.repeats = link.pinned ? PINNED_REPEATS : PAGEABLE_REPEATS;
        status =
            take_cell(session, &link, (int64_t)i / 2, recording, &met, &matrix->values[i], err);
    }
    return conclude(&met, pb_matrix_size(matrix) / 2, status, recording, err);
}

static enum pb_status take_peers(struct pb_session *session, const struct pb_device_entry *peers,
                                 size_t count, struct pb_recording *recording, struct pb_error *err)
{
    const struct pb_grid_axis axis =
        PB_GRID_LABELS("quantity", "byte/s of this device, and devices at once", quantities);
    struct participants met = NO_PARTICIPANTS;
    enum pb_status status = pb_link_open_grid(
        peers, count, &axis, "by quantity", "transfers of 64 MiB from a peer, all devices at once",
        &recording->matrix, err);

    for (size_t i = 0; status == PB_OK && i < count; i++) {
        const struct pb_link link = {.kind = PB_LINK_FROM_PEER,
                                     .peer = peers[i].uuid,
                                     .bytes = PB_LINK_BULK_BYTES,
                                     .repeats = PEER_REPEATS};

        status = take_cell(session, &link, (int64_t)i, recording, &met,
                           &recording->matrix.values[2 * i], err);
    }
    return conclude(&met, count, status, recording, err);
}

enum pb_status pb_test_peer_link_concurrent(struct pb_session *session,
                                            struct pb_recording *recording, struct pb_error *err)
{
    struct pb_device_entry *peers = NULL;
    size_t count = 0;
    enum pb_status status = pb_link_peers(session, &peers, &count, err);

    if (status == PB_OK)
        status = take_peers(session, peers, count, recording, err);
    free(peers);
    return status;
}
