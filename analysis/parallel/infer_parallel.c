/*
 * What all SMs do at once, as parameters.
 *
 *   l2, dram         loaded_knee_share: the share of the most traffic that the other SMs move at
 *                    which the latency of one SM is 15% above that without traffic, between the two
 *                    measurements around it, or where it surely is not and surely is so far above;
 *                    loaded_latency_cycles: beside all of the traffic
 *   l2_near          size_bytes: of an array that one SM alone has read, the part that its own half
 *                    of L2 holds. With it l2.size_bytes, the largest array that both halves hold,
 *                    and the latencies of l2_near and l2_far by loads replace what tests by all SMs
 *                    state: these leave a copy of every line in each half and show one of them only
 *   shared, l1, l2   read_bytes_per_cycle_per_sm: the best word, the median SM, while all read
 *   l2_near, l2_far  read_bytes_per_cycle_per_sm, read_alone_bytes_per_cycle: of lines at home on
 *                    the reading SM's side, and on the other one; all SMs, and one; the median SM
 *   atomic           address_per_cycle, line_per_cycle, spread_per_cycle: additions of the whole
 *                    device, the median of the lines
 *                    near_, far_latency_cycles, near_, far_per_cycle: of one SM, by the side of L2
 *                    that is home to the line
 *   l2               persisting_share, normal_share: of lines that L2 was asked to keep and of
 *                    others, still there behind twice its size of other data
 *   bulk_copy        latency_cycles of the smallest copy; bytes_per_cycle_per_sm of the best size
 *   cluster_shared   latency_cycles, own_latency_cycles: medians over all pairs; bytes_per_cycle: a
 *                    list, by size of the cluster
 *   compute          wrong_runs; error_rate_limit: no error in n runs of all SMs together means a
 *                    rate below 3/n, at 95%; sustained_wrong_runs, sustained_error_rate_limit: of
 *                    the runs under a lasting load
 *   dram             sustained_wrong_words, sustained_error_rate_limit: of the words that were
 *                    copied meanwhile
 *
 * Source: facts 2.10 and 6.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/sample.h"
#include "analysis/statistics/sort.h"

/* Of the latency without traffic. */
static const double knee_rise = 0.15;

/* Sorts; NaN count as not there. Returns how many there are. */
static size_t sort_finite(double *values, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            values[kept++] = values[i];
    pb_sort(values, kept);
    return kept;
}

/* A copy of `count` values, `step` apart, sorted, to be freed; *count_out are finite. */
static enum pb_status copy_sorted(const double *values, size_t count, size_t step,
                                  double **sorted_out, size_t *count_out, struct pb_error *err)
{
    double *sorted = malloc((count + 1) * sizeof(*sorted));

    if (sorted == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu values", count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i * step];
    *count_out = sort_finite(sorted, count);
    *sorted_out = sorted;
    return PB_OK;
}

/* The median and the middle half, as a parameter. */
static enum pb_status state_median(struct pb_parameter *answer, const double *values, size_t count,
                                   size_t step, const char *method, struct pb_error *err)
{
    double *sorted = NULL;
    size_t finite = 0;
    enum pb_status status = copy_sorted(values, count, step, &sorted, &finite, err);

    if (status != PB_OK)
        return status;
    if (finite == 0)
        pb_parameter_set_none(answer, "not recorded: nothing was measured");
    else
        pb_parameter_set_number(answer,
                                (struct pb_estimate){pb_quantile(sorted, finite, 0.5),
                                                     pb_quantile(sorted, finite, 0.25),
                                                     pb_quantile(sorted, finite, 0.75)},
                                pb_confidence_of_one(), "%s: median of %zu", method, finite);
    free(sorted);
    return PB_OK;
}

/* ---- beside traffic ---- */

enum { QUANTITY_MEDIAN = 0, QUANTITY_BACKGROUND = 2 };

/* Where the latency passes `limit`, between two measurements, of which the later may have seen less
 * traffic; PB_ESTIMATE_NONE: nowhere. */
static struct pb_estimate find_knee(const double *cells, size_t shares, size_t step, double limit)
{
    double most = cells[(shares - 1) * step + QUANTITY_BACKGROUND];

    for (size_t i = 1; i < shares; i++) {
        const double *left = cells + (i - 1) * step, *right = cells + i * step;
        double low = left[QUANTITY_BACKGROUND] / most, high = right[QUANTITY_BACKGROUND] / most;
        double part =
            (limit - left[QUANTITY_MEDIAN]) / (right[QUANTITY_MEDIAN] - left[QUANTITY_MEDIAN]);

        if (right[QUANTITY_MEDIAN] < limit)
            continue;
        return (struct pb_estimate){low + part * (high - low), fmin(low, high), fmax(low, high)};
    }
    return PB_ESTIMATE_NONE;
}

/*
 * Medians of whole cycles are alike within some: where the latency rises slowly, the knee may lie
 * beyond the measurements around it.
 */
static struct pb_estimate bound_knee(const double *cells, size_t shares, size_t step, double limit)
{
    struct pb_estimate knee = find_knee(cells, shares, step, limit);
    double low = find_knee(cells, shares, step, limit - PB_ALIKE_CYCLES).value;
    double high = find_knee(cells, shares, step, limit + PB_ALIKE_CYCLES).value;

    knee.low = fmin(knee.low, low);
    knee.high = fmax(knee.high, isnan(high) ? 1.0 : high);
    return knee;
}

enum pb_status pb_infer_loaded(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"memory", true}, {"share", false}, {"quantity", true}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);
    size_t memory, shares, step;
    struct pb_estimate knee;
    const double *cells;

    if (status != PB_OK)
        return status;
    memory = pb_axis_label(&matrix->axes[0], at->inference->memory);
    shares = matrix->axes[1].length;
    step = matrix->axes[2].length;
    if (memory == matrix->axes[0].length || step <= QUANTITY_BACKGROUND || shares < 3)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no chase beside traffic");
    cells = matrix->values + memory * shares * step;
    for (size_t i = 0; i < shares; i++)
        if (!isfinite(cells[i * step]) || !isfinite(cells[i * step + QUANTITY_BACKGROUND]))
            return pb_fail(err, PB_NOT_FOUND, "not recorded: traffic at some shares");
    if (!(cells[(shares - 1) * step + QUANTITY_BACKGROUND] > 0.0))
        return pb_fail(err, PB_NOT_FOUND, "not applicable: no other SM made any traffic");
    knee = bound_knee(cells, shares, step, (1.0 + knee_rise) * cells[0]);
    if (isnan(knee.value))
        pb_parameter_set_none(
            pb_case_answer(at, "loaded_knee_share"),
            "not applicable: no knee: beside all of the traffic the latency is less than 15%% "
            "above that without");
    else
        pb_parameter_set_number(pb_case_answer(at, "loaded_knee_share"), knee,
                                pb_confidence_of_one(),
                                "latency 15%% above that without traffic, by the traffic measured");
    cells += (shares - 1) * step;
    pb_parameter_set_number(pb_case_answer(at, "loaded_latency_cycles"),
                            (struct pb_estimate){cells[0], cells[0], cells[1]},
                            pb_confidence_of_one(),
                            "beside %.3g GB/s of the other SMs: median, and the 95%% quantile",
                            1e-9 * cells[QUANTITY_BACKGROUND]);
    return PB_OK;
}

/* ---- L2, near and far ---- */

/*
 * Lines of two latencies may also be those of two caches, or of pages that a TLB holds and others:
 * what is stated of sides needs SMs that see the same lines otherwise, as far as l2_map was run.
 */
static bool may_have_sides(const struct pb_case *at)
{
    const struct pb_parameter *sides =
        pb_parameters_find(at->parameters, "l2", "partition_sm_counts");

    return at->inference->tests[1] == NULL || at->recordings[1].outcome != PB_TEST_OK ||
           sides == NULL || sides->kind != PB_VALUE_NONE;
}

static const char no_sides[] =
    "depends on l2.partition_sm_counts: SMs were not seen to have a side of L2 each";

/* What the smallest array shows of near lines, and DRAM's own test of those that are in no cache.
 */
struct classes {
    double near_max, dram_min;
};

static size_t count_below(const double *sorted, size_t count, double limit)
{
    size_t below = 0;

    while (below < count && sorted[below] < limit)
        below++;
    return below;
}

/* Sorts every row in place. False: a row has nothing. */
static bool sort_rows(double *values, size_t rows, size_t lines, size_t *counts_out)
{
    for (size_t i = 0; i < rows; i++) {
        counts_out[i] = sort_finite(values + i * lines, lines);
        if (counts_out[i] == 0)
            return false;
    }
    return true;
}

enum { ROWS_MAX = 32 };

/* Latencies of an SM's own arrays, less the overhead: a row for each size, sorted. */
struct arrays {
    const double *sizes, *rows;
    size_t counts[ROWS_MAX], row_count, line_count;
    struct classes classes;
};

static size_t count_near(const struct arrays *arrays, size_t row)
{
    return count_below(arrays->rows + row * arrays->line_count, arrays->counts[row],
                       arrays->classes.near_max);
}

static size_t count_cached(const struct arrays *arrays, size_t row)
{
    return count_below(arrays->rows + row * arrays->line_count, arrays->counts[row],
                       arrays->classes.dram_min);
}

/*
 * The near part: where some lines are near and others not, share times size is the same. The
 * interval holds what tests by all SMs stated: in these, misses begin and end gradually.
 */
static void state_near(const struct pb_case *at, const struct arrays *arrays,
                       const struct pb_parameter *by_all)
{
    static const double alike = 0.1;
    struct pb_parameter *answer = pb_case_answer(at, "size_bytes");
    double parts[ROWS_MAX];
    struct pb_votes votes = {0, 0};
    struct pb_estimate near;
    size_t count = 0;

    for (size_t i = 0; i < arrays->row_count; i++) {
        double share = (double)count_near(arrays, i) / (double)arrays->counts[i];

        if (share > 0.05 && share < 0.9)
            parts[count++] = share * arrays->sizes[i];
    }
    count = sort_finite(parts, count);
    if (count < 3 || parts[count - 1] - parts[0] > alike * parts[0]) {
        if (by_all->kind == PB_VALUE_NUMBER)
            pb_parameter_set_number(answer, by_all->numbers[0], by_all->confidence, "%.200s",
                                    by_all->method);
        else
            pb_parameter_set_none(answer, "too few observations: arrays of which a part is near");
        return;
    }
    near = (struct pb_estimate){pb_quantile(parts, count, 0.5), parts[0], parts[count - 1]};
    if (by_all->kind == PB_VALUE_NUMBER) {
        near.low = fmin(near.low, by_all->numbers[0].low);
        near.high = fmax(near.high, by_all->numbers[0].high);
    }
    pb_votes_add_many(&votes, count, count);
    pb_parameter_set_number(answer, near, pb_votes_confidence(&votes),
                            "near lines of arrays that do not fit: median of %zu sizes, %.0f to "
                            "%.0f bytes; the interval: misses of a sweep by all SMs",
                            count, parts[0], parts[count - 1]);
}

/* The largest array of which no more than a twentieth comes from DRAM. */
static void state_whole(const struct pb_case *at, const struct arrays *arrays)
{
    struct pb_parameter *answer = pb_parameters_find(at->parameters, "l2", "size_bytes");
    const double most = 0.06;
    size_t fitting = 0;

    while (fitting < arrays->row_count &&
           (double)(arrays->counts[fitting] - count_cached(arrays, fitting)) <=
               most * (double)arrays->counts[fitting])
        fitting++;
    if (fitting == 0 || fitting == arrays->row_count)
        pb_parameter_set_none(answer, "not observable: both halves: %s of the %zu arrays fits",
                              fitting == 0 ? "none" : "each", arrays->row_count);
    else
        pb_parameter_set_number(
            answer,
            (struct pb_estimate){arrays->sizes[fitting - 1], arrays->sizes[fitting - 1],
                                 arrays->sizes[fitting]},
            pb_confidence_of_one(),
            "not observable: both halves: the largest of %zu arrays of one SM without loads "
            "from DRAM",
            arrays->row_count);
    pb_parameter_point_to(answer, at->inference->tests[0]);
    answer = pb_parameters_find(at->parameters, "l2", "full_miss_bytes");
    if (answer != NULL)
        pb_parameter_set_none(
            answer, "sweep too small: some lines of the largest array, %.0f bytes, still hit",
            arrays->sizes[arrays->row_count - 1]);
}

/*
 * One latency of a hit: that over all SMs, where this SM's loads agree with it, and the interval of
 * its lines.
 */
static enum pb_status state_near_latency(const struct pb_case *at, const struct arrays *arrays,
                                         struct pb_error *err)
{
    static const double alike = 0.05;
    struct pb_parameter *answer = pb_parameters_find(at->parameters, "l2_near", "latency_cycles");
    const struct pb_parameter *all = pb_parameters_find(at->parameters, "l2", "latency_cycles");
    struct pb_estimate e;
    enum pb_status status;

    if (answer == NULL)
        return PB_OK;
    status = state_median(answer, arrays->rows, arrays->counts[0], 1,
                          "loads of one SM, lines of the smallest array", err);
    pb_parameter_point_to(answer, at->inference->tests[0]);
    if (status != PB_OK || all == NULL || all->kind != PB_VALUE_NUMBER)
        return status;
    e = answer->numbers[0];
    if (fabs(e.value - all->numbers[0].value) > alike * all->numbers[0].value)
        return PB_OK;
    pb_parameter_set_number(
        answer,
        (struct pb_estimate){all->numbers[0].value, fmin(e.low, all->numbers[0].value),
                             fmax(e.high, all->numbers[0].value)},
        all->confidence, "l2.latency_cycles; %zu lines of the smallest array by one SM: %.0f",
        arrays->counts[0], e.value);
    return PB_OK;
}

/* The lines between near ones and DRAM, in the array that has most of them and fits. */
static size_t find_far(const struct arrays *arrays, const double **lines_out)
{
    size_t most = 0;

    for (size_t i = 0; i < arrays->row_count; i++) {
        size_t near = count_near(arrays, i), cached = count_cached(arrays, i);

        if (cached < near + most || (double)cached <= 0.9 * (double)arrays->counts[i] ||
            (double)(cached - near) < 0.1 * (double)arrays->counts[i])
            continue;
        most = cached - near;
        *lines_out = arrays->rows + i * arrays->line_count + near;
    }
    return most;
}

/*
 * The mean: far lines are of two classes (about 455 and 530 cycles on an H200, nothing between), so
 * that their median jumps with the share of either. Sorted.
 */
static void state_far_latency(struct pb_parameter *far, const double *lines, size_t count)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += lines[i];
    pb_parameter_set_number(far,
                            (struct pb_estimate){sum / (double)count,
                                                 pb_quantile(lines, count, 0.25),
                                                 pb_quantile(lines, count, 0.75)},
                            pb_confidence_of_one(),
                            "loads of one SM, lines neither near nor in DRAM: mean of %zu", count);
}

static enum pb_status state_parts(const struct pb_case *at, const struct arrays *arrays,
                                  struct pb_error *err)
{
    struct pb_parameter *whole = pb_parameters_find(at->parameters, "l2", "size_bytes");
    struct pb_parameter *far = pb_parameters_find(at->parameters, "l2_far", "latency_cycles");
    const double *lines = NULL;
    size_t count = find_far(arrays, &lines);
    enum pb_status status;

    if (count_cached(arrays, arrays->row_count - 1) == arrays->counts[arrays->row_count - 1])
        return pb_fail(err, PB_NOT_FOUND,
                       "sweep too small: no line of the largest array takes as long as DRAM");
    if (count == 0 || whole == NULL || far == NULL)
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: no lines between near ones and those from DRAM");
    state_near(at, arrays, whole);
    state_whole(at, arrays);
    status = state_near_latency(at, arrays, err);
    if (status != PB_OK)
        return status;
    pb_parameter_point_to(far, at->inference->tests[0]);
    state_far_latency(far, lines, count);
    return PB_OK;
}

enum pb_status pb_infer_l2_whole(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"footprint", false},
                                                              {"line", false}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    double dram = pb_parameters_number(at->parameters, "dram", "latency_cycles"), *values;
    struct arrays arrays = {.sizes = matrix->axes[0].values};
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);
    size_t count;

    if (status != PB_OK)
        return status;
    arrays.row_count = matrix->axes[0].length;
    arrays.line_count = matrix->axes[1].length;
    count = arrays.row_count * arrays.line_count;
    if (arrays.row_count < 3 || arrays.row_count > ROWS_MAX)
        return pb_fail(err, PB_NOT_FOUND, "expected 3 to %d sizes, found %zu", ROWS_MAX,
                       arrays.row_count);
    if (!isfinite(dram))
        return pb_fail(err, PB_NOT_FOUND, "depends on the latency of DRAM, which is undetermined");
    if (!may_have_sides(at))
        return pb_fail(err, PB_NOT_FOUND, "%s", no_sides);
    values = calloc(count + 1, sizeof(*values));
    if (values == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", count);
    for (size_t i = 0; i < count; i++)
        values[i] = matrix->values[i] - at->recordings[0].overhead_cycles;
    arrays.rows = values;
    if (sort_rows(values, arrays.row_count, arrays.line_count, arrays.counts)) {
        arrays.classes =
            (struct classes){1.15 * pb_quantile(values, arrays.counts[0], 0.95), 0.93 * dram};
        status = state_parts(at, &arrays, err);
    } else {
        status = pb_fail(err, PB_NOT_FOUND, "a size without any line");
    }
    free(values);
    return status;
}

/* ---- throughput ---- */

enum pb_status pb_infer_read_peak(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"memory", true}, {"word", false}, {"sm", false}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    struct pb_parameter *answer;
    size_t memory, words, sms;
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);
    double best = 0.0;

    if (status != PB_OK)
        return status;
    answer = pb_case_answer(at, "read_bytes_per_cycle_per_sm");
    memory = pb_axis_label(&matrix->axes[0], at->inference->memory);
    words = matrix->axes[1].length;
    sms = matrix->axes[2].length;
    if (memory == matrix->axes[0].length)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: this memory was not read");
    for (size_t word = 0; word < words && status == PB_OK; word++) {
        const double *values = matrix->values + (memory * words + word) * sms;
        double *sorted = NULL;
        size_t count = 0;

        status = copy_sorted(values, sms, 1, &sorted, &count, err);
        if (status != PB_OK)
            return status;
        if (count > 0 && pb_quantile(sorted, count, 0.5) > best) {
            best = pb_quantile(sorted, count, 0.5);
            pb_parameter_set_number(answer,
                                    (struct pb_estimate){best, pb_quantile(sorted, count, 0.25),
                                                         pb_quantile(sorted, count, 0.75)},
                                    pb_confidence_of_one(),
                                    "words of %.0f bytes, all SMs at once: the median of %zu",
                                    matrix->axes[1].values[word], count);
        }
        free(sorted);
    }
    if (status == PB_OK && !(best > 0.0))
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no throughput of this memory");
    return status;
}

enum pb_status pb_infer_atomic_rate(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"pattern", true}, {"line", false}};
    static const struct {
        const char *pattern, *answer;
    } rows[] = {{"one_address", "address_per_cycle"},
                {"one_line", "line_per_cycle"},
                {"spread", "spread_per_cycle"}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);

    for (size_t i = 0; status == PB_OK && i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t lines = matrix->axes[1].length;
        size_t place = pb_axis_label(&matrix->axes[0], rows[i].pattern);

        if (place < matrix->axes[0].length)
            status =
                state_median(pb_case_answer(at, rows[i].answer), matrix->values + place * lines,
                             lines, 1, "additions of all SMs, by line", err);
    }
    return status;
}

enum pb_status pb_infer_bulk_copy(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"size", false}, {"quantity", true}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);
    size_t best = 0, sizes;
    double value;

    if (status != PB_OK)
        return status;
    sizes = matrix->axes[0].length;
    if (matrix->axes[1].length != 2 || sizes == 0)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no latency and throughput of copies");
    value = matrix->values[0];
    pb_parameter_set_number(pb_case_answer(at, "latency_cycles"),
                            (struct pb_estimate){value, value, value}, pb_confidence_of_one(),
                            "copies of %.0f bytes, one after the other", matrix->axes[0].values[0]);
    for (size_t i = 1; i < sizes; i++)
        if (matrix->values[2 * i + 1] > matrix->values[2 * best + 1])
            best = i;
    value = matrix->values[2 * best + 1];
    pb_parameter_set_number(pb_case_answer(at, "bytes_per_cycle_per_sm"),
                            (struct pb_estimate){value, value, value}, pb_confidence_of_one(),
                            "copies of %.0f bytes, several at once, on all SMs",
                            matrix->axes[0].values[best]);
    return PB_OK;
}

/* Where sorted latencies fall into two classes: the first of the upper one; count: they do not. */
static size_t split_sides(const double *sorted, size_t count)
{
    static const double gap_share = 0.15, least_share = 0.1;
    size_t widest = count;
    double most = 0.0;

    for (size_t i = 1; i < count; i++)
        if (sorted[i] - sorted[i - 1] > most) {
            most = sorted[i] - sorted[i - 1];
            widest = i;
        }
    if (count == 0 || most < gap_share * sorted[0] ||
        (double)widest < least_share * (double)count ||
        (double)(count - widest) < least_share * (double)count)
        return count;
    return widest;
}

/* Medians of the lines on one side of the limit: latency less overhead, and rate. */
static enum pb_status state_side(const struct pb_case *at, const char *side, bool is_far,
                                 double limit, struct pb_error *err)
{
    const struct pb_recording *recording = &at->recordings[0];
    const struct pb_matrix *matrix = &recording->matrix;
    size_t lines = matrix->axes[0].length, step = matrix->axes[1].length, count = 0;
    double *latencies = malloc((2 * lines + 1) * sizeof(*latencies)), *rates;
    char name[PB_NAME_LENGTH];
    enum pb_status status;

    if (latencies == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", lines);
    rates = latencies + lines;
    for (size_t i = 0; i < lines; i++) {
        const double *cell = matrix->values + i * step;

        if (!isfinite(cell[0]) || (cell[0] >= limit) != is_far)
            continue;
        latencies[count] = cell[0] - recording->overhead_cycles;
        rates[count++] = cell[1];
    }
    snprintf(name, sizeof(name), "%s_latency_cycles", side);
    status = state_median(pb_case_answer(at, name), latencies, count, 1,
                          "dependent additions of one SM, by line", err);
    snprintf(name, sizeof(name), "%s_per_cycle", side);
    if (status == PB_OK)
        status = state_median(pb_case_answer(at, name), rates, count, 1,
                              "additions of all threads of one SM, by line", err);
    free(latencies);
    return status;
}

enum pb_status pb_infer_atomic_sides(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"line", false}, {"quantity", true}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);
    double *sorted = NULL, limit = 0.0;
    size_t count = 0, split = 0;

    if (status == PB_OK && matrix->axes[1].length < 2)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no rates beside the latencies");
    if (status == PB_OK && !may_have_sides(at))
        return pb_fail(err, PB_NOT_FOUND, "%s", no_sides);
    if (status == PB_OK)
        status = copy_sorted(matrix->values, matrix->axes[0].length, matrix->axes[1].length,
                             &sorted, &count, err);
    if (status != PB_OK)
        return status;
    split = split_sides(sorted, count);
    if (split < count)
        limit = sorted[split];
    free(sorted);
    if (split == count)
        return pb_fail(
            err, PB_NOT_FOUND,
            "not applicable: one side: the latencies of %zu lines do not fall into two classes",
            count);
    status = state_side(at, "near", false, limit, err);
    return status == PB_OK ? state_side(at, "far", true, limit, err) : status;
}

/*
 * The rate of each SM from the side of L2 that the row names: its own is where its atomics take
 * less time.
 */
static enum pb_status state_side_rates(const struct pb_case *at, size_t quantity, const char *name,
                                       const char *method, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    size_t sms = matrix->axes[2].length, quantities = matrix->axes[1].length;
    size_t latency = pb_axis_label(&matrix->axes[1], "latency");
    const double *first = matrix->values, *second = matrix->values + quantities * sms;
    bool is_far = strcmp(at->inference->memory, "l2_far") == 0;
    double *rates = malloc((sms + 1) * sizeof(*rates));
    enum pb_status status;

    if (rates == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu SMs", sms);
    for (size_t sm = 0; sm < sms; sm++) {
        bool is_first_near = first[latency * sms + sm] < second[latency * sms + sm];
        const double *home = is_first_near != is_far ? first : second;

        rates[sm] = home[quantity * sms + sm];
    }
    status = state_median(pb_case_answer(at, name), rates, sms, 1, method, err);
    free(rates);
    return status;
}

enum pb_status pb_infer_l2_side_read(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"home", true}, {"quantity", true}, {"sm", false}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);
    size_t alone, together, count;

    if (status != PB_OK)
        return status;
    count = matrix->axes[1].length;
    alone = pb_axis_label(&matrix->axes[1], "alone");
    together = pb_axis_label(&matrix->axes[1], "together");
    if (matrix->axes[0].length != 2 || alone == count || together == count ||
        pb_axis_label(&matrix->axes[1], "latency") == count)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no rates from both sides");
    status = state_side_rates(at, together, "read_bytes_per_cycle_per_sm",
                              "lines of that side, each read once, all SMs at once, by SM", err);
    if (status == PB_OK)
        status =
            state_side_rates(at, alone, "read_alone_bytes_per_cycle",
                             "lines of that side, each read once, one SM at a time, by SM", err);
    return status;
}

/*
 * Lines that are still in L2 behind twice its size of other data: of those that it was asked to
 * keep, and of others. A line counts as kept where it takes less than the middle between the median
 * without eviction and a load from DRAM.
 */
enum pb_status pb_infer_l2_persistence(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"access", true}, {"line", false}};
    static const char *const accesses[] = {"persisting", "normal"};
    static const char *const answers[] = {"persisting_share", "normal_share"};
    const struct pb_recording *recording = &at->recordings[0];
    const struct pb_matrix *matrix = &recording->matrix;
    double dram = pb_parameters_number(at->parameters, "dram", "latency_cycles");
    double limit, *sorted = NULL;
    size_t alone, lines, count = 0;
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);

    if (status != PB_OK)
        return status;
    alone = pb_axis_label(&matrix->axes[0], "alone");
    lines = matrix->axes[1].length;
    if (!isfinite(dram) || alone == matrix->axes[0].length)
        return pb_fail(
            err, PB_NOT_FOUND,
            "depends on DRAM's latency and that without eviction, which are undetermined");
    status = copy_sorted(matrix->values + alone * lines, lines, 1, &sorted, &count, err);
    if (status != PB_OK)
        return status;
    limit = count == 0
                ? NAN
                : (pb_quantile(sorted, count, 0.5) + dram + recording->overhead_cycles) / 2.0;
    free(sorted);
    for (size_t i = 0; i < 2; i++) {
        size_t row = pb_axis_label(&matrix->axes[0], accesses[i]), kept = 0, seen = 0;
        struct pb_estimate share;

        for (size_t j = 0; j < lines && row < matrix->axes[0].length; j++) {
            double value = matrix->values[row * lines + j];

            seen += isfinite(value);
            kept += value < limit;
        }
        if (seen == 0 || isnan(limit)) {
            pb_parameter_set_none(pb_case_answer(at, answers[i]), "not recorded: no %s accesses",
                                  accesses[i]);
            continue;
        }
        share.value = (double)kept / (double)seen;
        pb_share_interval((double)kept, (double)seen, &share.low, &share.high);
        pb_parameter_set_number(pb_case_answer(at, answers[i]), share, pb_confidence_of_one(),
                                "of %zu lines, below %.0f cycles behind twice L2 of other data",
                                seen, limit);
    }
    return PB_OK;
}

/* ---- shared memory of other SMs ---- */

enum pb_status pb_infer_cluster_shared(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"sm", false}, {"other", false}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);
    double *others;
    size_t sms;

    if (status != PB_OK)
        return status;
    sms = matrix->axes[0].length;
    if (matrix->axes[1].length != sms)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: not every SM with every other");
    status = state_median(pb_case_answer(at, "own_latency_cycles"), matrix->values, sms, sms + 1,
                          "an SM's own, by the way of a cluster", err);
    if (status != PB_OK)
        return status;
    others = malloc((sms * sms + 1) * sizeof(*others));
    if (others == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu pairs", sms * sms);
    for (size_t i = 0; i < sms * sms; i++)
        others[i] = i % (sms + 1) == 0 ? NAN : matrix->values[i];
    status = state_median(pb_case_answer(at, "latency_cycles"), others, sms * sms, 1,
                          "another SM's, over the pairs that met in a cluster", err);
    free(others);
    return status;
}

enum pb_status pb_infer_cluster_shared_rate(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"size", false}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    struct pb_estimate values[PB_LIST_MAX];
    enum pb_status status = pb_axes_check(matrix, requirements, 1, err);
    size_t sizes;

    if (status != PB_OK)
        return status;
    sizes = matrix->axes[0].length < PB_LIST_MAX ? matrix->axes[0].length : PB_LIST_MAX;
    for (size_t i = 0; i < sizes; i++)
        values[i] = (struct pb_estimate){matrix->values[i], matrix->values[i], matrix->values[i]};
    pb_parameter_set_list(pb_case_answer(at, "bytes_per_cycle"), values, sizes,
                          pb_confidence_of_one(),
                          "clusters of 1, 2, 4, … CTAs, each reads from the next one");
    return PB_OK;
}

/* ---- the same computation ---- */

/* n without an error: 3/n at 95% (the rule of three); with k: k + 2 sqrt(k) + 3. */
static void state_errors(struct pb_parameter *errors, struct pb_parameter *limit, double wrong,
                         double count, const char *what)
{
    double most = (wrong + 2.0 * sqrt(wrong) + 3.0) / count;

    pb_parameter_set_number(errors, (struct pb_estimate){wrong, wrong, wrong},
                            pb_confidence_of_one(), "of %.0f %s, compared bit by bit", count, what);
    pb_parameter_set_number(limit, (struct pb_estimate){most, wrong / count, most}, 0.95,
                            "%.0f errors in %.0f %s: the rate is lower, at 95%%", wrong, count,
                            what);
}

enum pb_status pb_infer_compute(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"phase", true}, {"sm", false}, {"quantity", true}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);
    double runs = 0.0, wrong = 0.0;

    if (status != PB_OK)
        return status;
    if (matrix->axes[2].length < 2)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no runs were counted");
    if (matrix->axes[1].length < 2)
        return pb_fail(err, PB_NOT_FOUND,
                       "not applicable: a single SM: there is none to compare it with");
    for (size_t i = 0; i < pb_matrix_size(matrix); i += matrix->axes[2].length) {
        if (!isfinite(matrix->values[i]) || !isfinite(matrix->values[i + 1]))
            continue;
        runs += matrix->values[i];
        wrong += matrix->values[i + 1];
    }
    if (!(runs > 0.0))
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no SM has computed anything");
    state_errors(pb_case_answer(at, "wrong_runs"), pb_case_answer(at, "error_rate_limit"), wrong,
                 runs, "runs of all SMs");
    return PB_OK;
}

/* The sum of one quantity over all slices; NaN: the slices do not have it. */
static double sum_of(const struct pb_matrix *matrix, const char *quantity)
{
    size_t columns = matrix->axes[1].length, column = pb_axis_label(&matrix->axes[1], quantity);
    double sum = NAN;

    for (size_t i = 0; i < matrix->axes[0].length && column < columns; i++) {
        double value = matrix->values[i * columns + column];

        if (isfinite(value))
            sum = isnan(sum) ? value : sum + value;
    }
    return sum;
}

enum pb_status pb_infer_sustained(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"time", false}, {"quantity", true}};
    bool is_compute = strcmp(at->inference->memory, "compute") == 0;
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);
    double count, wrong;

    if (status == PB_OK && is_compute && at->info->sm_count == 1)
        return pb_fail(err, PB_NOT_FOUND,
                       "not applicable: a single SM: there is none to compare it with");
    if (status != PB_OK)
        return status;
    count = sum_of(matrix, is_compute ? "computed" : "copied_words");
    wrong = sum_of(matrix, is_compute ? "wrong_runs" : "wrong_words");
    if (!(count > 0.0) || !isfinite(wrong))
        return pb_fail(err, PB_NOT_FOUND, "not recorded: nothing was compared under this load");
    state_errors(pb_case_answer(at, at->inference->answers[0].name),
                 pb_case_answer(at, at->inference->answers[1].name), wrong, count,
                 is_compute ? "runs of all SMs" : "copied words");
    return PB_OK;
}
