/* The last line of a tool that writes a fleet file; see summary.h. */
#include "cli/summary.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command_line.h"

int pb_summary_exit_code(const struct pb_summary *summary)
{
    if (summary->member_count > 0 && summary->ok_count == summary->member_count)
        return EXIT_SUCCESS;
    return summary->test_ok_count == 0 ? PB_EXIT_FAILED : PB_EXIT_PARTIAL;
}

void pb_summary_print(const char *path, const struct pb_summary *summary)
{
    int code = pb_summary_exit_code(summary);

    if (code == EXIT_SUCCESS)
        printf("%s: complete, %zu device%s, %zu test%s\n", path, summary->member_count,
               summary->member_count == 1 ? "" : "s", summary->test_ok_count,
               summary->test_ok_count == 1 ? "" : "s");
    else
        printf("%s: %s, %zu of %zu devices are ok, %zu tests ok, %zu not%s\n", path,
               code == PB_EXIT_PARTIAL ? "partial" : "failed", summary->ok_count,
               summary->member_count, summary->test_ok_count, summary->test_failed_count,
               code == PB_EXIT_PARTIAL ? "; plumb-outliers lists what is missing, and why" : "");
}
