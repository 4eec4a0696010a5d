/*
 * plumb-model: which accesses of a CUDA kernel miss in a measured device's caches, why, and what
 * would change that.
 *
 * The table is printed kernel by kernel; the JSON appears whole at the end or stays as it was.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/kernel/explain.h"
#include "cli/atomic_file.h"
#include "cli/command_line.h"
#include "cli/model_compare.h"
#include "cli/model_device.h"
#include "cli/model_report.h"
#include "cli/model_trace.h"
#include "cli/terminal.h"

struct options {
    const char *cache, *from, *device, *compare, *json;
    uint64_t seed;
    bool without[PB_EXTENSION_COUNT];
};

static enum pb_status set_extension(struct options *options, const char *word, struct pb_error *err)
{
    enum pb_extension extension = pb_extension_parse(word);

    if (extension == PB_EXTENSION_COUNT)
        return pb_fail(err, PB_INVALID,
                       "--without: expected hierarchy, latency, associativity, mshr or divergence, "
                       "found \"%s\"",
                       word);
    options->without[extension] = true;
    return PB_OK;
}

static enum pb_status read_options(const struct pb_command_line *line, struct options *options,
                                   struct pb_error *err)
{
    enum pb_status status = PB_OK;
    const char *word;
    size_t at = 0;

    options->cache = pb_command_line_text(line, PB_OPTION_CACHE);
    options->from = pb_command_line_text(line, PB_OPTION_FROM);
    options->device = pb_command_line_text(line, PB_OPTION_DEVICE);
    options->compare = pb_command_line_text(line, PB_OPTION_COMPARE);
    options->json = pb_command_line_text(line, PB_OPTION_JSON);
    options->seed = pb_command_line_integer(line, PB_OPTION_SEED, 0);
    while (status == PB_OK && (word = pb_command_line_next(line, PB_OPTION_WITHOUT, &at)) != NULL)
        status = set_extension(options, word, err);
    if (status == PB_OK && (options->cache == NULL) == (options->from == NULL))
        status = pb_fail(err, PB_INVALID, "expected one of --cache and --from");
    return status;
}

/* ---- one trace after the other ---- */

struct model_run {
    const struct options *options;
    struct pb_model_device device;
    struct pb_predict_options predict;
    struct pb_compare *compare; /* NULL: nothing to compare with */
    json_t *kernels;            /* NULL: no JSON is wanted */
    size_t kernel_count;
    FILE *table; /* NULL: standard output is for JSON */
};

static void show_progress(void *context, uint64_t accesses)
{
    (void)context;
    fprintf(stderr, "\r%llu million accesses \033[K", (unsigned long long)(accesses / 1000000));
}

/* Without a schedule in the trace the device has to say how many SMs share the blocks. */
static enum pb_status check_sms(const struct model_run *run, const struct pb_kernel *kernel,
                                const char *path, struct pb_error *err)
{
    if (kernel->has_schedule || run->device.machine.sm_count > 0)
        return PB_OK;
    return pb_fail(err, PB_INVALID,
                   "%s: expected \"execution\": {\"sm_count\": N} in it, since %s does not say on "
                   "which SMs its blocks ran",
                   run->options->cache, path);
}

static enum pb_status explain_kernel(struct model_run *run, const char *path,
                                     const struct pb_trace *trace, struct pb_error *err)
{
    const struct pb_kernel *kernel = trace->ops->kernel(trace->state);
    const struct pb_machine *machine = &run->device.machine;
    struct pb_explanation explanation;
    enum pb_status status = check_sms(run, kernel, path, err);

    if (status == PB_OK)
        status = pb_explain(trace, machine, &run->predict, &explanation, err);
    pb_terminal_clear_line(stderr);
    if (status != PB_OK)
        return status;
    run->kernel_count++;
    if (run->table != NULL)
        pb_model_print(kernel, machine, &explanation, run->table);
    if (run->kernels != NULL)
        json_array_append_new(run->kernels,
                              pb_model_json(path, trace->ops->format, kernel, machine, &explanation,
                                            run->options->without, run->options->seed));
    if (run->compare != NULL)
        status = pb_compare_kernel(run->compare, trace, machine, &run->predict,
                                   &explanation.prediction, err);
    pb_explanation_clear(&explanation);
    pb_terminal_clear_line(stderr);
    return status;
}

static enum pb_status explain_trace(struct model_run *run, const char *path, struct pb_error *err)
{
    struct pb_trace trace = {0};
    size_t before = run->kernel_count;
    bool found = true;
    enum pb_status status = pb_model_trace_open(path, &trace, err);

    while (status == PB_OK && found) {
        status = trace.ops->next_kernel(trace.state, &found, err);
        if (status == PB_OK && found)
            status = explain_kernel(run, path, &trace, err);
    }
    pb_trace_close(&trace);
    if (status == PB_OK && run->kernel_count == before)
        status = pb_fail(err, PB_INVALID, "%s: expected at least one kernel, found none", path);
    return status == PB_CORRUPT || status == PB_NOT_FOUND ? PB_INVALID : status;
}

/* ---- output ---- */

static const char opening[] = "{\"schema\": 1, \"tool\": \"plumb-model\"";

static const struct pb_atomic_file_kind json_kind = {.name = "a report of plumb-model",
                                                     .opening = opening};

static enum pb_status write_json(const struct model_run *run, struct pb_atomic_file *output,
                                 struct pb_error *err)
{
    FILE *file = pb_atomic_file_stream(output);
    json_t *compared = run->compare == NULL ? NULL : pb_compare_json(run->compare);
    enum pb_status status = PB_OK;

    fprintf(file, "%s, \"simulated\": %s,\n \"kernels\": ", opening,
            run->device.is_simulated ? "true" : "false");
    if (json_dumpf(run->kernels, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory for the report", run->options->json);
    if (status == PB_OK && compared != NULL) {
        fputs(",\n \"comparison\": ", file);
        json_dumpf(compared, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    }
    fputs("}\n", file);
    json_decref(compared);
    if (status != PB_OK) {
        pb_atomic_file_abandon(output);
        return status;
    }
    return pb_atomic_file_commit(output, err);
}

static enum pb_status open_run(const struct options *options, struct model_run *run,
                               struct pb_error *err)
{
    bool json_to_stdout = options->json != NULL && strcmp(options->json, "-") == 0;
    enum pb_status status = PB_OK;

    if (options->compare != NULL)
        status = pb_compare_open(options->compare, &run->compare, err);
    if (status == PB_OK)
        status =
            pb_model_device_load(options->cache, options->from, options->device, &run->device, err);
    if (status != PB_OK)
        return status;
    run->options = options;
    run->table = json_to_stdout ? NULL : stdout;
    run->kernels = options->json != NULL ? json_array() : NULL;
    run->predict = (struct pb_predict_options){
        .memory = {.seed = options->seed, .wants_reuse = true},
        .carveout_bytes = -1,
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
    };
    memcpy(run->predict.memory.without, options->without, sizeof(options->without));
    if (run->table != NULL && run->device.is_simulated)
        fputs("simulated device\n\n", run->table);
    return PB_OK;
}

static int run_command(const struct pb_command_line *line)
{
    struct options options = {.seed = 0};
    struct model_run run = {.kernel_count = 0};
    struct pb_atomic_file *output = NULL;
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = read_options(line, &options, &err);

    if (status == PB_OK && options.json != NULL)
        status = pb_atomic_file_open(options.json, &json_kind, &output, &err);
    if (status == PB_OK)
        status = open_run(&options, &run, &err);
    for (size_t i = 0; i < line->argument_count && status == PB_OK; i++)
        status = explain_trace(&run, line->arguments[i], &err);
    if (status == PB_OK && run.compare != NULL)
        status = pb_compare_end(run.compare, run.table, &err);
    if (status == PB_OK && output != NULL) {
        status = write_json(&run, output, &err);
        output = NULL;
    }
    if (status != PB_OK)
        pb_command_print_error(PB_PROGRAM_MODEL, &err);
    pb_atomic_file_abandon(output);
    pb_compare_close(run.compare);
    json_decref(run.kernels);
    pb_model_device_clear(&run.device);
    return pb_exit_code(status);
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_MODEL, argc, argv, &line, &code)) {
        code = run_command(&line);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_MODEL, code, PB_EXIT_FAILED);
}
