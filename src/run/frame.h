/*
 * Frames: what probe, supervisor, spool and rank 0 say to each other, in one format.
 *
 * A frame is a header, a message and a body. The message is a short JSON object (messages.h): what
 * the receiver must know without opening the body. The body is an HDF5 image, or nothing. Header
 * and content carry a CRC-32 each, so a torn or damaged frame is refused, never believed.
 *
 * Limit: one frame is at most PB_FRAME_BODY_MAX bytes of body; streams are byte-wise in order.
 */
#ifndef PB_RUN_FRAME_H
#define PB_RUN_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum pb_frame_type {
    PB_FRAME_HELLO = 1, /* probe: the devices it sees and the tests it was ordered to run */
    PB_FRAME_OPENED,    /* probe: identity of the device it opened */
    PB_FRAME_REFUSED,   /* probe: an order cannot be done; status and message */
    PB_FRAME_DEVICE,    /* body: the device's identity */
    PB_FRAME_START,     /* a test begins */
    PB_FRAME_TEST,      /* body: a finished test */
    PB_FRAME_DONE,      /* probe: everything ordered is done */
    PB_FRAME_PLAN,      /* spool: the rank, the run, and the tests to expect */
    PB_FRAME_MEMBER,    /* body: the rank's row of /fleet; its last word */
    PB_FRAME_MEASURED,  /* probe: a test is over; its TEST frame is being packed */
    PB_FRAME_READY,     /* probe: waits for a GO order, since it shares links with others */
    PB_FRAME_SEAL,      /* spool: how much counts of the spools that an earlier run has left */
    PB_FRAME_TYPE_END
};

enum {
    PB_FRAME_HEADER_SIZE = 32,
    PB_FRAME_MESSAGE_MAX = 1 << 20,
    PB_FRAME_BODY_MAX = 1 << 30,
};

struct pb_frame {
    enum pb_frame_type type;
    const char *message; /* JSON, ends with a NUL; NULL: none */
    const void *body;    /* NULL: none */
    size_t body_size;
    uint32_t epoch; /* of the run that wrote it into a spool; 0: not in a spool, or an old one */
};

/* "HELLO", "TEST", …; "unknown" for anything else. */
const char *pb_frame_type_name(enum pb_frame_type type);

/* The frame as one block of bytes, to be freed. PB_INVALID: larger than a frame may be. */
enum pb_status pb_frame_pack(const struct pb_frame *frame, void **bytes_out, size_t *size_out,
                             struct pb_error *err);

/* The reverse; frame_out points into bytes[size], which must hold exactly one frame. PB_CORRUPT. */
enum pb_status pb_frame_unpack(const void *bytes, size_t size, struct pb_frame *frame_out,
                               struct pb_error *err);

/* Sets the epoch of a packed frame. */
void pb_frame_stamp(void *bytes, uint32_t epoch);

/*
 * The size of the whole packed frame that header[PB_FRAME_HEADER_SIZE] begins. PB_CORRUPT: it
 * begins none.
 */
enum pb_status pb_frame_size(const void *header, size_t *size_out, struct pb_error *err);

/* The four bytes that every frame begins with. */
extern const char pb_frame_magic[4];

/* Writes one frame whole, waiting as long as it takes. PB_IO: the other end is gone, or full. */
enum pb_status pb_frame_write(int fd, const struct pb_frame *frame, struct pb_error *err);

/* Writes size bytes whole, over partial writes and signals. */
enum pb_status pb_write_all(int fd, const void *bytes, size_t size, struct pb_error *err);

/*
 * Collects one frame at a time from a stream. It never takes a byte that belongs to the next frame,
 * and reuses its memory, which grows to the largest frame seen. Start from all zero.
 */
struct pb_frame_reader {
    unsigned char *bytes;
    size_t capacity;
    size_t filled;
    size_t wanted; /* of this frame, as far as its header is known; 0: at a frame's start */
};

enum pb_frame_read {
    PB_READ_FRAME, /* frame_out is whole; valid until the next call */
    PB_READ_WAIT,  /* nothing more to read now */
    PB_READ_END,   /* end of the stream, between two frames */
};

/*
 * Reads from a descriptor, blocking or not, until a frame is whole or nothing more comes.
 *
 * PB_CORRUPT: no frame, a wrong checksum, or the stream ended inside one; err says which. A frame
 * whose header is sound but whose content is damaged has been consumed: the next may be read.
 */
enum pb_status pb_frame_read(struct pb_frame_reader *reader, int fd, struct pb_frame *frame_out,
                             enum pb_frame_read *result_out, struct pb_error *err);

/* The bytes of the frame that was just read, as they came. */
const void *pb_frame_reader_bytes(const struct pb_frame_reader *reader, size_t *size_out);

/* Frees what it owns and makes it empty; NULL is allowed. */
void pb_frame_reader_clear(struct pb_frame_reader *reader);

#endif
