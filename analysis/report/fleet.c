/* The verdict, the map of the fleet, the drain lines and the table of devices; see fleet.h. */
#include "analysis/report/fleet.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

const char *const pb_report_severity_symbols[] = {"✓", "▲", "✕", "?"};

const struct pb_report_column pb_report_columns[PB_REPORT_COLUMNS] = {
    [PB_REPORT_SM_MHZ] = {"clock", "sm_mhz", "MHz", "SM clock"},
    [PB_REPORT_L1_LATENCY] = {"l1", "latency_cycles", "cycle", "L1"},
    [PB_REPORT_L2_LATENCY] = {"l2", "latency_cycles", "cycle", "L2"},
    [PB_REPORT_DRAM_LATENCY] = {"dram", "latency_cycles", "cycle", "DRAM"},
    [PB_REPORT_DRAM_PEAK] = {"dram", "peak_bytes_per_s", "byte/s", "DRAM copy"},
    [PB_REPORT_LINK_PEAK] = {"host_link", "peak_bytes_per_s", "byte/s", "Host link"},
};

enum pb_severity pb_report_judge(const struct pb_report *report, enum pb_severity *worst_out)
{
    enum pb_severity all = report->is_judged ? PB_SEVERITY_OK : PB_SEVERITY_UNKNOWN;

    for (size_t i = 0; i < report->device_count; i++)
        worst_out[i] = PB_SEVERITY_OK;
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct pb_report_finding *finding = &report->findings[i];

        if (pb_severity_rank(finding->severity) > pb_severity_rank(all))
            all = finding->severity;
        for (size_t k = 0; k < finding->member_count; k++) {
            enum pb_severity *worst = &worst_out[finding->members[k]];

            if (pb_severity_rank(finding->severity) > pb_severity_rank(*worst))
                *worst = finding->severity;
        }
    }
    return all;
}

static size_t count_hosts(const struct pb_report *report)
{
    size_t count = 0;

    for (size_t i = 0; i < report->device_count; i++)
        count += i == 0 ||
                 strcmp(report->devices[i].member->host, report->devices[i - 1].member->host) != 0;
    return count;
}

static size_t count_severity(const struct pb_report *report, enum pb_severity severity)
{
    size_t count = 0;

    for (size_t i = 0; i < report->finding_count; i++)
        count += report->findings[i].severity == severity;
    return count;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void pb_fleet_write_verdict(const struct pb_report *report, const enum pb_severity *worst,
                            enum pb_severity all, struct pb_page *page)
{
    static const enum pb_severity order[] = {PB_SEVERITY_CRITICAL, PB_SEVERITY_UNKNOWN,
                                             PB_SEVERITY_WARNING};
    size_t hosts = count_hosts(report), bad = 0;
    FILE *out = page->out;

    for (size_t i = 0; i < report->device_count; i++)
        bad += worst[i] != PB_SEVERITY_OK;
    fprintf(out,
            "<section class=\"verdict v%d\" aria-label=Verdict><p class=\"big k%d\">%s %s</p><p>",
            (int)all, (int)all, pb_report_severity_symbols[all], pb_severity_name(all));
    if (!report->is_judged) {
        pb_markup_format(out, "Not judged: %s.", report->unjudged);
    } else if (count_severity(report, PB_SEVERITY_OK) == report->finding_count) {
        fputs("No anomalies found.", out);
    } else {
        for (size_t i = 0, named = 0; i < 3; i++) {
            size_t count = count_severity(report, order[i]);

            if (count > 0)
                fprintf(out, "%s%zu %s", named++ == 0 ? "" : ", ", count,
                        pb_severity_name(order[i]));
        }
        fprintf(out, ": %zu of %zu devices concerned.", bad, report->device_count);
    }
    fprintf(out, "</p><p class=meta>%zu device%s on %zu node%s%s</p></section>\n",
            report->device_count, plural(report->device_count), hosts, plural(hosts),
            report->run->complete != 0 ? "."
                                       : "; the run is not complete: see the table of devices.");
}

/* ---- the map ---- */

enum { CELL = 20 };

static const double map_width = 960.0;

/* How many GPUs the fullest node has, and how wide the longest name is. */
static void measure_nodes(const struct pb_report *report, size_t *slots_out, double *name_out)
{
    size_t slots = 0, most = 0;
    double name = 40.0;

    for (size_t i = 0; i < report->device_count; i++) {
        bool is_new = i == 0 || strcmp(report->devices[i].member->host,
                                       report->devices[i - 1].member->host) != 0;

        slots = is_new ? 1 : slots + 1;
        most = slots > most ? slots : most;
        name = fmax(name, 6.4 * (double)strlen(report->devices[i].member->host));
    }
    *slots_out = most;
    *name_out = fmin(name, 240.0) + 10.0;
}

static bool is_absent(const struct pb_report_device *device)
{
    return device->member->key[0] == '\0' || !device->is_recorded;
}

/* The finding that says the worst of a device; finding_count: none. */
static size_t find_finding(const struct pb_report *report, size_t device)
{
    for (size_t i = 0; i < report->finding_count; i++)
        for (size_t k = 0; k < report->findings[i].member_count; k++)
            if (report->findings[i].members[k] == device)
                return i;
    return report->finding_count;
}

static void draw_mark(FILE *out, enum pb_severity severity, double x, double y)
{
    static const char *const marks[] = {"", "m4 11l4 -7l4 7z", "m4 4l8 8m0 -8l-8 8",
                                        "m5 6a3 3 0 1 1 3.5 3v1.5m0 2.5v.1"};

    fprintf(out, "<path class=\"mk\" d=\"M%.0f %.0f%s\"/>", x, y, marks[severity]);
}

/* A device that deviates, or is not there: with its name, and the way to its finding. */
static void draw_bad_cell(const struct pb_report *report, size_t device, enum pb_severity severity,
                          double x, double y, FILE *out)
{
    const struct pb_report_device *what = &report->devices[device];
    size_t finding = find_finding(report, device);
    const char *cause = finding < report->finding_count ? report->findings[finding].row->cause
                                                        : what->member->status;

    if (finding < report->finding_count)
        fprintf(out, "<a href=\"#finding%zu\">", finding + 1);
    else
        fputs("<g>", out);
    fputs("<title>", out);
    pb_markup_format(out, "%s: %s, %s",
                     what->member->key[0] == '\0' ? what->member->host : what->member->key,
                     is_absent(what) ? what->member->status : pb_severity_name(severity), cause);
    fprintf(out, "</title><rect class=\"m%d\" x=\"%.0f\" y=\"%.0f\" width=\"16\" height=\"16\"/>",
            is_absent(what) && severity == PB_SEVERITY_OK ? 9 : (int)severity, x, y);
    draw_mark(out, severity, x, y);
    fputs(finding < report->finding_count ? "</a>" : "</g>", out);
}

static void draw_cells(const struct pb_report *report, const enum pb_severity *worst,
                       double name_width, size_t slots, size_t across, FILE *out)
{
    double node_width = name_width + (double)slots * CELL + 24.0;
    struct pb_buffer healthy = {NULL, NULL, 0};
    size_t node = 0, slot = 0;

    healthy.file = open_memstream(&healthy.text, &healthy.size);
    for (size_t i = 0; i < report->device_count; i++) {
        const struct pb_report_device *device = &report->devices[i];
        bool is_new =
            i == 0 || strcmp(device->member->host, report->devices[i - 1].member->host) != 0;
        double x, y;

        node += is_new && i > 0;
        slot = is_new ? 0 : slot + 1;
        x = (double)(node % across) * node_width;
        y = (double)(node / across) * CELL + 4.0;
        if (is_new) {
            fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">", x, y + 12.0);
            pb_markup_format(out, "%.36s", device->member->host);
            fputs("</text>", out);
        }
        x += name_width + (double)slot * CELL;
        if (worst[i] != PB_SEVERITY_OK || is_absent(device))
            draw_bad_cell(report, i, worst[i], x, y, out);
        else if (healthy.file != NULL)
            fprintf(healthy.file, "M%.0f %.0fh16v16h-16z", x, y);
    }
    if (healthy.file != NULL && fclose(healthy.file) == 0)
        fprintf(out, "<path class=\"m0\" d=\"%s\"/>", healthy.size == 0 ? "M0 0" : healthy.text);
    free(healthy.text);
}

void pb_fleet_write_map(const struct pb_report *report, const enum pb_severity *worst,
                        struct pb_page *page)
{
    size_t slots, across, nodes = count_hosts(report);
    double name_width;
    FILE *out = page->out;

    measure_nodes(report, &slots, &name_width);
    across =
        (size_t)fmax(1.0, floor((map_width + 24.0) / (name_width + (double)slots * CELL + 24.0)));
    across = across > nodes ? nodes : across;
    fprintf(out,
            "<figure id=map><figcaption><h3>Nodes and GPUs</h3><p>A row of squares for each node, "
            "its GPUs in the order of their slots.</p></figcaption>\n<div class=plots tabindex=0 "
            "role=group aria-label=Map>"
            "<svg class=\"wide\" viewBox=\"0 0 %.0f %.0f\" role=\"group\" aria-labelledby=\"tm\" "
            "aria-describedby=\"dm\"><title id=\"tm\">Nodes and GPUs</title><desc id=\"dm\">A "
            "square for each "
            "GPU, coloured and marked by its worst finding; the table of devices has the same."
            "</desc>",
            fmax(map_width, name_width + (double)slots * CELL + 24.0),
            (double)((nodes + across - 1) / (across == 0 ? 1 : across)) * CELL + 8.0);
    draw_cells(report, worst, name_width, slots, across == 0 ? 1 : across, out);
    fputs("</svg></div>\n<p class=note><span class=k0>■ healthy</span> · <span class=k1>▲ WARNING"
          "</span> · <span class=k2>✕ CRITICAL</span> · <span class=k3>? UNKNOWN</span> · dashed: "
          "not measured</p>\n<p class=path>In the file: /fleet, /analysis/findings</p></figure>\n",
          out);
}

/* ---- what to type ---- */

/* Commands are for a shell: only what means nothing to any, inside or outside of quotes. */
static void write_reason(FILE *out, const struct pb_report_finding *finding)
{
    char reason[PB_TEXT_LENGTH + PB_NAME_LENGTH + 8];

    snprintf(reason, sizeof(reason), "plumb: %s, %s", finding->row->cause, finding->row->place);
    for (const char *at = reason; *at != '\0'; at++)
        fputc(isalnum((unsigned char)*at) || strchr(",.:;_-/+%", *at) != NULL ? *at : ' ', out);
}

/* Has a finding before this one drained the host? */
static bool is_named_before(const struct pb_report *report, size_t finding, const char *host)
{
    for (size_t i = 0; i < finding; i++) {
        if (report->findings[i].row->drain == 0)
            continue;
        if (strcmp(report->findings[i].row->host, host) == 0)
            return true;
        for (size_t k = 0;
             report->findings[i].row->host[0] == '\0' && k < report->findings[i].member_count; k++)
            if (strcmp(report->devices[report->findings[i].members[k]].member->host, host) == 0)
                return true;
    }
    return false;
}

static size_t write_drain(const struct pb_report *report, size_t finding, const char *host,
                          FILE *out)
{
    if (is_named_before(report, finding, host))
        return 0;
    if (!pb_text_is_host(host)) {
        fputs("# not a host name, so no command: ", out);
        pb_markup_text(out, host);
    } else {
        fprintf(out, "scontrol update NodeName=%s State=DRAIN Reason=&quot;", host);
        write_reason(out, &report->findings[finding]);
        fputs("&quot;", out);
    }
    fputc('\n', out);
    return 1;
}

/* Nodes of a finding: its own, or those of its members. */
static size_t write_drains_of(const struct pb_report *report, size_t finding, FILE *out)
{
    const struct pb_report_finding *what = &report->findings[finding];
    size_t count = 0;

    if (what->row->host[0] != '\0')
        return write_drain(report, finding, what->row->host, out);
    for (size_t i = 0; i < what->member_count; i++) {
        const char *host = report->devices[what->members[i]].member->host;
        bool is_new = true;

        for (size_t k = 0; k < i && is_new; k++)
            is_new = strcmp(report->devices[what->members[k]].member->host, host) != 0;
        if (is_new)
            count += write_drain(report, finding, host, out);
    }
    return count;
}

void pb_fleet_write_drains(const struct pb_report *report, struct pb_page *page)
{
    struct pb_buffer lines;
    size_t count = 0;

    if (!pb_buffer_open(page, &lines))
        return;
    for (size_t i = 0; i < report->finding_count; i++)
        if (report->findings[i].row->drain != 0)
            count += write_drains_of(report, i, lines.file);
    if (count > 0)
        fputs("<h2 id=drain>To drain</h2>\n<p>Nothing has been done. A click on the lines selects "
              "them all.</p>\n<pre tabindex=0 role=region aria-label=\"Commands that drain the "
              "nodes\">",
              page->out);
    pb_buffer_close(page, &lines, count > 0 ? page->out : NULL);
    if (count > 0)
        fputs("</pre>\n", page->out);
}

/* ---- all devices ---- */

static void write_row(const struct pb_report_device *device, enum pb_severity worst, FILE *out)
{
    char text[48];

    fputs("\n<tr><th scope=row>", out);
    pb_markup_text(out,
                   device->member->key[0] == '\0' ? device->member->host : device->member->key);
    fprintf(out, "<td><span class=k%d>%s %s</span><td>", (int)worst,
            pb_report_severity_symbols[worst], pb_severity_name(worst));
    pb_markup_text(out, device->member->model);
    fputs("<td>", out);
    pb_markup_text(out, device->member->status);
    if (device->member->message[0] != '\0') {
        fputs(": ", out);
        pb_markup_format(out, "%.80s", device->member->message);
    }
    fprintf(out, "<td>%llu<td>%llu", (unsigned long long)device->member->tests_ok,
            (unsigned long long)device->member->tests_failed);
    for (size_t i = 0; i < PB_REPORT_COLUMNS; i++) {
        pb_quantity(text, sizeof(text), device->columns[i], pb_report_columns[i].unit);
        fputs("<td>", out);
        pb_markup_text(out, text);
    }
}

void pb_fleet_write_table(const struct pb_report *report, const enum pb_severity *worst,
                          struct pb_page *page)
{
    FILE *out = page->out;

    fprintf(out,
            "<h2 id=devices>Devices</h2>\n<details%s><summary>%zu device%s</summary><div "
            "class=scroll tabindex=0 role=region aria-label=\"All devices\"><table class=devices>"
            "<caption>All devices by node and slot; – is undetermined</caption>\n<tr>"
            "<th scope=col>Device<th scope=col>Verdict<th scope=col>Model<th scope=col>Status<th "
            "scope=col>Tests ok<th scope=col>Not ok",
            report->device_count <= 64 ? " open" : "", report->device_count,
            plural(report->device_count));
    for (size_t i = 0; i < PB_REPORT_COLUMNS; i++)
        fprintf(out, "<th scope=col>%s", pb_report_columns[i].label);
    for (size_t i = 0; i < report->device_count; i++)
        write_row(&report->devices[i], worst[i], out);
    fputs("</table></div></details>\n<p class=path>In the file: /fleet, /analysis/parameters</p>\n",
          out);
}
