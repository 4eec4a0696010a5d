/* The table that plumb-analyze prints: one per model, equal devices folded. */
#include "cli/analyze_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Measured quantities agree within this, or within one cycle; counts and sizes only exactly. */
static const double agreement = 0.02;

/* A word that is stated with less confidence than this is not worth an alarm when it differs. */
static const double word_confidence = 0.5;

/* Memory, parameter, value, interval; the confidence follows. */
#define ROW_FORMAT "  %-11s  %-19s  %-32s  %-22s  "

/* One parameter over the devices of a model. */
struct column {
    struct pb_parameter_row *rows; /* [count] of room for all devices */
    size_t count;
    const struct pb_parameter_row *typical; /* what most of them say */
};

static bool is_measured(const char *unit)
{
    static const char *const units[] = {"cycle", "ns", "MHz", "byte/s"};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i]) == 0)
            return true;
    return false;
}

static bool agree(const struct pb_parameter_row *a, const struct pb_parameter_row *b)
{
    double slack;

    if (isnan(a->number) || isnan(b->number) || !is_measured(a->unit))
        return strcmp(a->value, b->value) == 0;
    slack = agreement * fabs(b->number);
    if (strcmp(a->unit, "cycle") == 0)
        slack = fmax(slack, 1.0);
    return fabs(a->number - b->number) <= slack;
}

/* The row with which most others agree, the first of several. */
static const struct pb_parameter_row *find_typical(const struct column *column)
{
    const struct pb_parameter_row *typical = &column->rows[0];
    size_t most = 0;

    for (size_t i = 0; i < column->count; i++) {
        size_t friends = 0;

        for (size_t j = 0; j < column->count; j++)
            friends += agree(&column->rows[j], &column->rows[i]);
        if (friends > most) {
            most = friends;
            typical = &column->rows[i];
        }
        if (2 * most > column->count) /* a majority cannot be outnumbered */
            break;
    }
    return typical;
}

/* "1 cycle", "96 cycles"; symbols such as ns stay as they are. */
static const char *plural_of(const char *unit, double value)
{
    static const char *const words[] = {"byte", "cycle", "bank"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(unit, words[i]) == 0)
            return value == 1.0 ? "" : "s";
    return "";
}

static void format_number(double value, const char *unit, char *text, size_t size)
{
    if (strcmp(unit, "byte/s") == 0)
        snprintf(text, size, "%.2f GB/s", value / 1e9);
    else if (strcmp(unit, "byte") == 0 && value >= 1073741824.0)
        snprintf(text, size, "%.0f bytes (%.4g GiB)", value, value / 1073741824.0);
    else if (strcmp(unit, "byte") == 0 && value >= 1048576.0)
        snprintf(text, size, "%.0f bytes (%.4g MiB)", value, value / 1048576.0);
    else if (strcmp(unit, "byte") == 0 && value >= 1024.0)
        snprintf(text, size, "%.0f bytes (%.4g KiB)", value, value / 1024.0);
    else
        snprintf(text, size, "%.6g %s%s", value, unit, plural_of(unit, value));
}

static void format_row(const struct pb_parameter_row *row, char *text, size_t size)
{
    if (row->value[0] == '\0')
        snprintf(text, size, "-");
    else if (!isnan(row->number))
        format_number(row->number, row->unit, text, size);
    else
        snprintf(text, size, "%s %s%s", row->value, row->unit, plural_of(row->unit, 2.0));
}

static void format_interval(double low, double high, const char *unit, char *text, size_t size)
{
    if (strcmp(unit, "byte/s") == 0)
        snprintf(text, size, "%.2f to %.2f", low / 1e9, high / 1e9);
    else if (low == high && !is_measured(unit))
        snprintf(text, size, "exact");
    else if (is_measured(unit))
        snprintf(text, size, "%.5g to %.5g", low, high);
    else
        snprintf(text, size, "%.10g to %.10g", low, high);
}

/* Joined interval and lowest confidence of the rows that agree with the typical one. */
static void print_typical(const struct column *column, FILE *file)
{
    const struct pb_parameter_row *typical = column->typical;
    double low = INFINITY, high = -INFINITY, confidence = 1.0;
    char value[64], span[64] = "";
    size_t agreeing = 0;

    for (size_t i = 0; i < column->count; i++) {
        const struct pb_parameter_row *row = &column->rows[i];

        if (!agree(row, typical))
            continue;
        agreeing++;
        low = fmin(low, row->low);
        high = fmax(high, row->high);
        confidence = fmin(confidence, row->confidence);
    }
    format_row(typical, value, sizeof(value));
    if (!isnan(typical->number))
        format_interval(low, high, typical->unit, span, sizeof(span));
    if (typical->value[0] == '\0')
        fprintf(file, "  %-11s  %-19s  -  %s", typical->memory, typical->parameter,
                typical->reason);
    else
        fprintf(file, ROW_FORMAT "%.2f", typical->memory, typical->parameter, value, span,
                confidence);
    if (agreeing < column->count)
        fprintf(file, "  %zu of %zu", agreeing, column->count);
    fputc('\n', file);
}

static void print_others(const struct column *column, FILE *file)
{
    for (size_t i = 0; i < column->count; i++) {
        const struct pb_parameter_row *row = &column->rows[i];
        char value[64];

        if (agree(row, column->typical) ||
            (isnan(row->number) && row->value[0] != '\0' && row->confidence < word_confidence))
            continue;
        format_row(row, value, sizeof(value));
        fprintf(file, "    ! %-30s  %s%s%s\n", row->device, value, row->reason[0] ? "  " : "",
                row->reason);
    }
}

/* Whether an earlier device has this model too. */
static bool is_repeated(const struct pb_results *results, size_t device)
{
    for (size_t i = 0; i < device; i++)
        if (strcmp(results->devices[i].model, results->devices[device].model) == 0)
            return true;
    return false;
}

/* Reads the parameter's rows of all devices of a model. */
static enum pb_status collect(const struct pb_results *results, const char *model, size_t parameter,
                              struct column *column, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    column->count = 0;
    for (size_t i = 0; i < results->device_count && status == PB_OK; i++)
        if (strcmp(results->devices[i].model, model) == 0)
            status = pb_results_read(results, i * results->parameter_count + parameter, 1,
                                     &column->rows[column->count++], err);
    return status;
}

/* No device of the model has a value. The first one's reason stands for all: they differ in noise.
 */
static bool is_void(const struct column *column)
{
    for (size_t i = 0; i < column->count; i++)
        if (column->rows[i].value[0] != '\0')
            return false;
    return true;
}

/* Counts parameters from p on, of one memory, that nobody has for one reason; 0: p has values. */
static enum pb_status count_void(const struct pb_results *results, const char *model, size_t p,
                                 struct column *column, size_t *count_out, struct pb_error *err)
{
    enum pb_status status = collect(results, model, p, column, err);
    struct pb_parameter_row first = column->rows[0];
    size_t end = p;

    while (status == PB_OK && is_void(column) &&
           strcmp(column->rows[0].memory, first.memory) == 0 &&
           strcmp(column->rows[0].reason, first.reason) == 0) {
        if (++end == results->parameter_count)
            break;
        status = collect(results, model, end, column, err);
    }
    *count_out = end - p;
    return status;
}

static void print_void(const struct pb_parameter_row *row, size_t count, FILE *file)
{
    char name[PB_NAME_LENGTH];

    snprintf(name, sizeof(name), "%zu parameters", count);
    fprintf(file, "  %-11s  %-19s  -  %s\n", row->memory, count == 1 ? row->parameter : name,
            row->reason);
}

static void print_head(const char *model, bool is_first, const struct column *column, FILE *file)
{
    fprintf(file, "%s%s: ", is_first ? "" : "\n", model[0] == '\0' ? "unnamed model" : model);
    if (column->count == 1)
        fprintf(file, "%s\n", column->rows[0].device);
    else
        fprintf(file, "%zu devices, %s to %s\n", column->count, column->rows[0].device,
                column->rows[column->count - 1].device);
    fprintf(file, ROW_FORMAT "%s\n", "memory", "parameter", "value", "interval", "confidence");
}

static enum pb_status print_model(const struct pb_results *results, size_t first,
                                  struct column *column, FILE *file, struct pb_error *err)
{
    const char *model = results->devices[first].model;
    enum pb_status status = collect(results, model, 0, column, err);

    if (status == PB_OK)
        print_head(model, first == 0, column, file);
    for (size_t p = 0; p < results->parameter_count && status == PB_OK; p++) {
        size_t voids = 0;

        status = count_void(results, model, p, column, &voids, err);
        if (status == PB_OK)
            status = collect(results, model, p, column, err);
        if (status != PB_OK)
            break;
        if (voids > 0) {
            print_void(&column->rows[0], voids, file);
            p += voids - 1;
            continue;
        }
        column->typical = find_typical(column);
        print_typical(column, file);
        print_others(column, file);
    }
    return status;
}

enum pb_status pb_results_print(const struct pb_results *results, FILE *file, struct pb_error *err)
{
    struct column column = {NULL, 0, NULL};
    enum pb_status status = PB_OK;

    if (results->device_count == 0 || results->parameter_count == 0)
        return PB_OK;
    column.rows = calloc(results->device_count, sizeof(*column.rows));
    if (column.rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a table of %zu devices",
                       results->device_count);
    for (size_t i = 0; i < results->device_count && status == PB_OK; i++)
        if (!is_repeated(results, i))
            status = print_model(results, i, &column, file, err);
    free(column.rows);
    return status;
}
