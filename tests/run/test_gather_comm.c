/*
 * The ranks' exchanges when memory is short: to be run by mpirun as two ranks.
 *
 * Allocations of the code under test pass through here, by the linker's
 * --wrap: the next one can be made to fail, and what was not freed is seen without a sanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/gather_comm.h"
#include "run/ranks.h"

/* The wrapped functions get no context: what they share is this one. */
static struct {
    bool fail_next;
    void *last; /* allocated and not freed again */
} memory;

void *__real_calloc(size_t count, size_t size); /* NOLINT: the linker's names */
void __real_free(void *block);                  /* NOLINT */
void *__wrap_calloc(size_t count, size_t size); /* NOLINT */
void __wrap_free(void *block);                  /* NOLINT */

void *__wrap_calloc(size_t count, size_t size)
{
    bool fails = memory.fail_next;

    memory.fail_next = false;
    if (fails)
        return NULL;
    memory.last = __real_calloc(count, size);
    return memory.last;
}

void __wrap_free(void *block)
{
    if (block == memory.last)
        memory.last = NULL;
    __real_free(block);
}

static int start_case(void **state)
{
    (void)state;
    memory.fail_next = false;
    memory.last = NULL;
    return 0;
}

static void test_collect__gives_rank_zero_what_all_have(void **state)
{
    int mine = 10 + my_rank();
    void *all = NULL;

    (void)state;
    assert_int_equal(pb_comm_collect(&mine, sizeof(mine), &all, NULL), PB_OK);
    if (my_rank() == 0) {
        const int *numbers = all;

        assert_int_equal(numbers[0], 10);
        assert_int_equal(numbers[1], 11);
    } else {
        assert_null(all);
    }
    free(all);
}

static void test_collect__no_memory_at_rank_zero_is_reported_to_all(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    int mine = my_rank();
    void *all = NULL;

    (void)state;
    memory.fail_next = my_rank() == 0;
    assert_int_equal(pb_comm_collect(&mine, sizeof(mine), &all, &err), PB_NO_MEMORY);
    assert_string_equal(err.message, "out of memory allocating the reports of 2 ranks");
    assert_null(all);
}

/* A rank that cannot make its report says so where the others agree to exchange theirs. */
static void test_collect__another_rank_without_memory_leaves_nothing_behind(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    int mine = my_rank();
    void *all = NULL;

    (void)state;
    if (my_rank() == 1) {
        pb_fail(&err, PB_NO_MEMORY, "no memory for a report");
        assert_int_equal(pb_comm_agree(PB_NO_MEMORY, &err), PB_NO_MEMORY);
        return;
    }
    assert_int_equal(pb_comm_collect(&mine, sizeof(mine), &all, &err), PB_NO_MEMORY);
    assert_string_equal(err.message, "no memory for a report");
    assert_null(all);
    assert_null(memory.last);
}

static const struct pb_ledger_entry entry = {
    .key = "h.gpu1", .uuid = "GPU-b", .model = "T0", .test = "l2_capacity", .end = {PB_TEST_OK, 0}};

static void test_share_ledger__no_memory_at_one_rank_is_reported_to_all(void **state)
{
    struct pb_ledger found = {NULL, 0, 0}, ledger = {NULL, 0, 0};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    if (my_rank() == 0)
        assert_int_equal(pb_ledger_append(&found, &entry, NULL), PB_OK);
    memory.fail_next = my_rank() == 1;
    assert_int_equal(pb_comm_share_ledger(&found, "h.gpu1", &ledger, &err), PB_NO_MEMORY);
    assert_non_null(strstr(err.message, "out of memory"));
    pb_ledger_clear(&found);
    pb_ledger_clear(&ledger);
}

/* More than one block of them, and each rank gets what is about its own device. */
static void test_share_ledger__each_rank_has_what_concerns_its_device(void **state)
{
    struct pb_ledger found = {NULL, 0, 0}, ledger = {NULL, 0, 0};
    struct pb_ledger_entry other = entry;

    (void)state;
    for (int i = 0; my_rank() == 1 && i < 600; i++) {
        snprintf(other.key, sizeof(other.key), "h.gpu%d", i);
        assert_int_equal(pb_ledger_append(&found, &other, NULL), PB_OK);
    }
    assert_int_equal(pb_comm_collect_ledger(&found, NULL), PB_OK);
    assert_int_equal(found.count, 600);
    assert_int_equal(
        pb_comm_share_ledger(&found, my_rank() == 0 ? "h.gpu1" : "h.gpu599", &ledger, NULL), PB_OK);
    assert_int_equal(ledger.count, 1);
    assert_true(pb_ledger_is_done(&ledger, my_rank() == 0 ? "h.gpu1" : "h.gpu599", "GPU-b",
                                  "l2_capacity", 1));
    pb_ledger_clear(&found);
    pb_ledger_clear(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_collect__gives_rank_zero_what_all_have, start_case),
        cmocka_unit_test_setup(test_collect__no_memory_at_rank_zero_is_reported_to_all, start_case),
        cmocka_unit_test_setup(test_collect__another_rank_without_memory_leaves_nothing_behind,
                               start_case),
        cmocka_unit_test_setup(test_share_ledger__no_memory_at_one_rank_is_reported_to_all,
                               start_case),
        cmocka_unit_test_setup(test_share_ledger__each_rank_has_what_concerns_its_device,
                               start_case),
    };
    int failed;

    if (!ranks_begin())
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
