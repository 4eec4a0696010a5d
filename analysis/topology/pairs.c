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

/* Cycles of one kind of work, by SM and by the other SM. */
struct times {
    const double *cycles; /* [sms][sms] */
    double *alone;        /* [sms] */
    size_t sms;
};

/*
 * How long each SM takes alone was measured once, and a spike there would hide its TPC: it is no
 * longer than beside any other. fmin() passes over what was not measured.
 */
static void find_times_alone(struct times *times)
{
    for (size_t sm = 0; sm < times->sms; sm++) {
        const double *row = times->cycles + sm * times->sms;

        times->alone[sm] = row[sm];
        for (size_t other = 0; other < times->sms; other++)
            times->alone[sm] = fmin(times->alone[sm], row[other]);
    }
}

/* How much slower both of a pair are than alone: the less slow of the two, so no spike counts. */
static double slowdown_of(const struct times *times, size_t a, size_t b)
{
    return fmin(times->cycles[a * times->sms + b] / times->alone[a],
                times->cycles[b * times->sms + a] / times->alone[b]);
}

static int falling(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left < right) - (left > right);
}

/*
 * Joins the pairs that are slower than `least`. Returns how many components of several SMs there
 * are; 0: fewer than two, or than SMs that are alone, or they are not closed.
 */
static size_t join_pairs(const struct times *times, double least, struct pb_union_find *components)
{
    size_t sms = times->sms, joined = 0, within = 0, alone = 0, several;

    pb_union_find_reset(components);
    for (size_t a = 0; a < sms; a++)
        for (size_t b = a + 1; b < sms; b++)
            if (slowdown_of(times, a, b) > least) {
                pb_union_find_join(components, a, b);
                joined++;
            }
    pb_union_find_count(components);
    for (size_t i = 0; i < components->count; i++) {
        within += components->sizes[i] * (components->sizes[i] - 1) / 2;
        alone += components->sizes[i] == 1;
    }
    several = components->count - alone;
    return joined == within && several > 1 && several >= alone ? several : 0;
}

/* Do the SMs of each component follow each other by number? */
static bool are_runs(const struct pb_union_find *components)
{
    for (size_t sm = 1; sm < components->members; sm++) {
        size_t first = pb_union_find_first(components, sm);

        if (first != sm && first != pb_union_find_first(components, sm - 1))
            return false;
    }
    return true;
}

/*
 * The clearest gap in the slowdowns above which the pairs make up closed components of neighbours.
 *
 * sorted[count]  falling
 * gap_out        its share is 0 where there is none
 *
 * Returns whether there was one of others.
 */
static bool find_gap(const struct times *times, const double *sorted, size_t count,
                     struct pb_union_find *components, struct pb_pairs_gap *gap_out)
{
    bool are_others = false;

    for (size_t i = 0; i + 1 < count; i++) {
        double gap = sorted[i] / sorted[i + 1] - 1.0, middle = (sorted[i] + sorted[i + 1]) / 2.0;
        size_t several;

        if (gap < least_gap_of_many || gap <= gap_out->share)
            continue;
        several = join_pairs(times, middle, components);
        if (several == 0 || (gap < least_gap && several < MANY))
            continue;
        if (are_runs(components))
            *gap_out = (struct pb_pairs_gap){middle, gap};
        else
            are_others = true;
    }
    return are_others;
}

/* Every pair measured by both its members, and all slowdowns sorted. PB_NOT_FOUND: some were not.
 */
static enum pb_status sort_slowdowns(const struct times *times, double *sorted_out,
                                     size_t *count_out, struct pb_error *err)
{
    size_t count = 0;

    for (size_t a = 0; a < times->sms; a++)
        for (size_t b = a + 1; b < times->sms; b++) {
            double slow = slowdown_of(times, a, b);

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
    double *sorted = malloc(sms * (sms + 1) * sizeof(*sorted));
    struct times times = {matrix->values + kind * sms * sms, NULL, sms};
    struct pb_pairs_gap gap = {0.0, 0.0};
    bool are_others = false;
    enum pb_status status;

    if (sorted == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating pairs of %zu SMs", sms);
    times.alone = sorted + sms * sms;
    find_times_alone(&times);
    status = sort_slowdowns(&times, sorted, &count, err);
    if (status == PB_OK)
        are_others = find_gap(&times, sorted, count, components, &gap);
    if (status == PB_OK && gap.share <= 0.0)
        status = are_others
                     ? pb_fail(err, PB_NOT_FOUND,
                               "ambiguous: SMs that %.*s together slow each other down in closed "
                               "groups, but are no neighbours by number: they may be of GPCs",
                               PB_NAME_LENGTH - 1, matrix->axes[0].labels[kind])
                     : pb_fail(err, PB_NOT_FOUND,
                               "not observable: no pairs of SMs that work together are clearly "
                               "slower than others and form closed groups; the slowest that %.*s "
                               "take %.2f times as long",
                               PB_NAME_LENGTH - 1, matrix->axes[0].labels[kind], sorted[0]);
    if (status == PB_OK) {
        join_pairs(&times, gap.slowdown, components);
        *gap_out = gap;
    }
    free(sorted);
    return status;
}
