/* Numbers in order, and loads outstanding played once for bursts of all lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/sort.h"
#include "analysis/throughput/outstanding.h"

enum { MOST = 3000 };

/* The same numbers at every call: of several signs and sizes, few or many different ones. */
static void draw(double *values, size_t count, unsigned different)
{
    uint32_t state = 1;

    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = ((double)(state >> 8 & 0xffff) - 30000.0) / 8.0;
        if (different > 0)
            values[i] = fmod(values[i], different);
    }
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static void check(size_t count, unsigned different)
{
    static double values[MOST], expected[MOST];
    double median;

    draw(values, count, different);
    memcpy(expected, values, sizeof(values));
    qsort(expected, count, sizeof(double), compare);
    median = (expected[(count - 1) / 2] + expected[count / 2]) / 2.0;
    assert_true(pb_median(values, count) == median);
    draw(values, count, different);
    pb_sort(values, count);
    for (size_t i = 0; i < count; i++)
        assert_true(values[i] == expected[i]);
}

static void test_sort__few_and_many_numbers_are_in_order(void **state)
{
    (void)state;
    for (size_t count = 1; count < MOST; count += 1 + count / 7)
        for (unsigned different = 0; different < 40; different += 13)
            check(count, different);
}

static void test_sort__extremes_are_numbers_too(void **state)
{
    double values[100];

    (void)state;
    for (size_t i = 0; i < 100; i++)
        values[i] = i % 3 == 0 ? INFINITY : i % 3 == 1 ? -INFINITY : -5e-324 * (double)i;
    pb_sort(values, 100);
    assert_true(values[0] == -INFINITY && values[32] == -INFINITY);
    assert_true(values[33] == -5e-324 * 98.0 && values[65] == -5e-324 * 2.0);
    assert_true(values[66] == INFINITY && values[99] == INFINITY);
}

/* Ascending, descending, all the same, an organ pipe: orders that trap a bad choice of pivots. */
static void test_median__orders_that_are_traps(void **state)
{
    static double values[MOST];

    (void)state;
    for (size_t i = 0; i < MOST; i++)
        values[i] = (double)(i < MOST / 2 ? i : MOST - i);
    assert_true(pb_median(values, MOST) == 750.0);
    for (size_t i = 0; i < MOST; i++)
        values[i] = (double)(MOST - i);
    assert_true(pb_median(values, MOST) == 1500.5);
    for (size_t i = 0; i < MOST; i++)
        values[i] = 7.0;
    assert_true(pb_median(values, MOST) == 7.0);
}

/* Load by load, as the rules say it; for comparison only. */
static double play_slowly(unsigned per_warp, unsigned per_sm, unsigned warps, unsigned loads)
{
    static double back[64 * 64];
    double now = 0.0, last = 0.0;

    for (unsigned i = 0; i < warps * loads; i++) {
        unsigned sent = i / warps;

        if (sent >= per_warp) /* the warp's load before so many must be back */
            now = fmax(now, back[i - per_warp * warps]);
        if (i >= per_sm)
            now = fmax(now, back[i - per_sm]);
        back[i] = last = now + 300.0;
        now += 2.25;
    }
    return last;
}

static void test_flight__a_burst_is_the_beginning_of_a_longer_one(void **state)
{
    static const unsigned limits[][2] = {{1, 512}, {6, 512}, {64, 64}, {6, 20}, {64, 1}, {3, 7}};
    struct pb_outstanding *outstanding = calloc(1, sizeof(*outstanding));
    double last[PB_OUTSTANDING_LOADS_MAX];

    (void)state;
    assert_non_null(outstanding);
    outstanding->latency = 300.0;
    outstanding->issue = 2.25;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        outstanding->per_warp = limits[i][0];
        outstanding->per_sm = limits[i][1];
        for (unsigned warps = 1; warps <= PB_OUTSTANDING_WARPS_MAX; warps *= 4) {
            pb_outstanding_simulate(outstanding, warps, PB_OUTSTANDING_LOADS_MAX, last);
            for (unsigned loads = 1; loads <= PB_OUTSTANDING_LOADS_MAX; loads++)
                assert_true(last[loads - 1] ==
                            play_slowly(limits[i][0], limits[i][1], warps, loads));
        }
    }
    free(outstanding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort__few_and_many_numbers_are_in_order),
        cmocka_unit_test(test_sort__extremes_are_numbers_too),
        cmocka_unit_test(test_median__orders_that_are_traps),
        cmocka_unit_test(test_flight__a_burst_is_the_beginning_of_a_longer_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
