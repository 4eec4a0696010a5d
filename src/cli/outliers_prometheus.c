/*
 * The verdict as a textfile for Prometheus' node exporter; see outliers.h.
 *
 * One bad line makes the exporter drop the whole file: labels are escaped, and no two samples of a
 * metric have the same labels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/outliers.h"
#include "core/text.h"

static const char opening[] = "# HELP plumb_";

const struct pb_atomic_file_kind pb_ruling_prometheus_kind = {
    .name = "a Prometheus textfile of plumb", .opening = opening};

/* The textfile in the making. Every sample of a simulated run has a label that says so. */
struct textfile {
    FILE *file;
    const struct pb_ruling *ruling;
    bool is_simulated;
};

struct label {
    const char *name, *text;
};

static void begin(const struct textfile *out, const char *name, const char *help)
{
    fprintf(out->file, "# HELP plumb_%s %s\n# TYPE plumb_%s gauge\n", name, help, name);
}

/* name="text", with what the format wants escaped beyond pb_text_escape(). */
static void print_label(FILE *file, const char *separator, const struct label *label)
{
    char escaped[4 * PB_TEXT_LENGTH];

    PB_TEXT_ESCAPE(escaped, label->text);
    fprintf(file, "%s%s=\"", separator, label->name);
    for (const char *at = escaped; *at != '\0'; at++)
        fprintf(file, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    fputc('"', file);
}

static void print_sample(const struct textfile *out, const char *name, const struct label *labels,
                         size_t count, double value)
{
    static const struct label simulated = {"simulated", "true"};

    fprintf(out->file, "plumb_%s", name);
    for (size_t i = 0; i < count; i++)
        print_label(out->file, i == 0 ? "{" : ",", &labels[i]);
    if (out->is_simulated)
        print_label(out->file, count == 0 ? "{" : ",", &simulated);
    fprintf(out->file, "%s %.10g\n", count > 0 || out->is_simulated ? "}" : "", value);
}

/* The same place, cause and severity: one sample. */
static bool is_same_sample(const struct pb_finding *a, const struct pb_finding *b)
{
    return a->level == b->level && a->severity == b->severity && strcmp(a->place, b->place) == 0 &&
           strcmp(a->host, b->host) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->model, b->model) == 0 && strcmp(a->cause, b->cause) == 0;
}

static bool was_printed(const struct pb_findings *findings, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_same_sample(&findings->items[i], &findings->items[at]))
            return true;
    return false;
}

static void print_findings(const struct textfile *out)
{
    const struct pb_findings *findings = &out->ruling->findings;

    begin(out, "finding", "An anomaly, 1 for each finding.");
    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];
        const struct label labels[] = {{"host", finding->host},
                                       {"device", finding->device},
                                       {"model", finding->model},
                                       {"place", finding->place},
                                       {"cause", finding->cause},
                                       {"level", pb_level_name(finding->level)},
                                       {"severity", pb_severity_name(finding->severity)}};

        if (!was_printed(findings, i))
            print_sample(out, "finding", labels, sizeof(labels) / sizeof(labels[0]), 1.0);
    }
}

static bool has_member(const struct pb_finding *finding, size_t device)
{
    for (size_t i = 0; i < finding->members.count; i++)
        if (finding->members.devices[i] == device)
            return true;
    return false;
}

static bool member_was_printed(const struct pb_findings *findings, size_t at, size_t device)
{
    for (size_t i = 0; i < at; i++)
        if (is_same_sample(&findings->items[i], &findings->items[at]) &&
            has_member(&findings->items[i], device))
            return true;
    return false;
}

static void print_members(const struct textfile *out, size_t at)
{
    const struct pb_findings *findings = &out->ruling->findings;
    const struct pb_finding *finding = &findings->items[at];

    for (size_t i = 0; i < finding->members.count; i++) {
        size_t device = finding->members.devices[i];
        const struct pb_feature_row *member = &out->ruling->features.devices[device];
        const struct label labels[] = {{"host", member->host},
                                       {"device", member->key},
                                       {"place", finding->place},
                                       {"cause", finding->cause},
                                       {"level", pb_level_name(finding->level)},
                                       {"severity", pb_severity_name(finding->severity)}};

        if (member->key[0] != '\0' && !member_was_printed(findings, at, device))
            print_sample(out, "finding_device", labels, sizeof(labels) / sizeof(labels[0]), 1.0);
    }
}

static void print_all_members(const struct textfile *out)
{
    begin(out, "finding_device", "A device that a finding is about, 1 for each member.");
    for (size_t i = 0; i < out->ruling->findings.count; i++)
        print_members(out, i);
}

/* The worst that is said of a device: of itself, its node, its slot, or all of its group. */
static enum pb_severity status_of(const struct pb_ruling *ruling, size_t device)
{
    const struct pb_findings *findings = &ruling->findings;
    enum pb_severity worst = PB_SEVERITY_OK;

    for (size_t i = 0; i < findings->count; i++) {
        enum pb_severity severity = findings->items[i].severity;

        if (pb_severity_rank(severity) > pb_severity_rank(worst) &&
            pb_finding_concerns(&findings->items[i], &ruling->features, &ruling->scores, device))
            worst = severity;
    }
    return worst;
}

static void print_of_device(const struct textfile *out, const char *name, size_t device,
                            double value)
{
    const struct pb_feature_row *row = &out->ruling->features.devices[device];
    const struct label labels[] = {
        {"host", row->host}, {"device", row->key}, {"model", row->info.model}};

    if (row->key[0] != '\0' && isfinite(value)) /* a rank without a device has a finding */
        print_sample(out, name, labels, sizeof(labels) / sizeof(labels[0]), value);
}

static void print_statuses(const struct textfile *out)
{
    begin(out, "device_status", "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
    for (size_t i = 0; i < out->ruling->features.device_count; i++)
        print_of_device(out, "device_status", i, (double)status_of(out->ruling, i));
}

/* What was measured, beside the states: in base units, as Prometheus has them. */
static const struct measured {
    const char *name, *help, *metric;
    double scale; /* of the metric's unit, to the base unit */
} measured[] = {
    {"device_sm_clock_hertz", "SM clock under the battery's load.", "clock.sm_mhz", 1e6},
    {"device_l1_latency_seconds", "Latency of an L1 hit.", "l1.latency_ns", 1e-9},
    {"device_l2_latency_seconds", "Latency of an L2 hit.", "l2.latency_ns", 1e-9},
    {"device_memory_latency_seconds", "Latency of a load from device memory.", "dram.latency_ns",
     1e-9},
    {"device_memory_copy_bytes_per_second", "Best copy rate within device memory.",
     "global_copy.peak", 1.0},
    {"device_host_link_bytes_per_second", "Best rate over the host link.",
     "host_link.peak_bytes_per_s", 1.0},
    {"device_slowest_sm_ratio", "L1 latency of the slowest SM over the device's median.",
     "sm.l1_slowest", 1.0},
    {"device_temperature_celsius", "Highest temperature of the run.", "nvml.temperature_max", 1.0},
    {"device_power_watts", "Highest power of the run.", "nvml.power_max", 1.0},
    {"device_pcie_lanes", "PCIe lanes in use.", "nvml.pcie_width", 1.0},
    {"device_pcie_generation", "PCIe generation, the best of the run.", "nvml.pcie_generation",
     1.0},
    {"device_nvlinks_up", "NVLinks that are up, the fewest of the run.", "nvml.nvlinks_up", 1.0},
    {"device_memory_used_bytes", "Memory in use, the least of the run.", "nvml.memory_used_min",
     1.0},
    {"device_memory_mismatches", "Words that came back wrong.", "integrity.mismatches", 1.0},
};

static void print_measured(const struct textfile *out)
{
    const struct pb_features *features = &out->ruling->features;

    for (size_t k = 0; k < sizeof(measured) / sizeof(measured[0]); k++) {
        size_t metric = pb_features_find(features, measured[k].metric);

        if (metric == features->metric_count)
            continue;
        begin(out, measured[k].name, measured[k].help);
        for (size_t i = 0; i < features->device_count; i++)
            print_of_device(out, measured[k].name, i,
                            measured[k].scale * pb_features_reading(features, i, metric).value);
    }
}

/* 0 when the date cannot be read: an alert on its age will fire. */
static long long seconds_of(const char *utc)
{
    struct tm date = {0};
    const char *end = strptime(utc, "%Y-%m-%dT%H:%M:%S", &date);

    return end == NULL ? 0 : (long long)timegm(&date);
}

static void print_number(const struct textfile *out, const char *name, const char *help,
                         double value)
{
    begin(out, name, help);
    print_sample(out, name, NULL, 0, value);
}

enum pb_status pb_ruling_write_prometheus(const struct pb_ruling *ruling, FILE *file,
                                          struct pb_error *err)
{
    const struct textfile out = {file, ruling, pb_ruling_simulated(ruling) > 0};
    struct pb_drain *drains;
    size_t count;
    enum pb_status status = pb_ruling_drains(ruling, &drains, &count, err);

    if (status != PB_OK)
        return status;
    free(drains);
    print_number(&out, "status", "Of the fleet: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
                 ruling->status);
    print_findings(&out);
    print_all_members(&out);
    print_statuses(&out);
    print_measured(&out);
    if (isfinite(ruling->evenness.value) && ruling->evenness.value > 0.0)
        print_number(&out, "evenness_ratio",
                     "Speed of the slowest component of any device over its peers' median.",
                     ruling->evenness.value);
    print_number(&out, "devices_judged", "Devices that were compared with their peers.",
                 (double)ruling->findings.judged);
    print_number(&out, "devices_skipped", "Devices that could not be judged.",
                 (double)ruling->findings.skipped);
    print_number(&out, "nodes_to_drain", "Nodes that should take no more work.", (double)count);
    print_number(&out, "run_timestamp_seconds", "When the judged run was begun.",
                 (double)seconds_of(ruling->run.created));
    return PB_OK;
}
