/*
 * Family mshr: how many misses may be under way at once (N14 5.2; facts 2.12).
 *
 * Axes traffic (l2: L1 misses that L2 serves; dram: nothing has the lines), lanes, warps, loads:
 * cycles of the slowest warp, from before its first load until all its data have come, overhead
 * included. A step over loads is a warp's limit, a step over warps times loads the SM's.
 */
#include "battery/grid.h"
#include "battery/tests.h"

enum { WARPS_MAX = 32, LOADS_MAX = 16, STRIDE_BYTES = 256 };

static const char *const traffics[] = {"l2", "dram"};
static const double lanes[] = {1, 8, 32};
static const double warps[] = {1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 16, 17, 20, 24, 32};
static const double loads[LOADS_MAX] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static enum pb_status take(struct pb_bench *bench, const struct pb_burst *burst, double *value_out,
                           struct pb_error *err)
{
    uint32_t cycles[WARPS_MAX] = {0}, slowest = 0;
    enum pb_status status = bench->device->ops->burst(bench->device, burst, cycles, err);

    if (status != PB_OK)
        return pb_grid_forgive(status);
    for (uint32_t i = 0; i < burst->warps; i++)
        slowest = cycles[i] > slowest ? cycles[i] : slowest;
    *value_out = slowest;
    return PB_OK;
}

enum pb_status pb_test_mshr(struct pb_bench *bench, struct pb_recording *recording,
                            struct pb_error *err)
{
    static const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("traffic", "what serves the loads", traffics),
        PB_GRID_VALUES("lanes", "", "threads of a warp that load", lanes),
        PB_GRID_VALUES("warps", "", "warps of the one CTA", warps),
        PB_GRID_VALUES("loads", "", "independent loads of a thread", loads),
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
        burst.loads = (uint32_t)loads[at[3]];
        status = take(bench, &burst, &matrix->values[i], err);
    }
    return status;
}
