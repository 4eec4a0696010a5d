/*
 * Latencies of memories that no cache hides: DRAM and shared memory.
 *
 * Source: M16 sections 5.2 (P4: TLB hit, cache miss) and 6.2.
 */
#include "analysis/infer.h"

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
