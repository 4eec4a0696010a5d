/* Names of files while they are written; see partial.h. */
#include "core/partial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BOOT_DIGITS = 18, /* of the 36: enough of a random number to be nobody else's */
    WHERE_SIZE = 64
};

/* "BOOT-SPACE-": the processes among which a PID names one. Empty: this kernel does not tell. */
static void tell_where(char where_out[WHERE_SIZE])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char boot[BOOT_DIGITS + 1] = "";
    struct stat space;

    where_out[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(boot, sizeof(boot), file) != NULL && strlen(boot) == BOOT_DIGITS &&
        stat("/proc/self/ns/pid", &space) == 0)
        snprintf(where_out, WHERE_SIZE, "%s-%lx-", boot, (unsigned long)space.st_ino);
    fclose(file);
}

/* How much of path is its folder, with the slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (int)(slash - path + 1);
}

enum pb_status pb_partial_name(const char *path, char *name_out, size_t size, struct pb_error *err)
{
    int folder = folder_length(path), length;
    char where[WHERE_SIZE];

    tell_where(where);
    length = snprintf(name_out, size, "%.*s.%s.partial-%s%ld", folder, path, path + folder, where,
                      (long)getpid());
    if (path[folder] == '\0' || length < 0 || (size_t)length >= size)
        return pb_fail(err, PB_INVALID, "output \"%s\": expected a file name", path);
    return PB_OK;
}

/* Does nobody write a file of this PID any more? */
static bool has_ended(const char *digits)
{
    char *end;
    long pid = strtol(digits, &end, 10);

    if (digits[0] < '1' || digits[0] > '9' || *end != '\0' || pid > INT_MAX)
        return false;
    return pid == getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

void pb_partial_sweep(const char *path)
{
    int folder = folder_length(path);
    char where[WHERE_SIZE], start[PATH_MAX], name[PATH_MAX];
    const struct dirent *entry;
    DIR *entries;
    size_t length;

    tell_where(where);
    length = (size_t)snprintf(start, sizeof(start), ".%s.partial-%s", path + folder, where);
    if (where[0] == '\0' || length >= sizeof(start))
        return;
    snprintf(name, sizeof(name), "%.*s", folder, path);
    entries = opendir(folder == 0 ? "." : name);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, start, length) != 0 || !has_ended(entry->d_name + length))
            continue;
        if (snprintf(name, sizeof(name), "%.*s%s", folder, path, entry->d_name) < PATH_MAX)
            unlink(name);
    }
    if (entries != NULL)
        closedir(entries);
}

/* Some file systems have nothing to write back, and say so. */
static bool sync_descriptor(int descriptor)
{
    return descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS);
}

static bool sync_name(const char *name, int flags)
{
    int descriptor = open(name, flags | O_CLOEXEC);
    bool good = sync_descriptor(descriptor);
    int cause = errno;

    if (descriptor >= 0)
        close(descriptor);
    errno = cause;
    return good;
}

enum pb_status pb_partial_place(const char *name, const char *path, struct pb_error *err)
{
    char folder[PATH_MAX];

    if (!sync_name(name, O_RDONLY))
        return pb_fail(err, PB_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (rename(name, path) != 0)
        return pb_fail(err, PB_IO, "%s: cannot be put in place: %s", path, strerror(errno));
    snprintf(folder, sizeof(folder), "%.*s", folder_length(path), path);
    sync_name(folder[0] == '\0' ? "." : folder, O_RDONLY | O_DIRECTORY); /* it is there anyway */
    return PB_OK;
}
