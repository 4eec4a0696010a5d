/* Parameters as rows of the fleet file. */
#include "cli/analyze_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/version.h"
#include "core/reserve.h"

static void format_number(double value, bool is_mask, char *text, size_t size)
{
    if (is_mask)
        snprintf(text, size, "0x%llx", (unsigned long long)value);
    else if (isfinite(value))
        snprintf(text, size, "%.10g", value);
    else
        snprintf(text, size, "null");
}

/* "[87, 162, null]"; of more numbers than have room those that have: "[87, 162, …]". */
static void format_list(const struct pb_parameter *parameter, char *text, size_t size)
{
    static const char more[] = ", …]";
    size_t used = 0, count = parameter->number_count;

    for (size_t i = 0; i < count; i++) {
        char item[32];
        size_t rest = i + 1 == count ? sizeof("]") : sizeof(more);

        format_number(parameter->numbers[i].value, parameter->kind == PB_VALUE_MASKS, item,
                      sizeof(item));
        if (used + strlen(", ") + strlen(item) + rest > size) {
            pb_text_copy(text + used, size - used, more);
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "[" : ", ", item);
    }
    pb_text_copy(text + used, size - used, "]");
}

/* "16384", "[0x80, 0x100]", "lru"; empty where there is no value. */
static void format_value(const struct pb_parameter *parameter, char *text, size_t size)
{
    text[0] = '\0';
    if (parameter->kind == PB_VALUE_WORD)
        pb_text_copy(text, size, parameter->word);
    else if (parameter->kind == PB_VALUE_NUMBER)
        format_number(parameter->numbers[0].value, false, text, size);
    else if (parameter->kind != PB_VALUE_NONE)
        format_list(parameter, text, size);
}

void pb_parameter_row_of(const char *key, const struct pb_parameter *parameter,
                         struct pb_parameter_row *row_out)
{
    struct pb_parameter_row *row = row_out;
    bool is_number = parameter->kind == PB_VALUE_NUMBER;

    memset(row, 0, sizeof(*row));
    PB_TEXT_SET(row->device, key);
    PB_TEXT_SET(row->memory, parameter->memory);
    PB_TEXT_SET(row->parameter, parameter->name);
    format_value(parameter, row->value, sizeof(row->value));
    row->number = is_number ? parameter->numbers[0].value : NAN;
    row->low = is_number ? parameter->numbers[0].low : NAN;
    row->high = is_number ? parameter->numbers[0].high : NAN;
    row->confidence = parameter->kind == PB_VALUE_NONE ? NAN : parameter->confidence;
    PB_TEXT_SET(row->unit, parameter->unit);
    PB_TEXT_SET(row->method, parameter->method);
    PB_TEXT_SET(row->evidence, parameter->evidence);
    PB_TEXT_SET(row->reason, parameter->reason);
}

static enum pb_status write_row(FILE *file, const char *key, const struct pb_parameter *parameter,
                                struct pb_error *err)
{
    struct pb_parameter_row row;

    pb_parameter_row_of(key, parameter, &row);
    if (fwrite(&row, sizeof(row), 1, file) != 1)
        return pb_fail(err, PB_IO, "temporary file of the parameters: %s", strerror(errno));
    return PB_OK;
}

/* The first parameter from i on of the memory of parameter `of`; count: none. */
static size_t find_memory(const struct pb_parameters *parameters, size_t i, size_t of)
{
    while (i < parameters->count &&
           strcmp(parameters->items[i].memory, parameters->items[of].memory) != 0)
        i++;
    return i;
}

/* Memory by memory: a table of rows in the order of the inferences has each in several places. */
static enum pb_status write_rows(FILE *file, const char *key,
                                 const struct pb_parameters *parameters, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t first = 0; first < parameters->count; first++) {
        size_t i = find_memory(parameters, 0, first);

        if (i < first)
            continue; /* this memory has been written */
        for (; i < parameters->count && status == PB_OK; i = find_memory(parameters, i + 1, first))
            status = write_row(file, key, &parameters->items[i], err);
    }
    return status;
}

void pb_agreement_row_of(const char *key, const struct pb_agreement_test *test,
                         struct pb_agreement_row *row_out)
{
    *row_out = (struct pb_agreement_row){.accesses = test->accesses,
                                         .agreed = test->agreed,
                                         .contradicted = test->contradicted,
                                         .undetermined = test->undetermined,
                                         .parameter_accesses = test->reasons[0].accesses,
                                         .worst_point = test->worst_point,
                                         .worst_accesses = test->worst_accesses,
                                         .worst_contradicted = test->worst_contradicted};
    PB_TEXT_SET(row_out->device, key);
    PB_TEXT_SET(row_out->test, test->test);
    PB_TEXT_SET(row_out->parameter, test->reasons[0].name);
    pb_agreement_describe_reasons(test, row_out->reasons, sizeof(row_out->reasons));
}

static enum pb_status write_agreement(struct pb_results *results, const char *key,
                                      const struct pb_agreement *agreement, struct pb_error *err)
{
    if (results->agreement == NULL)
        results->agreement = tmpfile();
    if (results->agreement == NULL)
        return pb_fail(err, PB_IO, "no temporary file for the agreement: %s", strerror(errno));
    for (size_t i = 0; i < agreement->count; i++) {
        struct pb_agreement_row row;

        pb_agreement_row_of(key, &agreement->tests[i], &row);
        if (fwrite(&row, sizeof(row), 1, results->agreement) != 1)
            return pb_fail(err, PB_IO, "temporary file of the agreement: %s", strerror(errno));
    }
    results->agreement_count += agreement->count;
    return PB_OK;
}

enum pb_status pb_results_add(struct pb_results *results, const char *key, const char *model,
                              const struct pb_parameters *parameters,
                              const struct pb_agreement *agreement, struct pb_error *err)
{
    size_t devices = results->device_count + 1;
    struct pb_analysed *grown = realloc(results->devices, devices * sizeof(*grown));
    enum pb_status status;

    if (grown == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices", devices);
    results->devices = grown;
    if (results->rows == NULL)
        results->rows = tmpfile();
    if (results->rows == NULL)
        return pb_fail(err, PB_IO, "no temporary file for the parameters: %s", strerror(errno));
    status = write_rows(results->rows, key, parameters, err);
    if (status == PB_OK)
        status = write_agreement(results, key, agreement, err);
    if (status != PB_OK)
        return status;
    PB_TEXT_SET(grown[devices - 1].key, key);
    PB_TEXT_SET(grown[devices - 1].model, model);
    memset(&grown[devices - 1].info, 0, sizeof(grown->info));
    grown[devices - 1].total = pb_agreement_total(agreement);
    results->device_count = devices;
    results->parameter_count = parameters->count;
    return PB_OK;
}

/* ---- metrics ---- */

/* The row of a metric, added where it is new. */
static enum pb_status find_metric(struct pb_stored_metrics *stored, const struct pb_metric *metric,
                                  size_t near, uint32_t *row_out, struct pb_error *err)
{
    struct pb_stored_metric row = {.method_version = metric->method_version}, *grown;

    PB_TEXT_SET(row.name, metric->name);
    PB_TEXT_SET(row.test, metric->test);
    PB_TEXT_SET(row.unit, metric->unit);
    /* Devices bring their metrics in one order: most often it is the one behind the last. */
    for (size_t i = 0; i < stored->metric_count; i++) {
        size_t at = (near + i) % stored->metric_count;

        if (memcmp(&stored->metrics[at], &row, sizeof(row)) == 0) {
            *row_out = (uint32_t)at;
            return PB_OK;
        }
    }
    grown = realloc(stored->metrics, (stored->metric_count + 1) * sizeof(*grown));
    if (grown == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu metrics",
                       stored->metric_count + 1);
    stored->metrics = grown;
    stored->metrics[stored->metric_count] = row;
    *row_out = (uint32_t)stored->metric_count++;
    return PB_OK;
}

static enum pb_status add_value(struct pb_results *results, const struct pb_metric *metric,
                                struct pb_reading cell, size_t near, struct pb_error *err)
{
    struct pb_stored_metrics *stored = &results->metrics;
    const struct pb_metric_row *row = pb_metric_row_find(metric->name);
    struct pb_metric_value value = {.device = (uint32_t)(stored->device_count - 1),
                                    .value = cell.value,
                                    .noise = cell.noise,
                                    .place = cell.place};
    enum pb_status status = find_metric(stored, metric, near, &value.metric, err);

    if (status != PB_OK)
        return status;
    if (row == NULL || row->metric.quantum != metric->quantum)
        value.quantum = metric->quantum;
    status =
        PB_RESERVE(stored->values, stored->value_count, results->value_capacity, "numbers", err);
    if (status == PB_OK)
        stored->values[stored->value_count++] = value;
    return status;
}

enum pb_status pb_results_add_metrics(struct pb_results *results,
                                      const struct pb_features *features, struct pb_error *err)
{
    struct pb_stored_metrics *stored = &results->metrics;
    struct pb_analysed_device *grown;
    enum pb_status status = PB_OK;

    if (features->device_count == 0)
        return PB_OK;
    grown = realloc(stored->devices, (stored->device_count + 1) * sizeof(*grown));
    if (grown == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu devices",
                       stored->device_count + 1);
    stored->devices = grown;
    grown += stored->device_count++;
    memset(grown, 0, sizeof(*grown));
    PB_TEXT_SET(grown->device, features->devices->key);
    PB_TEXT_SET(grown->missing, features->devices->missing);
    grown->outcomes = features->devices->endings;
    grown->battery = features->devices->tests;
    grown->measured_seconds = features->devices->measured_seconds;
    for (size_t i = 0; i < features->metric_count && status == PB_OK; i++) {
        struct pb_reading cell = pb_features_reading(features, 0, i);

        if (isfinite(cell.value))
            status = add_value(results, &features->metrics[i], cell, i, err);
    }
    return status;
}

void pb_results_set_info(struct pb_results *results, const struct pb_device_info *info)
{
    results->devices[results->device_count - 1].info = *info;
}

/* Records of so many bytes each, [first, first + count) of a temporary file. */
static enum pb_status read_records(FILE *file, size_t bytes, size_t first, size_t count,
                                   void *records_out, struct pb_error *err)
{
    if (count == 0)
        return PB_OK;
    if (fflush(file) != 0 || pread(fileno(file), records_out, bytes * count,
                                   (off_t)(bytes * first)) != (ssize_t)(bytes * count))
        return pb_fail(err, PB_IO, "temporary file of the results: %s", strerror(errno));
    return PB_OK;
}

enum pb_status pb_results_read(const struct pb_results *results, size_t first, size_t count,
                               struct pb_parameter_row *rows_out, struct pb_error *err)
{
    return read_records(results->rows, sizeof(*rows_out), first, count, rows_out, err);
}

enum pb_status pb_results_read_agreement(const struct pb_results *results, size_t first,
                                         size_t count, struct pb_agreement_row *rows_out,
                                         struct pb_error *err)
{
    return read_records(results->agreement, sizeof(*rows_out), first, count, rows_out, err);
}

void pb_results_clear(struct pb_results *results)
{
    if (results == NULL)
        return;
    free(results->devices);
    pb_stored_metrics_clear(&results->metrics);
    if (results->rows != NULL)
        fclose(results->rows);
    if (results->agreement != NULL)
        fclose(results->agreement);
    memset(results, 0, sizeof(*results));
}

enum pb_status pb_stored_parameters(struct pb_reader *reader,
                                    enum pb_status (*row)(void *context,
                                                          const struct pb_parameter_row *row,
                                                          struct pb_error *err),
                                    void *context, struct pb_error *err)
{
    struct pb_error reason = PB_ERROR_INIT;
    enum pb_status status = pb_reader_check_analysis(reader, pb_analysis_version(), &reason);

    if (status == PB_OK)
        return pb_reader_parameters(reader, row, context, err);
    return pb_fail(err, status == PB_NO_MEMORY ? status : PB_NOT_FOUND, "%s", reason.message);
}
