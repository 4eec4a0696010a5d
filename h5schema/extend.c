/* A finished fleet file extended by way of a copy; see extend.h. */
#include "h5schema/extend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/claim.h"
#include "core/partial.h"
#include "h5schema/fleet.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

static enum pb_status copy_bytes(int from, int to, const char *path, struct pb_error *err)
{
    char buffer[1 << 16];
    ssize_t got;

    while ((got = read(from, buffer, sizeof(buffer))) > 0) {
        for (ssize_t done = 0, put; done < got; done += put) {
            put = write(to, buffer + done, (size_t)(got - done));
            if (put < 0)
                return pb_fail(err, PB_IO, "%s: cannot be copied: %s", path, strerror(errno));
        }
    }
    if (got < 0)
        return pb_fail(err, PB_IO, "%s: cannot be read: %s", path, strerror(errno));
    return PB_OK;
}

/* Copies the file into its partial; found_out: the file as it was copied. */
static enum pb_status copy_file(const char *path, const struct pb_partial *partial,
                                struct stat *found_out, struct pb_error *err)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = -1;
    enum pb_status status;

    if (from < 0 || fstat(from, found_out) != 0)
        status = pb_fail(err, PB_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if ((to = pb_partial_create(partial, found_out->st_mode & 0777)) < 0)
        status = pb_fail(err, PB_IO, "%s: cannot be extended: %s", path, strerror(errno));
    else
        status = copy_bytes(from, to, path, err);
    if (to >= 0 && close(to) != 0 && status == PB_OK)
        status = pb_fail(err, PB_IO, "%s: cannot be copied: %s", path, strerror(errno));
    if (from >= 0)
        close(from);
    return status;
}

/* Refuses to put an extended copy over a file that has changed since it was copied. */
static enum pb_status check_unchanged(const char *path, const struct stat *then,
                                      struct pb_error *err)
{
    struct stat now;

    if (stat(path, &now) == 0 && now.st_ino == then->st_ino && now.st_dev == then->st_dev &&
        now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == then->st_mtim.tv_nsec)
        return PB_OK;
    return pb_fail(err, PB_EXISTS, "%s: was changed by another program meanwhile; try again", path);
}

/* What is written into the copy, in two steps; see pb_file_extend(). */
struct extension {
    enum pb_status (*extend)(hid_t analysis, void *context, struct pb_error *err);
    enum pb_status (*finish)(hid_t analysis, const char *copy, void *context, struct pb_error *err);
    void *context;
};

/* path: what people know the copy by. */
static enum pb_status extend_copy(const char *path, const char *copy,
                                  const struct extension *extension, bool is_finish,
                                  struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID, group = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_file(copy, true, &file, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_open_group(file, "/analysis", &group, err);
    if (status == PB_NOT_FOUND) {
        group = H5Gcreate2(file, "analysis", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        status = group >= 0 ? PB_OK : pb_h5_fail(err, PB_IO, "/analysis cannot be created");
    }
    if (status == PB_OK) {
        status = is_finish ? extension->finish(group, copy, extension->context, err)
                           : extension->extend(group, extension->context, err);
        H5Gclose(group);
    }
    if (status != PB_OK)
        pb_error_prefix(err, "%s", path);
    if (H5Fclose(file) < 0 && status == PB_OK)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be written", path);
    return status;
}

/* The copy, extended and valid, takes the file's place. */
static enum pb_status replace(const char *path, const struct pb_claim *claim,
                              const struct extension *extension, struct pb_error *err)
{
    struct pb_partial partial;
    struct stat found;
    enum pb_status status = pb_partial_prepare(path, &partial, err);

    if (status != PB_OK)
        return status;
    status = copy_file(path, &partial, &found, err);
    if (status == PB_OK)
        status = extend_copy(path, partial.name, extension, false, err);
    if (status == PB_OK && extension->finish != NULL)
        status = extend_copy(path, partial.name, extension, true, err);
    if (status == PB_OK)
        status = pb_partial_validate(&partial, true, err); /* tests were copied byte by byte */
    if (status == PB_OK)
        status = pb_claim_check(claim, err);
    if (status == PB_OK)
        status = check_unchanged(path, &found, err);
    if (status == PB_OK)
        status = pb_partial_place(&partial, err);
    pb_partial_discard(&partial);
    return status;
}

enum pb_status pb_file_extend(const char *path,
                              enum pb_status (*extend)(hid_t, void *, struct pb_error *),
                              enum pb_status (*finish)(hid_t, const char *, void *,
                                                       struct pb_error *),
                              void *context, struct pb_error *err)
{
    const struct extension extension = {extend, finish, context};
    struct pb_claim *claim = NULL;
    struct pb_run run;
    hid_t file;
    enum pb_status status = pb_fleet_open_file(path, &file, &run, err);

    if (status != PB_OK)
        return status;
    H5Fclose(file);
    status = pb_claim_take(path, "an analysis", &claim, err);
    if (status == PB_OK)
        status = replace(path, claim, &extension, err);
    pb_claim_release(claim);
    return status;
}
