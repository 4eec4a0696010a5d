/* The building blocks of the inference: samples, modes, intervals, slopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/confidence.h"
#include "analysis/statistics/modes.h"
#include "analysis/statistics/resample.h"
#include "analysis/statistics/sample.h"
#include "analysis/statistics/slope.h"
#include "analysis/synthetic.h"

enum { MODES_MAX = 16 };

static struct synthetic_noise noise_of(uint32_t jitter, double spikes)
{
    return (struct synthetic_noise){0, jitter, spikes, 300, 42};
}

/* Adds `count` accesses of `cycles` to a sample. */
static void add_kind(struct pb_sample *sample, struct synthetic_noise *noise, uint32_t cycles,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pb_sample_add(sample, synthetic_latency(noise, cycles), NULL), PB_OK);
}

static size_t modes_of(const struct pb_sample *sample, struct pb_mode *modes)
{
    struct pb_sample sorted;
    size_t count;

    assert_int_equal(pb_sample_sorted(sample, &sorted, NULL), PB_OK);
    count = pb_modes_find(sorted.values, sorted.count, MODES_MAX, modes);
    pb_sample_clear(&sorted);
    return count;
}

static void test_quantile__is_a_member_and_nan_when_empty(void **state)
{
    const double sorted[] = {1, 2, 4, 8};

    (void)state;
    assert_float_equal(pb_quantile(sorted, 4, 0.0), 1, 0);
    assert_float_equal(pb_quantile(sorted, 4, 1.0), 8, 0);
    assert_float_equal(pb_quantile(sorted, 4, 0.5), 4, 0);
    assert_float_equal(pb_quantile(sorted, 1, 0.3), 1, 0);
    assert_true(isnan(pb_quantile(sorted, 0, 0.5)));
}

static void test_sample_sorted__leaves_out_nan(void **state)
{
    double values[] = {3, NAN, 1};
    struct pb_sample sample = {values, 3, 3}, sorted;

    (void)state;
    assert_int_equal(pb_sample_sorted(&sample, &sorted, NULL), PB_OK);
    assert_int_equal(sorted.count, 2);
    assert_float_equal(sorted.values[0], 1, 0);
    pb_sample_clear(&sorted);
}

static void test_median_interval__covers_as_the_binomial_says(void **state)
{
    double sorted[100], low, high;

    (void)state;
    for (int i = 0; i < 100; i++)
        sorted[i] = i + 1;
    pb_median_interval(sorted, 100, 0.95, &low, &high);
    assert_float_equal(low, 41, 1.01); /* ranks 40 and 61: tables of the sign test */
    assert_float_equal(high, 60, 1.01);
    pb_median_interval(sorted, 1, 0.95, &low, &high);
    assert_float_equal(low, 1, 0);
    assert_float_equal(high, 1, 0);
}

static void test_probability_less__is_half_for_equals_and_one_for_lower(void **state)
{
    const double low[] = {1, 2, 2, 3}, high[] = {7, 8, 9};

    (void)state;
    assert_float_equal(pb_probability_less(low, 4, low, 4), 0.5, 1e-12);
    assert_float_equal(pb_probability_less(low, 4, high, 3), 1.0, 1e-12);
    assert_float_equal(pb_probability_less(high, 3, low, 4), 0.0, 1e-12);
    assert_true(isnan(pb_probability_less(low, 0, high, 3)));
}

static void test_modes__constant_is_one(void **state)
{
    struct synthetic_noise noise = noise_of(0, 0);
    struct pb_sample sample = {0};
    struct pb_mode modes[MODES_MAX];

    (void)state;
    assert_int_equal(modes_of(&sample, modes), 0);
    add_kind(&sample, &noise, 96, 1);
    assert_int_equal(modes_of(&sample, modes), 1);
    add_kind(&sample, &noise, 96, 4095);
    assert_int_equal(modes_of(&sample, modes), 1);
    assert_float_equal(modes[0].median, 96, 0);
    pb_sample_clear(&sample);
}

static void test_modes__jitter_does_not_split(void **state)
{
    (void)state;
    for (uint32_t jitter = 0; jitter <= 8; jitter++) {
        for (size_t count = 16; count <= 65536; count *= 8) {
            struct synthetic_noise noise = noise_of(jitter, 1e-3);
            struct pb_sample sample = {0};
            struct pb_mode modes[MODES_MAX];

            add_kind(&sample, &noise, 214, count);
            assert_int_equal(modes_of(&sample, modes), 1);
            assert_true(modes[0].band.high < 214 + 3 * jitter + 3);
            pb_sample_clear(&sample);
        }
    }
}

static void test_modes__four_kinds_with_spikes(void **state)
{
    static const uint32_t kinds[] = {198, 204, 257, 339}; /* M16's P1 to P4 of the GTX 780 */
    struct synthetic_noise noise = noise_of(2, 1e-3);
    struct pb_sample sample = {0};
    struct pb_mode modes[MODES_MAX];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        add_kind(&sample, &noise, kinds[i], 1000 + 500 * i);
    assert_int_equal(modes_of(&sample, modes), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(pb_band_holds(modes[i].band, kinds[i]));
        assert_int_equal(modes[i].median, kinds[i] + 1);
        assert_in_range(modes[i].count, 1000 + 500 * i - 5, 1000 + 500 * i + 5);
    }
    assert_ptr_equal(pb_modes_largest(modes, 4), &modes[3]);
    pb_sample_clear(&sample);
}

static void test_modes__broad_bells_are_two(void **state)
{
    struct synthetic_noise noise = noise_of(0, 0);
    struct pb_sample sample = {0};
    struct pb_mode modes[MODES_MAX];

    (void)state;
    for (size_t i = 0; i < 4000; i++) {
        uint32_t sum = i % 2 == 0 ? 204 : 357; /* the two halves of a large L2 */

        for (int j = 0; j < 6; j++)
            sum += (uint32_t)synthetic_random(&noise, 16);
        add_kind(&sample, &noise, sum, 1);
    }
    assert_int_equal(modes_of(&sample, modes), 2);
    assert_in_range((size_t)modes[0].median, 240, 258);
    assert_in_range((size_t)modes[1].median, 393, 411);
    pb_sample_clear(&sample);
}

/* Hits, of which one in 25 meets a spike: too few for a mode, and more than a band leaves out. */
static void test_modes__a_few_spikes_do_not_widen_the_band(void **state)
{
    struct synthetic_noise noise = noise_of(2, 0);
    struct pb_sample sample = {0};
    struct pb_mode modes[MODES_MAX];
    struct pb_band hits;

    (void)state;
    add_kind(&sample, &noise, 44, 490);
    add_kind(&sample, &noise, 3044, 21);
    add_kind(&sample, &noise, 6044, 1);
    hits = pb_modes_largest(modes, modes_of(&sample, modes))->band;
    assert_true(pb_band_holds(hits, 44) && pb_band_holds(hits, 46));
    assert_false(pb_band_holds(hits, 500));
    pb_sample_clear(&sample);
}

static void test_modes__bulk_leaves_an_outlying_mode_out(void **state)
{
    struct synthetic_noise noise = noise_of(1, 0);
    struct pb_sample sample = {0};
    struct pb_mode modes[MODES_MAX];
    struct pb_band bulk;

    (void)state;
    add_kind(&sample, &noise, 619, 1900);
    add_kind(&sample, &noise, 646, 100);
    assert_int_equal(modes_of(&sample, modes), 2);
    bulk = pb_modes_bulk(modes, 2, 0.9);
    assert_true(pb_band_holds(bulk, 620));
    assert_false(pb_band_holds(bulk, 646));
    bulk = pb_modes_bulk(modes, 2, 0.99);
    assert_true(pb_band_holds(bulk, 646));
    pb_sample_clear(&sample);
}

static void test_bootstrap_median__holds_the_median_and_narrows(void **state)
{
    struct synthetic_noise noise = noise_of(200, 0);
    struct pb_sample sample = {0};
    double low, high, wide;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_bootstrap_median(NULL, 0, 0.95, &low, &high, &err), PB_INVALID);
    add_kind(&sample, &noise, 500, 100);
    assert_int_equal(pb_bootstrap_median(sample.values, 100, 0.95, &low, &high, &err), PB_OK);
    assert_true(low <= 600 && high >= 600);
    wide = high - low;
    add_kind(&sample, &noise, 500, 10000);
    assert_int_equal(pb_bootstrap_median(sample.values, sample.count, 0.95, &low, &high, &err),
                     PB_OK);
    assert_true(low <= 602 && high >= 598);
    assert_true(high - low < wide / 2);
    pb_sample_clear(&sample);
}

static void test_slope__outliers_do_not_move_it_and_drift_shows(void **state)
{
    double x[64], y[64];
    struct pb_slope slope;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (int i = 0; i < 64; i++) {
        x[i] = 1e6 * i;
        y[i] = 0.95 * x[i] + (i % 3);
    }
    y[10] += 1e6;
    assert_int_equal(pb_slope_fit(x, y, 64, &slope, &err), PB_OK);
    assert_float_equal(slope.all.value, 0.95, 1e-6);
    assert_true(slope.all.low <= 0.95 && slope.all.high >= 0.95 - 1e-9);
    assert_int_equal(slope.pairs_close, 31);
    for (int i = 0; i < 64; i++)
        y[i] = i < 32 ? x[i] : x[32] + 0.5 * (x[i] - x[32]);
    assert_int_equal(pb_slope_fit(x, y, 64, &slope, &err), PB_OK);
    assert_float_equal(slope.first, 1.0, 1e-9);
    assert_float_equal(slope.last, 0.5, 1e-9);
}

static void test_slope__time_that_stands_still_is_refused(void **state)
{
    const double x[] = {0, 1, 2, 2, 3, 4, 5}, y[] = {0, 1, 2, 3, 4, 5, 6};
    struct pb_slope slope;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_slope_fit(x, y, 7, &slope, &err), PB_INVALID);
    assert_string_equal(err.message, "sample 3 of 7 is not later than the one before");
    assert_int_equal(pb_slope_fit(x, y, 2, &slope, &err), PB_INVALID);
}

static void test_votes__follow_the_rule_of_succession(void **state)
{
    struct pb_votes votes = {0, 0};

    (void)state;
    assert_float_equal(pb_votes_confidence(&votes), 0.5, 1e-12);
    pb_votes_add_many(&votes, 3, 3);
    assert_float_equal(pb_votes_confidence(&votes), 0.8, 1e-12);
    pb_votes_add(&votes, false);
    assert_float_equal(pb_votes_confidence(&votes), 4.0 / 6.0, 1e-12);
    pb_votes_contradict(&votes);
    assert_float_equal(pb_votes_confidence(&votes), 4.0 / 10.0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantile__is_a_member_and_nan_when_empty),
        cmocka_unit_test(test_sample_sorted__leaves_out_nan),
        cmocka_unit_test(test_median_interval__covers_as_the_binomial_says),
        cmocka_unit_test(test_probability_less__is_half_for_equals_and_one_for_lower),
        cmocka_unit_test(test_modes__constant_is_one),
        cmocka_unit_test(test_modes__jitter_does_not_split),
        cmocka_unit_test(test_modes__four_kinds_with_spikes),
        cmocka_unit_test(test_modes__broad_bells_are_two),
        cmocka_unit_test(test_modes__a_few_spikes_do_not_widen_the_band),
        cmocka_unit_test(test_modes__bulk_leaves_an_outlying_mode_out),
        cmocka_unit_test(test_bootstrap_median__holds_the_median_and_narrows),
        cmocka_unit_test(test_slope__outliers_do_not_move_it_and_drift_shows),
        cmocka_unit_test(test_slope__time_that_stands_still_is_refused),
        cmocka_unit_test(test_votes__follow_the_rule_of_succession),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
