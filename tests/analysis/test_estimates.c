/* What is built of the blocks: one latency from many accesses, hits and misses, banks from strides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/confidence.h"
#include "analysis/statistics/classes.h"
#include "analysis/statistics/latency.h"
#include "analysis/statistics/sample.h"
#include "analysis/synthetic.h"
#include "analysis/throughput/banks.h"

/* Adds `count` accesses of `cycles` to a sample. */
static void add_kind(struct pb_sample *sample, struct synthetic_noise *noise, uint32_t cycles,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pb_sample_add(sample, synthetic_latency(noise, cycles), NULL), PB_OK);
}

static struct synthetic_noise noise_of(uint32_t jitter, double spikes)
{
    return (struct synthetic_noise){0, jitter, spikes, 300, 42};
}

static void test_latency__sharp_takes_the_lower_edge(void **state)
{
    struct synthetic_noise noise = noise_of(2, 1e-3);
    struct pb_sample sample = {0}, passes = {0};
    struct pb_latency_estimate latency;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_latency_estimate(&sample, &passes, &latency, &err), PB_NOT_FOUND);
    add_kind(&sample, &noise, 96, 2000);
    assert_int_equal(pb_sample_add(&passes, 96.4, &err), PB_OK);
    assert_int_equal(pb_latency_estimate(&sample, &passes, &latency, &err), PB_OK);
    assert_int_equal(latency.rule, PB_LATENCY_EDGE);
    assert_true(latency.passes_agree);
    assert_float_equal(latency.cycles.value, 96, 0);
    assert_true(latency.cycles.low <= 96 && latency.cycles.high >= 96.4);
    assert_float_equal(pb_votes_confidence(&latency.votes), 10.0 / 11.0, 1e-12);

    passes.values[0] = 99;
    assert_int_equal(pb_latency_estimate(&sample, &passes, &latency, &err), PB_OK);
    assert_false(latency.passes_agree);
    assert_true(latency.cycles.high >= 99);
    assert_true(pb_votes_confidence(&latency.votes) < 0.51);
    pb_sample_clear(&passes);
    pb_sample_clear(&sample);
}

static void test_latency__spread_takes_the_median_with_an_interval(void **state)
{
    struct synthetic_noise noise = noise_of(60, 0);
    struct pb_sample sample = {0}, passes = {0};
    struct pb_latency_estimate latency;

    (void)state;
    add_kind(&sample, &noise, 240, 4000);
    assert_int_equal(pb_latency_estimate(&sample, &passes, &latency, NULL), PB_OK);
    assert_int_equal(latency.rule, PB_LATENCY_MEDIAN);
    assert_float_equal(latency.cycles.value, 270, 3);
    assert_true(latency.cycles.low < latency.cycles.value);
    assert_true(latency.cycles.high > latency.cycles.value);
    pb_sample_clear(&sample);
}

static void test_banks_ways__are_those_of_m16(void **state)
{
    (void)state;
    for (uint32_t stride = 1; stride < 64; stride += 2)
        assert_int_equal(pb_banks_ways(32, 4, 32, stride), 1);
    assert_int_equal(pb_banks_ways(32, 4, 32, 0), 1);
    assert_int_equal(pb_banks_ways(32, 4, 32, 2), 2);
    assert_int_equal(pb_banks_ways(32, 4, 32, 48), 16);
    assert_int_equal(pb_banks_ways(32, 4, 32, 64), 32);
    /* Kepler, 8-byte mode: no conflict at strides 2 and 6, 2-way at 4, 32-way at 64 */
    assert_int_equal(pb_banks_ways(32, 8, 32, 2), 1);
    assert_int_equal(pb_banks_ways(32, 8, 32, 6), 1);
    assert_int_equal(pb_banks_ways(32, 8, 32, 4), 2);
    assert_int_equal(pb_banks_ways(32, 8, 32, 64), 32);
}

/* Strides 0 … 64 of a device of this shape, 10 cycles a way. */
static void fill_strides(struct pb_bank_stride *strides, uint32_t banks, uint32_t bank_bytes)
{
    for (uint64_t i = 0; i <= 64; i++)
        strides[i] =
            (struct pb_bank_stride){i, 20 + 10 * pb_banks_ways(banks, bank_bytes, 32, i), 0, 0};
}

static void test_banks_fit__distinguishes_shapes(void **state)
{
    static const uint32_t shapes[][2] = {{32, 4}, {32, 8},  {16, 4}, {64, 4},
                                         {16, 8}, {32, 16}, {1, 4},  {1024, 4}};
    struct pb_bank_stride strides[65];
    struct pb_banks banks;

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        fill_strides(strides, shapes[i][0], shapes[i][1]);
        assert_int_equal(pb_banks_fit(strides, 65, 32, &banks, NULL), PB_OK);
        assert_int_equal(banks.alike[0].banks, shapes[i][0]);
        assert_int_equal(banks.alike[0].bank_bytes, shapes[i][1]);
        assert_int_equal(banks.explained, 65);
        if (shapes[i][0] == 1 || shapes[i][0] == 1024) /* of few costs: others are as likely */
            assert_true(banks.alike_count > 1);
        else
            assert_int_equal(banks.alike_count, 1);
    }
}

static bool is_alike(const struct pb_banks *banks, uint32_t number, uint32_t bank_bytes)
{
    for (size_t i = 0; i < banks->alike_count; i++)
        if (banks->alike[i].banks == number && banks->alike[i].bank_bytes == bank_bytes)
            return true;
    return false;
}

/* Two rows of a bank at once, or no more than so many one after the other: 32 banks all the same.
 */
static void test_banks_fit__rows_may_be_served_together(void **state)
{
    static const uint32_t limits[][2] = {{2, 32}, {8, 32}, {1, 16}, {1, 8}};
    struct pb_bank_stride strides[65];
    struct pb_banks banks;

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        for (uint64_t k = 0; k <= 64; k++) {
            uint32_t ways = pb_banks_ways(32, 4, 32, k);

            ways = ways < limits[i][0] ? limits[i][0] : ways > limits[i][1] ? limits[i][1] : ways;
            strides[k] = (struct pb_bank_stride){k, 20 + 10 * ways, 0, 0};
        }
        assert_int_equal(pb_banks_fit(strides, 65, 32, &banks, NULL), PB_OK);
        assert_true(is_alike(&banks, 32, 4));
        assert_int_equal(banks.alike[0].banks, 32);
    }
}

/* 32 banks whose conflicts begin with a cycle, as noise of several cycles leaves the medians. */
static void test_banks_fit__noise_widens_the_range(void **state)
{
    struct pb_bank_stride strides[65];
    struct pb_banks banks;
    uint32_t chance = 7;

    (void)state;
    for (uint64_t i = 0; i <= 64; i++) {
        double ways = pb_banks_ways(32, 4, 32, i);

        chance = chance * 1664525 + 1013904223;
        strides[i] = (struct pb_bank_stride){i, 46 + ways + (chance >> 16) % 9 - 4.0, 4, 0};
    }
    assert_int_equal(pb_banks_fit(strides, 65, 32, &banks, NULL), PB_OK);
    assert_true(banks.alike_count > 1);
    assert_true(is_alike(&banks, 32, 4));
    assert_int_equal(banks.alike[0].banks, 32);
}

/* 32 banks whose conflicts take one time, of however many ways, and noise of a few cycles. */
static void test_banks_fit__conflicts_of_one_cost_leave_the_number_open(void **state)
{
    struct pb_bank_stride strides[65];
    struct pb_banks banks;
    uint32_t chance = 7;

    (void)state;
    for (uint64_t i = 0; i <= 64; i++) {
        double cycles = pb_banks_ways(32, 4, 32, i) > 1 ? 49 : 22;

        chance = chance * 1664525 + 1013904223;
        strides[i] = (struct pb_bank_stride){i, cycles + (chance >> 16) % 3 / 2.0, 1, 0};
    }
    assert_int_equal(pb_banks_fit(strides, 65, 32, &banks, NULL), PB_OK);
    assert_true(is_alike(&banks, 2, 4));
    assert_true(is_alike(&banks, 32, 4));
    assert_int_equal(banks.alike[0].banks, 32);
}

/* Noise alone, of which one stride seems slow: no number of banks predicts that. */
static void test_banks_fit__noise_alone_is_not_found(void **state)
{
    struct pb_bank_stride strides[65];
    struct pb_banks banks;
    struct pb_error err = PB_ERROR_INIT;
    uint32_t chance = 7;

    (void)state;
    for (uint64_t i = 0; i <= 64; i++) {
        chance = chance * 1664525 + 1013904223;
        strides[i] = (struct pb_bank_stride){i, 50 + (chance >> 16) % 9 - 4.0, 4, 0};
    }
    strides[20].cycles += 20;
    assert_int_equal(pb_banks_fit(strides, 65, 32, &banks, &err), PB_NOT_FOUND);
    assert_non_null(strstr(err.message, "not observable"));
}

static void test_banks_fit__powers_of_two_alone_leave_rivals(void **state)
{
    static const uint64_t words[] = {1, 2, 4, 8, 16, 32};
    struct pb_bank_stride strides[6];
    struct pb_banks banks;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        strides[i] = (struct pb_bank_stride){words[i], 20.0 + 10.0 * (double)words[i], 0, 0};
    assert_int_equal(pb_banks_fit(strides, 6, 32, &banks, NULL), PB_OK);
    assert_int_equal(banks.alike[0].banks, 32); /* one for every lane */
    assert_int_equal(banks.alike[0].bank_bytes, 4);
    assert_true(banks.alike_count > 1);
}

static void test_banks_fit__no_conflict_is_not_found(void **state)
{
    struct pb_bank_stride strides[65];
    struct pb_banks banks;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (uint64_t i = 0; i <= 64; i++)
        strides[i] = (struct pb_bank_stride){i, 30, 0, 0};
    assert_int_equal(pb_banks_fit(strides, 65, 32, &banks, &err), PB_NOT_FOUND);
    assert_string_equal(err.message,
                        "not observable: none of 65 strides takes longer than another");
}

/* Misses that take five cycles more than hits, which differ by three among themselves. */
static void test_classes__misses_close_to_hits_are_none(void **state)
{
    struct synthetic_noise noise = noise_of(3, 0.0);
    struct pb_sample hits = {NULL, 0, 0}, misses = {NULL, 0, 0};
    struct pb_classes classes;

    (void)state;
    add_kind(&hits, &noise, 34, 512);
    add_kind(&misses, &noise, 39, 512);
    assert_int_equal(pb_classes_find(&hits, &misses, &classes, NULL), PB_OK);
    for (double cycles = 34.0; cycles <= 37.0; cycles++)
        assert_true(pb_band_holds(classes.hit, cycles) && !pb_band_holds(classes.miss, cycles));
    for (double cycles = 39.0; cycles <= 42.0; cycles++)
        assert_true(pb_band_holds(classes.miss, cycles) && !pb_band_holds(classes.hit, cycles));
    pb_sample_clear(&misses);
    pb_sample_clear(&hits);
}

/* Loads of 30 cycles, of which every second one of a burst takes up to 400 more. */
static void test_classes__a_burst_tells_how_many_hits_look_like_misses(void **state)
{
    enum { LOADS = 2000, BURST = 800 };
    static uint32_t latency[LOADS];
    struct synthetic_noise noise = noise_of(0, 0.0);
    struct pb_classes classes = {{28, 32}, {200, 300}};
    struct pb_accesses chase = {.latency_cycles = latency, .count = LOADS};
    double seen = 0.0;

    (void)state;
    for (size_t i = 0; i < LOADS; i++)
        latency[i] = 30;
    assert_float_equal(pb_classes_expect_noise(&classes, &chase), 0, 0);
    for (size_t i = 0; i < BURST; i++) {
        latency[i] += i % 2 == 0 ? (uint32_t)synthetic_random(&noise, 400) : 0;
        seen += latency[i] >= 200 && latency[i] <= 300;
    }
    assert_float_equal(pb_classes_expect_noise(&classes, &chase), seen, 0.5 * seen);
    for (size_t i = 0; i < LOADS; i++) /* hits that lack their translation are no burst */
        latency[i] = i < BURST ? 120 : 30;
    assert_float_equal(pb_classes_expect_noise(&classes, &chase), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency__sharp_takes_the_lower_edge),
        cmocka_unit_test(test_latency__spread_takes_the_median_with_an_interval),
        cmocka_unit_test(test_classes__misses_close_to_hits_are_none),
        cmocka_unit_test(test_classes__a_burst_tells_how_many_hits_look_like_misses),
        cmocka_unit_test(test_banks_ways__are_those_of_m16),
        cmocka_unit_test(test_banks_fit__distinguishes_shapes),
        cmocka_unit_test(test_banks_fit__rows_may_be_served_together),
        cmocka_unit_test(test_banks_fit__noise_widens_the_range),
        cmocka_unit_test(test_banks_fit__conflicts_of_one_cost_leave_the_number_open),
        cmocka_unit_test(test_banks_fit__noise_alone_is_not_found),
        cmocka_unit_test(test_banks_fit__powers_of_two_alone_leave_rivals),
        cmocka_unit_test(test_banks_fit__no_conflict_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
