/* Where the running program and its data lie; see program.h. */
#include "core/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum pb_status pb_program_folder(char folder_out[PATH_MAX], struct pb_error *err)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    if (length < 0)
        return pb_fail(err, PB_IO, "/proc/self/exe: cannot read this program's path: %s",
                       strerror(errno));
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL)
        return pb_fail(err, PB_IO, "/proc/self/exe: expected an absolute path, found \"%s\"", path);
    *slash = '\0';
    memcpy(folder_out, path, strlen(path) + 1);
    return PB_OK;
}

static size_t add_folder(const char *folder, char folders_out[PB_DATA_FOLDERS][PATH_MAX],
                         size_t count)
{
    if (folder == NULL || folder[0] == '\0' || strlen(folder) >= PATH_MAX)
        return count;
    memcpy(folders_out[count], folder, strlen(folder) + 1);
    return count + 1;
}

size_t pb_program_data_folders(const char *environment, const char *kind, const char *source,
                               char folders_out[PB_DATA_FOLDERS][PATH_MAX])
{
    struct pb_error ignored = PB_ERROR_INIT;
    char program[PATH_MAX], beside[PATH_MAX + 256];
    size_t count = add_folder(getenv(environment), folders_out, 0);

    if (pb_program_folder(program, &ignored) == PB_OK) {
        snprintf(beside, sizeof(beside), "%s/../" PLUMB_DATA_FOLDER "/plumb/%s", program, kind);
        count = add_folder(beside, folders_out, count);
    }
    return add_folder(source, folders_out, count);
}
