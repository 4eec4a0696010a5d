/* Outstanding misses: the next one waits for the oldest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/model/mshr.h"

static struct pb_model_mshr *make(size_t per_sm, size_t per_warp)
{
    struct pb_model_mshr *mshr = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_model_mshr_create(per_sm, per_warp, 4, &mshr, &err), PB_OK);
    return mshr;
}

static void add(struct pb_model_mshr *mshr, size_t warp, double ready_time)
{
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_model_mshr_add(mshr, warp, ready_time, &err), PB_OK);
}

static void test_mshr__a_full_sm_waits_for_the_first_to_arrive(void **state)
{
    struct pb_model_mshr *mshr = make(2, 0);

    (void)state;
    assert_true(pb_model_mshr_wait(mshr, 0, 1.0) == 1.0);
    add(mshr, 0, 300.0);
    assert_true(pb_model_mshr_wait(mshr, 1, 2.0) == 2.0);
    add(mshr, 1, 200.0);
    assert_true(pb_model_mshr_wait(mshr, 2, 3.0) == 200.0);
    assert_int_equal(pb_model_mshr_count(mshr), 1);
    assert_int_equal(pb_model_mshr_count_of(mshr, 0), 1);
    add(mshr, 2, 500.0);
    assert_true(pb_model_mshr_wait(mshr, 0, 600.0) == 600.0);
    assert_int_equal(pb_model_mshr_count(mshr), 0);
    pb_model_mshr_destroy(mshr);
}

static void test_mshr__a_warp_waits_for_its_own(void **state)
{
    struct pb_model_mshr *mshr = make(0, 1);

    (void)state;
    add(mshr, 0, 300.0);
    add(mshr, 1, 200.0);
    assert_true(pb_model_mshr_wait(mshr, 2, 1.0) == 1.0);
    assert_true(pb_model_mshr_wait(mshr, 0, 2.0) == 300.0);
    pb_model_mshr_clear(mshr);
    assert_int_equal(pb_model_mshr_count_of(mshr, 0), 0);
    pb_model_mshr_destroy(mshr);
}

static void test_mshr__arrivals_come_in_order(void **state)
{
    enum { MISSES = 1000 };
    struct pb_model_mshr *mshr = make(MISSES, 0);
    double last = 0.0;
    unsigned random = 1;

    (void)state;
    for (int i = 0; i < MISSES; i++) {
        random = random * 1664525u + 1013904223u;
        add(mshr, (size_t)i % 4, 1.0 + (double)(random >> 12));
    }
    for (int i = 0; i < MISSES; i++) { /* each wait takes one of them away */
        double time = pb_model_mshr_wait(mshr, 0, 0.0);

        assert_true(time >= last && time <= 0x1p20);
        assert_int_equal(pb_model_mshr_count(mshr), MISSES - 1);
        add(mshr, 0, 1e9);
        last = time;
    }
    assert_true(pb_model_mshr_wait(mshr, 0, 0.0) == 1e9);
    pb_model_mshr_destroy(mshr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mshr__a_full_sm_waits_for_the_first_to_arrive),
        cmocka_unit_test(test_mshr__a_warp_waits_for_its_own),
        cmocka_unit_test(test_mshr__arrivals_come_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
