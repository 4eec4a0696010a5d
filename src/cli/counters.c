/* Hardware counters out of CSV; see counters.h. */
#include "cli/counters.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel/text.h"
#include "core/record.h"
#include "core/reserve.h"

enum { FIELDS_MAX = 1024, NONE = -1 };

/* Names of a counter, the first that a file has counts. */
struct metric {
    const char *name;
    enum pb_counter counter;
    int rank; /* a lower one replaces a higher one */
};

static const struct metric metrics[] = {
    {"smsp__inst_executed_op_global_ld.sum", PB_COUNTER_LOADS, 0},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", PB_COUNTER_SECTORS, 0},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", PB_COUNTER_L1_HITS, 0},
    {"lts__t_sectors_srcunit_tex_op_read.sum", PB_COUNTER_L2_READS, 0},
    {"lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", PB_COUNTER_L2_HITS, 0},
    {"lts__t_sectors_op_read.sum", PB_COUNTER_L2_READS, 1},
    {"lts__t_sectors_op_read_lookup_hit.sum", PB_COUNTER_L2_HITS, 1},
};

enum { METRIC_COUNT = sizeof(metrics) / sizeof(metrics[0]) };

struct table {
    struct pb_text *text;
    int kernel, launch, name, value; /* columns; NONE: there is no such */
    int columns[METRIC_COUNT];
    struct pb_counter_row *rows;
    int ranks[PB_COUNTER_COUNT]; /* of the last row's values */
    size_t count, capacity;
    char last_launch[64];
};

/* ---- names ---- */

/* The last name of an Itanium mangling: _Z7my_sumPKf, _ZN3abc7my_sumEv; false: it is none. */
static bool unmangle(const char *name, char *base_out, size_t size)
{
    bool found = false;

    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (name += 2; *name == 'N' || *name == 'L' || *name == 'K'; name++)
        continue;
    while (isdigit((unsigned char)*name)) {
        char *end;
        unsigned long length = strtoul(name, &end, 10);

        if (length == 0 || length > strlen(end))
            return found;
        if (length >= size)
            length = size - 1;
        memcpy(base_out, end, length);
        base_out[length] = '\0';
        found = true;
        name = end + length;
    }
    return found;
}

void pb_kernel_base_name(const char *name, char *base_out, size_t size)
{
    size_t end;
    size_t begin;

    if (unmangle(name, base_out, size))
        return;
    end = strcspn(name, "(<");
    begin = end;
    while (begin > 0 && name[begin - 1] != ':' && name[begin - 1] != ' ')
        begin--;
    if (end - begin >= size)
        end = begin + size - 1;
    memcpy(base_out, name + begin, end - begin);
    base_out[end - begin] = '\0';
}

/* ---- CSV ---- */

/* Fields of a line, unquoted in place; 0: a quote is not closed. */
static size_t split(char *line, char **fields)
{
    size_t count = 0;

    while (count < FIELDS_MAX) {
        char *to = line;

        fields[count++] = line;
        if (*line == '"') {
            for (line++; *line != '\0' && (*line != '"' || line[1] == '"'); line++) {
                line += *line == '"';
                *to++ = *line;
            }
            if (*line != '"')
                return 0;
            line++;
        } else {
            to += strcspn(line, ",");
            line = to;
        }
        if (*line != ',' && *line != '\0')
            return 0;
        if (*line == '\0') {
            *to = '\0';
            break;
        }
        *to = '\0';
        line++;
    }
    return count;
}

static int find_column(char **fields, size_t count, const char *a, const char *b)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i], a) == 0 || strcmp(fields[i], b) == 0)
            return (int)i;
    return NONE;
}

/* With separators of thousands, as ncu prints them. */
static bool parse_number(const char *text, double *number_out)
{
    char digits[64];
    size_t length = 0;
    char *end;

    for (; *text != '\0' && length + 1 < sizeof(digits); text++)
        if (*text != ',')
            digits[length++] = *text;
    digits[length] = '\0';
    *number_out = strtod(digits, &end);
    return end != digits && *end == '\0' && isfinite(*number_out) && *number_out >= 0.0;
}

/* ---- rows ---- */

static enum pb_status add_row(struct table *table, const char *kernel, struct pb_error *err)
{
    enum pb_status status =
        PB_RESERVE(table->rows, table->count, table->capacity, "rows of counters", err);

    if (status != PB_OK)
        return status;
    pb_kernel_base_name(kernel, table->rows[table->count].kernel,
                        sizeof(table->rows[table->count].kernel));
    for (size_t i = 0; i < PB_COUNTER_COUNT; i++) {
        table->rows[table->count].values[i] = NAN;
        table->ranks[i] = METRIC_COUNT;
    }
    table->count++;
    return PB_OK;
}

static enum pb_status set_value(struct table *table, const struct metric *metric, const char *text,
                                struct pb_error *err)
{
    double number;

    if (text[0] == '\0' || metric->rank >= table->ranks[metric->counter])
        return PB_OK;
    if (!parse_number(text, &number))
        return pb_text_refuse(table->text, text, err, "a number for %s", metric->name);
    table->rows[table->count - 1].values[metric->counter] = number;
    table->ranks[metric->counter] = metric->rank;
    return PB_OK;
}

/* A row of one metric: those of a launch follow one another. */
static enum pb_status read_long(struct table *table, char **fields, struct pb_error *err)
{
    const char *launch = table->launch == NONE ? fields[table->kernel] : fields[table->launch];
    enum pb_status status = PB_OK;

    if (table->count == 0 ||
        strncmp(launch, table->last_launch, sizeof(table->last_launch) - 1) != 0) {
        status = add_row(table, fields[table->kernel], err);
        PB_TEXT_SET(table->last_launch, launch);
    }
    for (size_t i = 0; i < METRIC_COUNT && status == PB_OK; i++)
        if (strcmp(fields[table->name], metrics[i].name) == 0)
            status = set_value(table, &metrics[i], fields[table->value], err);
    return status;
}

static enum pb_status read_wide(struct table *table, char **fields, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (fields[table->kernel][0] == '\0') /* the row of units */
        return PB_OK;
    status = add_row(table, fields[table->kernel], err);
    for (size_t i = 0; i < METRIC_COUNT && status == PB_OK; i++)
        if (table->columns[i] != NONE)
            status = set_value(table, &metrics[i], fields[table->columns[i]], err);
    return status;
}

static enum pb_status read_header(struct table *table, char **fields, size_t count,
                                  struct pb_error *err)
{
    bool any = false;

    table->kernel = find_column(fields, count, "Kernel Name", "kernel");
    table->launch = find_column(fields, count, "ID", "launch");
    table->name = find_column(fields, count, "Metric Name", "metric");
    table->value = find_column(fields, count, "Metric Value", "value");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        table->columns[i] = find_column(fields, count, metrics[i].name, metrics[i].name);
        any = any || table->columns[i] != NONE;
    }
    if (table->kernel == NONE || (!any && (table->name == NONE || table->value == NONE)))
        return pb_text_refuse(table->text, fields[0], err,
                              "a header with \"Kernel Name\" and %s, or \"Metric Name\" and "
                              "\"Metric Value\"",
                              metrics[PB_COUNTER_SECTORS].name);
    return PB_OK;
}

static enum pb_status read_rows(struct table *table, struct pb_error *err)
{
    char *fields[FIELDS_MAX];
    size_t columns = 0;
    char *line = NULL;
    enum pb_status status;

    do {
        size_t count;

        status = pb_text_line(table->text, &line, err);
        if (status != PB_OK || line == NULL)
            break;
        if (line[0] == '\0' || strncmp(line, "==", 2) == 0) /* ncu's own messages */
            continue;
        count = split(line, fields);
        if (count == 0 || (columns > 0 && count != columns))
            return pb_text_refuse(table->text, line, err, "%zu fields separated by commas",
                                  columns);
        if (columns == 0)
            status = read_header(table, fields, count, err);
        else if (table->name != NONE && table->value != NONE)
            status = read_long(table, fields, err);
        else
            status = read_wide(table, fields, err);
        columns = count;
    } while (status == PB_OK);
    if (status == PB_OK && table->count == 0)
        status = pb_text_refuse(table->text, NULL, err, "a row of counters");
    return status;
}

enum pb_status pb_counters_read(const char *path, struct pb_counter_row **rows_out,
                                size_t *count_out, struct pb_error *err)
{
    struct table table = {.kernel = NONE};
    enum pb_status status = pb_text_open(path, &table.text, err);

    if (status == PB_OK)
        status = read_rows(&table, err);
    pb_text_close(table.text);
    if (status != PB_OK) {
        free(table.rows);
        return status;
    }
    *rows_out = table.rows;
    *count_out = table.count;
    return PB_OK;
}
