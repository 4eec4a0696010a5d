/*
 * plumb-analyze: parameters of every device in a fleet file, each with its evidence.
 *
 * Prints a table for people or JSON, and keeps the parameters in the file. One device's one test is
 * in memory at a time.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/inference.h"
#include "cli/analyze_report.h"
#include "cli/analyze_rows.h"
#include "h5schema/file.h"

enum exit_code { EXIT_COMPLETE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PARTIAL = 3 };

struct options {
    const char *file, *json, *device;
    bool read_only;
};

static const struct argp_option option_table[] = {
    {"json", 'j', "OUT", 0, "Write JSON to OUT, or to standard output for -", 0},
    {"device", 'd', "KEY", 0, "Only this device, as HOST.gpuSLOT; FILE is not changed then", 0},
    {"read-only", 'r', NULL, 0, "Do not keep the parameters in FILE", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'j':
        options->json = argument;
        return 0;
    case 'd':
        options->device = argument;
        return 0;
    case 'r':
        options->read_only = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL)
            argp_error(state, "one FILE is expected, found also \"%s\"", argument);
        options->file = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->file == NULL)
            argp_error(state, "FILE is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A device's recordings, as the inference asks for them. */
struct device_source {
    struct pb_reader *reader;
    const char *key;
};

static enum pb_status load_recording(void *context, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    const struct device_source *source = context;

    return pb_reader_recording(source->reader, source->key, test, recording_out, err);
}

/* What is gathered over all devices. */
struct analysis {
    struct pb_reader *reader;
    struct pb_report *report; /* NULL: no JSON is wanted */
    struct pb_results results;
    size_t empty; /* devices with nothing to analyse */
};

static enum pb_status analyse_device(struct analysis *analysis, const char *key,
                                     struct pb_error *err)
{
    struct device_source source = {analysis->reader, key};
    struct pb_recordings recordings = {&source, load_recording};
    struct pb_parameters parameters = {NULL, 0, 0};
    struct pb_device_info info;
    char place[PB_MESSAGE_LENGTH];
    size_t analysed = 0;
    enum pb_status status = pb_reader_device(analysis->reader, key, &info, err);

    if (status != PB_OK)
        return status;
    snprintf(place, sizeof(place), "/devices/%s", key);
    status = pb_infer_device(&info, place, &recordings, &parameters, &analysed, err);
    if (status == PB_OK && analysis->report != NULL)
        status = pb_report_add(analysis->report, key, info.model, &parameters, err);
    if (status == PB_OK)
        status = pb_results_add(&analysis->results, key, info.model, &parameters, err);
    analysis->empty += analysed == 0;
    pb_parameters_clear(&parameters);
    return status;
}

/* All devices, or the one that was asked for. */
static enum pb_status analyse_devices(struct analysis *analysis, const struct options *options,
                                      struct pb_error *err)
{
    struct pb_key *keys = NULL;
    size_t count = 0, matched = 0;
    enum pb_status status = pb_reader_devices(analysis->reader, &keys, &count, err);

    for (size_t i = 0; i < count && status == PB_OK; i++) {
        if (options->device != NULL && strcmp(keys[i].text, options->device) != 0)
            continue;
        matched++;
        status = analyse_device(analysis, keys[i].text, err);
        if (status != PB_OK)
            pb_error_prefix(err, "%s: device %s", options->file, keys[i].text);
    }
    if (status == PB_OK && matched == 0 && options->device != NULL)
        status = pb_fail(err, PB_INVALID, "%s: no device %s among %zu (the first is %s)",
                         options->file, options->device, count, count > 0 ? keys[0].text : "none");
    free(keys);
    return status;
}

/* Rows as the fleet file takes them. */
struct row_source {
    const struct pb_results *results;
    size_t next;
};

static enum pb_status next_rows(void *context, struct pb_parameter_row *rows, size_t room,
                                size_t *count_out, struct pb_error *err)
{
    struct row_source *source = context;
    const struct pb_results *results = source->results;
    size_t left = results->device_count * results->parameter_count - source->next;
    size_t count = left < room ? left : room;
    enum pb_status status = pb_results_read(results, source->next, count, rows, err);

    source->next += count;
    *count_out = count;
    return status;
}

/* Files first, then what people see: nobody reads of parameters that could not be kept. */
static enum pb_status deliver(struct analysis *analysis, const struct options *options,
                              struct pb_error *err)
{
    struct pb_results *results = &analysis->results;
    struct row_source rows = {results, 0};
    struct pb_parameter_source source = {&rows, next_rows};
    enum pb_status status = PB_OK;

    pb_reader_close(analysis->reader);
    analysis->reader = NULL;
    if (!options->read_only && options->device == NULL)
        status = pb_file_write_parameters_from(options->file, &source, err);
    if (status == PB_OK && analysis->report != NULL) {
        status = pb_report_commit(analysis->report, err);
        analysis->report = NULL;
    }
    if (status == PB_OK && (options->json == NULL || strcmp(options->json, "-") != 0))
        status = pb_results_print(results, stdout, err);
    if (status == PB_OK && fflush(stdout) != 0)
        status = pb_fail(err, PB_IO, "standard output cannot be written");
    return status;
}

static enum exit_code exit_code_of(enum pb_status status, const struct analysis *analysis)
{
    if (status == PB_INVALID || status == PB_EXISTS)
        return EXIT_USAGE;
    if (status != PB_OK)
        return EXIT_FAILED;
    return analysis->empty > 0 || analysis->results.device_count == 0 ? EXIT_PARTIAL
                                                                      : EXIT_COMPLETE;
}

static enum exit_code run(const struct options *options)
{
    struct analysis analysis = {0};
    struct pb_error err = PB_ERROR_INIT;
    enum exit_code code;
    enum pb_status status = pb_reader_open(options->file, &analysis.reader, &err);

    if (status == PB_OK && options->json != NULL)
        status = pb_report_open(options->json, &analysis.report, &err);
    if (status == PB_OK)
        status = analyse_devices(&analysis, options, &err);
    if (status == PB_OK)
        status = deliver(&analysis, options, &err);
    if (status != PB_OK)
        fprintf(stderr, "plumb-analyze: %s\n", err.message);
    code = exit_code_of(status, &analysis);
    if (code == EXIT_PARTIAL)
        fprintf(stderr, "plumb-analyze: %s: %zu of %zu devices have nothing to analyse\n",
                options->file, analysis.empty, analysis.results.device_count);
    pb_report_abandon(analysis.report);
    pb_reader_close(analysis.reader);
    pb_results_clear(&analysis.results);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "FILE",
        .doc = "Infers the parameters of every device in a fleet FILE: values with interval, "
               "confidence, method and evidence.\v"
               "Exit codes: 0 complete, 1 failed, 2 usage or no fleet file, 3 some device had "
               "nothing to analyse.",
    };
    struct options options = {0};

    argp_program_version = "plumb-analyze " PLUMB_VERSION;
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    return run(&options);
}
