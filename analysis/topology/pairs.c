/*
 * Components of SMs that slow each other down; pairs.h says what they are.
 *
 * Limit: what is wide enough for both of a pair shows nothing.
 */
#include "analysis/topology/pairs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/axes.h"

/*
 * How much slower, at least, the least of the pairs in components is than the slowest other one: of
 * few SMs, any noise may make up components; for eight components or more to close by chance, one
 * draw of the slowest pairs in 10^5 would do.
 */
static const double least_gap = 0.05, least_gap_of_many = 0.01;

enum { MANY = 8, SMS_MAX = 4096 };

double pb_pairs_slowdown(const double *cycles, size_t sms, size_t a, size_t b)
{
    return fmin(cycles[a * sms + b] / cycles[a * sms + a],
                cycles[b * sms + a] / cycles[b * sms + b]);
}

static int falling(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left < right) - (left > right);
}

/* Joins the pairs that are slower than `least`; are the components closed, and is no SM left out?
 */
static bool join_pairs(const double *cycles, double least, struct pb_union_find *components)
{
    size_t sms = components->members, joined = 0, within = 0;

    pb_union_find_reset(components);
    for (size_t a = 0; a < sms; a++)
        for (size_t b = a + 1; b < sms; b++)
            if (pb_pairs_slowdown(cycles, sms, a, b) > least) {
                pb_union_find_join(components, a, b);
                joined++;
            }
    pb_union_find_count(components);
    for (size_t i = 0; i < components->count; i++) {
        within += components->sizes[i] * (components->sizes[i] - 1) / 2;
        if (components->sizes[i] < 2)
            return false;
    }
    return joined == within && components->count > 1;
}

/*
 * The clearest gap in the slowdowns above which the pairs make up closed components.
 *
 * sorted[count]  falling; *least_out: the middle of the gap; returns the gap, 0: there is none
 */
static double find_gap(const double *cycles, const double *sorted, size_t count,
                       struct pb_union_find *components, double *least_out)
{
    double widest = 0.0;

    for (size_t i = 0; i + 1 < count; i++) {
        double gap = sorted[i] / sorted[i + 1] - 1.0, middle = (sorted[i] + sorted[i + 1]) / 2.0;

        if (gap < least_gap_of_many || gap <= widest || !join_pairs(cycles, middle, components) ||
            (gap < least_gap && components->count < MANY))
            continue;
        widest = gap;
        *least_out = middle;
    }
    return widest;
}

/* Every pair measured by both its members, and all slowdowns sorted. PB_NOT_FOUND: some were not.
 */
static enum pb_status sort_slowdowns(const double *cycles, size_t sms, double *sorted_out,
                                     size_t *count_out, struct pb_error *err)
{
    size_t count = 0;

    for (size_t a = 0; a < sms; a++)
        for (size_t b = a + 1; b < sms; b++) {
            double slow = pb_pairs_slowdown(cycles, sms, a, b);

            if (!isfinite(slow) || slow <= 0.0)
                return pb_fail(err, PB_NOT_FOUND, "not recorded: SMs %zu and %zu together", a, b);
            sorted_out[count++] = slow;
        }
    qsort(sorted_out, count, sizeof(*sorted_out), falling);
    *count_out = count;
    return PB_OK;
}

enum pb_status pb_pairs_check(const struct pb_matrix *matrix, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"kind", true}, {"sm", false}, {"other", false}};
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);

    if (status == PB_OK && (matrix->axes[1].length != matrix->axes[2].length ||
                            matrix->axes[1].length < 3 || matrix->axes[1].length > SMS_MAX))
        status = pb_fail(err, PB_NOT_FOUND, "pairs of %zu and %zu SMs", matrix->axes[1].length,
                         matrix->axes[2].length);
    return status;
}

enum pb_status pb_pairs_components(const struct pb_matrix *matrix, size_t kind,
                                   struct pb_union_find *components, struct pb_pairs_gap *gap_out,
                                   struct pb_error *err)
{
    size_t sms = matrix->axes[1].length, count = 0;
    const double *cycles = matrix->values + kind * sms * sms;
    double *sorted = malloc(sms * sms * sizeof(*sorted));
    struct pb_pairs_gap gap = {0.0, 0.0};
    enum pb_status status;

    if (sorted == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating pairs of %zu SMs", sms);
    status = sort_slowdowns(cycles, sms, sorted, &count, err);
    if (status == PB_OK)
        gap.share = find_gap(cycles, sorted, count, components, &gap.slowdown);
    if (status == PB_OK && gap.share <= 0.0)
        status = pb_fail(
            err, PB_NOT_FOUND,
            "not observable: no pairs of SMs that work together are clearly slower than others and "
            "form closed groups; the slowest that %.*s take %.2f times as long",
            PB_NAME_LENGTH - 1, matrix->axes[0].labels[kind], sorted[0]);
    if (status == PB_OK) {
        join_pairs(cycles, gap.slowdown, components);
        *gap_out = gap;
    }
    free(sorted);
    return status;
}
