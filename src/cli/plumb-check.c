/* plumb-check: is this a whole and valid fleet file? One line for each thing that is wrong. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/options.h"
#include "h5schema/file.h"

struct arguments {
    const char *file;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->file != NULL)
            argp_error(state, "one FILE is expected, found also \"%s\"", text);
        arguments->file = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "FILE is missing");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void complain(void *context, const char *line)
{
    printf("%s: %s\n", (const char *)context, line);
}

/* Tests in the file, of all devices. */
static enum pb_status count(const char *path, size_t *devices_out, size_t *tests_out,
                            struct pb_error *err)
{
    struct pb_reader *reader;
    struct pb_key *keys = NULL;
    size_t device_count = 0, test_count = 0;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_devices(reader, &keys, &device_count, err);
    for (size_t i = 0; i < device_count && status == PB_OK; i++) {
        struct pb_key *names = NULL;
        size_t found = 0;

        status = pb_reader_tests(reader, keys[i].text, &names, &found, err);
        test_count += found;
        free(names);
    }
    free(keys);
    pb_reader_close(reader);
    if (status == PB_OK) {
        *devices_out = device_count;
        *tests_out = test_count;
    }
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        NULL,
        parse,
        "FILE.h5",
        "Validates a fleet file against the schema, data included.\v"
        "Exit status: 0 valid, 1 violations (one line each), 2 not a fleet file, or usage.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {NULL};
    struct pb_error err = PB_ERROR_INIT;
    size_t devices, tests, complaints = 0;
    enum pb_status status;

    argp_program_version = "plumb-check " PLUMB_VERSION;
    argp_err_exit_status = PB_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    status = pb_file_validate(arguments.file, complain, (void *)(uintptr_t)arguments.file,
                              &complaints, &err);
    if (status != PB_OK && complaints > 0)
        return EXIT_FAILURE;
    if (status == PB_OK)
        status = count(arguments.file, &devices, &tests, &err);
    if (status != PB_OK) {
        fprintf(stderr, "plumb-check: %s\n", err.message);
        return PB_EXIT_USAGE;
    }
    printf("%s: ok, %zu devices, %zu tests\n", arguments.file, devices, tests);
    return EXIT_SUCCESS;
}
