/*
 * Peaks of throughput and the shapes that reach them: of DRAM by copying, reading and writing, of
 * shared memory, of the host link. A row's first answer is the peak, its second the shape. Where a
 * row has several tests (words of 4 and of 16 bytes, arrays of several sizes), the fastest counts.
 * DRAM's rows have two more:
 *   *_share   of the theoretical peak, where the driver reports it
 *   *_ratio   bytes that the best shape has outstanding at most, by those that must be (Little's
 *             law); below 1, what was measured cannot have come from DRAM, and the peak is
 *             undetermined
 *
 * Source: M16 sections 5.1 and 6.1, with Little's law from there.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/sample.h"

/* Cells this near to the best one belong to the same plateau. */
static const double plateau_share = 0.97, neighbour_share = 0.9;

/* Launch shapes on one plateau are no more independent pieces of evidence than this. */
enum { PIECES_MAX = 20 };

/* Places of DRAM's further answers in its rows. */
enum { SHARE = 2, LITTLE = 3 };

/* Above the theoretical peak by more than rounding: something else than DRAM was measured. */
static const double impossible_share = 1.02;

/* The best cell of a test's matrix and what surrounds it. */
struct peak {
    const struct pb_recording *recording;
    size_t cell, seen;
    double value, plateau_median;
    size_t plateau_count;
    size_t neighbours, neighbours_close;
    bool at_edge;  /* the largest position of some axis: more might be faster still */
    double growth; /* by such positions over all others; 1: the rate has come to its end */
};

static bool is_rate(double value)
{
    return isfinite(value) && value > 0.0;
}

/* The best rate of all cells but those at the last position of an axis; 0: they have none. */
static double best_before(const struct pb_matrix *matrix, size_t axis)
{
    size_t step = pb_axes_step(matrix, axis), length = matrix->axes[axis].length;
    double best = 0.0;

    for (size_t i = 0; i < pb_matrix_size(matrix); i++)
        if (i / step % length + 1 < length && is_rate(matrix->values[i]))
            best = fmax(best, matrix->values[i]);
    return best;
}

/* What a launch shape has outstanding, by the product of its numbers. */
static double size_of_shape(const struct pb_matrix *matrix, size_t cell)
{
    double size = 1.0;

    for (size_t i = 0; i < matrix->rank; i++)
        if (matrix->axes[i].values != NULL)
            size *= matrix->axes[i].values[cell / pb_axes_step(matrix, i) % matrix->axes[i].length];
    return size;
}

/*
 * How much faster the largest shapes are than all smaller ones, if the peak is one of them: the
 * rate goes by what is outstanding (Little's law), and the largest shapes that a device can run
 * need not lie at the end of any axis.
 */
static double growth_by_size(const struct pb_matrix *matrix, const struct peak *peak)
{
    double most = size_of_shape(matrix, peak->cell), best = 0.0;

    for (size_t i = 0; i < pb_matrix_size(matrix); i++) {
        double size = size_of_shape(matrix, i);

        if (!is_rate(matrix->values[i]))
            continue;
        if (size > most)
            return 1.0;
        if (size < most)
            best = fmax(best, matrix->values[i]);
    }
    return best > 0.0 ? fmax(1.0, peak->value / best) : 1.0;
}

static void look_around(const struct pb_matrix *matrix, struct peak *peak)
{
    for (size_t axis = 0; axis < matrix->rank; axis++) {
        size_t step = pb_axes_step(matrix, axis), length = matrix->axes[axis].length;
        size_t place = peak->cell / step % length;
        size_t around[2], count = 0;

        if (place > 0)
            around[count++] = peak->cell - step;
        if (place + 1 < length)
            around[count++] = peak->cell + step;
        else if (length > 1) {
            double before = best_before(matrix, axis);

            peak->at_edge = true;
            if (is_rate(before) && matrix->axes[axis].values != NULL)
                peak->growth = fmax(peak->growth, peak->value / before);
        }
        for (size_t i = 0; i < count; i++) {
            double value = matrix->values[around[i]];

            peak->neighbours += is_rate(value);
            peak->neighbours_close += is_rate(value) && value >= neighbour_share * peak->value;
        }
    }
}

static enum pb_status measure_plateau(const struct pb_matrix *matrix, struct peak *peak,
                                      struct pb_error *err)
{
    struct pb_sample near = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < pb_matrix_size(matrix) && status == PB_OK; i++)
        if (is_rate(matrix->values[i]) && matrix->values[i] >= plateau_share * peak->value)
            status = pb_sample_add(&near, matrix->values[i], err);
    if (status == PB_OK)
        status = pb_sample_sorted(&near, &sorted, err);
    if (status == PB_OK) {
        peak->plateau_count = sorted.count;
        peak->plateau_median = pb_quantile(sorted.values, sorted.count, 0.5);
    }
    pb_sample_clear(&sorted);
    pb_sample_clear(&near);
    return status;
}

/* PB_NOT_FOUND: no cell holds a rate. */
static enum pb_status find_peak(const struct pb_recording *recording, struct peak *peak_out,
                                struct pb_error *err)
{
    const struct pb_matrix *matrix = &recording->matrix;
    struct peak peak = {.recording = recording, .growth = 1.0};
    enum pb_status status;

    for (size_t i = 0; i < pb_matrix_size(matrix); i++) {
        if (!is_rate(matrix->values[i]))
            continue;
        peak.seen++;
        if (matrix->values[i] > peak.value) {
            peak.value = matrix->values[i];
            peak.cell = i;
        }
    }
    if (peak.seen == 0)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: none of %zu launch shapes has a rate",
                       pb_matrix_size(matrix));
    look_around(matrix, &peak);
    peak.growth = fmax(peak.growth, growth_by_size(matrix, &peak));
    status = measure_plateau(matrix, &peak, err);
    if (status == PB_OK)
        *peak_out = peak;
    return status;
}

/* The fastest of the row's tests; where some have no rate, of the others. */
static enum pb_status find_best(const struct pb_case *at, struct peak *peak_out,
                                struct pb_error *err)
{
    enum pb_status status = find_peak(&at->recordings[0], peak_out, err);
    struct peak other;

    for (size_t i = 1; i < PB_INFERENCE_TESTS_MAX && at->inference->tests[i] != NULL; i++) {
        const struct pb_matrix *matrix = &at->recordings[i].matrix;

        if ((status != PB_OK && status != PB_NOT_FOUND) || matrix->rank == 0 ||
            matrix->values == NULL || find_peak(&at->recordings[i], &other, NULL) != PB_OK)
            continue;
        if (status != PB_OK || other.value > peak_out->value)
            *peak_out = other;
        status = PB_OK;
    }
    return status;
}

/* "cta_count=64 cta_size=256 ilp=4" */
static void describe_cell(const struct pb_matrix *matrix, size_t cell, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < matrix->rank && used < size; i++) {
        const struct pb_axis *axis = &matrix->axes[i];
        size_t place = cell / pb_axes_step(matrix, i) % axis->length;
        const char *gap = i == 0 ? "" : " ";

        if (axis->values != NULL)
            used += (size_t)snprintf(text + used, size - used, "%s%.*s=%g", gap, PB_NAME_LENGTH - 1,
                                     axis->name, axis->values[place]);
        else
            used += (size_t)snprintf(text + used, size - used, "%s%.*s=%.*s", gap,
                                     PB_NAME_LENGTH - 1, axis->name, PB_NAME_LENGTH - 1,
                                     axis->labels != NULL ? axis->labels[place] : "?");
    }
}

/* Share of what is read, of all that moves. */
static double read_share(const char *test)
{
    if (strstr(test, "write") != NULL)
        return 0.0;
    return strstr(test, "read") != NULL ? 1.0 : 0.5;
}

/* Share of the theoretical peak and the bytes that must be outstanding, as far as they are known.
 */
static void describe_dram(const struct pb_case *at, double rate, char *text, size_t size)
{
    double theoretical = at->info->theoretical_bytes_per_s;
    double latency_ns = pb_parameters_number(at->parameters, "dram", "latency_ns");
    double reads = read_share(at->inference->tests[0]); /* all of a row's tests do the same */
    int used = 0;

    if (theoretical > 0.0)
        used = snprintf(text, size, "; %.1f%% of the theoretical %.4g", 100.0 * rate / theoretical,
                        theoretical);
    /* Little's law: what moves in one latency is outstanding. */
    if (latency_ns > 0.0 && reads > 0.0 && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "; Little's law: %.0f KB of outstanding reads",
                 rate * reads * latency_ns * 1e-9 / 1e3);
}

/*
 * The most that the memory may reach: the peak where the largest shapes were no faster than the
 * next smaller ones. Where they were, as on a device whose few SMs cannot have enough bytes in
 * flight, its theoretical peak, or as much growth again.
 */
static double most_of(const struct pb_case *at, const struct peak *peak)
{
    double theoretical = at->info->theoretical_bytes_per_s;

    if (peak->growth * plateau_share <= 1.0)
        return peak->value;
    if (strcmp(at->inference->memory, "dram") == 0 && theoretical > peak->value)
        return theoretical;
    return peak->value * peak->growth;
}

/* Number on an axis at a cell; NaN when there is no such axis. */
static double place_on(const struct pb_matrix *matrix, size_t cell, const char *name)
{
    for (size_t i = 0; i < matrix->rank; i++)
        if (strncmp(matrix->axes[i].name, name, PB_NAME_LENGTH) == 0 &&
            matrix->axes[i].values != NULL)
            return matrix->axes[i].values[cell / pb_axes_step(matrix, i) % matrix->axes[i].length];
    return NAN;
}

/* Tests whose name ends in 16 move words of so many bytes, the others such of 4. */
static double word_bytes(const struct peak *peak)
{
    size_t length = strlen(peak->recording->name);

    return length > 2 && strcmp(peak->recording->name + length - 2, "16") == 0 ? 16.0 : 4.0;
}

/*
 * Bytes that the shape of a cell can have on their way at once, by those that its rate and the
 * latency need; NaN when something of it is not known.
 */
static double little_of(const struct pb_case *at, const struct peak *peak, size_t cell)
{
    const struct pb_matrix *matrix = &peak->recording->matrix;
    double threads = place_on(matrix, cell, "cta_count") * place_on(matrix, cell, "cta_size");
    double resident_threads = (double)at->info->sm_count * at->info->max_threads_per_sm;
    double latency_ns = pb_parameters_number(at->parameters, "dram", "latency_ns");
    double reads = read_share(at->inference->tests[0]);

    if (resident_threads > 0.0)
        threads = fmin(threads, resident_threads);
    return threads * place_on(matrix, cell, "ilp") * word_bytes(peak) /
           (matrix->values[cell] * reads * latency_ns * 1e-9);
}

/*
 * The same over all shapes of the plateau, which the best one leads by chance: the least of it is
 * what the rate needs.
 */
static struct pb_estimate little_on_plateau(const struct pb_case *at, const struct peak *peak)
{
    const struct pb_matrix *matrix = &peak->recording->matrix;
    double little = little_of(at, peak, peak->cell);
    struct pb_estimate range = {little, little, little};

    for (size_t i = 0; i < pb_matrix_size(matrix); i++) {
        if (!is_rate(matrix->values[i]) || matrix->values[i] < plateau_share * peak->value)
            continue;
        little = little_of(at, peak, i);
        range.low = fmin(range.low, little);
        range.high = fmax(range.high, little);
    }
    range.value = range.low;
    return range;
}

/* DRAM's further answers; the row may have none. PB_NOT_FOUND: Little's law is broken. */
static enum pb_status check_dram(const struct pb_case *at, const struct peak *peak,
                                 double confidence, struct pb_error *err)
{
    const struct pb_answer *answers = at->inference->answers;
    double theoretical = at->info->theoretical_bytes_per_s, share = peak->value / theoretical;
    struct pb_estimate little = little_on_plateau(at, peak);

    if (answers[SHARE].name == NULL)
        return PB_OK;
    if (little_of(at, peak, peak->cell) < 1.0)
        return pb_fail(err, PB_NOT_FOUND,
                       "inconsistent: %.4g byte/s need %.1f times the outstanding bytes of this "
                       "launch shape, so that caches served a part",
                       peak->value, 1.0 / little_of(at, peak, peak->cell));
    if (theoretical > 0.0)
        pb_parameter_set_number(pb_case_answer(at, answers[SHARE].name),
                                (struct pb_estimate){share, peak->plateau_median / theoretical,
                                                     most_of(at, peak) / theoretical},
                                confidence, "the peak by the theoretical %.4g byte/s", theoretical);
    else
        pb_parameter_set_none(pb_case_answer(at, answers[SHARE].name),
                              "the driver states no theoretical peak");
    if (isfinite(little.value))
        pb_parameter_set_number(pb_case_answer(at, answers[LITTLE].name), little, confidence,
                                "M16 5.1: threads times ILP times %.0f bytes, by rate of reads "
                                "times latency; of the %zu launch shapes that reach %.0f%% of the "
                                "peak",
                                word_bytes(peak), peak->plateau_count, 100.0 * plateau_share);
    else
        pb_parameter_set_none(pb_case_answer(at, answers[LITTLE].name),
                              "not applicable: Little's law applies to reads only, and needs their "
                              "latency and launch shape");
    return PB_OK;
}

/* A copy reads half of what it moves, a warp 4 bytes a lane (M16 6.1). */
static void describe_shared(const struct pb_case *at, double rate, char *text, size_t size)
{
    double latency = pb_parameters_number(at->parameters, "shared", "latency_cycles");
    double lanes = at->info->warp_size > 0 ? at->info->warp_size : 32.0;

    if (latency > 0.0)
        snprintf(text, size, "; Little's law: %.0f outstanding loads (warps times ILP) saturate it",
                 ceil(rate / 2.0 * latency / (4.0 * lanes)));
}

static void describe_limits(const struct pb_case *at, double rate, char *text, size_t size)
{
    text[0] = '\0';
    if (strcmp(at->inference->memory, "dram") == 0)
        describe_dram(at, rate, text, size);
    if (strcmp(at->inference->memory, "shared") == 0)
        describe_shared(at, rate, text, size);
}

/* DRAM cannot be faster than its pins. */
static enum pb_status check_possible(const struct pb_case *at, double rate, struct pb_error *err)
{
    double theoretical = at->info->theoretical_bytes_per_s;

    if (strcmp(at->inference->memory, "dram") != 0 || !(theoretical > 0.0) ||
        rate <= impossible_share * theoretical)
        return PB_OK;
    return pb_fail(err, PB_NOT_FOUND,
                   "inconsistent: %.4g byte/s is more than the theoretical %.4g byte/s, so that "
                   "caches served a part",
                   rate, theoretical);
}

/*
 * The evidence is the last of the row's tests that was measured, whichever was fastest: it states
 * which of them there were, so that a value is compared with others of as many.
 */
static void point_to_last(const struct pb_case *at)
{
    const struct pb_answer *answers = at->inference->answers;
    size_t last = 0;

    for (size_t i = 1; i < PB_INFERENCE_TESTS_MAX && at->inference->tests[i] != NULL; i++)
        if (at->recordings[i].matrix.rank > 0)
            last = i;
    for (size_t i = 0; i < PB_INFERENCE_ANSWERS_MAX && answers[i].name != NULL; i++)
        pb_parameter_point_to(pb_case_answer(at, answers[i].name), at->recordings[last].name);
}

enum pb_status pb_infer_throughput(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix;
    const struct pb_answer *answers = at->inference->answers;
    char limits[112], config[PB_TEXT_LENGTH];
    struct pb_votes votes = {0, 0};
    struct peak peak = {NULL};
    enum pb_status status;

    if (at->recordings[0].matrix.rank == 0 || at->recordings[0].matrix.values == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no throughput matrix");
    status = find_best(at, &peak, err);
    if (status == PB_OK)
        status = check_possible(at, peak.value, err);
    if (status != PB_OK)
        return status;
    pb_votes_add_many(&votes, peak.neighbours_close, peak.neighbours);
    pb_votes_add_share(&votes, peak.plateau_count - 1, peak.plateau_count - 1, PIECES_MAX);
    status = check_dram(at, &peak, pb_votes_confidence(&votes), err);
    if (status != PB_OK)
        return status;
    matrix = &peak.recording->matrix;
    describe_limits(at, peak.value, limits, sizeof(limits));
    describe_cell(matrix, peak.cell, config, sizeof(config));
    pb_parameter_set_number(
        pb_case_answer(at, answers[0].name),
        (struct pb_estimate){peak.value, peak.plateau_median, most_of(at, &peak)},
        pb_votes_confidence(&votes), "%s: best of %zu shapes; %zu within 3%%%s%s",
        peak.recording->name, peak.seen, peak.plateau_count,
        peak.growth * plateau_share > 1.0 ? ", still rising at the largest"
        : peak.at_edge                    ? ", at the edge of the range"
                                          : "",
        limits);
    pb_parameter_set_word(pb_case_answer(at, answers[1].name), config,
                          1.0 / (double)peak.plateau_count,
                          "%s: the fastest of %zu shapes; %zu within 3%% of it",
                          peak.recording->name, peak.seen, peak.plateau_count);
    point_to_last(at);
    return PB_OK;
}
