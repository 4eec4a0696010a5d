/*
 * Family parallel: chases beside the traffic of other SMs, and L2 as one SM alone leaves it.
 *
 *   loaded_latency   axes memory, share, quantity: a chase in L2 and one in DRAM on one SM while
 *                    the others read the same memory at 0 to 100% of what they can. Quantities:
 *                    median and 95% quantile of the latency (cycles, less overhead), bytes per
 *                    second that the others have read
 *   l2_persistence   axes access, line: latencies as stamped of about 1,024 lines of an array of an
 *                    eighth of L2 that one SM has read by normal accesses (normal) or by such as
 *                    request L2 to keep it (persisting), before all SMs wrote twice the size of L2;
 *                    alone: without these writes
 *   l2_whole         axes footprint, line: latencies as stamped of about 1,024 lines of an array
 *                    that this SM alone has read three times, from a quarter to twice the size of
 *                    L2 that the driver states. Where L2 has two halves, three plateaus appear:
 *                    lines in the near half, in the far half, and in DRAM
 */
#include <math.h>
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/tests.h"
#include "core/compare.h"
#include "core/order.h"

enum { LINE_BYTES = 128, L2_SLOTS = 2048, DRAM_SLOTS = 2048, RECORD = 384, WARM_DRAM = 32 };
enum { WHOLE_LINES = 1024, WHOLE_FOOTPRINTS = 11 };
enum { SHARES = 11, MEMORIES = 2, QUANTITIES = 3 };

static const double shares[SHARES] = {0,    0.125,  0.25,  0.375,  0.5, 0.625,
                                      0.75, 0.8125, 0.875, 0.9375, 1};
/* 4 KiB and a line: all slices alike, and 16 MiB in all: eight pages. */
static const uint64_t dram_stride_bytes = 8192, l2_stride_bytes = 4096 + LINE_BYTES;

/* One traced chase over `slots` places in a shuffled order. latency_out[chase.record] */
static enum pb_status take_loaded(struct pb_session *session, struct pb_loaded_chase *chase,
                                  size_t slots, uint64_t stride_bytes, uint32_t *latency_out,
                                  double *background_out, struct pb_error *err)
{
    uint64_t *offsets = malloc(slots * sizeof(*offsets));
    uint64_t *indices = malloc(chase->chase.record * sizeof(*indices));
    struct pb_chase_trace trace = {
        .latency_cycles = latency_out, .index_bytes = indices, .sm_id = -1};
    enum pb_status status;

    if (offsets == NULL || indices == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating a chase of %zu slots", slots);
    } else {
        for (size_t i = 0; i < slots; i++)
            offsets[i] = i * stride_bytes;
        pb_order_shuffle(offsets, slots, session->seed);
        chase->chase.offset_bytes = offsets;
        chase->chase.offset_count = slots;
        status =
            session->device->ops->loaded_chase(session->device, chase, &trace, background_out, err);
    }
    free(indices);
    free(offsets);
    return status;
}

/* A cell of loaded_latency; *most: what the others moved without a limit. */
static enum pb_status take_share(struct pb_session *session, enum pb_background background,
                                 double share, double most, double *values, struct pb_error *err)
{
    bool is_dram = background == PB_BACKGROUND_DRAM;
    size_t slots = is_dram ? DRAM_SLOTS : L2_SLOTS;
    struct pb_loaded_chase chase = {.chase = {.path = PB_PATH_GLOBAL_CG,
                                              .warm = is_dram ? WARM_DRAM : slots,
                                              .record = RECORD,
                                              .flush = is_dram,
                                              .carveout_bytes = -1,
                                              .sm = -1},
                                    .background = share > 0.0 ? background : PB_BACKGROUND_NONE,
                                    .background_bytes_per_s = share < 1.0 ? share * most : 0.0};
    uint32_t latency[RECORD];
    enum pb_status status =
        take_loaded(session, &chase, slots, is_dram ? dram_stride_bytes : l2_stride_bytes, latency,
                    &values[2], err);

    if (status != PB_OK)
        return status;
    qsort(latency, RECORD, sizeof(latency[0]), pb_compare_uint32);
    values[0] = latency[RECORD / 2] - session->overhead_cycles;
    values[1] = latency[RECORD - RECORD / 20] - session->overhead_cycles;
    return PB_OK;
}

enum pb_status pb_test_loaded_latency(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    static const char *const memories[MEMORIES] = {"l2", "dram"};
    static const char *const quantities[QUANTITIES] = {"median", "q95", "background"};
    static const enum pb_background backgrounds[MEMORIES] = {PB_BACKGROUND_L2, PB_BACKGROUND_DRAM};
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("memory", "what the chase and the others read", memories),
        PB_GRID_VALUES("share", "", "of the most that the other SMs can read", shares),
        PB_GRID_LABELS("quantity", "cycle, cycle, byte/s", quantities),
    };
    enum pb_status status = pb_grid_open(&recording->matrix, axes, 3, "by quantity",
                                         "latency of one SM beside the traffic of the others", err);

    for (size_t memory = 0; memory < MEMORIES; memory++) {
        double *values = recording->matrix.values + memory * SHARES * QUANTITIES, most = 0.0;

        for (size_t i = SHARES; i-- > 0 && status == PB_OK;) {
            status = take_share(session, backgrounds[memory], shares[i], most,
                                values + i * QUANTITIES, err);
            if (i == SHARES - 1 && status == PB_OK)
                most = values[i * QUANTITIES + 2];
        }
    }
    return status;
}

/* The footprints: shares of the driver's size, in whole steps. */
static size_t choose_footprints(const struct pb_session *session, double *bytes_out)
{
    static const double sizes[WHOLE_FOOTPRINTS] = {0.25, 0.375, 0.5,  0.625, 0.75, 0.875,
                                                   1,    1.125, 1.25, 1.5,   2};
    size_t count = 0;

    for (size_t i = 0; i < WHOLE_FOOTPRINTS; i++) {
        double bytes = floor(sizes[i] * (double)session->info.l2_bytes / PB_WORK_ARRAY_STEP) *
                       PB_WORK_ARRAY_STEP;

        if (bytes >= WHOLE_LINES * LINE_BYTES && (count == 0 || bytes > bytes_out[count - 1]) &&
            bytes < (double)session->info.memory_free_bytes / 2)
            bytes_out[count++] = bytes;
    }
    return count;
}

/* An odd number of lines apart, so that all sets and slices have their share. */
static uint64_t whole_stride(uint64_t bytes)
{
    return ((bytes / WHOLE_LINES / LINE_BYTES - 1) | 1) * LINE_BYTES;
}

/* A sample of an array's lines after `chase` said how it was read: a row of the matrix. */
static enum pb_status take_lines(struct pb_session *session, struct pb_loaded_chase chase,
                                 double *row, struct pb_error *err)
{
    uint32_t latency[WHOLE_LINES];
    double unused;
    enum pb_status status;

    chase.chase = (struct pb_chase){
        .path = PB_PATH_GLOBAL_CG, .record = WHOLE_LINES, .carveout_bytes = -1, .sm = 0};
    status = take_loaded(session, &chase, WHOLE_LINES, whole_stride(chase.read_bytes), latency,
                         &unused, err);
    for (size_t i = 0; i < WHOLE_LINES && status == PB_OK; i++)
        row[i] = latency[i];
    return status;
}

/* A matrix of such samples over an axis; refused where it is empty. */
static enum pb_status open_lines(const struct pb_session *session, const struct pb_grid_axis *axis,
                                 struct pb_matrix *matrix_out, struct pb_error *err)
{
    const struct pb_grid_axis axes[] = {
        *axis,
        PB_GRID_COUNTED("line", "lines of the array, as they were loaded", WHOLE_LINES),
    };

    if (axis->length == 0)
        return pb_fail(err, PB_UNSUPPORTED, "an L2 of %llu bytes: too small to sample",
                       (unsigned long long)session->info.l2_bytes);
    return pb_grid_open(matrix_out, axes, 2, "cycle", "latency as stamped, overhead included", err);
}

enum pb_status pb_test_l2_whole(struct pb_session *session, struct pb_recording *recording,
                                struct pb_error *err)
{
    double footprints[WHOLE_FOOTPRINTS] = {0};
    size_t count = choose_footprints(session, footprints);
    const struct pb_grid_axis axis = {"footprint", "byte", "array that the SM has read three times",
                                      footprints,  NULL,   count};
    enum pb_status status = open_lines(session, &axis, &recording->matrix, err);

    for (size_t i = 0; i < count && status == PB_OK; i++)
        status =
            take_lines(session, (struct pb_loaded_chase){.read_bytes = (uint64_t)footprints[i]},
                       recording->matrix.values + i * WHOLE_LINES, err);
    return status;
}

enum pb_status pb_test_l2_persistence(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    static const char *const accesses[] = {"alone", "normal", "persisting"};
    enum { ACCESSES = 3, L2_SHARE = 8, PERSISTING = 2 };
    uint64_t bytes = session->info.l2_bytes / L2_SHARE / PB_WORK_ARRAY_STEP * PB_WORK_ARRAY_STEP;
    struct pb_grid_axis axis = PB_GRID_LABELS("access", "how the array was read before", accesses);
    enum pb_status status;

    if (bytes < WHOLE_LINES * LINE_BYTES)
        axis.length = 0;
    status = open_lines(session, &axis, &recording->matrix, err);
    for (size_t i = 0; i < ACCESSES && status == PB_OK; i++)
        status = take_lines(
            session,
            (struct pb_loaded_chase){.read_bytes = bytes,
                                     .is_persisting = i == PERSISTING,
                                     .evict_bytes = i > 0 ? 2 * session->info.l2_bytes : 0},
            recording->matrix.values + i * WHOLE_LINES, err);
    return status;
}
