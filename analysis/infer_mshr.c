/*
 * mshr.per_warp and mshr.per_sm: how many misses are under way at once.
 *
 * Loads that find no free register wait for the oldest one, so that times over the number of loads
 * rise in steps. A warp's limit shows in one warp's loads. The first steps of several warps bracket
 * the SM's limit, and of what they leave, that number is stated which foretells the times best,
 * played through load by load.
 *
 * Limit: where issuing takes longer than a miss, there is no step, and no answer.
 *
 * Source: N14 section 5.2.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/flight.h"

enum { AXIS_TRAFFIC, AXIS_LANES, AXIS_WARPS, AXIS_LOADS, AXES };
enum { LOADS_MAX = 64, PIECES_MAX = 60 };

/* A rise by more than this part of a latency is a step. */
static const double step_share = 0.4;

/* A time within this part of a latency is as foretold. */
static const double close_share = 0.25;

/* Cells that must be explained. */
static const double explained_share = 0.9;

/* Times of one kind of traffic by one lane a warp. */
struct grid {
    const struct pb_matrix *matrix;
    size_t first;                           /* its first cell */
    double latency_cycles, overhead_cycles; /* one load as it was stamped; of that, the stamps */
};

static size_t warps_count(const struct grid *grid)
{
    return grid->matrix->axes[AXIS_WARPS].length;
}

static size_t loads_count(const struct grid *grid)
{
    return grid->matrix->axes[AXIS_LOADS].length;
}

static double warps_at(const struct grid *grid, size_t i)
{
    return grid->matrix->axes[AXIS_WARPS].values[i];
}

static double loads_at(const struct grid *grid, size_t i)
{
    return grid->matrix->axes[AXIS_LOADS].values[i];
}

static double time_at(const struct grid *grid, size_t warps, size_t loads)
{
    return grid->matrix->values[grid->first + warps * loads_count(grid) + loads];
}

/* Whole numbers from 1 to most. */
static bool counts_to(const struct pb_axis *axis, double most)
{
    for (size_t i = 0; i < axis->length; i++)
        if (!(axis->values[i] >= 1.0 && axis->values[i] <= most) ||
            axis->values[i] != floor(axis->values[i]))
            return false;
    return true;
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
    return matrix->axes[AXIS_TRAFFIC].labels != NULL &&
           counts_to(&matrix->axes[AXIS_WARPS], PB_FLIGHT_WARPS_MAX) &&
           counts_to(&matrix->axes[AXIS_LOADS], LOADS_MAX);
}

/* PB_NOT_FOUND: the matrix has not these axes, or no load by one lane of one warp. */
static enum pb_status read_grid(const struct pb_matrix *matrix, const char *traffic,
                                struct grid *grid_out, struct pb_error *err)
{
    struct grid grid = {matrix, SIZE_MAX, NAN, 0.0};
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
            return (unsigned)loads_at(grid, i - 1);
    }
    return 0;
}

/* How well one pair of limits foretells the grid. */
struct verdict {
    unsigned per_sm;
    size_t explained, seen; /* cells */
    double error; /* sum over the cells, each at most as far off as still counts, cycles */
};

static struct verdict judge(const struct grid *grid, struct pb_flight *flight)
{
    struct verdict verdict = {flight->per_sm, 0, 0, 0.0};
    double most = close_share * flight->latency;

    for (size_t w = 0; w < warps_count(grid); w++) {
        for (size_t l = 0; l < loads_count(grid); l++) {
            double time = time_at(grid, w, l) - grid->overhead_cycles, error;

            if (!isfinite(time))
                continue;
            error = fabs(time - pb_flight_last(flight, (unsigned)warps_at(grid, w),
                                               (unsigned)loads_at(grid, l)));
            verdict.seen++;
            verdict.explained += error < most;
            verdict.error += fmin(error, most);
        }
    }
    return verdict;
}

/*
 * A row's first step says that so many loads of all its warps fit, and one more each do not; unless
 * the first ones are back when the last ones leave, after `most` loads.
 */
static void narrow(const struct grid *grid, unsigned per_warp, double most, unsigned *low,
                   unsigned *high)
{
    for (size_t w = 1; w < warps_count(grid); w++) {
        for (size_t l = 1; l < loads_count(grid); l++) {
            double before = warps_at(grid, w) * loads_at(grid, l - 1);
            double here = warps_at(grid, w) * loads_at(grid, l);
            unsigned steps;

            if (!steps_at(grid, w, l, &steps) || (per_warp > 0 && loads_at(grid, l) > per_warp) ||
                here > most)
                break;
            if (steps == 0)
                continue;
            if (before > *low)
                *low = (unsigned)before;
            if (here - 1.0 < *high)
                *high = (unsigned)here - 1;
            break;
        }
    }
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

/*
 * The same with the latency and the cost of issuing moved a little to where they fit best: each was
 * taken from a cell or two, and their noise adds up over hundreds of loads.
 */
static struct verdict judge_fitted(const struct grid *grid, struct pb_flight *flight)
{
    static const double latency_steps[] = {-2.0, -1.0, 1.0, 2.0};
    static const double issue_steps[] = {-0.06, -0.03, 0.03, 0.06};
    struct pb_flight trial = *flight;
    struct verdict best = judge(grid, &trial);

    for (size_t i = 0; i < 8; i++) {
        struct pb_flight moved = trial;
        struct verdict verdict;

        moved.latency = trial.latency + (i < 4 ? latency_steps[i] : 0.0);
        moved.issue = fmax(0.0, trial.issue + (i < 4 ? 0.0 : issue_steps[i - 4]));
        verdict = judge(grid, &moved);
        if (verdict.error >= best.error)
            continue;
        best = verdict;
        trial = moved;
    }
    return best;
}

static void rank(struct verdict verdict, struct verdict *best, struct verdict *second)
{
    if (best->seen == 0 || verdict.error < best->error) {
        *second = *best;
        *best = verdict;
    } else if (second->seen == 0 || verdict.error < second->error) {
        *second = verdict;
    }
}

/* What one kind of traffic says of the SM's limit; not seen: `reason` says why. */
struct finding {
    struct verdict best;
    bool is_seen;
    char reason[PB_TEXT_LENGTH];
};

/* The best number, unless it explains little, or another is as good but for one cell's worth. */
static void weigh(const struct verdict *best, const struct verdict *second, double cell_cycles,
                  struct finding *finding)
{
    finding->best = *best;
    if ((double)best->explained < explained_share * (double)best->seen)
        snprintf(finding->reason, sizeof(finding->reason),
                 "the best number, %u, foretells only %zu of %zu times", best->per_sm,
                 best->explained, best->seen);
    else if (second->error - best->error < cell_cycles)
        snprintf(finding->reason, sizeof(finding->reason),
                 "%u and %u foretell the times equally well", best->per_sm, second->per_sm);
    else
        finding->is_seen = true;
}

/* Tries every number that the first steps leave. PB_NO_MEMORY. */
static enum pb_status try_numbers(const struct grid *grid, struct pb_flight *flight, unsigned low,
                                  unsigned high, struct finding *finding, struct pb_error *err)
{
    struct verdict best = {0, 0, 0, INFINITY}, second = {0, 0, 0, INFINITY};
    enum pb_status status = PB_OK;

    flight->warp_free = calloc((size_t)PB_FLIGHT_WARPS_MAX * flight->per_warp, sizeof(double));
    flight->sm_free = calloc(high, sizeof(double));
    if (flight->warp_free == NULL || flight->sm_free == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "no memory for %u loads in flight", high);
    for (flight->per_sm = low; status == PB_OK && flight->per_sm <= high; flight->per_sm++)
        rank(judge_fitted(grid, flight), &best, &second);
    if (status == PB_OK)
        weigh(&best, &second, close_share * flight->latency, finding);
    free(flight->warp_free);
    free(flight->sm_free);
    return status;
}

static enum pb_status look_at(const struct grid *grid, unsigned per_warp, struct finding *finding,
                              struct pb_error *err)
{
    struct pb_flight flight = {.latency = grid->latency_cycles - grid->overhead_cycles};
    unsigned low = 1, high = UINT32_MAX;
    size_t last = warps_count(grid) - 1;

    flight.per_warp = per_warp > 0 ? per_warp : (unsigned)loads_at(grid, loads_count(grid) - 1);
    flight.issue = fmax(0.0, (time_at(grid, last, 0) - grid->latency_cycles) /
                                 fmax(1.0, warps_at(grid, last) - 1.0));
    narrow(grid, per_warp, flight.latency / fmax(flight.issue, 1e-3), &low, &high);
    *finding = (struct finding){.is_seen = false};
    if (high != UINT32_MAX && low <= high)
        return try_numbers(grid, &flight, low > 2 ? low - 2 : 1, high + 2, finding, err);
    snprintf(finding->reason, sizeof(finding->reason),
             high == UINT32_MAX ? "no step by the number of all loads of an SM"
                                : "%u loads in flight do not wait, but %u do",
             low, high + 1);
    return PB_OK;
}

/* Two kinds of traffic that both show a limit must show the same one. */
static void state_per_sm(struct pb_parameter *answer, const struct finding *near,
                         const struct finding *far)
{
    const struct finding *seen = near->is_seen ? near : far;
    double per_sm = seen->best.per_sm;
    struct pb_votes votes = {0, 0};

    if (!seen->is_seen) {
        pb_parameter_set_none(answer, "%s", near->reason);
        return;
    }
    if (near->is_seen && far->is_seen && near->best.per_sm != far->best.per_sm) {
        pb_parameter_set_none(answer, "traffic from L2 shows %u, from DRAM %u", near->best.per_sm,
                              far->best.per_sm);
        return;
    }
    pb_votes_add_share(&votes, seen->best.explained, seen->best.seen, PIECES_MAX);
    if (!near->is_seen || !far->is_seen)
        pb_votes_doubt(&votes);
    pb_parameter_set_number(answer, (struct pb_estimate){per_sm, per_sm, per_sm},
                            pb_votes_confidence(&votes),
                            "N14 5.2: foretells the times of %zu of %zu cells; %s",
                            seen->best.explained, seen->best.seen,
                            near->is_seen && far->is_seen ? "loads from L2 and DRAM agree"
                                                          : "by loads of one kind only");
}

enum pb_status pb_infer_mshr(const struct pb_case *at, struct pb_error *err)
{
    static const char *const traffics[] = {"l2", "dram"};
    const struct pb_recording *recording = &at->recordings[0];
    struct finding findings[2] = {{.is_seen = false}, {.is_seen = false}};
    struct pb_votes votes = {0, 0};
    unsigned per_warp = 0;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < 2 && status == PB_OK; i++) {
        struct grid grid = {&recording->matrix, 0, 0.0, 0.0};

        status = read_grid(&recording->matrix, traffics[i], &grid, err);
        if (status != PB_OK)
            return status;
        if (recording->overhead_cycles > 0.0 &&
            recording->overhead_cycles < grid.latency_cycles / 2.0)
            grid.overhead_cycles = recording->overhead_cycles;
        if (i == 0) {
            per_warp = find_per_warp(&grid);
            pb_votes_add_share(&votes, loads_count(&grid), loads_count(&grid), PIECES_MAX);
        }
        status = look_at(&grid, per_warp, &findings[i], err);
    }
    if (status != PB_OK)
        return status;
    state_per_warp(pb_case_answer(at, "per_warp"), per_warp, &votes);
    state_per_sm(pb_case_answer(at, "per_sm"), &findings[0], &findings[1]);
    return PB_OK;
}
