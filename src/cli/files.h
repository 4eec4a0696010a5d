/* The command line of programs that take files: FILE..., perhaps -o OUT, and options of theirs. */
#ifndef PB_CLI_FILES_H
#define PB_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"

/* What a program takes; for its help and for its errors. */
struct pb_files_usage {
    const char *program;
    const char *lead;      /* of a line about a mistake */
    int mistake_code;      /* the exit code then */
    const char *arguments; /* "-o OUT.h5 IN..." */
    const char *doc;       /* as argp wants it */
    bool takes_output;     /* then -o is needed */
    size_t count_max;

    /* The program's own options, and what takes their values. NULL: it has none. */
    const struct argp_option *options;
    enum pb_status (*set)(void *context, int key, char *value, struct pb_error *err);
    void *context;
};

struct pb_files {
    const char *output;
    const char **paths; /* [count] owned array of the command line's strings; at least one */
    size_t count;
};

/*
 * True: go on, and free(files_out->paths). False: help, version or one line of error has been
 * printed, and *code_out is the exit code.
 */
bool pb_files_parse(const struct pb_files_usage *usage, int argc, char **argv,
                    struct pb_files *files_out, int *code_out);

#endif
