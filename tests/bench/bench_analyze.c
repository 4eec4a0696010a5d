/*
 * What it costs to analyse a fleet: time and memory of plumb-analyze over files of one device after
 * the other, each a copy of one that was measured.
 *
 *   bench_analyze PLUMB-ANALYZE FILE.h5 [COUNT]...
 *
 * FILE holds the device (its first one); COUNT devices are made of it, 10 and 100 where none is
 * given. Peak memory must not grow with the number of devices: the last column says by how much it
 * did, by device, beyond the smallest file. The files lie in $TMPDIR, or /tmp.
 *
 * Limit: equal devices make the printed table short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/time.h"
#include "h5schema/file.h"

enum { PATH_LENGTH = 1024, COUNTS_MAX = 8 };

/* A device as it will be added again and again: only the key changes. */
struct template
{
    struct pb_device_info info;
    struct pb_key *tests;
    size_t test_count;
    struct pb_reader *reader;
    char key[PB_KEY_LENGTH];
};

static enum pb_status open_template(const char *path, struct template *template,
                                    struct pb_error *err)
{
    struct pb_key *keys = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_open(path, &template->reader, err);

    if (status == PB_OK)
        status = pb_reader_devices(template->reader, &keys, &count, err);
    if (status == PB_OK && count == 0)
        status = pb_fail(err, PB_NOT_FOUND, "%s holds no device", path);
    if (status == PB_OK) {
        PB_TEXT_SET(template->key, keys[0].text);
        status = pb_reader_device(template->reader, template->key, &template->info, err);
    }
    if (status == PB_OK)
        status = pb_reader_tests(template->reader, template->key, &template->tests,
                                 &template->test_count, err);
    free(keys);
    return status;
}

static enum pb_status add_image(struct pb_fleet *fleet, struct pb_image *image,
                                enum pb_status status, struct pb_error *err)
{
    if (status == PB_OK)
        status = pb_fleet_add(fleet, image->bytes, image->size, err);
    free(image->bytes);
    image->bytes = NULL;
    return status;
}

static enum pb_status add_copy(struct pb_fleet *fleet, const struct template *template,
                               size_t number, struct pb_error *err)
{
    struct pb_device_info info = template->info;
    struct pb_image image = {NULL, 0};
    char key[PB_KEY_LENGTH];
    enum pb_status status;

    snprintf(key, sizeof(key), "n%zu.gpu%zu", number / 8, number % 8);
    snprintf(info.uuid, sizeof(info.uuid), "GPU-%08zx-0000-0000-0000-000000000000", number);
    status = add_image(fleet, &image, pb_image_of_device(key, &info, &image, err), err);
    for (size_t i = 0; i < template->test_count && status == PB_OK; i++) {
        struct pb_recording recording = {.name = ""};

        status = pb_reader_recording(template->reader, template->key, template->tests[i].text,
                                     &recording, err);
        if (status == PB_OK)
            status = add_image(fleet, &image,
                               pb_image_of_test(key, &recording, NULL, 0, &image, err), err);
        pb_recording_clear(&recording);
    }
    return status;
}

static enum pb_status make_file(const char *path, const struct template *template, size_t count,
                                struct pb_error *err)
{
    struct pb_run run;
    struct pb_fleet *fleet = NULL;
    enum pb_status status = pb_reader_run(template->reader, &run, err);

    if (status == PB_OK)
        status = pb_fleet_create(path, &run, &fleet, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = add_copy(fleet, template, i, err);
    if (status != PB_OK) {
        pb_fleet_abandon(fleet);
        return status;
    }
    return pb_fleet_commit(fleet, true, err);
}

/* Runs plumb-analyze over the file, its table thrown away. */
static int analyse(const char *program, const char *path, double *seconds_out, double *mib_out)
{
    double start = pb_time_monotonic_seconds();
    struct rusage usage;
    int code;
    pid_t child = fork();

    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) != NULL)
            execl(program, program, path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &code, 0, &usage) != child)
        return -1;
    *seconds_out = pb_time_monotonic_seconds() - start;
    *mib_out = (double)usage.ru_maxrss / 1024.0;
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static enum pb_status measure(const char *program, const struct template *template, size_t count,
                              double *mib_out, struct pb_error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_LENGTH];
    double seconds = 0.0;
    enum pb_status status;
    int code;

    snprintf(path, sizeof(path), "%s/bench_analyze.%d.h5", folder != NULL ? folder : "/tmp",
             (int)getpid());
    status = make_file(path, template, count, err);
    if (status != PB_OK)
        return status;
    code = analyse(program, path, &seconds, mib_out);
    remove(path);
    if (code != 0)
        return pb_fail(err, PB_IO, "%s ended with %d", program, code);
    printf("%8zu  %8.1f  %10.3f  %10.1f", count, seconds, seconds / (double)count, *mib_out);
    return PB_OK;
}

int main(int argc, char **argv)
{
    size_t counts[COUNTS_MAX] = {10, 100}, used = 2;
    struct template template = {.tests = NULL};
    struct pb_error err = PB_ERROR_INIT;
    double first = 0.0;
    enum pb_status status;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_analyze PLUMB-ANALYZE FILE.h5 [COUNT]...\n");
        return 2;
    }
    for (int i = 3; i < argc && i - 3 < COUNTS_MAX; i++)
        counts[i - 3] = strtoull(argv[i], NULL, 10);
    if (argc > 3)
        used = argc - 3 < COUNTS_MAX ? (size_t)argc - 3 : COUNTS_MAX;
    status = open_template(argv[2], &template, &err);
    printf(" devices   seconds  s a device    peak MiB  KiB more by device\n");
    for (size_t i = 0; i < used && status == PB_OK; i++) {
        double mib = 0.0;

        status = measure(argv[1], &template, counts[i], &mib, &err);
        if (status != PB_OK)
            break;
        if (i > 0)
            printf("  %10.2f", (mib - first) * 1024.0 / ((double)counts[i] - (double)counts[0]));
        else
            first = mib;
        printf("\n");
        fflush(stdout);
    }
    if (status != PB_OK)
        fprintf(stderr, "bench_analyze: %s\n", err.message);
    free(template.tests);
    pb_reader_close(template.reader);
    return status == PB_OK ? 0 : 1;
}
