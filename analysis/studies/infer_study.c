/*
 * sm.sync_cycles and sm.sync_slowdown, sm.spill_variables and sm.spill_slowdown: what barriers and
 * spilled registers cost a kernel.
 *
 * sync_cycles is a list: cycles for one more barrier among the writes, by threads of the CTA, from
 * one thread up by powers of two. sync_slowdown is F13's figure: a barrier after every write
 * against one at the end, as one warp sees it.
 *
 * spill_variables is the largest number of live 8-byte variables before the cost of a move leaves
 * its first level; it lies below the next number that was tried, the interval's end. spill_slowdown
 * is what moves then cost at most, against before, for up to one warp.
 *
 * Limit: one variable alone is no study: compilers keep it in place, and it is left out where it
 * costs less than half of the next.
 *
 * Source: F13 3.4.2 and 3.4.4.
 */
#include "analysis/infer.h"

#include <math.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/sample.h"

enum { PLACES_MAX = 64, WARP = 32, STEPS_MIN = 3 };

/* Steps this near to the whole agree with it. */
static const double sharp_share = 0.25;

/* Moves cost more than this, against their first level: some go to memory. */
static const double spill_share = 1.5;

/* What costs less than this part of the next number of variables was optimised away. */
static const double optimised_share = 0.5;

static enum pb_status check_study(const struct pb_matrix *matrix, const char *parameter,
                                  struct pb_error *err)
{
    const struct pb_axis_requirement requirements[] = {{"threads", false}, {parameter, false}};
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);

    if (status == PB_OK &&
        (matrix->axes[0].length > PLACES_MAX || matrix->axes[1].length > PLACES_MAX))
        status = pb_fail(err, PB_NOT_FOUND, "a study of more than %d places", PLACES_MAX);
    return status;
}

static double warp_of(const struct pb_case *at)
{
    return at->info->warp_size > 0 ? at->info->warp_size : WARP;
}

/* Median of the rows' figures, and their range; none when no row has one. */
static struct pb_estimate middle_of(struct pb_sample *figures, struct pb_error *err)
{
    struct pb_sample sorted = {NULL, 0, 0};
    struct pb_estimate middle = PB_ESTIMATE_NONE;

    if (pb_sample_sorted(figures, &sorted, err) == PB_OK && sorted.count > 0)
        middle = (struct pb_estimate){pb_quantile(sorted.values, sorted.count, 0.5),
                                      sorted.values[0], sorted.values[sorted.count - 1]};
    pb_sample_clear(&sorted);
    return middle;
}

/* ---- barriers ---- */

/*
 * Cycles of a barrier with the threads of this row: from the fewest barriers to the most. The
 * interval is what the steps of the denser half say, one by one.
 */
static struct pb_estimate cost_of_row(const struct pb_matrix *matrix, size_t row,
                                      double *slowdown_out, struct pb_votes *votes)
{
    double barriers[PLACES_MAX], cycles[PLACES_MAX], value;
    size_t count = pb_axes_row(matrix, 1, row * matrix->axes[1].length, barriers, cycles);
    struct pb_estimate cost;

    *slowdown_out = NAN;
    if (count < STEPS_MIN + 1)
        return PB_ESTIMATE_NONE;
    value = (cycles[count - 1] - cycles[0]) / (barriers[count - 1] - barriers[0]);
    cost = (struct pb_estimate){value, value, value};
    for (size_t i = count - STEPS_MIN; i < count; i++) {
        double step = (cycles[i] - cycles[i - 1]) / (barriers[i] - barriers[i - 1]);

        cost.low = fmin(cost.low, step);
        cost.high = fmax(cost.high, step);
        pb_votes_add(votes, fabs(step - value) <= sharp_share * value);
    }
    if (!(cost.low > 0.0))
        return PB_ESTIMATE_NONE;
    *slowdown_out = cycles[count - 1] / cycles[0];
    return cost;
}

enum pb_status pb_infer_sync(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    struct pb_estimate cycles[PLACES_MAX], slowdown;
    struct pb_sample slowdowns = {NULL, 0, 0};
    struct pb_votes votes = {0, 0};
    enum pb_status status = check_study(matrix, "barriers", err);
    size_t slowed = 0;

    if (status != PB_OK)
        return status;
    for (size_t row = 0; row < matrix->axes[0].length && status == PB_OK; row++) {
        double factor;

        cycles[row] = cost_of_row(matrix, row, &factor, &votes);
        slowed += isfinite(factor);
        if (matrix->axes[0].values[row] <= warp_of(at) && isfinite(factor))
            status = pb_sample_add(&slowdowns, factor, err);
    }
    if (status == PB_OK && slowed == 0)
        status = pb_fail(err, PB_NOT_FOUND,
                         "not observable: no number of threads slows down by barriers");
    if (status == PB_OK) {
        slowdown = middle_of(&slowdowns, err);
        pb_parameter_set_list(
            pb_case_answer(at, "sync_cycles"), cycles, matrix->axes[0].length,
            pb_votes_confidence(&votes),
            "F13 3.4.2: cycles per barrier among 1024 writes, by %g, %g, … %g threads",
            matrix->axes[0].values[0], matrix->axes[0].values[matrix->axes[0].length > 1],
            matrix->axes[0].values[matrix->axes[0].length - 1]);
        pb_parameter_set_number(
            pb_case_answer(at, "sync_slowdown"), slowdown, pb_votes_confidence(&votes),
            "F13 3.4.2: %g barriers compared with %g, up to one warp",
            matrix->axes[1].values[matrix->axes[1].length - 1], matrix->axes[1].values[0]);
    }
    pb_sample_clear(&slowdowns);
    return status;
}

/* ---- spills ---- */

/* One row: the last place before the rise (count: there is none), and by how much moves slow. */
struct spill {
    struct pb_estimate variables;
    double slowdown;
};

static bool find_spill(const struct pb_matrix *matrix, size_t row, struct spill *spill_out)
{
    double variables[PLACES_MAX], cycles[PLACES_MAX], most = 0.0;
    size_t count = pb_axes_row(matrix, 1, row * matrix->axes[1].length, variables, cycles);
    size_t first = 0, last;

    if (count > 2 && cycles[0] < optimised_share * cycles[1])
        first = 1;
    last = first;
    while (last + 1 < count && cycles[last + 1] <= spill_share * cycles[first])
        last++;
    if (last + 1 >= count || last == first) /* no rise, or nothing known before it */
        return false;
    for (size_t i = last + 1; i < count; i++)
        most = fmax(most, cycles[i]);
    spill_out->variables =
        (struct pb_estimate){variables[last], variables[last], variables[last + 1] - 1.0};
    spill_out->slowdown = most / cycles[first];
    return true;
}

/* How many numbers of threads put the rise where this one does. */
static size_t count_alike(const struct spill *spills, size_t count, const struct spill *one)
{
    size_t alike = 0;

    for (size_t i = 0; i < count; i++)
        alike += spills[i].variables.value == one->variables.value;
    return alike;
}

static void state_spill(const struct pb_case *at, const struct spill *spills, size_t count,
                        size_t rows, const struct pb_estimate *slowdown)
{
    struct pb_estimate variables = spills[0].variables;
    struct pb_votes votes = {0, 0};
    size_t most = 0;

    for (size_t i = 0; i < count; i++) {
        size_t alike = count_alike(spills, count, &spills[i]);

        if (alike > most) {
            most = alike;
            variables = spills[i].variables;
        }
    }
    pb_votes_add_many(&votes, most, rows);
    if (2 * most <= rows) {
        pb_parameter_set_none(pb_case_answer(at, "spill_variables"),
                              "ambiguous: no more than %zu of %zu numbers of threads slow down "
                              "behind the same number of variables",
                              most, rows);
        pb_parameter_set_none(pb_case_answer(at, "spill_slowdown"),
                              "depends on spill_variables, which is undetermined");
        return;
    }
    pb_parameter_set_number(pb_case_answer(at, "spill_variables"), variables,
                            pb_votes_confidence(&votes),
                            "F13 3.4.4: moves among more live 8-byte variables cost over %g times "
                            "as much; %.0f of %zu numbers of threads agree",
                            spill_share, votes.agreeing, rows);
    pb_parameter_set_number(
        pb_case_answer(at, "spill_slowdown"), *slowdown, pb_votes_confidence(&votes),
        "F13 3.4.4: the slowest number of variables compared with the fewest, up to one warp");
}

enum pb_status pb_infer_spill(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    struct spill spills[PLACES_MAX];
    struct pb_sample slowdowns = {NULL, 0, 0};
    enum pb_status status = check_study(matrix, "variables", err);
    size_t count = 0;

    if (status != PB_OK)
        return status;
    for (size_t row = 0; row < matrix->axes[0].length && status == PB_OK; row++) {
        if (!find_spill(matrix, row, &spills[count]))
            continue;
        if (matrix->axes[0].values[row] <= warp_of(at))
            status = pb_sample_add(&slowdowns, spills[count].slowdown, err);
        count++;
    }
    if (status == PB_OK && slowdowns.count == 0)
        status = pb_fail(
            err, PB_NOT_FOUND,
            "sweep too small: no step in the cost of moves over %g to %g variables, up to one warp",
            matrix->axes[1].values[0], matrix->axes[1].values[matrix->axes[1].length - 1]);
    if (status == PB_OK) {
        struct pb_estimate slowdown = middle_of(&slowdowns, err);

        state_spill(at, spills, count, matrix->axes[0].length, &slowdown);
    }
    pb_sample_clear(&slowdowns);
    return status;
}
