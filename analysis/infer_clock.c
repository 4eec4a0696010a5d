/*
 * clock.overhead_cycles and clock.sm_mhz: what a stamp costs, and cycles in nanoseconds.
 *
 * Source: M16 section 4.2.
 */
#include "analysis/infer.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/axes.h"
#include "analysis/statistics/latency.h"
#include "analysis/statistics/slope.h"
#include "analysis/trace.h"

/* The clock of the first and the last third may differ by this much and be called one clock. */
static const double drift_limit = 0.01;

/* A third of the samples within this is no drift, whatever the timer's grain. */
static const double drift_notice = 1e-3;

/* The cost of one kind of stamp pair; PB_NOT_FOUND: it was not recorded. */
static enum pb_status stamp_cost(const struct pb_series *series, const char *phase,
                                 struct pb_latency_estimate *cost_out, struct pb_error *err)
{
    struct pb_pick pick = {NULL, "traced", phase};
    struct pb_sample cycles;
    enum pb_status status = pb_trace_collect(series, &pick, &cycles, err);

    if (status != PB_OK)
        return status;
    status = pb_latency_estimate(&cycles, NULL, cost_out, err);
    pb_sample_clear(&cycles);
    return status;
}

enum pb_status pb_infer_clock_overhead(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_latency_estimate empty, store;
    char with_store[48] = "";
    enum pb_status status = stamp_cost(series, "empty", &empty, err);

    if (status != PB_OK)
        return status;
    status = stamp_cost(series, "store", &store, err);
    if (status == PB_NO_MEMORY)
        return status;
    if (status == PB_OK)
        snprintf(with_store, sizeof(with_store), "; with the dependent store %g",
                 store.cycles.value);
    pb_parameter_set_number(pb_case_answer(at, "overhead_cycles"), empty.cycles,
                            pb_votes_confidence(&empty.votes), "%s of %zu bare stamp pairs%s",
                            empty.rule == PB_LATENCY_EDGE ? "lower edge" : "centre", empty.accesses,
                            with_store);
    return PB_OK;
}

/* Two columns of the samples × clocks matrix, in arrays of their own. */
static enum pb_status split_clocks(const struct pb_matrix *matrix, double *cycles, double *ns,
                                   struct pb_error *err)
{
    size_t clocks = matrix->axes[1].length;
    size_t at_cycles = pb_axis_label(&matrix->axes[1], "cycles");
    size_t at_ns = pb_axis_label(&matrix->axes[1], "ns");

    if (at_cycles == clocks || at_ns == clocks)
        return pb_fail(err, PB_INVALID, "the calibration has no columns cycles and ns");
    for (size_t i = 0; i < matrix->axes[0].length; i++) {
        cycles[i] = matrix->values[i * clocks + at_cycles];
        ns[i] = matrix->values[i * clocks + at_ns];
    }
    return PB_OK;
}

static void state_rate(struct pb_parameter *answer, const struct pb_slope *slope)
{
    /* cycles per ns is GHz */
    double first = 1e3 * slope->first, last = 1e3 * slope->last;
    struct pb_estimate mhz = {1e3 * slope->all.value, 1e3 * slope->all.low, 1e3 * slope->all.high};
    struct pb_votes votes = {0, 0};
    double drift = fabs(last - first);

    if (!(mhz.value > 0.0) || drift > drift_limit * mhz.value) {
        pb_parameter_set_none(
            answer, "inconsistent: the clock drifted from %.1f to %.1f MHz while it was measured",
            first, last);
        return;
    }
    pb_votes_add_many(&votes, slope->pairs_close, slope->pairs);
    if (drift > drift_notice * mhz.value) {
        mhz.low = fmin(mhz.low, fmin(first, last));
        mhz.high = fmax(mhz.high, fmax(first, last));
        pb_votes_contradict(&votes);
    }
    pb_parameter_set_number(answer, mhz, pb_votes_confidence(&votes),
                            "median slope of %zu sample pairs; first third %.1f, last third %.1f",
                            slope->pairs, first, last);
}

enum pb_status pb_infer_clock_rate(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    double *cycles = NULL, *ns = NULL;
    struct pb_slope slope;
    enum pb_status status;
    size_t count;

    if (matrix->rank != 2 || matrix->values == NULL || matrix->axes[1].labels == NULL)
        return pb_fail(err, PB_INVALID, "the calibration is no matrix of samples and clocks");
    count = matrix->axes[0].length;
    cycles = malloc((count + 1) * sizeof(*cycles));
    ns = malloc((count + 1) * sizeof(*ns));
    if (cycles == NULL || ns == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu samples", count);
        goto out;
    }
    status = split_clocks(matrix, cycles, ns, err);
    if (status == PB_OK)
        status = pb_slope_fit(ns, cycles, count, &slope, err);
    if (status == PB_OK)
        state_rate(pb_case_answer(at, "sm_mhz"), &slope);
out:
    free(ns);
    free(cycles);
    return status;
}
