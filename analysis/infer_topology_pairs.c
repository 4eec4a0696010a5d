/*
 * sm.tpc_count and sm.tpc_sm_counts: which SMs share their way out.
 *
 * Two SMs of a TPC share it, so that both are slower when they move data at the same time. The
 * pairs that are clearly slower than all others must make up closed circles (whoever shares with
 * one member shares with all); each is a TPC. tpc_sm_counts is one number where all are alike, else
 * a list, the circle of the SM with the least number first.
 *
 * Limit: a way out that is wide enough for both shows nothing (an H200's).
 *
 * Source: facts 4 on maps of SMs.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/axes.h"
#include "analysis/circles.h"
#include "analysis/confidence.h"

/* How much slower, at least, the least of a TPC's pairs is than the slowest other one. */
static const double least_gap = 0.05;

enum { PIECES_MAX = 30, SMS_MAX = 4096 };

/* How much slower both of a pair are than alone: the less slow of the two, so no spike counts. */
static double slowdown(const double *cycles, size_t sms, size_t a, size_t b)
{
    return fmin(cycles[a * sms + b] / cycles[a * sms + a],
                cycles[b * sms + a] / cycles[b * sms + b]);
}

static int falling(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left < right) - (left > right);
}

/* Joins the pairs that are slower than `least`; are the circles closed, and is nobody left out? */
static bool join_pairs(const double *cycles, double least, struct pb_circles *circles)
{
    size_t sms = circles->members, joined = 0, within = 0;

    pb_circles_reset(circles);
    for (size_t a = 0; a < sms; a++)
        for (size_t b = a + 1; b < sms; b++)
            if (slowdown(cycles, sms, a, b) > least) {
                pb_circles_join(circles, a, b);
                joined++;
            }
    pb_circles_count(circles);
    for (size_t i = 0; i < circles->count; i++) {
        within += circles->sizes[i] * (circles->sizes[i] - 1) / 2;
        if (circles->sizes[i] < 2)
            return false;
    }
    return joined == within && circles->count > 1;
}

/*
 * The clearest gap in the slowdowns above which the pairs make up closed circles.
 *
 * sorted[count]  falling; *least_out: the middle of the gap; returns the gap, 0: there is none
 */
static double find_gap(const double *cycles, const double *sorted, size_t count,
                       struct pb_circles *circles, double *least_out)
{
    double widest = 0.0;

    for (size_t i = 0; i + 1 < count; i++) {
        double gap = sorted[i] / sorted[i + 1] - 1.0, middle = (sorted[i] + sorted[i + 1]) / 2.0;

        if (gap < least_gap || gap <= widest || !join_pairs(cycles, middle, circles))
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
            double slow = slowdown(cycles, sms, a, b);

            if (!isfinite(slow) || slow <= 0.0)
                return pb_fail(err, PB_NOT_FOUND, "SMs %zu and %zu were not measured together", a,
                               b);
            sorted_out[count++] = slow;
        }
    qsort(sorted_out, count, sizeof(*sorted_out), falling);
    *count_out = count;
    return PB_OK;
}

/* The kind of traffic that shows circles by the widest gap. PB_NOT_FOUND: none does. */
static enum pb_status find_tpcs(const struct pb_matrix *matrix, double *sorted,
                                struct pb_circles *circles, double *least_out, double *gap_out,
                                size_t *kind_out, struct pb_error *err)
{
    size_t sms = matrix->axes[1].length, count = 0, kinds = matrix->axes[0].length;
    enum pb_status status = PB_NOT_FOUND;

    *gap_out = 0.0;
    for (size_t kind = 0; kind < kinds; kind++) {
        const double *cycles = matrix->values + kind * sms * sms;
        double least = 0.0, gap;

        status = sort_slowdowns(cycles, sms, sorted, &count, err);
        if (status != PB_OK)
            continue;
        gap = find_gap(cycles, sorted, count, circles, &least);
        if (gap <= *gap_out)
            continue;
        *gap_out = gap;
        *least_out = least;
        *kind_out = kind;
    }
    if (*gap_out > 0.0)
        return PB_OK;
    return status != PB_OK
               ? status
               : pb_fail(err, PB_NOT_FOUND,
                         "no pairs of SMs are slower together than others by %.0f%% or more and "
                         "make up closed circles; the slowest pair takes %.2f times as long",
                         100.0 * least_gap, sorted[0]);
}

static enum pb_status check_pairs(const struct pb_matrix *matrix, struct pb_error *err)
{
    static const struct pb_axis_wish wishes[] = {{"kind", true}, {"sm", false}, {"other", false}};
    enum pb_status status = pb_axes_check(matrix, wishes, 3, err);

    if (status == PB_OK && (matrix->axes[1].length != matrix->axes[2].length ||
                            matrix->axes[1].length < 3 || matrix->axes[1].length > SMS_MAX))
        status = pb_fail(err, PB_NOT_FOUND, "pairs of %zu and %zu SMs", matrix->axes[1].length,
                         matrix->axes[2].length);
    return status;
}

static void state_tpcs(const struct pb_case *at, const struct pb_circles *circles, double least,
                       double gap, const char *kind)
{
    char method[PB_MESSAGE_LENGTH];
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, circles->members, circles->members, PIECES_MAX);
    snprintf(method, sizeof(method),
             "pairs of SMs that %.*s together over %.2f times as long as alone; %.0f%% above all "
             "others, in closed circles",
             PB_NAME_LENGTH - 1, kind, least, 100.0 * gap);
    pb_circles_state(circles, pb_votes_confidence(&votes), pb_case_answer(at, "tpc_count"),
                     pb_case_answer(at, "tpc_sm_counts"), method);
}

enum pb_status pb_infer_tpcs(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    struct pb_circles circles = {0};
    double *sorted = NULL, least = 0.0, gap = 0.0;
    enum pb_status status = check_pairs(matrix, err);
    size_t kind = 0, sms;

    if (status != PB_OK)
        return status;
    sms = matrix->axes[1].length;
    status = pb_circles_open(sms, &circles, err);
    if (status == PB_OK && (sorted = malloc(sms * sms * sizeof(*sorted))) == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "no memory for pairs of %zu SMs", sms);
    if (status == PB_OK)
        status = find_tpcs(matrix, sorted, &circles, &least, &gap, &kind, err);
    if (status == PB_OK) {
        join_pairs(matrix->values + kind * sms * sms, least, &circles);
        state_tpcs(at, &circles, least, gap, matrix->axes[0].labels[kind]);
    }
    free(sorted);
    pb_circles_close(&circles);
    return status;
}
