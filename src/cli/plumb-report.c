/*
 * plumb-report: one self-contained HTML page about a fleet file.
 *
 * The page appears whole or stays as it was. The fleet file is not changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/atomic_file.h"
#include "cli/command_line.h"
#include "cli/report_read.h"

struct options {
    const char *file, *output, *device, *policy;
};

static const struct pb_atomic_file_kind report_kind = {.name = "a page of plumb-report",
                                                       .opening = pb_report_opening};

static void announce(const char *path, const char *lacking, size_t devices)
{
    fprintf(stderr,
            "plumb-report: %s holds no %s: analysing %zu device%s (plumb-analyze and "
            "plumb-outliers would store the results in it)\n",
            path, lacking, devices, devices == 1 ? "" : "s");
}

/* The place of the page is claimed first: nothing is analysed for a page that has none. */
static int run(const struct options *options)
{
    struct pb_report_input input = {.path = NULL};
    struct pb_atomic_file *output = NULL;
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = pb_atomic_file_open(options->output, &report_kind, &output, &err);

    if (status == PB_OK)
        status =
            pb_report_read(options->file, options->device, options->policy, announce, &input, &err);
    if (status == PB_OK)
        status = pb_report_write(&input.report, &input.source, pb_atomic_file_stream(output), &err);
    if (status == PB_OK)
        status = pb_atomic_file_commit(output, &err);
    else
        pb_atomic_file_abandon(output);
    if (status != PB_OK)
        pb_command_print_error(PB_PROGRAM_REPORT, &err);
    pb_report_input_clear(&input);
    return pb_exit_code(status);
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_REPORT, argc, argv, &line, &code)) {
        const struct options options = {
            .file = line.arguments[0],
            .output = pb_command_line_text(&line, PB_OPTION_OUTPUT),
            .device = pb_command_line_text(&line, PB_OPTION_DEVICE),
            .policy = pb_command_line_text(&line, PB_OPTION_POLICY),
        };

        code = run(&options);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_REPORT, code, PB_EXIT_FAILED);
}
