/* Names of files while they are written; see partial.h. */
#include "core/partial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/process.h"

enum { BOOT_DIGITS = 18 }; /* of the 36: enough of a random number to be unique */

void pb_partial_where(char where_out[PB_WHERE_LENGTH])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char boot[BOOT_DIGITS + 1] = "";
    struct stat space;

    where_out[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(boot, sizeof(boot), file) != NULL && strlen(boot) == BOOT_DIGITS &&
        stat("/proc/self/ns/pid", &space) == 0)
        snprintf(where_out, PB_WHERE_LENGTH, "%s-%lx-", boot, (unsigned long)space.st_ino);
    fclose(file);
}

int pb_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (int)(slash - path + 1);
}

/* The file that path names: the path itself, or what a symbolic link leads to. */
static enum pb_status find_target(const char *path, char target_out[PATH_MAX], struct pb_error *err)
{
    struct stat about;

    if (strlen(path) >= PATH_MAX)
        return pb_fail(err, PB_INVALID, "output \"%.64s…\": the name is too long", path);
    snprintf(target_out, PATH_MAX, "%s", path);
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode) && realpath(path, target_out) == NULL)
        return pb_fail(err, PB_INVALID, "%s: is a symbolic link that leads to no file: %s", path,
                       strerror(errno));
    return PB_OK;
}

/* Does no process write a file of this PID any more? */
static bool has_ended(const char *digits)
{
    char *end;
    long pid = strtol(digits, &end, 10);

    if (digits[0] < '1' || digits[0] > '9' || *end != '\0' || pid > INT_MAX)
        return false;
    return pid == getpid() || pb_process_born(pid) < 0;
}

/* Removes what writers of `target` that have ended here left; where: pb_partial_where(). */
static void sweep(const char *target, const char *where)
{
    int folder = pb_folder_length(target);
    char start[PATH_MAX], name[PATH_MAX];
    const struct dirent *entry;
    DIR *entries;
    size_t length =
        (size_t)snprintf(start, sizeof(start), ".%s.partial-%s", target + folder, where);

    if (where[0] == '\0' || length >= sizeof(start))
        return;
    snprintf(name, sizeof(name), "%.*s", folder, target);
    entries = opendir(folder == 0 ? "." : name);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, start, length) != 0 || !has_ended(entry->d_name + length))
            continue;
        if (snprintf(name, sizeof(name), "%.*s%s", folder, target, entry->d_name) < PATH_MAX)
            unlink(name);
    }
    if (entries != NULL)
        closedir(entries);
}

enum pb_status pb_partial_prepare(const char *path, struct pb_partial *partial_out,
                                  struct pb_error *err)
{
    struct pb_partial partial = {.name = ""};
    char where[PB_WHERE_LENGTH];
    int folder, length;
    enum pb_status status = find_target(path, partial.target, err);

    if (status != PB_OK)
        return status;
    pb_partial_where(where);
    folder = pb_folder_length(partial.target);
    length = snprintf(partial.name, sizeof(partial.name), "%.*s.%s.partial-%s%ld", folder,
                      partial.target, partial.target + folder, where, (long)getpid());
    if (partial.target[folder] == '\0' || length < 0 || (size_t)length >= sizeof(partial.name))
        return pb_fail(err, PB_INVALID, "output \"%s\": expected a file name", path);
    sweep(partial.target, where);
    *partial_out = partial;
    return PB_OK;
}

int pb_partial_create(const struct pb_partial *partial, unsigned mode)
{
    return open(partial->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

enum pb_status pb_partial_try(struct pb_partial *partial, struct pb_error *err)
{
    int fd = pb_partial_create(partial, 0666);

    if (fd < 0)
        return pb_fail(err, PB_INVALID, "%s: cannot be written: %s", partial->target,
                       strerror(errno));
    close(fd);
    pb_partial_discard(partial);
    return PB_OK;
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

void pb_folder_sync(const char *path)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.*s", pb_folder_length(path), path);
    sync_name(folder[0] == '\0' ? "." : folder, O_RDONLY | O_DIRECTORY);
}

enum pb_status pb_partial_place(struct pb_partial *partial, struct pb_error *err)
{
    if (!sync_name(partial->name, O_RDONLY | O_NOFOLLOW))
        return pb_fail(err, PB_IO, "%s: cannot be written: %s", partial->target, strerror(errno));
    if (rename(partial->name, partial->target) != 0)
        return pb_fail(err, PB_IO, "%s: cannot be put in place: %s", partial->target,
                       strerror(errno));
    partial->name[0] = '\0';
    pb_folder_sync(partial->target); /* it is there anyway */
    return PB_OK;
}

void pb_partial_discard(struct pb_partial *partial)
{
    if (partial->name[0] != '\0')
        unlink(partial->name);
    partial->name[0] = '\0';
}
