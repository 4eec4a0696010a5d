/* The table that plumb-analyze prints: one per model, equal devices folded. */
#include "cli/analyze_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* Measured quantities and shares agree within this or one cycle; counts and sizes exactly. */
static const double agreement = 0.02;

/* A word that is stated with less confidence than this is not worth an alarm when it differs. */
static const double word_confidence = 0.5;

/* Memory, parameter, the first so many bytes of the value, interval; the confidence follows. */
#define NAME_FORMAT "  %-12s  %-27s  "
#define ROW_FORMAT  NAME_FORMAT "%-26.*s  %-23s  "
enum { VALUE_WIDTH = 26, VALUE_COLUMN = 2 + 12 + 2 + 27 + 2 };

/* What a device says of one parameter: all that the table keeps of each device at a time. */
struct cell {
    const char *device;
    char value[PB_MESSAGE_LENGTH], reason[PB_MESSAGE_LENGTH];
    double number, low, high, confidence;
};

/* One parameter over the devices of a model. */
struct column {
    char memory[PB_NAME_LENGTH], parameter[PB_NAME_LENGTH], unit[PB_NAME_LENGTH];
    struct cell *cells; /* [count] of room for all devices */
    size_t count;
    const struct cell *typical; /* what most of them say */
};

static bool is_measured(const char *unit)
{
    static const char *const units[] = {"cycle", "ns", "MHz", "byte/s"};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i]) == 0)
            return true;
    return false;
}

static bool is_whole(double value)
{
    return value == floor(value);
}

static bool agree(const struct column *column, const struct cell *a, const struct cell *b)
{
    double slack;

    if (isnan(a->number) || isnan(b->number) ||
        (!is_measured(column->unit) && is_whole(a->number) && is_whole(b->number)))
        return strcmp(a->value, b->value) == 0;
    slack = agreement * fabs(b->number);
    if (strcmp(column->unit, "cycle") == 0)
        slack = fmax(slack, 1.0);
    return fabs(a->number - b->number) <= slack;
}

/* The cell with which most others agree, the first of several. */
static const struct cell *find_typical(const struct column *column)
{
    const struct cell *typical = &column->cells[0];
    size_t most = 0;

    for (size_t i = 0; i < column->count; i++) {
        size_t friends = 0;

        for (size_t j = 0; j < column->count; j++)
            friends += agree(column, &column->cells[j], &column->cells[i]);
        if (friends > most) {
            most = friends;
            typical = &column->cells[i];
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

static const char *gap_of(const char *unit)
{
    return unit[0] == '\0' ? "" : " ";
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
        snprintf(text, size, "%.6g%s%s%s", value, gap_of(unit), unit, plural_of(unit, value));
}

static void format_cell(const struct cell *cell, const char *unit, char *text, size_t size)
{
    if (cell->value[0] == '\0')
        snprintf(text, size, "-");
    else if (!isnan(cell->number))
        format_number(cell->number, unit, text, size);
    else
        snprintf(text, size, "%s%s%s%s", cell->value, gap_of(unit), unit, plural_of(unit, 2.0));
}

static void format_interval(double low, double high, const char *unit, char *text, size_t size)
{
    if (strcmp(unit, "byte/s") == 0)
        snprintf(text, size, "%.2f to %.2f", low / 1e9, high / 1e9);
    else if (low == high && !is_measured(unit))
        snprintf(text, size, "exact");
    else if (is_measured(unit) || !is_whole(low) || !is_whole(high))
        snprintf(text, size, "%.5g to %.5g", low, high);
    else
        snprintf(text, size, "%.10g to %.10g", low, high);
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

/* What the cells that agree with the typical one say together. */
struct consensus {
    size_t count;
    double low, high, confidence; /* the joined interval, and the least confidence */
};

static struct consensus join_agreeing(const struct column *column)
{
    struct consensus all = {.low = INFINITY, .high = -INFINITY, .confidence = 1.0};

    for (size_t i = 0; i < column->count; i++) {
        const struct cell *cell = &column->cells[i];

        if (!agree(column, cell, column->typical))
            continue;
        all.count++;
        all.low = fmin(all.low, cell->low);
        all.high = fmax(all.high, cell->high);
        all.confidence = fmin(all.confidence, cell->confidence);
    }
    return all;
}

static void print_typical(const struct column *column, FILE *file)
{
    const struct cell *typical = column->typical;
    struct consensus all = join_agreeing(column);
    char value[PB_MESSAGE_LENGTH], span[64] = "";
    int shown;

    format_cell(typical, column->unit, value, sizeof(value));
    shown = line_length(value);
    if (!isnan(typical->number))
        format_interval(all.low, all.high, column->unit, span, sizeof(span));
    if (typical->value[0] == '\0')
        fprintf(file, NAME_FORMAT "-  %s", column->memory, column->parameter, typical->reason);
    else
        fprintf(file, ROW_FORMAT "%.2f", column->memory, column->parameter, shown, value, span,
                all.confidence);
    if (all.count < column->count)
        fprintf(file, "  %zu of %zu", all.count, column->count);
    fputc('\n', file);
    if (typical->value[0] != '\0')
        print_rest(value + shown, file);
}

static void print_others(const struct column *column, FILE *file)
{
    for (size_t i = 0; i < column->count; i++) {
        const struct cell *cell = &column->cells[i];
        char value[PB_MESSAGE_LENGTH], device[PB_KEY_LENGTH];

        if (agree(column, cell, column->typical) ||
            (isnan(cell->number) && cell->value[0] != '\0' && cell->confidence < word_confidence))
            continue;
        format_cell(cell, column->unit, value, sizeof(value));
        PB_TEXT_ESCAPE(device, cell->device);
        fprintf(file, "    ! %-37s  %s%s%s\n", device, value, cell->reason[0] ? "  " : "",
                cell->reason);
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

static void keep_cell(const char *device, const struct pb_parameter_row *row, struct cell *cell)
{
    *cell = (struct cell){.device = device,
                          .number = row->number,
                          .low = row->low,
                          .high = row->high,
                          .confidence = row->confidence};
    PB_TEXT_ESCAPE(cell->value, row->value);
    PB_TEXT_ESCAPE(cell->reason, row->reason);
}

/* Reads what all devices of a model say of a parameter. */
static enum pb_status collect(const struct pb_results *results, const char *model, size_t parameter,
                              struct column *column, struct pb_error *err)
{
    column->count = 0;
    for (size_t i = 0; i < results->device_count; i++) {
        struct pb_parameter_row row;
        enum pb_status status;

        if (strcmp(results->devices[i].model, model) != 0)
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

/* No device of the model has a value. The first reason stands for all: they differ in noise. */
static bool is_void(const struct column *column)
{
    for (size_t i = 0; i < column->count; i++)
        if (column->cells[i].value[0] != '\0')
            return false;
    return true;
}

/* Parameters in a row, of one memory, that nobody has for one reason. */
struct gap {
    char memory[PB_NAME_LENGTH], parameter[PB_NAME_LENGTH], reason[PB_MESSAGE_LENGTH];
    size_t count;
};

/* Goes on from the column, the one of parameter p, which is void; leaves it at the one behind. */
static enum pb_status walk_gap(const struct pb_results *results, const char *model, size_t p,
                               struct column *column, struct gap *gap, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    PB_TEXT_SET(gap->memory, column->memory);
    PB_TEXT_SET(gap->parameter, column->parameter);
    PB_TEXT_SET(gap->reason, column->cells[0].reason);
    for (gap->count = 1; p + gap->count < results->parameter_count; gap->count++) {
        status = collect(results, model, p + gap->count, column, err);
        if (status != PB_OK || !is_void(column) || strcmp(column->memory, gap->memory) != 0 ||
            strcmp(column->cells[0].reason, gap->reason) != 0)
            break;
    }
    return status;
}

static void print_gap(const struct gap *gap, FILE *file)
{
    char name[PB_NAME_LENGTH];

    snprintf(name, sizeof(name), "%zu parameters", gap->count);
    fprintf(file, NAME_FORMAT "-  %s\n", gap->memory, gap->count == 1 ? gap->parameter : name,
            gap->reason);
}

static void print_head(const char *model, bool is_first, const struct column *column, FILE *file)
{
    char name[4 * PB_TEXT_LENGTH], first[4 * PB_KEY_LENGTH], last[4 * PB_KEY_LENGTH];

    PB_TEXT_ESCAPE(name, model[0] == '\0' ? "unnamed model" : model);
    PB_TEXT_ESCAPE(first, column->cells[0].device);
    PB_TEXT_ESCAPE(last, column->cells[column->count - 1].device);
    fprintf(file, "%s%s: ", is_first ? "" : "\n", name);
    if (column->count == 1)
        fprintf(file, "%s\n", first);
    else
        fprintf(file, "%zu devices, %s to %s\n", column->count, first, last);
    fprintf(file, ROW_FORMAT "%s\n", "memory", "parameter", VALUE_WIDTH, "value", "interval",
            "confidence");
}

/* Over a model's devices: how much of their accesses the parameters predict. */
struct agreement {
    double accesses, agreed, contradicted, undetermined;
    const struct pb_analysed *worst; /* the device with the largest share contradicted */
};

static double share_contradicted(const struct pb_analysed *device)
{
    return (double)device->total.contradicted / (double)device->total.accesses;
}

static struct agreement join_agreement(const struct pb_results *results, const char *model)
{
    struct agreement all = {0.0, 0.0, 0.0, 0.0, NULL};

    for (size_t i = 0; i < results->device_count; i++) {
        const struct pb_analysed *device = &results->devices[i];

        if (strcmp(device->model, model) != 0 || device->total.accesses == 0)
            continue;
        all.accesses += (double)device->total.accesses;
        all.agreed += (double)device->total.agreed;
        all.contradicted += (double)device->total.contradicted;
        all.undetermined += (double)device->total.undetermined;
        if (all.worst == NULL || share_contradicted(device) > share_contradicted(all.worst))
            all.worst = device;
    }
    return all;
}

/* "agreement: 87.50% of 8003566 recorded accesses as predicted, …" */
static void print_agreement(const struct pb_results *results, const char *model, size_t devices,
                            FILE *file)
{
    struct agreement all = join_agreement(results, model);
    const struct pb_agreement_test *worst;
    char device[4 * PB_KEY_LENGTH];

    if (all.worst == NULL)
        return;
    worst = &all.worst->total;
    fprintf(file,
            "agreement: %.2f%% of %.0f recorded accesses as predicted, %.2f%% undetermined%s%s, "
            "%.3f%% contradicted",
            100.0 * all.agreed / all.accesses, all.accesses,
            100.0 * all.undetermined / all.accesses, worst->missing[0] != '\0' ? ": most for " : "",
            worst->missing, 100.0 * all.contradicted / all.accesses);
    PB_TEXT_ESCAPE(device, all.worst->key);
    if (worst->contradicted > 0)
        fprintf(file, "; most in %s%s%s", worst->test, devices > 1 ? " of " : "",
                devices > 1 ? device : "");
    fputc('\n', file);
}

static enum pb_status print_model(const struct pb_results *results, size_t first,
                                  struct column *column, FILE *file, struct pb_error *err)
{
    const char *model = results->devices[first].model;
    enum pb_status status = collect(results, model, 0, column, err);

    if (status == PB_OK)
        print_head(model, first == 0, column, file);
    for (size_t p = 0; p < results->parameter_count && status == PB_OK;) {
        struct gap gap;

        if (is_void(column)) {
            status = walk_gap(results, model, p, column, &gap, err);
            print_gap(&gap, file);
            p += gap.count;
            continue;
        }
        column->typical = find_typical(column);
        print_typical(column, file);
        print_others(column, file);
        if (++p < results->parameter_count)
            status = collect(results, model, p, column, err);
    }
    if (status == PB_OK)
        print_agreement(results, model, column->count, file);
    return status;
}

enum pb_status pb_results_print(const struct pb_results *results, FILE *file, struct pb_error *err)
{
    struct column column = {.cells = NULL};
    enum pb_status status = PB_OK;

    if (results->device_count == 0 || results->parameter_count == 0)
        return PB_OK;
    column.cells = calloc(results->device_count, sizeof(*column.cells));
    if (column.cells == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a table of %zu devices",
                       results->device_count);
    for (size_t i = 0; i < results->device_count && status == PB_OK; i++)
        if (!is_repeated(results, i))
            status = print_model(results, i, &column, file, err);
    free(column.cells);
    return status;
}
