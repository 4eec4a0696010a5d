/*
 * Family link: the memory of the node's other GPUs, by one GPU at a time while the rest do nothing.
 *
 *   peer_chase   axes peer (by PCI bus id), path, state, line: latency as stamped of 256 loads, by
 *                plain loads (global_ca) and by loads past L1 (global_cg). States: the lines in no
 *                cache (cold), in the owner's L2 (warm), and loaded by the same SM before (again).
 *   peer_copy    axes peer, way, engine: byte/s of copies from the peer, to it, and both at once,
 *                where both ways count; by a copy engine, by several (each way in 4 parts at the
 *                same time), and by a kernel on all SMs
 */
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/link.h"
#include "battery/tests.h"
#include "core/order.h"

enum { LINES = 256, STATES = 3, PATHS = 2 };
static const uint64_t line_step_bytes = 4096 + 128; /* all slices alike, and one page */

enum { WAYS = 3, ENGINES = 3, STREAMS = 4, COPY_BYTES = 256 << 20, COPY_REPEATS = 4 };

static const enum pb_path paths[PATHS] = {PB_PATH_GLOBAL_CA, PB_PATH_GLOBAL_CG};
static const char *const states[STATES] = {"cold", "warm", "again"};

static struct pb_chase chase_of(const char *uuid, const uint64_t *offsets, enum pb_path path,
                                size_t state)
{
    return (struct pb_chase){.path = path,
                             .offset_bytes = offsets,
                             .offset_count = LINES,
                             .warm = state == 2 ? LINES : 0,
                             .record = LINES,
                             .prefill = state > 0,
                             .flush = state == 0,
                             .carveout_bytes = -1,
                             .sm = -1,
                             .peer = uuid};
}

/* All cells of a peer: values[PATHS][STATES][LINES]. */
static enum pb_status chase_peer(struct pb_session *session, const char *uuid, double *values,
                                 struct pb_error *err)
{
    uint64_t offsets[LINES], indices[LINES];
    uint32_t latency[LINES] = {0};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < LINES; i++)
        offsets[i] = i * line_step_bytes;
    pb_order_shuffle(offsets, LINES, session->seed);
    for (size_t i = 0; i < PATHS * STATES && status == PB_OK; i++) {
        struct pb_chase chase = chase_of(uuid, offsets, paths[i / STATES], i % STATES);
        struct pb_chase_trace trace = {
            .latency_cycles = latency, .index_bytes = indices, .sm_id = -1};

        status = session->device->ops->chase(session->device, &chase, &trace, err);
        for (size_t j = 0; j < LINES && status == PB_OK; j++)
            values[i * LINES + j] = latency[j];
    }
    return status;
}

enum pb_status pb_test_peer_chase(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    const char *labels[PB_LINK_PEERS_MAX];
    const char *path_names[PATHS] = {pb_path_name(paths[0]), pb_path_name(paths[1])};
    struct pb_grid_axis axes[] = {
        {.name = "peer"},
        PB_GRID_LABELS("path", "of the loads", path_names),
        PB_GRID_LABELS("state", "where the lines are before", states),
        PB_GRID_COUNTED("line", "lines of the array, as they were loaded", LINES),
    };
    struct pb_grid_shortage shortage = PB_GRID_ENOUGH;
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_device_entry *peers = NULL;
    size_t count = 0, reached = 0;
    enum pb_status status = pb_link_await_peers(session, recording, &peers, &count, err);

    if (status != PB_OK)
        return status;
    axes[0] = pb_link_peer_axis(peers, count, labels);
    status = pb_grid_open(&recording->matrix, axes, 4, "cycle",
                          "latency as stamped, overhead included", err);
    for (size_t i = 0; status == PB_OK && i < count; i++) {
        status = chase_peer(session, peers[i].uuid,
                            recording->matrix.values + i * PATHS * STATES * LINES, &cause);
        reached += status == PB_OK;
        status = pb_grid_forgive_shortage(&shortage, pb_grid_forgive(status), &cause, err);
    }
    free(peers);
    if (status == PB_OK && reached == 0)
        return pb_fail(err, PB_UNSUPPORTED, "%s", cause.message);
    return status == PB_OK ? pb_grid_report_shortage(&shortage, count, recording, err) : status;
}

/* A cell; wrong words are reported by pb_link_take(). */
static enum pb_status copy_cell(struct pb_session *session, const char *uuid, size_t way,
                                size_t engine, struct pb_recording *recording, double *value_out,
                                struct pb_error *err)
{
    static const enum pb_link_kind kinds[WAYS] = {PB_LINK_FROM_PEER, PB_LINK_TO_PEER,
                                                  PB_LINK_BOTH_PEER};
    const struct pb_link link = {.kind = kinds[way],
                                 .peer = uuid,
                                 .bytes = COPY_BYTES,
                                 .repeats = COPY_REPEATS,
                                 .streams = engine == 1 ? STREAMS : 1,
                                 .by_sms = engine == 2};
    struct pb_link_result result;
    enum pb_status status = pb_link_take(session, &link, recording, &result, err);

    if (status == PB_OK)
        *value_out =
            (double)link.bytes * (kinds[way] == PB_LINK_BOTH_PEER ? 2 : 1) / result.seconds;
    return status;
}

enum pb_status pb_test_peer_copy(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    static const char *const ways[WAYS] = {"from_peer", "to_peer", "both"};
    static const char *const engines[ENGINES] = {"copy_engine", "copy_engines", "sms"};
    const char *labels[PB_LINK_PEERS_MAX];
    struct pb_grid_axis axes[] = {
        {.name = "peer"},
        PB_GRID_LABELS("way", "of the copies", ways),
        PB_GRID_LABELS("engine", "what copies: one copy engine, several, or all SMs", engines),
    };
    struct pb_matrix *matrix = &recording->matrix;
    struct pb_grid_shortage shortage = PB_GRID_ENOUGH;
    struct pb_device_entry *peers = NULL;
    size_t count = 0;
    enum pb_status status = pb_link_await_peers(session, recording, &peers, &count, err);

    if (status != PB_OK)
        return status;
    axes[0] = pb_link_peer_axis(peers, count, labels);
    status = pb_grid_open(matrix, axes, 3, "byte/s", "copies of 256 MiB each way", err);
    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        struct pb_error cause = PB_ERROR_INIT;
        size_t at[PB_MATRIX_RANK_MAX];

        pb_grid_place(matrix, i, at);
        status = copy_cell(session, peers[at[0]].uuid, at[1], at[2], recording, &matrix->values[i],
                           &cause);
        status = pb_grid_forgive_shortage(&shortage, pb_grid_forgive(status), &cause, err);
    }
    free(peers);
    return status == PB_OK
               ? pb_grid_report_shortage(&shortage, pb_matrix_size(matrix), recording, err)
               : status;
}
