/* Files that appear whole or not at all. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/atomic_file.h"

static const struct pb_atomic_file_kind kind = {.name = "a text that begins with a",
                                                .opening = "a"};

/* Every case has a folder of its own, and works in it. */
static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/plumb-outlet-XXXXXX");

    *state = folder;
    return folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0 ? -1 : 0;
}

static int leave_folder(void **state)
{
    unlink("out");
    if (chdir("/") != 0 || rmdir(*state) != 0) /* anything left behind is a failure */
        return -1;
    free(*state);
    return 0;
}

static void write_file(const char *text)
{
    FILE *file = fopen("out", "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_file(const char *expected)
{
    char text[64] = "";
    FILE *file = fopen("out", "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static struct pb_atomic_file *open_and_write(const char *text)
{
    struct pb_atomic_file *output = NULL;

    assert_int_equal(pb_atomic_file_open("out", &kind, &output, NULL), PB_OK);
    fputs(text, pb_atomic_file_stream(output));
    return output;
}

static void test_atomic_file__committed_text_is_whole(void **state)
{
    struct pb_atomic_file *output = open_and_write("apple");

    (void)state;
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(pb_atomic_file_commit(output, NULL), PB_OK);
    assert_file("apple");
}

static void test_atomic_file__old_text_stays_until_the_commit(void **state)
{
    struct pb_atomic_file *output;

    (void)state;
    write_file("ant");
    output = open_and_write("apple");
    assert_int_equal(pb_atomic_file_flush(output, NULL), PB_OK);
    assert_file("ant");
    assert_int_equal(pb_atomic_file_commit(output, NULL), PB_OK);
    assert_file("apple");
}

static void test_atomic_file__abandoned_leaves_the_old_text(void **state)
{
    (void)state;
    write_file("ant");
    pb_atomic_file_abandon(open_and_write("apple"));
    pb_atomic_file_abandon(NULL);
    assert_file("ant");
}

static void test_atomic_file__file_of_another_kind_is_refused(void **state)
{
    struct pb_atomic_file *output = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    write_file("bee");
    assert_int_equal(pb_atomic_file_open("out", &kind, &output, &err), PB_EXISTS);
    assert_null(output);
    assert_non_null(strstr(err.message, "a text that begins with a"));
    assert_file("bee");
}

static void test_atomic_file__empty_file_may_be_replaced(void **state)
{
    (void)state;
    write_file("");
    assert_int_equal(pb_atomic_file_commit(open_and_write("apple"), NULL), PB_OK);
    assert_file("apple");
}

/* What it had written goes with the next one: a folder with anything left is a failure. */
static void test_atomic_file__killed_writer_leaves_nothing_for_long(void **state)
{
    pid_t writer = fork();

    (void)state;
    if (writer == 0) {
        struct pb_atomic_file *output = open_and_write("apricot");

        pb_atomic_file_flush(output, NULL);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_int_equal(pb_atomic_file_commit(open_and_write("apple"), NULL), PB_OK);
    assert_file("apple");
}

static void test_atomic_file__missing_folder_is_refused(void **state)
{
    struct pb_atomic_file *output = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_atomic_file_open("nowhere/out", &kind, &output, &err), PB_IO);
    assert_non_null(strstr(err.message, "nowhere/out"));
    assert_null(output);
}

static void test_atomic_file__full_disk_is_noticed(void **state)
{
    struct pb_atomic_file *output = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(pb_atomic_file_open("/dev/full", &kind, &output, NULL), PB_OK);
    fputs("apple", pb_atomic_file_stream(output));
    assert_int_equal(pb_atomic_file_commit(output, &err), PB_IO);
    assert_non_null(strstr(err.message, "/dev/full"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_atomic_file__committed_text_is_whole),
        CASE(test_atomic_file__old_text_stays_until_the_commit),
        CASE(test_atomic_file__abandoned_leaves_the_old_text),
        CASE(test_atomic_file__file_of_another_kind_is_refused),
        CASE(test_atomic_file__empty_file_may_be_replaced),
        CASE(test_atomic_file__killed_writer_leaves_nothing_for_long),
        CASE(test_atomic_file__missing_folder_is_refused),
        CASE(test_atomic_file__full_disk_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
