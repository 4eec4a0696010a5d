/* Frames: whole ones pass through pipes and memory, anything else is refused. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/checksum.h"
#include "run/frame.h"
#include "run/unit.h"

static const char body_text[] = "an image, as far as a frame is concerned";
static const struct pb_frame sample = {PB_FRAME_TEST, "{\"test\":\"l1\"}", body_text,
                                       sizeof(body_text), 0};

static void *pack_sample(size_t *size_out)
{
    void *bytes;

    assert_int_equal(pb_frame_pack(&sample, &bytes, size_out, NULL), PB_OK);
    return bytes;
}

static void assert_is_sample(const struct pb_frame *frame)
{
    assert_int_equal(frame->type, sample.type);
    assert_string_equal(frame->message, sample.message);
    assert_int_equal(frame->body_size, sample.body_size);
    assert_memory_equal(frame->body, sample.body, sample.body_size);
}

static void test_frame__comes_back_as_it_was_packed(void **state)
{
    size_t size;
    void *bytes = pack_sample(&size);
    struct pb_frame frame;

    (void)state;
    assert_int_equal(size, PB_FRAME_HEADER_SIZE + strlen(sample.message) + 1 + sizeof(body_text));
    assert_int_equal(pb_frame_unpack(bytes, size, &frame, NULL), PB_OK);
    assert_is_sample(&frame);
    free(bytes);
}

static void test_frame__without_message_and_body_is_a_header(void **state)
{
    const struct pb_frame done = {.type = PB_FRAME_DONE};
    struct pb_frame frame;
    size_t size;
    void *bytes;

    (void)state;
    assert_int_equal(pb_frame_pack(&done, &bytes, &size, NULL), PB_OK);
    assert_int_equal(size, PB_FRAME_HEADER_SIZE);
    assert_int_equal(pb_frame_unpack(bytes, size, &frame, NULL), PB_OK);
    assert_int_equal(frame.type, PB_FRAME_DONE);
    assert_null(frame.message);
    assert_null(frame.body);
    free(bytes);
}

static void test_frame__every_flipped_bit_is_refused(void **state)
{
    size_t size;
    unsigned char *bytes = pack_sample(&size);
    struct pb_frame frame;

    (void)state;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        assert_int_equal(pb_frame_unpack(bytes, size, &frame, NULL), PB_CORRUPT);
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    assert_int_equal(pb_frame_unpack(bytes, size, &frame, NULL), PB_OK);
    free(bytes);
}

static void test_frame__every_shorter_length_is_refused(void **state)
{
    size_t size;
    void *bytes = pack_sample(&size);
    struct pb_frame frame;

    (void)state;
    for (size_t part = 0; part < size; part++)
        assert_int_equal(pb_frame_unpack(bytes, part, &frame, NULL), PB_CORRUPT);
    free(bytes);
}

/* A header that is sound but claims more than a frame may hold, or a type of the future. */
static void test_frame__sound_header_with_wild_claims_is_refused(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
    } claims[] = {{11, 0x40}, {19, 0x80}, {23, 0x01}, {6, 99}, {6, 0}, {4, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        size_t size;
        unsigned char *bytes = pack_sample(&size);
        struct pb_error err = PB_ERROR_INIT;
        struct pb_frame frame;
        uint32_t sum;

        bytes[claims[i].at] = claims[i].value;
        sum = pb_checksum(0, bytes, 28);
        for (int j = 0; j < 4; j++)
            bytes[28 + j] = (unsigned char)(sum >> (8 * j));
        assert_int_equal(pb_frame_unpack(bytes, size, &frame, &err), PB_CORRUPT);
        assert_non_null(strstr(err.message, "frame"));
        assert_null(strstr(err.message, "header's checksum"));
        free(bytes);
    }
}

static void test_frame__too_large_is_not_packed(void **state)
{
    const struct pb_frame large = {PB_FRAME_TEST, NULL, body_text, (size_t)PB_FRAME_BODY_MAX + 1,
                                   0};
    void *bytes = NULL;
    size_t size;

    (void)state;
    assert_int_equal(pb_frame_pack(&large, &bytes, &size, NULL), PB_INVALID);
    assert_null(bytes);
}

/* A pipe whose reading end does not block. */
static void open_pipe(int fds[2])
{
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
}

static void test_reader__takes_a_frame_byte_by_byte(void **state)
{
    struct pb_frame_reader reader = {NULL, 0, 0, 0};
    enum pb_frame_read result;
    struct pb_frame frame;
    size_t size;
    char *bytes = pack_sample(&size);
    int fds[2];

    (void)state;
    open_pipe(fds);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, NULL), PB_OK);
        assert_int_equal(result, PB_READ_WAIT);
        assert_int_equal(write(fds[1], bytes + i, 1), 1);
    }
    assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, NULL), PB_OK);
    assert_int_equal(result, PB_READ_FRAME);
    assert_is_sample(&frame);
    close(fds[1]);
    assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, NULL), PB_OK);
    assert_int_equal(result, PB_READ_END);
    close(fds[0]);
    pb_frame_reader_clear(&reader);
    free(bytes);
}

static void test_reader__keeps_two_frames_apart(void **state)
{
    const struct pb_frame start = {PB_FRAME_START, "{}", NULL, 0, 0};
    struct pb_frame_reader reader = {NULL, 0, 0, 0};
    enum pb_frame_read result;
    struct pb_frame frame;
    int fds[2];

    (void)state;
    open_pipe(fds);
    assert_int_equal(pb_frame_write(fds[1], &sample, NULL), PB_OK);
    assert_int_equal(pb_frame_write(fds[1], &start, NULL), PB_OK);
    close(fds[1]);
    assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, NULL), PB_OK);
    assert_is_sample(&frame);
    assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, NULL), PB_OK);
    assert_int_equal(result, PB_READ_FRAME);
    assert_int_equal(frame.type, PB_FRAME_START);
    close(fds[0]);
    pb_frame_reader_clear(&reader);
}

static void test_reader__end_inside_a_frame_is_refused(void **state)
{
    size_t size;
    char *bytes = pack_sample(&size);

    (void)state;
    for (size_t part = 1; part < size; part++) {
        struct pb_frame_reader reader = {NULL, 0, 0, 0};
        struct pb_error err = PB_ERROR_INIT;
        enum pb_frame_read result;
        struct pb_frame frame;
        int fds[2];

        open_pipe(fds);
        assert_int_equal(write(fds[1], bytes, part), part);
        close(fds[1]);
        assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, &err), PB_CORRUPT);
        assert_non_null(strstr(err.message, "ends inside a frame"));
        close(fds[0]);
        pb_frame_reader_clear(&reader);
    }
    free(bytes);
}

static void test_reader__garbage_is_named(void **state)
{
    struct pb_frame_reader reader = {NULL, 0, 0, 0};
    static const char text[] = "Segmentation fault (core dumped), sorry about that";
    struct pb_error err = PB_ERROR_INIT;
    enum pb_frame_read result;
    struct pb_frame frame;
    int fds[2];

    (void)state;
    open_pipe(fds);
    assert_int_equal(write(fds[1], text, sizeof(text)), sizeof(text));
    assert_int_equal(pb_frame_read(&reader, fds[0], &frame, &result, &err), PB_CORRUPT);
    assert_string_equal(err.message, "expected a frame, found bytes 53 65 67 6d");
    close(fds[0]);
    close(fds[1]);
    pb_frame_reader_clear(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame__comes_back_as_it_was_packed),
        cmocka_unit_test(test_frame__without_message_and_body_is_a_header),
        cmocka_unit_test(test_frame__every_flipped_bit_is_refused),
        cmocka_unit_test(test_frame__every_shorter_length_is_refused),
        cmocka_unit_test(test_frame__sound_header_with_wild_claims_is_refused),
        cmocka_unit_test(test_frame__too_large_is_not_packed),
        cmocka_unit_test(test_reader__takes_a_frame_byte_by_byte),
        cmocka_unit_test(test_reader__keeps_two_frames_apart),
        cmocka_unit_test(test_reader__end_inside_a_frame_is_refused),
        cmocka_unit_test(test_reader__garbage_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
