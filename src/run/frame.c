/* Frames: encoding, checking, and moving them through descriptors; see frame.h. */
#include "run/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/checksum.h"

/*
 * The header, little-endian, so that a spool can be read anywhere:
 *   0 magic "PLMB"   4 version u16   6 type u16   8 message_size u32   12 epoch u32
 *   16 body_size u64   24 CRC-32 of message and body   28 CRC-32 of bytes 0–27
 * message_size counts the message's closing NUL; 0: no message.
 */
enum { FRAME_VERSION = 1, EPOCH_AT = 12, HEADER_SUM_AT = 28 };

const char pb_frame_magic[4] = {'P', 'L', 'M', 'B'};

struct header {
    enum pb_frame_type type;
    size_t message_size, body_size;
    uint32_t content_sum, epoch;
};

static void put_number(unsigned char *at, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_number(const unsigned char *at, int width)
{
    uint64_t value = 0;

    for (int i = 0; i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

const char *pb_frame_type_name(enum pb_frame_type type)
{
    static const char *const names[PB_FRAME_TYPE_END] = {
        [PB_FRAME_HELLO] = "HELLO",     [PB_FRAME_OPENED] = "OPENED",
        [PB_FRAME_REFUSED] = "REFUSED", [PB_FRAME_DEVICE] = "DEVICE",
        [PB_FRAME_START] = "START",     [PB_FRAME_TEST] = "TEST",
        [PB_FRAME_DONE] = "DONE",       [PB_FRAME_PLAN] = "PLAN",
        [PB_FRAME_MEMBER] = "MEMBER",   [PB_FRAME_MEASURED] = "MEASURED",
        [PB_FRAME_READY] = "READY",     [PB_FRAME_SEAL] = "SEAL",
    };

    if (type <= 0 || type >= PB_FRAME_TYPE_END)
        return "unknown";
    return names[type];
}

static size_t message_size(const struct pb_frame *frame)
{
    return frame->message == NULL ? 0 : strlen(frame->message) + 1;
}

/* Writes the header of a frame into bytes[PB_FRAME_HEADER_SIZE]. */
static enum pb_status encode_header(const struct pb_frame *frame, unsigned char *bytes,
                                    struct pb_error *err)
{
    size_t message = message_size(frame);
    uint32_t sum = 0;

    if (message > PB_FRAME_MESSAGE_MAX || frame->body_size > PB_FRAME_BODY_MAX)
        return pb_fail(err, PB_INVALID, "frame %s: %zu + %zu bytes are more than a frame may hold",
                       pb_frame_type_name(frame->type), message, frame->body_size);
    if (message > 0)
        sum = pb_checksum(sum, frame->message, message);
    if (frame->body_size > 0)
        sum = pb_checksum(sum, frame->body, frame->body_size);
    memcpy(bytes, pb_frame_magic, sizeof(pb_frame_magic));
    put_number(bytes + 4, FRAME_VERSION, 2);
    put_number(bytes + 6, (uint64_t)frame->type, 2);
    put_number(bytes + 8, message, 4);
    put_number(bytes + EPOCH_AT, frame->epoch, 4);
    put_number(bytes + 16, frame->body_size, 8);
    put_number(bytes + 24, sum, 4);
    put_number(bytes + HEADER_SUM_AT, pb_checksum(0, bytes, HEADER_SUM_AT), 4);
    return PB_OK;
}

static enum pb_status decode_header(const unsigned char *bytes, struct header *header_out,
                                    struct pb_error *err)
{
    struct header header;
    uint64_t version = get_number(bytes + 4, 2), type = get_number(bytes + 6, 2);

    if (memcmp(bytes, pb_frame_magic, sizeof(pb_frame_magic)) != 0)
        return pb_fail(err, PB_CORRUPT, "expected a frame, found bytes %02x %02x %02x %02x",
                       bytes[0], bytes[1], bytes[2], bytes[3]);
    if (get_number(bytes + HEADER_SUM_AT, 4) != pb_checksum(0, bytes, HEADER_SUM_AT))
        return pb_fail(err, PB_CORRUPT, "frame: the header's checksum is wrong");
    if (version != FRAME_VERSION)
        return pb_fail(err, PB_CORRUPT, "frame: expected version %d, found %llu", FRAME_VERSION,
                       (unsigned long long)version);
    if (type == 0 || type >= PB_FRAME_TYPE_END)
        return pb_fail(err, PB_CORRUPT, "frame: type %llu is unknown", (unsigned long long)type);
    header.type = (enum pb_frame_type)type;
    header.message_size = (size_t)get_number(bytes + 8, 4);
    header.body_size = (size_t)get_number(bytes + 16, 8);
    header.content_sum = (uint32_t)get_number(bytes + 24, 4);
    header.epoch = (uint32_t)get_number(bytes + EPOCH_AT, 4);
    if (header.message_size > PB_FRAME_MESSAGE_MAX || header.body_size > PB_FRAME_BODY_MAX)
        return pb_fail(err, PB_CORRUPT, "frame %s: claims %zu + %zu bytes",
                       pb_frame_type_name(header.type), header.message_size, header.body_size);
    *header_out = header;
    return PB_OK;
}

/* A frame of a sound header and its content, which must have the header's sizes. */
static enum pb_status decode_content(const struct header *header, const unsigned char *content,
                                     struct pb_frame *frame_out, struct pb_error *err)
{
    size_t size = header->message_size + header->body_size;

    if (pb_checksum(0, content, size) != header->content_sum)
        return pb_fail(err, PB_CORRUPT, "frame %s: the checksum of its %zu bytes is wrong",
                       pb_frame_type_name(header->type), size);
    if (header->message_size > 0 && content[header->message_size - 1] != '\0')
        return pb_fail(err, PB_CORRUPT, "frame %s: its message has no end",
                       pb_frame_type_name(header->type));
    frame_out->type = header->type;
    frame_out->message = header->message_size > 0 ? (const char *)content : NULL;
    frame_out->body = header->body_size > 0 ? content + header->message_size : NULL;
    frame_out->body_size = header->body_size;
    frame_out->epoch = header->epoch;
    return PB_OK;
}

enum pb_status pb_frame_pack(const struct pb_frame *frame, void **bytes_out, size_t *size_out,
                             struct pb_error *err)
{
    size_t message = message_size(frame), size = PB_FRAME_HEADER_SIZE + message + frame->body_size;
    unsigned char header[PB_FRAME_HEADER_SIZE], *bytes;
    enum pb_status status = encode_header(frame, header, err);

    if (status != PB_OK)
        return status;
    bytes = malloc(size);
    if (bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a frame of %zu bytes", size);
    memcpy(bytes, header, sizeof(header));
    if (message > 0)
        memcpy(bytes + PB_FRAME_HEADER_SIZE, frame->message, message);
    if (frame->body_size > 0)
        memcpy(bytes + PB_FRAME_HEADER_SIZE + message, frame->body, frame->body_size);
    *bytes_out = bytes;
    *size_out = size;
    return PB_OK;
}

enum pb_status pb_frame_unpack(const void *bytes, size_t size, struct pb_frame *frame_out,
                               struct pb_error *err)
{
    const unsigned char *at = bytes;
    struct header header;
    size_t wanted;
    enum pb_status status;

    if (size < PB_FRAME_HEADER_SIZE)
        return pb_fail(err, PB_CORRUPT, "expected a frame, found %zu bytes", size);
    status = decode_header(at, &header, err);
    if (status != PB_OK)
        return status;
    wanted = PB_FRAME_HEADER_SIZE + header.message_size + header.body_size;
    if (size != wanted)
        return pb_fail(err, PB_CORRUPT, "frame %s: expected %zu bytes, found %zu",
                       pb_frame_type_name(header.type), wanted, size);
    return decode_content(&header, at + PB_FRAME_HEADER_SIZE, frame_out, err);
}

void pb_frame_stamp(void *bytes, uint32_t epoch)
{
    unsigned char *at = bytes;

    put_number(at + EPOCH_AT, epoch, 4);
    put_number(at + HEADER_SUM_AT, pb_checksum(0, at, HEADER_SUM_AT), 4);
}

enum pb_status pb_frame_size(const void *header, size_t *size_out, struct pb_error *err)
{
    struct header decoded;
    enum pb_status status = decode_header(header, &decoded, err);

    if (status == PB_OK)
        *size_out = PB_FRAME_HEADER_SIZE + decoded.message_size + decoded.body_size;
    return status;
}

enum pb_status pb_write_all(int fd, const void *bytes, size_t size, struct pb_error *err)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t written = write(fd, at, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return pb_fail(err, PB_IO, "cannot write %zu bytes: %s", size, strerror(errno));
        at += written;
        size -= (size_t)written;
    }
    return PB_OK;
}

enum pb_status pb_frame_write(int fd, const struct pb_frame *frame, struct pb_error *err)
{
    unsigned char header[PB_FRAME_HEADER_SIZE];
    enum pb_status status = encode_header(frame, header, err);

    if (status == PB_OK)
        status = pb_write_all(fd, header, sizeof(header), err);
    if (status == PB_OK)
        status = pb_write_all(fd, frame->message, message_size(frame), err);
    if (status == PB_OK)
        status = pb_write_all(fd, frame->body, frame->body_size, err);
    if (status == PB_IO)
        return pb_error_prefix(err, "frame %s", pb_frame_type_name(frame->type));
    return status;
}

/* Makes room for `size` bytes of the frame at hand. */
static enum pb_status reserve(struct pb_frame_reader *reader, size_t size, struct pb_error *err)
{
    unsigned char *larger;

    if (size <= reader->capacity)
        return PB_OK;
    larger = realloc(reader->bytes, size);
    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a frame of %zu bytes", size);
    reader->bytes = larger;
    reader->capacity = size;
    return PB_OK;
}

/* Fills the reader up to `wanted`; READ_FRAME here means: that much is there. */
static enum pb_status fill(struct pb_frame_reader *reader, int fd, enum pb_frame_read *result_out,
                           struct pb_error *err)
{
    while (reader->filled < reader->wanted) {
        ssize_t got = read(fd, reader->bytes + reader->filled, reader->wanted - reader->filled);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            *result_out = PB_READ_WAIT;
            return PB_OK;
        }
        if (got < 0)
            return pb_fail(err, PB_IO, "cannot read a frame: %s", strerror(errno));
        if (got == 0 && reader->filled > 0)
            return pb_fail(err, PB_CORRUPT, "the stream ends inside a frame, after %zu bytes of it",
                           reader->filled);
        if (got == 0) {
            *result_out = PB_READ_END;
            return PB_OK;
        }
        reader->filled += (size_t)got;
    }
    *result_out = PB_READ_FRAME;
    return PB_OK;
}

enum pb_status pb_frame_read(struct pb_frame_reader *reader, int fd, struct pb_frame *frame_out,
                             enum pb_frame_read *result_out, struct pb_error *err)
{
    struct header header;
    enum pb_frame_read result;
    enum pb_status status;

    if (reader->wanted > 0 && reader->filled == reader->wanted)
        reader->filled = reader->wanted = 0; /* the frame given out before */
    if (reader->wanted == 0)
        reader->wanted = PB_FRAME_HEADER_SIZE;
    status = reserve(reader, reader->wanted, err);
    if (status == PB_OK)
        status = fill(reader, fd, &result, err);
    if (status != PB_OK)
        return status;
    if (result == PB_READ_FRAME) {
        status = decode_header(reader->bytes, &header, err);
        if (status != PB_OK)
            return status;
        reader->wanted = PB_FRAME_HEADER_SIZE + header.message_size + header.body_size;
        status = reserve(reader, reader->wanted, err);
        if (status == PB_OK)
            status = fill(reader, fd, &result, err);
        if (status == PB_OK && result == PB_READ_FRAME)
            status = decode_content(&header, reader->bytes + PB_FRAME_HEADER_SIZE, frame_out, err);
        if (status != PB_OK)
            return status;
    }
    *result_out = result;
    return PB_OK;
}

const void *pb_frame_reader_bytes(const struct pb_frame_reader *reader, size_t *size_out)
{
    *size_out = reader->filled;
    return reader->bytes;
}

void pb_frame_reader_clear(struct pb_frame_reader *reader)
{
    if (reader == NULL)
        return;
    free(reader->bytes);
    memset(reader, 0, sizeof(*reader));
}
