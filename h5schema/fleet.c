/*
 * Writing a fleet file: under a temporary name beside its own until it is whole. Tests are copied
 * from images with their chunks as they are, so neither time nor memory grows with their size.
 */
#include "h5schema/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/claim.h"
#include "core/reserve.h"
#include "h5schema/copy.h"
#include "h5schema/extend.h"
#include "h5schema/image.h"
#include "h5schema/matrix.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

/* Prepares the file's way into place, once nothing else is there. */
static enum pb_status prepare(const char *path, struct pb_partial *partial, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_run run;
    struct stat found;
    hid_t file = H5I_INVALID_HID;
    enum pb_status status = pb_partial_prepare(path, partial, err);

    if (status != PB_OK)
        return status;
    if (stat(path, &found) == 0) {
        if (!S_ISREG(found.st_mode) || pb_fleet_open_file(path, &file, &run, &cause) != PB_OK)
            return pb_fail(err, PB_EXISTS,
                           "%s: exists and is no fleet file; it will not be overwritten", path);
        H5Fclose(file);
    }
    return PB_OK;
}

enum pb_status pb_fleet_may_create(const char *path, struct pb_error *err)
{
    struct pb_partial partial;
    enum pb_status status = prepare(path, &partial, err);

    return status == PB_OK ? pb_partial_try(&partial, err) : status;
}

enum pb_status pb_fleet_create(const char *path, const struct pb_run *run,
                               struct pb_fleet **fleet_out, struct pb_error *err)
{
    struct pb_fleet *fleet;
    hid_t access, creation;
    enum pb_status status = pb_fleet_may_create(path, err);

    if (status != PB_OK)
        return status;
    fleet = calloc(1, sizeof(*fleet));
    if (fleet == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    fleet->file = H5I_INVALID_HID;
    status = pb_partial_prepare(path, &fleet->partial, err);
    if (status != PB_OK) {
        pb_fleet_abandon(fleet);
        return status;
    }
    fleet->run = *run;
    fleet->run.schema_version = PB_SCHEMA_VERSION;
    fleet->run.complete = 0;
    snprintf(fleet->path, sizeof(fleet->path), "%s", path);
    access = pb_h5_access(false);
    creation = pb_h5_creation();
    fleet->file = H5Fcreate(fleet->partial.name, H5F_ACC_EXCL, creation, access);
    if (fleet->file < 0)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be created", path);
    else
        status = pb_h5_write_attributes(fleet->file, pb_schema_find("/"), &fleet->run, err);
    H5Pclose(creation);
    H5Pclose(access);
    if (status != PB_OK) {
        pb_fleet_abandon(fleet);
        return status;
    }
    *fleet_out = fleet;
    return PB_OK;
}

void pb_fleet_abandon(struct pb_fleet *fleet)
{
    if (fleet == NULL)
        return;
    if (fleet->file >= 0)
        H5Fclose(fleet->file);
    pb_partial_discard(&fleet->partial);
    free(fleet->members);
    free(fleet);
}

void pb_fleet_guard(struct pb_fleet *fleet, const struct pb_claim *claim)
{
    fleet->claim = claim;
}

void pb_fleet_listen(struct pb_fleet *fleet, const struct pb_fleet_listener *listener)
{
    fleet->listener = *listener;
}

/* Keeps the first of the validator's lines. */
static void keep_first(void *context, const char *line)
{
    char *first = context;

    if (first[0] == '\0')
        snprintf(first, PB_ERROR_LENGTH, "%s", line);
}

enum pb_status pb_partial_validate(const struct pb_partial *partial, bool is_checked,
                                   struct pb_error *err)
{
    char first[PB_ERROR_LENGTH] = "";
    struct pb_error cause = PB_ERROR_INIT;
    size_t complaints = 0;
    enum pb_status status =
        is_checked
            ? pb_file_validate_structure(partial->name, keep_first, first, &complaints, &cause)
            : pb_file_validate(partial->name, keep_first, first, &complaints, &cause);

    if (status == PB_OK)
        return PB_OK;
    return pb_fail(err, PB_IO, "%s: what was written is not valid and was discarded: %s",
                   partial->target, first[0] == '\0' ? cause.message : first);
}

/* Writes what comes last, and closes the file. */
static enum pb_status close_whole(struct pb_fleet *fleet, struct pb_error *err)
{
    herr_t closed;
    enum pb_status status = pb_h5_write_rows(fleet->file, "fleet", pb_schema_find("/fleet"),
                                             fleet->members, fleet->member_count, err);

    if (status == PB_OK)
        status = pb_h5_write_attributes(fleet->file, pb_schema_find("/"), &fleet->run, err);
    if (status == PB_OK && H5Fflush(fleet->file, H5F_SCOPE_GLOBAL) < 0)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be written", fleet->path);
    closed = H5Fclose(fleet->file);
    fleet->file = H5I_INVALID_HID;
    if (status == PB_OK && closed < 0)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be closed", fleet->path);
    return status;
}

enum pb_status pb_fleet_commit(struct pb_fleet *fleet, bool complete, struct pb_error *err)
{
    enum pb_status status;

    fleet->run.complete = complete;
    status = close_whole(fleet, err);
    if (status == PB_OK)
        status = pb_partial_validate(&fleet->partial, fleet->is_checked, err);
    if (status == PB_OK) /* last of all: another may have become the owner meanwhile */
        status = pb_claim_check(fleet->claim, err);
    if (status == PB_OK)
        status = pb_partial_place(&fleet->partial, err);
    pb_fleet_abandon(fleet);
    return status;
}

enum pb_status pb_fleet_members(struct pb_fleet *fleet, struct pb_member **members_out,
                                size_t *count_out, struct pb_error *err)
{
    size_t size = fleet->member_count * sizeof(*fleet->members);
    struct pb_member *members = malloc(size == 0 ? 1 : size);

    if (members == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu rows", fleet->member_count);
    if (size > 0)
        memcpy(members, fleet->members, size);
    *members_out = members;
    *count_out = fleet->member_count;
    return PB_OK;
}

void pb_fleet_set_checked(struct pb_fleet *fleet, bool is_checked)
{
    fleet->is_checked = is_checked;
}

void pb_fleet_forget_members(struct pb_fleet *fleet)
{
    fleet->member_count = 0;
}

static int by_rank(const void *a, const void *b)
{
    int64_t left = ((const struct pb_member *)a)->rank, right = ((const struct pb_member *)b)->rank;

    return (left > right) - (left < right);
}

enum pb_status pb_fleet_put_member(struct pb_fleet *fleet, const struct pb_member *member,
                                   struct pb_error *err)
{
    enum pb_status status;

    for (size_t i = 0; i < fleet->member_count; i++) {
        if (fleet->members[i].rank == member->rank) {
            fleet->members[i] = *member;
            return PB_OK;
        }
    }
    status = PB_RESERVE(fleet->members, fleet->member_count, fleet->member_capacity, "rows", err);
    if (status != PB_OK)
        return status;
    fleet->members[fleet->member_count++] = *member;
    qsort(fleet->members, fleet->member_count, sizeof(*fleet->members), by_rank);
    return PB_OK;
}

enum pb_status pb_fleet_device_group(hid_t file, const char *key, hid_t *group_out,
                                     struct pb_error *err)
{
    char path[PB_KEY_LENGTH + 32];
    hid_t links, group;

    if (key[0] == '\0' || key[0] == '.' || strchr(key, '/') != NULL)
        return pb_fail(err, PB_INVALID, "device key \"%s\": expected HOST.gpuSLOT", key);
    snprintf(path, sizeof(path), "devices/%s/tests", key);
    links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    group = H5Gcreate2(file, path, links, H5P_DEFAULT, H5P_DEFAULT); /* fails if it is there */
    H5Pclose(links);
    if (group >= 0)
        H5Gclose(group);
    snprintf(path, sizeof(path), "devices/%s", key);
    group = H5Gopen2(file, path, H5P_DEFAULT);
    if (group < 0)
        return pb_h5_fail(err, PB_IO, "%s cannot be created", path);
    *group_out = group;
    return PB_OK;
}

enum pb_status pb_fleet_put_device(struct pb_fleet *fleet, const char *key,
                                   const struct pb_device_info *info, struct pb_error *err)
{
    const struct pb_object *object = pb_schema_find("/devices/<key>");
    struct pb_device_info old;
    hid_t group = H5I_INVALID_HID;
    enum pb_status status = pb_fleet_device_group(fleet->file, key, &group, err);

    if (status != PB_OK)
        return status;
    if (H5Aexists(group, "uuid") > 0 && pb_h5_read_attributes(group, object, &old, NULL) == PB_OK &&
        strcmp(old.uuid, info->uuid) != 0)
        status = pb_fail(err, PB_INVALID,
                         "key %s names two devices, %s and %s: a GPU was replaced, or nodes of two "
                         "clusters share a name; such files stay apart",
                         key, old.uuid, info->uuid);
    if (status == PB_OK)
        status = pb_h5_write_attributes(group, object, info, err);
    H5Gclose(group);
    return status;
}

/* How a test that is there ended; missing where it does not say. */
static struct pb_test_end end_of(hid_t location, const char *path)
{
    struct pb_test_end end = {.outcome = PB_TEST_MISSING};
    struct pb_test_row row = {.name = ""};
    hid_t group = H5I_INVALID_HID;

    if (pb_h5_open_group(location, path, &group, NULL) != PB_OK)
        return end;
    if (pb_h5_read_attributes(group, pb_schema_find("/devices/<key>/tests/<test>"), &row, NULL) ==
        PB_OK)
        end = (struct pb_test_end){pb_outcome_parse(row.status), row.concurrent_devices};
    H5Gclose(group);
    return end;
}

/* Copies a test to `path` and attaches its scales; on failure nothing is at `path`. */
static enum pb_status copy_to(hid_t device, const char *path, hid_t source, const char *source_path,
                              struct pb_error *err)
{
    enum pb_status status = pb_h5_copy_test(source, source_path, device, path, err);
    hid_t group;

    if (status == PB_OK) {
        group = H5Gopen2(device, path, H5P_DEFAULT);
        status = pb_h5_attach_scales(group, err);
        H5Gclose(group);
    }
    if (status != PB_OK && H5Lexists(device, path, H5P_DEFAULT) > 0)
        H5Ldelete(device, path, H5P_DEFAULT);
    return status;
}

enum pb_status pb_fleet_copy_test(hid_t device, const char *name, hid_t source,
                                  const char *source_path, bool *taken_out, struct pb_error *err)
{
    static const char incoming[] = "incoming"; /* until it is whole: the old one stays that long */
    char path[PB_NAME_LENGTH + 8];
    bool is_there;
    enum pb_status status;

    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL)
        return pb_fail(err, PB_INVALID, "test \"%s\": expected a name", name);
    snprintf(path, sizeof(path), "tests/%s", name);
    *taken_out = false;
    is_there = H5Lexists(device, path, H5P_DEFAULT) > 0;
    if (is_there && !pb_test_end_replaces(end_of(source, source_path), end_of(device, path)))
        return PB_OK;
    status = copy_to(device, is_there ? incoming : path, source, source_path, err);
    if (status == PB_OK && is_there &&
        (H5Ldelete(device, path, H5P_DEFAULT) < 0 ||
         H5Lmove(device, incoming, device, path, H5P_DEFAULT, H5P_DEFAULT) < 0))
        status = pb_h5_fail(err, PB_IO, "%s cannot be replaced", path);
    *taken_out = status == PB_OK;
    return status == PB_OK ? PB_OK : pb_error_prefix(err, "test %s cannot be copied", name);
}
