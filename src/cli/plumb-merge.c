/* plumb-merge: one fleet file from the spools of a killed run, or from several fleet files. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command_line.h"
#include "cli/summary.h"
#include "core/text.h"
#include "run/merge.h"
#include "run/origin.h"

static void notice(void *context, const char *line)
{
    char escaped[2 * PB_ERROR_LENGTH];

    (void)context;
    PB_TEXT_ESCAPE(escaped, line);
    fprintf(stderr, "%s\n", escaped);
}

static int merge(const struct pb_command_line *line, const struct pb_run *run)
{
    const char *output = pb_command_line_text(line, PB_OPTION_OUTPUT);
    struct pb_error err = PB_ERROR_INIT;
    struct pb_summary summary;
    enum pb_status status = pb_merge((const char *const *)line->arguments, line->argument_count,
                                     output, run, notice, NULL, &summary, &err);

    if (status != PB_OK) {
        pb_command_print_error(PB_PROGRAM_MERGE, &err);
        return pb_exit_code(status);
    }
    pb_summary_print(output, &summary);
    return pb_summary_exit_code(&summary);
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    struct pb_run run;
    int code;

    pb_run_begin(argc, argv, &run);
    if (pb_command_begin(PB_PROGRAM_MERGE, argc, argv, &line, &code)) {
        code = merge(&line, &run);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_MERGE, code, PB_EXIT_FAILED);
}
