/* One sheet filled by several processes is the sheet that one would have filled. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/outliers_share.h"
#include "cli/worker.h"

enum { DEVICES = 11 };

/* Device i has its own number, and every third has one that others lack. */
static enum pb_status add_device(struct pb_sheet *sheet, size_t i, struct pb_error *err)
{
    static const struct pb_metric common = {.name = "common", .unit = "ns"};
    static const struct pb_metric rare = {.name = "rare", .unit = "byte"};
    struct pb_subject subject = {.rank = (int64_t)i};
    struct pb_reading cell = {100.0 + (double)i, 0.5, (int64_t)i};
    size_t row;
    enum pb_status status;

    snprintf(subject.key, sizeof(subject.key), "n1.gpu%zu", i);
    status = pb_sheet_add_subject(sheet, &subject, &row, err);
    if (status == PB_OK && i % 3 == 0)
        status = pb_sheet_set(sheet, row, &rare, cell, err);
    if (status == PB_OK)
        status = pb_sheet_set(sheet, row, &common, cell, err);
    return status;
}

static enum pb_status fill(void *context, size_t worker, size_t workers, struct pb_sheet *sheet,
                           struct pb_error *err)
{
    enum pb_status status = PB_OK;

    (void)context;
    for (size_t i = worker; i < DEVICES && status == PB_OK; i += workers)
        status = add_device(sheet, i, err);
    return status;
}

static void test_share__any_number_of_workers_fills_the_same_sheet(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= DEVICES + 2; workers++) {
        struct pb_sheet sheet = {0};

        assert_int_equal(pb_share_fill(workers, fill, NULL, &sheet, NULL), PB_OK);
        assert_int_equal(sheet.subject_count, DEVICES);
        assert_int_equal(sheet.metric_count, 2);
        for (size_t i = 0; i < DEVICES; i++) {
            struct pb_reading common = pb_sheet_cell(&sheet, i, pb_sheet_find(&sheet, "common"));
            struct pb_reading rare = pb_sheet_cell(&sheet, i, pb_sheet_find(&sheet, "rare"));

            assert_int_equal(sheet.subjects[i].rank, i);
            assert_true(common.value == 100.0 + (double)i && common.noise == 0.5);
            assert_int_equal(common.place, i);
            assert_int_equal(isnan(rare.value), i % 3 != 0);
        }
        pb_sheet_clear(&sheet);
    }
}

static enum pb_status fail_in_two(void *context, size_t worker, size_t workers,
                                  struct pb_sheet *sheet, struct pb_error *err)
{
    if (worker == 2 % workers)
        return pb_fail(err, PB_CORRUPT, "device %zu is torn", worker);
    return fill(context, worker, workers, sheet, err);
}

static void test_share__what_a_worker_could_not_do_is_said_in_its_words(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= 4; workers += 3) {
        struct pb_sheet sheet = {0};
        struct pb_error err = PB_ERROR_INIT;

        assert_int_equal(pb_share_fill(workers, fail_in_two, NULL, &sheet, &err), PB_CORRUPT);
        assert_non_null(strstr(err.message, "is torn"));
        pb_sheet_clear(&sheet);
    }
}

static enum pb_status die_in_one(void *context, size_t worker, size_t workers,
                                 struct pb_sheet *sheet, struct pb_error *err)
{
    if (worker == 1)
        raise(SIGKILL);
    return fill(context, worker, workers, sheet, err);
}

static void test_share__dead_worker_is_noticed(void **state)
{
    struct pb_sheet sheet = {0};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_share_fill(3, die_in_one, NULL, &sheet, &err), PB_IO);
    assert_non_null(strstr(err.message, "worker ended by signal 9"));
    pb_sheet_clear(&sheet);
}

/* A job's share of a node, not all of the node. */
static void test_share__processors_are_those_that_it_may_run_on(void **state)
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
        cmocka_unit_test(test_share__any_number_of_workers_fills_the_same_sheet),
        cmocka_unit_test(test_share__what_a_worker_could_not_do_is_said_in_its_words),
        cmocka_unit_test(test_share__dead_worker_is_noticed),
        cmocka_unit_test(test_share__processors_are_those_that_it_may_run_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
