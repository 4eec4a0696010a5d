/* fold NAME...: the names as a Slurm hostlist, for scripts that ask scontrol to unfold it. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/hostlist.h"

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;
    char *text = NULL;

    if (pb_hostlist_fold((const char *const *)argv + 1, (size_t)argc - 1, &text, &err) != PB_OK) {
        fprintf(stderr, "fold: %s\n", err.message);
        return EXIT_FAILURE;
    }
    puts(text);
    free(text);
    return EXIT_SUCCESS;
}
