/* The fleet file, object by object; see schema.h. Order here is the order of SCHEMA.md. */
#include "h5schema/schema.h"

#include <assert.h>
#include <string.h>

#include "core/former.h"
#include "core/identity.h"
#include "h5schema/field.h"
#include "h5schema/rows.h"

static const struct pb_field run_fields[] = {
    FIELD(I64, pb_run, schema_version, "schema_version", "", "version of this layout"),
    FIELD(TEXT, pb_run, tool_version, "tool_version", "", "version of the program that wrote it"),
    FIELD(TEXT, pb_run, run_id, "run_id", "", "one name for all ranks of one run"),
    FIELD(TEXT, pb_run, created, "created", "UTC", "when the run began"),
    FIELD(TEXT, pb_run, command_line, "command_line", "", "as typed"),
    FIELD(I64, pb_run, complete, "complete", "", "1: every row of /fleet is ok"),
};

static const struct pb_field member_fields[] = {
    FIELD(I64, pb_member, rank, "rank", "", "MPI rank, or the number given by a merge"),
    FIELD(TEXT, pb_member, host, "host", "", "node"),
    FIELD(I64, pb_member, slot, "slot", "",
          "number of the GPU on its node; of a MIG instance 1000 * (GPU + 1) + 10 * GPU instance + "
          "compute instance; -1: not known"),
    FIELD(TEXT, pb_member, key, "key", "", "HOST.gpuSLOT, its group under /devices"),
    FIELD(TEXT, pb_member, uuid, "uuid", "", "the device's own name"),
    FIELD(TEXT, pb_member, pci_bus_id, "pci_bus_id", "", "domain:bus:device.function"),
    FIELD(TEXT, pb_member, model, "model", "", "as the driver calls it"),
    FIELD(TEXT, pb_member, status, "status", "",
          "ok, partial, failed, hung, crashed, lost, absent or duplicate"),
    FIELD(U64, pb_member, tests_ok, "tests_ok", "", "tests that ended well"),
    FIELD(U64, pb_member, tests_failed, "tests_failed", "", "tests that did not"),
    FIELD(F64, pb_member, seconds, "seconds", "s", "from the first order to the last answer"),
    FIELD(TEXT, pb_member, message, "message", "", "what went wrong first"),
};

static const struct pb_field device_fields[] = {
    FIELD(TEXT, pb_device_info, backend, "backend", "", "cuda or sim"),
    FIELD(TEXT, pb_device_info, model, "model", "", "as the driver calls it"),
    FIELD(TEXT, pb_device_info, uuid, "uuid", "", "the device's own name"),
    FIELD(TEXT, pb_device_info, pci_bus_id, "pci_bus_id", "", "domain:bus:device.function"),
    FIELD(TEXT, pb_device_info, vbios, "vbios", "", "VBIOS version; empty: not known"),
    FIELD(TEXT, pb_device_info, driver_version, "driver_version", "", "empty: not known"),
    FIELD(TEXT, pb_device_info, runtime_version, "runtime_version", "", "of CUDA, or simulator"),
    FIELD(TEXT, pb_device_info, source, "source", "", "where a simulated profile comes from"),
    FIELD(I64, pb_device_info, slot, "slot", "",
          "number on its node, made as that in /fleet; -1: not known"),
    FIELD(U32, pb_device_info, compute_capability, "compute_capability", "", "10 major + minor"),
    FIELD(U32, pb_device_info, capabilities, "capabilities", "", "bit mask of what it can do"),
    FIELD(U32, pb_device_info, sm_count, "sm_count", "", "streaming multiprocessors"),
    FIELD(U32, pb_device_info, warp_size, "warp_size", "", "threads"),
    FIELD(U32, pb_device_info, max_threads_per_cta, "max_threads_per_cta", "", "threads"),
    FIELD(U32, pb_device_info, max_threads_per_sm, "max_threads_per_sm", "", "threads"),
    FIELD(U64, pb_device_info, memory_bytes, "memory", "byte", "global memory in all"),
    FIELD(U64, pb_device_info, memory_free_bytes, "memory_free", "byte", "free when opened"),
    FIELD(U64, pb_device_info, l2_bytes, "l2", "byte", "L2 as the driver states it, not measured"),
    FIELD(U64, pb_device_info, shared_per_sm_bytes, "shared_per_sm", "byte", "shared memory"),
    FIELD(U64, pb_device_info, shared_per_cta_bytes, "shared_per_cta", "byte",
          "largest opt-in of one CTA"),
    FIELD(U64, pb_device_info, constant_bytes, "constant", "byte", "constant memory"),
    FIELD(U64, pb_device_info, trace_window, "trace_window", "",
          "accesses recorded in one launch without shrinking L1"),
    FIELD(U64, pb_device_info, trace_window_large, "trace_window_large", "",
          "the same where a smaller L1 does not matter"),
    FIELD(F64, pb_device_info, sm_clock_max_mhz, "sm_clock_max", "MHz", "as the driver states it"),
    FIELD(F64, pb_device_info, memory_clock_max_mhz, "memory_clock_max", "MHz",
          "as the driver states it"),
    FIELD(F64, pb_device_info, theoretical_bytes_per_s, "theoretical_bandwidth", "byte/s",
          "DRAM clock times bus width; 0: not known"),
    FIELD(I32, pb_device_info, ecc_enabled, "ecc_enabled", "", "1, 0, or -1: not known"),
    FIELD(I32, pb_device_info, mig_enabled, "mig_enabled", "", "1, 0, or -1: not known"),
    FIELD(F64, pb_device_info, power_limit_w, "power_limit", "W", "enforced; NaN: not known"),
    FIELD(F64, pb_device_info, power_limit_default_w, "power_limit_default", "W", "NaN: not known"),
    LATER(TEXT, pb_device_info, serial, "serial", "", "of the board; empty: not known"),
    LATER(TEXT, pb_device_info, board_part, "board_part", "",
          "part number of the board; empty: not known"),
};

static const struct pb_field state_fields[] = {
    FIELD(F64, pb_state, unix_seconds, "time", "s", "since 1970-01-01 UTC"),
    FIELD(TEXT, pb_state, test, "test", "", "the test it belongs to"),
    FIELD(TEXT, pb_state, when, "when", "", "before, during or after"),
#define PB_STATE_FIELD(type, member, column, unit, since, description, ...)                        \
    since(type, pb_state, member, column, unit, description),
#include "core/state_fields.h"
};

static const struct pb_field test_fields[] = {
    FIELD(TEXT, pb_test_row, name, "name", "", "the test"),
    FIELD(TEXT, pb_test_row, status, "status", "",
          "ok, failed, hung, crashed, lost, unsupported or missing"),
    FIELD(TEXT, pb_test_row, unit, "unit", "", "of what it measures"),
    FIELD(TEXT, pb_test_row, method, "method", "", "procedure and source"),
    FIELD(TEXT, pb_test_row, message, "message", "", "why it is not ok, or what was special"),
    FIELD(F64, pb_test_row, seconds, "seconds", "s", "wall time"),
    FIELD(F64, pb_test_row, overhead_cycles, "overhead", "cycle",
          "between two stamps around the recording store alone"),
    FIELD(I64, pb_test_row, sm_id, "sm_id", "", "where it ran; -1: several, or not known"),
    LATER(I64, pb_test_row, concurrent_devices, "concurrent_devices", "",
          "devices of the node that were to run it at the same time; 0: it is not such a test"),
    LATER(U64, pb_test_row, method_version, "method_version", "",
          "1, 2, …: one more where the test came to give other numbers of an unchanged device; "
          "0: the first"),
};

static const struct pb_field point_fields[] = {
    FIELD(TEXT, pb_point, path, "path", "",
          "global_ca, global_cg, readonly, texture, texture_2d, constant, shared; none: stamps "
          "alone"),
    FIELD(TEXT, pb_point, order, "order", "",
          "sequential, random, random_in_pages, random_words, given, warp or stamp"),
    FIELD(TEXT, pb_point, mode, "mode", "",
          "traced: every access stamped; timed: all of them as one"),
    FIELD(TEXT, pb_point, phase, "phase", "", "why this point was measured"),
    FIELD(U64, pb_point, footprint_bytes, "footprint", "byte", "size of the array"),
    FIELD(U64, pb_point, stride_bytes, "stride", "byte", "between neighbours in address order"),
    FIELD(U64, pb_point, first, "first", "", "its first access in latency and index"),
    FIELD(U64, pb_point, count, "count", "", "its accesses in latency and index"),
    FIELD(U64, pb_point, warm, "warm", "", "loads before the record, in the same launch"),
    FIELD(U64, pb_point, window, "window", "", "accesses recorded without a break"),
    FIELD(U64, pb_point, timed, "timed", "", "loads of a timed pass"),
    FIELD(U64, pb_point, total_cycles, "cycles", "cycle", "of the timed loads, SM clock"),
    FIELD(F64, pb_point, total_ns, "nanoseconds", "ns", "of the timed loads, global timer"),
    FIELD(F64, pb_point, overhead_cycles, "overhead", "cycle",
          "to subtract from every latency of this point"),
    FIELD(U64, pb_point, carveout_bytes, "carveout", "byte", "shared memory set aside"),
    FIELD(U64, pb_point, seed, "seed", "", "of a random order"),
    FIELD(U64, pb_point, base_address, "base", "byte", "device address of offset 0"),
    FIELD(U64, pb_point, repeat, "repeat", "", "0, 1, … of otherwise equal points"),
    FIELD(I64, pb_point, sm_id, "sm_id", "", "-1: not known"),
    LATER(U64, pb_point, slots, "slots", "",
          "that the chase links to one cycle; 0: neither this nor the next columns are known"),
    LATER(U64, pb_point, is_cold, "cold", "",
          "1: no cache and no TLB held anything at the launch (simulated devices)"),
    LATER(U64, pb_point, is_flushed, "flushed", "",
          "1: L2 was filled with other data before the launch"),
    LATER(U64, pb_point, is_prefilled, "prefilled", "",
          "1: every slot was read once, in order, past L1, before the launch (and after flushing)"),
    LATER(TEXT, pb_point, warm_path, "warm_path", "", "of the warm loads but the first own_warm"),
    LATER(U64, pb_point, own_warm, "own_warm", "", "warm loads by the point's own path, the first"),
    LATER(U64, pb_point, alias_bytes, "alias", "byte",
          "size of the one block that is mapped over and over; 0: plain memory"),
};

static const struct pb_field latency_fields[] = {
    {"latency", PB_FIELD_U32, 0, sizeof(uint32_t), "cycle",
     "latency of every access as stamped, the point's overhead included", false}};
static const struct pb_field index_fields[] = {
    {"index", PB_FIELD_U64, 0, sizeof(uint64_t), "byte",
     "offset of every accessed word from the point's base", false}};
static const struct pb_field value_fields[] = {
    {"value", PB_FIELD_F64, 0, sizeof(double), "", "what was measured over the named axes", false}};

static const struct pb_field parameter_fields[] = {
    FIELD(TEXT, pb_parameter_row, device, "device", "", "key"),
    FIELD(TEXT, pb_parameter_row, memory, "memory", "", "l1, l2, dram, …"),
    FIELD(TEXT, pb_parameter_row, parameter, "parameter", "", "size_bytes, latency_cycles, …"),
    FIELD(TEXT, pb_parameter_row, value, "value", "",
          "as text; a list that has no room ends in \", …]\"; empty: not determined"),
    FIELD(F64, pb_parameter_row, number, "number", "", "the same where it is one number"),
    FIELD(TEXT, pb_parameter_row, unit, "unit", "", "of value, low and high"),
    FIELD(F64, pb_parameter_row, low, "low", "", "lower end of the interval"),
    FIELD(F64, pb_parameter_row, high, "high", "", "upper end of the interval"),
    FIELD(F64, pb_parameter_row, confidence, "confidence", "", "0 to 1"),
    FIELD(TEXT, pb_parameter_row, method, "method", "", "how it was inferred"),
    FIELD(TEXT, pb_parameter_row, evidence, "evidence", "", "path in this file"),
    FIELD(TEXT, pb_parameter_row, reason, "reason", "", "why there is no value"),
};

static const struct pb_field agreement_fields[] = {
    FIELD(TEXT, pb_agreement_row, device, "device", "", "key"),
    FIELD(TEXT, pb_agreement_row, test, "test", "", "whose chases were replayed"),
    FIELD(U64, pb_agreement_row, accesses, "accesses", "", "recorded, of all traced chases"),
    FIELD(U64, pb_agreement_row, agreed, "agreed", "",
          "answered by the level that the parameters predict"),
    FIELD(U64, pb_agreement_row, contradicted, "contradicted", "", "answered by another one"),
    FIELD(U64, pb_agreement_row, undetermined, "undetermined", "",
          "neither: a parameter is not determined, or the latency is of no level"),
    FIELD(TEXT, pb_agreement_row, parameter, "parameter", "",
          "what most of the undetermined ones lack; empty: there are none"),
    FIELD(U64, pb_agreement_row, parameter_accesses, "parameter_accesses", "",
          "how many of them lack just that"),
    FIELD(U64, pb_agreement_row, worst_point, "worst_point", "",
          "row of the test's points: the chase that agrees least"),
    FIELD(U64, pb_agreement_row, worst_accesses, "worst_accesses", "", "accesses of that chase"),
    FIELD(U64, pb_agreement_row, worst_contradicted, "worst_contradicted", "",
          "how many of these are contradicted"),
    LATER(TEXT, pb_agreement_row, reasons, "reasons", "",
          "all that the undetermined ones lack, each with its share of the accesses, most first"),
};

static const struct pb_field source_fields[] = {
    FIELD(TEXT, pb_analysis_source, version, "version", "", "of the analysis that wrote /analysis"),
    FIELD(U64, pb_analysis_source, input_digest, "input_digest", "",
          "of all bytes of the file that lie before /analysis; another one: analyse it again"),
    FIELD(U64, pb_analysis_source, metrics_digest, "metrics_digest", "",
          "of the rows of analysed_devices, metrics and metric_values"),
};

static const struct pb_field analysed_device_fields[] = {
    FIELD(TEXT, pb_analysed_device, device, "device", "", "key"),
    FIELD(TEXT, pb_analysed_device, missing, "missing", "",
          "tests that did not end well, and how; empty: none"),
    FIELD(U64, pb_analysed_device, outcomes, "outcomes", "", "bit mask of how its tests ended"),
    FIELD(U64, pb_analysed_device, battery, "battery", "", "digest of which tests were run"),
    FIELD(F64, pb_analysed_device, measured_seconds, "measured", "s",
          "its first state, since 1970-01-01 UTC; 0: not known"),
};

static const struct pb_field stored_metric_fields[] = {
    FIELD(TEXT, pb_stored_metric, name, "name", "", "as in docs/metrics.md"),
    FIELD(TEXT, pb_stored_metric, test, "test", "", "where its evidence lies; empty: the state"),
    FIELD(TEXT, pb_stored_metric, unit, "unit", "", "of value, noise and quantum"),
    LATER(U64, pb_stored_metric, method_version, "method_version", "",
          "of the test; 0: the first. Numbers of two versions are not compared"),
};

static const struct pb_field metric_value_fields[] = {
    FIELD(U32, pb_metric_value, device, "device", "", "row of analysed_devices"),
    FIELD(U32, pb_metric_value, metric, "metric", "", "row of metrics"),
    FIELD(F64, pb_metric_value, value, "value", "", "in the metric's unit"),
    FIELD(F64, pb_metric_value, noise, "noise", "",
          "standard deviation between readings of this device; 0: not known"),
    FIELD(F64, pb_metric_value, quantum, "quantum", "",
          "smallest step, where it is not that of docs/metrics.md; 0: it is"),
    FIELD(I64, pb_metric_value, place, "place", "",
          "SM, address or peer that the number belongs to; -1: the whole device"),
};

static const struct pb_field finding_fields[] = {
    FIELD(TEXT, pb_finding_row, severity, "severity", "", "OK, WARNING, CRITICAL or UNKNOWN"),
    FIELD(TEXT, pb_finding_row, level, "level", "",
          "how far it reaches: access, sm, device, slot, node, population or fleet"),
    FIELD(TEXT, pb_finding_row, place, "place", "", "what it is about, for people"),
    FIELD(TEXT, pb_finding_row, host, "host", "", "empty: several"),
    FIELD(TEXT, pb_finding_row, device, "device", "", "key; empty: several or none"),
    FIELD(TEXT, pb_finding_row, model, "model", "", "of the device or group"),
    FIELD(TEXT, pb_finding_row, cause, "cause", "", "a word of docs/verdicts.md, or unexplained"),
    FIELD(TEXT, pb_finding_row, metric, "metric", "", "the one that moved most; empty: none"),
    FIELD(TEXT, pb_finding_row, unit, "unit", "", "of value and expected"),
    FIELD(F64, pb_finding_row, value, "value", "", "of that metric, in unit"),
    FIELD(F64, pb_finding_row, expected, "expected", "", "the peers' center, in unit"),
    FIELD(F64, pb_finding_row, shift, "shift", "",
          "relative to expected; absolute for fractions, counts and states"),
    FIELD(F64, pb_finding_row, sigmas, "sigmas", "", "the same in robust standard deviations"),
    FIELD(F64, pb_finding_row, p, "p", "", "how probable in a healthy fleet, after multiplicity"),
    FIELD(U64, pb_finding_row, metrics, "metrics", "", "how many metrics moved"),
    FIELD(U64, pb_finding_row, peers, "peers", "", "devices it was compared with"),
    FIELD(I64, pb_finding_row, drain, "drain", "", "1: the node should take no more work"),
    FIELD(TEXT, pb_finding_row, summary, "summary", "", "what, by how much, against whom"),
    FIELD(TEXT, pb_finding_row, evidence, "evidence", "", "what supports the cause"),
    FIELD(TEXT, pb_finding_row, evidence_path, "evidence_path", "", "path in this file"),
    FIELD(TEXT, pb_finding_row, advice, "advice", "", "what to do"),
};

static const struct pb_field finding_member_fields[] = {
    FIELD(U64, pb_finding_member, finding, "finding", "", "row of /analysis/findings"),
    FIELD(TEXT, pb_finding_member, device, "device", "", "key"),
};

const struct pb_object pb_schema[] = {
    {"/", PB_OBJECT_GROUP, true, run_fields, COUNT(run_fields), sizeof(struct pb_run),
     "the run as a whole"},
    {"/fleet", PB_OBJECT_TABLE, true, member_fields, COUNT(member_fields), sizeof(struct pb_member),
     "one row for each expected rank and what became of its device"},
    {"/devices/<key>", PB_OBJECT_GROUP, false, device_fields, COUNT(device_fields),
     sizeof(struct pb_device_info), "identity and properties of one device"},
    {"/devices/<key>/state", PB_OBJECT_TABLE, false, state_fields, COUNT(state_fields),
     sizeof(struct pb_state),
     "the device's state over time; of a MIG instance all but memory_used and processes is its "
     "GPU's"},
    {"/devices/<key>/tests/<test>", PB_OBJECT_GROUP, false, test_fields, COUNT(test_fields),
     sizeof(struct pb_test_row), "one test on one device"},
    {"/devices/<key>/tests/<test>/points", PB_OBJECT_TABLE, false, point_fields,
     COUNT(point_fields), sizeof(struct pb_point), "one row for each chase"},
    {"/devices/<key>/tests/<test>/latency", PB_OBJECT_ARRAY, false, latency_fields, 1,
     sizeof(uint32_t), "all accesses of all points, concatenated"},
    {"/devices/<key>/tests/<test>/index", PB_OBJECT_ARRAY, false, index_fields, 1, sizeof(uint64_t),
     "all accesses of all points, concatenated"},
    {"/devices/<key>/tests/<test>/value", PB_OBJECT_MATRIX, false, value_fields, 1, sizeof(double),
     "a matrix; its dimension scales lie beside it under their own names"},
    {"/analysis/parameters", PB_OBJECT_TABLE, false, parameter_fields, COUNT(parameter_fields),
     sizeof(struct pb_parameter_row), "what plumb-analyze inferred"},
    {"/analysis/agreement", PB_OBJECT_TABLE, false, agreement_fields, COUNT(agreement_fields),
     sizeof(struct pb_agreement_row), "how much of the recorded accesses the parameters predict"},
    {"/analysis/source", PB_OBJECT_TABLE, false, source_fields, COUNT(source_fields),
     sizeof(struct pb_analysis_source), "what /analysis was made by, and from"},
    {"/analysis/analysed_devices", PB_OBJECT_TABLE, false, analysed_device_fields,
     COUNT(analysed_device_fields), sizeof(struct pb_analysed_device),
     "the devices that metric_values has numbers of"},
    {"/analysis/metrics", PB_OBJECT_TABLE, false, stored_metric_fields, COUNT(stored_metric_fields),
     sizeof(struct pb_stored_metric), "the numbers that devices are compared by"},
    {"/analysis/metric_values", PB_OBJECT_TABLE, false, metric_value_fields,
     COUNT(metric_value_fields), sizeof(struct pb_metric_value),
     "a row for each number of each device, device by device"},
    {"/analysis/findings", PB_OBJECT_TABLE, false, finding_fields, COUNT(finding_fields),
     sizeof(struct pb_finding_row), "what plumb-outliers found, worst first"},
    {"/analysis/finding_members", PB_OBJECT_TABLE, false, finding_member_fields,
     COUNT(finding_member_fields), sizeof(struct pb_finding_member),
     "the devices that each finding is about, of any number"},
};

const size_t pb_schema_count = COUNT(pb_schema);

/* The columns whose texts are names that version 1 had others for. */
static const struct {
    const char *object, *field;
    enum pb_name_kind kind;
} named_fields[] = {
    {"/devices/<key>/state", "test", PB_NAME_OF_TEST},
    {"/devices/<key>/tests/<test>", "name", PB_NAME_OF_TEST},
    {"/devices/<key>/tests/<test>/points", "mode", PB_NAME_OF_MODE},
    {"/analysis/parameters", "parameter", PB_NAME_OF_PARAMETER},
    {"/analysis/agreement", "test", PB_NAME_OF_TEST},
    {"/analysis/agreement", "parameter", PB_NAME_OF_PARAMETER},
};

bool pb_schema_is_read(int64_t version)
{
    return version >= PB_SCHEMA_VERSION_FIRST && version <= PB_SCHEMA_VERSION;
}

static void update_field(const struct pb_object *object, const char *name, enum pb_name_kind kind,
                         char *records, size_t count)
{
    for (size_t i = 0; i < object->field_count; i++) {
        const struct pb_field *field = &object->fields[i];

        for (size_t k = 0; strcmp(field->name, name) == 0 && k < count; k++)
            pb_name_update(kind, records + k * object->record_size + field->offset, field->size);
    }
}

void pb_schema_update(const struct pb_object *object, void *records, size_t count)
{
    for (size_t i = 0; i < COUNT(named_fields); i++)
        if (strcmp(object->path, named_fields[i].object) == 0)
            update_field(object, named_fields[i].field, named_fields[i].kind, records, count);
}

const struct pb_object *pb_schema_find(const char *path)
{
    return pb_object_find(pb_schema, pb_schema_count, path);
}

const struct pb_object *pb_object_find(const struct pb_object *objects, size_t count,
                                       const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(objects[i].path, path) == 0)
            return &objects[i];
    assert(!"path is in the schema");
    return NULL;
}
