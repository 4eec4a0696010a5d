/*
 * The verdict as a textfile for Prometheus' node exporter; see outliers.h.
 *
 * One bad line makes the exporter drop the whole file: labels are escaped, and no two samples of a
 * metric have the same labels.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/outliers.h"
#include "core/text.h"

static const char opening[] = "# HELP plumb_";

static bool is_textfile(const char *head, size_t length)
{
    return pb_outlet_begins(head, length, opening);
}

const struct pb_outlet_kind pb_ruling_prometheus_kind = {"a Prometheus textfile of plumb",
                                                         is_textfile};

static void begin(FILE *file, const char *name, const char *help)
{
    fprintf(file, "# HELP plumb_%s %s\n# TYPE plumb_%s gauge\n", name, help, name);
}

/* name="text", with what the format wants escaped beyond pb_text_escape(). */
static void print_label(FILE *file, const char *separator, const char *name, const char *text)
{
    char escaped[4 * PB_TEXT_LENGTH];

    PB_TEXT_ESCAPE(escaped, text);
    fprintf(file, "%s%s=\"", separator, name);
    for (const char *at = escaped; *at != '\0'; at++)
        fprintf(file, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    fputc('"', file);
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

static void print_findings(const struct pb_findings *findings, FILE *file)
{
    begin(file, "finding", "What is out of true, 1 for each finding.");
    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];

        if (was_printed(findings, i))
            continue;
        fputs("plumb_finding", file);
        print_label(file, "{", "host", finding->host);
        print_label(file, ",", "device", finding->device);
        print_label(file, ",", "model", finding->model);
        print_label(file, ",", "place", finding->place);
        print_label(file, ",", "cause", finding->cause);
        print_label(file, ",", "level", pb_level_name(finding->level));
        print_label(file, ",", "severity", pb_severity_name(finding->severity));
        fputs("} 1\n", file);
    }
}

/* The worst that is said of a device: of itself, its node, its slot, or all of its group. */
static enum pb_severity status_of(const struct pb_ruling *ruling, size_t subject)
{
    const struct pb_findings *findings = &ruling->findings;
    enum pb_severity worst = PB_SEVERITY_OK;

    for (size_t i = 0; i < findings->count; i++) {
        enum pb_severity severity = findings->items[i].severity;

        if (pb_severity_rank(severity) > pb_severity_rank(worst) &&
            pb_finding_concerns(&findings->items[i], &ruling->sheet, &ruling->scores, subject))
            worst = severity;
    }
    return worst;
}

static void print_devices(const struct pb_ruling *ruling, FILE *file)
{
    begin(file, "device_status", "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
    for (size_t i = 0; i < ruling->sheet.subject_count; i++) {
        const struct pb_subject *subject = &ruling->sheet.subjects[i];

        if (subject->key[0] == '\0')
            continue; /* a rank without a device has a finding instead */
        fputs("plumb_device_status", file);
        print_label(file, "{", "host", subject->host);
        print_label(file, ",", "device", subject->key);
        print_label(file, ",", "model", subject->info.model);
        fprintf(file, "} %d\n", (int)status_of(ruling, i));
    }
}

/* 0 when the date cannot be read: an alert on its age will fire. */
static long long seconds_of(const char *utc)
{
    struct tm date = {0};
    const char *end = strptime(utc, "%Y-%m-%dT%H:%M:%S", &date);

    return end == NULL ? 0 : (long long)timegm(&date);
}

static void print_number(FILE *file, const char *name, const char *help, long long value)
{
    begin(file, name, help);
    fprintf(file, "plumb_%s %lld\n", name, value);
}

enum pb_status pb_ruling_write_prometheus(const struct pb_ruling *ruling, FILE *file,
                                          struct pb_error *err)
{
    size_t *rows, count;
    enum pb_status status = pb_ruling_drains(&ruling->findings, &rows, &count, err);

    if (status != PB_OK)
        return status;
    free(rows);
    print_number(file, "status", "Of the fleet: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
                 ruling->status);
    print_findings(&ruling->findings, file);
    print_devices(ruling, file);
    print_number(file, "devices_judged", "Devices that were compared with their peers.",
                 (long long)ruling->findings.judged);
    print_number(file, "devices_skipped", "Devices that could not be judged.",
                 (long long)ruling->findings.skipped);
    print_number(file, "nodes_to_drain", "Nodes that should take no more work.", (long long)count);
    print_number(file, "run_timestamp_seconds", "When the judged run was begun.",
                 seconds_of(ruling->run.created));
    return PB_OK;
}
