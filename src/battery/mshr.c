/*
 * Family mshr: how many misses may be outstanding at once (N14 5.2; facts 2.12).
 *
 * Traffic is l2 (L1 misses that L2 serves) or dram (nothing has the lines). All cycles are those of
 * the slowest warp, from before its first load until all its data have come, overhead included. A
 * step over loads is a warp's limit, a step over warps times loads the SM's.
 *
 *   mshr         axes traffic, lanes, warps, loads: all together, coarsely
 *   mshr_loads   axes statistic, traffic, lanes, loads: one warp, every number of loads
 *   mshr_warps   axes statistic, traffic, loads, warps: one lane of each, every number of warps
 *   mshr_lanes   axes statistic, traffic, warps, lanes: one load of each, every number of lanes
 *
 * The statistic of the last three is the least of a few repeats, and their median.
 */
#include "battery/grid.h"
#include "battery/tests.h"

enum { COUNT_MAX = 32, LOADS_MAX = 48, STRIDE_BYTES = 256, REPEATS = 3 };

static const char *const traffics[] = {"l2", "dram"};
static const char *const statistics[] = {"least", "median"};
static const double every[LOADS_MAX] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48};

/* The slowest warp of one burst; *cycles_out stays as it is where the device cannot do it. */
static enum pb_status take(struct pb_session *session, const struct pb_burst *burst,
                           double *cycles_out, struct pb_error *err)
{
    uint32_t cycles[COUNT_MAX] = {0}, slowest = 0;
    enum pb_status status = session->device->ops->burst(session->device, burst, cycles, err);

    if (status != PB_OK)
        return pb_grid_forgive(status);
    for (uint32_t i = 0; i < burst->warps; i++)
        slowest = cycles[i] > slowest ? cycles[i] : slowest;
    *cycles_out = slowest;
    return PB_OK;
}

enum pb_status pb_test_mshr(struct pb_session *session, struct pb_recording *recording,
                            struct pb_error *err)
{
    static const double lanes[] = {1, 8, 32};
    static const double warps[] = {1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 16, 17, 20, 24, 32};
    static const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("traffic", "what serves the loads", traffics),
        PB_GRID_VALUES("lanes", "", "threads of a warp that load", lanes),
        PB_GRID_VALUES("warps", "", "warps of the one CTA", warps),
        {"loads", "", "independent loads of a thread", every, NULL, COUNT_MAX},
    };
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status =
        pb_grid_open(matrix, axes, 4, "cycle", "until the slowest warp has its data", err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        struct pb_burst burst = {.path = PB_PATH_GLOBAL_CA, .stride_bytes = STRIDE_BYTES};
        size_t at[PB_MATRIX_RANK_MAX];

        pb_grid_place(matrix, i, at);
        burst.flush = at[0] == 1;
        burst.lanes = (uint32_t)lanes[at[1]];
        burst.warps = (uint32_t)warps[at[2]];
        burst.loads = (uint32_t)every[at[3]];
        status = take(session, &burst, &matrix->values[i], err);
    }
    return status;
}

/* A few times, sorted; false in *measured_out where the device cannot do it. */
static enum pb_status repeat(struct pb_session *session, const struct pb_burst *burst,
                             double sorted_out[REPEATS], bool *measured_out, struct pb_error *err)
{
    *measured_out = false;
    for (size_t i = 0; i < REPEATS; i++) {
        double cycles = -1;
        size_t place = i;
        enum pb_status status = take(session, burst, &cycles, err);

        if (status != PB_OK || cycles < 0)
            return status;
        for (; place > 0 && sorted_out[place - 1] > cycles; place--)
            sorted_out[place] = sorted_out[place - 1];
        sorted_out[place] = cycles;
    }
    *measured_out = true;
    return PB_OK;
}

/* What a fine sweep varies along its third axis, and along its last one in steps of 1. */
struct fine {
    struct pb_grid_axis coarse;
    const char *name, *description;
    size_t most; /* of the last axis */
    void (*set)(struct pb_burst *burst, uint32_t coarse, uint32_t every);
};

static enum pb_status take_fine(struct pb_session *session, const struct fine *fine,
                                struct pb_recording *recording, struct pb_error *err)
{
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("statistic", "of the repeats", statistics),
        PB_GRID_LABELS("traffic", "what serves the loads", traffics),
        fine->coarse,
        {fine->name, "", fine->description, every, NULL, fine->most},
    };
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status =
        pb_grid_open(matrix, axes, 4, "cycle", "until the slowest warp has its data", err);
    size_t cells = pb_matrix_size(matrix) / 2; /* of one statistic */

    for (size_t i = 0; status == PB_OK && i < cells; i++) {
        struct pb_burst burst = {.path = PB_PATH_GLOBAL_CA, .stride_bytes = STRIDE_BYTES};
        double sorted[REPEATS];
        size_t at[PB_MATRIX_RANK_MAX];
        bool is_measured;

        pb_grid_place(matrix, i, at);
        burst.flush = at[1] == 1;
        burst.lanes = burst.warps = burst.loads = 1;
        fine->set(&burst, (uint32_t)fine->coarse.values[at[2]], (uint32_t)every[at[3]]);
        status = repeat(session, &burst, sorted, &is_measured, err);
        if (status == PB_OK && is_measured) {
            matrix->values[i] = sorted[0];
            matrix->values[cells + i] = sorted[REPEATS / 2];
        }
    }
    return status;
}

static void set_lanes_loads(struct pb_burst *burst, uint32_t lanes, uint32_t loads)
{
    burst->lanes = lanes;
    burst->loads = loads;
}

static void set_loads_warps(struct pb_burst *burst, uint32_t loads, uint32_t warps)
{
    burst->loads = loads;
    burst->warps = warps;
}

static void set_warps_lanes(struct pb_burst *burst, uint32_t warps, uint32_t lanes)
{
    burst->warps = warps;
    burst->lanes = lanes;
}

enum pb_status pb_test_mshr_loads(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    static const double lanes[] = {1, 2, 4, 8, 16, 32};
    const struct fine fine = {PB_GRID_VALUES("lanes", "", "threads of the warp that load", lanes),
                              "loads", "independent loads of a thread", LOADS_MAX, set_lanes_loads};

    return take_fine(session, &fine, recording, err);
}

enum pb_status pb_test_mshr_warps(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    static const double loads[] = {1, 2, 4, 8, 16, 32};
    const struct fine fine = {PB_GRID_VALUES("loads", "", "independent loads of a thread", loads),
                              "warps", "warps of the one CTA", COUNT_MAX, set_loads_warps};

    return take_fine(session, &fine, recording, err);
}

enum pb_status pb_test_mshr_lanes(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    static const double warps[] = {1, 2, 4, 8, 16, 32};
    const struct fine fine = {PB_GRID_VALUES("warps", "", "warps of the one CTA", warps), "lanes",
                              "threads of a warp that load", COUNT_MAX, set_warps_lanes};

    return take_fine(session, &fine, recording, err);
}
