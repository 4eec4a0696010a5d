/*
 * sm.coalesce_bytes, coalesce_lanes, coalesce_cycles and coalesce_slowdown, sm.stride_slowdown and
 * sm.misalign_slowdown: what it costs when the threads of a warp do not read side by side.
 *
 *   coalesce_bytes      the window: how far apart threads must read so that more distance costs no
 *                       more; each then has a transaction of its own
 *   coalesce_lanes      how many threads' transactions wait for one another
 *   coalesce_cycles     what one more transaction adds to a read
 *   coalesce_slowdown   a warp all apart against a warp side by side
 *   stride_slowdown     a warp side by side whose every read is far on, against word by word
 *   misalign_slowdown   a warp side by side but shifted, against one that is not
 *
 * Source: F13 3.4.3, where it plateaus at 16 threads of Fermi and at 32 of Kepler.
 */
#include "analysis/infer.h"

#include <gsl/gsl_sort.h>
#include <math.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/plateau.h"
#include "analysis/statistics/sample.h"

enum { PLACES_MAX = 64, WARP = 32, READS = 1024, RATIOS_MIN = 4 };
enum { KIND, THREADS, BYTES };

/* Less than this is no cost of distance. */
static const double least_rise = 0.1;

/* Figures this near to each other agree. */
static const double close_share = 0.1;

/* The study and the place of one warp on its axis of threads. */
struct study {
    const struct pb_matrix *matrix;
    size_t warp;
};

static enum pb_status open_study(const struct pb_case *at, struct study *study_out,
                                 struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"kind", true}, {"threads", false}, {"parameter_bytes", false}};
    struct study study = {&at->recordings[0].matrix, 0};
    enum pb_status status = pb_axes_check(study.matrix, requirements, 3, err);

    if (status != PB_OK)
        return status;
    if (study.matrix->axes[THREADS].length > PLACES_MAX ||
        study.matrix->axes[BYTES].length > PLACES_MAX)
        return pb_fail(err, PB_NOT_FOUND, "a study of more than %d places", PLACES_MAX);
    study.warp = pb_axis_number(&study.matrix->axes[THREADS],
                                at->info->warp_size > 0 ? at->info->warp_size : WARP);
    if (study.warp == study.matrix->axes[THREADS].length)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: one whole warp");
    *study_out = study;
    return PB_OK;
}

/* Cycles of a read by one warp over the parameter. Returns how many places. */
static size_t chase_bytes(const struct study *study, const char *kind, double *bytes_out,
                          double *cycles_out)
{
    const struct pb_matrix *matrix = study->matrix;
    size_t place = pb_axis_label(&matrix->axes[KIND], kind), count;

    if (place == matrix->axes[KIND].length)
        return 0;
    count = pb_axes_row(matrix, BYTES,
                        place * pb_axes_step(matrix, KIND) +
                            study->warp * pb_axes_step(matrix, THREADS),
                        bytes_out, cycles_out);
    for (size_t i = 0; i < count; i++)
        cycles_out[i] /= READS;
    return count;
}

/* Cycles of a read at one offset over the threads, up to two warps. */
static size_t chase_threads(const struct study *study, size_t offset, double *threads_out,
                            double *cycles_out)
{
    const struct pb_matrix *matrix = study->matrix;
    size_t place = pb_axis_label(&matrix->axes[KIND], "offset"), count, kept = 0;

    if (place == matrix->axes[KIND].length)
        return 0;
    count = pb_axes_row(matrix, THREADS, place * pb_axes_step(matrix, KIND) + offset, threads_out,
                        cycles_out);
    while (kept < count && threads_out[kept] <= 2.0 * matrix->axes[THREADS].values[study->warp])
        cycles_out[kept++] /= READS;
    return kept;
}

/* What lies behind the knee, against the closest threads: the last place, and the range. */
static void state_slowdown(const struct pb_case *at, const struct pb_plateau *plateau,
                           const double *bytes, const double *cycles)
{
    size_t count = plateau->points;
    double last = cycles[count - 1] / cycles[0];
    struct pb_estimate slowdown = {last, last, last};
    struct pb_votes votes = {0, 0};

    for (size_t i = 0; i < count; i++) {
        double factor = cycles[i] / cycles[0];

        if (bytes[i] < plateau->knee.value)
            continue;
        slowdown.low = fmin(slowdown.low, factor);
        slowdown.high = fmax(slowdown.high, factor);
        pb_votes_add(&votes, fabs(factor - last) <= close_share * last);
    }
    pb_parameter_set_number(pb_case_answer(at, "coalesce_slowdown"), slowdown,
                            pb_votes_confidence(&votes),
                            "F13 3.4.3: a read of a warp takes %.1f cycles with %g bytes between "
                            "threads, %.1f with %g",
                            cycles[0], bytes[0], cycles[count - 1], bytes[count - 1]);
}

static void state_window(const struct pb_case *at, const struct study *study)
{
    double bytes[PLACES_MAX] = {0}, cycles[PLACES_MAX] = {0};
    size_t count = chase_bytes(study, "offset", bytes, cycles);
    struct pb_error reason = PB_ERROR_INIT;
    struct pb_votes votes = {0, 0};
    struct pb_plateau plateau;

    if (pb_plateau_fit(bytes, cycles, count, least_rise, &plateau, &reason) != PB_OK) {
        pb_parameter_set_none(pb_case_answer(at, "coalesce_bytes"),
                              "inconsistent: offsets of a warp's threads: "
                              "%s",
                              reason.message);
        pb_parameter_set_none(pb_case_answer(at, "coalesce_slowdown"),
                              "inconsistent: offsets of a warp's "
                              "threads: %s",
                              reason.message);
        return;
    }
    pb_votes_add_many(&votes, plateau.points, count);
    pb_parameter_set_number(pb_case_answer(at, "coalesce_bytes"), plateau.knee,
                            pb_votes_confidence(&votes),
                            "F13 3.4.3: offset of a warp's threads from which on a read costs no "
                            "more; line and plateau through %zu of %zu offsets",
                            plateau.points, count);
    state_slowdown(at, &plateau, bytes, cycles);
}

/*
 * Where each thread has a line of its own: the next offset behind the window. Far larger ones would
 * fill single sets of the cache, which costs by itself.
 */
static size_t offset_apart(const struct pb_case *at, const struct study *study)
{
    const struct pb_axis *axis = &study->matrix->axes[BYTES];
    double window = pb_parameters_number(at->parameters, "sm", "coalesce_bytes");
    size_t place = pb_axis_number(axis, window);

    return place + 1 < axis->length ? place + 1 : axis->length - 1;
}

static void state_lanes(const struct pb_case *at, const struct study *study)
{
    double threads[PLACES_MAX], cycles[PLACES_MAX];
    size_t offset = offset_apart(at, study);
    size_t count = chase_threads(study, offset, threads, cycles);
    struct pb_error reason = PB_ERROR_INIT;
    struct pb_votes votes = {0, 0};
    struct pb_plateau plateau;

    if (pb_plateau_fit(threads, cycles, count, least_rise, &plateau, &reason) != PB_OK) {
        pb_parameter_set_none(pb_case_answer(at, "coalesce_lanes"),
                              "inconsistent: threads far apart: %s", reason.message);
        pb_parameter_set_none(pb_case_answer(at, "coalesce_cycles"),
                              "inconsistent: threads far apart: %s", reason.message);
        return;
    }
    pb_votes_add_many(&votes, plateau.points, count);
    pb_parameter_set_number(pb_case_answer(at, "coalesce_lanes"), plateau.knee,
                            pb_votes_confidence(&votes),
                            "F13 3.4.3: threads %g bytes apart from which on a read costs no more; "
                            "line and plateau through %zu of %zu numbers of threads",
                            study->matrix->axes[BYTES].values[offset], plateau.points, count);
    pb_parameter_set_number(pb_case_answer(at, "coalesce_cycles"), plateau.slope,
                            pb_votes_confidence(&votes),
                            "F13 3.4.3: what each further thread adds to a read, up to %g threads; "
                            "the first takes %.1f cycles",
                            plateau.knee.value, plateau.base + plateau.slope.value);
}

/* What the farther half of the places costs against the first one: the median, and the range. */
static void state_ratio(const struct pb_case *at, const struct study *study, const char *kind,
                        const char *answer, const char *meaning)
{
    double bytes[PLACES_MAX], cycles[PLACES_MAX], ratios[PLACES_MAX], median;
    size_t count = chase_bytes(study, kind, bytes, cycles), half = count / 2;
    struct pb_parameter *parameter = pb_case_answer(at, answer);
    struct pb_votes votes = {0, 0};

    if (count < RATIOS_MIN) {
        pb_parameter_set_none(parameter, "not recorded: a warp's reads by %s", kind);
        return;
    }
    for (size_t i = half; i < count; i++)
        ratios[i - half] = cycles[i] / cycles[0];
    gsl_sort(ratios, 1, count - half);
    median = pb_quantile(ratios, count - half, 0.5);
    for (size_t i = 0; i < count - half; i++)
        pb_votes_add(&votes, fabs(ratios[i] - median) <= close_share * median);
    pb_parameter_set_number(
        parameter, (struct pb_estimate){median, ratios[0], ratios[count - half - 1]},
        pb_votes_confidence(&votes),
        "F13 3.4.3: %s: a read of a warp takes %.1f cycles at %g bytes; median of %g bytes and on",
        meaning, cycles[0], bytes[0], bytes[half]);
}

enum pb_status pb_infer_coalesce(const struct pb_case *at, struct pb_error *err)
{
    struct study study;
    enum pb_status status = open_study(at, &study, err);

    if (status != PB_OK)
        return status;
    state_window(at, &study);
    state_lanes(at, &study);
    state_ratio(at, &study, "stride", "stride_slowdown", "every read that far on");
    state_ratio(at, &study, "misalign", "misalign_slowdown", "all shifted");
    return PB_OK;
}
