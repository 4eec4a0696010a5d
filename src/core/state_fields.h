/*
 * The fields of a device's state, one row each. To add a field is to add a row here: from the rows
 * come struct pb_state, the table `state` of the fleet file and its documentation, the NVML reader,
 * the value that a simulated device reports, and the metrics of the verdict.
 *
 * This file has no include guard: whoever includes it defines PB_STATE_FIELD first, for the columns
 * it needs, and the file undefines it.
 *
 * PB_STATE_FIELD(type, member, column, unit, since, description, nvml, simulated, metrics)
 *   type         F64: a double, NaN where it is not known; I64: an int64_t, -1 where not known
 *   column       its name in the file
 *   since        FIELD: in all files; LATER: files written before it was added lack it
 *   nvml         NVML(form, symbol, older symbol or NULL, scale, arguments...), see nvml_calls.h
 *   simulated    SIM_VALUE(number), SIM_UNKNOWN, or SIM_CALL(function), see sim/describe.c
 *   metrics      NO_METRIC, or up to six of
 *                METRIC(name, shape, scale, unit, part, domain, better, quantum, practical,
 *                traits) or
 *                REASON(name, bit, unit, part, domain, better, quantum, practical, traits);
 *                shapes are in analysis/verdict/observe_state.c, the rest in metric_rows.h there
 */
PB_STATE_FIELD(F64, sm_clock_mhz, "sm_clock", "MHz", FIELD, "NaN: not known, as all that follow",
               NVML(UNSIGNED_OF, "nvmlDeviceGetClockInfo", NULL, 1.0, NVML_CLOCK_SM),
               SIM_CALL(sm_clock_mhz), NO_METRIC)
PB_STATE_FIELD(F64, memory_clock_mhz, "memory_clock", "MHz", FIELD, "",
               NVML(UNSIGNED_OF, "nvmlDeviceGetClockInfo", NULL, 1.0, NVML_CLOCK_MEM), SIM_UNKNOWN,
               NO_METRIC)
PB_STATE_FIELD(F64, power_w, "power", "W", FIELD, "",
               NVML(UNSIGNED, "nvmlDeviceGetPowerUsage", NULL, 1e-3, 0), SIM_CALL(power_w),
               METRIC("power_max", MAX_MEAN, 1.0, "W", POWER, STATE, NEITHER, 1.0, 150.0,
                      T(SAME_BATTERY)))
PB_STATE_FIELD(F64, temperature_c, "temperature", "degC", FIELD, "of the GPU",
               NVML(UNSIGNED_OF, "nvmlDeviceGetTemperature", NULL, 1.0, NVML_TEMPERATURE_GPU),
               SIM_CALL(temperature_c),
               METRIC("temperature_max", MAX, 1.0, "degC", THERMAL, STATE, LOWER, 1.0, 15.0,
                      T(SAME_BATTERY)),
               METRIC("temperature_rise", RISE, 1.0, "degC", THERMAL, STATE, LOWER, 1.0, 15.0,
                      T(SAME_BATTERY)))
PB_STATE_FIELD(F64, memory_temperature_c, "memory_temperature", "degC", FIELD, "",
               NVML(FIELDS, "nvmlDeviceGetFieldValues", NULL, 1.0, NVML_FIELD_MEMORY_TEMPERATURE),
               SIM_UNKNOWN,
               METRIC("memory_temperature_max", MAX, 1.0, "degC", THERMAL, STATE, LOWER, 1.0, 15.0,
                      T(SAME_BATTERY)))
/* A bit mask: never compare for equality. */
PB_STATE_FIELD(I64, throttle_reasons, "throttle_reasons", "", FIELD,
               "bit mask of NVML; -1: not known, as all that follow",
               NVML(UNSIGNED64, "nvmlDeviceGetCurrentClocksEventReasons",
                    "nvmlDeviceGetCurrentClocksThrottleReasons", 1.0, 0),
               SIM_CALL(throttle_reasons),
               REASON("locked_clocks", 0x2, "share", CLOCK, FRACTION, NEITHER, 0.0, 0.2,
                      T(LOCKED_CLOCKS)),
               REASON("power_cap", 0x4, "share", POWER, FRACTION, LOWER, 0.0, 0.3, 0),
               REASON("slowdown", 0x8, "sample", THERMAL, COUNT, LOWER, 1.0, 0.0, 0),
               REASON("thermal_software", 0x20, "sample", THERMAL, COUNT, LOWER, 1.0, 0.0, 0),
               REASON("thermal_hardware", 0x40, "sample", THERMAL, COUNT, LOWER, 1.0, 0.0, 0),
               REASON("power_brake", 0x80, "sample", POWER, COUNT, LOWER, 1.0, 0.0, 0))
/* Errors are counted over the card's life, and judged twice: those before the run, those of it. */
PB_STATE_FIELD(I64, ecc_corrected, "ecc_corrected", "", FIELD, "errors in the life of the card",
               NVML(ECC, "nvmlDeviceGetTotalEccErrors", NULL, 1.0, NVML_ECC_CORRECTED), SIM_UNKNOWN,
               METRIC("ecc_corrected_delta", STEP, 1.0, "error", ECC, COUNT, LOWER, 1.0, 10.0,
                      T(MEMORY_ERROR) | T(RECOVERED)))
PB_STATE_FIELD(I64, ecc_uncorrected, "ecc_uncorrected", "", FIELD, "the same, not corrected",
               NVML(ECC, "nvmlDeviceGetTotalEccErrors", NULL, 1.0, NVML_ECC_UNCORRECTED),
               SIM_UNKNOWN,
               METRIC("ecc_uncorrected_delta", STEP, 1.0, "error", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)),
               METRIC("ecc_uncorrected_before", FIRST, 1.0, "error", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(EARLIER_ERROR)))
PB_STATE_FIELD(I64, remapped_corrected, "remapped_corrected", "", FIELD,
               "rows remapped after corrected errors",
               NVML(REMAPPED, "nvmlDeviceGetRemappedRows", NULL, 1.0, 0), SIM_UNKNOWN,
               METRIC("remapped_delta", STEP, 1.0, "row", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)),
               METRIC("remapped_before", FIRST, 1.0, "row", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(EARLIER_ERROR)))
PB_STATE_FIELD(I64, remapped_uncorrected, "remapped_uncorrected", "", FIELD,
               "rows remapped after uncorrected errors",
               NVML(REMAPPED, "nvmlDeviceGetRemappedRows", NULL, 1.0, 1), SIM_UNKNOWN,
               METRIC("remapped_uncorrected_delta", STEP, 1.0, "row", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)),
               METRIC("remapped_uncorrected_before", FIRST, 1.0, "row", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(EARLIER_ERROR)))
PB_STATE_FIELD(I64, remap_pending, "remap_pending", "", FIELD, "1: a remap waits for a reset",
               NVML(REMAPPED, "nvmlDeviceGetRemappedRows", NULL, 1.0, 2), SIM_UNKNOWN,
               METRIC("remap_pending", LAST, 1.0, "row", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)))
PB_STATE_FIELD(I64, remap_failed, "remap_failed", "", FIELD, "1: a remap has failed",
               NVML(REMAPPED, "nvmlDeviceGetRemappedRows", NULL, 1.0, 3), SIM_UNKNOWN,
               METRIC("remap_failed", LAST, 1.0, "row", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)))
/* The best of the run: an idle link rests at a lower generation. */
PB_STATE_FIELD(I64, pcie_generation, "pcie_generation", "", FIELD, "of the link now",
               NVML(UNSIGNED, "nvmlDeviceGetCurrPcieLinkGeneration", NULL, 1.0, 0),
               SIM_CALL(pcie_generation),
               METRIC("pcie_generation", MAX, 1.0, "generation", HOST_LINK, SIZE, HIGHER, 1.0, 0.05,
                      0))
PB_STATE_FIELD(I64, pcie_width, "pcie_width", "", FIELD, "lanes of the link now",
               NVML(UNSIGNED, "nvmlDeviceGetCurrPcieLinkWidth", NULL, 1.0, 0), SIM_CALL(pcie_width),
               METRIC("pcie_width", MAX, 1.0, "lane", HOST_LINK, SIZE, HIGHER, 1.0, 0.05, 0))
PB_STATE_FIELD(I64, pcie_generation_max, "pcie_generation_max", "", FIELD, "",
               NVML(UNSIGNED, "nvmlDeviceGetMaxPcieLinkGeneration", NULL, 1.0, 0),
               SIM_CALL(pcie_generation), NO_METRIC)
PB_STATE_FIELD(I64, pcie_width_max, "pcie_width_max", "", FIELD, "",
               NVML(UNSIGNED, "nvmlDeviceGetMaxPcieLinkWidth", NULL, 1.0, 0),
               SIM_CALL(pcie_width_max), NO_METRIC)
PB_STATE_FIELD(I64, pcie_replays, "pcie_replays", "", FIELD, "replay counter of the link",
               NVML(UNSIGNED, "nvmlDeviceGetPcieReplayCounter", NULL, 1.0, 0), SIM_VALUE(0),
               METRIC("pcie_replay_delta", STEP, 1.0, "replay", HOST_LINK, COUNT, LOWER, 1.0, 100.0,
                      T(RECOVERED)))
/* The lowest over the run counts: other ranks of the node open contexts here for a moment. */
PB_STATE_FIELD(I64, memory_used_bytes, "memory_used", "byte", FIELD, "by all processes",
               NVML(MEMORY_USED, "nvmlDeviceGetMemoryInfo", NULL, 1.0, 0),
               SIM_CALL(memory_used_bytes),
               METRIC("memory_used_min", MIN, 1.0, "byte", CO_TENANTS, STATE, LOWER, 0.0, 4e9, 0))
PB_STATE_FIELD(I64, processes, "processes", "", FIELD, "compute processes, this one included",
               NVML(PROCESSES, "nvmlDeviceGetComputeRunningProcesses_v3",
                    "nvmlDeviceGetComputeRunningProcesses", 1.0, 0),
               SIM_VALUE(1),
               METRIC("other_processes", MIN_LESS_ONE, 1.0, "process", CO_TENANTS, COUNT, LOWER,
                      1.0, 0.0, 0))
/* 0 where there are none. */
PB_STATE_FIELD(I64, nvlinks_up, "nvlinks_up", "", LATER, "NVLinks that are up",
               NVML(NVLINKS_UP, "nvmlDeviceGetNvLinkState", NULL, 1.0, 0), SIM_UNKNOWN,
               METRIC("nvlinks_up", MIN, 1.0, "link", PEER_LINK, SIZE, HIGHER, 1.0, 0.03, 0),
               METRIC("nvlinks_lost", FALL, 1.0, "link", PEER_LINK, COUNT, LOWER, 1.0, 0.0, 0))
PB_STATE_FIELD(I64, nvlink_errors, "nvlink_errors", "", LATER,
               "replays, recoveries and CRC errors of all NVLinks",
               NVML(FIELDS, "nvmlDeviceGetFieldValues", NULL, 1.0, NVML_FIELD_NVLINK_CRC_FLIT,
                    NVML_FIELD_NVLINK_CRC_DATA, NVML_FIELD_NVLINK_REPLAY,
                    NVML_FIELD_NVLINK_RECOVERY),
               SIM_UNKNOWN,
               METRIC("nvlink_error_delta", STEP, 1.0, "error", PEER_LINK, COUNT, LOWER, 1.0, 10.0,
                      T(RECOVERED)))
/* A simulated throttle is always one of heat. */
PB_STATE_FIELD(I64, violation_power_ns, "violation_power", "ns", LATER,
               "slowed by the power limit so far",
               NVML(VIOLATION, "nvmlDeviceGetViolationStatus", NULL, 1.0, NVML_PERF_POLICY_POWER),
               SIM_VALUE(0),
               METRIC("power_violation_ms", STEP, 1e-6, "ms", POWER, STATE, LOWER, 1.0, 1000.0,
                      T(SAME_BATTERY) | T(POWER_VIOLATION)))
PB_STATE_FIELD(I64, violation_thermal_ns, "violation_thermal", "ns", LATER,
               "slowed by temperature so far",
               NVML(VIOLATION, "nvmlDeviceGetViolationStatus", NULL, 1.0, NVML_PERF_POLICY_THERMAL),
               SIM_CALL(violation_thermal_ns),
               METRIC("thermal_violation_ms", STEP, 1e-6, "ms", THERMAL, COUNT, LOWER, 1.0, 20.0,
                      T(SAME_BATTERY)))
/* GPUs before remapped rows retire pages instead. */
PB_STATE_FIELD(
    I64, retired_corrected, "retired_corrected", "", LATER, "pages retired after corrected errors",
    NVML(LIST_LENGTH_OF, "nvmlDeviceGetRetiredPages", NULL, 1.0, NVML_RETIRED_CORRECTED),
    SIM_UNKNOWN,
    METRIC("retired_delta", STEP, 1.0, "page", ECC, COUNT, LOWER, 1.0, 0.0, T(MEMORY_ERROR)),
    METRIC("retired_before", FIRST, 1.0, "page", ECC, COUNT, LOWER, 1.0, 0.0, T(EARLIER_ERROR)))
PB_STATE_FIELD(I64, retired_uncorrected, "retired_uncorrected", "", LATER,
               "pages retired after an uncorrected error",
               NVML(LIST_LENGTH_OF, "nvmlDeviceGetRetiredPages", NULL, 1.0,
                    NVML_RETIRED_UNCORRECTED),
               SIM_UNKNOWN,
               METRIC("retired_uncorrected_delta", STEP, 1.0, "page", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)),
               METRIC("retired_uncorrected_before", FIRST, 1.0, "page", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(EARLIER_ERROR)))
PB_STATE_FIELD(I64, retirement_pending, "retirement_pending", "", LATER,
               "1: a page will be retired at the next reset",
               NVML(UNSIGNED, "nvmlDeviceGetRetiredPagesPendingStatus", NULL, 1.0, 0), SIM_UNKNOWN,
               METRIC("retirement_pending", LAST, 1.0, "page", ECC, COUNT, LOWER, 1.0, 0.0,
                      T(MEMORY_ERROR)))

#undef PB_STATE_FIELD
