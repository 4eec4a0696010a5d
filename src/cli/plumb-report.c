/*
 * plumb-report: one self-contained HTML page about a fleet file.
 *
 * The page appears whole or stays as it was. The fleet file is not changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"
#include "cli/outlet.h"
#include "cli/report_read.h"

struct options {
    const char *file, *output, *device;
};

static const struct argp_option option_table[] = {
    {"device", 'd', "KEY", 0, "A page of this device alone, as HOST.gpuSLOT", 0},
    {0},
};

static enum pb_status set_option(void *context, int key, char *value, struct pb_error *err)
{
    struct options *options = context;

    (void)key; /* there is one */
    (void)err;
    options->device = value;
    return PB_OK;
}

static bool is_report(const char *head, size_t length)
{
    return pb_outlet_begins(head, length, pb_report_opening);
}

static const struct pb_outlet_kind report_kind = {"a page of plumb-report", is_report};

static void announce(const char *path, size_t devices)
{
    fprintf(stderr,
            "plumb-report: %s is not analysed yet: analysing %zu device%s (plumb-analyze and "
            "plumb-outliers would keep the results in it)\n",
            path, devices, devices == 1 ? "" : "s");
}

/* The place of the page is claimed first: nothing is analysed for a page that has none. */
static int run(const struct options *options)
{
    struct pb_report_input input = {.path = NULL};
    struct pb_outlet *outlet = NULL;
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = pb_outlet_open(options->output, &report_kind, &outlet, &err);

    if (status == PB_OK)
        status = pb_report_read(options->file, options->device, announce, &input, &err);
    if (status == PB_OK)
        status = pb_report_write(&input.report, &input.source, pb_outlet_file(outlet), &err);
    if (status == PB_OK)
        status = pb_outlet_commit(outlet, &err);
    else
        pb_outlet_abandon(outlet);
    if (status != PB_OK)
        fprintf(stderr, "plumb-report: %s\n", err.message);
    pb_report_input_clear(&input);
    return pb_exit_code(status);
}

int main(int argc, char **argv)
{
    struct options options = {NULL};
    const struct pb_files_usage usage = {
        .program = "plumb-report",
        .lead = "plumb-report",
        .mistake_code = PB_EXIT_USAGE,
        .arguments = "-o REPORT.html FILE.h5",
        .doc = "Writes one HTML page about a fleet file: the verdict, a map of nodes and GPUs, the "
               "findings with their evidence, and for each model the memory hierarchy as measured "
               "and its figures. The page loads nothing and needs no script.\v"
               "Exit status: 0 written, 1 failed, 2 usage or no fleet file.",
        .takes_output = true,
        .count_max = 1,
        .options = option_table,
        .set = set_option,
        .context = &options,
    };
    struct pb_files files;
    int code;

    if (pb_files_parse(&usage, argc, argv, &files, &code)) {
        options.file = files.paths[0];
        options.output = files.output;
        code = run(&options);
        free(files.paths);
    }
    return pb_command_end(usage.lead, code, PB_EXIT_FAILED);
}
