/*
 * What it costs to analyse a fleet: time and memory of plumb-analyze over files of one device after
 * the other, each a copy of one that was measured.
 *
 *   bench_analyze PLUMB-ANALYZE FILE.h5 [COUNT]...
 *
 * FILE holds the devices, which are taken in turn; COUNT devices are made of them, 10 and 100 where
 * none is given. HDF5 copies them within the file, every one to places of its own: what is read is
 * as much, and as scattered, as in a fleet's own file; only copying is quick, as nothing is
 * compressed again. The files lie in $TMPDIR, or /tmp, and take 4 MB a device, twice.
 *
 * Peak memory is that of the program itself and of its largest worker, looked up ten times a
 * second. It must not grow with the number of devices. Processor seconds count where others use the
 * machine too.
 *
 * Limit: equal devices make the printed table short.
 */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/time.h"
#include "h5schema/file.h"

enum { PATH_LENGTH = 1024, COUNTS_MAX = 8, WORKERS_MAX = 256, POLLS_A_SECOND = 10 };

static void show(const char *what, size_t done, size_t count)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s %zu of %zu%s", what, done, count, done == count ? "\n" : "");
}

/* ---- the file ---- */

/* A fleet file with the devices that were measured. */
static enum pb_status start_file(const char *path, const char *from, struct pb_key **keys_out,
                                 size_t *count_out, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    struct pb_fleet *fleet = NULL;
    struct pb_run run;
    enum pb_status status = pb_reader_open(from, &reader, err);

    if (status == PB_OK)
        status = pb_reader_run(reader, &run, err);
    if (status == PB_OK)
        status = pb_reader_devices(reader, keys_out, count_out, err);
    pb_reader_close(reader);
    if (status == PB_OK && *count_out == 0)
        status = pb_fail(err, PB_NOT_FOUND, "%s holds no device", from);
    if (status == PB_OK)
        status = pb_fleet_create(path, &run, &fleet, err);
    if (status == PB_OK)
        status = pb_fleet_add_file(fleet, from, err);
    if (status == PB_OK)
        return pb_fleet_commit(fleet, true, err);
    pb_fleet_abandon(fleet);
    return status;
}

static enum pb_status copy_device(hid_t file, const char *key, size_t number, struct pb_error *err)
{
    char from[2 * PB_KEY_LENGTH], to[PB_KEY_LENGTH];

    snprintf(from, sizeof(from), "/devices/%s", key);
    snprintf(to, sizeof(to), "/devices/copy%zu.gpu%zu", number / 8, number % 8);
    if (H5Ocopy(file, from, file, to, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return pb_fail(err, PB_IO, "%s cannot be copied", from);
    return PB_OK;
}

/* COUNT devices in all: those that are there, less what is too many, and copies of them. */
static enum pb_status fill_file(const char *path, const struct pb_key *keys, size_t key_count,
                                size_t count, struct pb_error *err)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    enum pb_status status = PB_OK;

    if (file < 0)
        return pb_fail(err, PB_IO, "%s cannot be opened", path);
    for (size_t i = count; i < key_count; i++) {
        char name[2 * PB_KEY_LENGTH];

        snprintf(name, sizeof(name), "/devices/%s", keys[i].text);
        H5Ldelete(file, name, H5P_DEFAULT);
    }
    for (size_t i = key_count; i < count && status == PB_OK; i++) {
        status = copy_device(file, keys[i % key_count].text, i, err);
        show("copying device", i + 1, count);
    }
    if (H5Fclose(file) < 0 && status == PB_OK)
        status = pb_fail(err, PB_IO, "%s cannot be written", path);
    return status;
}

static enum pb_status make_file(const char *path, const char *from, size_t count,
                                struct pb_error *err)
{
    struct pb_key *keys = NULL;
    size_t key_count = 0;
    enum pb_status status = start_file(path, from, &keys, &key_count, err);

    if (status == PB_OK)
        status = fill_file(path, keys, key_count, count, err);
    free(keys);
    return status;
}

/* ---- the program under test ---- */

/* What a run took. */
struct cost {
    double seconds, user_seconds, system_seconds;
    double own_mib, worker_mib; /* peaks: of the program, of its largest worker */
};

/* VmHWM of a process in MiB; 0: it is gone. */
static double peak_of(long process)
{
    char path[64], line[128];
    double kib = 0.0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/status", process);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (file != NULL)
        fclose(file);
    return kib / 1024.0;
}

static void look(long process, struct cost *cost)
{
    char path[64], children[16 * WORKERS_MAX] = "", *at = children, *next;
    double peak = peak_of(process);
    FILE *file;

    cost->own_mib = peak > cost->own_mib ? peak : cost->own_mib;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", process, process);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(children, sizeof(children), file) == NULL)
        children[0] = '\0';
    fclose(file);
    for (long child; (child = strtol(at, &next, 10)) > 0 && next != at; at = next) {
        peak = peak_of(child);
        cost->worker_mib = peak > cost->worker_mib ? peak : cost->worker_mib;
    }
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Starts plumb-analyze, its table thrown away; -1: not possible. It is the program itself when this
 * returns: before, its memory was this one's. */
static pid_t start(const char *program, const char *path)
{
    int ends[2];
    char nothing;
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;

    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) != NULL)
            execl(program, program, path, (char *)NULL);
        _exit(127);
    }
    if (child < 0)
        return -1;
    close(ends[1]);
    while (read(ends[0], &nothing, 1) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    return child;
}

/* Returns the program's exit code; -1: none. */
static int analyse(const char *program, const char *path, struct cost *cost_out)
{
    struct cost cost = {.seconds = 0.0};
    double begin = pb_time_monotonic_seconds();
    struct rusage usage;
    int how = 0;
    pid_t child = start(program, path), done = 0;

    while (child > 0 && (done = wait4(child, &how, WNOHANG, &usage)) == 0) {
        look(child, &cost);
        usleep(1000000 / POLLS_A_SECOND);
    }
    if (child < 0 || done != child)
        return -1;
    cost.seconds = pb_time_monotonic_seconds() - begin;
    cost.user_seconds = seconds_of(usage.ru_utime);
    cost.system_seconds = seconds_of(usage.ru_stime);
    *cost_out = cost;
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static enum pb_status measure(const char *program, const char *from, size_t count,
                              struct pb_error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_LENGTH];
    struct cost cost = {.seconds = 0.0};
    enum pb_status status;
    int code = 0;

    snprintf(path, sizeof(path), "%s/bench_analyze.%d.h5", folder != NULL ? folder : "/tmp",
             (int)getpid());
    status = make_file(path, from, count, err);
    if (status == PB_OK)
        code = analyse(program, path, &cost);
    remove(path);
    if (status == PB_OK && code != 0)
        status = pb_fail(err, PB_IO, "%s ended with %d", program, code);
    if (status != PB_OK)
        return status;
    printf("%8zu  %7.1f  %7.1f  %8.1f  %11.3f  %8.1f  %10.1f\n", count, cost.seconds,
           cost.user_seconds, cost.system_seconds,
           (cost.user_seconds + cost.system_seconds) / (double)count, cost.own_mib,
           cost.worker_mib);
    fflush(stdout);
    return PB_OK;
}

int main(int argc, char **argv)
{
    size_t counts[COUNTS_MAX] = {10, 100}, used = 2;
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = PB_OK;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_analyze PLUMB-ANALYZE FILE.h5 [COUNT]...\n");
        return 2;
    }
    for (int i = 3; i < argc && i - 3 < COUNTS_MAX; i++)
        counts[i - 3] = strtoull(argv[i], NULL, 10);
    if (argc > 3)
        used = argc - 3 < COUNTS_MAX ? (size_t)argc - 3 : COUNTS_MAX;
    printf(" devices  seconds  user, s  system, s  s a device  own MiB  worker MiB\n");
    fflush(stdout);
    for (size_t i = 0; i < used && status == PB_OK; i++)
        status = measure(argv[1], argv[2], counts[i], &err);
    if (status != PB_OK)
        fprintf(stderr, "bench_analyze: %s\n", err.message);
    return status == PB_OK ? 0 : 1;
}
