/*
 * plumb-analyze: parameters of every device in a fleet file, each with its evidence.
 *
 * Prints a table for people or JSON, and keeps the parameters in the file. Workers analyse a device
 * each at a time, whose tests are read once each; their results are taken in the file's order.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/version.h"
#include "cli/analyze_report.h"
#include "cli/analyze_rows.h"
#include "cli/analyze_table.h"
#include "cli/analyze_workers.h"
#include "cli/command_line.h"
#include "cli/worker.h"
#include "core/suggest.h"
#include "h5schema/file.h"

struct options {
    const char *file, *json, *csv, *device;
    struct pb_view view;
    size_t jobs;
    bool read_only;
};

/* What is gathered over all devices. */
struct analysis {
    struct pb_key *keys; /* [count] to be analysed */
    size_t count;
    struct pb_analysis_report *report; /* NULL: no JSON is wanted */
    struct pb_results results;
    size_t empty; /* devices with nothing to analyse */
};

static enum pb_status refuse_device(const struct analysis *analysis, const struct options *options,
                                    struct pb_error *err)
{
    struct pb_suggestion suggestion = {.word = options->device};

    for (size_t i = 0; i < analysis->count; i++)
        pb_suggest(&suggestion, analysis->keys[i].text);
    if (suggestion.best != NULL)
        return pb_fail(err, PB_INVALID, "%s: no device %s among %zu; did you mean %s?",
                       options->file, options->device, analysis->count, suggestion.best);
    return pb_fail(err, PB_INVALID, "%s: no device %s among %zu; the first is %s", options->file,
                   options->device, analysis->count,
                   analysis->count > 0 ? analysis->keys[0].text : "none");
}

/* The devices of the file, or the one that was requested. */
static enum pb_status list_devices(struct analysis *analysis, const struct options *options,
                                   struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    enum pb_status status = pb_reader_open(options->file, &reader, err);
    size_t found = 0;

    if (status == PB_OK)
        status = pb_reader_devices(reader, &analysis->keys, &analysis->count, err);
    pb_reader_close(reader);
    if (status != PB_OK || options->device == NULL)
        return status;
    for (size_t i = 0; i < analysis->count; i++)
        if (strcmp(analysis->keys[i].text, options->device) == 0)
            analysis->keys[found++] = analysis->keys[i];
    if (found == 0)
        status = refuse_device(analysis, options, err);
    analysis->count = found;
    return status;
}

/* Results of all devices stay with the file. */
static bool is_stored(const struct options *options)
{
    return !options->read_only && options->device == NULL;
}

static enum pb_status keep_result(struct analysis *analysis, const char *key,
                                  const struct pb_device_result *result, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (analysis->report != NULL)
        status = pb_report_add(analysis->report, key, result->model, &result->info,
                               &result->parameters, &result->agreement, err);
    if (status == PB_OK)
        status = pb_results_add(&analysis->results, key, result->model, &result->parameters,
                                &result->agreement, err);
    if (status == PB_OK)
        pb_results_set_info(&analysis->results, &result->info);
    if (status == PB_OK)
        status = pb_results_add_metrics(&analysis->results, &result->features, err);
    analysis->empty += result->analysed == 0;
    return status;
}

static enum pb_status analyse_devices(struct analysis *analysis, const struct options *options,
                                      struct pb_error *err)
{
    struct pb_workers *workers = NULL;
    enum pb_status status = PB_OK;

    if (analysis->count > 0)
        status = pb_workers_start(options->file, analysis->keys, analysis->count, options->jobs,
                                  is_stored(options) ? PB_WANT_PARAMETERS | PB_WANT_METRICS
                                                     : PB_WANT_PARAMETERS,
                                  &workers, err);
    for (size_t i = 0; i < analysis->count && status == PB_OK; i++) {
        struct pb_device_result result = {.analysed = 0};

        status = pb_workers_next(workers, &result, err);
        if (status != PB_OK)
            pb_error_prefix(err, "%s: device %s", options->file, analysis->keys[i].text);
        else
            status = keep_result(analysis, analysis->keys[i].text, &result, err);
        pb_device_result_clear(&result);
    }
    pb_workers_stop(workers);
    return status;
}

/* Rows as the fleet file takes them. */
struct row_source {
    const struct pb_results *results;
    size_t next, next_agreement;
};

static enum pb_status next_rows(void *context, struct pb_parameter_row *rows, size_t capacity,
                                size_t *count_out, struct pb_error *err)
{
    struct row_source *source = context;
    const struct pb_results *results = source->results;
    size_t left = results->device_count * results->parameter_count - source->next;
    size_t count = left < capacity ? left : capacity;
    enum pb_status status = pb_results_read(results, source->next, count, rows, err);

    source->next += count;
    *count_out = count;
    return status;
}

static enum pb_status next_agreement_rows(void *context, struct pb_agreement_row *rows,
                                          size_t capacity, size_t *count_out, struct pb_error *err)
{
    struct row_source *source = context;
    size_t left = source->results->agreement_count - source->next_agreement;
    size_t count = left < capacity ? left : capacity;
    enum pb_status status =
        pb_results_read_agreement(source->results, source->next_agreement, count, rows, err);

    source->next_agreement += count;
    *count_out = count;
    return status;
}

static bool is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Files first, then what people see: none are shown that could not be kept. */
static enum pb_status deliver(struct analysis *analysis, const struct options *options,
                              struct pb_error *err)
{
    struct pb_results *results = &analysis->results;
    struct row_source rows = {results, 0, 0};
    struct pb_parameter_source source = {&rows, next_rows, next_agreement_rows, &results->metrics,
                                         pb_analysis_version()};
    enum pb_status status = PB_OK;

    if (is_stored(options))
        status = pb_file_write_parameters_from(options->file, &source, err);
    if (status == PB_OK && analysis->report != NULL) {
        status = pb_report_commit(analysis->report, err);
        analysis->report = NULL;
    }
    if (status == PB_OK && options->csv != NULL)
        status = pb_results_write_csv(results, options->csv, err);
    if (status == PB_OK && !is_standard_output(options->json) && !is_standard_output(options->csv))
        status = pb_results_print(results, &options->view, stdout, err);
    return status;
}

static int exit_code_of(enum pb_status status, const struct analysis *analysis)
{
    if (status != PB_OK)
        return pb_exit_code(status);
    return analysis->empty > 0 || analysis->results.device_count == 0 ? PB_EXIT_PARTIAL
                                                                      : EXIT_SUCCESS;
}

static int run(const struct options *options)
{
    struct analysis analysis = {0};
    struct pb_error err = PB_ERROR_INIT;
    int code;
    enum pb_status status = list_devices(&analysis, options, &err);

    if (status == PB_OK && options->json != NULL)
        status = pb_report_open(options->json, &analysis.report, &err);
    if (status == PB_OK)
        status = analyse_devices(&analysis, options, &err);
    if (status == PB_OK)
        status = deliver(&analysis, options, &err);
    if (status != PB_OK)
        pb_command_print_error(PB_PROGRAM_ANALYZE, &err);
    code = exit_code_of(status, &analysis);
    if (code == PB_EXIT_PARTIAL)
        fprintf(stderr, "plumb-analyze: %s: %zu of %zu devices have nothing to analyse\n",
                options->file, analysis.empty, analysis.results.device_count);
    pb_report_abandon(analysis.report);
    free(analysis.keys);
    pb_results_clear(&analysis.results);
    return code;
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_ANALYZE, argc, argv, &line, &code)) {
        const struct options options = {
            .file = line.arguments[0],
            .json = pb_command_line_text(&line, PB_OPTION_JSON),
            .csv = pb_command_line_text(&line, PB_OPTION_CSV),
            .device = pb_command_line_text(&line, PB_OPTION_DEVICE),
            .view = {.memory = pb_command_line_text(&line, PB_OPTION_MEMORY),
                     .parameter = pb_command_line_text(&line, PB_OPTION_PARAMETER),
                     .summary = pb_command_line_has(&line, PB_OPTION_SUMMARY),
                     .all = pb_command_line_has(&line, PB_OPTION_ALL),
                     .evidence = pb_command_line_has(&line, PB_OPTION_EVIDENCE),
                     .terminal = pb_terminal_of(stdout)},
            .jobs = pb_command_line_integer(&line, PB_OPTION_JOBS, pb_worker_processors()),
            .read_only = pb_command_line_has(&line, PB_OPTION_READ_ONLY),
        };

        code = run(&options);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_ANALYZE, code, PB_EXIT_FAILED);
}
