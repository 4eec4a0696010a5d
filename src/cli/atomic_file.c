/* Files that appear whole; see atomic_file.h. */
#include "cli/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/partial.h"

struct pb_atomic_file {
    FILE *file;
    const char *path;
    const char *name;          /* of path, for messages */
    struct pb_partial partial; /* no name: an unnamed file, copied to path at the end */
};

bool pb_atomic_file_is_of_kind(const struct pb_atomic_file_kind *kind, const char *head,
                               size_t length)
{
    if (kind->opening == NULL)
        return kind->is_one(head, length);
    return length >= strlen(kind->opening) &&
           memcmp(head, kind->opening, strlen(kind->opening)) == 0;
}

/* Refuses to write over what is something else: the fleet file itself, say. */
static enum pb_status check_replaceable(const char *path, const struct pb_atomic_file_kind *kind,
                                        struct pb_error *err)
{
    char head[PB_ATOMIC_FILE_HEAD];
    FILE *old = fopen(path, "rbe");
    size_t length;

    if (old == NULL && errno == ENOENT)
        return PB_OK;
    if (old == NULL)
        return pb_fail(err, PB_IO, "%s: cannot stat: %s", path, strerror(errno));
    length = fread(head, 1, sizeof(head), old);
    fclose(old);
    if (length == 0 || pb_atomic_file_is_of_kind(kind, head, length))
        return PB_OK;
    return pb_fail(err, PB_EXISTS, "%s exists and is not %s; it is not overwritten", path,
                   kind->name);
}

static enum pb_status open_beside(struct pb_atomic_file *output, struct pb_error *err)
{
    enum pb_status status = pb_partial_prepare(output->path, &output->partial, err);
    int fd;

    if (status != PB_OK)
        return status;
    fd = pb_partial_create(&output->partial, 0666);
    if (fd < 0)
        output->partial.name[0] = '\0'; /* nothing of ours */
    else
        output->file = fdopen(fd, "w");
    if (output->file != NULL)
        return PB_OK;
    status = pb_fail(err, PB_IO, "%s: cannot be written: %s", output->name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

enum pb_status pb_atomic_file_open(const char *path, const struct pb_atomic_file_kind *kind,
                                   struct pb_atomic_file **file_out, struct pb_error *err)
{
    struct pb_atomic_file *output = calloc(1, sizeof(*output));
    enum pb_status status = PB_OK;
    struct stat about;

    if (output == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating an output");
    output->path = path;
    output->name = strcmp(path, "-") == 0 ? "standard output" : path;
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode))) {
        output->file = tmpfile();
    } else {
        status = check_replaceable(path, kind, err);
        if (status == PB_OK)
            status = open_beside(output, err);
    }
    if (status == PB_OK && output->file == NULL)
        status = pb_fail(err, PB_IO, "%s: no temporary file: %s", path, strerror(errno));
    if (status != PB_OK) {
        pb_atomic_file_abandon(output);
        return status;
    }
    *file_out = output;
    return PB_OK;
}

FILE *pb_atomic_file_stream(struct pb_atomic_file *output)
{
    return output->file;
}

enum pb_status pb_atomic_file_flush(struct pb_atomic_file *output, struct pb_error *err)
{
    if (fflush(output->file) != 0 || ferror(output->file))
        return pb_fail(err, PB_IO, "%s: cannot be written: %s", output->name, strerror(errno));
    return PB_OK;
}

/* Standard output stays open; what it did not take is reported here, and not again at the end. */
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

enum pb_status pb_atomic_file_commit(struct pb_atomic_file *output, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (output == NULL)
        return PB_OK;
    status = pb_atomic_file_flush(output, err);
    if (status == PB_OK && output->partial.name[0] != '\0')
        status = pb_partial_place(&output->partial, err);
    else if (status == PB_OK && !copy_out(output->file, output->path))
        status = pb_fail(err, PB_IO, "%s: cannot be written: %s", output->name, strerror(errno));
    pb_atomic_file_abandon(output);
    return status;
}

void pb_atomic_file_abandon(struct pb_atomic_file *output)
{
    if (output == NULL)
        return;
    if (output->file != NULL)
        fclose(output->file);
    pb_partial_discard(&output->partial);
    free(output);
}
