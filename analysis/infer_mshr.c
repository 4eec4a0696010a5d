/*
 * mshr.per_warp and mshr.per_sm: how many misses are under way at once.
 *
 * Loads that find no free register wait for a whole latency, so that times over the number of loads
 * rise in steps. With at most P misses a warp and S an SM, l loads by each of w warps take
 * max(ceil(l / P), ceil(w l / S)) latencies; P and S are those that explain most cells. Only
 * neighbours along the axis of loads are compared, so that what a load costs to issue does not
 * matter.
 *
 * Limit: where issuing takes longer than a miss, there is no step, and no answer.
 *
 * Source: N14 section 5.2.
 */
#include "analysis/infer.h"

#include <math.h>
#include <string.h>

#include "analysis/confidence.h"

enum { AXIS_TRAFFIC, AXIS_LANES, AXIS_WARPS, AXIS_LOADS, AXES };
enum { PER_SM_MAX = 1024, PIECES_MAX = 60 };

/* A rise by more than this part of a latency is a step. */
static const double step_share = 0.4;

/* Cells that must be explained. */
static const double explained_share = 0.9;

/* Times of one kind of traffic by one lane a warp. */
struct grid {
    const struct pb_matrix *matrix;
    size_t first; /* its first cell */
    double latency_cycles;
};

static size_t warps_count(const struct grid *grid)
{
    return grid->matrix->axes[AXIS_WARPS].length;
}

static size_t loads_count(const struct grid *grid)
{
    return grid->matrix->axes[AXIS_LOADS].length;
}

static double time_at(const struct grid *grid, size_t warps, size_t loads)
{
    return grid->matrix->values[grid->first + warps * loads_count(grid) + loads];
}

static bool is_readable(const struct pb_matrix *matrix)
{
    static const char *const names[AXES] = {"traffic", "lanes", "warps", "loads"};

    if (matrix->rank != AXES || matrix->values == NULL)
        return false;
    for (size_t i = 0; i < AXES; i++)
        if (strncmp(matrix->axes[i].name, names[i], PB_NAME_LENGTH) != 0 ||
            matrix->axes[i].length == 0 || (i > 0 && matrix->axes[i].values == NULL))
            return false;
    return matrix->axes[AXIS_TRAFFIC].labels != NULL;
}

/* PB_NOT_FOUND: the matrix has not these axes, or no load by one lane of one warp. */
static enum pb_status read_grid(const struct pb_matrix *matrix, const char *traffic,
                                struct grid *grid_out, struct pb_error *err)
{
    struct grid grid = {matrix, SIZE_MAX, NAN};
    size_t cells;

    if (!is_readable(matrix))
        return pb_fail(err, PB_NOT_FOUND, "no matrix of traffic, lanes, warps and loads");
    cells = matrix->axes[AXIS_WARPS].length * matrix->axes[AXIS_LOADS].length;
    for (size_t i = 0; i < matrix->axes[AXIS_TRAFFIC].length; i++)
        for (size_t k = 0; k < matrix->axes[AXIS_LANES].length; k++)
            if (strncmp(matrix->axes[AXIS_TRAFFIC].labels[i], traffic, PB_NAME_LENGTH) == 0 &&
                matrix->axes[AXIS_LANES].values[k] == 1.0)
                grid.first = (i * matrix->axes[AXIS_LANES].length + k) * cells;
    if (grid.first == SIZE_MAX || matrix->axes[AXIS_WARPS].values[0] != 1.0 ||
        matrix->axes[AXIS_LOADS].values[0] != 1.0)
        return pb_fail(err, PB_NOT_FOUND, "no load by one lane of one warp");
    grid.latency_cycles = time_at(&grid, 0, 0);
    if (!(grid.latency_cycles > 0.0))
        return pb_fail(err, PB_NOT_FOUND, "one load alone has no time");
    *grid_out = grid;
    return PB_OK;
}

/* Latencies that loads before this one have waited for: steps so far. NaN cells break a row. */
static bool steps_at(const struct grid *grid, size_t warps, size_t loads, unsigned *steps_out)
{
    unsigned steps = 0;

    for (size_t i = 1; i <= loads; i++) {
        double rise = time_at(grid, warps, i) - time_at(grid, warps, i - 1);

        if (!isfinite(rise))
            return false;
        steps += rise > step_share * grid->latency_cycles;
    }
    *steps_out = steps;
    return true;
}

/* Loads of one warp before its first step; 0: none up to the end. */
static unsigned find_per_warp(const struct grid *grid)
{
    for (size_t i = 1; i < loads_count(grid); i++) {
        unsigned steps;

        if (!steps_at(grid, 0, i, &steps))
            return 0;
        if (steps > 0)
            return (unsigned)grid->matrix->axes[AXIS_LOADS].values[i - 1];
    }
    return 0;
}

static double ceil_ratio(double a, double b)
{
    return ceil(a / b);
}

/* Cells that per_warp and per_sm explain; *seen_out: cells that were measured. */
static size_t explain(const struct grid *grid, double per_warp, double per_sm, size_t *seen_out)
{
    size_t explained = 0, seen = 0;

    for (size_t w = 0; w < warps_count(grid); w++) {
        for (size_t l = 0; l < loads_count(grid); l++) {
            double warps = grid->matrix->axes[AXIS_WARPS].values[w];
            double loads = grid->matrix->axes[AXIS_LOADS].values[l];
            double waves = fmax(ceil_ratio(loads, per_warp), ceil_ratio(warps * loads, per_sm));
            unsigned steps;

            if (!steps_at(grid, w, l, &steps))
                break;
            seen++;
            /* the first load of a row may already wait, which no neighbour shows */
            explained += steps + fmax(1.0, ceil_ratio(warps, per_sm)) == waves;
        }
    }
    *seen_out = seen;
    return explained;
}

static void state_per_warp(struct pb_parameter *answer, unsigned per_warp,
                           const struct pb_votes *votes)
{
    if (per_warp == 0)
        pb_parameter_set_none(answer, "no step in the time of one warp's loads");
    else
        pb_parameter_set_number(answer, (struct pb_estimate){per_warp, per_warp, per_warp},
                                pb_votes_confidence(votes),
                                "N14 5.2: one warp's loads take a latency more beyond these");
}

static void state_per_sm(struct pb_parameter *answer, unsigned low, unsigned high, size_t explained,
                         size_t seen, const struct pb_votes *votes)
{
    if ((double)explained < explained_share * (double)seen)
        pb_parameter_set_none(answer, "the best count, %u to %u, explains only %zu of %zu cells",
                              low, high, explained, seen);
    else if (high >= PER_SM_MAX)
        pb_parameter_set_none(answer, "no step by the number of all loads of an SM");
    else
        pb_parameter_set_number(answer, (struct pb_estimate){(low + high) / 2, low, high},
                                pb_votes_confidence(votes) / (high - low + 1),
                                "N14 5.2: explains the steps in %zu of %zu cells over warps and "
                                "loads",
                                explained, seen);
}

enum pb_status pb_infer_mshr(const struct pb_case *at, struct pb_error *err)
{
    size_t best = 0, seen = 0;
    unsigned per_warp, low = 0, high = 0;
    struct pb_votes votes = {0, 0};
    struct grid grid = {NULL, 0, 0.0};
    enum pb_status status = read_grid(&at->recordings[0].matrix, "l2", &grid, err);

    if (status != PB_OK)
        return status;
    per_warp = find_per_warp(&grid);
    for (unsigned per_sm = 1; per_sm <= PER_SM_MAX; per_sm++) {
        size_t explained = explain(&grid, per_warp > 0 ? per_warp : INFINITY, per_sm, &seen);

        if (explained > best) {
            best = explained;
            low = per_sm;
        }
        if (explained == best)
            high = per_sm;
    }
    pb_votes_add_share(&votes, best, seen, PIECES_MAX);
    state_per_warp(pb_case_answer(at, "per_warp"), per_warp, &votes);
    state_per_sm(pb_case_answer(at, "per_sm"), low, high, best, seen, &votes);
    return PB_OK;
}
