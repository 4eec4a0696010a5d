/*
 * What a page about a large fleet costs.
 *
 *   bench_report PROGRAMS FILE.h5 [DEVICES]
 *
 * PROGRAMS is the folder of plumb-outliers and plumb-report, FILE one that plumb-analyze has been
 * over. Its devices are copied within a file until there are DEVICES (1,024), each with a UUID of
 * its own; they are judged, and the page is written, on one processor. The file and the page lie
 * in $TMPDIR, or /tmp: as much as FILE for each of its devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "many_devices.h"

enum { PATH_LENGTH = 1024 };

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    size_t devices = argc > 3 ? strtoul(argv[3], NULL, 10) : 1024;
    char outliers[PATH_LENGTH], report[PATH_LENGTH], file[PATH_LENGTH], page[PATH_LENGTH];
    const char *judging[] = {outliers, file, NULL}, *writing[] = {report, "-o", page, file, NULL};
    struct many_devices many;
    struct stat status;

    if (argc < 3 || devices == 0)
        return EXIT_FAILURE;
    snprintf(outliers, PATH_LENGTH, "%s/plumb-outliers", argv[1]);
    snprintf(report, PATH_LENGTH, "%s/plumb-report", argv[1]);
    snprintf(file, PATH_LENGTH, "%s/bench-report-%d.h5", folder, (int)getpid());
    snprintf(page, PATH_LENGTH, "%s/bench-report-%d.html", folder, (int)getpid());
    many_devices_read(argv[2], devices, &many);
    many_devices_write(&many, file);
    printf("%zu devices, %zu rows of parameters; plumb-outliers: ", devices,
           many.row_count * devices / many.stored.device_count);
    fflush(stdout);
    many_devices_time(outliers, judging);
    for (int i = 0; i < 2; i++) {
        printf("plumb-report: ");
        fflush(stdout);
        many_devices_time(report, writing);
    }
    if (stat(page, &status) == 0)
        printf("the page: %lld bytes\n", (long long)status.st_size);
    if (getenv("BENCH_KEEP") == NULL) {
        unlink(file);
        unlink(page);
    }
    many_devices_clear(&many);
    return EXIT_SUCCESS;
}
