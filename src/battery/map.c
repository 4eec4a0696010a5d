/*
 * Family map: every SM by itself, and its way to every part of L2.
 *
 *   sm_latency   for each SM a pass in L1 (phase "l1", path global_ca) and one in L2 (phase "l2",
 *                path global_cg); the column sm_id distinguishes them
 *   l2_map       axes touch, sm, line: one access to each of 1,024 lines from every SM, by a load
 *                and by an atomic; cycles as stamped, overhead included. Atomics are done where a
 *                line is at home, loads by the nearest copy (facts 2.10).
 *
 * Limit: an SM that the device does not let us choose (MIG, another process) is left out, and the
 * message counts them.
 */
#include <stdlib.h>

#include "battery/chase.h"
#include "battery/grid.h"
#include "battery/sms.h"
#include "battery/tests.h"

enum {
    L1_BYTES = 1024,
    L1_STRIDE_BYTES = 128,
    L2_LINES = 512,
    L2_STRIDE_BYTES = 4096 + 5 * 32, /* over all slices alike, and all sets of a small L2 */
    PASSES_L1 = 256,
    PASSES_L2 = 4,
    MAP_LINES = 1024,
    MAP_STRIDE_BYTES = 4096 + 128, /* so that all address bits below 4 MiB take part */
    MAP_WARM = 2
};

static enum pb_status take_pass(struct pb_session *session, enum pb_path path, const char *phase,
                                uint64_t slots, uint64_t stride_bytes, uint64_t passes, uint32_t sm,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase,
                                 .footprint_bytes = slots * stride_bytes,
                                 .stride_bytes = stride_bytes,
                                 .warm = 2 * slots,
                                 .timed = passes * slots,
                                 .on_sm = true,
                                 .sm = sm};

    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status take_passes(struct pb_session *session, uint32_t sm, const void *context,
                                  struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = take_pass(session, PB_PATH_GLOBAL_CA, "l1", L1_BYTES / L1_STRIDE_BYTES,
                                      L1_STRIDE_BYTES, PASSES_L1, sm, recording, err);

    (void)context;
    if (status != PB_OK)
        return status;
    return take_pass(session, PB_PATH_GLOBAL_CG, "l2", L2_LINES, L2_STRIDE_BYTES, PASSES_L2, sm,
                     recording, err);
}

enum pb_status pb_test_sm_latency(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    return pb_sms_each(session, take_passes, NULL, recording, err);
}

static enum pb_status open_map(const struct pb_session *session, struct pb_matrix *matrix,
                               struct pb_error *err)
{
    static const char *const touches[] = {"load", "atomic"};
    double lines[MAP_LINES];
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("touch", "what is done to the line", touches),
        PB_GRID_SMS(session),
        PB_GRID_VALUES("line", "byte", "offset of the line", lines),
    };

    for (size_t i = 0; i < MAP_LINES; i++)
        lines[i] = (double)i * MAP_STRIDE_BYTES;
    return pb_grid_open(matrix, axes, 3, "cycle", "latency as stamped, overhead included", err);
}

/* One row of the map: the lines of a touch (its context), from one SM. */
static enum pb_status take_row(struct pb_session *session, uint32_t sm, const void *context,
                               struct pb_recording *recording, struct pb_error *err)
{
    const enum pb_touch *touch = context;
    size_t row = (size_t)*touch * session->info.sm_count + sm;
    double *values = recording->matrix.values + row * MAP_LINES;
    uint64_t offsets[MAP_LINES];
    uint32_t latency[MAP_LINES];
    const struct pb_map map = {.touch = *touch,
                               .offset_bytes = offsets,
                               .offset_count = MAP_LINES,
                               .sms = &sm,
                               .sm_count = 1,
                               .warm = MAP_WARM};
    enum pb_status status;

    for (size_t i = 0; i < MAP_LINES; i++)
        offsets[i] = i * MAP_STRIDE_BYTES;
    status = session->device->ops->map(session->device, &map, latency, err);
    for (size_t i = 0; status == PB_OK && i < MAP_LINES; i++)
        values[i] = latency[i];
    return status;
}

enum pb_status pb_test_l2_map(struct pb_session *session, struct pb_recording *recording,
                              struct pb_error *err)
{
    static const enum pb_touch touches[] = {PB_TOUCH_LOAD, PB_TOUCH_ATOMIC}; /* as on the axis */
    enum pb_status status = open_map(session, &recording->matrix, err);

    for (size_t i = 0; status == PB_OK && i < 2; i++)
        status = pb_sms_each(session, take_row, &touches[i], recording, err);
    return status;
}
