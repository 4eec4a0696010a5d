/*
 * latency_cycles of l2_near and l2_far, l2.partition_sm_counts and l2.crossing_cycles: the two
 * halves of a large L2.
 *
 * Atomics are done where a line is at home, so that from one SM those to lines of the other half
 * take longer by the way across. Loads are answered by the near half, once it has a copy: near is
 * what loads take, far that and the way across (crossing_cycles), until l2_whole has loads from
 * both halves.
 *
 * What atomics of one SM take, line by line and less what is common to all SMs, is a profile:
 * those of two SMs correlate near +1 on one side and near -1 across. partition_sm_counts is a list,
 * the side of the first SM first.
 *
 * Limit: both halves must answer at least a tenth of the atomics.
 *
 * Source: facts on Ampere's and Hopper's L2 (2.10).
 */
#include "analysis/infer.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/statistics/modes.h"
#include "analysis/statistics/sample.h"
#include "analysis/topology/sm_map.h"

enum { MODES_MAX = 64, PIECES_MAX = 30 };

/* Halves are further apart than this part of the near one's latency, and neither is rare. */
static const double least_gap = 0.15, least_share = 0.1;

/* SMs whose profiles correlate less, of either sign, are of no side. */
static const double least_correlation = 0.5;

/* A side has more than one SM. */
static const double least_sms = 2.0;

/* Latencies of one kind of touch; the matrix is touch, sm, line. PB_NOT_FOUND: it is not. */
static enum pb_status collect(const struct pb_recording *recording, const char *touch,
                              struct pb_sample *cycles_out, struct pb_error *err)
{
    const struct pb_matrix *matrix = &recording->matrix;
    struct pb_sample cycles = {NULL, 0, 0};
    size_t part, first = 0;
    enum pb_status status;

    if (matrix->rank != 3 || matrix->values == NULL || matrix->axes[0].labels == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no matrix of touch, SM and line");
    while (first < matrix->axes[0].length &&
           strncmp(matrix->axes[0].labels[first], touch, PB_NAME_LENGTH) != 0)
        first++;
    if (first == matrix->axes[0].length)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: lines were not touched by a %s", touch);
    part = matrix->axes[1].length * matrix->axes[2].length;
    status = pb_sample_reserve(&cycles, part, err);
    for (size_t i = 0; status == PB_OK && i < part; i++) {
        double value = matrix->values[first * part + i] - recording->overhead_cycles;

        if (isfinite(value))
            cycles.values[cycles.count++] = value;
    }
    *cycles_out = cycles;
    return status;
}

/* The member that begins the upper half; 0: all are of one kind. */
static size_t find_divide(const struct pb_sample *sorted)
{
    struct pb_mode modes[MODES_MAX];
    size_t count = pb_modes_find(sorted->values, sorted->count, MODES_MAX, modes), divide = 0;
    double widest = 0.0;

    for (size_t i = 1; i < count; i++) {
        double gap = modes[i].median - modes[i - 1].median;
        double above = (double)(sorted->count - modes[i].first) / (double)sorted->count;

        if (gap <= widest || gap < least_gap * modes[i - 1].median || above < least_share ||
            above > 1.0 - least_share)
            continue;
        widest = gap;
        divide = modes[i].first;
    }
    return divide;
}

/* PB_NOT_FOUND: atomics are of one kind. The kinds' medians, and how many there are of each. */
struct halves {
    double near_cycles, far_cycles;
    size_t near_count, far_count;
};

static enum pb_status find_halves(const struct pb_recording *recording, struct halves *halves_out,
                                  struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    size_t divide = 0;
    enum pb_status status = collect(recording, "atomic", &cycles, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK && sorted.count > 0)
        divide = find_divide(&sorted);
    if (status == PB_OK && divide == 0)
        status =
            pb_fail(err, PB_NOT_FOUND,
                    "not applicable: one side: %zu atomics from all SMs take the same %.0f cycles",
                    sorted.count, pb_quantile(sorted.values, sorted.count, 0.5));
    if (status == PB_OK)
        *halves_out =
            (struct halves){pb_quantile(sorted.values, divide, 0.5),
                            pb_quantile(sorted.values + divide, sorted.count - divide, 0.5), divide,
                            sorted.count - divide};
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

enum pb_status pb_infer_l2_side(const struct pb_case *at, struct pb_error *err)
{
    bool far = strcmp(at->inference->memory, "l2_far") == 0;
    struct pb_sample loads = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    struct pb_votes votes = {0, 0};
    struct halves halves;
    const struct pb_parameter *sides =
        pb_parameters_find(at->parameters, "l2", "partition_sm_counts");
    enum pb_status status = find_halves(&at->recordings[0], &halves, err);

    if (status == PB_OK && (sides == NULL || sides->kind == PB_VALUE_NONE))
        status =
            pb_fail(err, PB_NOT_FOUND, "depends on partition_sm_counts, which is undetermined: %s",
                    sides != NULL ? sides->reason : "not looked for");
    if (status == PB_OK)
        status = collect(&at->recordings[0], "load", &loads, err);
    if (status == PB_OK)
        status = pb_sample_sorted(&loads, &sorted, err);
    if (status == PB_OK && find_divide(&sorted) != 0)
        status =
            pb_fail(err, PB_NOT_FOUND,
                    "ambiguous: %zu loads are of two kinds, %.0f to %.0f cycles: not all lines "
                    "stay in L2",
                    sorted.count, sorted.values[0], sorted.values[sorted.count - 1]);
    if (status == PB_OK) {
        double across = far ? halves.far_cycles - halves.near_cycles : 0.0;

        pb_votes_add_share(&votes, halves.far_count, halves.far_count, PIECES_MAX);
        pb_parameter_set_number(
            pb_case_answer(at, "latency_cycles"),
            (struct pb_estimate){pb_quantile(sorted.values, sorted.count, 0.5) + across,
                                 pb_quantile(sorted.values, sorted.count, 0.25) + across,
                                 pb_quantile(sorted.values, sorted.count, 0.75) + across},
            pb_votes_confidence(&votes),
            "median of %zu loads%s; atomics take %.0f (%zu of them) or %.0f cycles (%zu)",
            sorted.count, far ? " and the latency between partitions" : "", halves.near_cycles,
            halves.near_count, halves.far_cycles, halves.far_count);
    }
    pb_sample_clear(&sorted);
    pb_sample_clear(&loads);
    return status;
}

/* Takes from every line what its atomics take from all SMs on average. */
static void center_lines(double *cycles, size_t sms, size_t lines)
{
    for (size_t line = 0; line < lines; line++) {
        double sum = 0.0;

        for (size_t sm = 0; sm < sms; sm++)
            sum += cycles[sm * lines + line];
        for (size_t sm = 0; sm < sms; sm++)
            cycles[sm * lines + line] -= sum / (double)sms;
    }
}

static void state_sides(struct pb_parameter *answer, const double *cycles, size_t sms, size_t lines)
{
    struct pb_estimate sides[2];
    struct pb_votes votes = {0, 0};
    double counts[2] = {0.0, 0.0}, weakest = 1.0;

    for (size_t sm = 0; sm < sms; sm++) {
        double r = gsl_stats_correlation(cycles, 1, cycles + sm * lines, 1, lines);

        counts[r < 0.0]++;
        weakest = fmin(weakest, fabs(r));
        pb_votes_add_share(&votes, fabs(r) > least_correlation, 1, 1);
    }
    for (size_t i = 0; i < 2; i++)
        sides[i] = (struct pb_estimate){counts[i], counts[i], counts[i]};
    if (weakest > least_correlation && fmin(counts[0], counts[1]) >= least_sms)
        pb_parameter_set_list(answer, sides, 2, pb_votes_confidence(&votes),
                              "profiles of %zu SMs over %zu lines by atomics; the weakest "
                              "correlation with the first one's is %.2f",
                              sms, lines, weakest);
    else
        pb_parameter_set_none(answer,
                              "ambiguous: some profiles of SMs correlate by only %.2f, or %.0f SMs "
                              "alone differ",
                              weakest, fmin(counts[0], counts[1]));
}

/* What atomics to lines of the other half take more. */
static void state_crossing(struct pb_parameter *answer, const struct halves *halves)
{
    struct pb_votes votes = {0, 0};
    double cycles = halves->far_cycles - halves->near_cycles;

    pb_votes_add_share(&votes, halves->far_count, halves->far_count, PIECES_MAX);
    pb_parameter_set_number(
        answer, (struct pb_estimate){cycles, cycles, cycles}, pb_votes_confidence(&votes),
        "atomics take %.0f (%zu of them) or %.0f cycles (%zu)", halves->near_cycles,
        halves->near_count, halves->far_cycles, halves->far_count);
}

/* Tests by all SMs leave a copy of every line on both sides: their size is that of one. */
static void limit_size(const struct pb_case *at)
{
    struct pb_parameter *size = pb_parameters_find(at->parameters, "l2", "size_bytes");
    size_t length;

    if (size == NULL || size->kind == PB_VALUE_NONE)
        return;
    length = strlen(size->method);
    snprintf(size->method + length, sizeof(size->method) - length,
             "; what the side of one SM keeps");
}

enum pb_status pb_infer_l2_sides(const struct pb_case *at, struct pb_error *err)
{
    struct pb_sm_map map = {NULL, 0, 0};
    struct halves halves;
    enum pb_status status = find_halves(&at->recordings[0], &halves, err);

    if (status == PB_OK)
        status = pb_sm_map_of(at, &map, err);
    if (status == PB_OK) {
        center_lines(map.cycles, map.sms, map.lines);
        state_sides(pb_case_answer(at, "partition_sm_counts"), map.cycles, map.sms, map.lines);
        if (pb_case_answer(at, "partition_sm_counts")->kind == PB_VALUE_NONE) {
            pb_parameter_set_none(pb_case_answer(at, "crossing_cycles"),
                                  "depends on partition_sm_counts, which is undetermined: %.200s",
                                  pb_case_answer(at, "partition_sm_counts")->reason);
        } else {
            state_crossing(pb_case_answer(at, "crossing_cycles"), &halves);
            limit_size(at);
        }
    }
    pb_sm_map_clear(&map);
    return status;
}
