/* Spools: a torn end costs the torn frame, a damaged frame itself, and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/spool.h"
#include "run/unit.h"

enum { FRAMES = 3 };

struct fixture {
    char dir[64], path[128];
    size_t sizes[FRAMES]; /* of the packed frames */
};

static int make_spool(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct pb_spool *spool;

    snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/plumb-spool-XXXXXX");
    if (mkdtemp(fixture->dir) == NULL)
        return -1;
    if (pb_spool_path(fixture->dir, 7, fixture->path, sizeof(fixture->path), NULL) != PB_OK ||
        pb_spool_open(fixture->dir, 7, false, &spool, NULL) != PB_OK)
        return -1;
    for (int i = 0; i < FRAMES; i++) {
        const char text[] = "0123456789";
        const struct pb_frame frame = {PB_FRAME_TEST, "{}", text, (size_t)(i + 1) * 3};
        void *bytes;

        if (pb_frame_pack(&frame, &bytes, &fixture->sizes[i], NULL) != PB_OK ||
            pb_spool_append(spool, bytes, fixture->sizes[i], true, NULL) != PB_OK)
            return -1;
        free(bytes);
    }
    pb_spool_close(spool);
    *state = fixture;
    return 0;
}

static int remove_spool(void **state)
{
    struct fixture *fixture = *state;

    pb_spool_remove(fixture->dir, 7);
    free(fixture);
    return 0;
}

static enum pb_status sum_bodies(void *context, const struct pb_frame *frame, const void *bytes,
                                 size_t size, struct pb_error *err)
{
    (void)bytes, (void)size, (void)err;
    *(size_t *)context += frame->body_size;
    return PB_OK;
}

static struct pb_spool_end read_spool(const char *path, size_t *sum_out)
{
    const struct pb_spool_visitor visitor = {sum_bodies, sum_out};
    struct pb_spool_end end;

    *sum_out = 0;
    assert_int_equal(pb_spool_read(path, &visitor, &end, NULL), PB_OK);
    return end;
}

static void test_spool__gives_every_frame_back(void **state)
{
    struct fixture *fixture = *state;
    size_t sum;
    struct pb_spool_end end = read_spool(fixture->path, &sum);

    assert_int_equal(end.frame_count, FRAMES);
    assert_int_equal(sum, 3 + 6 + 9);
    assert_int_equal(end.end_bytes, end.file_bytes);
    assert_string_equal(end.reason, "");
}

static void test_spool__torn_at_any_byte_keeps_the_frames_before(void **state)
{
    struct fixture *fixture = *state;
    size_t whole = fixture->sizes[0] + fixture->sizes[1], sum;

    for (size_t torn = fixture->sizes[2] - 1; torn > 0; torn--) {
        struct pb_spool_end end;

        assert_int_equal(truncate(fixture->path, (off_t)(whole + torn)), 0);
        end = read_spool(fixture->path, &sum);
        assert_int_equal(end.frame_count, 2);
        assert_int_equal(sum, 3 + 6);
        assert_int_equal(end.end_bytes, whole);
        assert_int_equal(end.file_bytes, whole + torn);
        assert_non_null(strstr(end.reason, "inside a frame"));
    }
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x10, file);
    fclose(file);
}

static void test_spool__damaged_content_costs_that_frame_only(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool_end end;
    size_t sum;

    flip(fixture->path, (long)fixture->sizes[0] + PB_FRAME_HEADER_SIZE + 1);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, 2);
    assert_int_equal(end.damaged_count, 1);
    assert_int_equal(sum, 3 + 9);
}

static void test_spool__damaged_header_ends_it(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool_end end;
    size_t sum;

    flip(fixture->path, (long)fixture->sizes[0] + 9);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, 1);
    assert_int_equal(end.end_bytes, fixture->sizes[0]);
    assert_non_null(strstr(end.reason, "checksum"));
}

static void test_spool__appending_cuts_the_torn_end_off(void **state)
{
    struct fixture *fixture = *state;
    const struct pb_frame done = {.type = PB_FRAME_DONE};
    struct pb_spool *spool;
    struct pb_spool_end end;
    size_t size, sum;
    void *bytes;

    assert_int_equal(truncate(fixture->path, (off_t)(fixture->sizes[0] + 5)), 0);
    assert_int_equal(pb_spool_open(fixture->dir, 7, true, &spool, NULL), PB_OK);
    assert_int_equal(pb_frame_pack(&done, &bytes, &size, NULL), PB_OK);
    assert_int_equal(pb_spool_append(spool, bytes, size, false, NULL), PB_OK);
    pb_spool_close(spool);
    free(bytes);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, 2);
    assert_int_equal(end.end_bytes, fixture->sizes[0] + size);
}

static void test_spool__existing_is_not_overwritten(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool *spool = NULL;

    assert_int_equal(pb_spool_open(fixture->dir, 7, false, &spool, NULL), PB_EXISTS);
    assert_null(spool);
}

static void test_spool__foreign_file_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool *spool = NULL;
    struct stat found;
    FILE *file = fopen(fixture->path, "w");

    assert_non_null(file);
    fputs("somebody's notes, longer than the header of a frame is", file);
    fclose(file);
    assert_int_equal(pb_spool_open(fixture->dir, 7, true, &spool, NULL), PB_INVALID);
    assert_null(spool);
    assert_int_equal(stat(fixture->path, &found), 0);
    assert_int_equal(found.st_size, 54);
}

static void test_spool__folder_lists_its_files_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool *spool;
    char **paths;
    size_t count;

    assert_int_equal(pb_spool_open(fixture->dir, 2, false, &spool, NULL), PB_OK);
    pb_spool_close(spool);
    assert_int_equal(pb_spool_list(fixture->dir, &paths, &count, NULL), PB_OK);
    assert_int_equal(count, 2);
    assert_non_null(strstr(paths[0], "rank-00002.spool"));
    assert_string_equal(paths[1], fixture->path);
    pb_spool_free_list(paths, count);
    pb_spool_remove(fixture->dir, 2);
}

int main(void)
{
#define SPOOL_TEST(test) cmocka_unit_test_setup_teardown(test, make_spool, remove_spool)
    const struct CMUnitTest tests[] = {
        SPOOL_TEST(test_spool__gives_every_frame_back),
        SPOOL_TEST(test_spool__torn_at_any_byte_keeps_the_frames_before),
        SPOOL_TEST(test_spool__damaged_content_costs_that_frame_only),
        SPOOL_TEST(test_spool__damaged_header_ends_it),
        SPOOL_TEST(test_spool__appending_cuts_the_torn_end_off),
        SPOOL_TEST(test_spool__existing_is_not_overwritten),
        SPOOL_TEST(test_spool__foreign_file_is_left_alone),
        SPOOL_TEST(test_spool__folder_lists_its_files_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
