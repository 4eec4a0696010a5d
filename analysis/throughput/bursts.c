/* The matrix of bursts, and its times against a model's. */
#include "analysis/throughput/bursts.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analysis/statistics/sort.h"

enum { AXIS_TRAFFIC, AXIS_LANES, AXIS_WARPS, AXIS_LOADS, AXES };

/* A time within this part of a latency is as predicted. */
static const double close_share = 0.25;

size_t pb_bursts_warps(const struct pb_bursts *bursts)
{
    return bursts->matrix->axes[AXIS_WARPS].length;
}

size_t pb_bursts_loads(const struct pb_bursts *bursts)
{
    return bursts->matrix->axes[AXIS_LOADS].length;
}

unsigned pb_bursts_warps_at(const struct pb_bursts *bursts, size_t row)
{
    return (unsigned)bursts->matrix->axes[AXIS_WARPS].values[row];
}

unsigned pb_bursts_loads_at(const struct pb_bursts *bursts, size_t cell)
{
    return (unsigned)bursts->matrix->axes[AXIS_LOADS].values[cell];
}

static double time_at(const struct pb_bursts *bursts, size_t row, size_t cell)
{
    return bursts->matrix->values[bursts->first + row * pb_bursts_loads(bursts) + cell];
}

/* Whole numbers from 1 to most, each larger than the one before: no more than `most` of them. */
static bool counts_to(const struct pb_axis *axis, double most)
{
    for (size_t i = 0; i < axis->length; i++)
        if (!(axis->values[i] > (i == 0 ? 0.0 : axis->values[i - 1]) && axis->values[i] <= most) ||
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
           counts_to(&matrix->axes[AXIS_WARPS], PB_OUTSTANDING_WARPS_MAX) &&
           counts_to(&matrix->axes[AXIS_LOADS], PB_OUTSTANDING_LOADS_MAX);
}

/* Cells with so few loads that none waits for a register. */
static bool is_free(const struct pb_bursts *bursts, size_t row, size_t cell)
{
    enum { LOADS = 4, TOTAL = 16 };
    unsigned warps = pb_bursts_warps_at(bursts, row), loads = pb_bursts_loads_at(bursts, cell);

    return loads <= LOADS && warps * loads <= TOTAL && isfinite(time_at(bursts, row, cell));
}

/* Median over such cells: of the cost of a further load; or, that given, of the first one's. */
static double median_of_free(const struct pb_bursts *bursts, double issue_cycles)
{
    enum { CELLS_MAX = 256 };
    double values[CELLS_MAX];
    size_t count = 0;

    for (size_t row = 0; row < pb_bursts_warps(bursts); row++) {
        for (size_t cell = 0; cell < pb_bursts_loads(bursts); cell++) {
            double more =
                (double)pb_bursts_warps_at(bursts, row) * (double)pb_bursts_loads_at(bursts, cell) -
                1.0;
            double time = time_at(bursts, row, cell);

            if (count == CELLS_MAX || !is_free(bursts, row, cell))
                continue;
            if (!isnan(issue_cycles))
                values[count++] = time - more * issue_cycles;
            else if (more > 0.0)
                values[count++] = (time - time_at(bursts, 0, 0)) / more;
        }
    }
    return count == 0 ? NAN : pb_median(values, count);
}

enum pb_status pb_bursts_read(const struct pb_recording *recording, const char *traffic,
                              struct pb_bursts *bursts_out, struct pb_error *err)
{
    const struct pb_matrix *matrix = &recording->matrix;
    struct pb_bursts bursts = {matrix, SIZE_MAX, NAN, 0.0, 0.0};
    size_t cells;

    if (!is_readable(matrix))
        return pb_fail(err, PB_NOT_FOUND,
                       "not recorded: no matrix of traffic, lanes, warps and loads");
    cells = matrix->axes[AXIS_WARPS].length * matrix->axes[AXIS_LOADS].length;
    for (size_t i = 0; i < matrix->axes[AXIS_TRAFFIC].length; i++)
        for (size_t k = 0; k < matrix->axes[AXIS_LANES].length; k++)
            if (strncmp(matrix->axes[AXIS_TRAFFIC].labels[i], traffic, PB_NAME_LENGTH) == 0 &&
                matrix->axes[AXIS_LANES].values[k] == 1.0)
                bursts.first = (i * matrix->axes[AXIS_LANES].length + k) * cells;
    if (bursts.first == SIZE_MAX || matrix->axes[AXIS_WARPS].values[0] != 1.0 ||
        matrix->axes[AXIS_LOADS].values[0] != 1.0)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no load by one lane of one warp");
    bursts.latency_cycles = time_at(&bursts, 0, 0);
    if (!(bursts.latency_cycles > 0.0) || !isfinite(bursts.latency_cycles))
        return pb_fail(err, PB_NOT_FOUND, "not recorded: the time of a single load");
    if (recording->overhead_cycles > 0.0 &&
        recording->overhead_cycles < bursts.latency_cycles / 2.0)
        bursts.overhead_cycles = recording->overhead_cycles;
    bursts.issue_cycles = fmax(0.0, median_of_free(&bursts, NAN));
    if (isnan(bursts.issue_cycles))
        return pb_fail(err, PB_NOT_FOUND,
                       "sweep too small: no burst is small enough to have no load that waits");
    bursts.latency_cycles = median_of_free(&bursts, bursts.issue_cycles);
    *bursts_out = bursts;
    return PB_OK;
}

/* The most loads of a row's cells that the range takes in; 0: the row lies outside. */
static unsigned most_loads(const struct pb_bursts *bursts, const struct pb_bursts_range *range,
                           unsigned warps)
{
    unsigned most = 0;

    if (warps < range->warps_least || warps > range->warps_most)
        return 0;
    for (size_t cell = 0; cell < pb_bursts_loads(bursts); cell++) {
        unsigned loads = pb_bursts_loads_at(bursts, cell);

        if (warps * loads <= range->total_most)
            most = loads;
    }
    return most;
}

/* Gives up once the error is beyond `bound`: then the fit is worse than that, and says no more. */
static struct pb_bursts_fit judge(const struct pb_bursts *bursts,
                                  const struct pb_bursts_range *range, double stamp_cycles,
                                  double bound, struct pb_outstanding *outstanding)
{
    struct pb_bursts_fit fit = {0, 0, 0.0};
    double most = close_share * outstanding->latency, last[PB_OUTSTANDING_LOADS_MAX] = {0.0};

    for (size_t row = 0; row < pb_bursts_warps(bursts) && !(fit.error_cycles > bound); row++) {
        unsigned warps = pb_bursts_warps_at(bursts, row);
        unsigned loads_most = most_loads(bursts, range, warps);

        if (loads_most > 0)
            pb_outstanding_simulate(outstanding, warps, loads_most, last);
        for (size_t cell = 0; cell < pb_bursts_loads(bursts); cell++) {
            unsigned loads = pb_bursts_loads_at(bursts, cell);
            double time = time_at(bursts, row, cell) - stamp_cycles, error;

            if (!isfinite(time) || loads < 1 || loads > loads_most)
                continue;
            error = fabs(time - last[loads - 1]);
            fit.seen++;
            fit.explained += error < most;
            fit.error_cycles += fmin(error, most);
        }
    }
    return fit;
}

struct pb_bursts_fit pb_bursts_judge(const struct pb_bursts *bursts,
                                     const struct pb_bursts_range *range, double bound,
                                     struct pb_outstanding *outstanding)
{
    outstanding->latency = bursts->latency_cycles - bursts->overhead_cycles;
    outstanding->issue = bursts->issue_cycles;
    return judge(bursts, range, bursts->overhead_cycles, bound, outstanding);
}

struct pb_bursts_fit pb_bursts_judge_fitted(const struct pb_bursts *bursts,
                                            const struct pb_bursts_range *range, double bound,
                                            struct pb_outstanding *outstanding)
{
    static const double jitters[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0};
    static const double issue_steps[] = {-0.06, -0.03, 0.0, 0.03, 0.06};
    struct pb_bursts_fit best = {0, 0, INFINITY};

    for (size_t i = 0; i < sizeof(jitters) / sizeof(jitters[0]); i++) {
        double stamp_cycles = bursts->overhead_cycles + jitters[i];

        for (size_t k = 0; k < sizeof(issue_steps) / sizeof(issue_steps[0]); k++) {
            struct pb_bursts_fit fit;

            outstanding->latency = bursts->latency_cycles - stamp_cycles;
            outstanding->issue = fmax(0.0, bursts->issue_cycles + issue_steps[k]);
            fit = judge(bursts, range, stamp_cycles, fmin(bound, best.error_cycles), outstanding);
            if (fit.error_cycles < best.error_cycles)
                best = fit;
        }
    }
    return best;
}
