/* plumb-merge: one fleet file from the spools of a killed run, or from several fleet files. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/files.h"
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

static int merge(const struct pb_files *files, const struct pb_run *run)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_summary summary;
    enum pb_status status =
        pb_merge(files->paths, files->count, files->output, run, notice, NULL, &summary, &err);

    if (status != PB_OK) {
        fprintf(stderr, "plumb-merge: %s\n", err.message);
        return pb_exit_code(status);
    }
    pb_summary_print(files->output, &summary);
    return pb_summary_exit_code(&summary);
}

int main(int argc, char **argv)
{
    static const struct pb_files_usage usage = {
        .program = "plumb-merge",
        .lead = "plumb-merge",
        .mistake_code = PB_EXIT_USAGE,
        .arguments = "-o OUT.h5 IN...",
        .doc =
            "Makes one fleet file from spool folders, spool files and fleet files.\v"
            "Ranks keep their numbers where these are free; others get the next free one. The same "
            "device in several inputs has one row, and the better one of each test. Two devices by "
            "one name, as when a GPU was replaced, are refused.\n\n"
            "Exit status: 0 complete, 3 partial (the file says what is missing), 1 failed, 2 "
            "usage.",
        .takes_output = true,
        .count_max = SIZE_MAX,
    };
    struct pb_files files;
    struct pb_run run;
    int code;

    pb_command_begin();
    pb_run_begin(argc, argv, &run);
    if (pb_files_parse(&usage, argc, argv, &files, &code)) {
        code = merge(&files, &run);
        free(files.paths);
    }
    return pb_command_end(usage.lead, code, PB_EXIT_FAILED);
}
