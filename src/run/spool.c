/* The spool of one rank; see spool.h. */
#include "run/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/record.h"

static const char spool_suffix[] = ".spool";

struct pb_spool {
    int fd;
    uint64_t end_bytes; /* of the last whole frame */
    char path[];
};

enum pb_status pb_spool_path(const char *dir, int64_t rank, char *path_out, size_t size,
                             struct pb_error *err)
{
    int length = snprintf(path_out, size, "%s/rank-%05lld%s", dir, (long long)rank, spool_suffix);

    if (length < 0 || (size_t)length >= size)
        return pb_fail(err, PB_INVALID, "%s: the name is too long", dir);
    return PB_OK;
}

static enum pb_status keep_frame(void *context, const struct pb_frame *frame, const void *bytes,
                                 size_t size, struct pb_error *err)
{
    (void)context, (void)frame, (void)bytes, (void)size, (void)err;
    return PB_OK;
}

/* Cuts a torn end off, so that the next frame follows a whole one. */
static enum pb_status trim(struct pb_spool *spool, struct pb_error *err)
{
    const struct pb_spool_visitor visitor = {keep_frame, NULL};
    struct pb_spool_end end = {.frame_count = 0};
    enum pb_status status = pb_spool_read(spool->path, &visitor, &end, err);

    if (status != PB_OK && end.file_bytes > 0)
        return status; /* not ours: leave it alone */
    if (ftruncate(spool->fd, (off_t)end.end_bytes) != 0)
        return pb_fail(err, PB_IO, "%s: cannot be cut: %s", spool->path, strerror(errno));
    spool->end_bytes = end.end_bytes;
    return PB_OK;
}

enum pb_status pb_spool_open(const char *dir, int64_t rank, bool append,
                             struct pb_spool **spool_out, struct pb_error *err)
{
    size_t size = strlen(dir) + 40;
    struct pb_spool *spool;
    enum pb_status status = PB_OK;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return pb_fail(err, PB_INVALID, "%s: cannot be made: %s", dir, strerror(errno));
    spool = calloc(1, sizeof(*spool) + size);
    if (spool == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: no memory", dir);
    pb_spool_path(dir, rank, spool->path, size, NULL);
    spool->fd =
        open(spool->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_EXCL), 0666);
    if (spool->fd < 0)
        status = pb_fail(err, errno == EEXIST ? PB_EXISTS : PB_INVALID, "%s: cannot be made: %s",
                         spool->path, strerror(errno));
    else if (append)
        status = trim(spool, err);
    if (status != PB_OK) {
        pb_spool_close(spool);
        return status;
    }
    *spool_out = spool;
    return PB_OK;
}

enum pb_status pb_spool_append(struct pb_spool *spool, const void *bytes, size_t size, bool sync,
                               struct pb_error *err)
{
    enum pb_status status = pb_write_all(spool->fd, bytes, size, err);

    if (status == PB_OK && sync && fdatasync(spool->fd) != 0)
        status = pb_fail(err, PB_IO, "cannot be put on the disk: %s", strerror(errno));
    if (status != PB_OK) {
        if (ftruncate(spool->fd, (off_t)spool->end_bytes) != 0)
            return pb_error_prefix(err, "%s: its end is torn", spool->path);
        return pb_error_prefix(err, "%s", spool->path);
    }
    spool->end_bytes += size;
    return PB_OK;
}

void pb_spool_close(struct pb_spool *spool)
{
    if (spool == NULL)
        return;
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool);
}

/* A frame that was read to its end, though its content is damaged: what follows may be sound. */
static bool is_skippable(const struct pb_frame_reader *reader)
{
    return reader->filled == reader->wanted && reader->wanted > PB_FRAME_HEADER_SIZE;
}

static enum pb_status visit_frames(int fd, const struct pb_spool_visitor *visitor,
                                   struct pb_spool_end *end, struct pb_error *err)
{
    struct pb_frame_reader reader = {NULL, 0, 0, 0};
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status = PB_OK;

    while (status == PB_OK) {
        enum pb_frame_read result = PB_READ_END;
        struct pb_frame frame;

        status = pb_frame_read(&reader, fd, &frame, &result, &cause);
        if (status == PB_CORRUPT && is_skippable(&reader)) {
            end->damaged_count++;
            status = PB_OK;
            continue;
        }
        if (status == PB_CORRUPT) {
            PB_TEXT_SET(end->reason, cause.message);
            status = PB_OK;
            break;
        }
        if (status != PB_OK) {
            pb_fail(err, status, "%s", cause.message);
            break;
        }
        if (result == PB_READ_END)
            break;
        status = visitor->visit(visitor->context, &frame, reader.bytes, reader.filled, err);
        end->frame_count++;
        end->end_bytes = (uint64_t)lseek(fd, 0, SEEK_CUR);
    }
    pb_frame_reader_clear(&reader);
    return status;
}

enum pb_status pb_spool_read(const char *path, const struct pb_spool_visitor *visitor,
                             struct pb_spool_end *end_out, struct pb_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat found;
    enum pb_status status;

    memset(end_out, 0, sizeof(*end_out));
    if (fd < 0 || fstat(fd, &found) != 0) {
        status = pb_fail(err, PB_IO, "%s: cannot be read: %s", path, strerror(errno));
    } else {
        end_out->file_bytes = (uint64_t)found.st_size;
        status = visit_frames(fd, visitor, end_out, err);
    }
    if (fd >= 0)
        close(fd);
    if (status == PB_OK && end_out->frame_count == 0)
        return pb_fail(err, PB_INVALID, "%s: expected a spool, found no whole frame in %llu bytes",
                       path, (unsigned long long)end_out->file_bytes);
    return status;
}

static int is_spool(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), suffix = sizeof(spool_suffix) - 1;

    return length > suffix && strcmp(entry->d_name + length - suffix, spool_suffix) == 0;
}

enum pb_status pb_spool_list(const char *dir, char ***paths_out, size_t *count_out,
                             struct pb_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, is_spool, alphasort);
    enum pb_status status = PB_OK;
    char **paths;

    if (count < 0)
        return pb_fail(err, PB_IO, "%s: cannot be read: %s", dir, strerror(errno));
    paths = calloc((size_t)count + 1, sizeof(*paths));
    for (int i = 0; i < count; i++) {
        if (paths != NULL && asprintf(&paths[i], "%s/%s", dir, entries[i]->d_name) < 0) {
            paths[i] = NULL;
            status = PB_NO_MEMORY;
        }
        free(entries[i]);
    }
    free(entries);
    if (paths == NULL || status != PB_OK) {
        if (paths != NULL)
            pb_spool_free_list(paths, (size_t)count);
        return pb_fail(err, PB_NO_MEMORY, "%s: no memory for %d names", dir, count);
    }
    *paths_out = paths;
    *count_out = (size_t)count;
    return PB_OK;
}

void pb_spool_free_list(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

void pb_spool_remove(const char *dir, int64_t rank)
{
    char path[4096];

    if (pb_spool_path(dir, rank, path, sizeof(path), NULL) == PB_OK)
        unlink(path);
    rmdir(dir);
}
