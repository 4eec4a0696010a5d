/* A file gets its name only when its bytes are on the disk, and the folder's after that. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/partial.h"

/* What was called: f a file synced, d a folder synced, r renamed. The linker leads calls here. */
static char calls[8];
static int sync_error; /* of a file; 0: none */

int __wrap_fsync(int descriptor);
int __wrap_rename(const char *from, const char *to);
int __real_rename(const char *from, const char *to);

static void note(char call)
{
    size_t length = strlen(calls);

    assert_true(length + 1 < sizeof(calls));
    calls[length] = call;
}

int __wrap_fsync(int descriptor)
{
    struct stat about;

    assert_int_equal(fstat(descriptor, &about), 0);
    note(S_ISDIR(about.st_mode) ? 'd' : 'f');
    if (S_ISDIR(about.st_mode) || sync_error == 0)
        return 0;
    errno = sync_error;
    return -1;
}

int __wrap_rename(const char *from, const char *to)
{
    note('r');
    return __real_rename(from, to);
}

/* The file "new", on its way to "out". */
static struct pb_partial partial_of(const char *path)
{
    struct pb_partial partial;

    assert_int_equal(pb_partial_prepare(path, &partial, NULL), PB_OK);
    snprintf(partial.name, sizeof(partial.name), "new");
    return partial;
}

static enum pb_status place(const char *path, struct pb_error *err)
{
    struct pb_partial partial = partial_of(path);

    return pb_partial_place(&partial, err);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *path, const char *expected)
{
    char text[16] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

/* Every case has a folder of its own with an old file and a new one, and works in it. */
static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/plumb-place-XXXXXX");

    *state = folder;
    if (folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    write_file("out", "old");
    write_file("new", "new");
    memset(calls, 0, sizeof(calls));
    sync_error = 0;
    return 0;
}

static int leave_folder(void **state)
{
    unlink("out");
    unlink("new");
    if (chdir("/") != 0 || rmdir(*state) != 0)
        return -1;
    free(*state);
    return 0;
}

static void test_place__bytes_are_on_the_disk_before_the_name(void **state)
{
    (void)state;
    assert_int_equal(place("out", NULL), PB_OK);
    assert_string_equal(calls, "frd");
    assert_file("out", "new");
}

static void test_place__what_the_disk_does_not_take_leaves_the_old_file(void **state)
{
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    sync_error = EIO;
    assert_int_equal(place("out", &err), PB_IO);
    assert_string_equal(calls, "f");
    assert_non_null(strstr(err.message, "out: cannot be written"));
    assert_file("out", "old");
    assert_file("new", "new");
}

/* A pipe's file system, say. */
static void test_place__nothing_to_write_back_is_no_error(void **state)
{
    (void)state;
    sync_error = EINVAL;
    assert_int_equal(place("out", NULL), PB_OK);
    assert_file("out", "new");
}

static void test_place__link_stays_and_its_file_is_replaced(void **state)
{
    struct stat about;

    (void)state;
    assert_int_equal(symlink("out", "link"), 0);
    assert_int_equal(place("link", NULL), PB_OK);
    assert_file("out", "new");
    assert_int_equal(lstat("link", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    unlink("link");
}

static void test_place__link_to_nothing_is_refused(void **state)
{
    struct pb_partial partial;

    (void)state;
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_int_equal(pb_partial_prepare("link", &partial, NULL), PB_INVALID);
    unlink("link");
}

/* Somebody else's link by the name of the partial file must not have its target truncated. */
static void test_place__link_in_the_partials_place_is_not_followed(void **state)
{
    struct pb_partial partial;

    (void)state;
    assert_int_equal(pb_partial_prepare("out", &partial, NULL), PB_OK);
    assert_int_equal(symlink("new", partial.name), 0);
    assert_int_equal(pb_partial_create(&partial, 0666), -1);
    assert_file("new", "new");
    unlink(partial.name);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_place__bytes_are_on_the_disk_before_the_name),
        CASE(test_place__what_the_disk_does_not_take_leaves_the_old_file),
        CASE(test_place__nothing_to_write_back_is_no_error),
        CASE(test_place__link_stays_and_its_file_is_replaced),
        CASE(test_place__link_to_nothing_is_refused),
        CASE(test_place__link_in_the_partials_place_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
