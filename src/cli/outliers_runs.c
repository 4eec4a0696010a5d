/* The files of earlier runs that --baseline names; see outliers.h. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/outliers.h"

static enum pb_status add_path(struct pb_earlier_runs *runs, const char *folder, const char *name,
                               struct pb_error *err)
{
    char **paths = realloc(runs->paths, (runs->count + 1) * sizeof(*paths));

    if (paths != NULL)
        runs->paths = paths;
    if (paths == NULL ||
        asprintf(&paths[runs->count], "%s%s%s", folder, folder[0] == '\0' ? "" : "/", name) < 0)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu baselines",
                       runs->count + 1);
    runs->count++;
    return PB_OK;
}

static int is_fleet_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return entry->d_name[0] != '.' && length > 3 && strcmp(entry->d_name + length - 3, ".h5") == 0;
}

static enum pb_status add_folder(struct pb_earlier_runs *runs, const char *folder,
                                 struct pb_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_fleet_file, alphasort);
    enum pb_status status = PB_OK;

    if (count < 0)
        return pb_fail(err, PB_IO, "%s: cannot be read: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == PB_OK)
            status = add_path(runs, folder, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    if (count == 0)
        return pb_fail(err, PB_INVALID, "%s: expected fleet files (*.h5), found none", folder);
    return status;
}

enum pb_status pb_earlier_runs_add(struct pb_earlier_runs *runs, const char *path,
                                   struct pb_error *err)
{
    struct stat about;

    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return add_folder(runs, path, err);
    return add_path(runs, "", path, err);
}

void pb_earlier_runs_clear(struct pb_earlier_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        free(runs->paths[i]);
    free(runs->paths);
    *runs = (struct pb_earlier_runs){0};
}
