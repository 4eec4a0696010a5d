/* Reading spool files: whatever of them is sound; see spool.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/partial.h"
#include "run/messages.h"
#include "run/spool.h"

/* ---- frames ---- */

/* A file being read. */
struct scan {
    const char *path;
    int fd;
    uint64_t size; /* of what counts */
    unsigned char *bytes;
    size_t capacity;
};

/* Reads [at, at + size); false: not all of it is there. */
static bool read_at(const struct scan *scan, uint64_t at, void *bytes_out, size_t size)
{
    unsigned char *to = bytes_out;

    while (size > 0) {
        ssize_t got = pread(scan->fd, to, size, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

/* The sound frame that begins at `at`. PB_CORRUPT: there is none. PB_NO_MEMORY. */
static enum pb_status take_frame(struct scan *scan, uint64_t at, struct pb_frame *frame_out,
                                 size_t *size_out, struct pb_error *err)
{
    unsigned char header[PB_FRAME_HEADER_SIZE];
    uint64_t left = scan->size - at;
    enum pb_status status;

    if (left < sizeof(header) || !read_at(scan, at, header, sizeof(header)))
        return pb_fail(err, PB_CORRUPT, "the file ends inside a frame, after %llu bytes of it",
                       (unsigned long long)left);
    status = pb_frame_size(header, size_out, err);
    if (status != PB_OK)
        return status;
    if (*size_out > left)
        return pb_fail(err, PB_CORRUPT, "the file ends inside a frame, after %llu bytes of its %zu",
                       (unsigned long long)left, *size_out);
    if (*size_out > scan->capacity) {
        unsigned char *larger = realloc(scan->bytes, *size_out);

        if (larger == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory for a frame of %zu bytes", *size_out);
        scan->bytes = larger;
        scan->capacity = *size_out;
    }
    if (!read_at(scan, at, scan->bytes, *size_out))
        return pb_fail(err, PB_CORRUPT, "%zu bytes cannot be read: %s", *size_out, strerror(errno));
    return pb_frame_unpack(scan->bytes, *size_out, frame_out, err);
}

/* Where the next four bytes that may begin a frame are, from `at` on; the end where none are. */
static uint64_t find_magic(const struct scan *scan, uint64_t at)
{
    unsigned char window[1 << 16];

    while (at < scan->size) {
        uint64_t left = scan->size - at;
        size_t size = left < sizeof(window) ? (size_t)left : sizeof(window);
        const unsigned char *found;

        if (!read_at(scan, at, window, size)) { /* a bad sector, say: go on behind it */
            at += size;
            continue;
        }
        found = memmem(window, size, pb_frame_magic, sizeof(pb_frame_magic));
        if (found != NULL)
            return at + (uint64_t)(found - window);
        if (left <= sizeof(window))
            return scan->size;
        at += size - (sizeof(pb_frame_magic) - 1);
    }
    return scan->size;
}

/* Shows a sound frame, unless another epoch's writer has put it here. */
static enum pb_status show(const struct scan *scan, const struct pb_spool_file *file,
                           const struct pb_frame *frame, size_t size,
                           const struct pb_spool_visitor *visitor, struct pb_spool_end *end,
                           struct pb_error *err)
{
    if (frame->epoch != 0 && file->epoch != 0 && frame->epoch != file->epoch) {
        end->late_count++;
        return PB_OK;
    }
    end->frame_count++;
    return visitor->visit(visitor->context, frame, scan->bytes, size, err);
}

static enum pb_status visit_frames(struct scan *scan, const struct pb_spool_file *file,
                                   const struct pb_spool_visitor *visitor, struct pb_spool_end *end,
                                   struct pb_error *err)
{
    bool is_damaged = false;
    uint64_t at = 0;

    while (at < scan->size) {
        struct pb_error cause = PB_ERROR_INIT;
        struct pb_frame frame;
        size_t size = 0;
        enum pb_status status = take_frame(scan, at, &frame, &size, &cause);

        if (status == PB_NO_MEMORY)
            return pb_fail(err, status, "%s: %s", scan->path, cause.message);
        if (status != PB_OK) { /* the first reason is the one that explains the gap */
            if (!is_damaged)
                PB_TEXT_SET(end->reason, cause.message);
            is_damaged = true;
            at = find_magic(scan, at + 1);
            continue;
        }
        end->damaged_count += is_damaged;
        is_damaged = false;
        end->reason[0] = '\0';
        at += size;
        end->end_bytes = at;
        status = show(scan, file, &frame, size, visitor, end, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

enum pb_status pb_spool_read(const struct pb_spool_file *file,
                             const struct pb_spool_visitor *visitor, struct pb_spool_end *end_out,
                             struct pb_error *err)
{
    struct scan scan = {.path = file->path,
                        .fd = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    struct stat found;
    enum pb_status status;

    memset(end_out, 0, sizeof(*end_out));
    if (scan.fd < 0 || fstat(scan.fd, &found) != 0) {
        status = pb_fail(err, PB_IO, "%s: cannot be read: %s", file->path, strerror(errno));
    } else if (!S_ISREG(found.st_mode)) {
        status = pb_fail(err, PB_IO, "%s: expected a spool, found no regular file", file->path);
    } else {
        end_out->file_bytes = scan.size = (uint64_t)found.st_size;
        if (scan.size > file->limit_bytes) {
            end_out->late_bytes = scan.size - file->limit_bytes;
            scan.size = file->limit_bytes;
        }
        status = visit_frames(&scan, file, visitor, end_out, err);
    }
    if (scan.fd >= 0)
        close(scan.fd);
    free(scan.bytes);
    return status;
}

/* ---- files ---- */

static const char spool_suffix[] = ".spool";

bool pb_spool_is_name(const char *path)
{
    size_t length = strlen(path), suffix = sizeof(spool_suffix) - 1;

    return length > suffix && strcmp(path + length - suffix, spool_suffix) == 0;
}

/* A file by its path, which is copied. */
static enum pb_status describe(const char *path, struct pb_spool_file *file_out,
                               struct pb_error *err)
{
    struct pb_spool_file file = {.rank = -1, .limit_bytes = UINT64_MAX};
    const char *name = path + pb_folder_length(path);
    long long rank = 0;
    unsigned long epoch = 1;
    int end = 0;

    if (sscanf(name, "rank-%10lld.spool%n", &rank, &end) == 1 && end > 0 && name[end] == '\0') {
        file.rank = rank;
        file.epoch = 1;
    } else if (sscanf(name, "rank-%10lld.e%10lu.spool%n", &rank, &epoch, &end) == 2 && end > 0 &&
               name[end] == '\0' && epoch > 1 && epoch <= UINT32_MAX) {
        file.rank = rank;
        file.epoch = (uint32_t)epoch;
    }
    file.path = strdup(path);
    if (file.path == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    *file_out = file;
    return PB_OK;
}

void pb_spool_file_clear(struct pb_spool_file *file)
{
    free(file->path);
    memset(file, 0, sizeof(*file));
}

void pb_spool_files_clear(struct pb_spool_files *files)
{
    if (files == NULL)
        return;
    for (size_t i = 0; i < files->count; i++)
        pb_spool_file_clear(&files->items[i]);
    free(files->items);
    *files = (struct pb_spool_files){NULL, 0};
}

static int by_rank_and_epoch(const void *a, const void *b)
{
    const struct pb_spool_file *left = a, *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->epoch != right->epoch)
        return left->epoch < right->epoch ? -1 : 1;
    return strcmp(left->path, right->path);
}

static int is_spool(const struct dirent *entry)
{
    return pb_spool_is_name(entry->d_name);
}

/* Whose files a seal may limit. */
struct sealing {
    struct pb_spool_files *files;
    const struct pb_spool_file *by;
    int frames;
};

static void apply(const struct sealing *sealing, const struct pb_seal *seal)
{
    for (size_t i = 0; i < seal->count; i++) {
        for (size_t j = 0; j < sealing->files->count; j++) {
            struct pb_spool_file *file = &sealing->files->items[j];
            uint64_t bytes = seal->files[i].bytes < 0 ? 0 : (uint64_t)seal->files[i].bytes;

            if (file->epoch < sealing->by->epoch && bytes < file->limit_bytes &&
                strcmp(file->path + pb_folder_length(file->path), seal->files[i].name) == 0)
                file->limit_bytes = bytes;
        }
    }
}

/* A visitor that looks at the first two frames, of which the second may be a SEAL. */
static enum pb_status visit_seal(void *context, const struct pb_frame *frame, const void *bytes,
                                 size_t size, struct pb_error *err)
{
    struct sealing *sealing = context;
    struct pb_seal seal = {NULL, 0};

    (void)bytes, (void)size;
    if (frame->type == PB_FRAME_SEAL && pb_message_read_seal(frame->message, &seal, NULL) == PB_OK)
        apply(sealing, &seal);
    pb_seal_clear(&seal);
    if (++sealing->frames < 2)
        return PB_OK;
    return pb_fail(err, PB_NOT_FOUND, "a seal is among the first frames");
}

static void find_superseded(struct pb_spool_files *files)
{
    uint32_t latest = 0;

    for (size_t i = 0; i < files->count; i++)
        latest = files->items[i].epoch > latest ? files->items[i].epoch : latest;
    for (size_t i = 0; i < files->count; i++)
        files->items[i].is_superseded = files->items[i].epoch < latest;
}

void pb_spool_find_seals(struct pb_spool_files *files, int64_t rank)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct pb_spool_file *file = &files->items[i];
        struct sealing sealing = {files, file, 0};
        const struct pb_spool_visitor visitor = {visit_seal, &sealing};
        struct pb_spool_end end;

        if (file->epoch > 1 && (rank < 0 || file->rank == rank || file->rank <= 0))
            pb_spool_read(file, &visitor, &end, NULL);
    }
}

enum pb_status pb_spool_list(const char *dir, struct pb_spool_files *files_out,
                             struct pb_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, is_spool, NULL);
    struct pb_spool_files files = {NULL, 0};
    char path[PATH_MAX];
    enum pb_status status = PB_OK;

    if (count < 0)
        return pb_fail(err, PB_IO, "%s: cannot be read: %s", dir, strerror(errno));
    files.items = calloc((size_t)count + 1, sizeof(*files.items));
    if (files.items == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %d names", dir, count);
    for (int i = 0; i < count; i++) {
        if (status == PB_OK &&
            snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) < (int)sizeof(path)) {
            status = describe(path, &files.items[files.count], err);
            files.count += status == PB_OK;
        }
        free(entries[i]);
    }
    free(entries);
    if (status != PB_OK) {
        pb_spool_files_clear(&files);
        return status;
    }
    qsort(files.items, files.count, sizeof(*files.items), by_rank_and_epoch);
    find_superseded(&files);
    *files_out = files;
    return PB_OK;
}

enum pb_status pb_spool_refuse_left(const char *dir, const char *remedies, struct pb_error *err)
{
    struct pb_spool_files files = {NULL, 0};
    enum pb_status status = access(dir, F_OK) == 0 ? pb_spool_list(dir, &files, err) : PB_OK;

    if (status == PB_OK && files.count > 0)
        status = pb_fail(err, PB_EXISTS, "%s: holds the results of a run that did not end; %s", dir,
                         remedies);
    pb_spool_files_clear(&files);
    return status;
}

enum pb_status pb_spool_find(const char *path, struct pb_spool_file *file_out, struct pb_error *err)
{
    int folder = pb_folder_length(path);
    struct pb_spool_files files = {NULL, 0};
    char dir[PATH_MAX];
    enum pb_status status = describe(path, file_out, err);

    if (status != PB_OK)
        return status;
    snprintf(dir, sizeof(dir), "%.*s", folder, path);
    if (pb_spool_list(folder == 0 ? "." : dir, &files, NULL) != PB_OK)
        return PB_OK; /* nothing is known of a seal */
    pb_spool_find_seals(&files, -1);
    for (size_t i = 0; i < files.count; i++) {
        const char *other = files.items[i].path;

        if (strcmp(other + pb_folder_length(other), path + folder) != 0)
            continue;
        file_out->limit_bytes = files.items[i].limit_bytes;
        file_out->is_superseded = files.items[i].is_superseded;
    }
    pb_spool_files_clear(&files);
    return PB_OK;
}

void pb_spool_limit(struct pb_spool_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        struct pb_spool_file *file = &files->items[i];
        struct stat found;

        if (stat(file->path, &found) == 0 && (uint64_t)found.st_size < file->limit_bytes)
            file->limit_bytes = (uint64_t)found.st_size;
    }
}

enum pb_status pb_spool_seal(const struct pb_spool_files *files, void **bytes_out, size_t *size_out,
                             struct pb_error *err)
{
    struct pb_seal seal = {calloc(files->count + 1, sizeof(*seal.files)), 0};
    struct pb_frame frame = {.type = PB_FRAME_SEAL};
    char *message = NULL;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < files->count && seal.files != NULL; i++) {
        const char *path = files->items[i].path;
        uint64_t bytes = files->items[i].limit_bytes;

        PB_TEXT_SET(seal.files[seal.count].name, path + pb_folder_length(path));
        seal.files[seal.count++].bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    }
    if (seal.files != NULL)
        message = pb_message_seal(&seal);
    frame.message = message;
    status = message == NULL
                 ? pb_fail(err, PB_NO_MEMORY, "out of memory for %zu names", files->count)
                 : pb_frame_pack(&frame, bytes_out, size_out, err);
    free(message);
    pb_seal_clear(&seal);
    return status;
}
