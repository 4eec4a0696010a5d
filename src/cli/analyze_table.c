/* What plumb-analyze prints: a table for each model, devices that agree folded. */
#include "cli/analyze_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"
#include "core/text.h"

/* Measured quantities and shares agree within this or one cycle; counts and sizes exactly. */
static const double agreement = 0.02;

/* A word that is stated with less confidence than this is not worth an alarm when it differs. */
static const double word_confidence = 0.5;

/* Memory, parameter, the first so many bytes of the value, interval; the confidence follows. */
#define NAME_FORMAT "  %-12s  %-27s  "
#define ROW_FORMAT  NAME_FORMAT "%-26.*s  %-23s  "
enum { VALUE_WIDTH = 26, VALUE_COLUMN = 2 + 12 + 2 + 27 + 2 };

/* One parameter over the devices of a model, while it is read. */
struct column {
    char memory[PB_NAME_LENGTH], parameter[PB_NAME_LENGTH], unit[PB_NAME_LENGTH];
    struct pb_cell *cells; /* [count] of room for all devices */
    size_t count;
    const struct pb_cell *typical; /* what most of them say */
};

static bool agree(const struct column *column, const struct pb_cell *a, const struct pb_cell *b)
{
    double slack;

    if (isnan(a->number) || isnan(b->number) ||
        (!pb_quantity_is_measured(column->unit) && a->number == floor(a->number) &&
         b->number == floor(b->number)))
        return strcmp(a->value, b->value) == 0;
    slack = agreement * fabs(b->number);
    if (strcmp(column->unit, "cycle") == 0)
        slack = fmax(slack, 1.0);
    return fabs(a->number - b->number) <= slack;
}

/* The cell with which most others agree, the first of several. */
static const struct pb_cell *find_typical(const struct column *column)
{
    const struct pb_cell *typical = &column->cells[0];
    size_t most = 0;

    for (size_t i = 0; i < column->count; i++) {
        size_t agreeing = 0;

        for (size_t j = 0; j < column->count; j++)
            agreeing += agree(column, &column->cells[j], &column->cells[i]);
        if (agreeing > most) {
            most = agreeing;
            typical = &column->cells[i];
        }
        if (2 * most > column->count) /* a majority cannot be outnumbered */
            break;
    }
    return typical;
}

/* Bytes of the text, a list perhaps, that go on this line: whole items, at least one. */
static int line_length(const char *text)
{
    size_t length = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        bool is_end = text[i + 1] == '\0' || text[i + 1] == ' ';

        if (is_end && length > 0 && i + 1 > VALUE_WIDTH)
            break;
        if (is_end)
            length = i + 1;
    }
    return (int)length;
}

/* What does not fit beside the interval, below. */
static void print_rest(const char *text, FILE *file)
{
    while (*text == ' ') {
        int length = line_length(++text);

        fprintf(file, "%*s%.*s\n", VALUE_COLUMN, "", length, text);
        text += length;
    }
}

static void join_agreeing(const struct column *column, struct pb_line *line)
{
    line->agreeing = 0;
    line->low = INFINITY;
    line->high = -INFINITY;
    line->confidence = 1.0;
    for (size_t i = 0; i < column->count; i++) {
        const struct pb_cell *cell = &column->cells[i];

        if (!agree(column, cell, column->typical))
            continue;
        line->agreeing++;
        line->low = fmin(line->low, cell->low);
        line->high = fmax(line->high, cell->high);
        line->confidence = fmin(line->confidence, cell->confidence);
    }
}

/* An interval from the nearest SM to the farthest is another thing than one of uncertainty. */
static const char *interval_kind(const struct pb_cell *cell)
{
    return strstr(cell->method, " SMs, each ") != NULL ? " (SMs)" : "";
}

static void print_line(const struct pb_line *line, const struct pb_view *view, FILE *file)
{
    char value[PB_MESSAGE_LENGTH], span[64] = "";
    int shown;

    pb_cell_format(&line->typical, line->unit, value, sizeof(value));
    shown = line_length(value);
    if (!isnan(line->typical.number)) {
        pb_quantity_format_interval(line->typical.number, line->low, line->high, line->unit, span,
                                    sizeof(span) - 8);
        strcat(span, interval_kind(&line->typical));
    }
    fprintf(file, ROW_FORMAT "%.3f", line->memory, line->parameter, shown, value, span,
            line->confidence);
    if (line->agreeing < line->count)
        fprintf(file, "  %zu of %zu", line->agreeing, line->count);
    fputc('\n', file);
    print_rest(value + shown, file);
    if (view->evidence) {
        fprintf(file, "      method: %s\n", line->typical.method);
        fprintf(file, "      evidence: %s\n", line->typical.evidence);
    }
}

static void print_others(const struct column *column, FILE *file)
{
    for (size_t i = 0; i < column->count; i++) {
        const struct pb_cell *cell = &column->cells[i];
        char value[PB_MESSAGE_LENGTH], device[PB_KEY_LENGTH];

        if (agree(column, cell, column->typical) ||
            (isnan(cell->number) && cell->value[0] != '\0' && cell->confidence < word_confidence))
            continue;
        pb_cell_format(cell, column->unit, value, sizeof(value));
        PB_TEXT_ESCAPE(device, cell->device);
        fprintf(file, "    ! %-37s  %s%s%s\n", device, value, cell->reason[0] ? "  " : "",
                cell->reason);
    }
}

/* Which devices stand in one table: those of a model, or with --all each alone. */
static bool is_together(const struct pb_results *results, const struct pb_view *view, size_t a,
                        size_t b)
{
    return a == b ||
           (!view->all && strcmp(results->devices[a].model, results->devices[b].model) == 0);
}

static bool is_repeated(const struct pb_results *results, const struct pb_view *view, size_t device)
{
    for (size_t i = 0; i < device; i++)
        if (is_together(results, view, i, device))
            return true;
    return false;
}

static void keep_cell(const char *device, const struct pb_parameter_row *row, struct pb_cell *cell)
{
    *cell = (struct pb_cell){.device = device,
                             .number = row->number,
                             .low = row->low,
                             .high = row->high,
                             .confidence = row->confidence};
    PB_TEXT_ESCAPE(cell->value, row->value);
    PB_TEXT_ESCAPE(cell->reason, row->reason);
    PB_TEXT_ESCAPE(cell->method, row->method);
    PB_TEXT_ESCAPE(cell->evidence, row->evidence);
}

/* Reads what the devices of one table say of a parameter. */
static enum pb_status collect(const struct pb_results *results, const struct pb_view *view,
                              size_t first, size_t parameter, struct column *column,
                              struct pb_error *err)
{
    column->count = 0;
    for (size_t i = first; i < results->device_count; i++) {
        struct pb_parameter_row row;
        enum pb_status status;

        if (!is_together(results, view, first, i))
            continue;
        status = pb_results_read(results, i * results->parameter_count + parameter, 1, &row, err);
        if (status != PB_OK)
            return status;
        PB_TEXT_ESCAPE(column->memory, row.memory);
        PB_TEXT_ESCAPE(column->parameter, row.parameter);
        PB_TEXT_ESCAPE(column->unit, row.unit);
        keep_cell(results->devices[i].key, &row, &column->cells[column->count++]);
    }
    return PB_OK;
}

/* Does any device have a value? Where none has, the first reason stands for all. */
static bool has_value(const struct column *column)
{
    for (size_t i = 0; i < column->count; i++)
        if (column->cells[i].value[0] != '\0')
            return true;
    return false;
}

static void make_line(struct column *column, struct pb_line *line)
{
    column->typical = find_typical(column);
    PB_TEXT_SET(line->memory, column->memory);
    PB_TEXT_SET(line->parameter, column->parameter);
    PB_TEXT_SET(line->unit, column->unit);
    line->typical = *column->typical;
    line->has_value = has_value(column);
    line->count = column->count;
    join_agreeing(column, line);
}

/* Is the line one that was requested? */
static bool is_wanted(const struct pb_line *line, const struct pb_view *view)
{
    return (view->memory == NULL || strcmp(view->memory, line->memory) == 0) &&
           (view->parameter == NULL || strcmp(view->parameter, line->parameter) == 0);
}

static enum pb_status print_determined(const struct pb_results *results, const struct pb_view *view,
                                       size_t first, const struct pb_line *lines,
                                       struct column *column, FILE *file, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    fprintf(file, ROW_FORMAT "%s\n", "memory", "parameter", VALUE_WIDTH, "value", "interval",
            "confidence");
    for (size_t p = 0; p < results->parameter_count && status == PB_OK; p++) {
        if (!lines[p].has_value || !is_wanted(&lines[p], view))
            continue;
        if (lines[p].typical.value[0] == '\0')
            fprintf(file, NAME_FORMAT "-  %s  %zu of %zu\n", lines[p].memory, lines[p].parameter,
                    lines[p].typical.reason, lines[p].agreeing, lines[p].count);
        else
            print_line(&lines[p], view, file);
        if (lines[p].agreeing == lines[p].count)
            continue;
        status = collect(results, view, first, p, column, err);
        column->typical = find_typical(column);
        if (status == PB_OK)
            print_others(column, file);
    }
    return status;
}

/* Over a model's devices: how much of their accesses the parameters predict. */
struct agreement {
    struct pb_agreement_test sum;
    const struct pb_analysed *worst; /* the device with the largest share contradicted */
};

static double share_contradicted(const struct pb_analysed *device)
{
    return (double)device->total.contradicted / (double)device->total.accesses;
}

static struct agreement join_agreement(const struct pb_results *results, const struct pb_view *view,
                                       size_t first)
{
    struct agreement all = {.worst = NULL};

    for (size_t i = 0; i < results->device_count; i++) {
        const struct pb_analysed *device = &results->devices[i];

        if (!is_together(results, view, first, i) || device->total.accesses == 0)
            continue;
        pb_agreement_add(&all.sum, &device->total);
        if (all.worst == NULL || share_contradicted(device) > share_contradicted(all.worst))
            all.worst = device;
    }
    return all;
}

/* "agreement: these values predict 87.50% of 8003566 recorded accesses; …" */
static void print_agreement(const struct pb_results *results, const struct pb_view *view,
                            size_t first, size_t devices, FILE *file)
{
    struct agreement all = join_agreement(results, view, first);
    const struct pb_agreement_test *worst;
    char device[4 * PB_KEY_LENGTH], reasons[PB_MESSAGE_LENGTH], text[2 * PB_MESSAGE_LENGTH];
    double accesses = (double)all.sum.accesses;

    if (all.worst == NULL)
        return;
    worst = &all.worst->total;
    pb_agreement_describe_reasons(&all.sum, reasons, sizeof(reasons));
    snprintf(
        text, sizeof(text),
        "these values predict %.2f%% of %.0f recorded accesses; %.2f%% cannot be predicted%s%s; "
        "%.3f%% contradict them",
        100.0 * (double)all.sum.agreed / accesses, accesses,
        100.0 * (double)all.sum.undetermined / accesses,
        reasons[0] != '\0' ? ", for want of: " : "", reasons,
        100.0 * (double)all.sum.contradicted / accesses);
    PB_TEXT_ESCAPE(device, all.worst->key);
    if (worst->contradicted > 0)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", most of them in %s%s%s",
                 worst->test, devices > 1 ? " of " : "", devices > 1 ? device : "");
    pb_page_print_folded(0, "agreement: ", text, view->terminal.width, file);
}

static bool is_filtered(const struct pb_view *view)
{
    return view->memory != NULL || view->parameter != NULL;
}

/* All of one table: the head, the summary, what was determined, what was not, the agreement. */
static enum pb_status print_table(const struct pb_results *results, const struct pb_view *view,
                                  size_t first, struct pb_line *lines, struct column *column,
                                  FILE *file, struct pb_error *err)
{
    struct pb_analysis_page page = {.lines = lines, .line_count = results->parameter_count};
    enum pb_status status = PB_OK;

    for (size_t p = 0; p < results->parameter_count && status == PB_OK; p++) {
        status = collect(results, view, first, p, column, err);
        if (status == PB_OK)
            make_line(column, &lines[p]);
    }
    if (status != PB_OK)
        return status;
    page.first = &results->devices[first];
    page.device_count = column->count;
    page.last_key = column->cells[column->count - 1].device;
    pb_page_print_head(&page, view, file);
    if (!is_filtered(view))
        pb_page_print_summary(&page, file);
    if (!view->summary) {
        fputs("\nInterval: the values that the evidence allows; exact: no other; (SMs): from the "
              "nearest to the\nfarthest SM. Confidence: the probability that this is right. "
              "docs/parameters.md explains each parameter.\n",
              file);
        status = print_determined(results, view, first, lines, column, file, err);
        if (status == PB_OK)
            pb_page_print_undetermined(&page, view, file);
    }
    if (status == PB_OK && !view->summary && !is_filtered(view))
        print_agreement(results, view, first, page.device_count, file);
    return status;
}

/* --memory and --parameter must name something that exists together. */
static enum pb_status check_view(const struct pb_results *results, const struct pb_view *view,
                                 struct pb_error *err)
{
    for (size_t p = 0; p < results->parameter_count; p++) {
        struct pb_parameter_row row;
        enum pb_status status = pb_results_read(results, p, 1, &row, err);

        if (status != PB_OK)
            return status;
        if ((view->memory == NULL || strcmp(row.memory, view->memory) == 0) &&
            (view->parameter == NULL || strcmp(row.parameter, view->parameter) == 0))
            return PB_OK;
    }
    return pb_fail(
        err, PB_INVALID, "no parameter has %s%s%s%s%s; plumb-analyze without it lists all",
        view->memory == NULL ? "" : "--memory ", view->memory == NULL ? "" : view->memory,
        view->memory != NULL && view->parameter != NULL ? " and " : "",
        view->parameter == NULL ? "" : "--parameter ",
        view->parameter == NULL ? "" : view->parameter);
}

enum pb_status pb_results_print(const struct pb_results *results, const struct pb_view *view,
                                FILE *file, struct pb_error *err)
{
    struct column column = {.cells = NULL};
    struct pb_line *lines;
    enum pb_status status;

    if (results->device_count == 0 || results->parameter_count == 0)
        return PB_OK;
    status = check_view(results, view, err);
    if (status != PB_OK)
        return status;
    column.cells = calloc(results->device_count, sizeof(*column.cells));
    lines = calloc(results->parameter_count, sizeof(*lines));
    if (column.cells == NULL || lines == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating a table of %zu devices",
                         results->device_count);
    for (size_t i = 0; i < results->device_count && status == PB_OK; i++) {
        if (is_repeated(results, view, i))
            continue;
        if (i > 0)
            fputc('\n', file);
        status = print_table(results, view, i, lines, &column, file, err);
    }
    free(column.cells);
    free(lines);
    return status;
}
