/*
 * plumb-outliers: which devices, slots and nodes of a fleet are anomalous, and what to do.
 *
 * Reads, judges, and only then writes: every output appears whole or stays as it was. Speaks
 * Nagios: whatever could not be judged is UNKNOWN, never OK.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/outliers.h"
#include "cli/terminal.h"

enum { EXIT_UNKNOWN = PB_SEVERITY_UNKNOWN };

/* The kinds of output: which option says where to, and what writes it. */
static const struct {
    enum pb_option_id option;
    const struct pb_atomic_file_kind *kind;
    enum pb_status (*write)(const struct pb_ruling *ruling, FILE *file, struct pb_error *err);
} outputs[] = {
#define OUTPUT(option, name) {PB_OPTION_##option, &pb_ruling_##name##_kind, pb_ruling_write_##name},
    PB_RULING_OUTPUTS(OUTPUT)
#undef OUTPUT
};

enum { OUTPUT_COUNT = sizeof(outputs) / sizeof(outputs[0]) };

struct options {
    const char *file, *policy;
    const char *outputs[OUTPUT_COUNT]; /* where each goes; NULL: it is not wanted */
    struct pb_earlier_runs runs, history;
    bool read_only;
};

static bool is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* All values of an option that may be given again. */
static enum pb_status add_runs(const struct pb_command_line *line, enum pb_option_id id,
                               struct pb_earlier_runs *runs, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    const char *path;
    size_t at = 0;

    while (status == PB_OK && (path = pb_command_line_next(line, id, &at)) != NULL)
        status = pb_earlier_runs_add(runs, path, err);
    return status;
}

static enum pb_status read_options(const struct pb_command_line *line, struct options *options,
                                   struct pb_error *err)
{
    enum pb_status status = add_runs(line, PB_OPTION_BASELINE, &options->runs, err);

    if (status == PB_OK)
        status = add_runs(line, PB_OPTION_HISTORY, &options->history, err);
    options->file = line->arguments[0];
    for (size_t i = 0; i < OUTPUT_COUNT; i++)
        options->outputs[i] = pb_command_line_text(line, outputs[i].option);
    options->policy = pb_command_line_text(line, PB_OPTION_POLICY);
    options->read_only = pb_command_line_has(line, PB_OPTION_READ_ONLY);
    return status;
}

/* Each goes to a place of its own. */
static enum pb_status check_outputs(const struct options *options, struct pb_error *err)
{
    const char *const *paths = options->outputs;

    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        if (paths[i] != NULL && paths[i][0] == '\0')
            return pb_fail(err, PB_INVALID, "an output has an empty name");
        for (size_t k = 0; k < i; k++)
            if (paths[i] != NULL && paths[k] != NULL && strcmp(paths[i], paths[k]) == 0)
                return pb_fail(err, PB_INVALID, "only one output can go to %s",
                               is_standard_output(paths[i]) ? "standard output" : paths[i]);
    }
    return PB_OK;
}

/* ---- judging ---- */

/* Reading takes a second or so for a device's standard battery: on a terminal one sees how far. */
static void show_progress(const char *path, size_t done, size_t count)
{
    fprintf(stderr, "\r%s: %zu of %zu devices \033[K", path, done, count);
}

static enum pb_status judge(const struct options *options, struct pb_ruling *ruling,
                            struct pb_error *err)
{
    const struct pb_ruling_options how = {.policy = options->policy,
                                          .baseline = &options->runs,
                                          .history = &options->history,
                                          .announce = isatty(STDERR_FILENO) ? show_progress : NULL};
    enum pb_status status = pb_ruling_make(options->file, &how, ruling, err);

    pb_terminal_clear_line(stderr);
    return status;
}

/* ---- delivering ---- */

/* Whatever may fail for want of room or rights fails here, before anything is replaced. */
static enum pb_status prepare(const struct options *options, const struct pb_ruling *ruling,
                              struct pb_atomic_file **files, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < OUTPUT_COUNT && status == PB_OK; i++) {
        if (options->outputs[i] == NULL)
            continue;
        status = pb_atomic_file_open(options->outputs[i], outputs[i].kind, &files[i], err);
        if (status == PB_OK)
            status = outputs[i].write(ruling, pb_atomic_file_stream(files[i]), err);
        if (status == PB_OK)
            status = pb_atomic_file_flush(files[i], err);
    }
    return status;
}

static enum pb_status deliver(const struct options *options, const struct pb_ruling *ruling,
                              struct pb_error *err)
{
    struct pb_atomic_file *files[OUTPUT_COUNT] = {NULL};
    bool is_printed = true; /* unless standard output is taken */
    enum pb_status status = prepare(options, ruling, files, err);

    if (status == PB_OK && !options->read_only)
        status = pb_ruling_store(ruling, options->file, err);
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        is_printed = is_printed && !is_standard_output(options->outputs[i]);
        if (status == PB_OK)
            status = pb_atomic_file_commit(files[i], err);
        else
            pb_atomic_file_abandon(files[i]);
    }
    if (status == PB_OK && is_printed)
        status = pb_ruling_print(ruling, pb_terminal_of(stdout), stdout, err);
    return status;
}

static int run(const struct pb_command_line *line)
{
    struct options options = {0};
    struct pb_ruling ruling = {0};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = read_options(line, &options, &err);

    if (status == PB_OK)
        status = check_outputs(&options, &err);
    if (status == PB_OK)
        status = judge(&options, &ruling, &err);
    if (status == PB_OK)
        status = deliver(&options, &ruling, &err);
    if (status != PB_OK)
        pb_command_print_error(PB_PROGRAM_OUTLIERS, &err);
    pb_ruling_clear(&ruling);
    pb_earlier_runs_clear(&options.runs);
    pb_earlier_runs_clear(&options.history);
    return status == PB_OK ? (int)ruling.status : EXIT_UNKNOWN;
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_OUTLIERS, argc, argv, &line, &code)) {
        code = run(&line);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_OUTLIERS, code, EXIT_UNKNOWN);
}
