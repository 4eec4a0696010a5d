/*
 * The stream: what the injection library leaves of a traced process, for plumb-trace to turn into a
 * trace file. One file for each process: a page of counters, which is mapped, then frames with a
 * checksum each. Nothing of it is HDF5, nothing needs an end: what a process that crashes has
 * written stays readable.
 *
 * Words: the accesses themselves come as 32-bit words, in chunks of one SM each, exactly as the
 * device wrote them (words.h).
 */
#ifndef PB_TRACE_STREAM_H
#define PB_TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

/* Environment of the traced program. */
#define PB_TRACE_STREAM_ENV   "PLUMB_TRACE_STREAM"   /* the files are called by this, and .PID */
#define PB_TRACE_KERNEL_ENV   "PLUMB_TRACE_KERNEL"   /* extended regular expression */
#define PB_TRACE_LAUNCHES_ENV "PLUMB_TRACE_LAUNCHES" /* A:B, half open, of those that match */
#define PB_TRACE_SMS_ENV      "PLUMB_TRACE_SMS"      /* number of SMs to record; 0 or none: all */

enum { PB_STREAM_HEADER_BYTES = 4096, PB_STREAM_TEXT_LENGTH = 1024 };

/* The first page. Written in place, so it works on a full disk too. */
struct pb_stream_header {
    char magic[8]; /* "PBTRACE1" */
    int64_t pid;
    uint32_t ended;                   /* 1: the process ended in its own time */
    int32_t write_errno;              /* of the first frame that could not be written; 0: none */
    uint64_t lost_records;            /* dropped because of that */
    uint64_t launches;                /* of all kernels */
    uint64_t untraced_graph_launches; /* of CUDA graphs, some of whose kernels are missing */
    char message[512];                /* the first thing that went wrong; empty: nothing */
    uint32_t records;                 /* PB_RECORDS_… (words.h): what is recorded besides */
};

enum pb_stream_type {
    PB_STREAM_CONTEXT = 1,
    PB_STREAM_ALLOCATION,
    PB_STREAM_FREE,
    PB_STREAM_MODULE,   /* followed by the cubin */
    PB_STREAM_FUNCTION, /* where a function of a module lies in the context's code */
    PB_STREAM_SKIPPED,  /* a kernel that was launched and not selected; once for each name */
    PB_STREAM_LAUNCH,
    PB_STREAM_CHUNK, /* followed by words */
    PB_STREAM_LAUNCH_END,
    PB_STREAM_TYPE_END
};

struct pb_stream_context {
    uint32_t context, device, compute_capability, sm_count;
    char model[128], uuid[128];
    uint64_t shared_per_sm; /* bytes that blocks can have at most; 0: not known */
};

struct pb_stream_allocation {
    uint64_t address, bytes, event;
    uint32_t context, reserved;
    char kind[32];
};

struct pb_stream_module {
    uint32_t module, context;
};

struct pb_stream_function {
    uint64_t pc, bytes;
    uint32_t module, reserved;
    char name[PB_STREAM_TEXT_LENGTH];
};

struct pb_stream_launch {
    uint64_t launch, event, stream;
    uint32_t context, module;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t sms_wanted;          /* 0: all */
    int64_t shared_dynamic_bytes; /* -1: not known */
    int32_t carveout_percent;     /* of shared_per_sm that the program prefers; -1: it prefers
                                     none; -2: not known */
    uint32_t reserved;
    char name[PB_STREAM_TEXT_LENGTH];
};

struct pb_stream_chunk {
    uint64_t launch;
    uint32_t sm;
    uint32_t traced; /* 1: accesses of this SM are recorded, not only its CTAs */
};

struct pb_stream_launch_end {
    uint64_t launch;
    uint64_t lost_records;
    double seconds;
    int32_t failed; /* the kernel failed: 1 */
    uint32_t sms_traced;
    char message[256];
};

/* ---- writing: one writer at a time ---- */

struct pb_stream_writer;

/* Makes PREFIX.PID. PB_IO: cannot. */
enum pb_status pb_stream_create(const char *prefix, struct pb_stream_writer **writer_out,
                                struct pb_error *err);

/* The mapped first page. */
struct pb_stream_header *pb_stream_header(struct pb_stream_writer *writer);

/*
 * Appends one frame whose content is body[body_size], then extra[extra_size]. PB_IO: it is not in
 * the file, and the cause is in the header; later frames may fit again.
 */
enum pb_status pb_stream_write(struct pb_stream_writer *writer, enum pb_stream_type type,
                               const void *body, size_t body_size, const void *extra,
                               size_t extra_size);

/* Keeps the file. NULL is allowed. */
void pb_stream_close(struct pb_stream_writer *writer);

/* ---- reading: nothing in the file is trusted ---- */

struct pb_stream_frame {
    enum pb_stream_type type;
    uint64_t offset, size; /* of the content, in the file */
};

struct pb_stream_reader {
    int fd;
    uint64_t at, end; /* the next frame; the file's size */
    struct pb_stream_header header;
    char path[4096];
    unsigned char *bytes; /* content of the frame read last */
    size_t capacity;
};

/* PB_INVALID: no stream. pb_stream_reader_clear() it. */
enum pb_status pb_stream_open(const char *path, struct pb_stream_reader *reader_out,
                              struct pb_error *err);

/*
 * The next frame; its content is reader->bytes until the next call. *more_out false: the end, or
 * what follows is no whole frame: a stream that was cut ends at its last whole frame, and err then
 * holds PB_CORRUPT with the place while PB_OK is returned. PB_IO, PB_NO_MEMORY.
 */
enum pb_status pb_stream_next(struct pb_stream_reader *reader, struct pb_stream_frame *frame_out,
                              bool *more_out, struct pb_error *err);

/* Reads the content of a frame that was seen before into reader->bytes. */
enum pb_status pb_stream_read_again(struct pb_stream_reader *reader,
                                    const struct pb_stream_frame *frame, struct pb_error *err);

/* Gives the disk space of a frame's content back, as far as the file system can. */
void pb_stream_release(const struct pb_stream_reader *reader, const struct pb_stream_frame *frame);

void pb_stream_reader_clear(struct pb_stream_reader *reader);

#endif
