/*
 * What it costs to judge a fleet whose devices were analysed, with a baseline of as large ones.
 *
 *   bench_read_back PLUMB-OUTLIERS FILE.h5 [DEVICES [FILES [METRICS.h5]]]
 *
 * FILE is one that plumb-analyze has been over. Its devices are copied within a file until there
 * are DEVICES (1,000), each with a UUID of its own; FILES (10) more such files are the baseline. A
 * device's metrics are those of the one it was copied from, a little apart from run to run and from
 * device to device. The program has one processor and leaves the files as they are. They lie in
 * $TMPDIR, or /tmp, and take as much as FILE for each device. METRICS lends parameters and metrics
 * of a longer battery to recordings that take less room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "many_devices.h"

enum { PATH_LENGTH = 1024, FILES_MAX = 64 };

static void copy_file(const char *from, const char *to)
{
    char command[2 * PATH_LENGTH + 16];

    snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
    if (system(command) != 0)
        exit(EXIT_FAILURE);
}

static void judge(const char *program, char paths[][PATH_LENGTH], size_t files)
{
    const char *arguments[2 * FILES_MAX + 4] = {program, "--read-only"};
    size_t count = 2;

    for (size_t i = 1; i < files; i++) {
        arguments[count++] = "--baseline";
        arguments[count++] = paths[i];
    }
    arguments[count] = paths[0];
    many_devices_time(program, arguments);
}

int main(int argc, char **argv)
{
    static char paths[FILES_MAX][PATH_LENGTH];
    size_t devices = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;
    size_t files = 1 + (argc > 4 ? strtoul(argv[4], NULL, 10) : 10);
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    struct many_devices many;

    if (argc < 3 || files > FILES_MAX || devices == 0)
        return EXIT_FAILURE;
    many_devices_read(argv[2], devices, &many);
    if (argc > 5)
        many_devices_take_metrics(&many, argv[5]);
    for (size_t i = 0; i < files; i++) {
        snprintf(paths[i], PATH_LENGTH, "%s/bench-read-back-%d-%zu.h5", folder, (int)getpid(), i);
        if (i == 0) {
            many_devices_write(&many, paths[0]);
        } else {
            copy_file(paths[0], paths[i]);
            many_devices_write_again(&many, paths[i], i + 1);
        }
    }
    printf("%zu devices of %zu metrics, a baseline of %zu files: ", devices,
           many.stored.metric_count, files - 1);
    fflush(stdout);
    judge(argv[1], paths, files);
    for (size_t i = 0; i < files; i++)
        unlink(paths[i]);
    many_devices_clear(&many);
    return EXIT_SUCCESS;
}
