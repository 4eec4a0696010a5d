/*
 * What it costs to judge a fleet whose devices were analysed, with a baseline of as large ones.
 *
 *   bench_read_back PLUMB-OUTLIERS FILE.h5 [DEVICES [FILES]]
 *
 * FILE is one that plumb-analyze has been over. Its devices are copied within a file until there
 * are DEVICES (1,000), each with a UUID of its own; FILES (10) more such files are the baseline. A
 * device's metrics are those of the one it was copied from, a little apart from run to run and from
 * device to device. The program has one processor and leaves the files as they are. They lie in
 * $TMPDIR, or /tmp, and take as much as FILE for each device.
 */
#include <fcntl.h>
#include <hdf5.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/version.h"
#include "core/time.h"
#include "h5schema/file.h"

enum { PATH_LENGTH = 1024, FILES_MAX = 64 };

static void stop(const char *what, const struct pb_error *err)
{
    fprintf(stderr, "bench_read_back: %s: %s\n", what, err->message);
    exit(EXIT_FAILURE);
}

static const char *key_of(size_t device)
{
    static char key[PB_KEY_LENGTH];

    snprintf(key, sizeof(key), "copy%04zu.gpu%zu", device / 8, device % 8);
    return key;
}

/* ---- the files ---- */

static void add_member(struct pb_fleet *fleet, size_t device)
{
    struct pb_member member = {
        .rank = (int64_t)device, .slot = (int64_t)(device % 8), .status = "ok"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_image image;

    PB_TEXT_SET(member.key, key_of(device));
    snprintf(member.host, sizeof(member.host), "copy%04zu", device / 8);
    if (pb_image_of_member(&member, &image, &err) != PB_OK ||
        pb_fleet_add(fleet, image.bytes, image.size, &err) != PB_OK)
        stop("row of /fleet", &err);
    free(image.bytes);
}

static void set_uuid(hid_t file, const char *device, size_t number)
{
    hid_t attribute = H5Aopen_by_name(file, device, "uuid", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    char uuid[PB_TEXT_LENGTH] = "";

    snprintf(uuid, H5Tget_size(type), "GPU-%08zu-copy", number);
    H5Awrite(attribute, type, uuid);
    H5Tclose(type);
    H5Aclose(attribute);
}

/* So many devices, copied from those of `from`, which stay out. */
static void make_file(const char *path, const char *from, const struct pb_stored_metrics *stored,
                      size_t devices)
{
    struct pb_run run = {.schema_version = 1, .created = "2026-01-01T00:00:00Z", .run_id = "bench"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_fleet *fleet = NULL;
    hid_t source, file, links = H5Pcreate(H5P_LINK_CREATE);

    unlink(path);
    if (pb_fleet_create(path, &run, &fleet, &err) != PB_OK)
        stop(path, &err);
    for (size_t i = 0; i < devices; i++)
        add_member(fleet, i);
    if (pb_fleet_commit(fleet, true, &err) != PB_OK)
        stop(path, &err);
    source = H5Fopen(from, H5F_ACC_RDONLY, H5P_DEFAULT);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Pset_create_intermediate_group(links, 1);
    for (size_t i = 0; i < devices; i++) {
        char old[2 * PB_KEY_LENGTH], new[2 * PB_KEY_LENGTH];

        snprintf(old, sizeof(old), "/devices/%s", stored->devices[i % stored->device_count].device);
        snprintf(new, sizeof(new), "/devices/%s", key_of(i));
        if (H5Ocopy(source, old, file, new, H5P_DEFAULT, links) < 0)
            stop(new, &err);
        set_uuid(file, new, i);
    }
    H5Pclose(links);
    H5Fclose(source);
    H5Fclose(file);
}

static enum pb_status no_rows(void *context, struct pb_parameter_row *rows, size_t room,
                              size_t *count_out, struct pb_error *err)
{
    (void)context, (void)rows, (void)room, (void)err;
    *count_out = 0;
    return PB_OK;
}

static double random_share(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0 - 0.5;
}

/* Metrics of all devices, as if they had been inferred. */
static void analyse(const char *path, const struct pb_stored_metrics *stored, size_t devices,
                    uint64_t seed)
{
    struct pb_stored_metrics own = {calloc(devices, sizeof(*own.devices)),
                                    stored->metrics,
                                    NULL,
                                    devices,
                                    stored->metric_count,
                                    0};
    const struct pb_parameter_source source = {NULL, no_rows, NULL, &own, pb_analysis_version()};
    struct pb_error err = PB_ERROR_INIT;

    own.values = calloc(devices * stored->metric_count, sizeof(*own.values));
    if (own.devices == NULL || own.values == NULL)
        abort();
    for (size_t i = 0; i < devices; i++) {
        size_t from = i % stored->device_count;

        own.devices[i] = stored->devices[from];
        memset(own.devices[i].device, 0, sizeof(own.devices[i].device));
        PB_TEXT_SET(own.devices[i].device, key_of(i));
        own.devices[i].measured_seconds = 1.7e9 + (double)seed;
        for (size_t k = 0; k < stored->value_count; k++) {
            if (stored->values[k].device != from)
                continue;
            own.values[own.value_count] = stored->values[k];
            own.values[own.value_count].device = (uint32_t)i;
            if (strstr(stored->metrics[stored->values[k].metric].unit, "s") != NULL)
                own.values[own.value_count].value *= 1.0 + 0.002 * random_share(&seed);
            own.value_count++;
        }
    }
    if (pb_file_write_parameters_from(path, &source, &err) != PB_OK)
        stop(path, &err);
    free(own.devices);
    free(own.values);
}

static void copy_file(const char *from, const char *to)
{
    char command[2 * PATH_LENGTH + 16];

    snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
    if (system(command) != 0)
        exit(EXIT_FAILURE);
}

/* ---- the program under test ---- */

static void judge(const char *program, char paths[][PATH_LENGTH], size_t files)
{
    const char *arguments[2 * FILES_MAX + 4] = {program, "--read-only"};
    size_t count = 2;
    struct rusage usage;
    double begin = pb_time_monotonic_seconds();
    pid_t process;
    int how;

    for (size_t i = 1; i < files; i++) {
        arguments[count++] = "--baseline";
        arguments[count++] = paths[i];
    }
    arguments[count] = paths[0];
    process = fork();
    if (process == 0) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof(one), &one);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    wait4(process, &how, 0, &usage);
    printf("exit %d: %.1f s on the wall, %.1f s user, %.1f s system, peak %.1f MB\n",
           WEXITSTATUS(how), pb_time_monotonic_seconds() - begin,
           (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec,
           (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec,
           (double)usage.ru_maxrss * 1024e-6);
}

int main(int argc, char **argv)
{
    static char paths[FILES_MAX][PATH_LENGTH];
    size_t devices = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;
    size_t files = 1 + (argc > 4 ? strtoul(argv[4], NULL, 10) : 10);
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    struct pb_stored_metrics stored = {0};
    struct pb_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (argc < 3 || files > FILES_MAX || devices == 0)
        return EXIT_FAILURE;
    if (pb_reader_open(argv[2], &reader, &err) != PB_OK ||
        pb_reader_metrics(reader, pb_analysis_version(), &stored, &err) != PB_OK)
        stop(argv[2], &err);
    pb_reader_close(reader);
    for (size_t i = 0; i < files; i++) {
        snprintf(paths[i], PATH_LENGTH, "%s/bench-read-back-%d-%zu.h5", folder, (int)getpid(), i);
        if (i == 0)
            make_file(paths[0], argv[2], &stored, devices);
        else
            copy_file(paths[0], paths[i]);
        analyse(paths[i], &stored, devices, i + 1);
    }
    printf("%zu devices of %zu metrics, a baseline of %zu files: ", devices, stored.metric_count,
           files - 1);
    fflush(stdout);
    judge(argv[1], paths, files);
    for (size_t i = 0; i < files; i++)
        unlink(paths[i]);
    pb_stored_metrics_clear(&stored);
    return EXIT_SUCCESS;
}
