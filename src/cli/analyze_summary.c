/*
 * The parts of plumb-analyze's table that are no table: what the device is by its driver, the
 * hierarchy drawn in text, and the undetermined parameters with what would determine them.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "analysis/reason.h"
#include "cli/analyze_table.h"
#include "core/quantity.h"
#include "core/text.h"

void pb_cell_format(const struct pb_cell *cell, const char *unit, char *text, size_t size)
{
    if (cell->value[0] == '\0')
        snprintf(text, size, "-");
    else if (!isnan(cell->number))
        pb_quantity_format(cell->number, unit, text, size);
    else
        pb_quantity_format_list(cell->value, unit, text, size);
}

void pb_page_print_folded(size_t indent, const char *lead, const char *text, size_t width,
                          FILE *file)
{
    size_t column = indent + strlen(lead);
    bool is_first = true;

    fprintf(file, "%*s%s", (int)indent, "", lead);
    while (*text != '\0') {
        size_t length = strcspn(text, " ");

        if (!is_first && column + 1 + length > width) {
            fprintf(file, "\n%*s", (int)indent + 4, "");
            column = indent + 4;
        } else if (!is_first) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", (int)length, text);
        column += length;
        text += length + (text[length] == ' ');
        is_first = false;
    }
    fputc('\n', file);
}

/* ---- the head ---- */

/* Appends ", NAME VALUE". */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void append_fact(char *text, size_t size, const char *name, const char *value)
{
    char escaped[2 * PB_TEXT_LENGTH];

    PB_TEXT_ESCAPE(escaped, value);
    if (escaped[0] != '\0')
        append(text, size, ", %s%s", name, escaped);
}

static void describe_device(const struct pb_device_info *info, bool is_alone, char *text,
                            size_t size)
{
    char memory[64];

    pb_quantity_format((double)info->memory_bytes, "byte", memory, sizeof(memory));
    snprintf(text, size, "%u SMs, compute capability %u.%u, %s of memory", info->sm_count,
             info->compute_capability / 10, info->compute_capability % 10, memory);
    if (info->sm_clock_max_mhz > 0)
        append(text, size, ", SM clock up to %.0f MHz", info->sm_clock_max_mhz);
    if (info->memory_clock_max_mhz > 0)
        append(text, size, ", memory clock up to %.0f MHz", info->memory_clock_max_mhz);
    if (info->ecc_enabled >= 0)
        append(text, size, ", ECC %s", info->ecc_enabled ? "on" : "off");
    append_fact(text, size, "version ", info->driver_version);
    if (!is_alone)
        return;
    append_fact(text, size, "", info->uuid);
    append_fact(text, size, "PCI ", info->pci_bus_id);
}

void pb_page_print_head(const struct pb_analysis_page *page, const struct pb_view *view, FILE *file)
{
    const char *model = page->first->model;
    char name[4 * PB_TEXT_LENGTH], first[4 * PB_KEY_LENGTH], last[4 * PB_KEY_LENGTH];
    char text[1024];

    PB_TEXT_ESCAPE(name, model[0] == '\0' ? "unnamed model" : model);
    PB_TEXT_ESCAPE(first, page->first->key);
    PB_TEXT_ESCAPE(last, page->last_key);
    fprintf(file, "%s%s%s: ", view->terminal.colours ? "\033[1m" : "", name,
            view->terminal.colours ? "\033[0m" : "");
    if (page->device_count == 1)
        fprintf(file, "%s\n", first);
    else
        fprintf(file, "%zu devices, %s to %s\n", page->device_count, first, last);
    if (page->first->info.sm_count == 0) /* nothing is known of it */
        return;
    describe_device(&page->first->info, page->device_count == 1, text, sizeof(text));
    pb_page_print_folded(0, "by the driver: ", text, view->terminal.width, file);
}

/* ---- the summary ---- */

static const struct pb_line *find_line(const struct pb_analysis_page *page, const char *memory,
                                       const char *parameter)
{
    for (size_t i = 0; i < page->line_count; i++)
        if (strcmp(page->lines[i].memory, memory) == 0 &&
            strcmp(page->lines[i].parameter, parameter) == 0)
            return page->lines[i].typical.value[0] == '\0' ? NULL : &page->lines[i];
    return NULL;
}

/* "241 KiB"; "-" where it is undetermined. */
static void format_value(const struct pb_analysis_page *page, const char *memory,
                         const char *parameter, char *text, size_t size)
{
    const struct pb_line *line = find_line(page, memory, parameter);

    if (line == NULL)
        snprintf(text, size, "-");
    else
        pb_cell_format(&line->typical, line->unit, text, size);
}

/* Appends "BEFORE VALUE AFTER" where there is a value. */
static void append_value(const struct pb_analysis_page *page, const char *memory,
                         const char *parameter, const char *before, const char *after, char *text,
                         size_t size)
{
    char value[PB_MESSAGE_LENGTH];
    size_t used = strlen(text);

    if (find_line(page, memory, parameter) == NULL)
        return;
    format_value(page, memory, parameter, value, sizeof(value));
    snprintf(text + used, size - used, "%s%s%s%s", used == 0 ? "" : ", ", before, value, after);
}

static void append_driver(double value, const char *unit, const char *what, char *text, size_t size)
{
    char formatted[64];
    size_t used = strlen(text);

    if (value <= 0.0)
        return;
    pb_quantity_format(value, unit, formatted, sizeof(formatted));
    snprintf(text + used, size - used, "%s%s%s by the driver", used == 0 ? "" : ", ", formatted,
             what);
}

/* Without blanks at the end. */
static void print_columns(const char *name, const char *size, const char *cycles, const char *ns,
                          const char *detail, FILE *file)
{
    char line[1024];
    int length = snprintf(line, sizeof(line), "%-18s  %-10s  %-12s  %-9s  %s", name, size, cycles,
                          ns, detail);

    while (length > 0 && length < (int)sizeof(line) && line[length - 1] == ' ')
        line[--length] = '\0';
    fprintf(file, "%s\n", line);
}

/* A line of the drawing: what it is, its size, its latency, and what else is to say. */
static void print_level(const struct pb_analysis_page *page, const char *name, const char *memory,
                        const char *size_parameter, const char *latency_parameter,
                        const char *detail, FILE *file)
{
    char size[64], cycles[64], ns[64];

    format_value(page, memory, size_parameter, size, sizeof(size));
    format_value(page, memory, latency_parameter, cycles, sizeof(cycles));
    format_value(page, memory, "latency_ns", ns, sizeof(ns));
    if (find_line(page, memory, size_parameter) == NULL &&
        find_line(page, memory, latency_parameter) == NULL && detail[0] == '\0')
        return;
    print_columns(name, size, cycles, strcmp(ns, "-") == 0 ? "" : ns, detail, file);
}

static void print_cache(const struct pb_analysis_page *page, const char *name, const char *memory,
                        FILE *file)
{
    char detail[256] = "";

    append_value(page, memory, "line_bytes", "lines of ", "", detail, sizeof(detail));
    append_value(page, memory, "set_count", "", " sets", detail, sizeof(detail));
    append_value(page, memory, "way_counts", "", " ways", detail, sizeof(detail));
    append_value(page, memory, "policy", "", "", detail, sizeof(detail));
    print_level(page, name, memory, "size_bytes", "latency_cycles", detail, file);
}

static void print_tlb(const struct pb_analysis_page *page, const char *name, const char *memory,
                      FILE *file)
{
    char detail[256] = "", span[64];

    format_value(page, memory, "entry_coverage_bytes", span, sizeof(span));
    append_value(page, memory, "entry_count", "", " entries", detail, sizeof(detail));
    if (detail[0] != '\0' && strcmp(span, "-") != 0)
        append(detail, sizeof(detail), " of %s", span);
    append_value(page, memory, "way_counts", "", " ways", detail, sizeof(detail));
    if (find_line(page, memory, "penalty_cycles") != NULL)
        append(detail, sizeof(detail), "%slatency added by a miss", detail[0] == '\0' ? "" : ", ");
    print_level(page, name, memory, "reach_bytes", "penalty_cycles", detail, file);
}

void pb_page_print_summary(const struct pb_analysis_page *page, FILE *file)
{
    const struct pb_device_info *info = &page->first->info;
    char detail[512] = "";

    print_columns("hierarchy", "size", "latency", "", "", file);
    append_value(page, "clock", "sm_mhz", "", "", detail, sizeof(detail));
    append_value(page, "sm", "gpc_count", "", " GPCs", detail, sizeof(detail));
    append_value(page, "sm", "tpc_count", "", " TPCs", detail, sizeof(detail));
    fprintf(file, "SM x %-13u  %s\n", info->sm_count, detail);
    detail[0] = '\0';
    append_value(page, "shared", "banks", "", "", detail, sizeof(detail));
    append_value(page, "shared", "peak_bytes_per_cycle_per_sm", "", " per SM", detail,
                 sizeof(detail));
    append_driver((double)info->shared_per_sm_bytes, "byte", " per SM", detail, sizeof(detail));
    print_level(page, " +- shared memory", "shared", "size_bytes", "latency_cycles", detail, file);
    print_cache(page, " +- L1 data", "l1", file);
    print_cache(page, " +- constant L1", "constant_l1", file);
    print_cache(page, " +- constant L1.5", "constant_l15", file);
    print_tlb(page, " +- TLB L1", "tlb_l1", file);
    print_tlb(page, " +- TLB L2", "tlb_l2", file);
    detail[0] = '\0';
    if (find_line(page, "l2", "size_bytes") != NULL)
        append(detail, sizeof(detail), "as one SM sees it");
    append_value(page, "l2_near", "size_bytes", "near half ", "", detail, sizeof(detail));
    append_value(page, "l2_near", "latency_cycles", "near ", "", detail, sizeof(detail));
    append_value(page, "l2_far", "latency_cycles", "far ", "", detail, sizeof(detail));
    append_driver((double)info->l2_bytes, "byte", "", detail, sizeof(detail));
    print_level(page, "L2", "l2", "size_bytes", "latency_cycles", detail, file);
    detail[0] = '\0';
    append_value(page, "dram", "read_peak_bytes_per_s", "read ", "", detail, sizeof(detail));
    append_value(page, "dram", "peak_bytes_per_s", "copy ", "", detail, sizeof(detail));
    append_driver(info->theoretical_bytes_per_s, "byte/s", "", detail, sizeof(detail));
    print_level(page, "DRAM", "dram", "size_bytes", "latency_cycles", detail, file);
    detail[0] = '\0';
    append_value(page, "host_link", "peak_bytes_per_s", "", "", detail, sizeof(detail));
    append_value(page, "host_link", "to_latency_ns", "to the device ", "", detail, sizeof(detail));
    append_value(page, "host_link", "from_latency_ns", "back ", "", detail, sizeof(detail));
    print_level(page, "host link", "host_link", "size_bytes", "latency_cycles", detail, file);
}

/* ---- what is undetermined ---- */

/* What would determine a parameter. */
static const char *remedy_of(const char *reason)
{
    const struct pb_reason_kind *kind = pb_reason_kind_of(reason);

    return kind != NULL ? kind->remedy
                        : "a second run on an idle device shows whether noise is the cause";
}

static bool is_shown(const struct pb_line *line, const struct pb_view *view)
{
    return !line->has_value && (view->memory == NULL || strcmp(view->memory, line->memory) == 0) &&
           (view->parameter == NULL || strcmp(view->parameter, line->parameter) == 0);
}

static bool is_alike(const struct pb_line *a, const struct pb_line *b)
{
    return strcmp(a->memory, b->memory) == 0 && strcmp(a->typical.reason, b->typical.reason) == 0;
}

/* Has an earlier line named this one? */
static bool is_named(const struct pb_analysis_page *page, const struct pb_view *view, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_shown(&page->lines[i], view) && is_alike(&page->lines[i], &page->lines[at]))
            return true;
    return false;
}

static void print_gap(const struct pb_analysis_page *page, const struct pb_view *view, size_t first,
                      FILE *file)
{
    const struct pb_line *line = &page->lines[first];
    char names[1024] = "", lead[PB_NAME_LENGTH + 4];

    snprintf(lead, sizeof(lead), "%s: ", line->memory);
    for (size_t i = first; i < page->line_count; i++)
        if (is_shown(&page->lines[i], view) && is_alike(line, &page->lines[i]))
            append(names, sizeof(names), "%s%s", names[0] == '\0' ? "" : ", ",
                   page->lines[i].parameter);
    pb_page_print_folded(4, lead, names, view->terminal.width, file);
    pb_page_print_folded(6, "", line->typical.reason, view->terminal.width, file);
    pb_page_print_folded(6, "To determine it: ", remedy_of(line->typical.reason),
                         view->terminal.width, file);
}

void pb_page_print_undetermined(const struct pb_analysis_page *page, const struct pb_view *view,
                                FILE *file)
{
    size_t count = 0;

    for (size_t i = 0; i < page->line_count; i++)
        count += is_shown(&page->lines[i], view);
    if (count == 0)
        return;
    fprintf(file, "\n%zu undetermined parameter%s:\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < page->line_count; i++)
        if (is_shown(&page->lines[i], view) && !is_named(page, view, i))
            print_gap(page, view, i, file);
    fputc('\n', file);
}
