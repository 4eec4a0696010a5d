/* Finding a profile by name or by file; see pb_sim_profile_load(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/program.h"
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

enum pb_status pb_sim_profile_load(const char *name, struct pb_sim_profile **profile_out,
                                   struct pb_error *err)
{
    char folders[PB_DATA_FOLDERS][PATH_MAX], file[FILE_LENGTH], looked[FILE_LENGTH] = "";
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
    return pb_fail(err, PB_NOT_FOUND, "profile \"%s\": expected %s.json in one of %s", name, name,
                   looked);
}
