/* Running plumb-analyze from a test. */
#include "analysis/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static int read_text(const char *folder, const char *name, char *text, size_t size)
{
    char path[512];
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    return fclose(file);
}

int program_run(const char *arguments, const char *work, struct program_run *run_out)
{
    char command[2048];
    int status;

    snprintf(command, sizeof(command), "\"%s\" %s >%s/stdout 2>%s/stderr", PLUMB_ANALYZE, arguments,
             work, work);
    status = system(command);
    if (status == -1 || !WIFEXITED(status))
        return -1;
    run_out->code = WEXITSTATUS(status);
    if (read_text(work, "stdout", run_out->output, sizeof(run_out->output)) != 0)
        return -1;
    return read_text(work, "stderr", run_out->errors, sizeof(run_out->errors));
}
