/* Processes that answer by pipes. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/worker.h"

enum { ANSWERS = 11 };

/* Every so-many'th number, in order; worker `dies` ends by a signal. */
struct job {
    size_t workers, dies;
};

static void answer(void *context, size_t number, int pipe)
{
    const struct job *job = context;

    if (number == job->dies)
        raise(SIGKILL);
    for (size_t i = number; i < ANSWERS; i += job->workers)
        pb_worker_send(pipe, &i, sizeof(i));
}

static void test_worker__any_number_of_workers_gives_the_same_answers(void **state)
{
    (void)state;
    for (size_t count = 1; count <= ANSWERS + 2; count++) {
        struct job job = {count, SIZE_MAX};
        struct pb_worker workers[ANSWERS + 2];
        struct pb_error err = PB_ERROR_INIT;

        for (size_t i = 0; i < count; i++)
            assert_int_equal(pb_worker_start(workers, i, answer, &job, &err), PB_OK);
        for (size_t i = 0; i < ANSWERS; i++) {
            size_t found = SIZE_MAX;

            assert_int_equal(pb_worker_receive(&workers[i % count], &found, sizeof(found), &err),
                             PB_OK);
            assert_int_equal(found, i);
        }
        for (size_t i = 0; i < count; i++)
            pb_worker_stop(&workers[i]);
    }
}

static void test_worker__one_that_has_no_answer_is_an_error(void **state)
{
    struct job job = {1, SIZE_MAX};
    struct pb_worker worker;
    struct pb_error err = PB_ERROR_INIT;
    size_t found = 0;

    (void)state;
    assert_int_equal(pb_worker_start(&worker, 0, answer, &job, &err), PB_OK);
    for (size_t i = 0; i < ANSWERS; i++)
        assert_int_equal(pb_worker_receive(&worker, &found, sizeof(found), &err), PB_OK);
    assert_int_equal(pb_worker_receive(&worker, &found, sizeof(found), &err), PB_IO);
    assert_non_null(strstr(err.message, "no answer"));
    pb_worker_stop(&worker);
}

static void test_worker__dead_worker_is_noticed(void **state)
{
    struct job job = {3, 1};
    struct pb_worker workers[3];
    struct pb_error err = PB_ERROR_INIT;
    size_t found;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pb_worker_start(workers, i, answer, &job, &err), PB_OK);
    assert_int_equal(pb_worker_receive(&workers[0], &found, sizeof(found), &err), PB_OK);
    assert_int_equal(pb_worker_receive(&workers[1], &found, sizeof(found), &err), PB_IO);
    assert_non_null(strstr(err.message, "worker ended by signal 9"));
    for (size_t i = 0; i < 3; i++)
        pb_worker_stop(&workers[i]);
}

/* A job's share of a node, not all of the node. */
static void test_worker__processors_are_those_that_it_may_run_on(void **state)
{
    cpu_set_t all, one;
    size_t first = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(pb_worker_processors(), CPU_COUNT(&all));
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(pb_worker_processors(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker__any_number_of_workers_gives_the_same_answers),
        cmocka_unit_test(test_worker__one_that_has_no_answer_is_an_error),
        cmocka_unit_test(test_worker__dead_worker_is_noticed),
        cmocka_unit_test(test_worker__processors_are_those_that_it_may_run_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
