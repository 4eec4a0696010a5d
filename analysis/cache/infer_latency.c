/*
 * Latencies of memories that no cache hides: DRAM and shared memory; and L2's over all SMs.
 *
 * An L2 in slices is nearer to some SMs than to others: on an H200 by 30 cycles of 280. One SM's
 * loads then tell where it lies; two GPUs differ by 1.4% in them, and by 0.1% over all SMs.
 *
 * Source: M16 sections 5.2 (P4: TLB hit, cache miss) and 6.2.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/statistics/latency.h"
#include "analysis/trace.h"

/* The latency of the picked traces and laps. PB_NOT_FOUND: there are none. */
static enum pb_status measure(const struct pb_series *series, const char *path, const char *phase,
                              struct pb_latency *latency_out, struct pb_error *err)
{
    struct pb_pick traces = {path, "trace", phase}, timed = {path, "lap", phase};
    struct pb_sample cycles = {NULL, 0, 0}, laps = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(series, &traces, &cycles, err);

    if (status == PB_OK)
        status = pb_lap_collect(series, &timed, &laps, err);
    if (status == PB_OK)
        status = pb_latency_estimate(&cycles, &laps, latency_out, err);
    pb_sample_clear(&laps);
    pb_sample_clear(&cycles);
    return status;
}

enum pb_status pb_infer_dram_latency(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    const struct pb_parameter *l2 = pb_parameters_find(at->parameters, "l2", "latency_cycles");
    struct pb_latency near;
    enum pb_status status = measure(&at->recordings[0].series, NULL, "near", &near, err);

    if (status != PB_OK)
        return status;
    if (l2 != NULL && l2->kind == PB_VALUE_NUMBER && near.cycles.value <= l2->numbers[0].high)
        return pb_fail(err, PB_NOT_FOUND,
                       "loads took %.0f cycles, no more than L2 hits: the lines were cached",
                       near.cycles.value);
    pb_latency_state(&near, sm_mhz, "cold loads with the TLB warm",
                     pb_case_answer(at, "latency_cycles"), pb_case_answer(at, "latency_ns"));
    return PB_OK;
}

enum pb_status pb_infer_shared_latency(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    struct pb_latency latency;
    enum pb_status status = measure(&at->recordings[0].series, "shared", NULL, &latency, err);

    if (status != PB_OK)
        return status;
    pb_latency_state(&latency, sm_mhz, "loads without conflict",
                     pb_case_answer(at, "latency_cycles"), pb_case_answer(at, "latency_ns"));
    return PB_OK;
}

/* SMs that differ by more than this are not alike, so many at least; blocks of them vote. */
static const double alike_share = 0.01;
enum { SMS_MIN = 8, SM_BLOCKS = 8 };

/* Blocks of SMs, by their numbers, that tell the same median. */
static double confidence_over_sms(const struct pb_sample *laps, double median)
{
    struct pb_votes votes = {0, 0};

    for (size_t block = 0; block < SM_BLOCKS; block++) {
        double sum = 0.0, count = 0.0;

        for (size_t i = block; i < laps->count; i += SM_BLOCKS, count++)
            sum += laps->values[i];
        pb_votes_add(&votes, count > 0.0 && fabs(sum / count - median) <= alike_share * median);
    }
    return pb_votes_confidence(&votes);
}

/* Makes another test of the same device the evidence. */
static void point_to(struct pb_parameter *answer, const char *test)
{
    char *last = strrchr(answer->evidence, '/');

    if (last != NULL)
        snprintf(last + 1, sizeof(answer->evidence) - (size_t)(last + 1 - answer->evidence), "%s",
                 test);
}

/* Restates a latency of one SM as that of all, and what the SMs span. */
static void restate_over_sms(const struct pb_case *at, const struct pb_sample *laps,
                             const struct pb_sample *sorted)
{
    static const char *const names[] = {"latency_cycles", "latency_ns"};
    double low = sorted->values[0], high = sorted->values[sorted->count - 1];
    double median = pb_quantile(sorted->values, sorted->count, 0.5);

    for (size_t i = 0; i < 2; i++) {
        struct pb_parameter *answer =
            pb_parameters_find(at->parameters, at->inference->memory, names[i]);
        double unit = i == 0 ? 1.0 : 1e3 / pb_parameters_number(at->parameters, "clock", "sm_mhz");
        struct pb_estimate own;

        if (answer == NULL || answer->kind != PB_VALUE_NUMBER || isnan(unit))
            continue;
        own = answer->numbers[0];
        pb_parameter_set_number(answer,
                                (struct pb_estimate){unit * median, fmin(own.low, unit * low),
                                                     fmax(own.high, unit * high)},
                                confidence_over_sms(laps, median),
                                "median of %zu SMs' laps, of %.1f to %.1f; one SM's trace: %.1f",
                                laps->count, unit * low, unit * high, own.value);
        point_to(answer, "sm_latency");
    }
}

enum pb_status pb_infer_l2_over_sms(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_pick timed = {"global_cg", "lap", "l2"};
    struct pb_sample laps = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    enum pb_status status = pb_lap_collect(&at->recordings[0].series, &timed, &laps, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&laps, &sorted, err);
    if (status == PB_OK && sorted.count >= SMS_MIN && sorted.count == laps.count &&
        sorted.values[sorted.count - 1] - sorted.values[0] > alike_share * sorted.values[0])
        restate_over_sms(at, &laps, &sorted);
    pb_sample_clear(&sorted);
    pb_sample_clear(&laps);
    return status;
}
