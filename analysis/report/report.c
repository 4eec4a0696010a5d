/* The page: head, verdict, fleet, findings, devices in detail; see report.h. */
#include "analysis/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/figures.h"
#include "analysis/report/fleet.h"
#include "analysis/report/style.h"

enum { FINDINGS_WRITTEN = 200 }; /* more are in the file */

const char pb_report_opening[] = "<!DOCTYPE html>\n<html lang=en data-tool=plumb-report>";

size_t pb_report_details_max(size_t device_count)
{
    return device_count <= 64 ? 2 : 4;
}

/* 300 KB for 16 devices, 2 MB for 1,024, and in between in proportion. */
static size_t page_limit(const struct pb_report *report)
{
    double devices = fmin(fmax((double)report->device_count, 16.0), 1024.0);
    double limit = 297e3 + (devices - 16.0) / 1008.0 * 1650e3;

    return report->is_one_device ? 1500000 : (size_t)limit;
}

/* ---- head ---- */

static void write_title(const struct pb_report *report, FILE *out)
{
    if (report->is_one_device && report->detailed_count == 1)
        pb_markup_format(out, "GPU report: %s", report->devices[report->detailed[0]].member->key);
    else
        pb_markup_format(out, "GPU memory report: %.200s", report->file);
}

static void write_head(const struct pb_report *report, FILE *out)
{
    fputs(pb_report_opening, out);
    fputs("\n<head><meta charset=utf-8>\n"
          "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=color-scheme content=\"light dark\">\n<link rel=icon href=\"data:,\">\n"
          "<title>",
          out);
    write_title(report, out);
    fputs("</title>\n<style>\n", out);
    for (size_t i = 0; pb_report_style[i] != NULL; i++)
        fputs(pb_report_style[i], out);
    fputs("</style></head>\n<body><a class=skip href=\"#main\">To the content</a>\n", out);
}

static void write_term(FILE *out, const char *term, const char *text)
{
    if (text[0] == '\0')
        return;
    fprintf(out, "<dt>%s<dd>", term);
    pb_markup_text(out, text);
    fputc('\n', out);
}

static bool is_simulated(const struct pb_report *report, const struct pb_report_source *source)
{
    for (size_t i = 0; i < report->detailed_count; i++) {
        struct pb_device_info info;
        struct pb_error err = PB_ERROR_INIT;

        if (source->info(source->context, report->detailed[i], &info, &err) == PB_OK &&
            strcmp(info.backend, "sim") == 0)
            return true;
    }
    return false;
}

static void write_header(const struct pb_report *report, const struct pb_report_source *source,
                         FILE *out)
{
    fputs("<header><h1>", out);
    write_title(report, out);
    fputs("</h1>\n", out);
    if (is_simulated(report, source))
        fputs("<p><b>Simulated devices: nothing here was measured on hardware.</b></p>\n", out);
    fputs("<dl class=meta>", out);
    write_term(out, "File", report->file);
    write_term(out, "Run", report->run->run_id);
    write_term(out, "Begun", report->run->created);
    write_term(out, "Command", report->run->command_line);
    write_term(out, "Tool", report->run->tool_version);
    fputs("</dl>\n<nav aria-label=Contents><ul>", out);
    if (!report->is_one_device)
        fputs("<li><a href=\"#verdict\">Verdict</a><li><a href=\"#findings\">Findings</a><li><a "
              "href=\"#devices\">Devices</a>",
              out);
    for (size_t i = 0; i < report->detailed_count; i++) {
        fprintf(out, "<li><a href=\"#d%zu\">", report->detailed[i]);
        pb_markup_text(out, report->devices[report->detailed[i]].member->key);
        fputs("</a>", out);
    }
    fputs("</ul></nav></header>\n<main id=main>\n", out);
}

/* ---- findings ---- */

static void write_numbers(const struct pb_report_finding *finding, FILE *out)
{
    char value[64], expected[64];

    if (finding->row->metric[0] == '\0' || !isfinite(finding->row->value))
        return;
    pb_quantity(value, sizeof(value), finding->row->value, finding->row->unit);
    pb_quantity(expected, sizeof(expected), finding->row->expected, finding->row->unit);
    fputs("<dt>Metric<dd>", out);
    pb_markup_format(out, "%s: %s", finding->row->metric, value);
    if (isfinite(finding->row->expected))
        pb_markup_format(out, ", expected %s (%llu peers)", expected,
                         (unsigned long long)finding->row->peers);
    if (isfinite(finding->row->sigmas))
        pb_markup_format(out, "; %.3g robust standard deviations", fabs(finding->row->sigmas));
    if (isfinite(finding->row->p))
        pb_markup_format(out, ", p = %.2g", finding->row->p);
    fputc('\n', out);
}

static void write_members(const struct pb_report *report, const struct pb_report_finding *finding,
                          FILE *out)
{
    enum { NAMED = 24 };

    if (finding->member_count < 2)
        return;
    fputs("<dt>Devices<dd>", out);
    for (size_t i = 0; i < finding->member_count && i < NAMED; i++)
        pb_markup_format(out, "%s%s", i == 0 ? "" : ", ",
                         report->devices[finding->members[i]].member->key);
    if (finding->member_count > NAMED)
        fprintf(out, " and %zu more", finding->member_count - NAMED);
    fputc('\n', out);
}

static void write_finding(const struct pb_report *report, const struct pb_report_source *source,
                          size_t number, struct pb_page *page)
{
    const struct pb_report_finding *finding = &report->findings[number];
    enum pb_severity severity = finding->severity;
    FILE *out = page->out;

    fprintf(out, "<article class=\"finding v%d\" id=finding%zu><h3><span class=k%d>%s %s</span> ",
            (int)severity, number + 1, (int)severity, pb_report_severity_symbols[severity],
            pb_severity_name(severity));
    pb_markup_format(out, "%s: %s", finding->row->place, finding->row->cause);
    fputs("</h3>\n<p>", out);
    pb_markup_text(out, finding->row->summary);
    fputs("</p>\n<dl>", out);
    write_numbers(finding, out);
    write_members(report, finding, out);
    write_term(out, "Evidence", finding->row->evidence);
    write_term(out, "Action", finding->row->advice);
    fputs("</dl>\n", out);
    if (number < PB_REPORT_FINDINGS_DRAWN)
        pb_evidence_write(report, source, finding, page);
    if (finding->row->evidence_path[0] != '\0') {
        fputs("<p class=path>In the file: ", out);
        pb_markup_text(out, finding->row->evidence_path);
        fputs("</p>\n", out);
    }
    fputs("</article>\n", out);
}

static void write_findings(const struct pb_report *report, const struct pb_report_source *source,
                           struct pb_page *page)
{
    fputs("<h2 id=findings>Findings</h2>\n", page->out);
    if (report->finding_count == 0)
        fputs("<p>None.</p>\n", page->out);
    for (size_t i = 0; i < report->finding_count && i < FINDINGS_WRITTEN; i++)
        write_finding(report, source, i, page);
    if (report->finding_count > FINDINGS_WRITTEN)
        fprintf(page->out, "<p>%zu more findings are in the file: /analysis/findings.</p>\n",
                report->finding_count - FINDINGS_WRITTEN);
}

/* ---- devices in detail ---- */

static void write_identity(const struct pb_device_info *info, FILE *out)
{
    char memory[48], power[48];

    pb_quantity(memory, sizeof(memory), (double)info->memory_bytes, "byte");
    pb_quantity(power, sizeof(power), info->power_limit_w, "W");
    fputs("<dl class=meta>", out);
    write_term(out, "Model", info->model);
    write_term(out, "UUID", info->uuid);
    write_term(out, "PCI", info->pci_bus_id);
    write_term(out, "Driver", info->driver_version);
    write_term(out, "VBIOS", info->vbios);
    write_term(out, "Backend", strcmp(info->backend, "sim") == 0 ? "simulated" : info->backend);
    write_term(out, "Simulated after", info->source);
    fprintf(out,
            "<dt>As the driver states<dd>compute capability %u.%u, %u SMs, %s of memory, SM clock "
            "at most %.0f MHz, ECC %s, power limit %s\n</dl>\n",
            info->compute_capability / 10, info->compute_capability % 10, info->sm_count, memory,
            info->sm_clock_max_mhz,
            info->ecc_enabled < 0    ? "unknown"
            : info->ecc_enabled == 0 ? "off"
                                     : "on",
            power);
}

static void write_device(const struct pb_report *report, const struct pb_report_source *source,
                         size_t number, struct pb_page *page)
{
    const struct pb_report_device *device = &report->devices[report->detailed[number]];
    size_t alike = 0;
    struct pb_device_info info = {.slot = -1};
    struct pb_error err = PB_ERROR_INIT;
    FILE *out = page->out;

    for (size_t i = 0; i < report->device_count; i++)
        alike += strcmp(report->devices[i].member->model, device->member->model) == 0;
    fprintf(out, "<h2 id=d%zu>", report->detailed[number]);
    pb_markup_format(out, "%s: %s", device->member->model, device->member->key);
    fputs("</h2>\n", out);
    if (!report->is_one_device && alike > 1)
        fprintf(out,
                "<p>In detail for the %zu devices of this model; <code>plumb-report --device "
                "KEY</code> shows any other.</p>\n",
                alike);
    if (source->info(source->context, report->detailed[number], &info, &err) != PB_OK) {
        fputs("<p class=note>", out);
        pb_markup_text(out, err.message);
        fputs("</p>\n", out);
        return;
    }
    write_identity(&info, out);
    page->written += 2000;
    pb_figures_write(report, source, report->detailed[number], &info, page);
}

/* What is written of the fleet counts against the limit of the page. */
static void write_fleet(const struct pb_report *report, const struct pb_report_source *source,
                        struct pb_page *page)
{
    enum pb_severity *worst = calloc(report->device_count + 1, sizeof(*worst)), all;
    struct pb_buffer part;
    FILE *out = page->out;

    if (worst == NULL) {
        pb_page_fail(page);
        return;
    }
    all = pb_report_judge(report, worst);
    if (pb_buffer_open(page, &part)) {
        page->out = part.file;
        fputs("<h2 id=verdict>Verdict</h2>\n", part.file);
        pb_fleet_write_verdict(report, worst, all, page);
        pb_fleet_write_map(report, worst, page);
        pb_fleet_write_drains(report, page);
        write_findings(report, source, page);
        pb_fleet_write_table(report, worst, page);
        fflush(part.file);
        page->written += part.size;
        page->out = out;
        pb_buffer_close(page, &part, out);
    }
    free(worst);
}

enum pb_status pb_report_write(const struct pb_report *report,
                               const struct pb_report_source *source, FILE *file,
                               struct pb_error *err)
{
    struct pb_page page = {
        .out = file, .limit = page_limit(report), .written = 12000, .status = PB_OK, .err = err};

    write_head(report, file);
    write_header(report, source, file);
    if (!report->is_one_device)
        write_fleet(report, source, &page);
    for (size_t i = 0; i < report->detailed_count && page.status == PB_OK; i++)
        write_device(report, source, i, &page);
    fputs("</main>\n<footer><p>Undetermined values are shown as such, with the reason; nothing is "
          "taken from a data sheet. This page loads nothing and runs no script.</p></footer>\n"
          "</body></html>\n",
          file);
    pb_page_forget(&page);
    return page.status;
}
