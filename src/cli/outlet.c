/* Files that appear whole; see outlet.h. */
#include "cli/outlet.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/partial.h"

struct pb_outlet {
    FILE *file;
    const char *path;
    const char *name;          /* of path, for messages */
    struct pb_partial partial; /* no name: an unnamed file, copied to path at the end */
};

bool pb_outlet_is_of_kind(const struct pb_outlet_kind *kind, const char *head, size_t length)
{
    if (kind->opening == NULL)
        return kind->is_one(head, length);
    return length >= strlen(kind->opening) &&
           memcmp(head, kind->opening, strlen(kind->opening)) == 0;
}

/* Refuses to write over what is something else: the fleet file itself, say. */
static enum pb_status check_replaceable(const char *path, const struct pb_outlet_kind *kind,
                                        struct pb_error *err)
{
    char head[PB_OUTLET_HEAD];
    FILE *old = fopen(path, "rbe");
    size_t length;

    if (old == NULL && errno == ENOENT)
        return PB_OK;
    if (old == NULL)
        return pb_fail(err, PB_IO, "%s: cannot stat: %s", path, strerror(errno));
    length = fread(head, 1, sizeof(head), old);
    fclose(old);
    if (length == 0 || pb_outlet_is_of_kind(kind, head, length))
        return PB_OK;
    return pb_fail(err, PB_EXISTS, "%s exists and is not %s; it is not overwritten", path,
                   kind->name);
}

static enum pb_status open_beside(struct pb_outlet *outlet, struct pb_error *err)
{
    enum pb_status status = pb_partial_prepare(outlet->path, &outlet->partial, err);
    int fd;

    if (status != PB_OK)
        return status;
    fd = pb_partial_create(&outlet->partial, 0666);
    if (fd < 0)
        outlet->partial.name[0] = '\0'; /* nothing of ours */
    else
        outlet->file = fdopen(fd, "w");
    if (outlet->file != NULL)
        return PB_OK;
    status = pb_fail(err, PB_IO, "%s: cannot be written: %s", outlet->name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

enum pb_status pb_outlet_open(const char *path, const struct pb_outlet_kind *kind,
                              struct pb_outlet **outlet_out, struct pb_error *err)
{
    struct pb_outlet *outlet = calloc(1, sizeof(*outlet));
    enum pb_status status = PB_OK;
    struct stat about;

    if (outlet == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating an output");
    outlet->path = path;
    outlet->name = strcmp(path, "-") == 0 ? "standard output" : path;
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode))) {
        outlet->file = tmpfile();
    } else {
        status = check_replaceable(path, kind, err);
        if (status == PB_OK)
            status = open_beside(outlet, err);
    }
    if (status == PB_OK && outlet->file == NULL)
        status = pb_fail(err, PB_IO, "%s: no temporary file: %s", path, strerror(errno));
    if (status != PB_OK) {
        pb_outlet_abandon(outlet);
        return status;
    }
    *outlet_out = outlet;
    return PB_OK;
}

FILE *pb_outlet_file(struct pb_outlet *outlet)
{
    return outlet->file;
}

enum pb_status pb_outlet_flush(struct pb_outlet *outlet, struct pb_error *err)
{
    if (fflush(outlet->file) != 0 || ferror(outlet->file))
        return pb_fail(err, PB_IO, "%s: cannot be written: %s", outlet->name, strerror(errno));
    return PB_OK;
}

/* Standard output stays open; what it did not take is told here, and not again at the end. */
static bool finish_copy(FILE *to)
{
    bool good;

    if (to != stdout)
        return fclose(to) == 0;
    good = fflush(to) == 0 && !ferror(to);
    clearerr(to);
    return good;
}

/* Copies the finished text to where it belongs. */
static bool copy_out(FILE *from, const char *path)
{
    FILE *to = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    char block[4096];
    size_t length;
    bool good = to != NULL;

    rewind(from);
    while (good && (length = fread(block, 1, sizeof(block), from)) > 0)
        good = fwrite(block, 1, length, to) == length;
    good = good && !ferror(from);
    return to != NULL && finish_copy(to) && good;
}

enum pb_status pb_outlet_commit(struct pb_outlet *outlet, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (outlet == NULL)
        return PB_OK;
    status = pb_outlet_flush(outlet, err);
    if (status == PB_OK && outlet->partial.name[0] != '\0')
        status = pb_partial_place(&outlet->partial, err);
    else if (status == PB_OK && !copy_out(outlet->file, outlet->path))
        status = pb_fail(err, PB_IO, "%s: cannot be written: %s", outlet->name, strerror(errno));
    pb_outlet_abandon(outlet);
    return status;
}

void pb_outlet_abandon(struct pb_outlet *outlet)
{
    if (outlet == NULL)
        return;
    if (outlet->file != NULL)
        fclose(outlet->file);
    pb_partial_discard(&outlet->partial);
    free(outlet);
}
