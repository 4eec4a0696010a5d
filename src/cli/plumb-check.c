/* plumb-check: is this a whole and valid fleet or trace file? One line for each thing that is
 * wrong. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command_line.h"
#include "h5schema/file.h"
#include "h5schema/memtrace.h"

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

static int check_trace(const char *path)
{
    struct pb_error err = PB_ERROR_INIT;
    size_t kernels = 0;
    uint64_t records = 0;
    enum pb_status status = pb_memtrace_validate(path, &kernels, &records, &err);

    if (status != PB_OK) {
        printf("%s\n", err.message);
        return EXIT_FAILURE;
    }
    printf("%s: ok, a trace of %zu kernel%s, %llu record%s\n", path, kernels,
           kernels == 1 ? "" : "s", (unsigned long long)records, records == 1 ? "" : "s");
    return EXIT_SUCCESS;
}

static int check(const char *path)
{
    struct pb_error err = PB_ERROR_INIT;
    size_t devices = 0, tests = 0, complaints = 0;
    enum pb_status status =
        pb_file_validate(path, complain, (void *)(uintptr_t)path, &complaints, &err);

    if (status != PB_OK && complaints > 0)
        return EXIT_FAILURE;
    if (status == PB_OK)
        status = count(path, &devices, &tests, &err);
    if (status != PB_OK) {
        pb_command_print_error(PB_PROGRAM_CHECK, &err);
        return PB_EXIT_USAGE;
    }
    printf("%s: ok, %zu device%s, %zu test%s\n", path, devices, devices == 1 ? "" : "s", tests,
           tests == 1 ? "" : "s");
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_CHECK, argc, argv, &line, &code)) {
        code = pb_memtrace_is_trace(line.arguments[0]) ? check_trace(line.arguments[0])
                                                       : check(line.arguments[0]);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_CHECK, code, PB_EXIT_FAILED);
}
