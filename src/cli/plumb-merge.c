/* plumb-merge: one fleet file from the spools of a killed run, or from several fleet files. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/options.h"
#include "cli/summary.h"
#include "run/merge.h"
#include "run/origin.h"

struct arguments {
    const char *output;
    const char **inputs;
    size_t input_count;
};

static const struct argp_option option_table[] = {
    {"output", 'o', "OUT.h5", 0, "The file to make", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'o':
        arguments->output = text;
        return 0;
    case ARGP_KEY_ARG:
        arguments->inputs[arguments->input_count++] = text;
        return 0;
    case ARGP_KEY_END:
        if (arguments->output == NULL)
            argp_error(state, "-o OUT.h5 is missing");
        if (arguments->input_count == 0)
            argp_error(state, "IN is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void notice(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse,
        "-o OUT.h5 IN...",
        "Makes one fleet file from spool folders, spool files and fleet files.\v"
        "Ranks keep their numbers where these are free; others get the next free one. The same "
        "device in several inputs has one row, and the better one of each test.\n\n"
        "Exit status: 0 complete, 3 partial (the file says what is missing), 1 failed, 2 usage.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {.inputs = calloc((size_t)argc + 1, sizeof(const char *))};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_summary summary;
    struct pb_run run;
    enum pb_status status;
    int code;

    pb_run_begin(argc, argv, &run);
    argp_program_version = "plumb-merge " PLUMB_VERSION;
    argp_err_exit_status = PB_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    status = pb_merge(arguments.inputs, arguments.input_count, arguments.output, &run, notice, NULL,
                      &summary, &err);
    if (status == PB_OK) {
        pb_summary_print(arguments.output, &summary);
        code = pb_summary_exit_code(&summary);
    } else {
        fprintf(stderr, "plumb-merge: %s\n", err.message);
        code = pb_exit_code(status);
    }
    free(arguments.inputs);
    return code;
}
