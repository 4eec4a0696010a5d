/* Writing and reading the stream of a traced process; see stream.h. */
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/checksum.h"

static const char magic[8] = "PBTRACE1";

enum { FRAME_MAGIC = 0x52464250, CONTENT_MAX = 1 << 30 };

struct frame_head {
    uint32_t magic, type;
    uint64_t size;
    uint32_t content_checksum;
    uint32_t head_checksum; /* of the members before */
};

static uint32_t head_checksum(const struct frame_head *head)
{
    return pb_checksum(0, head, offsetof(struct frame_head, head_checksum));
}

/* ---- writing ---- */

struct pb_stream_writer {
    int fd;
    uint64_t at; /* where the next frame begins */
    struct pb_stream_header *header;
};

/* The page is made before it is mapped: a page that the disk has no room for cannot be written. */
static enum pb_status map_header(struct pb_stream_writer *writer, const char *path,
                                 struct pb_error *err)
{
    static const char zeros[PB_STREAM_HEADER_BYTES];
    void *page;

    if (pwrite(writer->fd, zeros, sizeof(zeros), 0) != (ssize_t)sizeof(zeros))
        return pb_fail(err, PB_IO, "%s: cannot be written: %s", path, strerror(errno));
    page = mmap(NULL, PB_STREAM_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
    if (page == MAP_FAILED)
        return pb_fail(err, PB_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    writer->header = page;
    writer->header->pid = getpid();
    memcpy(writer->header->magic, magic, sizeof(magic));
    writer->at = PB_STREAM_HEADER_BYTES;
    return PB_OK;
}

enum pb_status pb_stream_create(const char *prefix, struct pb_stream_writer **writer_out,
                                struct pb_error *err)
{
    struct pb_stream_writer *writer = calloc(1, sizeof(*writer));
    char path[PATH_MAX];
    enum pb_status status;

    if (writer == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory");
    snprintf(path, sizeof(path), "%s.%ld", prefix, (long)getpid());
    writer->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    status = writer->fd < 0
                 ? pb_fail(err, PB_IO, "%s: cannot be created: %s", path, strerror(errno))
                 : map_header(writer, path, err);
    if (status != PB_OK) {
        if (writer->fd >= 0)
            unlink(path);
        pb_stream_close(writer);
        return status;
    }
    *writer_out = writer;
    return PB_OK;
}

struct pb_stream_header *pb_stream_header(struct pb_stream_writer *writer)
{
    return writer->header;
}

/* Writes the parts at offset `at`, over partial writes. */
static bool write_at(int fd, uint64_t at, struct iovec *parts, int count)
{
    while (count > 0) {
        ssize_t done = pwritev(fd, parts, count, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += (uint64_t)done;
        while (count > 0 && (size_t)done >= parts->iov_len) {
            done -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + done;
            parts->iov_len -= (size_t)done;
        }
    }
    return true;
}

enum pb_status pb_stream_write(struct pb_stream_writer *writer, enum pb_stream_type type,
                               const void *body, size_t body_size, const void *extra,
                               size_t extra_size)
{
    struct frame_head head = {
        .magic = FRAME_MAGIC, .type = (uint32_t)type, .size = (uint64_t)body_size + extra_size};
    struct iovec parts[3] = {{&head, sizeof(head)},
                             {(void *)(uintptr_t)body, body_size},
                             {(void *)(uintptr_t)extra, extra_size}};

    head.content_checksum = pb_checksum(0, body, body_size);
    if (extra_size > 0) /* zlib starts anew where it gets no bytes */
        head.content_checksum = pb_checksum(head.content_checksum, extra, extra_size);
    head.head_checksum = head_checksum(&head);
    if (!write_at(writer->fd, writer->at, parts, extra_size == 0 ? 2 : 3)) {
        if (writer->header->write_errno == 0)
            writer->header->write_errno = errno;
        if (ftruncate(writer->fd, (off_t)writer->at) != 0)
            return PB_IO; /* the frame is torn, and its checksum says so */
        return PB_IO;
    }
    writer->at += sizeof(head) + head.size;
    return PB_OK;
}

void pb_stream_close(struct pb_stream_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->header != NULL)
        munmap(writer->header, PB_STREAM_HEADER_BYTES);
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer);
}

/* ---- reading ---- */

/* Reads size bytes at an offset; false at the end of the file or an error (then errno is set). */
static bool read_at(int fd, void *bytes, size_t size, uint64_t at)
{
    size_t filled = 0;

    errno = 0;
    while (filled < size) {
        ssize_t got = pread(fd, (char *)bytes + filled, size - filled, (off_t)(at + filled));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        filled += (size_t)got;
    }
    return true;
}

enum pb_status pb_stream_open(const char *path, struct pb_stream_reader *reader_out,
                              struct pb_error *err)
{
    struct pb_stream_reader reader = {.at = PB_STREAM_HEADER_BYTES};
    struct stat found;

    snprintf(reader.path, sizeof(reader.path), "%s", path);
    reader.fd = open(path, O_RDWR | O_CLOEXEC); /* to give space back */
    if (reader.fd < 0)
        reader.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader.fd < 0 || fstat(reader.fd, &found) != 0) {
        pb_fail(err, PB_INVALID, "%s: cannot be opened: %s", path, strerror(errno));
        pb_stream_reader_clear(&reader);
        return PB_INVALID;
    }
    reader.end = (uint64_t)found.st_size;
    if (!read_at(reader.fd, &reader.header, sizeof(reader.header), 0) ||
        memcmp(reader.header.magic, magic, sizeof(magic)) != 0) {
        pb_stream_reader_clear(&reader);
        return pb_fail(err, PB_INVALID,
                       "%s: expected a stream of plumb-trace, found something else", path);
    }
    reader.header.message[sizeof(reader.header.message) - 1] = '\0';
    *reader_out = reader;
    return PB_OK;
}

void pb_stream_reader_clear(struct pb_stream_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->bytes);
    reader->fd = -1;
    reader->bytes = NULL;
    reader->capacity = 0;
}

static enum pb_status reserve(struct pb_stream_reader *reader, uint64_t size, struct pb_error *err)
{
    unsigned char *larger;

    if (size <= reader->capacity)
        return PB_OK;
    larger = realloc(reader->bytes, (size_t)size);
    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %llu bytes", reader->path,
                       (unsigned long long)size);
    reader->bytes = larger;
    reader->capacity = (size_t)size;
    return PB_OK;
}

static bool is_head(const struct pb_stream_reader *reader, const struct frame_head *head)
{
    return head->magic == FRAME_MAGIC && head->head_checksum == head_checksum(head) &&
           head->type > 0 && head->type < PB_STREAM_TYPE_END && head->size <= CONTENT_MAX &&
           head->size <= reader->end - reader->at - sizeof(*head);
}

enum pb_status pb_stream_next(struct pb_stream_reader *reader, struct pb_stream_frame *frame_out,
                              bool *more_out, struct pb_error *err)
{
    struct frame_head head;
    enum pb_status status;

    *more_out = false;
    if (reader->at >= reader->end)
        return PB_OK;
    if (reader->end - reader->at < sizeof(head) ||
        !read_at(reader->fd, &head, sizeof(head), reader->at) || !is_head(reader, &head)) {
        pb_fail(err, PB_CORRUPT, "%s: byte %llu: expected a frame, found a torn or damaged one",
                reader->path, (unsigned long long)reader->at);
        return PB_OK;
    }
    status = reserve(reader, head.size, err);
    if (status != PB_OK)
        return status;
    if (!read_at(reader->fd, reader->bytes, (size_t)head.size, reader->at + sizeof(head)) ||
        pb_checksum(0, reader->bytes, (size_t)head.size) != head.content_checksum) {
        pb_fail(err, PB_CORRUPT,
                "%s: byte %llu: the content of a frame does not match its checksum", reader->path,
                (unsigned long long)reader->at);
        return PB_OK;
    }
    *frame_out = (struct pb_stream_frame){.type = (enum pb_stream_type)head.type,
                                          .offset = reader->at + sizeof(head),
                                          .size = head.size};
    reader->at += sizeof(head) + head.size;
    *more_out = true;
    return PB_OK;
}

enum pb_status pb_stream_read_again(struct pb_stream_reader *reader,
                                    const struct pb_stream_frame *frame, struct pb_error *err)
{
    enum pb_status status = reserve(reader, frame->size, err);

    if (status == PB_OK && !read_at(reader->fd, reader->bytes, (size_t)frame->size, frame->offset))
        status = pb_fail(err, PB_IO, "%s: cannot be read: %s", reader->path, strerror(errno));
    return status;
}

void pb_stream_release(const struct pb_stream_reader *reader, const struct pb_stream_frame *frame)
{
    if (fallocate(reader->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)frame->offset,
                  (off_t)frame->size) != 0)
        return; /* then its space comes back with the file's */
}
