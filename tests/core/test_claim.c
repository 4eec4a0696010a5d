/* One owner at a time: a living one is named, a dead one replaced, a superseded one finds out. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/claim.h"
#include "core/partial.h"

static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/plumb-claim-XXXXXX");

    *state = folder;
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_RESTART_COUNT");
    return folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0 ? -1 : 0;
}

/* Nothing but what a case has removed itself may be left. */
static int leave_folder(void **state)
{
    unlink(".out.owner-1");
    unlink(".out.owner-2");
    if (chdir("/") != 0 || rmdir(*state) != 0)
        return -1;
    free(*state);
    return 0;
}

static void test_claim__released_leaves_nothing(void **state)
{
    struct pb_claim *claim;

    (void)state;
    assert_int_equal(pb_claim_take("out", "test", &claim, NULL), PB_OK);
    assert_int_equal(access(".out.owner-1", F_OK), 0);
    assert_int_equal(pb_claim_check(claim, NULL), PB_OK);
    pb_claim_release(claim);
    assert_int_not_equal(access(".out.owner-1", F_OK), 0);
}

static void test_claim__second_hears_who_holds_it(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_claim *claim, *second = NULL;
    char pid[32];

    (void)state;
    assert_int_equal(pb_claim_take("out", "first-program", &claim, NULL), PB_OK);
    assert_int_equal(pb_claim_take("out", "second-program", &second, &err), PB_EXISTS);
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(err.message, "first-program"));
    assert_non_null(strstr(err.message, pid));
    assert_null(second);
    assert_int_equal(pb_claim_check(claim, NULL), PB_OK);
    pb_claim_release(claim);
}

/* Leaves the claim of a process that was killed. */
static void leave_dead_owner(void)
{
    pid_t child = fork();
    int how;

    if (child == 0) {
        struct pb_claim *claim;

        _exit(pb_claim_take("out", "dead", &claim, NULL) == PB_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void test_claim__dead_owner_is_replaced_at_once(void **state)
{
    struct pb_claim *claim;

    (void)state;
    leave_dead_owner();
    assert_int_equal(access(".out.owner-1", F_OK), 0);
    assert_int_equal(pb_claim_take("out", "test", &claim, NULL), PB_OK);
    assert_int_equal(access(".out.owner-2", F_OK), 0);
    assert_int_not_equal(access(".out.owner-1", F_OK), 0);
    pb_claim_release(claim);
}

/* Slurm requeued the job while the first start of it, this process, still lives. */
/*
 * Killed while it took over: its owner file stands, under both of its names, beside that of its
 * predecessor, who must not be the owner again when the next one has come.
 */
static void test_claim__killed_while_taking_over_leaves_nothing_behind(void **state)
{
    struct pb_claim *claim, *first;
    char where[PB_WHERE_LENGTH], name[128];

    (void)state;
    pb_partial_where(where);
    snprintf(name, sizeof(name), "..out.owner-2.partial-%s999999999", where);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_RESTART_COUNT", "0", 1);
    assert_int_equal(pb_claim_take("out", "first", &first, NULL), PB_OK);
    setenv("SLURM_RESTART_COUNT", "1", 1);
    leave_dead_owner();
    assert_int_equal(link(".out.owner-2", name), 0);
    assert_int_equal(close(open(".out.owner-1", O_WRONLY | O_CREAT, 0666)), 0);
    setenv("SLURM_RESTART_COUNT", "2", 1);
    assert_int_equal(pb_claim_take("out", "third", &claim, NULL), PB_OK);
    assert_int_equal(pb_claim_check(first, NULL), PB_EXISTS);
    assert_int_not_equal(access(".out.owner-1", F_OK), 0);
    assert_int_not_equal(access(".out.owner-2", F_OK), 0);
    assert_int_not_equal(access(name, F_OK), 0);
    pb_claim_release(first);
    pb_claim_release(claim);
    assert_int_not_equal(access(".out.owner-3", F_OK), 0);
}

static void test_claim__requeued_job_takes_over_and_the_old_start_finds_out(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_claim *old, *claim;

    (void)state;
    setenv("SLURM_JOB_ID", "77", 1);
    assert_int_equal(pb_claim_take("out", "old", &old, NULL), PB_OK);
    setenv("SLURM_RESTART_COUNT", "1", 1);
    assert_int_equal(pb_claim_take("out", "new", &claim, NULL), PB_OK);
    assert_int_equal(pb_claim_check(old, &err), PB_EXISTS);
    assert_non_null(strstr(err.message, "taken over by new"));
    assert_non_null(strstr(err.message, "Slurm job 77"));
    pb_claim_release(old); /* removes nothing of the new owner's */
    assert_int_equal(pb_claim_check(claim, NULL), PB_OK);
    pb_claim_release(claim);
}

static void test_claim__another_job_does_not_take_over(void **state)
{
    struct pb_claim *claim, *second = NULL;

    (void)state;
    setenv("SLURM_JOB_ID", "77", 1);
    assert_int_equal(pb_claim_take("out", "old", &claim, NULL), PB_OK);
    setenv("SLURM_JOB_ID", "78", 1);
    setenv("SLURM_RESTART_COUNT", "5", 1);
    assert_int_equal(pb_claim_take("out", "new", &second, NULL), PB_EXISTS);
    pb_claim_release(claim);
}

static void write_owner(const char *where)
{
    FILE *file = fopen(".out.owner-1", "w");

    assert_non_null(file);
    fprintf(file, "program far\nhost elsewhere\nwhere %s\npid 5\n", where);
    assert_int_equal(fclose(file), 0);
}

/* Its silence is all that can be known of it. */
static void test_claim__silent_owner_elsewhere_is_replaced(void **state)
{
    struct pb_claim *claim;

    (void)state;
    write_owner("another-boot-");
    assert_int_equal(pb_claim_take("out", "test", &claim, NULL), PB_OK);
    assert_int_equal(access(".out.owner-2", F_OK), 0);
    pb_claim_release(claim);
}

static void test_claim__renewing_owner_elsewhere_is_alive(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_claim *claim = NULL;
    pid_t child;

    (void)state;
    write_owner("another-boot-");
    child = fork();
    if (child == 0) {
        for (;;) {
            usleep(200000);
            utimensat(AT_FDCWD, ".out.owner-1", NULL, 0);
        }
    }
    assert_int_equal(pb_claim_take("out", "test", &claim, &err), PB_EXISTS);
    assert_non_null(strstr(err.message, "far, process 5 on elsewhere"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_claim__owner_file_that_is_a_link_is_not_followed(void **state)
{
    struct pb_claim *claim = NULL;

    (void)state;
    assert_int_equal(symlink("/dev/zero", ".out.owner-1"), 0);
    assert_int_equal(pb_claim_take("out", "test", &claim, NULL), PB_OK); /* silent: nobody */
    pb_claim_release(claim);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_claim__released_leaves_nothing),
        CASE(test_claim__second_hears_who_holds_it),
        CASE(test_claim__dead_owner_is_replaced_at_once),
        CASE(test_claim__killed_while_taking_over_leaves_nothing_behind),
        CASE(test_claim__requeued_job_takes_over_and_the_old_start_finds_out),
        CASE(test_claim__another_job_does_not_take_over),
        CASE(test_claim__silent_owner_elsewhere_is_replaced),
        CASE(test_claim__renewing_owner_elsewhere_is_alive),
        CASE(test_claim__owner_file_that_is_a_link_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
