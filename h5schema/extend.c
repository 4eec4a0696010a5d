/* A finished fleet file extended by way of a copy; see extend.h. */
#include "h5schema/extend.h"
#include "core/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static enum pb_status copy_file(const char *path, const char *copy, struct pb_error *err)
{
    struct stat found = {.st_mode = 0644};
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = -1;
    enum pb_status status;

    if (from < 0 || fstat(from, &found) != 0)
        status = pb_fail(err, PB_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if ((to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, found.st_mode & 0777)) < 0)
        status = pb_fail(err, PB_IO, "%s: cannot be extended: %s", path, strerror(errno));
    else
        status = copy_bytes(from, to, path, err);
    if (to >= 0 && close(to) != 0 && status == PB_OK)
        status = pb_fail(err, PB_IO, "%s: cannot be copied: %s", path, strerror(errno));
    if (from >= 0)
        close(from);
    return status;
}

/* path: what people know the copy by. */
static enum pb_status extend_copy(const char *path, const char *copy,
                                  enum pb_status (*extend)(hid_t, void *, struct pb_error *),
                                  void *context, struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID, group = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_file(copy, true, &file, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_open_group(file, "/analysis", &group, err);
    if (status == PB_NOT_FOUND) {
        group = H5Gcreate2(file, "analysis", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        status = group >= 0 ? PB_OK : pb_h5_fail(err, PB_IO, "/analysis cannot be made");
    }
    if (status == PB_OK) {
        status = extend(group, context, err);
        H5Gclose(group);
    }
    if (status != PB_OK)
        pb_error_prefix(err, "%s", path);
    if (H5Fclose(file) < 0 && status == PB_OK)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be written", path);
    return status;
}

enum pb_status pb_file_extend(const char *path,
                              enum pb_status (*extend)(hid_t, void *, struct pb_error *),
                              void *context, struct pb_error *err)
{
    char copy[PATH_MAX];
    struct pb_run run;
    hid_t file;
    enum pb_status status = pb_fleet_open_file(path, &file, &run, err);

    if (status != PB_OK)
        return status;
    H5Fclose(file);
    status = pb_partial_name(path, copy, sizeof(copy), err);
    if (status != PB_OK)
        return status;
    pb_partial_sweep(path);
    status = copy_file(path, copy, err);
    if (status == PB_OK)
        status = extend_copy(path, copy, extend, context, err);
    if (status == PB_OK)
        status = pb_partial_place(copy, path, err);
    if (status != PB_OK)
        unlink(copy);
    return status;
}
