/* Finding a profile by name or by file; see pb_sim_profile_load(). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/program.h"
#include "core/suggest.h"
#include "device/sim/profile.h"

enum { FILE_LENGTH = PATH_MAX + 256 };

static const char default_profile[] = "h200";

static enum pb_status load_file(const char *file, struct pb_sim_profile **profile_out,
                                struct pb_error *err)
{
    struct pb_json root;
    enum pb_status status;

    if (access(file, R_OK) != 0)
        return pb_fail(err, PB_NOT_FOUND, "profile %s: no such file, or not readable", file);
    status = pb_json_load(file, &root, err);
    if (status != PB_OK)
        return status;
    status = pb_sim_profile_read(&root, profile_out, err);
    json_decref(root.value);
    return status;
}

static bool is_file_name(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

/* "; did you mean gtx780?", or nothing. */
static void suggest(const char *name, char folders[][PATH_MAX], size_t count, char *text,
                    size_t size)
{
    struct pb_suggestion suggestion = {.word = name};
    char candidate[NAME_MAX + 1];

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        DIR *folder = opendir(folders[i]);
        const struct dirent *entry;

        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            size_t length = strlen(entry->d_name);

            if (!is_file_name(entry->d_name))
                continue;
            snprintf(candidate, sizeof(candidate), "%.*s", (int)length - 5, entry->d_name);
            pb_suggest(&suggestion, candidate);
            if (suggestion.best == candidate) {
                snprintf(text, size, "; did you mean %s?", candidate);
                suggestion.best = text; /* the name is overwritten by the next one */
            }
        }
        if (folder != NULL)
            closedir(folder);
    }
}

enum pb_status pb_sim_profile_load(const char *name, struct pb_sim_profile **profile_out,
                                   struct pb_error *err)
{
    char folders[PB_DATA_FOLDERS][PATH_MAX], file[FILE_LENGTH], looked[FILE_LENGTH] = "";
    char meant[NAME_MAX + 32];
    size_t length = 0, count;

    if (name == NULL)
        name = default_profile;
    if (is_file_name(name))
        return load_file(name, profile_out, err);
    count =
        pb_program_data_folders("PLUMB_PROFILE_DIR", "profiles", PLUMB_PROFILE_SOURCE_DIR, folders);
    for (size_t i = 0; i < count; i++) {
        snprintf(file, sizeof(file), "%s/%s.json", folders[i], name);
        if (access(file, R_OK) == 0)
            return load_file(file, profile_out, err);
        if (length < sizeof(looked))
            length += (size_t)snprintf(looked + length, sizeof(looked) - length, "%s%s",
                                       length == 0 ? "" : ", ", folders[i]);
    }
    suggest(name, folders, count, meant, sizeof(meant));
    return pb_fail(err, PB_NOT_FOUND, "profile \"%s\": expected %s.json in one of %s%s", name, name,
                   looked, meant);
}
