/* Writing the spool of one rank; see spool.h. */
#include "run/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/partial.h"

/* A frame that could not be written yet. */
struct waiting {
    struct waiting *next;
    size_t size;
    unsigned char bytes[];
};

struct pb_spool {
    int fd;
    uint32_t epoch;
    uint64_t end_bytes;           /* of the last whole frame */
    struct waiting *first, *last; /* in the order in which they came */
    size_t waiting_bytes;         /* of all of them */
    struct pb_error trouble;      /* why the first of them waits */
    char path[];
};

enum pb_status pb_spool_path(const char *dir, int64_t rank, uint32_t epoch, char *path_out,
                             size_t size, struct pb_error *err)
{
    char tail[16] = "";
    int length;

    if (epoch > 1)
        snprintf(tail, sizeof(tail), ".e%lu", (unsigned long)epoch);
    length = snprintf(path_out, size, "%s/rank-%05lld%s.spool", dir, (long long)rank, tail);
    if (length < 0 || (size_t)length >= size)
        return pb_fail(err, PB_INVALID, "%s: the name is too long", dir);
    return PB_OK;
}

/* A folder whose name is on the disk. */
static enum pb_status make_folder(const char *dir, struct pb_error *err)
{
    if (mkdir(dir, 0777) == 0)
        pb_folder_sync(dir);
    else if (errno != EEXIST)
        return pb_fail(err, PB_INVALID, "%s: cannot be created: %s", dir, strerror(errno));
    return PB_OK;
}

enum pb_status pb_spool_open(const char *dir, int64_t rank, uint32_t epoch,
                             struct pb_spool **spool_out, struct pb_error *err)
{
    size_t size = strlen(dir) + 64;
    struct pb_spool *spool;
    enum pb_status status = make_folder(dir, err);

    if (status != PB_OK)
        return status;
    spool = calloc(1, sizeof(*spool) + size);
    if (spool == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", dir);
    pb_spool_path(dir, rank, epoch, spool->path, size, NULL);
    spool->epoch = epoch;
    spool->fd =
        open(spool->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666);
    if (spool->fd < 0) {
        status = pb_fail(err, errno == EEXIST ? PB_EXISTS : PB_INVALID, "%s: cannot be created: %s",
                         spool->path, strerror(errno));
        pb_spool_close(spool);
        return status;
    }
    pb_folder_sync(spool->path);
    *spool_out = spool;
    return PB_OK;
}

/* Cuts off what was written of a frame; where even that fails, readers skip it. */
static void cut(struct pb_spool *spool)
{
    off_t end;

    if (ftruncate(spool->fd, (off_t)spool->end_bytes) == 0)
        return;
    end = lseek(spool->fd, 0, SEEK_END);
    spool->end_bytes = end < 0 ? spool->end_bytes : (uint64_t)end;
}

static enum pb_status write_frame(struct pb_spool *spool, const struct waiting *frame,
                                  struct pb_error *err)
{
    enum pb_status status = pb_write_all(spool->fd, frame->bytes, frame->size, err);

    if (status != PB_OK) {
        cut(spool);
        return pb_error_prefix(err, "%s", spool->path);
    }
    spool->end_bytes += frame->size;
    return PB_OK;
}

static void drop_first(struct pb_spool *spool)
{
    struct waiting *frame = spool->first;

    spool->first = frame->next;
    if (spool->first == NULL)
        spool->last = NULL;
    spool->waiting_bytes -= frame->size;
    free(frame);
}

/*
 * Writes what waits and, to sync, makes sure of it. After a failed sync it is not known what of the
 * last frames is on the disk, so they are written once more: readers take a test twice as once.
 */
static enum pb_status flush(struct pb_spool *spool, bool sync, struct pb_error *err)
{
    uint64_t begin = spool->end_bytes;
    struct waiting *frame = spool->first;
    enum pb_status status = PB_OK;

    while (frame != NULL && status == PB_OK) {
        status = write_frame(spool, frame, err);
        if (status == PB_OK && !sync)
            drop_first(spool);
        frame = status != PB_OK ? NULL : sync ? frame->next : spool->first;
    }
    if (status == PB_OK && sync && fdatasync(spool->fd) != 0)
        status =
            pb_fail(err, PB_IO, "%s: cannot be put on the disk: %s", spool->path, strerror(errno));
    if (status != PB_OK && sync) { /* all of it again, later */
        spool->end_bytes = begin;
        cut(spool);
        return status;
    }
    while (status == PB_OK && spool->first != NULL)
        drop_first(spool);
    return status;
}

static enum pb_status enqueue(struct pb_spool *spool, const void *bytes, size_t size,
                              struct pb_error *err)
{
    struct waiting *frame = NULL;

    if (size <= PB_SPOOL_WAITING_MAX - spool->waiting_bytes)
        frame = malloc(sizeof(*frame) + size);
    if (frame == NULL) {
        if (spool->trouble.status != PB_OK)
            return pb_fail(err, PB_IO, "%s", spool->trouble.message);
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for a frame of %zu bytes", spool->path,
                       size);
    }
    frame->next = NULL;
    frame->size = size;
    memcpy(frame->bytes, bytes, size);
    pb_frame_stamp(frame->bytes, spool->epoch);
    if (spool->last != NULL)
        spool->last->next = frame;
    else
        spool->first = frame;
    spool->last = frame;
    spool->waiting_bytes += size;
    return PB_OK;
}

enum pb_status pb_spool_append(struct pb_spool *spool, const void *bytes, size_t size, bool sync,
                               struct pb_error *err)
{
    enum pb_status status = enqueue(spool, bytes, size, err);

    if (status != PB_OK)
        return status;
    status = flush(spool, sync, &spool->trouble);
    if (status == PB_OK)
        spool->trouble = (struct pb_error)PB_ERROR_INIT;
    return status == PB_OK ? PB_OK : pb_fail(err, status, "%s", spool->trouble.message);
}

enum pb_status pb_spool_retry(struct pb_spool *spool, struct pb_error *err)
{
    if (spool->first == NULL)
        return PB_OK;
    return flush(spool, true, err);
}

void pb_spool_close(struct pb_spool *spool)
{
    if (spool == NULL)
        return;
    while (spool->first != NULL)
        drop_first(spool);
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool);
}

void pb_spool_remove(const char *dir, int64_t rank, uint32_t epoch)
{
    char path[PATH_MAX];

    if (pb_spool_path(dir, rank, epoch, path, sizeof(path), NULL) == PB_OK)
        unlink(path);
    rmdir(dir);
}
