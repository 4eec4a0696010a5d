/* What killed writers leave beside a fleet file: the next writer removes it, and nothing else. */
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/sample.h"

/* A process that has begun to write path, and waits. */
static pid_t start_writer(const char *path)
{
    struct pb_run run = {.run_id = "r"};
    struct pb_fleet *fleet;
    int ends[2];
    char word;
    pid_t writer;

    assert_int_equal(pipe(ends), 0);
    writer = fork();
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        if (pb_fleet_create(path, &run, &fleet, NULL) == PB_OK)
            (void)!write(ends[1], "w", 1);
        pause();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &word, 1), 1);
    close(ends[0]);
    return writer;
}

static void kill_writer(pid_t writer)
{
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

/* How many files there are under path's temporary names; name_out: the first of them. */
static size_t count_partial(const char *path, char name_out[256])
{
    const char *slash = strrchr(path, '/');
    char pattern[256];
    size_t count;
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%.*s/.%s.partial-*", (int)(slash - path), path, slash + 1);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    count = found.gl_pathc;
    snprintf(name_out, 256, "%s", found.gl_pathv[0]);
    globfree(&found);
    return count;
}

static void create_and_abandon(const char *path)
{
    struct pb_run run = {.run_id = "r"};
    struct pb_fleet *fleet;

    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    pb_fleet_abandon(fleet);
}

static void test_partial__killed_writers_leave_nothing_for_long(void **state)
{
    struct pb_parameter_row row = {.number = 16384, .confidence = 1};
    const char *path = sample_in_folder("left.h5");
    char name[256];

    (void)state;
    kill_writer(start_writer(path));
    assert_int_equal(count_partial(path, name), 1);
    create_and_abandon(path);
    assert_int_equal(count_partial(path, name), 0);

    kill_writer(start_writer(path));
    sample_write_fleet(path, "n1.gpu2");
    assert_int_equal(count_partial(path, name), 0);
    kill_writer(start_writer(path));
    PB_TEXT_SET(row.device, "n1.gpu2");
    assert_int_equal(pb_file_write_parameters(path, &row, 1, NULL), PB_OK);
    assert_int_equal(count_partial(path, name), 0);
}

/* Processes of containers have few PIDs: the next one may well have that of the killed one. */
static void test_partial__own_pid_is_that_of_a_killed_writer(void **state)
{
    const char *path = sample_in_folder("own.h5");
    char name[256], own[300];

    (void)state;
    kill_writer(start_writer(path));
    assert_int_equal(count_partial(path, name), 1);
    snprintf(own, sizeof(own), "%.*s-%ld", (int)(strrchr(name, '-') - name), name, (long)getpid());
    assert_int_equal(rename(name, own), 0);
    create_and_abandon(path);
    assert_int_equal(count_partial(path, name), 0);
}

static void test_partial__living_writers_keep_theirs(void **state)
{
    const char *path = sample_in_folder("alive.h5");
    pid_t writer = start_writer(path);
    char name[256];

    (void)state;
    create_and_abandon(path);
    assert_int_equal(count_partial(path, name), 1);
    kill_writer(writer);
}

/* Renames what a killed writer has left, by one letter: nothing here can know its writer then. */
static void check_elsewhere(const char *path, size_t (*place)(const char *name))
{
    char name[256], other[256];
    size_t at;

    kill_writer(start_writer(path));
    assert_int_equal(count_partial(path, name), 1);
    memcpy(other, name, sizeof(other));
    at = place(name);
    other[at] = name[at] == 'e' ? 'f' : 'e';
    assert_int_equal(rename(name, other), 0);
    create_and_abandon(path);
    assert_int_equal(count_partial(path, name), 1);
    assert_string_equal(name, other);
    assert_int_equal(unlink(name), 0);
}

static size_t boot_at(const char *name)
{
    return (size_t)(strstr(name, ".partial-") - name) + strlen(".partial-");
}

static size_t namespace_at(const char *name)
{
    return (size_t)(strrchr(name, '-') - name) - 1;
}

static size_t pid_at(const char *name)
{
    return strlen(name) - 1;
}

static void test_partial__writers_elsewhere_keep_theirs(void **state)
{
    const char *path = sample_in_folder("elsewhere.h5");

    (void)state;
    check_elsewhere(path, boot_at);
    check_elsewhere(path, namespace_at);
    check_elsewhere(path, pid_at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partial__killed_writers_leave_nothing_for_long),
        cmocka_unit_test(test_partial__own_pid_is_that_of_a_killed_writer),
        cmocka_unit_test(test_partial__living_writers_keep_theirs),
        cmocka_unit_test(test_partial__writers_elsewhere_keep_theirs),
    };

    return cmocka_run_group_tests(tests, sample_make_folder, sample_remove_folder);
}
