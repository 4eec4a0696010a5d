/* Spools: damage costs what it hits, late writers are refused, a full disk only delays. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
    if (pb_spool_path(fixture->dir, 7, 1, fixture->path, sizeof(fixture->path), NULL) != PB_OK ||
        pb_spool_open(fixture->dir, 7, 1, &spool, NULL) != PB_OK)
        return -1;
    for (int i = 0; i < FRAMES; i++) {
        const char text[] = "0123456789";
        const struct pb_frame frame = {PB_FRAME_TEST, "{}", text, (size_t)(i + 1) * 3, 0};
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

    pb_spool_remove(fixture->dir, 7, 1);
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
    struct pb_spool_file file;
    struct pb_spool_end end;

    *sum_out = 0;
    assert_int_equal(pb_spool_find(path, &file, NULL), PB_OK);
    assert_int_equal(pb_spool_read(&file, &visitor, &end, NULL), PB_OK);
    pb_spool_file_clear(&file);
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

/* Every byte of a frame, header or content: what follows it is found again. */
static void test_spool__flipped_byte_costs_its_frame_only(void **state)
{
    struct fixture *fixture = *state;

    for (size_t at = 0; at < fixture->sizes[1]; at++) {
        struct pb_spool_end end;
        size_t sum;

        flip(fixture->path, (long)(fixture->sizes[0] + at));
        end = read_spool(fixture->path, &sum);
        assert_int_equal(end.frame_count, 2);
        assert_int_equal(end.damaged_count, 1);
        assert_int_equal(end.end_bytes, end.file_bytes);
        assert_int_equal(sum, 3 + 9);
        flip(fixture->path, (long)(fixture->sizes[0] + at));
    }
}

/* A frame cut short in the middle of the file, as after a write whose rest was never made up. */
static void test_spool__frame_after_a_torn_one_counts(void **state)
{
    struct fixture *fixture = *state;
    const struct pb_frame late = {PB_FRAME_TEST, "{}", "ab", 2, 1};
    struct pb_spool_end end;
    size_t size, sum;
    void *bytes;
    FILE *file;

    assert_int_equal(truncate(fixture->path, (off_t)(fixture->sizes[0] + fixture->sizes[1] - 4)),
                     0);
    assert_int_equal(pb_frame_pack(&late, &bytes, &size, NULL), PB_OK);
    file = fopen(fixture->path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, 2);
    assert_int_equal(sum, 3 + 2);
}

static void test_spool__frame_of_another_epoch_is_refused(void **state)
{
    struct fixture *fixture = *state;
    const struct pb_frame other = {PB_FRAME_TEST, "{}", "ab", 2, 2};
    struct pb_spool_end end;
    size_t size, sum;
    void *bytes;
    FILE *file;

    assert_int_equal(pb_frame_pack(&other, &bytes, &size, NULL), PB_OK);
    file = fopen(fixture->path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, FRAMES);
    assert_int_equal(end.late_count, 1);
    assert_int_equal(sum, 3 + 6 + 9);
}

/* A spool of before there were epochs. */
static void test_spool__frames_without_an_epoch_count(void **state)
{
    struct fixture *fixture = *state;
    const struct pb_frame old = {PB_FRAME_TEST, "{}", "ab", 2, 0};
    struct pb_spool_end end;
    size_t size, sum;
    void *bytes;
    FILE *file;

    assert_int_equal(pb_frame_pack(&old, &bytes, &size, NULL), PB_OK);
    file = fopen(fixture->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, 1);
    assert_int_equal(sum, 2);
}

/* A full disk, by a limit on the file's size: what waits in memory comes when there is room. */
static void test_spool__what_a_full_disk_refuses_is_written_later(void **state)
{
    struct fixture *fixture = *state;
    const char text[] = "0123456789";
    const struct pb_frame frame = {PB_FRAME_TEST, "{}", text, sizeof(text), 0};
    const struct rlimit small = {PB_FRAME_HEADER_SIZE + 9, RLIM_INFINITY},
                        none = {RLIM_INFINITY, RLIM_INFINITY};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_spool *spool;
    struct pb_spool_end end;
    char path[128];
    size_t size, sum;
    void *bytes;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(pb_spool_path(fixture->dir, 7, 2, path, sizeof(path), NULL), PB_OK);
    assert_int_equal(pb_spool_open(fixture->dir, 7, 2, &spool, NULL), PB_OK);
    assert_int_equal(pb_frame_pack(&frame, &bytes, &size, NULL), PB_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(pb_spool_append(spool, bytes, size, true, &err), PB_IO);
    assert_non_null(strstr(err.message, "rank-00007.e2.spool"));
    assert_int_equal(pb_spool_append(spool, bytes, size, true, NULL), PB_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(pb_spool_append(spool, bytes, size, true, NULL), PB_OK);
    free(bytes);
    pb_spool_close(spool);
    end = read_spool(path, &sum);
    assert_int_equal(end.frame_count, 3);
    assert_int_equal(end.damaged_count, 0);
    pb_spool_remove(fixture->dir, 7, 2);
}

static void test_spool__existing_is_not_overwritten(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool *spool = NULL;

    assert_int_equal(pb_spool_open(fixture->dir, 7, 1, &spool, NULL), PB_EXISTS);
    assert_null(spool);
}

static void test_spool__foreign_file_has_no_frames(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool_end end;
    size_t sum;
    FILE *file = fopen(fixture->path, "w");

    assert_non_null(file);
    fputs("somebody's notes, longer than the header of a frame is", file);
    fclose(file);
    end = read_spool(fixture->path, &sum);
    assert_int_equal(end.frame_count, 0);
    assert_non_null(strstr(end.reason, "expected a frame"));
}

static void test_spool__folder_lists_its_files_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct pb_spool_files files;
    struct pb_spool *spool;

    assert_int_equal(pb_spool_open(fixture->dir, 2, 10, &spool, NULL), PB_OK);
    pb_spool_close(spool);
    assert_int_equal(pb_spool_open(fixture->dir, 2, 9, &spool, NULL), PB_OK);
    pb_spool_close(spool);
    assert_int_equal(pb_spool_list(fixture->dir, &files, NULL), PB_OK);
    assert_int_equal(files.count, 3);
    assert_non_null(strstr(files.items[0].path, "rank-00002.e9.spool"));
    assert_true(files.items[0].is_superseded);
    assert_int_equal(files.items[1].epoch, 10);
    assert_false(files.items[1].is_superseded);
    assert_string_equal(files.items[2].path, fixture->path);
    pb_spool_files_clear(&files);
    pb_spool_remove(fixture->dir, 2, 9);
    pb_spool_remove(fixture->dir, 2, 10);
}

int main(void)
{
#define SPOOL_TEST(test) cmocka_unit_test_setup_teardown(test, make_spool, remove_spool)
    const struct CMUnitTest tests[] = {
        SPOOL_TEST(test_spool__gives_every_frame_back),
        SPOOL_TEST(test_spool__torn_at_any_byte_keeps_the_frames_before),
        SPOOL_TEST(test_spool__damaged_content_costs_that_frame_only),
        SPOOL_TEST(test_spool__flipped_byte_costs_its_frame_only),
        SPOOL_TEST(test_spool__frame_after_a_torn_one_counts),
        SPOOL_TEST(test_spool__frame_of_another_epoch_is_refused),
        SPOOL_TEST(test_spool__frames_without_an_epoch_count),
        SPOOL_TEST(test_spool__what_a_full_disk_refuses_is_written_later),
        SPOOL_TEST(test_spool__existing_is_not_overwritten),
        SPOOL_TEST(test_spool__foreign_file_has_no_frames),
        SPOOL_TEST(test_spool__folder_lists_its_files_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
